// The list of nodes while it changes: of which list a node is, and how the change is ended, step
// by step.
// SPDX-License-Identifier: MIT
#include "core/change.hpp"

#include "core/record.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Of which list nodes are, by their records: stories of changes, step by step.
namespace membership_test {

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

TEST_CASE("of the list that the latest record names only nodes with a record count as read") {
    membership m = joint();
    read(m, a, std::nullopt, start + 1s);
    read(m, b, std::nullopt, start + 2s);
    read(m, c, member("S", 0), start + 3s);
    read(m, d, std::nullopt, start + 3s);
    read(m, b, std::nullopt, start + 3s);
    CHECK_FALSE(m.makeable().contains(a));
    CHECK(m.waits_for(a) == nodes({b}));
    read(m, b, member("S", 0), start + 4s);
    CHECK(m.makeable() == nodes({a}));
    CHECK(m.waits_for(a).empty());
}

namespace {

/// Its record may lack steps.
void read_old(membership& m, std::size_t node, list_facts f, time_point at) {
    m.read(node, std::move(f), "epoch", at, at, true);
}
list_facts announced() {
    list_facts f = member("S", 0);
    f.announced = "T";
    return f;
}

}  // namespace

TEST_CASE("a record that may lack steps of the change is made again by what the others know") {
    membership m = joint();
    read_old(m, c, announced(), start + 1s);
    CHECK(m.of(c) == standing::empty);
    read(m, a, closed_for("T", "2.x"), start + 2s);
    CHECK(m.makeable().empty());
    read(m, b, announced(), start + 2s);
    CHECK(m.makeable() == nodes({c}));
    CHECK(m.made(c)->accepted == "2.x");
    SECTION("by those that were read since its latest loss") {
        m.lost(c);
        read_old(m, c, announced(), start + 3s);
        CHECK(m.makeable().empty());
        read(m, a, closed_for("T", "2.x"), start + 3s);
        read(m, b, announced(), start + 3s);
        CHECK(m.makeable() == nodes({c}));
    }
    SECTION("and what its own says was so, too") {
        m.read(c, closed_for("T", "3.x"), "epoch", start, start + 1s, true);
        CHECK(m.made(c)->accepted == "3.x");
    }
}

TEST_CASE("a minority with a better record is not enough, but for an operator's word") {
    membership m = of_old();
    read_old(m, a, announced(), start + 1s);
    read_old(m, b, announced(), start + 1s);
    CHECK(m.waits_for(a) == nodes({c}));
    read(m, c, member("S", 0), start + 2s);
    read_old(m, a, announced(), start + 2s);
    read_old(m, b, announced(), start + 2s);
    CHECK(m.is_strict());
    CHECK(m.makeable().empty());
    CHECK(m.waits_for(a) == nodes({b}));
    m.presume_gone(nodes({b}));
    CHECK(m.makeable() == nodes({a}));
    CHECK(m.made(a)->set == "S");
}

TEST_CASE("where no node of a list has a better record nobody knows more than these") {
    list_facts promised = announced();
    promised.promised = "4.z";
    SECTION("the latest stands, for all at once") {
        membership m = joint();
        read_old(m, a, promised, start + 1s);
        read_old(m, b, closed_for("T", "2.x"), start + 1s);
        read(m, d, joining(), start + 1s);
        CHECK(m.makeable().empty());
        m.read(c, closed_for("T", "1.x"), "epoch", start + 1s, start + 2s, true);
        CHECK(m.makeable().empty());  // a and b answered before c was seen so
        read_old(m, a, promised, start + 2s);
        read_old(m, b, closed_for("T", "2.x"), start + 2s);
        REQUIRE(m.makeable() == nodes({a, b, c}));
        CHECK(m.made(a)->accepted == "2.x");
        CHECK(m.made(a)->promised == "4.z");
        CHECK(m.number_to_declare() == 1);
        m.lost(b);
        CHECK(m.makeable().empty());
    }
    SECTION("without those that an operator gives up") {
        membership m = of_old();
        read_old(m, a, promised, start + 1s);
        read_old(m, b, announced(), start + 1s);
        CHECK(m.makeable().empty());
        CHECK(m.waits_for(a) == nodes({c}));
        m.presume_gone(nodes({c}));
        CHECK(m.makeable() == nodes({a, b}));
    }
    SECTION("nor of the only one") {
        membership m{node_lists(1), {"S", "S"}};
        read_old(m, a, closed_for("T", "1.x"), start + 1s);
        CHECK(m.of(a) == standing::closed);
        CHECK(m.makeable().empty());
        read_old(m, a, announced(), start + 2s);
        CHECK(m.makeable() == nodes({a}));
        CHECK(m.made(a) == announced());
    }
    SECTION("nor of a new list that stands") {
        membership m = joint();
        for (const std::size_t i : {a, b, d}) read_old(m, i, changed, start + 1s);
        read(m, c, closed_for("T", "1.x"), start + 1s);
        CHECK(m.makeable() == nodes({a, b, d}));
        for (const std::size_t i : {a, b, d}) CHECK(m.made(i) == changed);
    }
}

TEST_CASE("a record that may lack steps is turned where the others went on, and may turn others") {
    membership m = of_old();
    const list_facts given_up = member("S", 1, {{0, "S"}});
    SECTION("a node that was closed in vain") {
        read_old(m, c, closed_for("T", "1.x"), start + 1s);
        CHECK(m.of(c) == standing::closed);
        read(m, a, given_up, start + 2s);
        read(m, b, given_up, start + 2s);
        CHECK(m.of(c) == standing::behind);
        CHECK(m.turn_of(c)->to.number == 1);
    }
    SECTION("another node missed what it says") {
        read_old(m, a, member("S", 3, {{2, "U"}, {1, "S"}, {0, "Z"}}), start + 1s);
        read(m, b, closed_for("T", "1.x", 1), start + 1s);
        CHECK(m.of(b) == standing::behind);
        CHECK(m.turn_of(b)->to.number == 3);
    }
    SECTION("a record of another set is what it is") {
        membership of = joint();
        read_old(of, d, member("T", 0), start + 1s);
        CHECK(of.of(d) == standing::foreign);
    }
    SECTION("a joining node that knows of a later list of the same set") {
        membership of = joint();
        read(of, a, member("S", 2), start + 1s);
        read(of, b, member("S", 2), start + 1s);
        read_old(of, d, joining(3), start + 1s);
        REQUIRE(of.makeable().contains(d));
        CHECK(of.made(d)->is == change::joining);
        CHECK(of.made(d)->number == 3);
    }
}

TEST_CASE("a node that went on to the next list knows more than those with older data") {
    membership m = joint();
    const list_facts later = member("W", 2, {{1, "T"}, {0, "S"}});
    read_old(m, a, changed, start + 1s);
    read_old(m, b, changed, start + 1s);
    read(m, c, changed, start + 1s);
    read(m, d, later, start + 1s);
    CHECK(m.makeable().empty());
    CHECK(m.of(d) == standing::misfit);  // so no node grants anything by this list
}

TEST_CASE("nodes that are made again when they were read once more wait for no operator") {
    membership m = of_old();
    for (const std::size_t i : {a, b, c}) m.read(i, announced(), "epoch", start, start + 1s, true);
    CHECK(m.makeable().empty());
    CHECK(m.waits_for(a).empty());
    CHECK(m.to_read() == nodes({a, b, c}));
}

TEST_CASE("an operator's word that a node is gone stands for its answer") {
    membership m = joint();
    read(m, a, std::nullopt);
    read(m, c, member("S", 0), start + 1s);
    read(m, d, joining(), start + 1s);
    CHECK(m.makeable().empty());
    CHECK(m.waits_for(a) == nodes({b}));
    m.presume_gone(nodes({b}));
    CHECK(m.makeable() == nodes({a}));
    CHECK(m.waits_for(a).empty());
    CHECK(m.to_read().empty());
    SECTION("but not for its own") {
        membership own = joint();
        read(own, a, std::nullopt);
        read(own, c, member("S", 0), start + 1s);
        read(own, d, joining(), start + 1s);
        own.presume_gone(nodes({a}));
        CHECK(own.makeable().empty());
    }
}

TEST_CASE("a node of another set counts as away for one that lost its record") {
    membership m = joint();
    read(m, a, std::nullopt);
    read(m, b, member("S", 0), start + 1s);
    read(m, c, member("U", 0), start + 1s);
    read(m, d, joining(), start + 1s);
    CHECK(m.makeable().empty());
    CHECK(m.waits_for(a) == nodes({c}));
    CHECK(m.to_give_up(a) == nodes({c}));
    // What followed the old list to another one knows more.
    for (const auto& later : {member("U", 1, {{0, "S"}}), member("U", 2)}) {
        read(m, c, later, start + 1s);
        CHECK(m.leaving_strangers().empty());
        CHECK(m.waits_for(a).empty());
    }
}

TEST_CASE("a node that followed the old list to another one is no stranger") {
    membership m = joint();
    read(m, c, member("U", 4));
    read(m, d, member("U", 4));
    CHECK(m.strangers() == nodes({c, d}));
    for (const std::size_t i : {c, d}) read(m, i, member("U", 1, {{0, "S"}}));
    CHECK(m.strangers().empty());
    CHECK(m.those_that_are(standing::misfit) == nodes({c, d}));
}

TEST_CASE("an operator gives up the fewest nodes, and those that are away first") {
    // Of a, b, c, d and e the first two are away, c and d lost their records; f is to take e's place.
    constexpr std::size_t e = 4, f = 5;
    membership m{node_lists(nodes({a, b, c, d, e}), nodes({a, b, c, d, f})), {"S", "T"}};
    read(m, c, std::nullopt);
    read(m, d, std::nullopt);
    read(m, e, member("S", 0), start + 1s);
    read(m, f, joining(), start + 1s);
    for (const std::size_t i : {c, d}) {
        CHECK(m.waits_for(i) == nodes({a, b}));
        CHECK(m.to_give_up(i) == nodes({a, b}));
    }
    SECTION("and that is enough") {
        m.presume_gone(nodes({a, b}));
        CHECK(m.makeable() == nodes({c, d}));
        CHECK(m.to_give_up(c).empty());
    }
    SECTION("where one more has its record one is enough") {
        read(m, d, member("S", 0), start + 1s);
        CHECK(m.waits_for(c) == nodes({a, b}));
        CHECK(m.to_give_up(c).size() == 1);
        m.presume_gone(m.to_give_up(c));
        CHECK(m.makeable() == nodes({c}));
    }
    SECTION("and one that is away goes before one that lost its record") {
        read(m, d, member("S", 0), start + 1s);
        read(m, a, std::nullopt, start + 1s);
        CHECK(m.to_give_up(c) == nodes({b}));
    }
    SECTION("where one is away one of those that lost theirs is given up, too") {
        read(m, b, std::nullopt, start + 1s);
        CHECK(m.waits_for(c) == nodes({a}));
        const node_mask gone = m.to_give_up(c);
        CHECK(gone.contains(a));
        CHECK(gone.size() == 2);
        m.presume_gone(gone);
        CHECK(m.makeable().contains(c));
    }
}

TEST_CASE("a node of another set was away at the change where a quorum is of a later list") {
    membership m = of_new();
    read(m, a, changed);
    read(m, b, changed);
    SECTION("it is of an earlier one") {
        read(m, c, member("X", 0));
        CHECK(m.was_away_at_change(c));
        CHECK_FALSE(m.was_away_at_change(a));
    }
    SECTION("it is of as late a one, or a later one") {
        read(m, c, member("X", GENERATE(1U, 2U), {{0, "W"}}));
        CHECK_FALSE(m.was_away_at_change(c));
    }
    SECTION("two are, beside one of this list") {
        read(m, b, member("X", 0));
        read(m, c, member("X", 0));
        CHECK_FALSE(m.was_away_at_change(b));
    }
}

TEST_CASE("a joint list has no beginning where no node has a record") {
    membership m = joint();
    for (const std::size_t i : {a, b, c}) read(m, i, std::nullopt);
    read(m, d, GENERATE(std::optional<list_facts>(), std::optional(joining())));
    CHECK(m.has_no_beginning(a));
    SECTION("until one is back that has") {
        m.lost(b);
        CHECK_FALSE(m.has_no_beginning(a));
        read(m, b, member("S", 0), start + 1s);
        CHECK_FALSE(m.has_no_beginning(a));
    }
    membership old = of_old();
    for (const std::size_t i : {a, b, c}) read(old, i, std::nullopt);
    CHECK_FALSE(old.has_no_beginning(a));
}

TEST_CASE("each change of lists of one to five nodes begins, and mends a node that lost its record") {
    for (std::size_t before = 1; before <= 5; ++before) {
        for (std::size_t after = 1; after <= 5; ++after) {
            for (std::size_t both = 0; both <= std::min(before, after); ++both) {
                const node_mask old = node_mask::first(before);
                const node_mask all = node_mask::first(before + after - both);
                const node_mask fresh = all - node_mask::first(before - both);
                if (old == fresh) continue;
                INFO(before << " to " << after << ", " << both << " of both");
                membership m{node_lists(old, fresh), {"S", "T"}};
                for (const std::size_t i : all) {
                    read(m, i, old.contains(i) ? std::optional(member("S", 0)) : std::nullopt);
                }
                REQUIRE(m.makeable() == all - old);
                for (const std::size_t i : all - old) {
                    CHECK(m.made(i) == joining());
                    read(m, i, m.made(i));
                }
                for (const std::size_t empty : all) {
                    membership lost = m;
                    read(lost, empty, std::nullopt, start + 1s);
                    for (const std::size_t i : all - node_mask::only(empty)) {
                        read(lost, i, old.contains(i) ? member("S", 0) : joining(), start + 2s);
                    }
                    CHECK(lost.makeable() == node_mask::only(empty));
                    CHECK(lost.made(empty)->set == "S");
                    CHECK((lost.made(empty)->is == change::none) == old.contains(empty));
                }
            }
        }
    }
}

TEST_CASE("a node that was closed for its own set is a member of it for every program") {
    const list_facts kept = closed_for("S", "2.x");
    for (membership m : {of_old(), joint(),
                         membership(node_lists(nodes({a, b, c}), nodes({a, b})), {"S", "U"})}) {
        read(m, a, kept);
        read(m, b, member("S", 0));
        CHECK(m.of(a) == standing::fits);
        CHECK(m.of(b) == standing::fits);
    }
    SECTION("its record is made again with the ballot") {
        membership m = of_old();
        read(m, c, std::nullopt, start + 1s);
        read(m, a, kept, start + 2s);
        read(m, b, member("S", 0), start + 2s);
        REQUIRE(m.makeable() == nodes({c}));
        CHECK(m.made(c) == kept);
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

}  // namespace membership_test

// Ending a change of the list against nodes that answer by the rules of core/record.
namespace list_commit_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::list_commit;
using core::list_facts;
using change = core::list_facts::change;
using step = core::list_commit::step;
using answer = core::rule_outcome;

namespace {

constexpr std::size_t a = 0, b = 1, c = 2, d = 3;

node_mask nodes(std::initializer_list<std::size_t> all) {
    node_mask out;
    for (const std::size_t i : all) out.insert(i);
    return out;
}

/// {a, b, c} becomes {a, b, d}; nodes as the script has them.
struct cluster {
    cluster() : cluster(node_lists(nodes({a, b, c}), nodes({a, b, d}))) {}
    explicit cluster(const node_lists& each) : lists(each) {
        for (const std::size_t i : lists.all()) {
            records.emplace_back(list_facts{.set = "S"});
            if (!lists.old().contains(i)) records.back()->is = change::joining;
        }
    }

    node_lists lists;
    std::vector<std::optional<list_facts>> records;
    node_mask away;
    node_mask young;

    list_commit begun(const std::string& id, bool gives_up = false) const {
        return {lists, {"S", "T"}, id, gives_up};
    }
    answer act(const list_commit& by, std::size_t node) {
        using kind = core::list_step::kind;
        auto& list = records[node];
        core::record_facts found{.exists = list.has_value(), .list = list.value_or(list_facts())};
        if (young.contains(node)) found.list.became_us = 1;
        const core::list_step to_take{
            .what = by.now() == step::promise  ? kind::promise
                    : by.now() == step::close  ? kind::close
                    : by.now() == step::become ? kind::become
                                               : kind::read,
            .from = by.from(),
            .to = by.to(node),
            .ballot = by.ballot(),
            .leases = core::list_step::memory::undisturbed};
        const core::ruled r = core::stepped(found, {}, to_take);
        if (r.next) list = r.next->list;
        return r.what;
    }
    void ask(list_commit& by, std::size_t node) {
        if (away.contains(node)) return;
        const answer said = act(by, node);
        by.answered(node, said, records[node], 1'000ms + node * 1ms, 900ms);
    }
    void take_step(list_commit& by) {
        for (const std::size_t i : by.requested()) ask(by, i);
        by.advance();
    }
    void run(list_commit& by, step until = step::over) {
        while (by.now() != until && by.now() != step::over) take_step(by);
    }
    std::size_t members(const std::string& set) const {
        std::size_t count = 0;
        for (const auto& r : records) count += r && r->set == set && r->is == change::none ? 1 : 0;
        return count;
    }
};

}  // namespace

TEST_CASE("a commit closes a majority, and gives every node the new list") {
    cluster all;
    list_commit one = all.begun("x");
    all.run(one);
    CHECK_FALSE(one.outcome());
    CHECK(one.decided() == "T");
    CHECK(one.changed() == all.lists.all());
    CHECK(all.members("T") == 4);
    CHECK(all.records[d]->number == 1);
    CHECK(all.records[d]->history.front() == std::pair<std::uint64_t, std::string>(0, "S"));
    CHECK(one.quarantine() == 1'003ms);
    SECTION("repeated it changes nothing") {
        const auto before = all.records;
        list_commit again = all.begun("y");
        all.run(again);
        CHECK_FALSE(again.outcome());
        CHECK(all.records == before);
    }
    SECTION("it can't be given up any more") {
        list_commit back = all.begun("y", true);
        all.run(back);
        CHECK(back.outcome() == errc::other_set);
        CHECK(back.decided() == "T");
    }
}

TEST_CASE("a minority that is away does not hinder a commit, and a repetition turns it") {
    cluster all;
    all.away = nodes({b});
    list_commit one = all.begun("x");
    all.run(one);
    CHECK_FALSE(one.outcome());
    CHECK(one.changed() == nodes({a, c, d}));
    all.away = {};
    list_commit again = all.begun("y");
    all.run(again);
    CHECK(again.changed() == all.lists.all());
    CHECK(all.members("T") == 4);
}

TEST_CASE("without a majority of the old list nothing is written") {
    cluster all;
    all.away = nodes({a, b});
    list_commit one = all.begun("x");
    all.run(one);
    CHECK(one.outcome() == errc::no_quorum);
    CHECK(all.members("T") == 0);
    SECTION("also where one was closed before the others went away") {
        all.away = {};
        list_commit other = all.begun("y");
        all.run(other, step::close);
        all.ask(other, a);
        all.away = nodes({b, c});
        for (const std::size_t i : {b, c}) all.ask(other, i);
        other.advance();
        CHECK(other.outcome() == errc::no_quorum);
        CHECK(all.records[a]->is == change::closed);
        // Then the old list may still stand: it was closed nowhere else.
        all.away = nodes({a});
        list_commit back = all.begun("z", true);
        all.run(back);
        CHECK_FALSE(back.outcome());
        CHECK(all.members("S") == 2);
        // What was closed follows.
        all.away = {};
        list_commit late = all.begun("w", true);
        all.run(late);
        CHECK_FALSE(late.outcome());
    }
}

// What it is closed for would count for nothing: and another may have lost its record, and with that its
// promise, since.
TEST_CASE("a node whose promise did not arrive is not closed") {
    cluster all;
    list_commit one = all.begun("x");
    all.run(one, step::promise);
    for (const std::size_t i : {a, b}) all.ask(one, i);
    all.act(one, c);
    one.advance();
    REQUIRE(one.now() == step::close);
    CHECK(one.requested() == nodes({a, b}));
    all.run(one);
    CHECK(one.decided() == "T");
}

TEST_CASE("a change is given up where no majority can be closed for the new list") {
    cluster all;
    list_commit one = all.begun("x");
    all.run(one, step::close);
    all.ask(one, a);
    if (GENERATE(false, true)) {  // a give-up died, too
        list_commit died = all.begun("y", true);
        all.run(died, step::close);
        all.ask(died, b);
        REQUIRE(all.records[b]->closed_for == "S");
    }
    list_commit back = all.begun("z", true);
    all.run(back, step::close);
    CHECK(back.requested() == nodes({b, c}));
    all.run(back);
    CHECK_FALSE(back.outcome());
    CHECK(all.members("S") == 3);
    CHECK(all.members("T") == 0);
    // The first operator goes on.
    for (const std::size_t i : {b, c}) all.ask(one, i);
    all.run(one);
    CHECK(one.outcome() == errc::no_quorum);
    CHECK(all.members("T") == 0);
}

TEST_CASE("a change that may have been decided is not given up, and nothing more is closed") {
    cluster all;
    list_commit one = all.begun("x");
    all.run(one, step::close);
    all.ask(one, a);
    const bool is_closed = GENERATE(false, true);  // or it is away
    if (is_closed) all.ask(one, c);
    if (!is_closed) all.away = nodes({c});
    list_commit back = all.begun("z", true);
    all.run(back);
    CHECK(back.outcome() == errc::other_set);
    CHECK(back.decided().empty());
    CHECK(back.in_the_way() == nodes({a, c}));
    CHECK(all.records[b]->is == change::none);
    CHECK(all.members("T") == 0);
    all.away = {};
    list_commit ended = all.begun("w");
    all.run(ended);
    CHECK_FALSE(ended.outcome());
    CHECK(all.members("T") == 4);
}

TEST_CASE("a give-up that died does not keep a change from being ended, but where it was decided") {
    cluster all;
    list_commit died = all.begun("x", true);
    all.run(died, step::close);
    all.ask(died, a);
    const bool is_decided = GENERATE(false, true);
    if (is_decided) all.ask(died, b);
    list_commit one = all.begun("y");
    all.run(one);
    CHECK(one.decided() == (is_decided ? "S" : "T"));
    CHECK(one.outcome() == (is_decided ? errc::other_set : error_code()));
    // The remedy that is named helps.
    list_commit again = all.begun("z");
    all.run(again);
    CHECK_FALSE(again.outcome());
    CHECK(all.members("T") == 4);
}

TEST_CASE("a closed node that lost its record no longer counts") {
    cluster all;
    list_commit one = all.begun("x");
    all.run(one, step::close);
    all.away = nodes({c});
    all.take_step(one);  // a and b are closed
    REQUIRE(one.now() == step::confirm);
    all.records[a] = list_facts{.set = "S", .promised = one.ballot()};
    all.away = nodes({c});
    all.take_step(one);
    CHECK(one.now() != step::become);
    CHECK(all.members("T") == 0);
}

TEST_CASE("beside a joining node with a record of another set nothing is closed") {
    cluster all;
    all.records[d] = list_facts{.set = "X", .number = 1, .history = {{0, "W"}}};
    const auto before = all.records;
    list_commit one = all.begun("x");
    all.run(one);
    CHECK(one.outcome() == errc::other_set);
    CHECK(one.decided().empty());
    CHECK(one.foreign() == nodes({d}));
    CHECK(all.records == before);
    SECTION("the change can be given up") {
        list_commit back = all.begun("y", true);
        all.run(back);
        CHECK_FALSE(back.outcome());
    }
    SECTION("one that left may join again by its record") {
        for (const std::size_t i : {a, b, c}) {
            all.records[i]->number = 1;
            all.records[i]->history = {{0, "X"}};
        }
        all.records[d] = list_facts{.set = "X"};
        list_commit again = all.begun("y");
        all.run(again);
        CHECK(again.foreign().empty());
        CHECK(again.decided() == "T");
    }
}

TEST_CASE("a joining node of another set that was away at the commit is named when it is back") {
    cluster all;
    all.away = nodes({d});
    list_commit one = all.begun("x");
    all.run(one);
    REQUIRE(one.decided() == "T");
    CHECK(one.foreign().empty());
    all.away = {};
    const auto again = [&] {
        list_commit out = all.begun("y");
        all.run(out);
        CHECK_FALSE(out.outcome());
        return out;
    };
    SECTION("its record is of some other set") {
        const std::size_t other = GENERATE(d, a);  // it joins, or stays
        all.records[other] = list_facts{.set = "X"};
        const list_commit named = again();
        CHECK(named.foreign() == nodes({other}));
        CHECK(named.foreign_set(other) == "X");
        CHECK(all.records[other]->set == "X");
    }
    SECTION("its record of some other set is lost before the commit ends") {
        all.records[d] = list_facts{.set = "X"};
        list_commit late = all.begun("y");
        all.run(late, step::become);
        CHECK(late.foreign() == nodes({d}));
        all.records[d].reset();
        all.run(late);
        CHECK(late.foreign().empty());
    }
    SECTION("its record is of a later list, which may be in use") {
        all.records[d] = list_facts{.set = "X", .number = 2};
        CHECK(again().foreign().empty());
    }
    SECTION("it was changed again since") {
        all.records[d] = list_facts{.set = "U", .number = 2, .history = {{1, "T"}, {0, "S"}}};
        CHECK(again().foreign().empty());
    }
    SECTION("it is joining, and follows") {
        CHECK(again().foreign().empty());
        CHECK(all.records[d]->set == "T");
    }
}

TEST_CASE("a joining node that followed another operator's list is not foreign: that one is completed") {
    cluster all;
    list_commit other{all.lists, {"S", "U"}, "x", false};
    all.run(other, step::become);
    all.ask(other, d);  // and then the operator is gone
    REQUIRE(all.records[d]->set == "U");
    REQUIRE(all.members("U") == 1);
    list_commit one = all.begun("y");
    all.run(one);
    CHECK(one.outcome() == errc::other_set);
    CHECK(one.foreign().empty());
    CHECK(one.decided() == "U");
    CHECK(all.members("U") == 4);
}

TEST_CASE("a closed node that was passed by is no part of the majority") {
    cluster all;
    list_commit one = all.begun("x");
    all.run(one, step::close);
    for (const std::size_t i : one.requested()) all.ask(one, i);
    REQUIRE(one.agreed() == nodes({a, b, c}));
    one.passed_by(a);
    SECTION("the others are one") {
        one.advance();
        CHECK(one.now() == step::confirm);
        CHECK(one.requested() == nodes({b, c}));
    }
    SECTION("the others are none") {
        one.passed_by(b);
        one.advance();
        CHECK(one.outcome() == errc::no_quorum);
        CHECK(all.members("T") == 0);
    }
}

TEST_CASE("a node of the new list without a record is written to again when it has one") {
    cluster all;
    all.records[d].reset();
    list_commit one = all.begun("x");
    all.run(one, step::become);
    all.take_step(one);
    REQUIRE(one.now() == step::become);
    CHECK(one.is_repeated());
    CHECK(one.requested() == nodes({d}));
    SECTION("a program that met the others made it") {
        all.records[d] = all.records[a];
        all.run(one);
        CHECK_FALSE(one.outcome());
        CHECK(one.changed() == all.lists.all());
    }
    SECTION("where none is made it is left, and named") {
        all.run(one);
        CHECK_FALSE(one.outcome());
        CHECK(one.changed() == nodes({a, b, c}));
    }
}

TEST_CASE("a list that was decided stands whatever becomes of nodes that left") {
    constexpr std::size_t e = 4;
    cluster all{node_lists(nodes({a, b, c}), nodes({a, d, e}))};
    all.away = nodes({e});
    list_commit one = all.begun("x");
    all.run(one);
    CHECK_FALSE(one.outcome());
    all.away = {};
    for (const std::size_t i : {b, c}) all.records[i] = list_facts{.set = "U"};
    list_commit again = all.begun("y");
    all.run(again);
    CHECK_FALSE(again.outcome());
    CHECK(again.changed() == nodes({a, d, e}));
}

TEST_CASE("the only node of a new list has to have a record before the list stands") {
    cluster all{node_lists(nodes({a, b, c}), nodes({a}))};
    all.records[a].reset();
    list_commit one = all.begun("x");
    all.run(one);
    CHECK(one.decided() == "T");
    CHECK(one.outcome() == errc::no_quorum);
}

TEST_CASE("each list of one to five nodes becomes each other") {
    for (std::size_t before = 1; before <= 5; ++before) {
        for (std::size_t after = 1; after <= 5; ++after) {
            for (std::size_t both = 0; both <= std::min(before, after); ++both) {
                const node_mask every = node_mask::first(before + after - both);
                const node_mask fresh = every - node_mask::first(before - both);
                if (node_mask::first(before) == fresh) continue;
                INFO(before << " to " << after << ", " << both << " of both");
                cluster all{node_lists(node_mask::first(before), fresh)};
                list_commit one = all.begun("x");
                all.run(one);
                CHECK_FALSE(one.outcome());
                CHECK(one.changed() == every);
            }
        }
    }
}

TEST_CASE("a change that is too recent comes first") {
    cluster all;
    all.young = nodes({a, b});
    list_commit one = all.begun("x");
    all.run(one);
    CHECK(one.outcome() == errc::in_quarantine);
    SECTION("one young node does not hinder the others") {
        all.young = nodes({a});
        list_commit two = all.begun("y");
        all.run(two);
        CHECK_FALSE(two.outcome());
    }
}

TEST_CASE("giving up before anything is closed leaves the old list, and a joining node joining") {
    cluster all;
    list_commit one = all.begun("x", true);
    all.run(one);
    CHECK_FALSE(one.outcome());
    CHECK(one.is_undisturbed());
    CHECK(all.members("S") == 3);
    CHECK(all.records[d]->is == change::joining);
}

TEST_CASE("of two operators, in whatever order their messages arrive, one change stands") {
    std::minstd_rand random(7);
    for (int round = 0; round < 20'000; ++round) {
        cluster all;
        std::vector<list_commit> operators;
        operators.push_back(all.begun("x"));
        operators.push_back(all.begun("y", true));
        std::vector<node_mask> open{operators[0].requested(), operators[1].requested()};
        while (operators[0].now() != step::over || operators[1].now() != step::over) {
            const std::size_t who = random() % 2;
            list_commit& o = operators[who];
            if (o.now() == step::over) continue;
            if (!open[who].empty()) {
                std::size_t skip = random() % open[who].size();
                for (const std::size_t i : open[who]) {
                    if (skip-- != 0) continue;
                    all.away = random() % 16 == 0 ? node_mask::only(i) : node_mask();
                    all.ask(o, i);
                    open[who].erase(i);
                    break;
                }
            }
            if (open[who].empty() && o.now() != step::over) {
                o.advance();
                open[who] = o.requested();
            }
            if (random() % 400 == 0) break;  // both stop there
        }
        bool has_old = false;
        bool has_new = false;
        for (const auto& r : all.records) {
            // A change of the list that one of them left is another one.
            if (!r || r->number != 1 || r->is != change::none) continue;
            has_old = has_old || r->set == "S";
            has_new = has_new || r->set == "T";
        }
        if (has_old && has_new) FAIL("both were written in round " << round);
    }
}

}  // namespace list_commit_test
