// Tests leases of several slots of one client and of others; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

acquire_options some_of(std::uint16_t slots, std::uint16_t permits,
                        std::chrono::milliseconds wait = 0ms) {
    return {.ttl = 10s, .wait = wait, .slots = slots, .permits = permits};
}

std::vector<std::uint16_t> slots_of(const lease& held) {
    return {held.slots().begin(), held.slots().end()};
}

/// On so many nodes, that many of the slots of "r" are taken.
bool are_taken(world& w, std::size_t nodes, std::size_t slots) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < max_slots; ++i) {
        const std::size_t on = w.ours("r#" + std::to_string(i));
        if (on != 0 && on != nodes) return false;
        n += on != 0 ? 1 : 0;
    }
    return n == slots;
}

void give_back(world& w, lease& held) {
    const auto released = w.release(std::move(held));
    REQUIRE(w.run_until_over(*released));
    CHECK(released->outcome() == error_code());
    w.run_for(1ms);
}

}  // namespace

TEST_CASE("several slots are one request per node, one lease and one fence") {
    connected_world w(fenced_options_for(3));
    const auto before = w.now;
    const auto e = w.acquire("r", some_of(5, 3));
    REQUIRE(w.run_until_over(*e));
    REQUIRE(e->held);
    CHECK(w.now - before == trip);
    const auto slots = slots_of(e->held);
    REQUIRE(slots.size() == 3);
    CHECK(std::is_sorted(slots.begin(), slots.end()));
    CHECK(e->held.slot() == slots.front());
    CHECK(e->held.resources().size() == 1);
    w.run_for(1ms);
    CHECK(are_taken(w, 3, 3));
    for (std::size_t i = 0; i < 3; ++i) CHECK(calls_of(w, ask::acquire, i) == 1);
    w.run_for(25s);  // renewed
    CHECK(e->held);
    CHECK(are_taken(w, 3, 3));
    const auto longer = w.extend(e->held, 30s);
    REQUIRE(w.run_until_over(*longer));
    CHECK(longer->outcome() == error_code());
    const auto two = w.granted("r", some_of(5, 2));
    REQUIRE(two->held);
    CHECK(w.granted("r", some_of(5, 1))->outcome() == errc::contended);
    give_back(w, e->held);
    CHECK(are_taken(w, 3, 2));
    const auto inspected = w.inspect("r");
    REQUIRE(w.run_until_over(*inspected));
    REQUIRE(inspected->state.slots.size() == 2);
    CHECK(inspected->state.slots[0].owner == inspected->state.slots[1].owner);
    give_back(w, two->held);
    CHECK(are_taken(w, 3, 0));
}

TEST_CASE("a lease without slots has none, and one of one slot has that") {
    connected_world w(fenced_options_for(3));
    CHECK(w.granted("r")->held.slots().empty());
    const auto one = w.granted("r", some_of(5, 1));
    CHECK(slots_of(one->held) == std::vector<std::uint16_t>{one->held.slot()});
    CHECK(lease().slots().empty());
}

TEST_CASE("permits that can't be are refused before anything is sent") {
    connected_world w(fenced_options_for(3));
    const auto [slots, permits, why] = GENERATE(table<std::uint16_t, std::uint16_t, std::string>(
        {{5, 0, "must be 1 to 5"}, {5, 6, "must be 1 to 5"}, {100, 65, "must be 1 to 64"},
         {0, 2, "are of slots"}, {0, 0, "are of slots"}}));
    const auto e = w.granted("r", some_of(slots, permits));
    CHECK(e->outcome() == errc::invalid_argument);
    CHECK(w.events.back().detail.find("permits " + why) != std::string::npos);
    CHECK(calls_in_all(w, ask::acquire) == 0);
    CHECK(w.granted("r", some_of(100, 64))->held);
}

TEST_CASE("another process takes over all slots of a lease by its token, and gives them back") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", some_of(7, 3));
    const auto lost = w.lost(e->held);
    const std::string token = e->held.token();
    const auto other = w.adopted(token, {.ttl = 5s});
    REQUIRE(other->held);
    CHECK(slots_of(other->held) == slots_of(e->held));
    CHECK(other->held.token() == token);
    w.run_for(20s);
    CHECK(are_taken(w, 3, 3));
    give_back(w, other->held);
    CHECK(are_taken(w, 3, 0));
    w.run_for(5s);
    REQUIRE(lost->is_over());
    CHECK(lost->lost_for == loss::taken);
    CHECK(are_taken(w, 3, 0));
    CHECK(w.adopted(token)->outcome() == errc::not_held);
}

TEST_CASE("a lease that loses one of its slots is lost, and the others go with it") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", some_of(7, 3));
    const auto lost = w.lost(e->held);
    const std::string one = "r#" + std::to_string(e->held.slots()[1]);
    SECTION("another has it") { w.take_elsewhere(one, 2); }
    SECTION("an operator takes all") {
        const auto seen = w.inspect("r");
        REQUIRE(w.run_until_over(*seen));
        const auto done = w.revoke(seen->state);
        REQUIRE(w.run_until_over(*done));
        CHECK(done->revoked.revoked.size() == 1);
        CHECK(are_taken(w, 3, 0));
    }
    SECTION("an operator takes that one") {
        const auto seen = w.inspect("r");
        REQUIRE(w.run_until_over(*seen));
        seen->state.slots = {seen->state.slots[1]};
        REQUIRE(w.run_until_over(*w.revoke(seen->state)));
        CHECK(are_taken(w, 3, 2));
    }
    w.run_for(7s);
    REQUIRE(lost->is_over());
    CHECK(lost->lost_for == loss::taken);
    e->held = lease();
    w.run_for(1ms);
    CHECK(are_taken(w, 3, 0));
}

TEST_CASE("one that wants several slots is first until as many are free, and others wait behind") {
    connected_world w(fenced_options_for(3));
    const auto a = w.granted("r", some_of(3, 1));
    const auto b = w.granted("r", some_of(3, 1));
    const auto all = w.acquire("r", some_of(3, 3, 60s));
    w.run_for(20ms);
    const auto one = w.acquire("r", some_of(3, 1, 60s));
    w.run_for(3s);  // a slot is free all the time
    CHECK_FALSE(all->is_over());
    CHECK_FALSE(one->is_over());
    CHECK(w.granted("r", some_of(3, 1))->outcome() == errc::contended);
    give_back(w, a->held);
    w.run_for(1s);
    CHECK_FALSE(one->is_over());
    b->held = lease();
    CHECK(time_until_over(w, *all) < 10ms);
    REQUIRE(all->held);
    w.run_for(1s);
    CHECK_FALSE(one->is_over());
    all->held = lease();
    CHECK(time_until_over(w, *one) < 10ms);
    CHECK(one->held);
}

TEST_CASE("slots that an operator frees wake one that waits for several") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", some_of(3, 3));
    const auto waits = w.acquire("r", some_of(3, 3, 60s));
    w.run_for(1s);
    const auto seen = w.inspect("r");
    REQUIRE(w.run_until_over(*seen));
    const auto done = w.revoke(seen->state);
    REQUIRE(w.run_until_over(*done));
    CHECK(time_until_over(w, *waits) < 10ms);
    CHECK(waits->held);
}

TEST_CASE("where others name fewer slots one that wants more holds up nobody") {
    connected_world w(fenced_options_for(3));
    const auto few = w.granted("r", some_of(2, 2));
    const auto many = w.acquire("r", some_of(5, 3, 60s));
    w.run_for(100ms);
    for (std::size_t i = 0; i < 3; ++i) CHECK(queue_of(w, i, "r").empty());
    const auto one = w.acquire("r", some_of(2, 1, 60s));
    w.run_for(100ms);
    CHECK_FALSE(one->is_over());
    few->held = lease();
    CHECK(time_until_over(w, *one) < 10ms);
    CHECK(one->held);
    one->held = lease();
    REQUIRE(w.run_until_over(*many));  // when the smaller number counts no more
    CHECK(many->held);
    const auto first = w.acquire("r", some_of(5, 3, 60s));
    w.run_for(100ms);
    const auto tries = calls_in_all(w, ask::acquire);
    const auto second = w.acquire("r", some_of(5, 1, 60s));
    w.run_for(100ms);
    CHECK(calls_in_all(w, ask::acquire) == tries);
    many->held = lease();
    REQUIRE(w.run_until_over(*second));
    CHECK(first->held);
    CHECK(second->held);
}

TEST_CASE("one that wants many slots stands in line again once nobody names fewer") {
    connected_world w(fenced_options_for(3));
    const auto holder = w.granted("r", some_of(5, 1));
    const auto few = w.granted("r", some_of(2, 1));
    const auto many = w.acquire("r", some_of(5, 5, 100s));
    w.run_for(100ms);
    for (std::size_t i = 0; i < 3; ++i) CHECK(queue_of(w, i, "r").empty());
    few->held = lease();
    w.run_for(20s);
    for (std::size_t i = 0; i < 3; ++i) CHECK(queue_of(w, i, "r").size() == 1);
    const auto one = w.acquire("r", some_of(5, 1, 60s));
    w.run_for(100ms);
    CHECK_FALSE(one->is_over());
    holder->held = lease();
    CHECK(time_until_over(w, *many) < 10ms);
    CHECK(many->held);
    CHECK_FALSE(one->is_over());
}

TEST_CASE("a release of several slots that is lost goes out again, and takes all of them back") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", some_of(5, 3));
    w.run_for(1ms);
    w.set_mode(1, mode::mute);
    w.forget_connections(1);
    const auto released = w.release(std::move(e->held));
    REQUIRE(w.run_until_over(*released));
    w.cut(1);
    w.set_mode(1, mode::up);
    w.run_for(1s);
    CHECK(are_taken(w, 3, 0));
}
