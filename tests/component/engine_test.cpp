// Tests the coordinator: closing and discarding at every step, events, counts; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/engine.hpp"
#include "client/release.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::mode;
using fakes::world;

namespace {

std::string subscribed(const std::string& channel) {
    return "*3\r\n" + fakes::bulk("subscribe") + fakes::bulk(channel) + ":1\r\n";
}

/// A world whose nodes can be subscribed to.
world& hearing(world& w) {
    for (auto& n : w.nodes) {
        n.set_durable(true);  // nothing is to be reported of it
        n.instead = [](const fakes::command& c) -> std::optional<std::string> {
            if (c.front() == "SUBSCRIBE") return subscribed(c.back());
            if (c.front() == "PING") return "*2\r\n" + fakes::bulk("pong") + fakes::bulk("");
            return std::nullopt;
        };
    }
    return w;
}

/// One of each, at different stages when it is cut off after some turns.
struct busy {
    explicit busy(bool with_faults) {
        hearing(w).connected();
        kept = w.granted("kept", {.ttl = 2s});
        auto given = w.granted("given");
        w.take_elsewhere("contended", 2);
        if (with_faults) {
            w.set_mode(4, mode::refuses);
            w.latency[3] = 20ms;
        }
        for (auto& n : w.nodes) n.flush_scripts();
        w.engine->listeners().open(w.now);
        all = {w.acquire("a"),
               w.acquire("contended", {.wait = 5s}),
               w.extend(kept->held, 3s),
               w.release(std::move(given->held)),
               w.lost(kept->held),
               w.inspect("kept")};
    }

    std::size_t ours() const {
        std::size_t n = 0;
        for (const auto* key : {"kept", "given", "contended", "a"}) n += w.ours(key);
        return n;
    }

    world w{5};
    fakes::ending_ptr kept;
    std::vector<fakes::ending_ptr> all;
};

constexpr std::size_t enough_turns = 120;

std::size_t listening(const world& w) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < w.nodes.size(); ++i)
        n += w.engine->listeners().is_listening(i) ? 1U : 0U;
    return n;
}

}  // namespace

TEST_CASE("closed at any step everything completes once and no key stays") {
    for (const bool with_faults : {false, true}) {
        for (std::size_t k = 0; k < enough_turns; ++k) {
            INFO("after turn " << k << (with_faults ? ", with faults" : ""));
            busy b(with_faults);
            for (std::size_t i = 0; i < k; ++i) b.w.turn();
            std::vector<bool> was_over;
            for (const auto& e : b.all) was_over.push_back(e->is_over());
            const auto before = b.w.now;
            b.w.close();
            for (std::size_t i = 0; i < b.all.size(); ++i) {
                INFO("operation " << i);
                CHECK(b.all[i]->outcomes.size() == 1);
                if (!was_over[i]) CHECK(b.all[i]->outcome() == errc::client_closed);
            }
            CHECK_FALSE(b.kept->held);
            CHECK(state_of(b.kept->held)->state() != detail::lease_state::status::lost);
            while (!b.w.engine->is_over()) REQUIRE(b.w.turn());
            // One is slow and has lost its scripts: it answers twice.
            CHECK(b.w.now - before <= 2 * b.w.options.node_timeout);
            b.w.run_for(1s);  // what was written arrives
            CHECK(b.w.engine->deadline() == time_point::max());
            if (with_faults) b.w.nodes[4].lose_everything();  // it was gone
            CHECK(b.ours() == 0);
            CHECK(b.w.engine->stats().leases == 0);
            for (const auto& e : b.all) CHECK(e->outcomes.size() == 1);
        }
    }
}

TEST_CASE("an engine discarded at any step drops each pending handler once and leaks nothing") {
    for (std::size_t k = 0; k < enough_turns; ++k) {
        busy b(true);
        for (std::size_t i = 0; i < k; ++i) b.w.turn();
        std::vector<bool> was_over;
        for (const auto& e : b.all) was_over.push_back(e->is_over());
        b.w.discard();
        for (std::size_t i = 0; i < b.all.size(); ++i) {
            CHECK(b.all[i]->outcomes.size() == (was_over[i] ? 1U : 0U));
            CHECK(b.all[i]->discards == (was_over[i] ? 0 : 1));
        }
        CHECK_FALSE(b.kept->held);
        CHECK(b.w.engine->stats().leases == 0);
    }
}

TEST_CASE("what begins after the close ends with it") {
    connected_world w;
    const auto e = w.granted("r");
    w.close();
    CHECK(w.acquire("x")->outcome() == errc::client_closed);
    CHECK(w.last_duration(event_kind::refused) == 0us);
    CHECK(w.inspect("x")->outcome() == errc::client_closed);
    CHECK(w.lost(e->held)->outcome() == errc::client_closed);
    CHECK(w.extend(e->held, 1s)->outcome() == errc::client_closed);
    CHECK(w.release(detail::access::lease_of(state_of(e->held)))->outcome() == errc::client_closed);
    w.close();
    w.run_for(1s);
    CHECK(w.engine->is_over());
    CHECK(w.count_sent("SET") == 3);
}

TEST_CASE("a client that closes stops lost tokens and ends watchers with client_closed") {
    connected_world w;
    const auto e = w.granted("r");
    const auto token = e->held.lost_token();
    const auto lost = w.lost(e->held);
    w.close();
    CHECK(token.stop_requested());
    CHECK(lost->outcome() == errc::client_closed);
}

TEST_CASE("a close waits for connections that releases are owed to") {
    connected_world w;
    const auto e = w.granted("r", {.renew = false});
    w.run_for(1ms);
    for (std::size_t i = 0; i < 3; ++i) w.cut(i);  // they had just come up, so they rest a little
    w.run_for(1ms);
    w.release(std::move(e->held));
    w.close();
    CHECK_FALSE(w.engine->is_over());
    w.run_for(w.options.node_timeout);
    CHECK(w.engine->is_over());
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a close without anything out is over at once") {
    connected_world w;
    w.close();
    CHECK(w.engine->is_over());
}

TEST_CASE("a close is no failure of a renewal, and owes nothing to a next connection") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 3s});
    w.set_mode(0, mode::mute);
    while (w.nodes[1].count("EVALSHA") == 0) REQUIRE(w.turn());  // the renewal is under way
    w.events.clear();
    w.set_mode(1, mode::mute);
    w.close();
    w.run_for(1s);
    CHECK(w.count(event_kind::renewal_failed) == 0);
    CHECK(w.count(event_kind::release_owed) == 0);
}

TEST_CASE("leases on distinct resources do not mind each other") {
    connected_world w(5);
    std::vector<fakes::ending_ptr> all;
    for (int i = 0; i < 200; ++i) all.push_back(w.acquire("r" + std::to_string(i), {.ttl = 1s}));
    w.set_mode(0, mode::mute);
    w.run_for(10s);
    for (const auto& e : all) {
        REQUIRE(e->outcome() == error_code());
        CHECK(e->held.valid_until() > w.now);
    }
    CHECK(w.engine->stats().leases == 200);
    for (const auto& e : all) w.release(std::move(e->held));
    w.run_for(10ms);
    w.set_mode(0, mode::up);
    w.run_for(3s);
    for (const auto& n : w.nodes) CHECK(n.keys(w.now).empty());
    CHECK(w.engine->stats().leases == 0);
}

TEST_CASE("contenders hold one at a time and all get their turn") {
    connected_world w;
    std::vector<fakes::ending_ptr> all;
    for (int i = 0; i < 8; ++i) all.push_back(w.acquire("r", {.ttl = 5s, .wait = 60s}));
    std::size_t served = 0;
    const auto limit = w.now + 60s;
    while (served < all.size() && w.turn(limit)) {
        std::size_t holders = 0;
        for (const auto& e : all) holders += state_of(e->held) && e->held ? 1U : 0U;
        REQUIRE(holders <= 1);
        for (const auto& e : all) {
            if (!e->is_over() || !state_of(e->held) || !e->held) continue;
            w.release(std::move(e->held));
            ++served;
        }
    }
    CHECK(served == all.size());
}

TEST_CASE("a wrong password is reported in node_down as auth_failed, and no password is shown") {
    world w;
    w.nodes[0].password = "other";
    w.options.nodes[0].password = "hunter2-swordfish";
    w.connected();
    CHECK(w.count(event_kind::node_up) == 2);
    REQUIRE(w.count(event_kind::node_down) >= 1);
    for (const auto& e : w.events) {
        CHECK(e.detail.find("hunter2") == std::string::npos);
        if (e.kind == event_kind::node_down) CHECK(e.error == errc::auth_failed);
    }
}

TEST_CASE("an observer that throws takes nothing down") {
    world w;
    w.options.on_event = [](const event&) { throw std::runtime_error("no"); };
    w.connected();
    const auto e = w.granted("r");
    CHECK(e->held);
}

TEST_CASE("a completion for which there is no memory does not keep a client from closing") {
    struct unheard final : detail::release_operation {
        using release_operation::release_operation;
        void complete(error_code) override { throw std::bad_alloc(); }
        void discard() noexcept override {}
    };
    connected_world w;
    CHECK_THROWS_AS(w.engine->begin(detail::operation_ptr(new unheard(nullptr)), w.now),
                    std::bad_alloc);
    w.engine->close(w.now);
    CHECK(w.engine->is_over());
}

TEST_CASE("nodes are listened to once somebody wants it, on a channel of the client's own") {
    auto o = fakes::options_for(3);
    o.key_prefix = "app:";
    world w(o);
    hearing(w).connected();
    CHECK(w.count_sent("SUBSCRIBE") == 0);
    const auto connects = w.traffic.connects.get();
    w.engine->listeners().open(w.now);
    w.run_for(1ms);
    CHECK(listening(w) == 3);
    for (const auto& n : w.nodes) {
        CHECK(n.count("SUBSCRIBE") == 1);
        CHECK(n.seen.back() ==
              fakes::command{"SUBSCRIBE", "app:redlock:wake:" +
                             std::string(w.engine->parts().shared.client_id())});
    }
    CHECK(w.engine->parts().shared.client_id().size() == 22);
    w.engine->listeners().open(w.now);
    w.run_for(20s);
    CHECK(listening(w) == 3);
    CHECK(w.count_sent("SUBSCRIBE") == 3);
    CHECK(w.count_sent("PING") >= 9);  // the nodes publish nothing
    CHECK(w.traffic.connects.get() == connects);
    CHECK(w.traffic.disconnects.get() == 0);
    CHECK(w.events.size() == 3);
}

TEST_CASE("nodes can be left and listened to again") {
    world w;
    hearing(w).connected();
    w.engine->listeners().open(w.now);
    w.run_for(1ms);
    w.engine->listeners().close();
    CHECK(listening(w) == 0);
    w.run_for(20s);
    CHECK(w.count_sent("SUBSCRIBE") == 3);
    CHECK(w.count_sent("PING") == 0);
    w.engine->listeners().open(w.now);
    w.run_for(1ms);
    CHECK(listening(w) == 3);
    CHECK(w.count_sent("SUBSCRIBE") == 6);
    CHECK(w.count(event_kind::node_reported) == 0);
}

TEST_CASE("a node that refuses SUBSCRIBE is reported once, until the client listens to it") {
    world w;
    hearing(w);
    const auto able = std::exchange(w.nodes[0].instead, [](const fakes::command& c) {
        return c.front() == "SUBSCRIBE" ? std::optional<std::string>("-NOPERM no channel\r\n")
                                        : std::nullopt;
    });
    w.connected();
    w.engine->listeners().open(w.now);
    w.run_for(20s);
    CHECK(listening(w) == 2);
    CHECK(w.nodes[0].count("SUBSCRIBE") > 10);
    REQUIRE(w.count(event_kind::node_reported) == 1);
    const auto told = w.events.back();
    CHECK(told.error == errc::missing_right);
    CHECK(told.detail.find("late") != std::string::npos);
    CHECK(told.detail.find("NOPERM no channel") != std::string::npos);
    w.nodes[0].instead = able;
    w.run_for(1s);
    CHECK(listening(w) == 3);
    CHECK(w.count(event_kind::node_down) == 0);
    w.cut(0);
    w.run_for(1s);
    CHECK(listening(w) == 3);
    CHECK(w.count(event_kind::node_reported) == 2);
    CHECK(w.count(event_kind::node_down) == 1);  // the cut is of both connections
}

TEST_CASE("a node that stays away is reported once, then once a minute, and when it is back") {
    connected_world w;
    w.set_mode(0, mode::refuses);
    w.run_for(59s);
    REQUIRE(w.count(event_kind::node_down) == 2);  // it hung up, and then refused
    w.run_for(3s);
    REQUIRE(w.count(event_kind::node_down) == 3);
    CHECK(w.events.back().detail.find("tried ") != std::string::npos);
    w.run_for(5min);  // a summary comes with the next try
    CHECK(w.count(event_kind::node_down) == 7);
    w.set_mode(0, mode::up);
    w.run_for(2s);
    CHECK(w.events.back().kind == event_kind::node_up);
    CHECK(w.events.back().node == "n0");
    w.set_mode(0, mode::refuses);
    w.run_for(5s);
    CHECK(w.count(event_kind::node_down) == 9);
}

TEST_CASE("a closed client listens to nothing") {
    world w;
    hearing(w).connected();
    const auto e = w.granted("r");
    w.engine->listeners().open(w.now);
    if (GENERATE(false, true)) w.run_for(1ms);
    w.set_mode(0, mode::mute);  // so that the releases linger
    w.close();
    CHECK_FALSE(w.engine->is_over());
    CHECK(listening(w) == 0);
    w.engine->listeners().open(w.now);
    w.run_for(10s);
    CHECK(listening(w) == 0);
    CHECK(w.engine->is_over());
    CHECK(w.engine->deadline() == time_point::max());
    CHECK(w.count(event_kind::node_reported) == 0);
}
