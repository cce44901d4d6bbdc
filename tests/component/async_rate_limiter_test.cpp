// The asynchronous rate limiter on masters in memory: grants, refusals, and how calls end; knows
// no internals.
// SPDX-License-Identifier: MIT
#include "component/support/program.hpp"
#include "support/catch.hpp"
#include "support/outcome.hpp"
#include "support/thrown_by.hpp"
#include "support/windows.hpp"

#include <redlock/async_rate_limiter.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using redlock::testing::masters;
using redlock::testing::most_in_a_window;
using redlock::testing::outcome;
using redlock::testing::program;
using redlock::testing::thrown_by;

namespace {

namespace asio = boost::asio;

using limit_outcome = outcome<limit_answer>;
using allowed_times = std::vector<clock::time_point>;

/// Two programs with a limiter of the same resource.
struct two_programs {
    explicit two_programs(std::uint16_t limit, std::chrono::milliseconds period = 3s)
        : a(nodes, io), b(nodes, io), of_a(std::in_place, a.client, "r", limit, period),
          of_b(std::in_place, b.client, "r", limit, period), slots(limit) {}

    limit_outcome attempt(async_rate_limiter& of) {
        limit_outcome out;
        of.async_try_acquire(out.handler());
        pass(0ms);
        REQUIRE(out.done());
        return out;
    }
    void use_up(async_rate_limiter& of) { REQUIRE(allow(of).allowed); }
    limit_answer allow(async_rate_limiter& of) {
        const auto out = attempt(of);
        REQUIRE_FALSE(out.error());
        REQUIRE(out.value().allowed);
        return out.value();
    }
    limit_outcome wait(async_rate_limiter& of, std::chrono::milliseconds time) {
        limit_outcome out;
        of.async_acquire_for(time, out.handler());
        pass(0ms);
        return out;
    }
    bool await(const std::function<bool()>& done, std::chrono::milliseconds limit = 20s) {
        for (auto passed = 0ms; passed < limit && !done(); passed += 1ms) pass(1ms);
        return done();
    }
    void pass(clock::duration time) { nodes.advance(io, time); }
    std::size_t taken() const {
        std::size_t found = 0;
        for (int i = 0; i < slots; ++i) {
            found += nodes.holding("r#" + std::to_string(i)) > 0 ? 1 : 0;
        }
        return found;
    }

    masters nodes;
    asio::io_context io;
    program a;
    program b;
    std::optional<async_rate_limiter> of_a;
    std::optional<async_rate_limiter> of_b;
    int slots;
};

/// A program that calls again as soon as it was allowed, until the time is over.
struct limited_user {
    limited_user(async_rate_limiter& limiter, clock::time_point until)
        : of(&limiter), end(until) {
        go();
    }

    void go() {
        ++under_way;
        of->async_acquire_for(1h, [this](error_code ec, const limit_answer& said) {
            --under_way;
            if (ec) return;
            when.push_back(said.at);
            if (said.at < end) go();
        });
    }

    async_rate_limiter* of;
    clock::time_point end;
    allowed_times when{};
    int under_way = 0;
};

}  // namespace

TEST_CASE("with a loop, too, a call may cost several", "[limiter]") {
    two_programs both(5);
    limit_outcome first;
    both.of_a->async_try_acquire(3, first.handler());
    both.pass(0ms);
    REQUIRE(first.done());
    CHECK(first.value().allowed);
    CHECK(both.taken() == 3);
    limit_outcome second;
    both.of_b->async_acquire_for(20s, 4, second.handler());
    both.pass(0ms);
    CHECK_FALSE(second.done());
    CHECK(both.await([&] { return second.done(); }));
    CHECK_FALSE(second.error());
    CHECK(second.value().at >= first.value().at + 3s);
    limit_outcome never;
    both.of_b->async_acquire_for(20s, 6, never.handler());
    both.pass(0ms);
    REQUIRE(never.done());
    CHECK(never.error() == errc::invalid_argument);
}

TEST_CASE("as many as the limit are allowed at once, and the next learns when", "[limiter]") {
    two_programs both(3);
    allowed_times allowed;
    for (auto* of : {&*both.of_a, &*both.of_b, &*both.of_a}) {
        const auto said = both.allow(*of);
        CHECK(said.at == clock::now());
        CHECK(said.retry_after == 0ms);
        CHECK_FALSE(said.why.code);
        allowed.push_back(said.at);
    }
    const auto refused = both.attempt(*both.of_b);
    CHECK_FALSE(refused.error());
    CHECK_FALSE(refused.value());
    CHECK((refused.value().why == errc::contended));
    CHECK(refused.value().why.votes.size() == 3);
    CHECK(refused.value().retry_after > 2s);
    CHECK(both.taken() == 3);
    const auto refused_at = clock::now();
    const auto waits = both.wait(*both.of_b, 10s);
    CHECK_FALSE(waits.done());
    REQUIRE(both.await([&] { return waits.done(); }));
    REQUIRE_FALSE(waits.error());
    CHECK(waits.value().allowed);
    CHECK(waits.value().at >= refused_at + refused.value().retry_after - 1ms);
    CHECK(waits.value().at <= refused_at + refused.value().retry_after + 5ms);
    allowed.push_back(waits.value().at);
    CHECK(most_in_a_window(allowed, 3s) <= 3);
}

TEST_CASE("a wait that is over says that the limit is reached, and for how long", "[limiter]") {
    two_programs both(1, 5s);
    both.use_up(*both.of_a);
    const auto waits = both.wait(*both.of_b, 2s);
    const auto behind = both.wait(*both.of_b, 1s);
    both.pass(1s);
    REQUIRE(behind.done());
    CHECK(behind.error() == errc::contended);
    CHECK(behind.value().why.votes.empty());
    CHECK_FALSE(behind.value().why.message().empty());
    CHECK_FALSE(waits.done());
    both.pass(1s - 1ms);
    CHECK_FALSE(waits.done());
    both.pass(1ms);
    REQUIRE(waits.done());
    CHECK(waits.error() == errc::contended);
    const limit_answer& said = waits.value();
    CHECK_FALSE(said.allowed);
    CHECK((said.why == errc::contended));
    CHECK(said.why.votes.size() == 3);
    CHECK(said.retry_after > 2s);
    CHECK(said.retry_after < 4s);
    const auto alone = both.wait(*both.of_b, 500ms);  // nobody is before it
    both.pass(500ms);
    REQUIRE(alone.done());
    CHECK(alone.value().why.votes.empty());
    CHECK(alone.value().why.detail.ends_with("as earlier calls learned"));
    const auto at_once = both.wait(*both.of_b, -1s);
    REQUIRE(at_once.done());
    CHECK(at_once.error() == errc::contended);
    CHECK(both.taken() == 1);
}

TEST_CASE("a wait is cancelled in each way, and uses up no slot", "[limiter]") {
    two_programs both(2, 5s);
    both.use_up(*both.of_a);
    both.use_up(*both.of_a);
    const auto waits = both.wait(*both.of_b, 1h);
    const auto behind = both.wait(*both.of_b, 1h);
    both.pass(100ms);
    error_code expected = asio::error::operation_aborted;
    SECTION("the slots of the handlers") {
        waits.cancel();
        behind.cancel(asio::cancellation_type::partial);
    }
    SECTION("the client's operations") { both.b.client.cancel(); }
    SECTION("the client") {
        both.b.client.close();
        expected = errc::client_closed;
    }
    both.pass(0ms);
    for (const auto& one : {waits, behind}) {
        REQUIRE(one.done());
        CHECK(one.error() == expected);
        CHECK((one.value().why == expected));
    }
    both.pass(6s);
    CHECK(both.taken() == 0);
    CHECK(both.nodes.waiting("r") == 0);
    both.use_up(*both.of_a);
    both.use_up(*both.of_a);
}

TEST_CASE("a call that is cancelled while it asks gives back what it was granted", "[limiter]") {
    two_programs both(2, 5s);
    limit_outcome out;
    SECTION("one that waits") { both.of_a->async_acquire_for(1s, out.handler()); }
    SECTION("one that does not") { both.of_a->async_try_acquire(out.handler()); }
    out.cancel();
    both.pass(0ms);
    REQUIRE(out.done());
    CHECK(out.error() == asio::error::operation_aborted);
    CHECK(both.taken() == 0);
}

TEST_CASE("a call that another one passes in line ends at its deadline all the same", "[limiter]") {
    two_programs both(2, 30s);
    both.use_up(*both.of_b);
    both.use_up(*both.of_b);
    for (const std::size_t node : {0U, 1U}) both.nodes.hang(node);
    const auto first = both.wait(*both.of_a, 1h);
    const auto second = both.wait(*both.of_a, 1h);
    const auto waits = both.wait(*both.of_a, 2s);  // while two ask no third does
    second.cancel();  // the next in line looks again, and then the first is refused, before it
    for (const std::size_t node : {0U, 1U}) both.nodes.resume(node);
    both.pass(0ms);
    CHECK(second.done());
    CHECK_FALSE(first.done());
    both.pass(2s);
    REQUIRE(waits.done());
    CHECK(waits.error() == errc::contended);
}

TEST_CASE("those that wait for one limiter are served in order, and nobody passes them",
          "[limiter]") {
    two_programs both(1, 2s);
    both.use_up(*both.of_b);
    std::vector<limit_outcome> all;
    for (int i = 0; i < 7; ++i) all.push_back(both.wait(*both.of_a, 1h));
    const auto hasty = both.attempt(*both.of_a);
    CHECK_FALSE(hasty.error());
    CHECK_FALSE(hasty.value().allowed);
    CHECK(hasty.value().retry_after > 1s);
    all[2].cancel();
    REQUIRE(both.await([&] { return all.back().done(); }));
    allowed_times when;
    for (std::size_t i = 0; i < all.size(); ++i) {
        INFO(i);
        REQUIRE(all[i].done());
        CHECK(!all[i].error() == (i != 2));
        if (i != 2) when.push_back(all[i].value().at);
    }
    CHECK(std::is_sorted(when.begin(), when.end()));
    CHECK(most_in_a_window(when, 2s) == 1);
}

TEST_CASE("a crowd that waits asks the nodes hardly more often than one would", "[limiter]") {
    two_programs both(4, 2s);
    for (int i = 0; i < 4; ++i) both.use_up(*both.of_b);
    std::vector<limit_outcome> all;
    for (int i = 0; i < 500; ++i) all.push_back(both.wait(*both.of_a, 1h));
    const auto before = both.a.client.stats();
    both.pass(10s);
    const auto after = both.a.client.stats();
    const auto allowed = static_cast<std::uint64_t>(
        std::count_if(all.begin(), all.end(), [](const limit_outcome& one) { return one.done(); }));
    CHECK(allowed >= 16);
    CHECK(after.granted - before.granted == allowed);
    CHECK(after.contended - before.contended <= 2 * allowed);
}

// No waiter in the queue of a resource is woken where a slot runs out. What is reached shows that
// limiters do not wait there.
TEST_CASE("no window holds more than the limit, and programs that wait reach it", "[limiter]") {
    const auto limit = GENERATE(std::uint16_t{1}, std::uint16_t{10});
    const auto period = 200ms;
    two_programs both(limit, period);
    const auto end = clock::now() + 20 * period;
    std::vector<std::unique_ptr<limited_user>> users;
    for (int i = 0; i < 3; ++i) {
        users.push_back(std::make_unique<limited_user>(*both.of_a, end));
        users.push_back(std::make_unique<limited_user>(*both.of_b, end));
    }
    REQUIRE(both.await([&] { return clock::now() > end; }));
    both.a.client.close();
    both.b.client.close();
    both.pass(1s);
    allowed_times all;
    for (const auto& one : users) {
        CHECK(one->under_way == 0);
        all.insert(all.end(), one->when.begin(), one->when.end());
    }
    CHECK(most_in_a_window(all, period) <= limit);
    CHECK(all.size() >= limit * 15U);
}

TEST_CASE("a call that waits rides out a failure of the nodes, one that does not says so",
          "[limiter]") {
    two_programs both(2, 5s);
    both.nodes.hang(0);
    both.nodes.hang(1);
    limit_outcome at_once;
    both.of_a->async_try_acquire(at_once.handler());
    limit_outcome waits;
    both.of_b->async_acquire_for(1min, waits.handler());
    limit_outcome in_vain;
    both.of_a->async_acquire_for(4s, in_vain.handler());
    both.pass(5s);
    REQUIRE(at_once.done());
    CHECK(at_once.error() == errc::no_quorum);
    CHECK((at_once.value().why == errc::no_quorum));
    CHECK(at_once.value().why.votes.size() == 3);
    REQUIRE(in_vain.done());
    CHECK(in_vain.error() == errc::no_quorum);
    CHECK_FALSE(waits.done());
    both.nodes.resume(0);
    both.nodes.resume(1);
    REQUIRE(both.await([&] { return waits.done(); }));
    CHECK_FALSE(waits.error());
}

TEST_CASE("a limiter may go while calls are under way, and its client before it", "[limiter]") {
    two_programs both(1, 2s);
    both.use_up(*both.of_b);
    const auto waits = both.wait(*both.of_a, 1h);
    SECTION("the limiter") {
        both.of_a.reset();
        REQUIRE(both.await([&] { return waits.done(); }));
        CHECK_FALSE(waits.error());
    }
    SECTION("the client") {
        { const client gone = std::move(both.a.client); }
        both.pass(0ms);
        REQUIRE(waits.done());
        CHECK(waits.error() == errc::client_closed);
        const auto late = both.wait(*both.of_a, 1s);
        both.pass(0ms);
        CHECK(late.error() == errc::client_closed);
    }
}

TEST_CASE("a crowd that waits ends at once, and asks the nodes nothing more", "[limiter]") {
    two_programs both(1, 5s);
    both.use_up(*both.of_b);
    std::vector<limit_outcome> all(20'000);
    for (const auto& one : all) both.of_a->async_acquire_for(1h, one.handler());
    const bool all_rest = GENERATE(false, true);
    if (all_rest) both.pass(10ms);  // the first one has its answer
    SECTION("closed") { both.a.client.close(); }
    SECTION("cancelled") { both.a.client.cancel(); }
    SECTION("cancelled one by one") {
        for (const auto& one : all) one.cancel();
    }
    both.pass(0ms);
    CHECK(std::all_of(all.begin(), all.end(),
                      [](const limit_outcome& one) { return one.done() && one.error(); }));
    CHECK(both.a.client.stats().cancelled == (all_rest ? 0 : 1));  // the attempt of the first
}

TEST_CASE("an execution context takes what limiters have under way with it", "[limiter]") {
    masters nodes;
    auto io = std::make_unique<asio::io_context>();
    redlock::client client(io->get_executor(), nodes.options());
    async_rate_limiter limiter(client, "r", 1, 3s);
    std::vector<limit_outcome> all(4);
    const auto steps = GENERATE(0, 1, 2, 3);
    if (steps > 0) nodes.advance(*io, 0ms);
    for (const auto& one : all) limiter.async_acquire_for(1h, one.handler());
    if (steps > 1) nodes.advance(*io, 0ms);
    if (steps > 2) nodes.advance(*io, 1s);
    io.reset();
    const auto is_done = [](const limit_outcome& one) { return one.done(); };
    CHECK(std::count_if(all.begin(), all.end(), is_done) == (steps > 1 ? 1 : 0));
    for (const auto& one : all) one.cancel();
    // What begins later completes on the handler's own executor.
    asio::io_context other;
    limit_outcome late;
    limiter.async_acquire_for(1s, asio::bind_executor(other, late.handler()));
    other.run();
    REQUIRE(late.done());
    CHECK(late.error() == errc::client_closed);
    CHECK((late.value().why == errc::client_closed));
}

TEST_CASE("what can't be an asynchronous limit is refused at once", "[limiter]") {
    masters nodes(1);
    asio::io_context io;
    program a(nodes, io);
    const auto make = [&](std::uint16_t limit, std::chrono::milliseconds period,
                          std::string name = "r") {
        return thrown_by([&] { async_rate_limiter(a.client, std::move(name), limit, period); });
    };
    CHECK(make(1, 50s) == std::error_code());
    CHECK(make(0, 50s) == errc::invalid_argument);
    CHECK(make(max_slots + 1, 50s) == errc::invalid_argument);
    CHECK(make(1, 60s) == errc::invalid_argument);
    CHECK(make(1, 0s) == errc::invalid_argument);
    CHECK(make(1, 1s, "") == errc::invalid_argument);
}
