// Tests when a resource that is watched is inspected, and when the nodes are looked at.
// SPDX-License-Identifier: MIT
#include "core/watched.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <cstdint>

using namespace redlock;
using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

const time_point t0{1'000s};

// Inspected once; looks 1 to `look` were sent before that.
watched inspected(std::uint64_t look) {
    watched w;
    w.ask();
    w.inspection_begins(look, t0);
    w.inspection_ends(true);
    return w;
}

}  // namespace

TEST_CASE("an inspection follows where a node shows something else than before", "[watched]") {
    watched w = inspected(1);
    w.showed(0, 7, 1);
    w.showed(1, 8, 1);
    CHECK_FALSE(w.wants_inspection());
    w.showed(0, 7, 2);
    w.showed(1, 8, 2);
    CHECK_FALSE(w.wants_inspection());
    w.showed(1, 9, 3);
    CHECK(w.wants_inspection());
}

TEST_CASE("what a look showed that was sent before the inspection is known from it", "[watched]") {
    watched w = inspected(1);
    w.showed(0, 7, 1);
    w.showed(0, 8, 2);
    REQUIRE(w.wants_inspection());
    w.inspection_begins(2, t0);
    w.showed(1, 8, 2);  // another node's answer to the same look
    w.inspection_ends(true);
    CHECK_FALSE(w.wants_inspection());
    w.showed(1, 8, 3);
    CHECK_FALSE(w.wants_inspection());
}

TEST_CASE("a node that answers a look for the first time may show anything", "[watched]") {
    watched w = inspected(1);
    w.showed(0, 7, 1);
    w.showed(2, 7, 2);
    CHECK(w.wants_inspection());
}

TEST_CASE("what changes during an inspection is inspected after it", "[watched]") {
    watched w = inspected(1);
    w.showed(0, 7, 1);
    w.ask();
    w.inspection_begins(1, t0);
    w.showed(0, 8, 2);
    CHECK_FALSE(w.wants_inspection());
    w.inspection_ends(true);
    CHECK(w.wants_inspection());
}

TEST_CASE("an inspection that left the holder open is repeated after half a second", "[watched]") {
    watched w = inspected(1);
    w.ask();
    w.inspection_begins(1, t0);
    w.inspection_ends(false);
    w.on_time(t0 + 499ms);
    CHECK_FALSE(w.wants_inspection());
    w.on_time(t0 + 500ms);
    CHECK(w.wants_inspection());
    w.inspection_begins(2, t0 + 500ms);
    w.inspection_ends(true);
    w.on_time(t0 + 1h);
    CHECK_FALSE(w.wants_inspection());
}

TEST_CASE("a node that refuses looks has the resource inspected every half second", "[watched]") {
    watched w = inspected(1);
    w.is_hidden(t0);
    w.is_hidden(t0 + 100ms);
    w.on_time(t0 + 499ms);
    CHECK_FALSE(w.wants_inspection());
    w.on_time(t0 + 500ms);
    CHECK(w.wants_inspection());
}

TEST_CASE("a look follows after an eighth of a second, a little less or more", "[watched]") {
    CHECK(until_next_look(1, 0s, 0) == 93'750us);
    CHECK(until_next_look(1, 6s, 0) == 93'750us);
    const auto most = until_next_look(1, 0s, UINT64_MAX);
    CHECK(most >= 93'750us);
    CHECK(most < 156'250us);
    CHECK(until_next_look(1'562, 0s, 0) == 93'750us);
    CHECK(until_next_look(10'000, 0s, 0) == 600ms);  // of 800
}

TEST_CASE("where nothing changes looks become half as frequent", "[watched]") {
    CHECK(until_next_look(1, 8s, 0) == 120ms);  // of 160
    CHECK(until_next_look(1, 12'500ms, 0) == 187'500us);
    CHECK(until_next_look(1, 24h, 0) == 187'500us);
    CHECK(until_next_look(3'125, 24h, 0) == 187'500us);
    CHECK(until_next_look(10'000, 24h, 0) == 600ms);
}

TEST_CASE("nodes that leave looks unanswered are not inspected, if a quorum is left", "[watched]") {
    const node_mask all = node_mask::first(5);
    const node_mask two = node_mask::only(1) | node_mask::only(3);
    CHECK(worth_inspecting(node_lists(5), {}) == all);
    CHECK(worth_inspecting(node_lists(5), two) == all - two);
    CHECK(worth_inspecting(node_lists(5), two | node_mask::only(0)) == all);
    CHECK_FALSE(is_silent(50ms, 1ms));
    CHECK(is_silent(51ms, 1ms));
    CHECK_FALSE(is_silent(400ms, 100ms));  // a distant one
    CHECK(is_silent(401ms, 100ms));
}
