// Tests a lease's life at the client: renewal, loss, giving back; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/lease.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "support/requests.hpp"

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::either_options_for;
using fakes::mode;

TEST_CASE("renewal keeps a lease alive, at a third of its ttl") {
    connected_world w(either_options_for(5));
    const auto e = w.granted("r", {.ttl = 3s});
    const auto fence = e->held.fence();
    w.run_for(60s);
    REQUIRE(e->held);
    CHECK(e->held.fence() == fence);
    CHECK(e->held.valid_until() > w.now);
    CHECK(w.ours("r") == 5);
    CHECK(w.engine->stats().renewals >= 59);
    CHECK(w.engine->stats().renewals <= 81);  // and up to a twelfth of it early
    CHECK(w.count(event_kind::renewed) == w.engine->stats().renewals);
    CHECK(w.count(event_kind::lost) == 0);
    CHECK(w.engine->stats().lost == 0);
    w.release(std::move(e->held));
    w.run_for(1ms);
    const auto renewals = w.engine->stats().renewals;
    w.run_for(3s);
    CHECK(w.engine->stats().renewals == renewals);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("renewal goes on while a minority is gone, and over a broken connection") {
    connected_world w(5);
    const auto e = w.granted("r", {.ttl = 1s});
    w.set_mode(0, mode::mute);
    w.set_mode(1, mode::refuses);
    for (int i = 0; i < 10; ++i) {
        w.run_for(1s);
        w.cut(2);
    }
    CHECK(state_of(e->held)->is_live());
    CHECK(e->held.valid_until() > w.now);
}

TEST_CASE("a hung minority does not keep a lease from being renewed") {
    connected_world w(either_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    w.set_mode(1, mode::mute);
    w.run_for(10s);
    CHECK(e->held.valid_until() > w.now);
    CHECK(w.engine->stats().renewals >= 9);
    CHECK(w.engine->stats().renewal_failures == 0);
    w.set_mode(1, mode::up);
    w.release(std::move(e->held));
    w.run_for(2s);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("renewal finds the scripts again where they were flushed") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 1s});
    for (auto& n : w.nodes) n.flush_scripts();
    w.run_for(5s);
    CHECK(e->held.valid_until() > w.now);
    CHECK(w.nodes[0].count("EVAL") == 1);
}

TEST_CASE("a lease that nothing renews is lost before its end, as expired") {
    connected_world w(either_options_for(3));
    const auto e = w.granted("r", {.ttl = 1s, .renew = false});
    const auto granted_at = w.now;
    const auto lost = w.lost(e->held);
    const auto until = e->held.valid_until();
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->outcome() == error_code());
    CHECK(w.last_duration(event_kind::lost) ==
          std::chrono::duration_cast<std::chrono::microseconds>(w.now - granted_at));
    CHECK(lost->lost_for == loss::expired);
    CHECK(w.now < until);
    CHECK(w.now >= until - 100ms);
    CHECK_FALSE(e->held);
    CHECK(w.engine->stats().lost == 1);
    CHECK(w.count(event_kind::lost) == 1);
    CHECK(w.engine->stats().renewals == 0);
    CHECK(w.ours("r") == 3);  // the holder may still be winding up
    w.run_for(until - w.now + 10ms);
    CHECK(w.ours("r") == 0);
    CHECK(w.release(std::move(e->held))->outcome() == errc::lost);
}

TEST_CASE("the loss is reported by the margin earlier") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 1s, .renew = false, .loss_margin = 400ms});
    const auto lost = w.lost(e->held);
    w.run_until_over(*lost);
    CHECK(e->held.valid_until() - w.now == 400ms);
}

TEST_CASE("a lease whose renewals reach no quorum is lost as unreachable") {
    connected_world w(either_options_for(3));
    const auto e = w.granted("r", {.ttl = 1s});
    const auto lost = w.lost(e->held);
    const mode fault = GENERATE(mode::mute, mode::refuses);
    w.set_mode(0, fault);
    w.set_mode(1, fault);
    const auto until = e->held.valid_until();
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::unreachable);
    CHECK(w.now < until);
    CHECK_FALSE(e->held);
    CHECK(w.count(event_kind::renewal_failed) >= 2);
    CHECK(w.engine->stats().renewal_failures >= 2);
    w.run_for(until - w.now + 10ms);
    CHECK(w.nodes[2].keys(w.now).empty());
    CHECK(w.engine->stats().lost == 1);
    CHECK(w.engine->stats().leases == 0);
}

TEST_CASE("a loss because the nodes refused the renewal tells their words") {
    connected_world w(fakes::fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    const auto lost = w.lost(e->held);
    for (const std::size_t i : {0U, 1U}) {
        w.nodes[i].instead = [](const fakes::command& c) {
            return c.front() == "EVALSHA" || c.front() == "EVAL"
                       ? std::optional<std::string>("-MISCONF no disk\r\n")
                       : std::nullopt;
        };
    }
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::unreachable);
    for (const auto kind : {event_kind::renewal_failed, event_kind::lost}) {
        const auto at = std::find_if(w.events.begin(), w.events.end(),
                                     [&](const auto& t) { return t.kind == kind; });
        REQUIRE(at != w.events.end());
        INFO(at->detail);
        CHECK(at->detail.find("n0: refused: MISCONF no disk") != std::string::npos);
        CHECK(at->detail.find("n1: refused: MISCONF no disk") != std::string::npos);
        CHECK(at->detail.find("n2") == std::string::npos);
    }
}

TEST_CASE("a renewal that fails is tried again until it succeeds") {
    connected_world w(either_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    w.set_mode(0, mode::refuses);
    w.set_mode(1, mode::refuses);
    w.run_for(1500ms);
    CHECK(w.count(event_kind::renewal_failed) > 0);
    w.set_mode(0, mode::up);
    w.run_for(5s);
    CHECK(state_of(e->held)->is_live());
    CHECK(e->held.valid_until() > w.now);
}

TEST_CASE("a lease whose keys are gone or taken by others is lost as taken") {
    connected_world w(either_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    const auto lost = w.lost(e->held);
    const bool taken = GENERATE(false, true);
    const bool stays = GENERATE(false, true);
    if (taken) {
        w.take_elsewhere("r", 2);
    } else {
        for (const std::size_t i : {0U, 1U}) w.nodes[i].remove("r");
    }
    const auto before = w.now;
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::taken);
    CHECK(w.now - before < 1100ms);
    const auto until = e->held.valid_until();
    if (!stays) e->held = lease();
    w.run_for(stays ? until - w.now + 10ms : 1ms);
    CHECK(w.ours("r") == 0);
    CHECK(w.engine->stats().leases == 0);
}

TEST_CASE("a lease whose plain nodes lost everything is lost as taken") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 3s});
    const auto lost = w.lost(e->held);
    for (const std::size_t i : {0U, 1U}) w.nodes[i].lose_everything();
    const auto before = w.now;
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::taken);
    CHECK(w.now - before < 1100ms);
    e->held = lease();
    w.run_for(1ms);
    CHECK(w.ours("r") == 0);
    CHECK(w.engine->stats().leases == 0);
}

TEST_CASE("a lease is not held for longer than max_hold") {
    connected_world w(either_options_for(3));
    const auto e = w.granted("r", {.ttl = 1s, .max_hold = 5s});
    const auto lost = w.lost(e->held);
    const auto before = w.now;
    while (!lost->is_over()) {
        REQUIRE(w.turn(before + 60s));
        CHECK(e->held.valid_until() <= before + 5s);
    }
    CHECK(lost->lost_for == loss::max_hold);
    CHECK(w.engine->stats().renewals >= 4);
    CHECK(w.now - before < 5s);
    CHECK(w.now - before > 4900ms);
}

TEST_CASE("a loss stops each lost_token, also one that is taken after the loss") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 1s, .renew = false});
    const auto early = e->held.lost_token();
    bool was_live = true;
    const std::stop_callback note(early, [&] { was_live = state_of(e->held)->is_live(); });
    CHECK_FALSE(early.stop_requested());
    w.run_for(1s);
    CHECK(early.stop_requested());
    CHECK_FALSE(was_live);
    CHECK(e->held.lost_token().stop_requested());
}

TEST_CASE("a holder may drop its lease in the very callback that tells of the loss") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 1s, .renew = false});
    const std::stop_callback drop(e->held.lost_token(), [&] { e->held = lease(); });
    w.run_for(1s);
    CHECK(state_of(e->held) == nullptr);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a lease that is dropped is given back") {
    connected_world w;
    auto e = w.granted("r");
    w.run_for(1ms);
    const auto lost = w.lost(e->held);
    e->held = lease();
    w.run_for(1ms);
    CHECK(w.ours("r") == 0);
    CHECK(lost->outcome() == errc::not_held);
    CHECK(w.engine->stats().released == 1);
    CHECK(w.engine->stats().leases == 0);
}

TEST_CASE("a lease that is detached runs out by itself") {
    connected_world w(either_options_for(3));
    auto e = w.granted("r", {.ttl = 1s});
    w.run_for(1ms);
    const auto lost = w.lost(e->held);
    e->held.detach();
    CHECK_FALSE(e->held);
    w.run_for(900ms);
    CHECK(lost->outcome() == errc::not_held);
    CHECK(w.ours("r") == 3);
    w.run_for(100ms);
    CHECK(w.ours("r") == 0);
    CHECK(w.engine->stats().renewals + w.engine->stats().released == 0);
    CHECK(w.engine->stats().leases == 0);
}

TEST_CASE("loss and drop may come at one instant") {
    connected_world w;
    auto e = w.granted("r", {.ttl = 1s, .renew = false});
    const auto lost = w.lost(e->held);
    // The holder ends it; before its message arrives the loss is due.
    auto state = detail::access::surrender(std::move(e->held));
    w.run_for(2s);
    CHECK_FALSE(lost->is_over());
    CHECK(w.engine->stats().lost == 0);
    w.engine->give_back(*state, w.now);
    CHECK(lost->outcome() == errc::not_held);
    CHECK(w.engine->stats().leases == 0);
    w.engine->give_back(*state, w.now);  // a second time says nothing
    CHECK(w.engine->stats().released == 1);
}

TEST_CASE("a lease may outlive its client") {
    lease held;
    {
        connected_world w;
        held = std::move(w.granted("r")->held);
        REQUIRE(held);
    }
    CHECK_FALSE(held);
    CHECK(held.resource() == "r");
}

TEST_CASE("a lease that waits for room among the renewals is not renewed twice in one round") {
    connected_world w(fakes::fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 1s});
    auto& under_way = w.engine->renewal_window();
    while (under_way.has_room()) under_way.enter();
    w.run_for(340ms);  // it is due, and has to wait
    const auto x = w.extend(e->held, 1s);
    w.run_until_over(*x);
    REQUIRE(x->outcome() == error_code());
    w.run_for(340ms);  // it is due again
    w.nodes[0].remove("r");
    w.nodes[0].seen.clear();
    under_way.leave();
    w.inspect("anything");  // due renewals are sent at the end of a turn
    w.run_for(5ms);
    CHECK(state_of(e->held)->is_live());
    CHECK(w.ours("r") == 3);
    std::vector<std::size_t> renewed;
    for (const auto& c : w.nodes[0].seen) {
        if (const auto asked = testing::requests_of(c)) renewed.push_back(asked->all.size());
    }
    REQUIRE(renewed == std::vector<std::size_t>{1});
    w.run_for(5s);
    CHECK(state_of(e->held)->is_live());
}

TEST_CASE("where the scripts are gone a renewal goes out again for the leases that are left") {
    const bool is_first = GENERATE(true, false);
    connected_world w(fakes::fenced_options_for(3));
    w.latency = {5ms, 5ms, 5ms};
    auto a = w.granted("a", {.ttl = 3s});
    auto b = w.granted("b", {.ttl = 3s});
    w.run_for(20ms);
    for (auto& n : w.nodes) {
        n.flush_scripts();
        n.seen.clear();
    }
    w.nodes[0].remove("a");  // what is taken again is seen
    w.nodes[0].remove("b");
    const auto due = state_of(a->held)->held_as->machine().deadline();
    REQUIRE(state_of(b->held)->held_as->machine().deadline() == due);
    w.run_for(due - w.now + 2ms);  // the renewal of both is on its way
    REQUIRE(w.engine->stats().renewals == 0);
    auto& gone = is_first ? a : b;
    auto& kept = is_first ? b : a;
    w.release(std::move(gone->held));
    w.run_for(200ms);
    CHECK(w.engine->stats().renewal_failures == 0);
    CHECK(w.engine->stats().renewals == 1);
    CHECK(kept->held.valid_until() > due + 2900ms);
    CHECK(w.ours(is_first ? "a" : "b") == 0);
    CHECK(w.ours(is_first ? "b" : "a") == 3);
    for (const auto& n : w.nodes) CHECK(n.count("EVALSHA") == 2);  // each met the missing script
}

TEST_CASE("a renewal that waits for a connection goes out for the leases that are left") {
    connected_world w(fakes::fenced_options_for(3));
    w.latency = {2ms, 2ms, 2ms};
    auto a = w.granted("a", {.ttl = 3s});
    const auto b = w.granted("b", {.ttl = 3s});
    w.run_for(100ms);
    const auto due = state_of(b->held)->held_as->machine().deadline();
    w.run_for(due - w.now - 1ms);
    for (std::size_t i = 0; i < 3; ++i) w.cut(i);
    w.run_for(3ms);  // the renewal of both waits for the handshakes
    REQUIRE(w.engine->stats().renewals == 0);
    w.release(std::move(a->held));
    w.run_for(100ms);
    CHECK(w.engine->stats().renewal_failures == 0);
    CHECK(w.engine->stats().renewals == 1);
    CHECK(w.ours("a") == 0);
    CHECK(w.ours("b") == 3);
}
