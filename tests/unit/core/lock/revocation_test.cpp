// Which values an operator's revocation removes.
// SPDX-License-Identifier: MIT
#include "core/lock/revocation.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using plan = core::revocation;
using texts = std::vector<std::string>;

namespace {

const plan::nameless_owners names{"", "readers"};

resource_state shown_to_operator(std::string owner) {
    resource_state shown;
    shown.owner = std::move(owner);
    return shown;
}

plan after_look(const resource_state& shown, const std::vector<plan::held_value>& values) {
    plan p(shown, names);
    REQUIRE(p.advance() == plan::phase::look);
    for (const auto& v : values) p.saw(0, v);
    REQUIRE(p.advance() == plan::phase::revoke);
    return p;
}

}  // namespace

TEST_CASE("a revocation of a resource without owners is over at once") {
    plan p(shown_to_operator(""), names);
    CHECK(p.advance() == plan::phase::over);
}

TEST_CASE("a revocation removes the values of the owner that the operator has seen") {
    const plan p = after_look(shown_to_operator("a"), {{"a1", "a"}, {"a2", "a"}, {"b1", "b"}});
    CHECK(p.targets()[0].values == std::set<std::string>{"a1", "a2"});
    CHECK(p.is_due(0));
}

TEST_CASE("a holder that came later keeps the lock, and is reported") {
    plan p = after_look(shown_to_operator("a"), {{"b1", "b"}});
    CHECK_FALSE(p.is_due(0));
    REQUIRE(p.advance() == plan::phase::over);
    revocation report;
    p.report(report);
    CHECK(report.revoked.empty());
    CHECK(report.holders == texts{"b"});
}

TEST_CASE("the owners that minorities of the nodes name are revoked, too") {
    resource_state shown = shown_to_operator("a");
    shown.nodes.resize(2);
    shown.nodes[0].state = key_state::held;
    shown.nodes[0].owner = "b";
    shown.nodes[1].state = key_state::shared;
    shown.nodes[1].owner = "readers";
    shown.nodes[1].readers = {"c"};
    CHECK(plan(shown, names).targets()[0].owners == std::set<std::string>{"a", "b", "c"});
}

TEST_CASE("a key with an empty value, or shared without readers, is revoked by that value") {
    const auto state = GENERATE(key_state::held, key_state::shared);
    resource_state shown;
    shown.nodes.resize(2);  // the second has no key
    shown.nodes[0].state = state;
    shown.nodes[0].ttl = 5s;
    const plan p(shown, names);
    REQUIRE(p.targets().size() == 1);
    const std::string name = state == key_state::shared ? "readers" : "";
    CHECK(p.targets()[0].owners == std::set<std::string>{name});
}

TEST_CASE("each slot is a target of its own") {
    resource_state shown = shown_to_operator("a");
    shown.slots.resize(1);
    shown.slots[0].number = 3;
    shown.slots[0].owner = "b";
    plan p(shown, names);
    p.advance();
    REQUIRE(p.targets().size() == 2);
    CHECK(p.targets()[1].slot == 3);
    p.saw(1, {"b1", "b"});
    p.advance();
    CHECK_FALSE(p.is_due(0));
    CHECK(p.is_due(1));
}

TEST_CASE("a revocation raises fences to no fence that no client can have drawn") {
    plan p(shown_to_operator("a"), names);
    p.note_fence(7, true);
    p.note_fence(900, false);
    p.note_fence(5, true);
    CHECK(p.fence() == 7);
}

TEST_CASE("a revocation reports what it removed, each value once, and kept keys apart") {
    plan p = after_look(shown_to_operator("a"), {{"a1", "a"}, {"a1#kept", "a", true}});
    for (int node = 0; node < 3; ++node) {
        p.removed({"a1", "a"});
        p.removed({"a1#kept", "a", true});
        p.remains({"b1", "b"});
        p.remains({"c1#kept", "c", true});
    }
    p.advance();
    revocation report;
    p.report(report);
    CHECK(report.revoked == texts{"a"});
    CHECK(report.freed == texts{"a"});
    CHECK(report.holders == texts{"b"});
}
