// Sections as one asynchronous call, on masters in memory: how each of their ends is reported, and
// what stays on the nodes; knows no engine.
// SPDX-License-Identifier: MIT
#include <redlock/async_with_lock.hpp>

#include "component/support/program.hpp"
#include "support/catch.hpp"
#include "support/has_text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

using namespace redlock;
using namespace std::chrono_literals;
using redlock::testing::has_text;
using redlock::testing::masters;
using redlock::testing::program;
namespace asio = boost::asio;

namespace {

/// Waits until it is cancelled.
asio::awaitable<void> without_end() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_at(asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<int> work_without_end(const lease&, std::stop_token) {
    co_await without_end();
    co_return 1;
}

asio::awaitable<int> three(const lease& held, std::stop_token lost) {
    CHECK(held);
    CHECK_FALSE(lost.stop_requested());
    co_return 3;
}

std::string text_of(const std::exception_ptr& why) {
    try {
        if (why) std::rethrow_exception(why);
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

/// One section of a program, and how it ended.
struct section {
    masters nodes;
    asio::io_context io;
    program p{nodes, io};
    asio::cancellation_signal signal;
    bool is_done = false;
    std::exception_ptr failure;
    int value = 0;

    template <class F>
    void start(F& f, acquire_options options = {}) {
        p.client.async_with_lock(
            "r", options, f,
            asio::bind_cancellation_slot(signal.slot(), [this](std::exception_ptr why, int got) {
                REQUIRE_FALSE(is_done);
                is_done = true;
                failure = std::move(why);
                value = got;
            }));
        p.pass(0s);
    }
    void cancel() {
        signal.emit(asio::cancellation_type::terminal);
        p.pass(0s);
    }
    error_code code() const { return code_of(failure); }
    /// Whether nothing is left on any node.
    bool is_clean() {
        p.pass(0s);
        return nodes.holding("r") == 0 && nodes.waiting("r") == 0;
    }
};

}  // namespace

TEST_CASE("every kind of token gets what the section gives", "[section]") {
    section s;
    const bool is_coroutine = GENERATE(true, false);
    const auto thread = std::this_thread::get_id();
    auto called = [thread](const lease& held, std::stop_token) {
        CHECK(held);
        CHECK(std::this_thread::get_id() == thread);  // which runs the client's context
        return 3;
    };
    int got = 0;
    SECTION("callback") {
        const auto note = [&](std::exception_ptr why, int value) {
            CHECK_FALSE(why);
            got = value;
        };
        is_coroutine ? s.p.client.async_with_lock("r", three, note)
                     : s.p.client.async_with_lock("r", called, note);
        s.p.pass(0s);
    }
    SECTION("callback that takes a code") {
        const auto note = [&](error_code why, int value) {
            CHECK_FALSE(why);
            got = value;
        };
        is_coroutine ? s.p.client.async_with_lock("r", three, note)
                     : s.p.client.async_with_lock("r", called, note);
        s.p.pass(0s);
    }
    SECTION("future") {
        auto future = is_coroutine ? s.p.client.async_with_lock("r", three, asio::use_future)
                                   : s.p.client.async_with_lock("r", called, asio::use_future);
        s.p.pass(0s);
        got = future.get();
    }
    SECTION("coroutines") {
        auto run = [&]() -> asio::awaitable<void> {
            auto& client = s.p.client;
            got = is_coroutine ? co_await client.async_with_lock("r", three)
                               : co_await client.async_with_lock("r", called, asio::use_awaitable);
            auto [why, again] =
                co_await client.async_with_lock("r", three, asio::as_tuple(asio::use_awaitable));
            CHECK_FALSE(why);
            CHECK(again == 3);
            auto [also, more] =
                co_await client.async_with_lock("r", called, asio::as_tuple(asio::deferred));
            CHECK_FALSE(also);
            CHECK(more == 3);
            auto later = client.async_with_lock("r", {}, three, asio::deferred);
            got = co_await std::move(later)(asio::use_awaitable);
            CHECK(got == 3);
            co_await client.async_with_lock(
                "r", {}, [&](const lease&, std::stop_token) { ++got; }, asio::deferred);
            --got;
        };
        asio::co_spawn(s.io, run(), asio::detached);
        s.p.pass(0s);
    }
    CHECK(got == 3);
    CHECK(s.is_clean());
    CHECK(s.p.client.stats().leases == 0);
}

TEST_CASE("a section without a value completes with the exception alone", "[section]") {
    section s;
    int calls = 0;
    int ends = 0;
    const auto note = [&](std::exception_ptr why) { ends += why ? 100 : 1; };
    auto coroutine = [&](const lease&, std::stop_token) -> asio::awaitable<void> {
        ++calls;
        co_return;
    };
    s.p.client.async_with_lock("r", coroutine, note);
    s.p.pass(0s);
    s.p.client.async_with_lock(resource_list("r", "s"), {}, [&](const lease& held, std::stop_token) {
        CHECK(held.resources().size() == 2);
        ++calls;
    }, note);
    s.p.pass(0s);
    CHECK(calls == 2);
    CHECK(ends == 2);
    CHECK(s.is_clean());
}

TEST_CASE("a callback that takes a code gets that of the section", "[section]") {
    section s;
    error_code got;
    const auto note = [&](error_code why) { got = why; };
    SECTION("of the lock") {
        s.nodes.occupy("r", 1min);
        auto never = [](const lease&, std::stop_token) { CHECK(false); };
        s.p.client.async_with_lock("r", never, note);
        s.p.pass(0s);
        CHECK(got == errc::contended);
    }
    SECTION("of the function's exception") {
        auto refuses = [](const lease&, std::stop_token) {
            throw boost::system::system_error(asio::error::eof);
        };
        s.p.client.async_with_lock("r", refuses, note);
        s.p.pass(0s);
        CHECK(got == asio::error::eof);
        CHECK(s.is_clean());
    }
    SECTION("an exception without a code leaves run()") {
        auto fails = [](const lease&, std::stop_token) { throw std::out_of_range("sold out"); };
        s.p.client.async_with_lock("r", fails, note);
        CHECK_THROWS_AS(s.p.pass(0s), std::out_of_range);
        CHECK(s.is_clean());
    }
}

TEST_CASE("an exception of the function passes unchanged, after the release", "[section]") {
    section s;
    std::size_t held_at_the_end = 9;
    auto coroutine = [&](const lease&, std::stop_token) -> asio::awaitable<int> {
        throw std::out_of_range("sold out");
        co_return 1;
    };
    auto called = [&](const lease&, std::stop_token) -> int {
        throw std::out_of_range("sold out");
    };
    auto not_even_begun = [&](const lease&, std::stop_token) -> asio::awaitable<int> {
        struct no_coroutine {
            static asio::awaitable<int> made() { throw std::out_of_range("sold out"); }
        };
        return no_coroutine::made();
    };
    const auto note = [&](std::exception_ptr why, int value) {
        s.is_done = true;
        s.failure = std::move(why);
        s.value = value;
        held_at_the_end = s.nodes.holding("r");
    };
    SECTION("of a coroutine") { s.p.client.async_with_lock("r", coroutine, note); }
    SECTION("of a function") { s.p.client.async_with_lock("r", called, note); }
    SECTION("of what should return a coroutine") {
        s.p.client.async_with_lock("r", not_even_begun, note);
    }
    s.p.pass(0s);
    REQUIRE(s.is_done);
    CHECK_THROWS_AS(std::rethrow_exception(s.failure), std::out_of_range);
    CHECK(text_of(s.failure) == "sold out");
    CHECK_THROWS_AS(code_of(s.failure), std::out_of_range);  // which has no code
    CHECK(s.value == 0);
    CHECK(held_at_the_end <= 1);  // a quorum has answered the release
    CHECK(s.is_clean());
}

TEST_CASE("a section that gets no lock says why, and does not call the function", "[section]") {
    section s;
    bool is_called = false;
    auto f = [&](const lease&, std::stop_token) {
        is_called = true;
        return 1;
    };
    SECTION("contended") {
        s.nodes.occupy("r", 1h);
        s.start(f);
        CHECK(s.code() == errc::contended);
        CHECK(has_text(text_of(s.failure), "0 of 3 nodes granted"));
        CHECK(s.nodes.holding("r") == 3);
    }
    SECTION("an argument is wrong") {
        s.start(f, {.ttl = -1s});
        CHECK(s.code() == errc::invalid_argument);
        CHECK(has_text(text_of(s.failure), "ttl_ms"));
    }
    SECTION("no quorum") {
        s.nodes.shut_down(0);
        s.nodes.shut_down(1);
        s.start(f);
        s.p.pass(5s);
        CHECK(s.code() == errc::no_quorum);
        CHECK(s.is_clean());
    }
    SECTION("closed") {
        s.p.client.close();
        s.start(f);
        CHECK(s.code() == errc::client_closed);
    }
    SECTION("moved from") {
        client other(std::move(s.p.client));
        s.start(f);
        for (int i = 0; i < 2'000 && !s.is_done; ++i) {
            std::this_thread::sleep_for(1ms);
            s.p.pass(0s);
        }
        CHECK(s.code() == errc::client_closed);
    }
    CHECK(s.is_done);
    CHECK_FALSE(is_called);
}

TEST_CASE("a coroutine is cancelled when its lease is lost", "[section]") {
    section s;
    s.start(work_without_end, {.ttl = 10s});
    REQUIRE(s.nodes.holding("r") == 3);
    s.p.pass(1min);
    REQUIRE_FALSE(s.is_done);  // renewed
    SECTION("taken") {
        s.nodes.occupy("r", 1h);
        s.p.pass(5s);
        s.nodes.vacate("r");
        REQUIRE(s.is_done);
        CHECK(has_text(text_of(s.failure), "taken"));
    }
    SECTION("unreachable") {
        s.nodes.shut_down(0);
        s.nodes.shut_down(1);
        s.p.pass(6s);
        CHECK_FALSE(s.is_done);
        s.p.pass(4s);
        s.nodes.resume(0);
        s.nodes.resume(1);
        s.p.pass(5s);
        REQUIRE(s.is_done);
        CHECK(has_text(text_of(s.failure), "unreachable"));
    }
    CHECK(s.code() == errc::lost);
    CHECK(s.value == 0);
    CHECK(s.is_clean());
}

TEST_CASE("a loss precedes what the function returns, and no exception of its own", "[section]") {
    section s;
    bool is_cancelled = false;
    auto returns = [&](const lease&, std::stop_token) -> asio::awaitable<int> {
        try {
            co_await without_end();
        } catch (const boost::system::system_error&) {
            is_cancelled = true;
        }
        co_return 7;
    };
    auto throws = [&](const lease& held, std::stop_token lost) -> asio::awaitable<int> {
        try {
            co_await without_end();
        } catch (const boost::system::system_error&) {
            is_cancelled = true;
        }
        CHECK_FALSE(held);
        CHECK(lost.stop_requested());
        throw std::out_of_range("undone");
    };
    SECTION("a value") {
        s.start(returns, {.max_hold = 20s});
        s.p.pass(20s);
        CHECK(s.code() == errc::lost);
        CHECK(has_text(text_of(s.failure), "max_hold"));
    }
    SECTION("an exception") {
        s.start(throws, {.max_hold = 20s});
        s.p.pass(20s);
        CHECK(text_of(s.failure) == "undone");
    }
    CHECK(s.is_done);
    CHECK(is_cancelled);
    CHECK(s.value == 0);
    CHECK(s.is_clean());
}

TEST_CASE("a loss that the release shows first is reported", "[section]") {
    section s;
    auto f = [&](const lease& held, std::stop_token) {
        CHECK(held);
        s.nodes.vacate("r");
        return 1;
    };
    s.start(f);
    CHECK(s.code() == errc::lost);
    CHECK(has_text(text_of(s.failure), "at the release"));
    CHECK(s.value == 0);
    CHECK(s.is_clean());
}

TEST_CASE("a function that takes longer than its lease lasts has lost it", "[section]") {
    section s;
    // The clock can't be moved by a handler: the validity is over before the function begins to end.
    auto f = [&](const lease& held, std::stop_token) -> asio::awaitable<int> {
        while (held) {
            asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
            co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
        }
        co_return 1;
    };
    s.start(f, {.ttl = 2s, .renew = false});
    for (int i = 0; i < 2'000 && !s.is_done; ++i) {
        s.p.pass(10ms);
        std::this_thread::sleep_for(1ms);
    }
    CHECK(s.code() == errc::lost);
    CHECK(has_text(text_of(s.failure), "expired"));
    CHECK(s.is_clean());
}

TEST_CASE("a release without a quorum is no failure of the section", "[section]") {
    section s;
    auto f = [&](const lease& held, std::stop_token) {
        s.nodes.hang(0);
        s.nodes.hang(1);
        return held ? 1 : 0;
    };
    s.start(f);
    CHECK_FALSE(s.is_done);
    s.p.pass(2s);
    REQUIRE(s.is_done);
    CHECK_FALSE(s.failure);
    CHECK(s.value == 1);
    s.nodes.resume(0);
    s.nodes.resume(1);
    s.p.pass(5s);
    CHECK(s.is_clean());
}

TEST_CASE("a section may be cancelled while it acquires, works or releases", "[section]") {
    section s;
    SECTION("while it waits") {
        s.nodes.occupy("r", 1h);
        s.start(three, {.wait = 10s});
        REQUIRE(s.nodes.waiting("r") == 1);
        s.cancel();
        REQUIRE(s.is_done);
        CHECK(s.code() == asio::error::operation_aborted);
        CHECK(s.nodes.waiting("r") == 0);
        s.nodes.vacate("r");
    }
    SECTION("while it works") {
        s.start(work_without_end);
        REQUIRE(s.nodes.holding("r") == 3);
        s.cancel();
        REQUIRE(s.is_done);
        CHECK(s.code() == asio::error::operation_aborted);
    }
    SECTION("while it works, and returns all the same") {
        auto f = [&](const lease&, std::stop_token) -> asio::awaitable<int> {
            try {
                co_await without_end();
            } catch (const boost::system::system_error&) {
            }
            co_return 5;
        };
        s.start(f);
        s.cancel();
        REQUIRE(s.is_done);
        CHECK_FALSE(s.failure);
        CHECK(s.value == 5);
    }
    SECTION("while it releases") {
        auto f = [&](const lease&, std::stop_token) {
            for (std::size_t i = 0; i < 3; ++i) s.nodes.hang(i);
            return 5;
        };
        s.start(f);
        s.cancel();
        CHECK_FALSE(s.is_done);
        s.p.pass(2s);
        REQUIRE(s.is_done);
        CHECK_FALSE(s.failure);
        CHECK(s.value == 5);
        for (std::size_t i = 0; i < 3; ++i) s.nodes.resume(i);
        s.p.pass(5s);
    }
    SECTION("by the client, while it waits") {
        s.nodes.occupy("r", 1h);
        s.start(three, {.wait = 10s});
        s.p.client.cancel();
        s.p.pass(0s);
        CHECK(s.code() == asio::error::operation_aborted);
        s.nodes.vacate("r");
    }
    SECTION("at once") {
        bool is_called = false;
        auto f = [&](const lease&, std::stop_token) {
            is_called = true;
            return 1;
        };
        s.p.client.async_with_lock(
            "r", f, asio::bind_cancellation_slot(s.signal.slot(), [&](std::exception_ptr e, int) {
                s.is_done = true;
                s.failure = e;
            }));
        s.cancel();
        REQUIRE(s.is_done);
        CHECK(s.code() == asio::error::operation_aborted);
        CHECK_FALSE(is_called);
    }
    s.p.pass(0s);
    CHECK(s.is_clean());
    CHECK(s.p.client.stats().leases == 0);
}

TEST_CASE("a section is cancelled at each turn of the loop, and leaves nothing", "[section]") {
    int aborted = 0;
    int ended = 0;
    for (int turns = 0; ended < 3; ++turns) {
        CAPTURE(turns);
        REQUIRE(turns < 1'000);
        section s;
        auto f = [&](const lease&, std::stop_token) -> asio::awaitable<int> {
            for (int i = 0; i < 5; ++i) {
                co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
            }
            co_return 2;
        };
        s.p.client.async_with_lock(
            "r", f,
            asio::bind_cancellation_slot(s.signal.slot(), [&](std::exception_ptr why, int got) {
                s.is_done = true;
                s.failure = std::move(why);
                s.value = got;
            }));
        // Each post comes behind what the section has made ready by then.
        std::function<void(int)> cancel_after = [&](int more) {
            if (more > 0) return asio::post(s.io, [&, more] { cancel_after(more - 1); });
            if (!s.is_done) s.signal.emit(asio::cancellation_type::terminal);
        };
        cancel_after(turns);
        s.p.pass(0s);
        REQUIRE(s.is_done);
        const bool is_aborted = s.code() == asio::error::operation_aborted;
        if (ended > 0) CHECK_FALSE(is_aborted);  // what is cancelled later ends, too
        if (!is_aborted) {
            CHECK_FALSE(s.failure);
            CHECK(s.value == 2);
        }
        ++(is_aborted ? aborted : ended);
        REQUIRE(s.is_clean());
        REQUIRE(s.p.client.stats().leases == 0);
    }
    CHECK(aborted > 0);
}

TEST_CASE("a client that is closed ends its sections", "[section]") {
    section s;
    s.start(work_without_end);
    REQUIRE(s.nodes.holding("r") == 3);
    s.p.client.close();
    s.p.pass(0s);
    REQUIRE(s.is_done);
    CHECK(s.code() == errc::client_closed);
    CHECK(s.is_clean());
}

TEST_CASE("a section keeps a copy of its function, and destroys it before it completes",
          "[section]") {
    section s;
    auto kept = std::make_shared<int>(4);
    std::optional<long> owners;
    {
        auto f = [kept](const lease&, std::stop_token) -> asio::awaitable<int> {
            co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
            co_return *kept;
        };
        s.p.client.async_with_lock("r", f, [&](std::exception_ptr why, int got) {
            CHECK_FALSE(why);
            s.value = got;
            owners = kept.use_count();
        });
    }
    CHECK(kept.use_count() == 2);
    s.p.pass(0s);
    CHECK(s.value == 4);
    CHECK(owners == 1);
}

namespace {

/// The executor of a context, which counts its copies.
struct counted_executor {
    asio::io_context* io;
    std::shared_ptr<int> copies;

    template <class F>
    void execute(F&& f) const {
        asio::require(io->get_executor(), asio::execution::blocking.never)
            .execute(std::forward<F>(f));
    }
    asio::execution_context& query(asio::execution::context_t) const noexcept { return *io; }
    static constexpr asio::execution::blocking_t::never_t query(
        asio::execution::blocking_t) noexcept {
        return {};
    }
    friend bool operator==(const counted_executor& a, const counted_executor& b) noexcept {
        return a.io == b.io;
    }
};

}  // namespace

TEST_CASE("a cancellation slot that outlives the context has nothing of it", "[section]") {
    asio::cancellation_signal signal;  // as a member of a class, above its context
    const auto copies = std::make_shared<int>(0);
    {
        masters nodes;
        asio::io_context io;
        program p(nodes, io);
        auto f = [](const lease&, std::stop_token) { return 7; };
        int value = 0;
        p.client.async_with_lock(
            "r", f,
            asio::bind_executor(
                counted_executor{&io, copies},
                asio::bind_cancellation_slot(
                    signal.slot(), [&](std::exception_ptr, int got) { value = got; })));
        p.pass(0s);
        CHECK(value == 7);
        CHECK(copies.use_count() == 1);
    }
    signal.emit(asio::cancellation_type::terminal);
}

TEST_CASE("a context may be destroyed at every turn of a section", "[section]") {
    const bool is_endless = GENERATE(true, false);
    for (int turns = 0; turns < 60; ++turns) {
        masters nodes;
        auto alive = std::make_shared<int>(0);
        {
            auto io = std::make_unique<asio::io_context>();
            client user(*io, nodes.options());
            auto f = [alive, is_endless](const lease&, std::stop_token) -> asio::awaitable<int> {
                const auto own = alive;
                if (is_endless) co_await without_end();
                co_return 1;
            };
            user.async_with_lock("r", {.wait = 1min}, f, [alive](std::exception_ptr, int) {});
            for (int i = 0; i < 2 * turns; ++i) io->poll_one();
            io.reset();
        }
        CHECK(alive.use_count() == 1);
    }
}
