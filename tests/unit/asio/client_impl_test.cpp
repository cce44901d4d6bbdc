// Tests what becomes of a client whose execution context never runs or dies early; opens no
// socket.
// SPDX-License-Identifier: MIT
#include "asio/client_impl.hpp"

#include "support/catch.hpp"
#include "support/unreachable.hpp"

#include <redlock/client.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <utility>

using namespace redlock;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using redlock::testing::unreachable;

namespace {

/// Counts how many of it are alive: a handler that leaks keeps one.
struct witness {
    explicit witness(int& n) : alive(&n) { ++n; }
    witness(const witness& o) : alive(o.alive) { ++*alive; }
    witness& operator=(const witness&) = delete;
    ~witness() { --*alive; }
    int* alive;
};

/// What every io_context is from Boost 1.83 on.
struct context_shut_down_twice : asio::io_context {
    ~context_shut_down_twice() { shutdown(); }
};

}  // namespace

TEST_CASE("a context that never ran drops every handler, whether it or the client goes first") {
    int alive = 0;
    int called = 0;
    const int order = GENERATE(0, 1, 2, 3);
    {
        auto context = std::make_unique<context_shut_down_twice>();
        // With 2 and 3 the strands' service is older than the client's.
        if (order >= 2) asio::post(asio::make_strand(*context), [] {});
        auto c = std::make_unique<client>(context->get_executor(), unreachable());
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

namespace {

template <class T>
error_code error_of(std::future<T>& done) {
    REQUIRE(done.wait_for(30s) == std::future_status::ready);
    try {
        static_cast<void>(done.get());
    } catch (const boost::system::system_error& e) {
        return e.code();
    }
    return {};
}

/// Starts every operation; each must complete with client_closed, on an executor that still exists.
void check_closed(client& c) {
    std::promise<error_code> plain;
    auto told = plain.get_future();
    c.async_acquire("r", [&plain](error_code ec, lease) { plain.set_value(ec); });
    REQUIRE(told.wait_for(30s) == std::future_status::ready);
    CHECK(told.get() == errc::client_closed);

    CHECK_FALSE(c.get_executor());
    lease held;
    auto acquired = c.async_acquire("r", asio::use_future);
    auto acquired_all = c.async_acquire_all({"r", "s"}, asio::use_future);
    auto extended = c.async_extend(held, 1s, asio::use_future);
    auto downgraded = c.async_downgrade(held, asio::use_future);
    auto released = c.async_release(std::move(held), asio::use_future);
    auto lost = c.async_lost(lease(), asio::use_future);
    auto inspected = c.async_inspect("r", asio::use_future);
    auto declared = c.async_init(asio::use_future);
    auto closed = c.async_close(asio::use_future);
    CHECK(error_of(acquired) == errc::client_closed);
    CHECK(error_of(acquired_all) == errc::client_closed);
    CHECK(error_of(extended) == errc::client_closed);
    CHECK(error_of(downgraded) == errc::client_closed);
    CHECK(error_of(released) == errc::client_closed);
    CHECK(error_of(lost) == errc::client_closed);
    CHECK(error_of(inspected) == errc::client_closed);
    CHECK(error_of(declared) == errc::client_closed);
    CHECK(error_of(closed) == errc::client_closed);

    asio::io_context own;
    bool called = false;
    c.async_acquire("r", asio::bind_executor(own, [&](error_code ec, lease got) {
        CHECK(ec == errc::client_closed);
        CHECK_FALSE(got);
        called = true;
    }));
    CHECK_FALSE(called);
    own.run();
    CHECK(called);
    (void)c.stats();
    c.close();
}

}  // namespace

TEST_CASE("a client whose context is gone says that it is closed") {
    int alive = 0;
    const bool ran = GENERATE(false, true);
    SECTION("an io_context") {
        auto context = std::make_unique<asio::io_context>();
        client c(context->get_executor(), unreachable());
        c.async_acquire("r", {.wait = 1h}, [w = witness(alive)](error_code, lease) {});
        if (ran) context->run_for(5ms);
        context.reset();
        CHECK(alive == 0);
        check_closed(c);
    }
    SECTION("a strand of an io_context") {
        auto context = std::make_unique<asio::io_context>();
        client c(asio::make_strand(*context), unreachable());
        c.async_acquire("r", {.wait = 1h}, [w = witness(alive)](error_code, lease) {});
        if (ran) context->run_for(5ms);
        context.reset();
        CHECK(alive == 0);
        check_closed(c);
    }
    SECTION("a thread pool") {
        auto pool = std::make_unique<asio::thread_pool>(ran ? 2 : 1);
        client c(pool->get_executor(), unreachable());
        c.async_acquire("r", {.wait = 1h}, [w = witness(alive)](error_code, lease) {});
        pool.reset();
        CHECK(alive == 0);
        check_closed(c);
    }
    SECTION("a strand of a thread pool") {
        auto pool = std::make_unique<asio::thread_pool>(ran ? 2 : 1);
        client c(asio::make_strand(*pool), unreachable());
        c.async_acquire("r", {.wait = 1h}, [w = witness(alive)](error_code, lease) {});
        pool.reset();
        CHECK(alive == 0);
        check_closed(c);
    }
}

TEST_CASE("a handler may own the client that owns it") {
    int alive = 0;
    {
        asio::io_context context;
        auto c = std::make_shared<client>(context.get_executor(), unreachable());
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
        client c(context.get_executor(), unreachable());
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
    client c(context.get_executor(), unreachable());
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
    client c(context.get_executor(), unreachable());
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
