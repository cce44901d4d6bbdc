// Of which list nodes are, by their records: stories of changes, step by step.
// SPDX-License-Identifier: MIT
#include "core/node/membership.hpp"

#include "tests/support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::list_facts;
using core::membership;
using standing = core::membership::standing;
using change = core::list_facts::change;

namespace {

constexpr time_point start{1h};

// Nodes a, b, c and d, by their numbers: S is {a, b, c}, T is {a, b, d}.
constexpr std::size_t a = 0, b = 1, c = 2, d = 3;

node_mask nodes(std::initializer_list<std::size_t> all) {
    node_mask out;
    for (const std::size_t i : all) out.insert(i);
    return out;
}

membership joint() { return {node_lists(nodes({a, b, c}), nodes({a, b, d})), {"S", "T"}}; }
/// With the new list alone; its third node is d.
membership of_new() { return {node_lists(3), {"T", "T"}}; }
membership of_old() { return {node_lists(3), {"S", "S"}}; }

list_facts member(std::string set, std::uint64_t number,
                  std::vector<std::pair<std::uint64_t, std::string>> history = {}) {
    return {.set = std::move(set), .number = number, .history = std::move(history)};
}
list_facts closed_for(std::string next, std::string ballot, std::uint64_t number = 0) {
    list_facts f{.set = "S", .number = number, .is = change::closed};
    f.closed_for = std::move(next);
    f.promised = f.accepted = std::move(ballot);
    return f;
}
list_facts joining(std::uint64_t number = 0) {
    return {.set = "S", .number = number, .is = change::joining};
}
const list_facts changed = member("T", 1, {{0, "S"}});

void read(membership& m, std::size_t node, std::optional<list_facts> f, time_point at = start) {
    m.read(node, std::move(f), "epoch", at, at);
}

}  // namespace

TEST_CASE("with an ordinary list a node of the set fits, and any other is a misfit") {
    membership m = of_old();
    CHECK(m.of(a) == standing::unknown);
    read(m, a, member("S", 0));
    read(m, b, member("", 0));
    read(m, c, member("X", 0));
    CHECK(m.of(a) == standing::fits);
    CHECK(m.of(b) == standing::fits);
    CHECK(m.of(c) == standing::misfit);
    CHECK_FALSE(m.is_strict());
    CHECK_FALSE(m.turn_of(c));
}

TEST_CASE("a program with the joint list takes nodes of each step of its change") {
    membership m = joint();
    read(m, a, member("S", 0));
    read(m, b, closed_for("T", "1.x"));
    read(m, c, changed);
    read(m, d, joining());
    for (const std::size_t i : {a, b, c, d}) CHECK(m.of(i) == standing::fits);
    CHECK(m.is_after(c));
    CHECK_FALSE(m.is_after(b));
    CHECK(m.number() == 1);
    SECTION("and turns them into the new list") {
        for (const std::size_t i : {a, b, d}) {
            const auto turn = m.turn_of(i);
            REQUIRE(turn);
            CHECK(turn->to.set == "T");
            CHECK(turn->to.number == 1);
            CHECK_FALSE(turn->forgets);
        }
        CHECK_FALSE(m.turn_of(c));
    }
}

TEST_CASE("a program with another list has no vote of a closed node, and of no other for its sake") {
    for (membership m : {of_old(), membership(node_lists(nodes({a, b, c}), nodes({a, b})), {"S", "U"})}) {
        read(m, a, closed_for("T", "1.x"));
        read(m, b, member("S", 0));
        CHECK(m.of(a) == standing::closed);
        CHECK(m.of(b) == standing::fits);
    }
}

TEST_CASE("a program with the new list alone waits at a node that has just become one of it") {
    membership m = of_new();
    list_facts young = changed;
    young.became_us = 5;
    read(m, a, young);
    CHECK(m.of(a) == standing::fits);
    CHECK(m.waits_for_earlier(a));
    membership j = joint();
    read(j, a, young);
    CHECK_FALSE(j.waits_for_earlier(a));
    SECTION("so does one with the next joint list") {
        membership next(node_lists(nodes({a, b, c}), nodes({a, c, d})), {"T", "U"});
        read(next, a, young);
        CHECK(next.of(a) == standing::fits);
        CHECK(next.waits_for_earlier(a));
    }
}

TEST_CASE("a node that missed a change has no vote until it is turned, and stops no program") {
    membership m = of_new();
    read(m, a, member("S", 0));
    CHECK(m.of(a) == standing::misfit);  // as far as is known
    read(m, b, changed);
    CHECK(m.of(a) == standing::behind);
    const auto turn = m.turn_of(a);
    REQUIRE(turn);
    CHECK(turn->from.set == "S");
    CHECK(turn->to == member("T", 1, {{0, "S"}}));
    CHECK_FALSE(turn->forgets);
    SECTION("of two changes it may have missed leases") {
        membership u = {node_lists(3), {"U", "U"}};
        read(u, a, member("S", 0));
        read(u, b, member("U", 2, {{1, "T"}, {0, "S"}}));
        CHECK(u.of(a) == standing::behind);
        CHECK(u.turn_of(a)->forgets);
    }
    SECTION("on the way back the same set under a smaller number is behind, too") {
        membership s = of_old();
        read(s, a, member("S", 0));
        CHECK(s.of(a) == standing::fits);
        read(s, b, member("S", 2, {{1, "T"}, {0, "S"}}));
        CHECK(s.of(a) == standing::behind);
        CHECK(s.turn_of(a)->to.number == 2);
        CHECK(s.turn_of(a)->forgets);
    }
    SECTION("a set that no history names is a misfit") {
        read(m, c, member("X", 0));
        CHECK(m.of(c) == standing::misfit);
    }
}

TEST_CASE("an overlooked program turns no node back") {
    membership m = of_old();
    read(m, a, member("S", 0));
    read(m, b, changed);
    CHECK(m.of(b) == standing::misfit);
    CHECK_FALSE(m.turn_of(b));
    CHECK_FALSE(m.turn_of(a));
}

TEST_CASE("a joining node with a record of another set costs only its own vote") {
    membership m = joint();
    read(m, a, member("S", 0));
    read(m, d, member("X", 0));
    CHECK(m.of(d) == standing::foreign);
    CHECK(m.of(a) == standing::fits);
}

TEST_CASE("where nothing was changed a record is made as soon as the bootstrap wants one") {
    membership m = of_old();
    read(m, a, std::nullopt);
    CHECK(m.makeable() == nodes({a}));
    CHECK(m.to_read().empty());
}

TEST_CASE("the record of an empty node is made after more than half of each list was read again") {
    membership m = joint();
    list_facts announced = member("S", 0);
    announced.announced = "T";
    announced.promised = "3.y";
    read(m, a, announced);
    read(m, b, closed_for("T", "2.x"));
    read(m, c, std::nullopt, start + 1s);
    CHECK(m.makeable().empty());
    CHECK(m.to_read() == nodes({a, b, d}));
    read(m, a, announced, start + 2s);
    CHECK(m.makeable().empty());
    read(m, b, closed_for("T", "2.x"), start + 2s);
    REQUIRE(m.makeable() == nodes({c}));
    const auto made = m.made(c);
    REQUIRE(made);
    SECTION("as the latest has it, with the highest promise") {
        CHECK(made->is == change::closed);
        CHECK(made->closed_for == "T");
        CHECK(made->accepted == "2.x");
        CHECK(made->promised == "3.y");
    }
    SECTION("a node of the new list joins") {
        read(m, d, std::nullopt, start + 3s);
        read(m, a, announced, start + 4s);
        read(m, b, closed_for("T", "2.x"), start + 4s);
        REQUIRE(m.makeable().contains(d));
        CHECK(m.made(d)->is == change::joining);
        CHECK(m.made(d)->set == "S");
    }
    SECTION("once the change is known to be committed, it is of the new list") {
        read(m, a, changed, start + 5s);
        CHECK(m.made(c)->set == "T");
        CHECK(m.made(c)->number == 1);
        CHECK(m.made(c)->is == change::none);
    }
}

TEST_CASE("a program with the old list makes no record where a change is under way") {
    membership m = of_old();
    read(m, a, closed_for("T", "1.x"), start + 2s);
    read(m, b, closed_for("T", "1.x"), start + 2s);
    read(m, c, std::nullopt, start + 1s);
    CHECK(m.makeable().empty());
    SECTION("nor where one was announced and the others were not read") {
        membership o = of_old();
        list_facts announced = member("S", 0);
        announced.announced = "T";
        read(o, a, announced);
        read(o, b, std::nullopt, start + 1s);
        CHECK(o.makeable().empty());
        CHECK(o.to_read() == nodes({a, c}));
        read(o, a, announced, start + 2s);
        CHECK(o.makeable().empty());
        read(o, c, announced, start + 2s);
        CHECK(o.makeable() == nodes({b}));
    }
}

TEST_CASE("a record of a list that was changed keeps its number and history") {
    membership m = of_new();
    read(m, a, changed);
    read(m, b, changed);
    read(m, c, std::nullopt, start + 1s);
    REQUIRE(m.makeable() == nodes({c}));
    CHECK(m.made(c) == changed);
    CHECK(m.number_to_declare() == 2);
}

TEST_CASE("ballots are ordered by number, then by id") {
    CHECK(core::is_above("1.a", ""));
    CHECK_FALSE(core::is_above("", ""));
    CHECK(core::is_above("10.a", "9.b"));
    CHECK(core::is_above("9.b", "9.a"));
    CHECK_FALSE(core::is_above("9.a", "9.a"));
    CHECK(core::ballot_above("9.z", "a") == "10.a");
    CHECK(core::ballot_above("", "a") == "1.a");
}
