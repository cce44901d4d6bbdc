// Servers and a client for the measurements.
// SPDX-License-Identifier: MIT
#include "setting.hpp"

#include "support/run.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

namespace bench {

namespace asio = boost::asio;

namespace {

// The time-outs of a user that sets none: what a fault costs depends on them.
redlock::client_options default_options(redlock::testing::cluster& servers, bool fencing,
                                        transport by,
                                        const redlock::testing::certificates* papers,
                                        std::chrono::milliseconds ttl_max) {
    redlock::client_options options;
    options.ttl_max = ttl_max;
    options.cluster = "bench";  // its programs know the nodes by several addresses
    options.fencing = fencing;
    options.nodes = servers.options().nodes;
    for (std::size_t i = 0; i < servers.size(); ++i) {
        auto& node = options.nodes[i];
        if (by == transport::unix_socket) node.unix_socket = servers[i].unix_socket();
        if (papers == nullptr) continue;
        use_tls(node, redlock::testing::open_tls_port(servers.ask(i), *papers), *papers);
    }
    return options;
}

asio::awaitable<bool> all_answer(redlock::client& client) {
    const redlock::resource_state state =
        co_await client.async_inspect("bench:settle", asio::use_awaitable);
    co_return std::all_of(state.nodes.begin(), state.nodes.end(), [](const auto& node) {
        // One that was restarted empty has no vote for a minute, but takes part.
        return node.state == redlock::key_state::free ||
               node.state == redlock::key_state::quarantine;
    });
}

// With the time-outs that are measured, one late answer to the first client puts all nodes of a new
// cluster in quarantine.
void found_patiently(redlock::client_options options) {
    using namespace std::chrono_literals;
    options.node_timeout = 5s;
    options.connect_timeout = 10s;
    redlock::testing::driver first(std::move(options));
    const auto failure = first.acquire("bench:first", {.wait = 90s}).error();
    if (failure) throw boost::system::system_error(failure, "a new cluster");
}

}  // namespace

asio::awaitable<void> until_all_answer(redlock::client& client) {
    using namespace std::chrono_literals;
    const auto limit = redlock::clock::now() + 30s;
    while (!co_await all_answer(client)) {
        if (redlock::clock::now() > limit) throw std::runtime_error("a node does not come back");
    }
}

// Inlined, g++ 12 warns of the frame's operator delete, which is Asio's.
[[gnu::noinline]] asio::awaitable<void> rest_for(redlock::clock::duration how_long) {
    asio::steady_timer timer(co_await asio::this_coro::executor, how_long);
    co_await timer.async_wait(asio::use_awaitable);
}

setting::setting(std::size_t nodes, bool fencing, transport by, std::chrono::milliseconds ttl_max)
    : servers_(nodes, {.unix_socket = by == transport::unix_socket}),
      papers_(by == transport::tls ? std::make_unique<redlock::testing::certificates>() : nullptr),
      options_(default_options(servers_, fencing, by, papers_.get(), ttl_max)),
      client_(context_.get_executor(), options_) {
    found_patiently(options_);
    settle();
}

setting::~setting() {
    client_.close();
    context_.restart();
    context_.run();
}

void setting::run(asio::awaitable<void> work) {
    std::exception_ptr failure;
    auto done = [&](std::exception_ptr why) {
        failure = std::move(why);
        context_.stop();
    };
    asio::co_spawn(context_, std::move(work), done);
    context_.restart();
    context_.run();
    if (failure) std::rethrow_exception(failure);
}

void setting::settle() { run(until_all_answer(client_)); }

}  // namespace bench
