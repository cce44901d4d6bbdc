// What is left of a lease on the nodes: for how long its keys stay, and whether others know it.
// SPDX-License-Identifier: MIT
#include "core/lock/traces.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using core::traces;

namespace {

constexpr time_point now = time_point(72h);

}  // namespace

TEST_CASE("an extension raises the fence that a release has to be above") {
    traces left;
    left.note_sent(node_mask::only(0), 5);
    left.note_sent(node_mask::only(1), 9);
    CHECK(left.nodes == node_mask::first(2));
    CHECK(left.highest_fence == 9);
}

TEST_CASE("a lease is known elsewhere if its token is out, or if it came by one") {
    traces ours;
    ours.note_token(false);
    CHECK_FALSE(ours.is_known_elsewhere);
    CHECK(ours.ends_with_validity());
    ours.note_token(true);
    CHECK(ours.is_known_elsewhere);
    CHECK_FALSE(ours.ends_with_validity());
    traces adopted{.began_elsewhere = true};
    adopted.note_token(false);
    CHECK(adopted.is_known_elsewhere);
}

TEST_CASE("a key stays until its least time is over, and longer if that is not known exactly") {
    traces left;
    CHECK(left.to_keep(now) == 0s);
    left.keep_until = now + 3s;
    left.keep_error = 1s;
    CHECK(left.to_keep(now) == 3s);
    CHECK(left.to_keep_at_most(now) == 4s);
    CHECK(left.to_keep(now + 3s) == 0s);
    CHECK(left.to_keep_at_most(now + 3s) == 1s);
}

TEST_CASE("a node keeps a fence for 15 s, or for as long as the keys of its request") {
    traces left;
    left.note_keys(now, 10s);
    CHECK(left.fences_until == now + 15s);
    CHECK_FALSE(left.has_long_fences(now));
    left.note_keys(now, 60s);
    CHECK(left.fences_until == now + 60s);
    CHECK(left.has_long_fences(now));
    CHECK(left.has_long_fences(now + 44s));
    CHECK_FALSE(left.has_long_fences(now + 45s));
}

TEST_CASE("a renewal prolongs the fences if the keys would outlive them, for some renewals to come") {
    traces left;
    left.note_keys(now, 10s);
    CHECK_FALSE(left.is_fence_due(now + 5s, 10s));
    CHECK(left.is_fence_due(now + 6s, 10s));
    left.note_prolonged_fences(now + 6s, 10s, 120s);
    CHECK(left.fences_until == now + 66s);
    CHECK_FALSE(left.is_fence_due(now + 56s, 10s));
    CHECK(left.is_fence_due(now + 57s, 10s));
    left.note_prolonged_fences(now + 57s, 60s, 120s);
    CHECK(left.fences_until == now + 177s);
}

TEST_CASE("of a lease from another process the fences may live for long") {
    CHECK(traces{.began_elsewhere = true}.has_long_fences(now));
}
