// Tests what becomes of a client whose execution context never runs or dies early; opens no socket.
// SPDX-License-Identifier: MIT
#include "runtime/client_impl.hpp"
#include "support/catch.hpp"

#include <redlock/client.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <memory>
#include <utility>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

client_options nobody() {
    client_options o;
    o.nodes.resize(1);
    o.nodes[0].unix_socket = "/nonexistent/redlock.sock";
    o.fencing = false;
    return o;
}

/// Counts how many of it are alive: a handler that leaks keeps one.
struct witness {
    explicit witness(int& n) : alive(&n) { ++n; }
    witness(const witness& o) : alive(o.alive) { ++*alive; }
    witness& operator=(const witness&) = delete;
    ~witness() { --*alive; }
    int* alive;
};

}  // namespace

TEST_CASE("a context that never ran drops every handler, whoever goes first") {
    int alive = 0;
    int called = 0;
    const int order = GENERATE(0, 1, 2, 3);
    {
        auto context = std::make_unique<asio::io_context>();
        // With 2 and 3 the strands' service is older than the client's.
        if (order >= 2) asio::post(asio::make_strand(*context), [] {});
        auto c = std::make_unique<client>(context->get_executor(), nobody());
        c->async_acquire("r", [w = witness(alive), &called](error_code, lease) { ++called; });
        c->async_inspect("r", [w = witness(alive), &called](error_code, resource_state) {
            ++called;
        });
        c->async_close([w = witness(alive), &called](error_code) { ++called; });
        if (order % 2 == 0) c.reset();
        context.reset();
    }
    CHECK(alive == 0);
    CHECK(called == 0);
}

TEST_CASE("a handler may own the client that owns it") {
    int alive = 0;
    {
        asio::io_context context;
        auto c = std::make_shared<client>(context.get_executor(), nobody());
        c->async_acquire("r", {.wait = 1h}, [c, w = witness(alive)](error_code, lease) {});
        const bool ran = GENERATE(false, true);
        c.reset();
        if (ran) context.run_for(20ms);
    }
    CHECK(alive == 0);
}

TEST_CASE("a cancellation may come after the context, the client and the operation") {
    int alive = 0;
    asio::cancellation_signal signal;
    {
        asio::io_context context;
        client c(context.get_executor(), nobody());
        c.async_acquire("r", asio::bind_cancellation_slot(
                                 signal.slot(), [w = witness(alive)](error_code, lease) {}));
        if (GENERATE(false, true)) context.run_for(5ms);
    }
    signal.emit(asio::cancellation_type::terminal);
    CHECK(alive == 0);
}

TEST_CASE("a client that is closed before it ran ends everything once") {
    asio::io_context context;
    int called = 0;
    client c(context.get_executor(), nobody());
    c.async_acquire("r", {.wait = 1h}, [&](error_code ec, lease l) {
        CHECK(ec == errc::client_closed);
        CHECK_FALSE(l);
        ++called;
    });
    c.close();
    c.async_close([&](error_code ec) {
        CHECK(ec == error_code());  // nothing was held
        ++called;
    });
    c.async_inspect("r", [&](error_code ec, resource_state) {
        CHECK(ec == errc::client_closed);
        ++called;
    });
    context.run();  // returns: nothing is left
    CHECK(called == 3);
    context.restart();
    c.async_close([&](error_code ec) {
        CHECK(ec == error_code());
        ++called;
    });
    context.run();
    CHECK(called == 4);
}

TEST_CASE("a client that was moved from completes with client_closed") {
    asio::io_context context;
    client c(context.get_executor(), nobody());
    client other(std::move(c));
    int called = 0;
    c.async_acquire("r", asio::bind_executor(context, [&](error_code ec, lease) {
        CHECK(ec == errc::client_closed);
        ++called;
    }));
    c.async_close(asio::bind_executor(context, [&](error_code ec) {
        CHECK(ec == error_code());  // there is nothing to close
        ++called;
    }));
    other.close();
    context.run();
    CHECK(called == 2);
}
