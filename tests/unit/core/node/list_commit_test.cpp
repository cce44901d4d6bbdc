// Ending a change of the list against nodes that answer by the rules of lua/seldom/change.lua.
// SPDX-License-Identifier: MIT
#include "core/node/list_commit.hpp"

#include "tests/support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::list_commit;
using core::list_facts;
using change = core::list_facts::change;
using step = core::list_commit::step;
using answer = core::list_commit::answer;

namespace {

constexpr std::size_t a = 0, b = 1, c = 2, d = 3;

node_mask nodes(std::initializer_list<std::size_t> all) {
    node_mask out;
    for (const std::size_t i : all) out.insert(i);
    return out;
}

/// {a, b, c} becomes {a, b, d}; nodes as the script has them.
struct cluster {
    node_lists lists{nodes({a, b, c}), nodes({a, b, d})};
    std::vector<std::optional<list_facts>> records{list_facts{.set = "S"}, list_facts{.set = "S"},
                                                   list_facts{.set = "S"},
                                                   list_facts{.set = "S", .is = change::joining}};
    node_mask away;
    node_mask young;

    list_commit begun(const std::string& id, bool gives_up = false) const {
        return {lists, {"S", "T"}, id, gives_up};
    }
    answer act(const list_commit& by, std::size_t node) {
        auto& r = records[node];
        const list_facts from = by.from();
        if (by.now() == step::read || by.now() == step::confirm) return answer::other;
        if (!r || r->set != from.set || r->number != from.number) return answer::other;
        if (by.now() == step::become) {
            r = by.to(node);
            return answer::done;
        }
        if (r->is == change::joining) return answer::other;
        if (young.contains(node)) return answer::too_young;
        const bool is_promise = by.now() == step::promise;
        if (core::is_above(r->promised, by.ballot()) ||
            is_promise == (r->promised == by.ballot())) {
            return answer::outbid;
        }
        r->promised = by.ballot();
        if (is_promise) return answer::done;
        r->is = change::closed;
        r->closed_for = by.to(node).set;
        r->accepted = by.ballot();
        return answer::done;
    }
    void ask(list_commit& by, std::size_t node) {
        if (away.contains(node)) return by.answered(node, answer::failed, std::nullopt, 0ms, 0ms);
        const answer said = act(by, node);
        by.answered(node, said, records[node], 1'000ms + node * 1ms, 900ms);
    }
    void take_step(list_commit& by) {
        for (const std::size_t i : by.requested()) ask(by, i);
        by.advance();
    }
    void run(list_commit& by) {
        while (by.now() != step::over) take_step(by);
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
        while (other.now() != step::close) all.take_step(other);
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

TEST_CASE("a closed node that lost its record no longer counts") {
    cluster all;
    list_commit one = all.begun("x");
    while (one.now() != step::close) all.take_step(one);
    all.away = nodes({c});
    all.take_step(one);  // a and b are closed
    REQUIRE(one.now() == step::confirm);
    all.records[a] = list_facts{.set = "S", .promised = one.ballot()};
    all.away = nodes({c});
    all.take_step(one);
    CHECK(one.now() != step::become);
    CHECK(all.members("T") == 0);
}

TEST_CASE("the record of a joining node that is of another set decides nothing") {
    cluster all;
    all.records[d] = list_facts{.set = "X", .number = 1, .history = {{0, "W"}}};
    all.away = nodes({b});
    list_commit other = all.begun("y");
    while (other.now() != step::close) all.take_step(other);
    list_commit one = all.begun("x");
    all.run(one);
    CHECK(one.decided() == "T");
    CHECK(all.members("X") == 1);
    CHECK(one.outcome() == errc::no_quorum);  // the new list has but node a
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
