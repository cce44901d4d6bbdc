// The count of one round, against every completion of every vote vector.
// SPDX-License-Identifier: MIT
#include "core/poll.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <limits>
#include <vector>

using namespace redlock;
using core::ballot;
using core::poll;
using core::testing::oracle;
using core::testing::tally;

namespace {

const std::vector<ballot> all_ballots{ballot::yes, ballot::no, ballot::unable};

struct counting {
    explicit counting(std::size_t nodes) : machine(nodes) {}
    poll machine;
    tally expected;
};

void count(tally& t, ballot b) {
    if (b == ballot::yes) ++t.yes;
    if (b == ballot::no) ++t.no;
    if (b == ballot::unable) ++t.unable;
}

bool agrees(const poll& p, const tally& t, oracle& o) {
    const auto& view = o.at(t);
    return p.yes() == t.yes && p.no() == t.no && p.unable() == t.unable &&
           p.pending() == p.nodes() - t.yes - t.no - t.unable && p.carried() == view.won &&
           p.hopeless() == !view.can_win && p.crippled() == !view.can_answer;
}

// A step that checks the count after each ballot, and that no second one of the node counts.
auto checked_step(oracle& o) {
    return [&o](counting& c, std::size_t node, ballot b) {
        bool good = c.machine.cast(node, b);
        count(c.expected, b);
        good = good && agrees(c.machine, c.expected, o);
        for (const ballot again : all_ballots) good = good && !c.machine.cast(node, again);
        if (good && agrees(c.machine, c.expected, o)) return;
        INFO("yes " << c.expected.yes << ", no " << c.expected.no << ", unable "
                    << c.expected.unable << " of " << c.machine.nodes());
        REQUIRE(false);
    };
}

}  // namespace

TEST_CASE("a poll counts every vector in every order as the brute force does") {
    const std::vector<std::size_t> sequences{0, 3, 18, 162, 1944, 29160};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(agrees(poll(nodes), {}, o));
        CHECK(core::testing::every_order(nodes, all_ballots, counting(nodes), checked_step(o)) ==
              sequences[nodes]);
    }
}

TEST_CASE("a poll counts every vector of six to nine nodes as the brute force does") {
    const std::vector<std::size_t> vectors{729, 2187, 6561, 19683};
    for (std::size_t nodes = 6; nodes <= 9; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, all_ballots, false, counting(nodes),
                                            checked_step(o)) == vectors[nodes - 6]);
    }
}

TEST_CASE("a node that does not exist has no ballot") {
    for (std::size_t nodes = 1; nodes <= max_nodes; ++nodes) {
        poll p(nodes);
        for (const std::size_t node :
             {nodes, nodes + 1, max_nodes, std::numeric_limits<std::size_t>::max()}) {
            CHECK_FALSE(p.cast(node, ballot::yes));
        }
        CHECK(p.pending() == nodes);
        CHECK(p.cast(nodes - 1, ballot::yes));
        CHECK(p.pending() == nodes - 1);
    }
}

TEST_CASE("a pending ballot is none, and leaves the node its own") {
    poll p(3);
    CHECK_FALSE(p.cast(1, ballot::pending));
    CHECK(p.pending() == 3);
    CHECK(p.cast(1, ballot::no));
    CHECK_FALSE(p.cast(1, ballot::pending));
    CHECK(p.no() == 1);
}

TEST_CASE("the most nodes a client takes are counted to the last") {
    poll carried(max_nodes);
    for (std::size_t node = 0; node < 16; ++node) carried.cast(node, ballot::yes);
    CHECK_FALSE(carried.carried());
    CHECK_FALSE(carried.hopeless());
    carried.cast(31, ballot::yes);
    CHECK(carried.carried());
    CHECK(carried.quorum() == 17);

    poll crippled(max_nodes);
    for (std::size_t node = 0; node < 15; ++node) crippled.cast(31 - node, ballot::unable);
    CHECK_FALSE(crippled.crippled());
    CHECK_FALSE(crippled.hopeless());
    crippled.cast(0, ballot::unable);
    CHECK(crippled.crippled());
    CHECK(crippled.hopeless());
}
