// Tests prolonging a lease at its holder's wish; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/extend.hpp"
#include "component/support/stranger.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "support/requests.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::mode;
using fakes::world;

TEST_CASE("an extension moves the end, counted from when it was sent") {
    world w;
    w.connected();
    const auto e = w.granted("r", {.ttl = 1s, .renew = false});
    w.run_for(500ms);
    const auto sent = w.now;
    w.latency = {20ms, 20ms, 20ms};
    const auto x = w.extend(e->held, 10s);
    w.run_until_over(*x);
    CHECK(x->outcome() == error_code());
    CHECK(e->held.valid_until() == sent + 10s - 102ms);
    w.run_for(5s);
    CHECK(state_of(e->held)->is_live());
    CHECK(w.ours("r") == 3);
}

TEST_CASE("renewal keeps the new ttl") {
    world w;
    w.connected();
    const auto e = w.granted("r", {.ttl = 1s});
    w.extend(e->held, 30s);
    w.run_for(7s);  // a third of it, and up to a twelfth early
    CHECK(w.engine->stats().renewals == 1);
    w.run_for(4s);
    CHECK(w.engine->stats().renewals == 2);
}

TEST_CASE("a shorter ttl never moves the end back") {
    world w;
    w.connected();
    const auto e = w.granted("r", {.ttl = 10s, .renew = false});
    const auto until = e->held.valid_until();
    const auto x = w.extend(e->held, 1s);
    w.run_until_over(*x);
    CHECK(x->outcome() == error_code());
    CHECK(e->held.valid_until() == until);
    w.run_for(5s);
    CHECK(w.ours("r") == 3);
}

TEST_CASE("where too few answer the old validity stands") {
    world w;
    w.connected();
    const auto e = w.granted("r", {.ttl = 5s, .renew = false});
    const auto until = e->held.valid_until();
    const mode fault = GENERATE(mode::mute, mode::refuses);
    w.set_mode(0, fault);
    w.set_mode(1, fault);
    const auto x = w.extend(e->held, 30s);
    w.run_until_over(*x);
    CHECK(x->outcome() == errc::no_quorum);
    CHECK(e->held.valid_until() == until);
    CHECK(state_of(e->held)->is_live());
}

TEST_CASE("answers read after the holder saw its lease expired do not revive it") {
    const bool renews = GENERATE(true, false);
    world w;
    w.connected();
    const auto e = w.granted("r", {.ttl = 1s, .renew = renews});
    const auto l = w.lost(e->held);
    const auto until = e->held.valid_until();
    CHECK_FALSE(state_of(e->held)->is_valid(until));  // by a clock that has gone on
    if (!renews) {
        const auto x = w.extend(e->held, 10s);
        w.run_until_over(*x);
        CHECK(x->outcome() == errc::lost);
    }
    w.run_for(2s);
    CHECK(e->held.valid_until() == until);
    REQUIRE(l->is_over());
    CHECK(l->lost_for == (renews ? loss::unreachable : loss::expired));
    CHECK(w.engine->stats().renewals == 0);
    CHECK(w.engine->stats().lost == 1);
}

TEST_CASE("a quorum that says 'not yours' ends the lease") {
    world w;
    w.connected();
    const auto e = w.granted("r", {.ttl = 5s, .renew = false});
    const auto lost = w.lost(e->held);
    w.take_elsewhere("r", 2);
    const auto x = w.extend(e->held, 10s);
    w.run_until_over(*x);
    CHECK(x->outcome() == errc::not_held);
    CHECK(lost->lost_for == loss::taken);
    CHECK_FALSE(e->held);
}

TEST_CASE("what has ended is not extended") {
    world w;
    w.connected();
    auto e = w.granted("r", {.ttl = 1s, .renew = false});
    SECTION("lost before") {
        w.run_for(2s);
        CHECK(w.extend(e->held, 1s)->outcome() == errc::lost);
    }
    SECTION("lost meanwhile") {
        w.latency = {300ms, 300ms, 300ms};
        w.options.node_timeout = 1s;
        w.run_for(900ms);
        const auto x = w.extend(e->held, 10s);
        w.run_until_over(*x);
        CHECK(x->outcome() == errc::lost);
        CHECK_FALSE(e->held);
    }
    SECTION("released meanwhile") {
        const auto x = w.extend(e->held, 10s);
        w.release(std::move(e->held));
        CHECK(x->outcome() == errc::not_held);
        w.run_for(5ms);
        CHECK(w.ours("r") == 0);
    }
    SECTION("released meanwhile, where the scripts are gone") {
        for (auto& n : w.nodes) n.flush_scripts();
        const auto x = w.extend(e->held, 10s);
        w.release(std::move(e->held));
        w.run_for(5ms);
        CHECK(w.ours("r") == 0);
        CHECK(w.nodes[0].count("EVAL") == 1);  // the release alone
    }
}

TEST_CASE("an extension that makes no sense sends nothing") {
    world w;
    world other;
    w.connected();
    other.connected();
    const auto e = w.granted("r");
    const auto foreign = other.granted("r");
    using std::chrono::milliseconds;
    for (const auto ttl : {0ms, -1ms, 61000ms, 2ms, milliseconds::min(), milliseconds::max()}) {
        CHECK(w.extend(e->held, ttl)->outcome() == errc::invalid_argument);
    }
    CHECK(w.extend(lease(), 1s)->outcome() == errc::invalid_argument);
    CHECK(w.extend(foreign->held, 1s)->outcome() == errc::invalid_argument);
    w.run_for(5ms);
    CHECK(w.count_sent("EVALSHA") == 0);
}

TEST_CASE("an extension cancelled at any step completes once and the lease stands") {
    for (std::size_t k = 0; k < 20; ++k) {
        world w;
        w.connected();
        const auto e = w.granted("r", {.ttl = 5s});
        const auto x = w.extend(e->held, 10s);
        for (std::size_t i = 0; i < k && !x->is_over(); ++i) w.turn();
        w.cancel(*x);
        CHECK(x->outcomes.size() == 1);
        w.run_for(20s);
        CHECK(e->held.valid_until() > w.now);
        w.release(std::move(e->held));
        w.run_for(5ms);
        CHECK(w.ours("r") == 0);
    }
}

TEST_CASE("a renewal and an extension may be under way at once") {
    world w;
    w.connected();
    w.latency = {20ms, 20ms, 20ms};
    const auto e = w.granted("r", {.ttl = 3s});
    w.run_for(970ms);  // the renewal has left
    const auto x = w.extend(e->held, 10s);
    const auto y = w.extend(e->held, 20s);
    w.run_for(100ms);
    CHECK(x->outcome() == error_code());
    CHECK(y->outcome() == error_code());
    CHECK(e->held.valid_until() - w.now > 19s);
    w.run_for(120s);
    CHECK(e->held.valid_until() > w.now);
}

TEST_CASE("a holder's extension and a renewal that cross leave the holder's ttl") {
    const bool is_longer = GENERATE(true, false);
    // How the two are sent, and answered: one after the other on the nodes that decide.
    const bool is_extension_first = GENERATE(true, false);
    world w;
    w.connected();
    w.latency = {20ms, 20ms, 20ms};
    const auto e = w.granted("r", {.ttl = 3s});
    const auto renewed = w.engine->stats().renewals;
    const auto due = state_of(e->held)->held_as->machine().deadline();
    w.run_for(due - w.now + (is_extension_first ? -5ms : 5ms));
    const auto x = w.extend(e->held, is_longer ? 30s : 1s);
    w.run_for(100ms);
    REQUIRE(x->outcome() == error_code());
    REQUIRE(w.engine->stats().renewals == renewed + 2);  // both count
    CHECK(state_of(e->held)->held_as->machine().ttl() == (is_longer ? 30s : 1s));
    // No key has less time than the lease.
    for (const auto& n : w.nodes) CHECK(n.keys(w.now).at("r").expires >= e->held.valid_until());
}

namespace {

/// Removes the key on a node and raises its fence to `ahead` of the node's clock, as another
/// client's tries would.
void outrun(world& w, std::size_t node, const std::string& name, duration ahead) {
    auto& n = w.nodes[node];
    n.remove(name);
    const auto us = n.wall.us(w.now) + ahead / 1us;
    n.put(wire::fence_key("", name), std::to_string(us), time_point::max());
}

/// A client that does so every 50 ms for as long as the key is gone.
void rival(world& w, std::size_t node, const std::string& name, duration ahead) {
    if (!w.nodes[node].keys(w.now).contains(name)) outrun(w, node, name, ahead);
    w.after(50ms, [&w, node, name, ahead] { rival(w, node, name, ahead); });
}

/// The number of leases that each command prolongs, and their fence.
std::vector<std::pair<std::size_t, std::int64_t>> extensions(const world& w, std::size_t node) {
    std::vector<std::pair<std::size_t, std::int64_t>> out;
    for (const auto& c : w.nodes[node].seen) {
        const auto asked = testing::requests_of(c);
        if (!asked || asked->all.front().what != testing::ask::extend) continue;
        out.emplace_back(asked->all.size(), std::stoll(asked->all.front().fence));
    }
    return out;
}

}  // namespace

TEST_CASE("a node whose fence ran ahead takes the key again before another node is empty") {
    world w(fakes::fenced_options_for(3));
    w.connected();
    const auto e = w.granted("r", {.ttl = 3s});
    const auto fence = e->held.fence();
    w.nodes[0].remove("r");
    rival(w, 0, "r", 5s);
    w.run_for(10s);
    w.crash(1, fakes::redis_model::data::lost);  // and has no vote for a minute
    w.run_for(30s);
    REQUIRE(state_of(e->held)->is_live());
    CHECK(e->held.valid_until() > w.now);
    CHECK(e->held.fence() == fence);
    CHECK(w.ours("r") == 3);
    CHECK(w.count(event_kind::renewal_failed) == 0);
    CHECK(w.engine->stats().lost == 0);
}

TEST_CASE("the holder's extension takes the key again above a fence that ran ahead, at once") {
    // A node that has not answered may still deny the lease.
    const auto [how, first_round] =
        GENERATE(table<mode, duration>({{mode::mute, 50ms}, {mode::refuses, 200us}}));
    world w(fakes::fenced_options_for(3));
    w.connected();
    const auto e = w.granted("r", {.ttl = 5s, .renew = false});
    const auto fence = e->held.fence();
    outrun(w, 0, "r", 5s);
    w.set_mode(1, how);
    const auto sent = w.now;
    const auto x = w.extend(e->held, 30s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcomes == std::vector<error_code>{error_code()});
    CHECK(w.now - sent == first_round + 200us);
    // The validity counts from the second round, which a quorum answered.
    CHECK(e->held.valid_until() == sent + first_round + 30s - 302ms);
    CHECK(e->held.fence() == fence);
    CHECK(w.nodes[0].keys(w.now).contains("r"));
}

TEST_CASE("the second round passes a rival that raises the fence while the first is under way") {
    world w(fakes::fenced_options_for(3));
    w.connected();
    const auto e = w.granted("r", {.ttl = 5s, .renew = false});
    w.set_mode(1, mode::mute);
    // Its clock is ahead, and it tries between the two rounds as well.
    outrun(w, 0, "r", 400ms);
    w.after(40ms, [&] { outrun(w, 0, "r", 400ms); });
    const auto x = w.extend(e->held, 30s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcome() == error_code());
    CHECK(w.nodes[0].keys(w.now).contains("r"));
}

TEST_CASE("only leases whose fence was refused are sent again, and once only") {
    world w(fakes::fenced_options_for(3));
    w.connected();
    const auto a = w.granted("a", {.ttl = 3s});
    const auto b = w.granted("b", {.ttl = 3s});
    outrun(w, 0, "a", 5s);
    w.set_mode(1, mode::refuses);
    w.run_for(1100ms);
    const auto sent = extensions(w, 2);
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].first == 2);
    CHECK(sent[1].first == 1);
    CHECK(sent[1].second > sent[0].second + 4'000'000);
    CHECK(w.engine->stats().renewals == 2);
    CHECK(w.engine->stats().renewal_failures == 0);
    CHECK(w.nodes[0].keys(w.now).contains("a"));
}

TEST_CASE("a rival that is always faster costs one more round for each try") {
    world w(fakes::fenced_options_for(3));
    w.connected();
    const auto e = w.granted("r", {.ttl = 3s});
    w.set_mode(1, mode::refuses);
    std::int64_t raised = 0;
    w.nodes[0].instead = [&](const fakes::command& c) -> std::optional<std::string> {
        const auto asked = testing::requests_of(c);
        if (asked && asked->all.front().what == testing::ask::extend) {
            outrun(w, 0, "r", 8s + ++raised * 1ms);
        }
        return std::nullopt;
    };
    w.run_for(2500ms);
    const auto failures = w.engine->stats().renewal_failures;
    CHECK(failures >= 3);
    CHECK(failures <= 10);
    CHECK(extensions(w, 2).size() == 2 * failures);
}

TEST_CASE("an implausible fence from one node does not raise the fence of an extension") {
    world w(fakes::fenced_options_for(3));
    w.connected();
    const auto e = w.granted("r", {.ttl = 5s, .renew = false});
    outrun(w, 0, "r", 16s);  // a quarter of ttl_max is 15 s
    w.set_mode(1, mode::refuses);
    const auto x = w.extend(e->held, 30s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcome() == errc::no_quorum);
    const auto sent = extensions(w, 2);
    REQUIRE(sent.size() == 1);
    CHECK(state_of(e->held)->is_live());
    // Nor do its next ones run ahead.
    const auto next = w.granted("other");
    CHECK(static_cast<std::int64_t>(next->held.fence()) < sent[0].second + 1'000'000);
}

TEST_CASE("a quorum that is free under higher fences ends the lease") {
    world w(fakes::fenced_options_for(3));
    w.connected();
    const auto e = w.granted("r", {.ttl = 5s, .renew = false});
    outrun(w, 0, "r", 5s);
    outrun(w, 1, "r", 5s);
    w.latency[GENERATE(0, 1, 2)] = 5ms;  // any of them may be the last to answer
    const auto x = w.extend(e->held, 30s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcome() == errc::not_held);
    CHECK_FALSE(w.nodes[0].keys(w.now).contains("r"));
}

TEST_CASE("an extension that is cancelled between its rounds sends no second one") {
    for (std::size_t k = 0; k < 12; ++k) {
        world w(fakes::fenced_options_for(3));
        w.connected();
        const auto e = w.granted("r", {.ttl = 5s, .renew = false});
        outrun(w, 0, "r", 5s);
        w.set_mode(1, mode::mute);
        const auto x = w.extend(e->held, 10s);
        for (std::size_t i = 0; i < k && !x->is_over(); ++i) w.turn();
        w.cancel(*x);
        const auto sent = w.count_sent("EVALSHA");
        CHECK(x->outcomes.size() == 1);
        w.run_for(1ms);
        CHECK(w.count_sent("EVALSHA") <= sent + 6);
        CHECK(state_of(e->held)->is_live());
        w.release(std::move(e->held));
        w.set_mode(1, mode::up);
        w.run_for(5s);
        CHECK(w.ours("r") == 0);
    }
}
