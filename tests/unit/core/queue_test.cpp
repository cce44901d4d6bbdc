// Which acquire of a client has the next turn, and when the nodes are queried for those that sleep.
// SPDX-License-Identifier: MIT
#include "core/queue.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

// The lines of one client: order, turns, leaving from any place, and what is left behind.
namespace local_queue_test {

using namespace redlock;
using core::local_queues;

namespace {

constexpr time_point now{};
constexpr auto any = local_queues::any_number;

struct somebody final : core::waiter {
    explicit somebody(std::string of = {}) : name(std::move(of)) {}
    void on_wake(std::size_t, std::string_view, std::optional<std::uint16_t>, time_point) override {
        ++wakes;
    }
    void on_turn(time_point) override {
        ++turns;
        if (then) then();
    }

    std::string name;
    int turns = 0;
    int wakes = 0;
    std::function<void()> then{};
};

void join(local_queues& all, somebody& who, const std::string& resource, std::size_t places = 1,
          std::size_t wanted = 1) {
    all.join(who, std::span(&resource, 1), places, wanted);
}

}  // namespace

TEST_CASE("the first has its turn at once, the others one after the other") {
    somebody a, b, c;
    local_queues all;
    for (somebody* w : {&a, &b, &c}) join(all, *w, "x");
    CHECK(a.turns == 0);  // not from within the call
    all.give_turns(now);
    all.give_turns(now);
    CHECK(a.turns == 1);
    CHECK(b.turns == 0);
    all.leave(a);
    all.give_turns(now);
    CHECK(b.turns == 1);
    all.leave(b);
    all.give_turns(now);
    CHECK(c.turns == 1);
    CHECK(a.turns == 1);
}

TEST_CASE("while the resource is held here nobody has a turn") {
    somebody a, b;
    local_queues all;
    join(all, a, "x");
    all.give_turns(now);
    all.taken(a);
    CHECK_FALSE(a.is_queued());
    join(all, b, "x");
    all.give_turns(now);
    CHECK(b.turns == 0);
    CHECK(all.first("x") == nullptr);
    all.freed("x");
    CHECK(all.first("x") == &b);
    all.give_turns(now);
    CHECK(b.turns == 1);
}

TEST_CASE("a resource that is given back again gives the first another turn") {
    somebody a, b;
    local_queues all;
    join(all, a, "x");
    join(all, b, "x");
    all.give_turns(now);
    all.freed("x");
    all.freed("x");
    all.give_turns(now);
    CHECK(a.turns == 2);
    CHECK(b.turns == 0);
}

TEST_CASE("a turn that is due is not given to a waiter that took the resource, or left") {
    somebody a, b;
    local_queues all;
    join(all, a, "x");
    join(all, b, "x");
    SECTION("taken before the turn") {
        all.taken(a);
        all.give_turns(now);
        CHECK(a.turns + b.turns == 0);
    }
    SECTION("left before the turn") {
        all.leave(a);
        all.give_turns(now);
        CHECK(a.turns == 0);
        CHECK(b.turns == 1);
    }
    SECTION("both left") {
        all.leave(a);
        all.leave(b);
        all.give_turns(now);
        CHECK(a.turns + b.turns == 0);
        CHECK(all.empty());
    }
}

TEST_CASE("a waiter that leaves from any place changes no other waiter's order") {
    for (std::size_t gone = 0; gone < 5; ++gone) {
        std::deque<somebody> crowd(5);
        local_queues all;
        for (somebody& w : crowd) join(all, w, "x");
        all.leave(crowd[gone]);
        all.leave(crowd[gone]);  // once more does nothing
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < crowd.size(); ++i) {
            crowd[i].then = [&, i] {
                order.push_back(i);
                all.leave(crowd[i]);
            };
        }
        all.give_turns(now);
        std::vector<std::size_t> expected{0, 1, 2, 3, 4};
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(gone));
        CHECK(order == expected);
        CHECK(all.empty());
    }
}

TEST_CASE("lines of other resources do not know of each other") {
    somebody a, b;
    local_queues all;
    join(all, a, "x");
    join(all, b, "y");
    all.give_turns(now);
    CHECK(a.turns == 1);
    CHECK(b.turns == 1);
    all.taken(a);
    all.freed("z");
    all.freed("y");
    all.give_turns(now);
    CHECK(b.turns == 2);
    CHECK(all.is_waited_for("y"));
    CHECK_FALSE(all.is_waited_for("x"));
    CHECK_FALSE(all.is_waited_for("z"));
    all.leave(b);
}

TEST_CASE("within a turn one may leave, join again, and be joined by others") {
    somebody a, b;
    local_queues all;
    a.then = [&] {
        if (a.turns > 1) return;
        all.leave(a);
        join(all, b, "x");
        join(all, a, "x");
    };
    b.then = [&] { all.leave(b); };
    join(all, a, "x");
    all.give_turns(now);
    CHECK(b.turns == 1);
    CHECK(a.turns == 2);
    all.leave(a);
}

TEST_CASE("however a turn ends, another that had to wait for it begins") {
    const std::vector<std::function<void(local_queues&, somebody&)>> ends{
        [](local_queues& all, somebody& w) { all.sleeps(w); },
        [](local_queues& all, somebody& w) { all.rests(w, true); },
        [](local_queues& all, somebody& w) { all.rests(w, false), all.ask(w); },
        [](local_queues& all, somebody& w) { all.leave(w); },
        [](local_queues& all, somebody& w) { all.taken(w); }};
    for (std::size_t i = 0; i < ends.size(); ++i) {
        INFO("end " << i);
        std::deque<somebody> crowd(local_queues::most_turns);
        somebody late;
        local_queues all;
        for (std::size_t k = 0; k < crowd.size(); ++k) join(all, crowd[k], std::to_string(k));
        all.give_turns(now);
        join(all, late, "late");
        all.give_turns(now);
        CHECK(late.turns == 0);
        all.ask(crowd.front());  // again, and before its turn is over
        ends[i](all, crowd[1]);
        all.give_turns(now);
        CHECK(late.turns == 1);
        all.clear();
    }
}

TEST_CASE("a waiter that rests because no node answered keeps its turn until it asks again") {
    std::deque<somebody> crowd(local_queues::most_turns);
    somebody late;
    local_queues all;
    for (std::size_t k = 0; k < crowd.size(); ++k) join(all, crowd[k], std::to_string(k));
    join(all, late, "late");
    all.give_turns(now);
    all.rests(crowd.front(), false);
    all.give_turns(now);
    CHECK(late.turns == 0);
    all.ask(crowd.front());
    all.give_turns(now);
    CHECK(late.turns == 1);
    CHECK(crowd.front().turns == 1);
    all.sleeps(late);
    all.give_turns(now);
    CHECK(crowd.front().turns == 2);
    all.clear();
}

TEST_CASE("a waiter that rests is counted until its next turn, or until it leaves") {
    somebody a, b;
    local_queues all;
    join(all, a, "a");
    join(all, b, "b");
    all.give_turns(now);
    all.rests(a, true);
    all.rests(a, true);
    all.rests(b, false);
    CHECK(all.resting() == 2);
    all.ask(a);
    all.give_turns(now);
    CHECK(a.turns == 2);
    CHECK(all.resting() == 1);
    all.leave(b);
    CHECK(all.resting() == 0);
    all.rests(a, false);
    all.clear();
    CHECK(all.resting() == 0);
}

TEST_CASE("when the lines are cleared nobody hears of it, and everybody may be destroyed") {
    local_queues all;
    {
        std::deque<somebody> crowd(100);
        for (std::size_t i = 0; i < crowd.size(); ++i) {
            join(all, crowd[i], std::to_string(i % 10));
        }
        all.clear();
        for (const somebody& w : crowd) {
            CHECK_FALSE(w.is_queued());
            CHECK(w.turns == 0);
        }
    }
    all.give_turns(now);
    CHECK(all.empty());
}

TEST_CASE("readers in front have their turns together, and one behind a writer waits") {
    somebody a, b, writer, late;
    local_queues all;
    join(all, a, "x", any);
    join(all, b, "x", any);
    join(all, writer, "x");
    join(all, late, "x", any);
    all.give_turns(now);
    CHECK(a.turns == 1);
    CHECK(b.turns == 1);
    CHECK(writer.turns + late.turns == 0);
    CHECK(all.is_in_front(b));
    CHECK_FALSE(all.is_in_front(writer));
    CHECK_FALSE(all.is_in_front(late));
    SECTION("while a reader is left before the writer") {
        all.leave(a);
        all.give_turns(now);
        CHECK(writer.turns + late.turns == 0);
        CHECK(b.turns == 1);  // it was in front all the time
    }
    SECTION("until the writer leaves") {
        all.leave(writer);
        all.give_turns(now);
        CHECK(late.turns == 1);
        CHECK(a.turns == 1);
    }
    SECTION("until the writer is first, and has had it") {
        all.leave(b);
        all.leave(a);
        all.give_turns(now);
        CHECK(writer.turns == 1);
        CHECK(late.turns == 0);
        all.taken(writer);
        all.give_turns(now);
        CHECK(late.turns == 0);
        all.freed("x");
        all.give_turns(now);
        CHECK(late.turns == 1);
    }
    all.clear();
}

TEST_CASE("a reader that comes while others hold the resource has its turn at once") {
    somebody a, b;
    local_queues all;
    join(all, a, "x", any);
    all.give_turns(now);
    all.taken(a);
    join(all, b, "x", any);
    all.give_turns(now);
    CHECK(b.turns == 1);
    CHECK(all.first("x") == &b);
    all.taken(b);
    all.freed("x", any);
    CHECK_FALSE(all.empty());  // the other holds it still
    all.freed("x", any);
    CHECK(all.empty());
}

TEST_CASE("where a holder goes on as a reader, those in front have their turn") {
    somebody holder, a, b, writer, behind;
    local_queues all;
    join(all, holder, "x");
    all.give_turns(now);
    all.taken(holder);
    const bool is_writer_first = GENERATE(false, true);
    if (is_writer_first) join(all, writer, "x");
    for (somebody* w : {&a, &b}) join(all, *w, "x", any);
    if (!is_writer_first) join(all, writer, "x");
    join(all, behind, "x", any);
    all.give_turns(now);
    CHECK(a.turns + b.turns + writer.turns == 0);
    CHECK(all.first("x") == nullptr);
    all.shared("x");
    all.give_turns(now);
    CHECK(a.turns == (is_writer_first ? 0 : 1));
    CHECK(b.turns == (is_writer_first ? 0 : 1));
    CHECK(writer.turns == (is_writer_first ? 1 : 0));  // the nodes are to know of it
    CHECK(behind.turns == 0);
    if (!is_writer_first) {
        for (somebody* w : {&a, &b}) all.taken(*w);
        all.freed("x", any);  // the one that went on as a reader
        all.give_turns(now);
        CHECK(behind.turns == 0);
        for (int i = 0; i < 2; ++i) all.freed("x", any);
    }
    for (somebody* w : {&writer, &behind, &a, &b}) all.leave(*w);
    if (is_writer_first) all.freed("x", any);
    CHECK(all.empty());
}

TEST_CASE("where a holder that had not waited goes on as a reader, those in front ask again") {
    somebody a;
    local_queues all;
    all.shared("x");
    CHECK(all.empty());
    join(all, a, "x", any);
    all.give_turns(now);
    all.sleeps(a);
    all.shared("x");
    all.give_turns(now);
    CHECK(a.turns == 2);
    all.leave(a);
    CHECK(all.empty());
}

TEST_CASE("each slot that is given back here is named to one try, the latest first") {
    std::deque<somebody> all_who(6);
    local_queues all;
    for (somebody& one : all_who) join(all, one, "x", 3);
    all.give_turns(now);
    for (std::size_t i = 0; i < 3; ++i) all.taken(all_who[i]);
    CHECK(all.freed_slot("x") == std::nullopt);
    all.freed("x", 3, 1);
    all.freed("x", 3, 0);
    all.freed("x", 3, 1);  // again: of one that had not waited
    CHECK(all.freed_slot("x") == 1);
    CHECK(all.freed_slot("x") == 0);
    CHECK(all.freed_slot("x") == std::nullopt);
    for (std::uint16_t i = 4; i < 8; ++i) all.freed("x", 3, i);
    for (std::uint16_t i = 7; i > 4; --i) CHECK(all.freed_slot("x") == i);
    CHECK(all.freed_slot("x") == std::nullopt);
    CHECK(all.freed_slot("y") == std::nullopt);
    all.clear();
}

TEST_CASE("waiters that want several slots have their turns together only where all of these suffice") {
    std::deque<somebody> all_who(4);
    local_queues all;
    const std::array<std::size_t, 4> wanted{2, 2, 1, 2};
    for (std::size_t i = 0; i < 4; ++i) join(all, all_who[i], "x", 3, wanted[i]);
    const auto turns = [&] {
        all.give_turns(now);
        std::vector<std::size_t> out;
        for (const somebody& one : all_who) out.push_back(one.turns);
        return out;
    };
    CHECK(turns() == std::vector<std::size_t>{1, 0, 0, 0});
    all.taken(all_who[0]);
    CHECK(turns() == std::vector<std::size_t>{1, 1, 0, 0});  // the first in line always has one
    all.freed("x", 3, 0, 2);
    CHECK(turns() == std::vector<std::size_t>{1, 2, 1, 0});
    all.want(all_who[1], 1);  // it will have none of those that it wants
    CHECK(turns() == std::vector<std::size_t>{1, 2, 1, 0});
    all.leave(all_who[2]);
    CHECK(turns() == std::vector<std::size_t>{1, 2, 1, 1});
    all.clear();
}

TEST_CASE("a writer has a turn while readers hold the resource, and again after the last of them") {
    std::deque<somebody> readers(3);
    somebody writer;
    local_queues all;
    for (somebody& r : readers) join(all, r, "x", any);
    join(all, writer, "x");
    all.give_turns(now);
    for (somebody& r : readers) all.taken(r);
    all.give_turns(now);
    CHECK(writer.turns == 1);  // in which the nodes get to know that it waits
    all.sleeps(writer);
    all.freed("x", any);
    all.freed("x", any);
    all.give_turns(now);
    CHECK(writer.turns == 1);
    all.freed("x", any);
    all.give_turns(now);
    CHECK(writer.turns == 2);
    all.taken(writer);
    all.freed("x");
    CHECK(all.empty());
}

TEST_CASE("readers wait for a writer that holds the resource, and then go together") {
    somebody writer, a, b;
    local_queues all;
    join(all, writer, "x");
    all.give_turns(now);
    all.taken(writer);
    join(all, a, "x", any);
    join(all, b, "x", any);
    all.give_turns(now);
    CHECK(a.turns + b.turns == 0);
    CHECK_FALSE(all.is_in_front(a));
    all.wake("x", 0, std::nullopt, now);
    CHECK(a.wakes + b.wakes == 0);
    all.freed("x");
    all.give_turns(now);
    CHECK(a.turns == 1);
    CHECK(b.turns == 1);
    all.clear();
}

TEST_CASE("a wake-up reaches all in front, and nobody else") {
    somebody a, b, writer, late;
    local_queues all;
    join(all, a, "x", any);
    join(all, b, "x", any);
    join(all, writer, "x");
    join(all, late, "x", any);
    all.wake("x", 0, std::nullopt, now);
    all.wake("y", 0, std::nullopt, now);
    CHECK(a.wakes == 1);
    CHECK(b.wakes == 1);
    CHECK(writer.wakes + late.wakes == 0);
    all.leave(a);
    all.leave(b);
    all.wake("x", 0, std::nullopt, now);
    CHECK(writer.wakes == 1);
    CHECK(late.wakes == 0);
    all.clear();
}

TEST_CASE("one that does not wait may pass waiters with which it would share, and no others") {
    somebody reader, writer;
    local_queues all;
    CHECK_FALSE(all.is_waited_for("x", any));
    join(all, reader, "x", any);
    CHECK(all.is_waited_for("x"));
    CHECK_FALSE(all.is_waited_for("x", any));
    join(all, writer, "x");
    CHECK(all.is_waited_for("x", any));
    all.leave(reader);
    CHECK(all.is_waited_for("x", any));
    all.leave(writer);
    CHECK_FALSE(all.is_waited_for("x", any));
    CHECK(all.empty());
}

TEST_CASE("readers that did not wait may give the resource back beside those that did") {
    somebody a, writer;
    local_queues all;
    all.freed("x", any);  // nobody waits here
    CHECK(all.empty());
    join(all, a, "x", any);
    join(all, writer, "x");
    all.give_turns(now);
    all.taken(a);
    all.give_turns(now);
    CHECK(writer.turns == 1);
    all.freed("x", any);  // of one that had not waited, or of the other: it looks once more
    all.give_turns(now);
    CHECK(writer.turns == 2);
    all.freed("x", any);
    all.give_turns(now);
    CHECK(writer.turns == 3);
    all.leave(writer);
    CHECK(all.empty());
}

TEST_CASE("any order in which readers and writers join, leave, take and free is that of a queue") {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        std::mt19937 random(seed);
        std::deque<somebody> crowd(12);
        std::vector<bool> shares(crowd.size());
        const auto index = [&](const somebody* w) {
            return static_cast<std::size_t>(
                std::find_if(crowd.begin(), crowd.end(), [&](auto& c) { return &c == w; }) -
                crowd.begin());
        };
        local_queues all;
        std::deque<somebody*> model;
        std::size_t sharing = 0;
        bool is_taken = false;
        const auto is_in_front = [&](const somebody& w) {
            if (is_taken) return false;
            if (model.front() == &w) return true;
            for (const somebody* const other : model) {
                if (!shares[index(other)]) return false;
                if (other == &w) return true;
            }
            return false;
        };
        for (int step = 0; step < 500; ++step) {
            const std::size_t who = random() % crowd.size();
            somebody& w = crowd[who];
            switch (random() % 5) {
                case 0:
                    if (w.is_queued()) break;
                    shares[who] = seed % 4 != 0 && random() % 3 != 0;  // sometimes nobody does
                    join(all, w, "x", shares[who] ? any : 1);
                    model.push_back(&w);
                    break;
                case 1:
                    all.leave(w);
                    std::erase(model, &w);
                    break;
                case 2:
                    if (!w.is_queued() || !is_in_front(w)) break;
                    if (!shares[who] && sharing > 0) break;  // as the nodes see to it
                    all.taken(w);
                    std::erase(model, &w);
                    if (shares[who])
                        ++sharing;
                    else
                        is_taken = true;
                    break;
                case 3:
                    if (sharing == 0) break;
                    all.freed("x", any);
                    --sharing;
                    break;
                default:
                    if (!is_taken) break;
                    all.freed("x");
                    is_taken = false;
            }
            std::vector<int> turns;
            for (const somebody& c : crowd) turns.push_back(c.turns);
            all.give_turns(now);
            INFO("seed " << seed << ", step " << step);
            const auto writers = std::count_if(model.begin(), model.end(),
                                               [&](auto* m) { return !shares[index(m)]; });
            REQUIRE(all.first("x") == (is_taken || model.empty() ? nullptr : model.front()));
            REQUIRE(all.is_waited_for("x") == !model.empty());
            REQUIRE(all.is_waited_for("x", any) == (writers > 0));
            REQUIRE(all.empty() == (model.empty() && !is_taken && sharing == 0));
            for (std::size_t i = 0; i < crowd.size(); ++i) {
                if (!crowd[i].is_queued()) continue;
                REQUIRE(all.is_in_front(crowd[i]) == is_in_front(crowd[i]));
                if (crowd[i].turns != turns[i]) REQUIRE(is_in_front(crowd[i]));
            }
        }
        all.clear();
    }
}

TEST_CASE("a hundred thousand resources and a line of ten thousand are nothing special") {
    std::deque<somebody> each(100'000);
    std::deque<somebody> crowd(10'000);
    local_queues all;
    for (std::size_t i = 0; i < each.size(); ++i) join(all, each[i], "r" + std::to_string(i));
    for (somebody& w : crowd) join(all, w, "crowd");
    // So many at once, and no more until theirs are over.
    for (std::size_t i = 0; i < each.size(); i += local_queues::most_turns) {
        all.give_turns(now);
        all.give_turns(now);
        for (std::size_t k = i; k < std::min(i + local_queues::most_turns, each.size()); ++k) {
            REQUIRE(each[k].turns == 1);
            all.sleeps(each[k]);
        }
        REQUIRE((i + local_queues::most_turns >= each.size() ||
                 each[i + local_queues::most_turns].turns == 0));
    }
    all.give_turns(now);
    CHECK(crowd.front().turns == 1);
    // From the middle, where a search would cost.
    for (std::size_t i = 1; i + 1 < crowd.size(); ++i) all.leave(crowd[crowd.size() - 1 - i]);
    CHECK(all.first("crowd") == &crowd.front());
    all.clear();
}

TEST_CASE("one that wants several resources has its turn when it is in front for all") {
    somebody a, b, all_three, c;
    local_queues all;
    const std::vector<std::string> three{"x", "y", "z"};
    join(all, a, "x");
    join(all, b, "y");
    all.join(all_three, three);
    join(all, c, "z");
    all.give_turns(now);
    CHECK(a.turns == 1);
    CHECK(b.turns == 1);
    CHECK(all_three.turns == 0);
    CHECK(c.turns == 0);  // z is free, and waits with it
    all.leave(a);
    all.give_turns(now);
    CHECK(all_three.turns == 0);
    CHECK_FALSE(all.is_in_front(all_three));
    all.leave(b);
    all.give_turns(now);
    CHECK(all_three.turns == 1);
    CHECK(all.is_in_front(all_three));
    all.taken(all_three);
    all.give_turns(now);
    CHECK(c.turns == 0);
    for (const auto& r : three) all.freed(r);
    all.give_turns(now);
    CHECK(c.turns == 1);
    all.leave(c);
    CHECK(all.empty());
}

TEST_CASE("of several resources one that is held here keeps back a waiter for all of them") {
    somebody a, both;
    local_queues all;
    const std::vector<std::string> two{"x", "y"};
    join(all, a, "y");
    all.taken(a);
    all.join(both, two);
    all.give_turns(now);
    CHECK(both.turns == 0);
    all.wake("x", 0, std::nullopt, now);
    CHECK(both.wakes == 0);
    all.freed("y");
    all.give_turns(now);
    CHECK(both.turns == 1);
    all.wake("x", 0, std::nullopt, now);
    all.wake("y", 0, std::nullopt, now);
    CHECK(both.wakes == 2);
    all.leave(both);
    CHECK(all.empty());
}

TEST_CASE("waiters for the same resources in other orders never block each other") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        local_queues all;
        std::deque<somebody> crowd;
        std::vector<std::vector<std::string>> wanted;
        std::vector<std::size_t> inside;
        std::size_t done = 0;
        for (int i = 0; i < 12; ++i) {
            std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
            std::shuffle(names.begin(), names.end(), random);
            names.resize(1 + random() % 4);
            wanted.push_back(names);
            crowd.emplace_back();
            all.join(crowd.back(), wanted.back());
        }
        for (int step = 0; step < 1'000 && done < crowd.size(); ++step) {
            all.give_turns(now);
            for (std::size_t i = 0; i < crowd.size(); ++i) {
                if (crowd[i].turns == 0 || !crowd[i].is_queued()) continue;
                if (!all.is_in_front(crowd[i])) continue;
                all.taken(crowd[i]);
                inside.push_back(i);
            }
            REQUIRE_FALSE(inside.empty());
            const std::size_t at = random() % inside.size();
            for (const auto& r : wanted[inside[at]]) all.freed(r);
            inside.erase(inside.begin() + static_cast<std::ptrdiff_t>(at));
            ++done;
        }
        CHECK(done == crowd.size());
        CHECK(all.empty());
    }
}

TEST_CASE("a lock has as many places as holders: any number shared, its slots, or one") {
    CHECK(local_queues::places_of(true, 0) == any);
    CHECK(local_queues::places_of(false, 3) == 3);
    CHECK(local_queues::places_of(false, 0) == 1);
}

TEST_CASE("several resources are waited for, or taken, if one of them is") {
    somebody a, behind;
    local_queues all;
    const std::vector<std::string> both{"x", "y"};
    CHECK_FALSE(all.is_any_waited_for(both, 1));
    join(all, a, "y");
    CHECK(all.is_any_waited_for(both, 1));
    CHECK_FALSE(all.is_any_taken(both));
    join(all, behind, "y");
    all.taken(a);
    CHECK(all.is_any_taken(both));
    all.freed("y");
    CHECK_FALSE(all.is_any_taken(both));
}

}  // namespace local_queue_test

// Waiters that sleep: for which of them the nodes are queried, and when.
namespace sleepers_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::sleepers;

namespace {

constexpr time_point start = time_point(72h);
constexpr duration longest = 60s;

struct waiter final : core::sleeper {};

struct many {
    explicit many(std::size_t count, std::size_t keys = 1, time_point sent = start) : waiters(count) {
        for (waiter& one : waiters) all.add(one, keys, sent);
    }
    std::vector<core::sleeper*> due(time_point now) {
        std::vector<core::sleeper*> out;
        all.take_due(now, [&](core::sleeper& one) { out.push_back(&one); });
        return out;
    }

    std::deque<waiter> waiters;
    sleepers all;
};

}  // namespace

TEST_CASE("a waiter sleeps from when it is added until it is removed") {
    many m(1);
    CHECK(m.waiters[0].is_asleep());
    m.all.remove(m.waiters[0]);
    CHECK_FALSE(m.waiters[0].is_asleep());
    m.all.remove(m.waiters[0]);
    CHECK(m.due(start + 1h).empty());
}

TEST_CASE("the nodes are queried for a waiter after 650 to 750 ms, and then again") {
    many m(1);
    CHECK(m.all.next_query(start, 0) == start + 650ms);
    CHECK(m.all.next_query(start, 100'000'000) == start + 750ms);
    CHECK(m.all.next_query(start + 300ms, 0) == start + 650ms);
    CHECK(m.due(start + 650ms).size() == 1);
    CHECK(m.all.next_query(start + 650ms, 0) == start + 1300ms);
    CHECK(m.due(start + 700ms).empty());
}

TEST_CASE("a query is for waiters that are due before long, too, but for none that just queried") {
    many m(1);
    waiter soon, fresh;
    m.all.add(soon, 1, start + 325ms);
    m.all.add(fresh, 1, start + 326ms);
    CHECK(m.due(start + 650ms) == std::vector<core::sleeper*>{&m.waiters[0], &soon});
    m.all.clear();
}

TEST_CASE("queries for many go in batches of 64 keys, 20 ms apart") {
    many m(100);
    CHECK(m.due(start + 1s).size() == 64);
    CHECK(m.all.next_query(start + 1s, 0) == start + 1s + 20ms);
    CHECK(m.due(start + 1020ms).size() == 36);
    CHECK(m.all.next_query(start + 1020ms, 0) == start + 1s + 650ms);
    many several(40, 3);
    CHECK(several.due(start + 1s).size() == 21);
}

TEST_CASE("a node keeps an entry for 2 s, or for three rounds of queries, and for no longer than it may") {
    CHECK(many(1).all.entry_life(longest) == 2s);
    CHECK(many(33 * 64).all.entry_life(longest) == 2s);
    CHECK(many(50 * 64).all.entry_life(longest) == 3s);
    CHECK(many(50 * 64, 2).all.entry_life(longest) == 12s);  // batches may be filled to a half
    CHECK(many(50 * 64).all.entry_life(2500ms) == 2500ms);
}

TEST_CASE("a waiter queries nodes that it could not query, or that were not listened to by then") {
    sleepers all;
    const node_mask listening = node_mask::first(3);
    all.listens(2, start + 5ms);
    CHECK(all.unqueried(listening, listening, start + 6ms).empty());
    CHECK(all.unqueried(listening, node_mask::only(0) | node_mask::only(2), start + 6ms) ==
          node_mask::only(1));
    // What node 2 published before 5 ms has not arrived.
    CHECK(all.unqueried(listening, listening, start + 4ms) == node_mask::only(2));
    CHECK(all.unqueried(node_mask::first(2), node_mask::first(2), start + 4ms).empty());
}

TEST_CASE("a node misses no wake-up if the client listened to it before the query, and still does") {
    sleepers all;
    all.listens(1, start);
    CHECK(all.was_listening(1, node_mask::only(1), start + 1ms));
    CHECK_FALSE(all.was_listening(1, node_mask::only(1), start));
    CHECK_FALSE(all.was_listening(1, {}, start + 1ms));
}

TEST_CASE("a node that is listened to is queried for a few waiters at once, and for many in batches") {
    many few(64);
    CHECK(few.all.listens(0, start + 10ms));
    CHECK(few.all.next_query(start + 10ms, 0) == start + 650ms);
    many crowd(65);
    CHECK_FALSE(crowd.all.listens(0, start + 10ms));
    CHECK(crowd.all.next_query(start + 10ms, 0) == start + 30ms);
    CHECK(crowd.due(start + 30ms).size() == 64);
    CHECK(crowd.due(start + 50ms).size() == 1);
    CHECK(crowd.due(start + 70ms).empty());
}

TEST_CASE("the second connections are opened once, and closed 30 s after the last waiter") {
    sleepers all;
    CHECK(all.open(start));
    CHECK_FALSE(all.open(start + 1s));
    waiter one;
    all.add(one, 1, start);
    CHECK_FALSE(all.close_if_idle(start + 60s));
    all.remove(one);
    CHECK_FALSE(all.close_if_idle(start + 89s));
    CHECK(all.close_if_idle(start + 90s));
    CHECK(all.open(start + 91s));
    all.close();
    CHECK(all.open(start + 92s));
}

}  // namespace sleepers_test
