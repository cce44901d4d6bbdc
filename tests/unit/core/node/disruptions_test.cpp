// When a release has to raise the fence: after breaks, unless the node forgot since.
// SPDX-License-Identifier: MIT
#include "core/node/disruptions.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using core::disruptions;
using core::traces;

namespace {

traces sent_now(const disruptions& d, std::uint64_t fence = 7) {
    traces t{.born = d.so_far()};
    t.note_sent(node_mask::first(3), fence);
    return t;
}

}  // namespace

TEST_CASE("on connections that hold nothing arrives late") {
    const disruptions d(3);
    CHECK_FALSE(d.may_arrive_late(0, sent_now(d)));
}

TEST_CASE("what was sent before a break may arrive late, on that node alone") {
    disruptions d(3);
    const traces before = sent_now(d);
    d.broke(1);
    CHECK(d.may_arrive_late(1, before));
    CHECK_FALSE(d.may_arrive_late(0, before));
    const traces after = sent_now(d);
    CHECK_FALSE(d.may_arrive_late(1, after));
}

TEST_CASE("a node that forgot after the break executes nothing that was sent earlier") {
    disruptions d(1);
    const traces before = sent_now(d);
    d.broke(0);
    d.forgot(0);
    CHECK_FALSE(d.may_arrive_late(0, before));
    d.broke(0);
    CHECK(d.may_arrive_late(0, before));
}

TEST_CASE("a node that forgot before the break may still execute") {
    disruptions d(1);
    const traces before = sent_now(d);
    d.forgot(0);
    d.broke(0);
    CHECK(d.may_arrive_late(0, before));
}

TEST_CASE("what another process sent may arrive late, whatever happened here") {
    const disruptions d(2);
    traces adopted = sent_now(d);
    adopted.began_elsewhere = true;
    CHECK(d.may_arrive_late(0, adopted));
    CHECK(d.may_arrive_late(1, adopted));
    adopted.highest_fence = 0;  // plain: there is no fence to raise
    CHECK_FALSE(d.may_arrive_late(0, adopted));
}

TEST_CASE("without a fence there is nothing to raise") {
    disruptions d(1);
    const traces plain = sent_now(d, 0);
    d.broke(0);
    CHECK_FALSE(d.may_arrive_late(0, plain));
}

TEST_CASE("traces keep every node and the highest fence") {
    traces t;
    t.note_sent(node_mask::only(0), 9);
    t.note_sent(node_mask::only(2), 5);
    CHECK(t.nodes == (node_mask::only(0) | node_mask::only(2)));
    CHECK(t.highest_fence == 9);
}
