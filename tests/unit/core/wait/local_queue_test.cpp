// The lines of one client: order, turns, leaving from any place, and what is left behind.
// SPDX-License-Identifier: MIT
#include "core/wait/local_queue.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace redlock;
using core::local_queues;

namespace {

constexpr time_point now{};

struct somebody final : core::waiter {
    explicit somebody(std::string of = {}) : name(std::move(of)) {}
    void on_wake(std::size_t, time_point) override {}
    void on_turn(time_point) override {
        ++turns;
        if (then) then();
    }

    std::string name;
    int turns = 0;
    std::function<void()> then{};
};

}  // namespace

TEST_CASE("the first has its turn at once, the others one after the other") {
    somebody a, b, c;
    local_queues all;
    for (somebody* w : {&a, &b, &c}) all.join(*w, "x");
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
    all.join(a, "x");
    all.give_turns(now);
    all.taken(a);
    CHECK_FALSE(a.is_queued());
    all.join(b, "x");
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
    all.join(a, "x");
    all.join(b, "x");
    all.give_turns(now);
    all.freed("x");
    all.freed("x");
    all.give_turns(now);
    CHECK(a.turns == 2);
    CHECK(b.turns == 0);
}

TEST_CASE("a turn that is due is not given to who has the resource, or has left") {
    somebody a, b;
    local_queues all;
    all.join(a, "x");
    all.join(b, "x");
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

TEST_CASE("who leaves, from whatever place, changes nobody else's order") {
    for (std::size_t gone = 0; gone < 5; ++gone) {
        std::deque<somebody> crowd(5);
        local_queues all;
        for (somebody& w : crowd) all.join(w, "x");
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
    all.join(a, "x");
    all.join(b, "y");
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
        all.join(b, "x");
        all.join(a, "x");
    };
    b.then = [&] { all.leave(b); };
    all.join(a, "x");
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
        for (std::size_t k = 0; k < crowd.size(); ++k) all.join(crowd[k], std::to_string(k));
        all.give_turns(now);
        all.join(late, "late");
        all.give_turns(now);
        CHECK(late.turns == 0);
        all.ask(crowd.front());  // again, and before its turn is over
        ends[i](all, crowd[1]);
        all.give_turns(now);
        CHECK(late.turns == 1);
        all.clear();
    }
}

TEST_CASE("who rests because nobody answered keeps its turn until it asks for another") {
    std::deque<somebody> crowd(local_queues::most_turns);
    somebody late;
    local_queues all;
    for (std::size_t k = 0; k < crowd.size(); ++k) all.join(crowd[k], std::to_string(k));
    all.join(late, "late");
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

TEST_CASE("who rests is counted until its next turn, or until it leaves") {
    somebody a, b;
    local_queues all;
    all.join(a, "a");
    all.join(b, "b");
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
            all.join(crowd[i], std::to_string(i % 10));
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

TEST_CASE("any order of joining, leaving, taking and freeing is that of a queue") {
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        std::mt19937 random(seed);
        std::deque<somebody> crowd(20);
        local_queues all;
        std::deque<somebody*> model;
        bool is_taken = false;
        for (int step = 0; step < 500; ++step) {
            somebody& w = crowd[random() % crowd.size()];
            switch (random() % 4) {
                case 0:
                    if (w.is_queued()) break;
                    all.join(w, "x");
                    model.push_back(&w);
                    break;
                case 1:
                    all.leave(w);
                    std::erase(model, &w);
                    break;
                case 2:
                    if (is_taken || model.empty()) break;
                    all.taken(*model.front());
                    model.pop_front();
                    is_taken = true;
                    break;
                default: all.freed("x"); is_taken = false;
            }
            all.give_turns(now);
            INFO("seed " << seed << ", step " << step);
            REQUIRE(all.first("x") == (is_taken || model.empty() ? nullptr : model.front()));
            REQUIRE(all.is_waited_for("x") == !model.empty());
        }
        all.clear();
    }
}

TEST_CASE("a hundred thousand resources and a line of ten thousand are nothing special") {
    std::deque<somebody> each(100'000);
    std::deque<somebody> crowd(10'000);
    local_queues all;
    for (std::size_t i = 0; i < each.size(); ++i) all.join(each[i], "r" + std::to_string(i));
    for (somebody& w : crowd) all.join(w, "crowd");
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
