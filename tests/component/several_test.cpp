// Tests leases of several resources of one client and of others; knows no socket.
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

const std::vector<std::string> names{"a", "b", "c"};

bool are_ours(world& w, std::size_t nodes) {
    return std::all_of(names.begin(), names.end(),
                       [&](const auto& one) { return w.ours(one) == nodes; });
}

std::size_t waiting(world& w, const std::string& resource) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) n += queue_of(w, i, resource).size();
    return n;
}

}  // namespace

TEST_CASE("several resources are one request per node, one lease and one fence") {
    const bool is_fenced = GENERATE(true, false);
    connected_world w(is_fenced ? fenced_options_for(3) : options_for(3));
    const auto before = w.now;
    const auto e = w.acquire_all(names, {.ttl = 10s});
    REQUIRE(w.run_until_over(*e));
    CHECK(e->outcome() == error_code());
    CHECK(w.now - before == trip);
    REQUIRE(e->held);
    CHECK(std::equal(names.begin(), names.end(), e->held.resources().begin(),
                     e->held.resources().end()));
    CHECK(e->held.resource() == "a");
    CHECK((e->held.fence() > 0) == is_fenced);
    w.run_for(1ms);
    CHECK(are_ours(w, 3));
    for (std::size_t i = 0; i < 3; ++i) CHECK(calls_of(w, ask::acquire, i) == 1);
    w.run_for(25s);  // renewed
    CHECK(e->held);
    CHECK(are_ours(w, 3));
    const auto released = w.release(std::move(e->held));
    REQUIRE(w.run_until_over(*released));
    CHECK(released->outcome() == error_code());
    w.run_for(1ms);
    CHECK(are_ours(w, 0));
}

TEST_CASE("a list of one resource is acquired like that resource alone") {
    connected_world w(options_for(3));
    const auto e = w.acquire_all({"a"}, {.ttl = 10s});
    REQUIRE(w.run_until_over(*e));
    REQUIRE(e->held);
    CHECK(w.nodes[0].count("SET") == 1);
    CHECK(e->held.resources().size() == 1);
}

TEST_CASE("several resources that can't be are refused before anything is sent") {
    connected_world w(fenced_options_for(3));
    const auto refused = [&](std::vector<std::string> all, acquire_options how,
                             const std::string& why) {
        INFO(why);
        const auto e = w.acquire_all(std::move(all), how);
        REQUIRE(w.run_until_over(*e));
        CHECK(e->outcome() == errc::invalid_argument);
        CHECK(w.events.back().detail.find(why) != std::string::npos);
    };
    refused({}, {}, "no name");
    refused({"a", "b", "a"}, {}, "\"a\" is named twice");
    refused({"a", ""}, {}, "no name");
    refused({"a", "b"}, {.mode = lock_mode::shared}, "exclusive");
    refused({"a", "b"}, {.slots = 2}, "slots");
    std::vector<std::string> many;
    for (int i = 0; i < 65; ++i) many.push_back("r" + std::to_string(i));
    refused(many, {}, "65 resources");
    many.pop_back();
    const auto e = w.acquire_all(many, {.ttl = 10s});
    REQUIRE(w.run_until_over(*e));
    CHECK(e->held);
}

TEST_CASE("an owner of the caller's is in use for each of the resources") {
    connected_world w(fenced_options_for(3));
    const auto owner = owner_id{{1, 2, 3}};
    const auto one = w.granted("b", {.ttl = 10s, .owner = owner});
    REQUIRE(one->held);
    const auto all = w.acquire_all(names, {.ttl = 10s, .owner = owner});
    REQUIRE(w.run_until_over(*all));
    CHECK(all->outcome() == errc::invalid_argument);
    // It has claimed none of them.
    const auto a = w.granted("a", {.ttl = 10s, .owner = owner});
    CHECK(a->held);
    for (const auto& e : {one, a}) {
        const auto released = w.release(std::move(e->held));
        REQUIRE(w.run_until_over(*released));
    }
    const auto again = w.acquire_all(names, {.ttl = 10s, .owner = owner});
    REQUIRE(w.run_until_over(*again));
    REQUIRE(again->held);
    const auto c = w.granted("c", {.ttl = 10s, .owner = owner});
    CHECK(c->outcome() == errc::invalid_argument);
}

TEST_CASE("where one resource is held elsewhere none is taken, and the vote names it") {
    const bool is_fenced = GENERATE(true, false);
    connected_world w(is_fenced ? fenced_options_for(3) : options_for(3));
    w.take_elsewhere("b", 3);
    const auto e = w.acquire_all(names, {.ttl = 10s});
    REQUIRE(w.run_until_over(*e));
    CHECK(e->outcome() == errc::contended);
    for (const node_vote& v : e->held.votes()) {
        if (v.answer == vote::pending) continue;  // two decided
        CHECK(v.answer == vote::held);
        CHECK(v.resource == "b");
    }
    w.run_for(1ms);
    CHECK(are_ours(w, 0));
}

TEST_CASE("a waiter for several stands in all queues, and is granted when the last is free") {
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("a", 3);
    w.take_elsewhere("c", 3);
    const auto e = w.acquire_all(names, {.ttl = 10s, .wait = 30s});
    w.run_for(20ms);
    REQUIRE_FALSE(e->is_over());
    for (const auto& one : names) CHECK(waiting(w, one) == 3);
    const auto asked = calls_in_all(w, ask::acquire);
    // One that is given back does not let it in: it does not try.
    stranger other(w);
    other.release_all("a");
    w.run_for(5ms);
    CHECK(calls_in_all(w, ask::acquire) == asked);
    CHECK_FALSE(e->is_over());
    const auto before = w.now;
    other.release_all("c");
    REQUIRE(w.run_until_over(*e));
    CHECK(e->held);
    CHECK(w.now - before <= 2 * trip);
    w.run_for(1ms);
    CHECK(are_ours(w, 3));
    for (const auto& one : names) CHECK(waiting(w, one) == 0);
}

TEST_CASE("a waiter for several that gives up leaves all queues") {
    const bool is_cancelled = GENERATE(true, false);
    connected_world w(fenced_options_for(3));
    w.take_elsewhere("a", 3);
    const auto e = w.acquire_all(names, {.ttl = 10s, .wait = 2s});
    w.run_for(20ms);
    for (const auto& one : names) CHECK(waiting(w, one) == 3);
    w.run_for(1s);  // its places are kept
    for (const auto& one : names) CHECK(waiting(w, one) == 3);
    if (is_cancelled) w.cancel(*e);
    REQUIRE(w.run_until_over(*e));
    CHECK_FALSE(e->held);
    w.run_for(5ms);
    for (const auto& one : names) CHECK(waiting(w, one) == 0);
    CHECK(are_ours(w, 0));
}

TEST_CASE("waiters of one client for several resources are served in order") {
    connected_world w(fenced_options_for(3));
    const auto first = w.granted("b", {.ttl = 10s, .wait = 30s});
    const auto all = w.acquire_all(names, {.ttl = 10s, .wait = 30s});
    const auto last = w.acquire("c", {.ttl = 10s, .wait = 30s});
    w.run_for(20ms);
    CHECK_FALSE(all->is_over());
    CHECK_FALSE(last->is_over());  // c is free, and waits with it
    const auto none = w.granted("a", {.ttl = 10s});
    CHECK(none->outcome() == errc::contended);
    const auto released = w.release(std::move(first->held));
    REQUIRE(w.run_until_over(*all));
    CHECK(all->held);
    CHECK_FALSE(last->is_over());
    const auto given_back = w.release(std::move(all->held));
    REQUIRE(w.run_until_over(*last));
    CHECK(last->held);
}

TEST_CASE("several resources of which a node lost one are taken there again") {
    connected_world w(fenced_options_for(3));
    const auto e = w.acquire_all(names, {.ttl = 3s});
    REQUIRE(w.run_until_over(*e));
    w.run_for(1ms);
    w.nodes[1].remove("b");
    CHECK(w.ours("b") == 2);
    w.run_for(3s);
    CHECK(e->held);
    CHECK(are_ours(w, 3));
}

TEST_CASE("several resources of which a quorum gave one to somebody else are lost") {
    connected_world w(fenced_options_for(3));
    const auto e = w.acquire_all(names, {.ttl = 3s});
    REQUIRE(w.run_until_over(*e));
    const auto lost = w.lost(e->held);
    w.run_for(1ms);
    for (std::size_t i : {0U, 1U}) w.nodes[i].remove("b");
    w.take_elsewhere("b", 2);
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::taken);
    const auto released = w.release(std::move(e->held));
    REQUIRE(w.run_until_over(*released));
    w.run_for(1ms);
    for (const std::string one : {"a", "c"}) CHECK(w.ours(one) == 0);
}
