// A round to give a lease back: when it is complete, and what it then says.
// SPDX-License-Identifier: MIT
#include "core/lock/release.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <limits>
#include <vector>

using namespace redlock;
using core::choice;
using core::testing::oracle;
using core::testing::plain_count;

namespace {

const std::vector<choice> all_choices{choice::yes, choice::no, choice::unable};

struct giving_back {
    explicit giving_back(std::size_t nodes) : machine(nodes) {}
    core::release machine;
    plain_count votes;
    bool complete = false;
    error_code outcome;
};

auto checked_step(oracle& o) {
    return [&o](giving_back& g, std::size_t node, choice c) {
        const bool was_complete = g.complete;
        if (!was_complete) {
            if (c == choice::yes) ++g.votes.yes;
            if (c == choice::no) ++g.votes.no;
            if (c == choice::unable) ++g.votes.unable;
            const auto& view = o.at(g.votes);
            const bool settled = view.answered && !view.can_be_denied;
            g.complete = view.won || view.denied || settled || !view.can_answer;
            if (view.denied) g.outcome = errc::not_held;
            if (!view.can_answer) g.outcome = errc::no_quorum;
        }
        const bool completes = g.machine.cast(node, c);
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
        CHECK(core::testing::every_order(nodes, all_choices, giving_back(nodes),
                                         checked_step(o)) == sequences[nodes]);
    }
}

TEST_CASE("a release over six to nine nodes completes as the brute force does") {
    for (std::size_t nodes = 6; nodes <= 9; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, all_choices, false, giving_back(nodes),
                                            checked_step(o)) >= 729);
    }
}

TEST_CASE("a release waits for more than a quorum of answers while it can be denied") {
    core::release r(5);
    CHECK_FALSE(r.cast(0, choice::no));
    CHECK_FALSE(r.cast(1, choice::no));
    CHECK_FALSE(r.cast(2, choice::yes));
    SECTION("it is denied") {
        CHECK_FALSE(r.cast(3, choice::unable));
        CHECK(r.cast(4, choice::no));
        CHECK(r.outcome() == errc::not_held);
    }
    SECTION("it can't be denied any more, though two nodes did not answer") {
        CHECK_FALSE(r.cast(3, choice::unable));
        CHECK(r.cast(4, choice::unable));
        CHECK_FALSE(r.outcome());
    }
    SECTION("a second key deleted leaves the denial one node") {
        CHECK_FALSE(r.cast(3, choice::yes));
        CHECK(r.cast(4, choice::yes));
        CHECK_FALSE(r.outcome());
    }
}

TEST_CASE("a quorum of deleted keys is a release at once") {
    core::release r(5);
    r.cast(4, choice::yes);
    r.cast(2, choice::no);
    CHECK_FALSE(r.cast(0, choice::yes));
    CHECK(r.cast(1, choice::yes));
    CHECK_FALSE(r.outcome());
    CHECK_FALSE(r.cast(3, choice::no));
    CHECK_FALSE(r.outcome());
}

TEST_CASE("a quorum of other keys is not held") {
    core::release r(3);
    r.cast(2, choice::no);
    CHECK(r.cast(0, choice::no));
    CHECK(r.outcome() == errc::not_held);
}

TEST_CASE("a release that too few answer says so at once") {
    core::release odd(3);
    CHECK_FALSE(odd.cast(0, choice::unable));
    CHECK(odd.cast(1, choice::unable));
    CHECK(odd.outcome() == errc::no_quorum);
    core::release even(4);
    CHECK_FALSE(even.cast(0, choice::unable));
    CHECK(even.cast(3, choice::unable));
    CHECK(even.outcome() == errc::no_quorum);
    core::release most(32);
    for (std::size_t node = 0; node < 16; ++node) CHECK_FALSE(most.cast(node, choice::yes));
    CHECK(most.cast(31, choice::yes));
    CHECK_FALSE(most.outcome());
}

TEST_CASE("a second choice of a node, a pending one and one of no node release nothing") {
    core::release r(2);
    r.cast(0, choice::yes);
    for (const choice c : all_choices) {
        CHECK_FALSE(r.cast(0, c));
        CHECK_FALSE(r.cast(2, c));
        CHECK_FALSE(r.cast(std::numeric_limits<std::size_t>::max(), c));
    }
    CHECK_FALSE(r.cast(1, choice::pending));
    CHECK_FALSE(r.complete());
    CHECK(r.cast(1, choice::yes));
}

TEST_CASE("a release raises the fence where commands of the lease may arrive late, also when owed") {
    const core::traces left{.highest_fence = 7};
    for (const bool is_again : {false, true}) {
        const core::release_facts late{.may_arrive_late = true, .is_again = is_again};
        CHECK(core::message_of_release(left, late, {}).raises_fence);
        CHECK_FALSE(core::message_of_release(left, {.is_again = is_again}, {}).raises_fence);
    }
}

TEST_CASE("a release that was owed keeps a place in the queue only if its waiter is known to be gone") {
    const auto names = [](bool is_entered, bool waits_on, bool is_again) {
        const core::release_facts facts{
            .is_entered = is_entered, .waits_on = waits_on, .is_again = is_again};
        return core::message_of_release({}, facts, {}).names_waiter;
    };
    CHECK_FALSE(names(false, false, false));
    CHECK(names(true, false, false));
    CHECK(names(true, true, false));
    CHECK(names(true, false, true));
    CHECK_FALSE(names(true, true, true));
}

TEST_CASE("a release keeps the key for what is left of its least time, also when owed") {
    using namespace std::chrono_literals;
    const core::traces left{.keep_until = time_point(10s), .keep_error = 1s};
    const core::release_facts again{.is_again = true};
    CHECK(core::message_of_release(left, {}, time_point(4s)).keep == 7s);
    CHECK(core::message_of_release(left, again, time_point(8s)).keep == 3s);
    CHECK(core::message_of_release(left, again, time_point(12s)).keep == 0s);
}

TEST_CASE("a release goes to the nodes that may have a part, or to all if others know the lease") {
    core::traces left{.nodes = node_mask::only(0)};
    const node_mask all = node_mask::first(5);
    CHECK(core::nodes_to_release(left, node_mask::only(2), all).size() == 2);
    left.is_known_elsewhere = true;
    CHECK(core::nodes_to_release(left, {}, all) == all);
}

TEST_CASE("an owed release of a lease that others know is followed by one to all nodes") {
    core::traces left{.nodes = node_mask::only(0), .highest_fence = 7};
    CHECK_FALSE(core::release_after_owed(left, true));
    left.is_known_elsewhere = true;
    CHECK_FALSE(core::release_after_owed(left, false));  // without fences no node notes anything
    const auto next = core::release_after_owed(left, true);
    REQUIRE(next);
    CHECK(next->nodes.empty());  // owed to none: it follows once
    CHECK(next->highest_fence == 7);
}

TEST_CASE("a release cuts the life of a fence that is kept for longer than it is needed") {
    using namespace std::chrono_literals;
    constexpr auto now = time_point(72h);
    core::traces left;
    left.note_keys(now, 60s);
    CHECK(core::message_of_release(left, {}, now).cuts_fence);
    CHECK_FALSE(core::message_of_release(left, {}, now + 50s).cuts_fence);
}
