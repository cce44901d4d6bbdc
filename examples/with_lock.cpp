// A section as one call: threads that sell from one stock lose no sale, and a section that is lost is
// an error of the call; shows no Asio.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/guard.hpp>
#include <redlock/with_lock.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int threads = 16;
constexpr int sales_of_each = 10;

// The lock's only witness: it reads and writes in two steps.
class stock {
public:
    int sell() {
        const int left = left_.load();
        std::this_thread::yield();
        left_.store(left - 1);
        return left - 1;
    }
    int left() const { return left_.load(); }

private:
    std::atomic<int> left_{threads * sales_of_each};
};

void sell(redlock::blocking_client& client, stock& goods, std::atomic<int>& refused) {
    for (int i = 0; i < sales_of_each; ++i) {
        const redlock::result<int, redlock::refusal> left = redlock::with_lock(
            client, "example:stock", {.ttl = 10s, .wait = 60s},
            [&](const redlock::lease&, const std::stop_token&) { return goods.sell(); });
        if (left) continue;
        ++refused;
        std::cerr << left.error().message() << '\n';
    }
}

// Work that would never end by itself, until `lost` says so.
void work_until(const std::stop_token& lost) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait(lock, lost, [] { return false; });
}

}  // namespace

int main(int argc, char** argv) {
    redlock::blocking_client client(example::options(argc, argv));

    stock goods;
    std::atomic<int> refused = 0;
    {
        std::vector<std::jthread> sellers;
        for (int i = 0; i < threads; ++i) {
            sellers.emplace_back([&] { sell(client, goods, refused); });
        }
    }
    std::cout << goods.left() << " left, " << refused << " sections without the lock\n";

    // A lease that ends while the function is at work: the loss is an error of the call.
    const auto lost = redlock::with_lock(
        client, "example:lost", {.ttl = 2s, .max_hold = 1s},
        [](const redlock::lease&, const std::stop_token& stop) { work_until(stop); });
    if (!lost) std::cout << lost.error().message() << '\n';
    const bool is_reported = lost.has_error() && lost.error() == redlock::errc::lost;

    // Where a scope fits better than a function. It never throws: ask it.
    bool is_held_to_the_end = false;
    {
        const redlock::guard scope(client, "example:scope", {.ttl = 10s, .wait = 10s});
        if (scope) std::cout << "held under fence " << scope.fence() << '\n';
        is_held_to_the_end = scope.held();
    }
    return example::check(goods.left() == 0 && refused == 0 && is_reported && is_held_to_the_end,
                          "no sale was lost, and a lost section is an error");
}
