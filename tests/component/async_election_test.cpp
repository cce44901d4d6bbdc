// The asynchronous election on masters in memory: its completions, and how they are cancelled.
// SPDX-License-Identifier: MIT
#include "component/support/program.hpp"
#include "support/catch.hpp"
#include "support/outcome.hpp"

#include <redlock/async_election.hpp>

#include <boost/asio/error.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

using namespace redlock;
using namespace std::chrono_literals;
using redlock::testing::masters;
using redlock::testing::outcome;
using redlock::testing::program;

namespace {

namespace asio = boost::asio;

redlock::client_options called(const masters& nodes, const char* name) {
    auto options = nodes.options();
    options.client_name = name;
    return options;
}

/// Two programs that campaign under one name.
struct candidates {
    explicit candidates(acquire_options how = {})
        : a(nodes, io, called(nodes, "a")), b(nodes, io, called(nodes, "b")),
          of_a(std::in_place, a.client, "r", how), of_b(std::in_place, b.client, "r", how) {}

    outcome<refusal> campaign(async_election& of) {
        outcome<refusal> out;
        of.async_campaign(out.handler());
        pass(0ms);
        return out;
    }
    error_code resign(async_election& of) {
        outcome<> out;
        of.async_resign(out.handler());
        pass(0ms);
        REQUIRE(out.done());
        return out.error();
    }
    std::optional<leader_info> leader(async_election& of) {
        outcome<std::optional<leader_info>> out;
        of.async_leader(out.handler());
        pass(0ms);
        REQUIRE(out.done());
        REQUIRE_FALSE(out.error());
        return out.value();
    }
    outcome<std::optional<leader_info>> observe(async_election& of,
                                                const std::optional<leader_info>& last) {
        outcome<std::optional<leader_info>> out;
        of.async_observe(last, out.handler());
        pass(0ms);
        return out;
    }
    template <class Outcome>
    bool await(const Outcome& of, std::chrono::milliseconds limit = 20s) {
        for (auto passed = 0ms; passed < limit && !of.done(); passed += 5ms) pass(5ms);
        return of.done();
    }
    void pass(clock::duration time) { nodes.advance(io, time); }

    masters nodes;
    asio::io_context io;
    program a;
    program b;
    std::optional<async_election> of_a;
    std::optional<async_election> of_b;
};

}  // namespace

TEST_CASE("an asynchronous campaign completes when elected, in turn", "[async_election]") {
    candidates both;
    const auto first = both.campaign(*both.of_a);
    REQUIRE(first.done());
    CHECK_FALSE(first.error());
    CHECK(first.value().votes.empty());
    CHECK(both.of_a->held());
    const auto fence = both.of_a->fence();
    CHECK(fence > 0);
    CHECK_FALSE(both.of_a->lost_token().stop_requested());
    CHECK(both.leader(*both.of_b)->name == "a");

    const auto second = both.campaign(*both.of_b);
    CHECK_FALSE(second.done());
    CHECK_FALSE(both.of_b->held());
    CHECK_FALSE(both.resign(*both.of_a));
    CHECK_FALSE(both.of_a->held());
    CHECK(both.await(second));
    CHECK(both.of_b->fence() > fence);
    CHECK(both.leader(*both.of_a)->name == "b");
    CHECK(both.resign(*both.of_a) == errc::not_held);
}

TEST_CASE("an asynchronous election campaigns once at a time", "[async_election]") {
    candidates both;
    REQUIRE(both.campaign(*both.of_a).done());
    CHECK(both.campaign(*both.of_a).error() == errc::would_deadlock);
    const auto waiting = both.campaign(*both.of_b);
    CHECK(both.campaign(*both.of_b).error() == errc::would_deadlock);
    CHECK_FALSE(waiting.done());
}

TEST_CASE("an asynchronous campaign is ended in each way, and leaves nothing",
          "[async_election]") {
    candidates both;
    REQUIRE(both.campaign(*both.of_a).done());
    const auto waiting = both.campaign(*both.of_b);
    REQUIRE(both.nodes.waiting("r") == 1);
    SECTION("its slot") { waiting.cancel(); }
    SECTION("a resignation") { CHECK_FALSE(both.resign(*both.of_b)); }
    SECTION("the client") { both.b.client.cancel(); }
    SECTION("its election is destroyed") { both.of_b.reset(); }
    both.pass(0ms);
    REQUIRE(waiting.done());
    CHECK(waiting.error() == asio::error::operation_aborted);
    CHECK(waiting.value() == error_code(asio::error::operation_aborted));
    CHECK(both.nodes.waiting("r") == 0);
    CHECK(both.of_a->held());
}

TEST_CASE("a withdrawn candidate gives back what it was granted meanwhile", "[async_election]") {
    candidates both;
    outcome<refusal> running;
    both.of_a->async_campaign(running.handler());
    SECTION("its slot") { running.cancel(); }
    SECTION("a resignation") {
        outcome<> resigned;
        both.of_a->async_resign(resigned.handler());
    }
    both.pass(0ms);
    REQUIRE(running.done());
    CHECK(running.error() == asio::error::operation_aborted);
    CHECK_FALSE(both.of_a->held());
    CHECK(both.nodes.holding("r") == 0);
    CHECK_FALSE(both.campaign(*both.of_b).error());
}

TEST_CASE("a refused campaign says why", "[async_election]") {
    candidates both({.wait = 200ms});
    REQUIRE(both.campaign(*both.of_a).done());
    const auto waiting = both.campaign(*both.of_b);
    both.pass(300ms);
    REQUIRE(waiting.done());
    CHECK(waiting.error() == errc::contended);
    CHECK((waiting.value() == errc::contended));
    CHECK(waiting.value().votes.size() == 3);
}

TEST_CASE("async_lost completes with the loss, or says that there is no term",
          "[async_election]") {
    candidates both;
    outcome<loss> none;
    both.of_a->async_lost(none.handler());
    both.pass(0ms);
    CHECK(none.error() == errc::not_held);
    REQUIRE(both.campaign(*both.of_a).done());
    const auto fence = both.of_a->fence();
    outcome<loss> lost;
    both.of_a->async_lost(lost.handler());
    both.nodes.occupy("r", 1h);
    both.pass(20s);
    REQUIRE(lost.done());
    CHECK_FALSE(lost.error());
    CHECK(lost.value() == loss::taken);
    CHECK_FALSE(both.of_a->held());
    CHECK(both.of_a->fence() == fence);
    both.nodes.vacate("r");
    CHECK_FALSE(both.campaign(*both.of_a).error());
    CHECK(both.of_a->fence() > fence);
}

TEST_CASE("a touch of an asynchronous election keeps its term", "[async_election]") {
    candidates both({.ttl = 3s, .watchdog = 2s});
    both.of_a->touch();
    REQUIRE(both.campaign(*both.of_a).done());
    for (int i = 0; i < 20; ++i) {
        both.pass(1'500ms);
        both.of_a->touch();
    }
    outcome<loss> lost;
    both.of_a->async_lost(lost.handler());
    both.pass(2s - 1ns);
    CHECK(both.of_a->held());
    both.pass(1ns);
    REQUIRE(lost.done());
    CHECK(lost.value() == loss::stalled);
}

TEST_CASE("the destructor of an asynchronous leader resigns", "[async_election]") {
    candidates both;
    REQUIRE(both.campaign(*both.of_a).done());
    both.of_a.reset();
    both.pass(0ms);
    CHECK(both.nodes.holding("r") == 0);
}

TEST_CASE("async_observe completes at each change, for clients that do not campaign",
          "[async_election]") {
    candidates both;
    const auto elected = both.observe(*both.of_b, std::nullopt);
    CHECK_FALSE(elected.done());
    REQUIRE(both.campaign(*both.of_a).done());
    REQUIRE(both.await(elected));
    const auto first = elected.value();
    REQUIRE(first);
    CHECK(first->name == "a");
    const auto resigned = both.observe(*both.of_b, first);
    CHECK_FALSE(both.await(resigned, 600ms));
    CHECK_FALSE(both.resign(*both.of_a));
    REQUIRE(both.await(resigned));
    CHECK_FALSE(resigned.value());
    REQUIRE(both.campaign(*both.of_a).done());
    const auto missed = both.observe(*both.of_b, first);
    REQUIRE(missed.done());
    CHECK(missed.value()->fence > first->fence);
}

TEST_CASE("an observation is cancelled while it asks and while it waits", "[async_election]") {
    candidates both;
    outcome<std::optional<leader_info>> seen;
    both.of_b->async_observe(std::nullopt, seen.handler());
    SECTION("asking") {}
    SECTION("waiting") { both.pass(0ms); }
    SECTION("asking again") { CHECK_FALSE(both.await(seen, 600ms)); }
    seen.cancel();
    both.pass(0ms);
    REQUIRE(seen.done());
    CHECK(seen.error() == asio::error::operation_aborted);
}

TEST_CASE("an election whose client is gone completes with client_closed", "[async_election]") {
    masters nodes;
    asio::io_context io;
    auto client = std::make_unique<redlock::client>(io.get_executor(), nodes.options());
    nodes.advance(io, 0ms);
    async_election mine(*client, "r");
    outcome<std::optional<leader_info>> seen;
    mine.async_observe(std::nullopt, seen.handler());
    nodes.advance(io, 0ms);
    client.reset();
    outcome<refusal> refused;
    mine.async_campaign(refused.handler());
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!(seen.done() && refused.done()) && std::chrono::steady_clock::now() < end) {
        io.restart();
        io.run_for(5ms);
    }
    REQUIRE(seen.done());
    CHECK(seen.error() == errc::client_closed);
    REQUIRE(refused.done());
    CHECK(refused.error() == errc::client_closed);
}

TEST_CASE("an execution context takes what an election has under way with it",
          "[async_election]") {
    masters nodes;
    outcome<std::optional<leader_info>> seen;
    outcome<refusal> waiting;
    auto io = std::make_unique<asio::io_context>();
    redlock::client client(io->get_executor(), nodes.options());
    redlock::client leader(io->get_executor(), nodes.options());
    async_election mine(client, "r");
    async_election other(leader, "r");
    outcome<refusal> elected;
    other.async_campaign(elected.handler());
    nodes.advance(*io, 0ms);
    REQUIRE(elected.done());
    mine.async_campaign(waiting.handler());
    outcome<std::optional<leader_info>> known;
    mine.async_leader(known.handler());
    nodes.advance(*io, 0ms);
    REQUIRE(known.done());
    mine.async_observe(known.value(), seen.handler());
    nodes.advance(*io, 0ms);
    io.reset();
    CHECK_FALSE(waiting.done());
    CHECK_FALSE(seen.done());
    seen.cancel();
    waiting.cancel();
    CHECK_FALSE(mine.held());
    CHECK_FALSE(other.held());
}
