// The asynchronous client with plain callbacks: acquire, work, release; no coroutine.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/refusal.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <iostream>
#include <utility>

int main(int argc, char** argv) {
    using namespace std::chrono_literals;
    boost::asio::io_context context;
    redlock::client client(context.get_executor(),
                           redlock::load_options(example::config_file(argc, argv)).value());
    bool held = false;
    bool given_back = false;

    auto on_released = [&](redlock::error_code ec) {
        given_back = !ec;
        client.close();  // its connections are what keeps the context running
    };
    auto on_acquired = [&](redlock::error_code ec, redlock::lease lease) {
        if (ec) {
            const redlock::refusal why{ec, {lease.votes().begin(), lease.votes().end()}};
            std::cerr << why.message() << '\n';
            return client.close();
        }
        held = static_cast<bool>(lease);
        std::cout << "work goes here, while the lease is renewed\n";
        client.async_release(std::move(lease), on_released);
    };
    client.async_acquire("example:callbacks", {.ttl = 5s, .wait = 10s}, on_acquired);

    context.run();
    return example::check(held && given_back, "acquired, and given back on a quorum of nodes");
}
