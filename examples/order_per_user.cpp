// One order per user: many submits of the same order at once, and one is taken; no database.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/config.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr std::array users{"ada", "grace", "edsger"};
constexpr int submits_each = 8;

struct counts {
    std::atomic<int> taken = 0;
    std::atomic<int> refused = 0;
    std::atomic<int> failed = 0;
};

// Somebody who clicks twice must not order twice. The lease is not given back: it runs out, and until
// then further clicks are refused.
void submit(redlock::blocking_client& client, const std::string& user, counts& count) {
    const redlock::acquire_options once{.ttl = 5s, .renew = false};
    auto lease = client.try_acquire("example:order:" + user, once);
    if (!lease) {
        std::cerr << lease.error().message() << '\n';
        ++count.failed;
    } else if (!*lease) {
        ++count.refused;
    } else {
        ++count.taken;
        lease->detach();
    }
}

}  // namespace

int main(int argc, char** argv) {
    redlock::blocking_client client(redlock::load_options(example::config_file(argc, argv)).value());
    bool good = true;
    for (const std::string user : users) {
        counts count;
        // Contenders that split the vote are all refused: so the user clicks again, as users do.
        for (int click = 0; click < 20 && count.taken == 0; ++click) {
            std::vector<std::thread> threads;
            for (int i = 0; i < submits_each; ++i) {
                threads.emplace_back([&] { submit(client, user, count); });
            }
            for (auto& t : threads) t.join();
        }
        std::cout << user << ": " << count.taken << " taken, " << count.refused << " refused\n";
        good = good && count.taken == 1 && count.failed == 0;
    }
    return example::check(good, "one order per user");
}
