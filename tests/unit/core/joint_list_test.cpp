// Quorums of a list that changes: more than half of the old list and of the new one.
// SPDX-License-Identifier: MIT
#include "core/quorum.hpp"
#include "value/nodes.hpp"

#include "tests/support/catch.hpp"

#include <array>
#include <cstddef>
#include <functional>

using namespace redlock;
using core::choice;
using core::tally;

namespace {

node_mask nodes(std::initializer_list<std::size_t> all) {
    node_mask out;
    for (const std::size_t i : all) out.insert(i);
    return out;
}

bool is_majority(node_mask list, node_mask of) { return 2 * (list & of).size() > list.size(); }

node_mask mask_of(std::size_t bits, std::size_t count) {
    node_mask out;
    for (std::size_t i = 0; i < count; ++i) out.set(i, (bits >> i & 1U) != 0);
    return out;
}

}  // namespace

TEST_CASE("a quorum of a joint list is more than half of each of its lists") {
    constexpr std::size_t count = 5;
    for (std::size_t old = 1; old < 32; ++old) {
        for (std::size_t after = 1; after < 32; ++after) {
            if ((old | after) != 31) continue;
            const node_lists lists(mask_of(old, count), mask_of(after, count));
            CHECK(lists.is_joint() == (old != after));
            for (std::size_t votes = 0; votes < 32; ++votes) {
                const node_mask yes = mask_of(votes, count);
                const bool expected =
                    is_majority(lists.old(), yes) && is_majority(lists.after(), yes);
                if (lists.is_quorum(yes) != expected) FAIL(old << " " << after << " " << votes);
                const bool others = is_majority(lists.old(), lists.all() - yes) &&
                                    is_majority(lists.after(), lists.all() - yes);
                if (lists.prevents_quorum(yes) == others) FAIL(old << " " << after << " " << votes);
            }
        }
    }
}

TEST_CASE("a round over a joint list is won and lost by both lists") {
    // {0,1,2} becomes {0,1,3}.
    const node_lists lists(nodes({0, 1, 2}), nodes({0, 1, 3}));
    SECTION("the nodes that stay are enough") {
        tally t(lists);
        t.cast(0, choice::yes);
        CHECK_FALSE(t.has_won());
        t.cast(1, choice::yes);
        CHECK(t.has_won());
    }
    SECTION("the old list alone is not") {
        tally t(lists);
        t.cast(0, choice::yes);
        t.cast(2, choice::yes);
        CHECK_FALSE(t.has_won());
        t.cast(3, choice::yes);
        CHECK(t.has_won());
    }
    SECTION("what one list can't get is lost") {
        tally t(lists);
        t.cast(3, choice::no);
        CHECK_FALSE(t.has_lost());
        t.cast(0, choice::no);
        CHECK(t.has_lost());
        CHECK(t.is_denied());
        CHECK_FALSE(t.is_undecidable());
    }
    SECTION("nodes that can't vote count in the lists that have them") {
        tally t(lists);
        t.cast(2, choice::unable);
        t.cast(3, choice::unable);
        CHECK_FALSE(t.is_undecidable());
        t.cast(1, choice::unable);
        CHECK(t.is_undecidable());
    }
    SECTION("a second round may be won by those that refused the fence alone") {
        tally t(lists);
        t.cast(0, choice::stale);
        t.cast(2, choice::yes);
        CHECK_FALSE(t.would_win_above());
        CHECK(t.may_win_above());
        t.cast(3, choice::stale);
        CHECK(t.would_win_above());
    }
}

TEST_CASE("a node that is of no list has no choice") {
    tally t(node_lists(nodes({0, 2}), nodes({2, 3})));
    CHECK_FALSE(t.cast(1, choice::yes));
    CHECK(t.cast(3, choice::yes));
}

TEST_CASE("what a quorum has at least is the later of both lists'") {
    const node_lists lists(nodes({0, 1, 2}), nodes({2, 3, 4}));
    const std::array<int, 5> free_at{1, 2, 9, 3, 8};
    CHECK(lists.quorum_th(free_at) == 8);
    CHECK(lists.quorum_th(free_at, std::greater<>()) == 2);
    CHECK(node_lists(5).quorum_th(free_at) == 3);
}
