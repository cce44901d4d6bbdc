// The window on requests at once: its size, its order, and which enters when; knows no node.
// SPDX-License-Identifier: MIT
#include "core/load.hpp"

#include "tests/support/catch.hpp"

#include <deque>
#include <functional>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::admission;
using answer = core::admission::answer;

namespace {

constexpr time_point start{};

struct somebody final : core::applicant {
    bool is_in = false;
    std::vector<somebody*>* order = nullptr;
    std::function<void()> then{};

private:
    void on_admitted(time_point) override {
        is_in = true;
        if (order != nullptr) order->push_back(this);
        if (then) then();
    }
};

/// Many callers, answered as a node of a certain speed would: one after the other.
struct crowd {
    explicit crowd(std::size_t n) : all(n) {}

    // Everybody asks again as soon as it was answered, for so long; from an instant on the way may
    // be another.
    void run(duration span, duration each, duration first_way,
             time_point changes = time_point::max(), duration later_way = {}) {
        const time_point end = now + span;
        std::deque<std::pair<somebody*, time_point>> asked;
        time_point busy_until = now;
        const auto ask = [&](somebody& s) { asked.emplace_back(&s, now); };
        for (auto& s : all) s.then = [&ask, &s] { ask(s); };
        for (auto& s : all) {
            if (gate.apply(s) == admission::answer::enter) ask(s);
        }
        while (now < end && !asked.empty()) {
            const auto [who, sent] = asked.front();
            asked.pop_front();
            const auto way = now < changes ? first_way : later_way;
            busy_until = std::max(busy_until, sent + way) + each;
            now = std::max(now, busy_until + way);
            longest = std::max(longest, now - sent);
            ++answers;
            gate.answered(*who, sent, now);
            if (gate.apply(*who) == admission::answer::enter) ask(*who);
            gate.admit(now);
        }
        for (auto& s : all) {
            gate.withdraw(s);
            s.then = nullptr;
        }
    }

    std::deque<somebody> all;
    admission gate{50ms};
    time_point now = start;
    duration longest{};
    std::size_t answers = 0;
};

}  // namespace

TEST_CASE("operations enter at once while there is room, the others in order of arrival") {
    admission gate(50ms);
    std::deque<somebody> inside(gate.size());
    for (auto& s : inside) REQUIRE(gate.apply(s) == answer::enter);
    std::vector<somebody*> order;
    std::deque<somebody> late(3);
    for (auto& s : late) {
        s.order = &order;
        CHECK(gate.apply(s) == answer::wait);
    }
    gate.admit(start);
    CHECK(order.empty());
    gate.withdraw(inside[0]);
    somebody last;
    CHECK(gate.apply(last) ==
          answer::wait);  // not past those that are held up, though there is room
    gate.admit(start);
    CHECK(order == std::vector{&late[0]});
    gate.withdraw(late[1]);
    gate.withdraw(late[1]);  // once is enough
    gate.withdraw(late[0]);
    gate.admit(start);
    CHECK(order == std::vector{&late[0], &late[2]});
    gate.clear();
}

TEST_CASE("the line before it has an end") {
    admission gate(50ms);
    std::deque<somebody> all(gate.size() + admission::most_held_up);
    for (auto& s : all) REQUIRE(gate.apply(s) != answer::go_away);
    somebody one;
    CHECK(gate.apply(one) == answer::go_away);
    gate.withdraw(one);
    gate.withdraw(all.back());
    CHECK(gate.apply(one) == answer::wait);
    gate.clear();
}

TEST_CASE("nodes that serve one request at a time are never sent more than they answer in time") {
    crowd many(1'024);
    const auto each = GENERATE(20us, 100us, 400us, 1'000us);
    many.run(3s, each, 50us);
    const auto first = many.answers;
    CHECK(many.longest < 50ms + 16 * each);  // the first guess may have been far too much
    many.longest = {};
    many.run(10s, each, 50us);
    CHECK(many.longest < 40ms);
    // They are not left idle either.
    CHECK((many.answers - first) * each > 9s);
}

TEST_CASE("far nodes are not taken for slow ones") {
    crowd many(1'024);
    many.run(5s, 10us, 20ms);
    // 41 ms to and fro: what a small window would allow, 16 each time, were 2,000 in that time.
    CHECK(many.answers > 80'000);
}

TEST_CASE("a round trip that becomes longer under load is not taken for slowness for long") {
    crowd many(1'024);
    many.run(1s, 10us, 50us);
    const auto before = many.answers;
    many.run(6s, 10us, 50us, many.now + 1s, 10ms);
    // With 16 at a time it would be 4,000 in those 5 s, beside 100,000 in the one before.
    CHECK(many.answers - before > 180'000);
}

TEST_CASE("a window that is not full neither grows nor admits more later") {
    admission gate(50ms);
    const auto before = gate.size();
    std::deque<somebody> few(before / 2);
    for (int i = 0; i < 100; ++i) {
        for (auto& s : few) REQUIRE(gate.apply(s) == answer::enter);
        for (auto& s : few) gate.answered(s, start, start + 1ms);
    }
    CHECK(gate.size() == before);
}

TEST_CASE("what comes too late shrinks it once for each size that it had") {
    admission gate(50ms);
    const auto before = gate.size();
    std::deque<somebody> all(before);
    for (auto& s : all) REQUIRE(gate.apply(s) == answer::enter);
    gate.answered(all[0], start, start + 1ms);
    for (std::size_t i = 1; i < before / 2; ++i) gate.answered(all[i], start, start + 20ms);
    CHECK(gate.size() == (before + 1) * 3 / 4);
    for (std::size_t i = before / 2; i < before; ++i) gate.unanswered(all[i], start, start + 50ms);
    CHECK(gate.size() == (before + 1) * 3 / 4);
}

TEST_CASE("answers that nobody gave at once are no sign of slowness") {
    admission gate(50ms);
    somebody one;
    const auto before = gate.size();
    for (int i = 1; i < 10; ++i) {
        REQUIRE(gate.apply(one) == answer::enter);
        gate.unanswered(one, start + i * 1s, start + i * 1s);  // no node could be queried
    }
    CHECK(gate.size() == before);
    for (int i = 1; i < 100; ++i) {
        REQUIRE(gate.apply(one) == answer::enter);
        gate.unanswered(one, start + i * 1s, start + i * 1s + 50ms);
    }
    CHECK(gate.size() == 16);
}
