// Locks without an event loop: each call blocks its thread; shows no Asio.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/config.hpp>

#include <chrono>
#include <iostream>
#include <utility>

int main(int argc, char** argv) {
    using namespace std::chrono_literals;
    redlock::blocking_client client(redlock::load_options(example::config_file(argc, argv)).value());

    auto lease = client.acquire("example:blocking", {.ttl = 5s, .wait = 10s});
    if (!lease) {
        std::cerr << lease.error().message() << '\n';  // why, node by node
        return 1;
    }
    std::cout << "held for " << lease->remaining().count() << " ms, and renewed in the background\n";

    const auto second = client.try_acquire("example:blocking");
    const bool refused = second && !*second;  // contention is a value here, not an error
    if (second) {
        for (const auto& vote : second->votes()) std::cout << "  " << redlock::format(vote) << '\n';
    }

    const auto state = client.inspect("example:blocking");
    const bool seen = state && state->held;
    const auto released = client.release(std::move(*lease));
    return example::check(refused && seen && released, "one holder, seen by who asks, given back");
}
