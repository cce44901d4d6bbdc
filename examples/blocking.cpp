// Locks without an event loop: each call blocks its thread, or is stopped; shows no Asio.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

int main(int argc, char** argv) {
    using namespace std::chrono_literals;
    redlock::blocking_client client(example::options(argc, argv));

    auto lease = client.acquire("example:blocking", {.ttl = 5s, .wait = 10s});
    if (!lease) {
        std::cerr << "not acquired: " << lease.error().message() << '\n';
        return 1;
    }
    std::cout << "held for another " << lease->remaining().count() << " ms, and renewed\n";

    // A second acquire fails; its refusal says why, node by node.
    const auto second = client.acquire("example:blocking");
    if (!second) std::cout << "the second: " << second.error().message() << '\n';
    const bool refused = !second && second.error() == redlock::errc::contended;

    // Another thread can stop an acquire that waits.
    bool called_back = false;
    std::jthread third([&](const std::stop_token& stop) {
        const auto never = client.acquire("example:blocking", {.wait = 1min}, stop);
        if (!never) std::cout << "the third: " << never.error().code.message() << '\n';
        called_back = !never && never.error().code == std::errc::operation_canceled;
    });
    third.request_stop();
    third.join();

    const auto released = client.release(std::move(*lease));
    if (!released) std::cerr << "not given back: " << released.error().message() << '\n';
    const auto next = client.acquire("example:blocking", {.wait = 10s});
    return example::check(refused && called_back && released && next,
                          "one holder at a time, a wait that can be stopped, and then the next");
}
