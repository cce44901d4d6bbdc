// Which of several keys each node keeps from a waiter, by answers and wake-ups in any order.
// SPDX-License-Identifier: MIT
#include "core/wait/blocked_keys.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using core::blocked_keys;

TEST_CASE("a node lets a waiter have its keys when it has woken it for each that was in the way") {
    blocked_keys keys(3);
    keys.queried(node_mask::first(2));
    keys.answered(0, 0b101);
    keys.answered(1, 0b100);
    CHECK_FALSE(keys.woken(0, 2));
    CHECK(keys.woken(1, 2));
    CHECK(keys.woken(0, 0));
    CHECK(keys.woken(0, 1));  // was not in the way
}

TEST_CASE("a wake-up that comes before an answer is newer than that answer") {
    blocked_keys keys(2);
    keys.queried(node_mask::only(0));
    CHECK(keys.woken(0, 1));
    keys.answered(0, 0b011);
    CHECK(keys.woken(0, 0));
}

TEST_CASE("an answer to a later question is newer than the wake-ups before it") {
    blocked_keys keys(2);
    keys.queried(node_mask::only(0));
    keys.answered(0, 0b01);
    CHECK(keys.woken(0, 0));
    keys.queried(node_mask::only(0));
    keys.answered(0, 0b11);
    CHECK_FALSE(keys.woken(0, 1));
    CHECK(keys.woken(0, 0));
}

TEST_CASE("the last of sixty-four keys is distinguished from the others") {
    blocked_keys keys(64);
    keys.answered(0, ~blocked_keys::keys{0});
    for (std::size_t i = 0; i < 63; ++i) CHECK_FALSE(keys.woken(0, i));
    CHECK(keys.woken(0, 63));
}

TEST_CASE("a node that names more keys than there are keeps nothing more from the waiter") {
    blocked_keys keys(2);
    keys.answered(0, ~blocked_keys::keys{0});
    CHECK_FALSE(keys.woken(0, 0));
    CHECK(keys.woken(0, 1));
}

TEST_CASE("an answer that names only what was freed meanwhile lets the waiter have its keys") {
    blocked_keys keys(3);
    CHECK_FALSE(keys.answered(0, 0b100));
    keys.queried(node_mask::only(0));
    CHECK_FALSE(keys.woken(0, 0));  // by what it told before
    CHECK(keys.answered(0, 0b001));
    CHECK_FALSE(keys.answered(0, 0));
}
