// Giving a lease back, or taking it from its holder: what each node is sent, and how the round
// ends.
// SPDX-License-Identifier: MIT
#include "core/release.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <limits>
#include <vector>

// A round to give a lease back: when it is complete, and what it then says.
namespace release_test {

using namespace redlock;
using core::choice;
using core::testing::oracle;
using core::testing::plain_count;

namespace {

const std::vector<choice> all_choices{choice::yes, choice::no, choice::unable};

struct giving_back {
    explicit giving_back(std::size_t nodes) : machine(node_lists(nodes)) {}
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
    core::release r(node_lists(5));
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
    core::release r(node_lists(5));
    r.cast(4, choice::yes);
    r.cast(2, choice::no);
    CHECK_FALSE(r.cast(0, choice::yes));
    CHECK(r.cast(1, choice::yes));
    CHECK_FALSE(r.outcome());
    CHECK_FALSE(r.cast(3, choice::no));
    CHECK_FALSE(r.outcome());
}

TEST_CASE("a quorum of other keys is not held") {
    core::release r(node_lists(3));
    r.cast(2, choice::no);
    CHECK(r.cast(0, choice::no));
    CHECK(r.outcome() == errc::not_held);
}

TEST_CASE("a release that too few answer says so at once") {
    core::release odd(node_lists(3));
    CHECK_FALSE(odd.cast(0, choice::unable));
    CHECK(odd.cast(1, choice::unable));
    CHECK(odd.outcome() == errc::no_quorum);
    core::release even(node_lists(4));
    CHECK_FALSE(even.cast(0, choice::unable));
    CHECK(even.cast(3, choice::unable));
    CHECK(even.outcome() == errc::no_quorum);
    core::release most(node_lists(32));
    for (std::size_t node = 0; node < 16; ++node) CHECK_FALSE(most.cast(node, choice::yes));
    CHECK(most.cast(31, choice::yes));
    CHECK_FALSE(most.outcome());
}

TEST_CASE("a second choice of a node, a pending one and one of no node release nothing") {
    core::release r(node_lists(2));
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

}  // namespace release_test

// Which values an operator's revocation removes.
namespace revocation_test {

using namespace redlock;
using namespace std::chrono_literals;
using plan = core::revocation;
using texts = std::vector<std::string>;

namespace {

const plan::nameless_owners names{"", "readers"};

resource_state shown_to_operator(std::string owner) {
    resource_state shown;
    shown.owner = std::move(owner);
    return shown;
}

plan after_look(const resource_state& shown, const std::vector<plan::held_value>& values) {
    plan p(shown, names);
    REQUIRE(p.advance() == plan::phase::look);
    for (const auto& v : values) p.saw(0, v);
    REQUIRE(p.advance() == plan::phase::revoke);
    return p;
}

}  // namespace

TEST_CASE("a revocation of a resource without owners is over at once") {
    plan p(shown_to_operator(""), names);
    CHECK(p.advance() == plan::phase::over);
}

TEST_CASE("a revocation removes the values of the owner that the operator has seen") {
    const plan p = after_look(shown_to_operator("a"), {{"a1", "a"}, {"a2", "a"}, {"b1", "b"}});
    CHECK(p.targets()[0].values == std::set<std::string>{"a1", "a2"});
    CHECK(p.is_due(0));
}

TEST_CASE("a holder that came later keeps the lock, and is reported") {
    plan p = after_look(shown_to_operator("a"), {{"b1", "b"}});
    CHECK_FALSE(p.is_due(0));
    REQUIRE(p.advance() == plan::phase::over);
    revocation report;
    p.report(report);
    CHECK(report.revoked.empty());
    CHECK(report.holders == texts{"b"});
}

TEST_CASE("the owners that minorities of the nodes name are revoked, too") {
    resource_state shown = shown_to_operator("a");
    shown.nodes.resize(2);
    shown.nodes[0].state = key_state::held;
    shown.nodes[0].owner = "b";
    shown.nodes[1].state = key_state::shared;
    shown.nodes[1].owner = "readers";
    shown.nodes[1].readers = {"c"};
    CHECK(plan(shown, names).targets()[0].owners == std::set<std::string>{"a", "b", "c"});
}

TEST_CASE("a key with an empty value, or shared without readers, is revoked by that value") {
    const auto state = GENERATE(key_state::held, key_state::shared);
    resource_state shown;
    shown.nodes.resize(2);  // the second has no key
    shown.nodes[0].state = state;
    shown.nodes[0].ttl = 5s;
    const plan p(shown, names);
    REQUIRE(p.targets().size() == 1);
    const std::string name = state == key_state::shared ? "readers" : "";
    CHECK(p.targets()[0].owners == std::set<std::string>{name});
}

TEST_CASE("each slot is a target of its own") {
    resource_state shown = shown_to_operator("a");
    shown.slots.resize(1);
    shown.slots[0].number = 3;
    shown.slots[0].owner = "b";
    plan p(shown, names);
    p.advance();
    REQUIRE(p.targets().size() == 2);
    CHECK(p.targets()[1].slot == 3);
    p.saw(1, {"b1", "b"});
    p.advance();
    CHECK_FALSE(p.is_due(0));
    CHECK(p.is_due(1));
}

TEST_CASE("a revocation raises fences to no fence that no client can have drawn") {
    plan p(shown_to_operator("a"), names);
    p.note_fence(7, true);
    p.note_fence(900, false);
    p.note_fence(5, true);
    CHECK(p.fence() == 7);
}

TEST_CASE("a revocation reports what it removed, each value once, and kept keys apart") {
    plan p = after_look(shown_to_operator("a"), {{"a1", "a"}, {"a1#kept", "a", true}});
    for (int node = 0; node < 3; ++node) {
        p.removed({"a1", "a"});
        p.removed({"a1#kept", "a", true});
        p.remains({"b1", "b"});
        p.remains({"c1#kept", "c", true});
    }
    p.advance();
    revocation report;
    p.report(report);
    CHECK(report.revoked == texts{"a"});
    CHECK(report.freed == texts{"a"});
    CHECK(report.holders == texts{"b"});
}

}  // namespace revocation_test
