// Jobs on several machines, of which no more than three run at once: a counting_semaphore.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/counting_semaphore.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t at_once = 3;
constexpr int machines = 3;
constexpr int threads_of_each = 3;
constexpr int jobs_of_each = 4;  // of each thread

struct counts {
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<int> done{0};
    std::atomic<int> failed{0};
};

// What must not run more than three times at once. Ends early if its slot is lost.
void render(const std::stop_token& lost, counts& all) {
    const int now = ++all.running;
    int known = all.most;
    while (now > known && !all.most.compare_exchange_weak(known, now)) {
    }
    for (int i = 0; i < 5 && !lost.stop_requested(); ++i) std::this_thread::sleep_for(1ms);
    --all.running;
}

void work(redlock::counting_semaphore& slots, counts& all) {
    for (int i = 0; i < jobs_of_each; ++i) {
        try {
            slots.acquire();
            render(slots.lost_token(), all);
            slots.release();  // throws if the slot was lost: then the job is not done
            ++all.done;
        } catch (const std::exception& why) {
            std::cerr << why.what() << '\n';
            ++all.failed;
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const redlock::client_options options = example::options(argc, argv);
    counts all;
    {
        std::vector<std::jthread> running;
        for (int m = 0; m < machines; ++m) {
            running.emplace_back([&options, &all] {
                redlock::blocking_client client(options);
                redlock::counting_semaphore slots(client, "example:render", at_once, {.wait = 60s});
                std::vector<std::jthread> threads;
                for (int t = 0; t < threads_of_each; ++t) {
                    threads.emplace_back([&slots, &all] { work(slots, all); });
                }
            });
        }
    }
    std::cout << all.done << " jobs, up to " << all.most << " at once\n";
    return example::check(all.failed == 0 &&
                              all.done == machines * threads_of_each * jobs_of_each &&
                              all.most <= at_once,
                          "all jobs ran, and never more than three at once");
}
