// The arithmetic of majorities: that quorums meet.
// SPDX-License-Identifier: MIT
#include "value/quorum.hpp"

#include "tests/support/catch.hpp"

#include <bit>
#include <cstdint>

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
