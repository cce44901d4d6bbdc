// The count of one round, against every completion of every vote vector.
// SPDX-License-Identifier: MIT
#include "core/quorum/tally.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <limits>
#include <vector>

using namespace redlock;
using core::choice;
using core::tally;
using core::testing::oracle;
using core::testing::plain_count;

namespace {

const std::vector<choice> all_choices{choice::yes, choice::no, choice::unable};

struct counting {
    explicit counting(std::size_t nodes) : machine(nodes) {}
    tally machine;
    plain_count expected;
};

void count(plain_count& t, choice b) {
    if (b == choice::yes) ++t.yes;
    if (b == choice::no) ++t.no;
    if (b == choice::unable) ++t.unable;
}

bool agrees(const tally& p, const plain_count& t, oracle& o) {
    const auto& view = o.at(t);
    return p.has_won() == view.won && p.has_lost() == !view.can_win &&
           p.is_undecidable() == !view.can_answer;
}

// A step that checks the count after each choice, and that no second one of the node counts.
auto checked_step(oracle& o) {
    return [&o](counting& c, std::size_t node, choice b) {
        bool good = c.machine.cast(node, b);
        count(c.expected, b);
        good = good && agrees(c.machine, c.expected, o);
        for (const choice again : all_choices) good = good && !c.machine.cast(node, again);
        if (good && agrees(c.machine, c.expected, o)) return;
        INFO("yes " << c.expected.yes << ", no " << c.expected.no << ", unable "
                    << c.expected.unable << " of " << c.machine.lists().size());
        REQUIRE(false);
    };
}

}  // namespace

TEST_CASE("a tally counts every vector in every order as the brute force does") {
    const std::vector<std::size_t> sequences{0, 3, 18, 162, 1944, 29160};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(agrees(tally(nodes), {}, o));
        CHECK(core::testing::every_order(nodes, all_choices, counting(nodes), checked_step(o)) ==
              sequences[nodes]);
    }
}

TEST_CASE("a tally counts every vector of six to nine nodes as the brute force does") {
    const std::vector<std::size_t> vectors{729, 2187, 6561, 19683};
    for (std::size_t nodes = 6; nodes <= 9; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, all_choices, false, counting(nodes),
                                            checked_step(o)) == vectors[nodes - 6]);
    }
}

TEST_CASE("a node that does not exist has no choice") {
    for (std::size_t nodes = 1; nodes <= max_nodes; ++nodes) {
        tally p(nodes);
        for (const std::size_t node :
             {nodes, nodes + 1, max_nodes, std::numeric_limits<std::size_t>::max()}) {
            CHECK_FALSE(p.cast(node, choice::yes));
        }
        CHECK(p.cast(nodes - 1, choice::yes));
        CHECK_FALSE(p.cast(nodes - 1, choice::no));
    }
}

TEST_CASE("a pending choice is none, and leaves the node its own") {
    tally p(3);
    CHECK_FALSE(p.cast(1, choice::pending));
    CHECK(p.cast(1, choice::no));
    CHECK_FALSE(p.cast(1, choice::pending));
    CHECK(p.cast(0, choice::no));
    CHECK(p.is_denied());
}

TEST_CASE("the most nodes a client takes are counted to the last") {
    tally carried(max_nodes);
    for (std::size_t node = 0; node < 16; ++node) carried.cast(node, choice::yes);
    CHECK_FALSE(carried.has_won());
    CHECK_FALSE(carried.has_lost());
    carried.cast(31, choice::yes);
    CHECK(carried.has_won());

    tally undecidable(max_nodes);
    for (std::size_t node = 0; node < 15; ++node) undecidable.cast(31 - node, choice::unable);
    CHECK_FALSE(undecidable.is_undecidable());
    CHECK_FALSE(undecidable.has_lost());
    undecidable.cast(0, choice::unable);
    CHECK(undecidable.is_undecidable());
    CHECK(undecidable.has_lost());
}
