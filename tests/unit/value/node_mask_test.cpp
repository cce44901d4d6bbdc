// A set of nodes.
// SPDX-License-Identifier: MIT
#include "value/node_mask.hpp"

#include "tests/support/catch.hpp"

#include <vector>

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
