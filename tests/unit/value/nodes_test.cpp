// Sets of nodes in one word, and how many of them are a quorum.
// SPDX-License-Identifier: MIT
#include "value/nodes.hpp"

#include "tests/support/catch.hpp"

#include <bit>
#include <cstdint>
#include <vector>

// A set of nodes.
namespace node_mask_test {

using redlock::max_nodes;
using redlock::node_mask;

namespace {

std::vector<std::size_t> members(node_mask of) { return {of.begin(), of.end()}; }

}  // namespace

TEST_CASE("a node mask is visited in rising order") {
    node_mask m;
    CHECK(m.empty());
    CHECK(members(m).empty());
    for (const std::size_t node : {max_nodes - 1, std::size_t{0}, std::size_t{7}}) m.insert(node);
    CHECK(m.size() == 3);
    CHECK(members(m) == std::vector<std::size_t>{0, 7, max_nodes - 1});
    m.erase(7);
    m.set(0, false);
    m.set(3, true);
    CHECK(members(m) == std::vector<std::size_t>{3, max_nodes - 1});
    CHECK(m.contains(3));
    CHECK_FALSE(m.contains(7));
}

TEST_CASE("a node mask has at most as many nodes as a list") {
    CHECK(node_mask::first(0).empty());
    CHECK(node_mask::first(max_nodes).size() == max_nodes);
    CHECK(members(node_mask::first(2)) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("node masks are combined as sets") {
    const node_mask a = node_mask::first(3);
    const node_mask b = node_mask::only(2) | node_mask::only(4);
    CHECK(members(a | b) == std::vector<std::size_t>{0, 1, 2, 4});
    CHECK(members(a & b) == std::vector<std::size_t>{2});
    CHECK(members(a - b) == std::vector<std::size_t>{0, 1});
    CHECK((a - a).empty());
    CHECK(a != b);
}

}  // namespace node_mask_test

// The arithmetic of majorities: that quorums meet.
namespace quorum_test {

using namespace redlock;

namespace {

// Whether each two sets of `size` of the nodes share one.
bool always_meet(unsigned nodes, int size) {
    const std::uint32_t end = std::uint32_t{1} << nodes;
    for (std::uint32_t a = 0; a < end; ++a) {
        if (std::popcount(a) != size) continue;
        for (std::uint32_t b = 0; b < end; ++b) {
            if (std::popcount(b) == size && (a & b) == 0) return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("a quorum is the smallest number of nodes of which two sets always share one") {
    for (unsigned nodes = 1; nodes <= 9; ++nodes) {
        const auto quorum = static_cast<int>(redlock::quorum(nodes));
        INFO("nodes: " << nodes);
        CHECK(always_meet(nodes, quorum));
        CHECK_FALSE(always_meet(nodes, quorum - 1));
    }
    CHECK(redlock::quorum(2) == 2);
    CHECK(redlock::quorum(4) == 3);
    CHECK(redlock::quorum(31) == 16);
    CHECK(redlock::quorum(32) == 17);
}

}  // namespace quorum_test
