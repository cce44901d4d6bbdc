// A round to give a lease back: when it is complete, and what it then says.
// SPDX-License-Identifier: MIT
#include "core/release.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <limits>
#include <vector>

using namespace redlock;
using core::ballot;
using core::testing::oracle;
using core::testing::tally;

namespace {

const std::vector<ballot> all_ballots{ballot::yes, ballot::no, ballot::unable};

struct giving_back {
    explicit giving_back(std::size_t nodes) : machine(nodes) {}
    core::release machine;
    tally votes;
    bool complete = false;
    error_code outcome;
};

auto checked_step(oracle& o) {
    return [&o](giving_back& g, std::size_t node, ballot b) {
        const bool was_complete = g.complete;
        if (!was_complete) {
            if (b == ballot::yes) ++g.votes.yes;
            if (b == ballot::no) ++g.votes.no;
            if (b == ballot::unable) ++g.votes.unable;
            const auto& view = o.at(g.votes);
            const bool settled = view.answered && !view.can_be_denied;
            g.complete = view.won || view.denied || settled || !view.can_answer;
            if (view.denied) g.outcome = errc::not_held;
            if (!view.can_answer) g.outcome = errc::no_quorum;
        }
        const bool completes = g.machine.cast(node, b);
        if (completes == (g.complete && !was_complete) && g.machine.complete() == g.complete &&
            g.machine.outcome() == g.outcome) {
            return;
        }
        INFO("yes " << g.votes.yes << ", no " << g.votes.no << ", unable " << g.votes.unable);
        CHECK(g.machine.complete() == g.complete);
        CHECK(completes == (g.complete && !was_complete));
        REQUIRE(g.machine.outcome() == g.outcome);
        REQUIRE(false);
    };
}

}  // namespace

TEST_CASE("a release completes once, when no answer can change its outcome") {
    const std::vector<std::size_t> sequences{0, 3, 18, 162, 1944, 29160};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::every_order(nodes, all_ballots, giving_back(nodes),
                                         checked_step(o)) == sequences[nodes]);
    }
}

TEST_CASE("a release over six to nine nodes completes as the brute force does") {
    for (std::size_t nodes = 6; nodes <= 9; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, all_ballots, false, giving_back(nodes),
                                            checked_step(o)) >= 729);
    }
}

TEST_CASE("a release waits for more than a quorum of answers while it can be denied") {
    core::release r(5);
    CHECK_FALSE(r.cast(0, ballot::no));
    CHECK_FALSE(r.cast(1, ballot::no));
    CHECK_FALSE(r.cast(2, ballot::yes));
    SECTION("it is denied") {
        CHECK_FALSE(r.cast(3, ballot::unable));
        CHECK(r.cast(4, ballot::no));
        CHECK(r.outcome() == errc::not_held);
    }
    SECTION("it can be no more, whoever did not answer") {
        CHECK_FALSE(r.cast(3, ballot::unable));
        CHECK(r.cast(4, ballot::unable));
        CHECK_FALSE(r.outcome());
    }
    SECTION("a second key deleted leaves the denial one node") {
        CHECK_FALSE(r.cast(3, ballot::yes));
        CHECK(r.cast(4, ballot::yes));
        CHECK_FALSE(r.outcome());
    }
}

TEST_CASE("a quorum of deleted keys is a release at once") {
    core::release r(5);
    r.cast(4, ballot::yes);
    r.cast(2, ballot::no);
    CHECK_FALSE(r.cast(0, ballot::yes));
    CHECK(r.cast(1, ballot::yes));
    CHECK_FALSE(r.outcome());
    CHECK_FALSE(r.cast(3, ballot::no));
    CHECK_FALSE(r.outcome());
}

TEST_CASE("a quorum of other keys is not held") {
    core::release r(3);
    r.cast(2, ballot::no);
    CHECK(r.cast(0, ballot::no));
    CHECK(r.outcome() == errc::not_held);
}

TEST_CASE("a release that too few answer says so at once") {
    core::release odd(3);
    CHECK_FALSE(odd.cast(0, ballot::unable));
    CHECK(odd.cast(1, ballot::unable));
    CHECK(odd.outcome() == errc::no_quorum);
    core::release even(4);
    CHECK_FALSE(even.cast(0, ballot::unable));
    CHECK(even.cast(3, ballot::unable));
    CHECK(even.outcome() == errc::no_quorum);
    core::release most(32);
    for (std::size_t node = 0; node < 16; ++node) CHECK_FALSE(most.cast(node, ballot::yes));
    CHECK(most.cast(31, ballot::yes));
    CHECK_FALSE(most.outcome());
}

TEST_CASE("a second ballot of a node, a pending one and one of no node release nothing") {
    core::release r(2);
    r.cast(0, ballot::yes);
    for (const ballot b : all_ballots) {
        CHECK_FALSE(r.cast(0, b));
        CHECK_FALSE(r.cast(2, b));
        CHECK_FALSE(r.cast(std::numeric_limits<std::size_t>::max(), b));
    }
    CHECK_FALSE(r.cast(1, ballot::pending));
    CHECK_FALSE(r.complete());
    CHECK(r.cast(1, ballot::yes));
}
