// Tests how a waiter fares beside programs that lock with another library; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <cstddef>
#include <functional>
#include <string>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

constexpr auto section = 1ms;

// Takes turns at "r" as most other libraries do: SET NX on every node, tries every 3 ms, and at
// once when it has given the key back. Whatever it does takes a trip.
class poller {
public:
    poller(world& w, std::string name) : in_(&w), name_(std::move(name)) { take(); }

    std::size_t turns = 0;
    bool is_resting = false;

private:
    std::string value() const { return name_ + std::to_string(number_); }
    void take() {
        if (is_resting) return;
        ++number_;
        std::size_t got = 0;
        for (auto& node : in_->nodes) {
            if (node.keys(in_->now).contains("r")) continue;
            node.put("r", value(), in_->now + 8s);
            ++got;
        }
        if (got > in_->nodes.size() / 2) {
            ++turns;
            return in_->after(section + trip, [this] { give_back(trip); });
        }
        give_back(3ms + trip);
    }
    void give_back(duration rest) {
        for (auto& node : in_->nodes) {
            const auto keys = node.keys(in_->now);
            const auto at = keys.find("r");
            if (at != keys.end() && at->second.value == value()) node.remove("r");
        }
        in_->after(rest, [this] { take(); });
    }

    world* in_;
    std::string name_;
    std::size_t number_ = 0;
};

std::size_t tries(const world& w) { return calls_of(w, ask::acquire, 0); }

}  // namespace

TEST_CASE("beside two programs that try every 3 ms a waiter has its turns, and they have theirs") {
    connected_world w(fenced_options_for(3));
    poller a(w, "a");
    poller b(w, "b");
    std::size_t ours = 0;
    const auto until = w.now + 20s;
    while (w.now < until) {
        const auto e = w.acquire("r", {.wait = 60s});
        while (!e->is_over() && w.turn(until)) {
        }
        if (!e->held) break;
        ++ours;
        w.run_for(section);
        w.release(std::move(e->held));
        w.run_for(3ms);  // the others of ours have their turns meanwhile; here it is theirs
    }
    a.is_resting = b.is_resting = true;
    INFO("ours " << ours << ", theirs " << a.turns << " and " << b.turns);
    // One that waits alone, and steps back after each turn; asleep it had one in hundreds.
    CHECK(15 * ours >= a.turns + b.turns);
    CHECK(4 * (a.turns + b.turns) >= ours + a.turns + b.turns);
}

TEST_CASE("a foreign key that is deleted early is found in 2 to 50 ms, by its age") {
    for (auto when = 1ms; when < 3s; when = when * 3 / 2 + 1ms) {
        connected_world w(fenced_options_for(3));
        w.take_elsewhere("r", 3, 1h, world::foreign);
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(when);
        for (auto& node : w.nodes) node.remove("r");
        CHECK(time_until_over(w, *e) <= std::min<duration>(3ms + when / 6, 50ms) + 2 * trip);
        CHECK(e->held);
        w.release(std::move(e->held));
        w.run_for(10ms);
        CHECK(queued_in_all(w, "r") == 0);
        CHECK(w.ours("r") == 0);
    }
}

TEST_CASE("a foreign holder that stays costs a node few commands, and one that runs out no wait") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3, 10s, world::foreign);
    const auto gone = w.now + 10s;
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(1s);
    CHECK(tries(w) < 70);
    const auto before = tries(w);
    w.run_for(5s);
    CHECK(tries(w) - before > 5 * 19);
    CHECK(tries(w) - before < 5 * 26);
    REQUIRE(w.run_until_over(*e));
    CHECK(e->held);
    CHECK(w.now - gone <= 2ms + latency + trip);
}

TEST_CASE("only the first in the queues of the nodes looks") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3, 1h, world::foreign);
    stranger other(w);
    other.listen();
    const auto stays = [&] {
        for (int i = 0; i < 20; ++i) {
            other.enter_all("r", 1);
            w.run_for(500ms);
        }
    };
    stays();
    const auto first = w.acquire("r", {.wait = 60s});
    const auto second = w.acquire("r", {.wait = 60s});
    stays();
    CHECK(tries(w) == 1);
    SECTION("when that one gives up the next is woken, and looks") {
        for (std::size_t i = 0; i < 3; ++i) other.leave(i, "r", 1);
        w.run_for(latency + trip);
        CHECK(tries(w) == 2);
    }
    SECTION("when that one dies the next hears of it by a question") {
        w.run_for(2s + refresh);
        CHECK(tries(w) > 2);
    }
    const auto before = tries(w);
    w.run_for(1s);
    CHECK(tries(w) > before + 15);
    for (auto& node : w.nodes) node.remove("r");
    CHECK(time_until_over(w, *first) <= 50ms + 2 * trip);
    CHECK(first->held);
    CHECK_FALSE(second->is_over());
}

TEST_CASE("beside holders of ours nobody looks, also where a foreign one went before") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3, 1h, world::foreign);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(1s);
    w.take_elsewhere("r", 3);
    w.run_for(100ms);
    const auto before = tries(w);
    w.run_for(10s);
    CHECK(tries(w) == before);
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *e) == latency + trip);
    CHECK(e->held);
}

TEST_CASE("a holder of ours that is followed by a foreign one is looked after within a refresh") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r", {.wait = 60s});
    w.take_elsewhere("r", 3, 1h, world::foreign);
    w.run_for(refresh + trip);
    const auto before = tries(w);
    w.run_for(1s);
    CHECK(tries(w) > before + 15);
    for (auto& node : w.nodes) node.remove("r");
    CHECK(time_until_over(w, *e) <= 50ms + 2 * trip);
}

TEST_CASE("plain locks of ours, which are given back without a word, are looked after too") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r", {.wait = 60s});
    for (auto& node : w.nodes) node.remove("r");
    // Somebody takes it before the waiter, which just learnt that it is free, can.
    bool is_taken = false;
    const auto until = w.now + 2s;
    const auto asked = calls_of(w, resp::wait(), 2);
    while (w.now < until && w.turn(until)) {
        if (!is_taken && calls_of(w, resp::wait(), 2) > asked) {
            w.take_elsewhere("r", 3);
            is_taken = true;
        }
    }
    REQUIRE(is_taken);
    CHECK_FALSE(e->is_over());
    CHECK(tries(w) > 30);
    SECTION("until a wake-up tells that holders do tell") {
        stranger(w).release_all("r");
        CHECK(time_until_over(w, *e) <= latency + trip);
        CHECK(e->held);
    }
    for (auto& node : w.nodes) node.remove("r");
    CHECK(time_until_over(w, *e) <= 50ms + 2 * trip);
}
