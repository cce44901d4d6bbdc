// Waiters that sleep: for which of them the nodes are queried, and when.
// SPDX-License-Identifier: MIT
#include "core/wait/sleepers.hpp"

#include "tests/support/catch.hpp"

#include <deque>
#include <vector>

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
