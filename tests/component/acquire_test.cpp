// Tests acquiring on nodes in memory and in virtual time; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/acquire.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "support/requests.hpp"
#include "wire/resp/command.hpp"

#include "wire/request.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::mode;
using fakes::world;

namespace {

owner_id owner_seven() {
    owner_id id;
    id.bytes[0] = 7;
    return id;
}

}  // namespace

TEST_CASE("a free resource is granted, with plain keys on the nodes") {
    connected_world w(5);
    const auto e = w.granted("stock", {.ttl = 10s});
    REQUIRE(e->outcomes == std::vector<error_code>{error_code()});
    REQUIRE(e->held);
    w.run_for(5ms);
    CHECK(w.ours("stock") == 5);
    const auto key = w.nodes[0].keys(w.now).at("stock");
    CHECK(key.value == e->held.owner().to_string() + "@tester");
    CHECK(e->held.votes().size() == 5);
    CHECK(e->held.valid_until() < key.expires);
    CHECK(e->held.resource() == "stock");
    CHECK(w.engine->stats().granted == 1);
    CHECK(w.engine->stats().leases == 1);
}

TEST_CASE("the key carries the prefix and the ttl defaults to ten seconds") {
    auto o = fakes::options_for(3);
    o.key_prefix = "app:";
    connected_world w(o);
    const auto e = w.granted("r");
    REQUIRE(e->held);
    w.run_for(1ms);
    const auto set = w.nodes[0].seen.back();
    CHECK(set == fakes::command{"SET", "app:r", e->held.owner().to_string() + "@tester", "NX", "PX",
                                "10000"});
}

TEST_CASE("an acquire may come before the connections") {
    world w;
    w.start();
    const auto e = w.granted("r");
    CHECK(e->held);
}

TEST_CASE("a minority that is dead, mute, slow or refusing costs nothing") {
    world w(5);
    const int fault = GENERATE(0, 1, 2, 3);
    if (fault == 0) w.modes[0] = w.modes[1] = mode::refuses;
    w.connected();
    if (fault == 1) {
        w.set_mode(0, mode::mute);
        w.set_mode(1, mode::mute);
    }
    if (fault == 2) w.latency[0] = w.latency[1] = 1s;
    if (fault == 3) {
        w.nodes[0].instead = w.nodes[1].instead = [](const fakes::command&) {
            return "-OOM no room\r\n";
        };
    }
    const auto before = w.now;
    const auto e = w.granted("r");
    CHECK(e->held);
    CHECK(w.now - before < 1ms);
}

TEST_CASE("somebody else's keys on a quorum are contention") {
    connected_world w(5);
    w.take_elsewhere("r", 3);
    const auto e = w.granted("r");
    CHECK(e->outcome() == errc::contended);
    CHECK_FALSE(e->held);
    CHECK(e->held.votes().size() == 5);
    CHECK(e->held.votes()[0].answer == vote::held);
    w.run_for(20ms);
    CHECK(w.ours("r") == 0);
    CHECK(w.engine->stats().contended == 1);
}

TEST_CASE("an acquire is counted by how it ends, and as nothing else") {
    connected_world w(5);
    // Granted, contended, without a quorum, too late, cancelled.
    std::array<std::uint64_t, 5> counted{};
    SECTION("granted") {
        CHECK(w.granted("r")->held);
        counted[0] = 1;
    }
    SECTION("another client has it") {
        w.take_elsewhere("r", 3);
        CHECK(w.granted("r")->outcome() == errc::contended);
        counted[1] = 1;
    }
    SECTION("too few nodes answer") {
        for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
        CHECK(w.granted("r")->outcome() == errc::no_quorum);
        counted[2] = 1;
    }
    SECTION("the grants come too late") {
        for (auto& way : w.latency) way = 12ms;
        w.run_for(1s);
        CHECK(w.granted("r", {.ttl = 20ms})->outcome() == errc::validity_exhausted);
        counted[3] = 1;
    }
    SECTION("cancelled") {
        const auto e = w.acquire("r");
        w.turn();
        w.cancel(*e);
        REQUIRE(w.run_until_over(*e));
        CHECK_FALSE(e->held);
        counted[4] = 1;
    }
    const auto s = w.engine->stats();
    CHECK(std::array{s.granted, s.contended, s.no_quorum, s.validity_exhausted, s.cancelled} ==
          counted);
    CHECK(s.leases == s.granted);
    CHECK(s.waiting == 0);
}

TEST_CASE("without a wait it tries again where votes were split, and ends at once beside a holder") {
    connected_world w(fakes::fenced_options_for(3));
    w.run_for(10s);
    const std::string other = "ElsewhereElsewhere5678@elsewhere";
    w.nodes[0].put("r", world::elsewhere, w.now + 1h);
    SECTION("the others give back what they got") {
        w.nodes[1].put("r", other, w.now + 1h);
        const auto e = w.acquire("r", {.ttl = 10s});
        w.run_for(2ms);
        REQUIRE_FALSE(e->is_over());
        CHECK(w.engine->stats().retries > 0);
        w.nodes[0].remove("r");
        w.nodes[1].remove("r");
        w.run_until_over(*e);
        CHECK(e->held);
    }
    SECTION("one of two nodes is another's, and the third is dead") {
        w.set_mode(2, mode::refuses);
        const auto before = w.now;
        const auto e = w.granted("r", {.ttl = 10s});
        CHECK(e->outcome() == errc::contended);
        CHECK(w.now - before > 10ms);
        CHECK(w.now - before <= 100ms + 1ms);
        w.run_for(5ms);
        CHECK(w.nodes[1].keys(w.now).empty());
    }
    SECTION("a holder has a quorum, and this try the rest") {
        w.nodes[1].put("r", world::elsewhere, w.now + 1h);
        const auto before = w.now;
        const auto e = w.granted("r", {.ttl = 10s});
        CHECK(e->outcome() == errc::contended);
        CHECK(w.now - before < 1ms);
        CHECK(w.engine->stats().retries == 0);
    }
    SECTION("of split votes it may be called off while it rests") {
        w.nodes[1].put("r", other, w.now + 1h);
        const auto e = w.acquire("r", {.ttl = 10s});
        w.run_for(20ms);
        REQUIRE_FALSE(e->is_over());
        w.cancel(*e);
        CHECK(e->outcome() == boost::asio::error::operation_aborted);
        w.run_for(1s);
        CHECK(w.nodes[2].keys(w.now).empty());
    }
}

TEST_CASE("a node that hangs delays the first try after split votes, and no other") {
    connected_world w(fakes::fenced_options_for(3));
    w.run_for(10s);
    w.nodes[0].put("r", world::elsewhere, w.now + 1h);
    w.set_mode(2, mode::mute);
    const auto e = w.acquire("r", {.ttl = 10s});
    w.run_for(w.options.node_timeout + 20ms);
    REQUIRE_FALSE(e->is_over());
    CHECK(w.engine->stats().retries >= 2);
    w.nodes[0].remove("r");
    w.run_until_over(*e);
    CHECK(e->held);
}

TEST_CASE("split votes do not wait for a node that is still being connected") {
    connected_world w(fakes::fenced_options_for(3));
    w.run_for(10s);
    w.set_mode(2, mode::mute);
    w.cut(2);
    w.nodes[0].put("r", world::elsewhere, w.now + 1h);
    const std::chrono::milliseconds wait = GENERATE(0ms, 10s);
    const auto e = w.acquire("r", {.ttl = 10s, .wait = wait});
    w.run_for(10ms);
    REQUIRE_FALSE(e->is_over());
    if (wait == 0ms)
        CHECK(w.engine->stats().retries > 0);
    else
        CHECK(w.ours("r") == 0);
    w.nodes[0].remove("r");
    w.run_for(60ms);
    REQUIRE(w.options.connect_timeout > 200ms);  // it is being connected since 70 ms
    if (wait == 0ms) CHECK(e->held);
}

TEST_CASE("a majority that can't vote is no quorum, and each vote says why") {
    world w(5);
    w.modes[0] = mode::refuses;
    w.connected();
    w.nodes[1].instead = [](const fakes::command&) { return "-OOM no room\r\n"; };
    w.set_mode(2, mode::mute);
    const auto e = w.granted("r", {.ttl = 10s});
    CHECK(e->outcome() == errc::no_quorum);
    const auto votes = e->held.votes();
    CHECK(votes[0].answer == vote::unreachable);
    CHECK(votes[0].error == boost::asio::error::connection_refused);
    CHECK(votes[1].answer == vote::refused);
    CHECK(votes[1].detail == "OOM no room");
    CHECK(votes[2].answer == vote::timed_out);
    CHECK(votes[3].answer == vote::granted);
    CHECK(votes[3].node == "n3");
    w.run_for(20ms);
    CHECK(w.ours("r") == 0);
    w.set_mode(2, mode::up);  // it still had both in its buffer
    w.run_for(20ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("grants that come when the validity is over are given back") {
    auto o = fakes::options_for(3);
    o.node_timeout = 1s;
    connected_world w(o);
    w.latency = {60ms, 60ms, 60ms};
    const auto e = w.granted("r", {.ttl = 100ms});
    CHECK(e->outcome() == errc::validity_exhausted);
    CHECK_FALSE(e->held);
    CHECK(w.count_sent("EVALSHA") == 0);
    w.run_for(61ms);
    CHECK(w.count_sent("EVALSHA") == 3);
}

TEST_CASE("a failed attempt is released on every node that it was sent to, whatever that said") {
    world w(5);
    w.modes[4] = mode::refuses;
    w.connected();
    w.take_elsewhere("r", 2);
    w.latency[2] = 200ms;  // answers too late
    const auto e = w.granted("r");
    CHECK(e->outcome() == errc::contended);
    w.run_for(2s);
    for (std::size_t i = 0; i < 4; ++i) {
        INFO(i);
        CHECK(w.nodes[i].count("SET") > 1);  // as of split votes
        CHECK(w.nodes[i].count("EVALSHA") == w.nodes[i].count("SET"));
    }
    CHECK(w.nodes[4].seen.empty());
    CHECK(w.ours("r") == 0);
    CHECK(w.nodes[0].keys(w.now).at("r").value == world::elsewhere);
}

TEST_CASE("late grants belong to the lease and go with it") {
    connected_world w;
    w.latency[2] = 200ms;
    auto e = w.granted("r");
    REQUIRE(e->held);
    const auto released = w.release(std::move(e->held));
    w.run_for(1s);
    CHECK(released->outcome() == error_code());
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a waiter tries again until the resource is free") {
    connected_world w;
    w.take_elsewhere("r", 3);
    w.after(1s, [&] {
        for (auto& n : w.nodes) n.remove("r");
    });
    const auto before = w.now;
    const auto e = w.granted("r", {.wait = 5s});
    CHECK(e->held);
    CHECK(w.now - before >= 1s);
    CHECK(w.now - before <= 1s + 101ms);
    CHECK(w.engine->stats().retries > 3);
    w.run_for(20ms);
    CHECK(w.ours("r") == 3);
    CHECK(w.count_sent("EVALSHA") + w.count_sent("SET") < 200);
}

TEST_CASE("a waiter gives its votes back between two tries") {
    connected_world w;
    w.take_elsewhere("r", 2);
    const auto e = w.acquire("r", {.wait = 10s});
    bool seen = false;
    for (int i = 0; i < 400; ++i) {
        w.turn();
        if (w.ours("r") != 0) seen = true;
    }
    CHECK(seen);
    CHECK_FALSE(e->is_over());
    w.cancel(*e);
    w.run_for(20ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("waiting ends by its deadline, with the reason of the last try") {
    connected_world w;
    const mode others = GENERATE(mode::up, mode::refuses, mode::mute);
    const bool dead = others != mode::up;
    if (!dead) w.take_elsewhere("r", 2);
    for (const std::size_t i : {0U, 1U}) w.set_mode(i, others);
    const auto before = w.now;
    const auto e = w.granted("r", {.wait = 300ms});
    CHECK(e->outcome() == (dead ? errc::no_quorum : errc::contended));
    CHECK(w.now - before <= 300ms);
    CHECK(w.now - before > 200ms);
    w.run_for(20ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("however short the wait, one attempt may take node_timeout, and no more") {
    connected_world w;
    w.set_mode(0, mode::mute);
    w.set_mode(1, mode::mute);
    const auto before = w.now;
    const auto e = w.granted("r", {.wait = 20ms});
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(w.now - before == 50ms);
}

TEST_CASE("cancelling waits for nothing") {
    connected_world w;
    w.set_mode(0, mode::mute);
    w.set_mode(1, mode::mute);
    const auto e = w.acquire("r", {.wait = 10s});
    w.run_for(1ms);
    w.cancel(*e);
    CHECK(e->outcome() == boost::asio::error::operation_aborted);
    w.cancel(*e);  // and only once
    CHECK(e->outcomes.size() == 1);
    CHECK(w.engine->stats().cancelled == 1);
    w.run_for(20ms);
    CHECK(w.ours("r") == 0);
}

namespace {

struct scenario {
    const char* name;
    std::function<void(world&)> prepare;
    acquire_options how;
};

std::vector<scenario> scenarios() {
    const acquire_options once{.ttl = 10s};
    const acquire_options patient{.ttl = 10s, .wait = 300ms};
    return {
        {"all up", [](world& w) { w.connected(); }, once},
        {"not connected yet", [](world& w) { w.start(); }, once},
        {"contended", [](world& w) { w.connected().take_elsewhere("r", 2); }, patient},
        {"one refuses", [](world& w) { w.modes[2] = mode::refuses; w.connected(); }, once},
        {"one is mute and comes back",
         [](world& w) {
             w.connected().set_mode(2, mode::mute);
             w.after(700ms, [&w] { w.set_mode(2, mode::up); });
         }, once},
        {"a majority is mute for a while",
         [](world& w) {
             w.connected().set_mode(1, mode::mute);
             w.set_mode(2, mode::mute);
             w.after(700ms, [&w] {
                 w.set_mode(1, mode::up);
                 w.set_mode(2, mode::up);
             });
         }, patient},
        {"slow beyond node_timeout", [](world& w) {
             w.connected();
             w.latency = {100us, 40ms, 40ms};
         }, patient},
        {"a connection breaks",
         [](world& w) {
             w.connected();
             w.latency = {2ms, 2ms, 2ms};
             w.after(3ms, [&w] { w.cut(0); });
             w.after(5ms, [&w] { w.cut(1); });
         }, once},
        {"scripts flushed",
         [](world& w) {
             w.connected().take_elsewhere("r", 2);
             for (auto& n : w.nodes) n.flush_scripts();
         }, patient},
    };
}

/// Runs `s`, does `end` after the k-th turn, and checks what is left. False when it ended before.
template <class F>
bool ends_clean(const scenario& s, std::size_t k, F&& end) {
    INFO(s.name << ", after turn " << k);
    world w;
    s.prepare(w);
    const auto e = w.acquire("r", s.how);
    std::size_t turns = 0;
    while (turns < k && !e->is_over() && w.turn()) ++turns;
    const bool was_over = e->is_over();
    end(w, *e);
    w.run_for(2s);
    CHECK(e->outcomes.size() == 1);
    if (was_over && !e->outcome()) {
        w.release(std::move(e->held));
        w.run_for(2s);
    }
    CHECK(w.ours("r") == 0);
    CHECK(w.engine->stats().leases == 0);
    return !was_over;
}

}  // namespace

TEST_CASE("an acquire cancelled at any step completes once and leaves no key") {
    for (const auto& s : scenarios()) {
        std::size_t k = 0;
        while (ends_clean(s, k, [](world& w, fakes::ending& e) { w.cancel(e); })) ++k;
        CHECK(k > 3);
    }
}

TEST_CASE("an acquire discarded at any step drops its pending handler once and leaks nothing") {
    for (const auto& s : scenarios()) {
        for (std::size_t k = 0; k < 60; ++k) {
            world w;
            s.prepare(w);
            const auto e = w.acquire("r", s.how);
            for (std::size_t i = 0; i < k; ++i) w.turn();
            const bool was_over = e->is_over();
            w.discard();
            CHECK(e->outcomes.size() == (was_over ? 1U : 0U));
            CHECK(e->discards == (was_over ? 0 : 1));
        }
    }
}

TEST_CASE("an acquire that makes no sense sends nothing") {
    connected_world w;
    struct bad {
        std::string resource;
        acquire_options how;
    };
    const auto b = GENERATE(bad{"", {}}, bad{std::string(513, 'x'), {}}, bad{"r", {.ttl = -1ms}},
                            bad{"r", {.ttl = 60'001ms}}, bad{"r", {.ttl = 2ms}},
                            bad{"r", {.wait = -1ms}}, bad{"r", {.max_hold = -1ms}},
                            bad{"r", {.max_hold = 5ms}},
                            bad{"r", {.max_hold = 2s, .loss_margin = 2s}},
                            bad{"r", {.ttl = 1s, .loss_margin = 1s}},
                            bad{"r", {.loss_margin = -1ms}},
                            bad{"r", {.mode = lock_mode::shared}});
    const auto e = w.acquire(b.resource, b.how);
    CHECK(e->outcome() == errc::invalid_argument);
    CHECK_FALSE(e->held);
    w.run_for(1ms);
    CHECK(w.count_sent("SET") == 0);
    CHECK(w.count(event_kind::refused) == 1);
    // The ends of the ranges are inside.
    CHECK(w.granted(std::string(512, 'x'), {.ttl = 60s})->held);
    CHECK(w.granted("r", {.ttl = 3ms})->outcome() != errc::invalid_argument);
}

TEST_CASE("an owner that is in use can't be given again") {
    connected_world w;
    const acquire_options mine{.owner = owner_seven()};
    SECTION("while it holds the resource") {
        const auto first = w.granted("r", mine);
        CHECK(first->held.owner() == owner_seven());
        CHECK(w.acquire("r", mine)->outcome() == errc::invalid_argument);
        CHECK(w.granted("other", mine)->held);
        w.release(std::move(first->held));
        w.run_for(20ms);
        CHECK(w.granted("r", mine)->held);
    }
    SECTION("while it is acquiring it") {
        const auto first = w.acquire("r", mine);
        CHECK(w.acquire("r", mine)->outcome() == errc::invalid_argument);
        w.run_until_over(*first);
        CHECK(first->held);
    }
    SECTION("and may be used again when that was refused or cancelled") {
        const auto holder = w.granted("r");
        CHECK(w.run_until_over(*w.acquire("r", mine)));
        const auto cancelled = w.acquire("r", {.wait = 5s, .owner = owner_seven()});
        w.cancel(*cancelled);
        w.release(std::move(holder->held));
        w.run_for(20ms);
        CHECK(w.granted("r", mine)->held);
    }
    SECTION("and may be used again when the lease is lost, and its validity over") {
        const auto first =
            w.granted("r", {.ttl = 1s, .renew = false, .owner = owner_seven()});
        w.run_for(2s);
        CHECK(w.granted("r", mine)->held);
    }
}

TEST_CASE("a grant is announced with the time since the call, and so is a refusal") {
    connected_world w(fakes::fenced_options_for(3));
    w.run_for(10s);  // the nodes are new: a bootstrap
    const auto holder = w.granted("r");
    const auto called_at = w.now;
    const auto since_call = [&] {
        return std::chrono::duration_cast<std::chrono::microseconds>(w.now - called_at);
    };
    const auto next = w.acquire("r", {.wait = 60s});
    const auto late = w.acquire("r", {.wait = 1s});
    REQUIRE(w.run_until_over(*late));
    CHECK(w.last_duration(event_kind::refused) == since_call());
    w.release(std::move(holder->held));
    REQUIRE(w.run_until_over(*next));
    CHECK(w.last_duration(event_kind::granted) == since_call());
}

// Another process may have been given the same, and the same client_name.
TEST_CASE("the value of an owner that is given is another one at each use") {
    connected_world w;
    std::set<std::string> values;
    for (int i = 0; i < 3; ++i) {
        const auto e = w.granted("r", {.renew = false, .owner = owner_seven()});
        REQUIRE(e->outcome() == error_code{});
        const auto value = w.nodes[0].keys(w.now).at("r").value;
        CHECK(value.starts_with(owner_seven().to_string() + "@tester#"));
        values.insert(value);
        w.release(std::move(e->held));
        w.run_for(1ms);
    }
    CHECK(values.size() == 3);
}

TEST_CASE("a release never deletes the key of its owner's next lease") {
    connected_world w;
    const acquire_options mine{.owner = owner_seven()};
    SECTION("of one that was given back") {
        auto first = w.granted("r", mine);
        w.run_for(5ms);
        for (auto& n : w.nodes) n.flush_scripts();
        w.release(std::move(first->held));
        const auto second = w.granted("r", mine);
        w.run_for(20ms);
        REQUIRE(second->outcomes.size() == 1);
        if (second->held) CHECK(w.ours("r") == 3);
    }
    SECTION("of an earlier acquire that was refused") {
        w.take_elsewhere("r", 2);
        w.granted("r", mine);  // its releases are on their way
        for (auto& n : w.nodes) {
            n.remove("r");
            n.flush_scripts();
        }
        const auto second = w.granted("r", mine);
        w.run_for(20ms);
        if (second->held) CHECK(w.ours("r") == 3);
    }
    SECTION("of an earlier try") {
        w.latency = {20ms, 20ms, 20ms};  // longer than the shortest pause between two tries
        w.take_elsewhere("r", 2);
        w.after(5ms, [&] {
            for (auto& n : w.nodes) n.flush_scripts();
        });
        w.after(50ms, [&] {
            for (auto& n : w.nodes) n.remove("r");
        });
        const auto e = w.granted("r", {.wait = 5s, .owner = owner_seven()});
        w.run_for(100ms);
        REQUIRE(e->held);
        CHECK(w.ours("r") == 3);
    }
}

TEST_CASE("a lease that was granted late is renewed all the same") {
    auto o = fakes::options_for(3);
    o.node_timeout = 1s;
    connected_world w(o);
    w.latency = {150ms, 150ms, 150ms};
    const auto e = w.acquire("r", {.ttl = 400ms});
    w.run_until_over(*e);
    REQUIRE(e->held);
    w.latency = {1ms, 1ms, 1ms};
    w.run_for(2s);
    CHECK(w.engine->stats().renewals > 0);
    CHECK(e->held);
}

TEST_CASE("a server's complaint does not give the owner away") {
    connected_world w;
    for (auto& n : w.nodes) {
        n.instead = [](const fakes::command& c) {
            return "-ERR unknown command `SET`, with args beginning with: `r`, `" + c.at(2) +
                   "`, \r\n";
        };
    }
    const auto e = w.granted("r", {.owner = owner_seven()});
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(e->held.votes()[0].detail.find(owner_seven().to_string()) == std::string::npos);
}

TEST_CASE("a second round does not wait for a node that says nothing") {
    connected_world w(fakes::fenced_options_for(3));
    auto& stale = w.nodes[0];
    const auto seen = stale.wall.us(w.now) + 1s / 1us;
    stale.put(wire::fence_key("", "r"), std::to_string(seen), time_point::max());
    w.set_mode(2, mode::mute);
    const auto before = w.now;
    const auto e = w.granted("r");
    REQUIRE(e->held);
    CHECK(w.now - before == 4 * 100us);  // two round trips
    CHECK(e->held.fence() == static_cast<std::uint64_t>(seen + 1));
    CHECK(w.engine->stats().second_rounds == 1);
    // The node gets both rounds in the end, and the key goes with the lease.
    w.set_mode(2, mode::up);
    w.run_for(5ms);
    CHECK(w.ours("r") == 3);
    w.release(std::move(e->held));
    w.run_for(5ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("votes of the first round that come late count for nothing") {
    connected_world w(fakes::fenced_options_for(5));
    for (std::size_t i = 0; i < 2; ++i) {
        auto& stale = w.nodes[i];
        const auto seen = stale.wall.us(w.now) + 1s / 1us;
        stale.put(wire::fence_key("", "r"), std::to_string(seen), time_point::max());
    }
    w.latency = {100us, 100us, 100us, 150us, 150us};
    // All but one lose what the second round says.
    std::size_t lost = 0;
    for (std::size_t i = 1; i < 5; ++i) {
        w.nodes[i].instead = [&, calls = 0](const fakes::command& c) mutable
            -> std::optional<std::string> {
            const auto asked = testing::requests_of(c);
            const bool is_acquire = asked && asked->all.front().what == testing::ask::acquire;
            if (!is_acquire || ++calls == 1) return std::nullopt;
            ++lost;
            return "-OOM no room\r\n";
        };
    }
    const auto e = w.granted("r");
    CHECK(lost == 4);
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(w.engine->stats().second_rounds == 1);
    w.run_for(20ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a wait beyond a year is a wait without limit") {
    connected_world w;
    const auto first = w.granted("r", {.ttl = 10s});
    const auto next = w.acquire("r", {.wait = std::chrono::milliseconds::max()});
    w.run_for(30s);
    REQUIRE_FALSE(next->is_over());
    w.release(std::move(first->held));
    w.run_until_over(*next);
    CHECK(next->outcome() == error_code());
}
