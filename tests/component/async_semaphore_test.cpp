// The asynchronous semaphore on masters in memory: its slots, waits and losses; knows no internals.
// SPDX-License-Identifier: MIT
#include "component/support/program.hpp"
#include "support/catch.hpp"
#include "support/driver.hpp"

#include <redlock/async_semaphore.hpp>

#include <boost/asio/error.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using redlock::testing::masters;
using redlock::testing::outcome;
using redlock::testing::program;

namespace {

namespace asio = boost::asio;

using permit_outcome = outcome<lease>;

/// Two programs with a semaphore of the same resource, of two slots.
struct two_semaphores {
    explicit two_semaphores(acquire_options how = {})
        : a(nodes, io), b(nodes, io), of_a(a.client, "r", 2, how), of_b(b.client, "r", 2, how) {}

    lease take(async_semaphore& of) {
        permit_outcome out;
        of.async_acquire(out.handler());
        pass(0ms);
        REQUIRE(out.done());
        REQUIRE_FALSE(out.error());
        return std::move(out.value());
    }
    permit_outcome wait(async_semaphore& of) {
        permit_outcome out;
        of.async_acquire(out.handler());
        pass(0ms);
        CHECK_FALSE(out.done());
        return out;
    }
    bool await(const permit_outcome& of, std::chrono::milliseconds limit = 20s) {
        for (auto passed = 0ms; passed < limit && !of.done(); passed += 5ms) pass(5ms);
        return of.done();
    }
    std::size_t taken() const { return nodes.holding("r#0") + nodes.holding("r#1"); }
    void pass(clock::duration time) { nodes.advance(io, time); }

    masters nodes;
    asio::io_context io;
    program a;
    program b;
    async_semaphore of_a;
    async_semaphore of_b;
};

}  // namespace

TEST_CASE("as many leases as slots, of all programs, and the next waits for one",
          "[async_semaphore]") {
    two_semaphores both;
    lease mine = both.take(both.of_a);
    lease other = both.take(both.of_b);
    CHECK(std::set{mine.slot(), other.slot()} == std::set<std::uint16_t>{0, 1});
    CHECK(mine.fence() > 0);
    const auto next = both.wait(both.of_b);
    both.pass(1min);  // the leases are renewed
    CHECK(mine);
    CHECK(other);
    CHECK_FALSE(next.done());
    SECTION("released by the semaphore") {
        outcome<> released;
        both.of_a.async_release(std::move(mine), released.handler());
        both.pass(0ms);
        REQUIRE(released.done());
        CHECK_FALSE(released.error());
    }
    SECTION("given back by the destructor") { mine = lease(); }
    REQUIRE(both.await(next, 50ms));
    CHECK_FALSE(next.error());
    next.value() = lease();
    other = lease();
    both.pass(10ms);
    CHECK(both.taken() == 0);
}

TEST_CASE("a try and a short wait say why there is no slot", "[async_semaphore]") {
    two_semaphores both;
    const lease one = both.take(both.of_a);
    const lease two = both.take(both.of_a);
    permit_outcome attempt;
    both.of_b.async_try_acquire(attempt.handler());
    permit_outcome at_once;
    both.of_b.async_acquire_for(0ms, at_once.handler());
    both.pass(0ms);
    REQUIRE(attempt.done());
    CHECK_FALSE(attempt.error());
    CHECK_FALSE(attempt.value());
    CHECK(attempt.value().votes().size() == 3);
    REQUIRE(at_once.done());
    CHECK(at_once.error() == errc::contended);
    permit_outcome short_wait;
    both.of_b.async_acquire_for(300ms, short_wait.handler());
    both.pass(300ms - 1ms);
    CHECK_FALSE(short_wait.done());
    both.pass(1ms);
    REQUIRE(short_wait.done());
    CHECK(short_wait.error() == errc::contended);
    CHECK(short_wait.value().votes().size() == 3);
}

TEST_CASE("options.wait limits async_acquire, and none is a year", "[async_semaphore]") {
    two_semaphores both({.wait = 2s, .note = "at work"});
    async_semaphore patient(both.b.client, "r", 2);
    const lease one = both.take(both.of_a);
    const lease two = both.take(both.of_a);
    const auto limited = both.wait(both.of_b);
    const auto waits = both.wait(patient);
    both.pass(2s);
    REQUIRE(limited.done());
    CHECK(limited.error() == errc::contended);
    CHECK(limited.value().votes()[0].note == "at work");
    both.pass(10min);
    CHECK_FALSE(waits.done());
}

TEST_CASE("a lost slot is reported, and the others go on", "[async_semaphore]") {
    two_semaphores both;
    const lease lost = both.take(both.of_a);
    const lease kept = both.take(both.of_a);
    outcome<loss> seen;
    both.a.client.async_lost(lost, seen.handler());
    both.nodes.occupy("r#" + std::to_string(lost.slot()), 1h);
    both.pass(20s);
    REQUIRE(seen.done());
    CHECK(seen.value() == loss::taken);
    CHECK(lost.lost_token().stop_requested());
    CHECK_FALSE(lost);
    CHECK(kept);
    CHECK_FALSE(kept.lost_token().stop_requested());
}

TEST_CASE("a wait for a slot is cancelled, and leaves nothing", "[async_semaphore]") {
    two_semaphores both;
    const lease one = both.take(both.of_a);
    const lease two = both.take(both.of_a);
    const auto waits = both.wait(both.of_b);
    REQUIRE(both.nodes.waiting("r") == 1);
    error_code expected = asio::error::operation_aborted;
    SECTION("its slot") { waits.cancel(); }
    SECTION("the client's operations") { both.b.client.cancel(); }
    SECTION("the client") {
        both.b.client.close();
        expected = errc::client_closed;
    }
    both.pass(10ms);
    REQUIRE(waits.done());
    CHECK(waits.error() == expected);
    CHECK(both.nodes.waiting("r") == 0);
    CHECK(one);
    CHECK(two);
}

TEST_CASE("an execution context takes what semaphores have under way with it",
          "[async_semaphore]") {
    masters nodes;
    auto io = std::make_unique<asio::io_context>();
    redlock::client client(io->get_executor(), nodes.options());
    async_semaphore lines(client, "r", 1);
    permit_outcome first;
    lines.async_acquire(first.handler());
    nodes.advance(*io, 0ms);
    REQUIRE(first.done());
    permit_outcome waits;
    lines.async_acquire(waits.handler());
    nodes.advance(*io, 1s);
    io.reset();
    CHECK_FALSE(waits.done());
    waits.cancel();
}

TEST_CASE("a number of slots that can't be is refused at once, with the bound",
          "[async_semaphore]") {
    masters nodes(1);
    asio::io_context io;
    program a(nodes, io);
    const auto slots = GENERATE(std::uint16_t{0}, std::uint16_t{max_slots + 1});
    try {
        const async_semaphore s(a.client, "r", slots);
        FAIL("constructed");
    } catch (const std::invalid_argument& e) {
        CHECK(e.what() ==
              "redlock::async_semaphore: slots must be 1 to " + std::to_string(max_slots));
    }
    CHECK_NOTHROW(async_semaphore(a.client, "r", 1));
    CHECK_NOTHROW(async_semaphore(a.client, "r", max_slots));
}
