// Tests prolonging a lease at its holder's wish; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/extend.hpp"
#include "component/support/stranger.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "support/requests.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::ending_ptr;
using fakes::mode;
using fakes::world;

namespace {

std::uint64_t fence_left_on(const world& w, std::size_t node) {
    return std::stoull(w.nodes[node].all_keys(w.now).at(wire::fence_key("", "r")).value);
}

}  // namespace

TEST_CASE("an extension moves the end, counted from when it was sent") {
    connected_world w(fakes::either_options_for(3));
    const auto e = w.granted("r", {.ttl = 1s, .renew = false});
    w.run_for(500ms);
    const auto sent = w.now;
    w.latency = {20ms, 20ms, 20ms};
    const auto x = w.extend(e->held, 10s);
    w.run_until_over(*x);
    CHECK(x->outcome() == error_code());
    CHECK(e->held.valid_until() == sent + 10s - 102ms);
    for (const auto& n : w.nodes) CHECK(n.keys(w.now).at("r").expires <= sent + 10s + 22ms);
    w.run_for(5s);
    CHECK(state_of(e->held)->is_live());
    CHECK(w.ours("r") == 3);
}

TEST_CASE("renewal keeps the new ttl") {
    connected_world w(fakes::either_options_for(3));
    const auto e = w.granted("r", {.ttl = 1s});
    w.extend(e->held, 30s);
    w.run_for(7s);  // a third of it, and up to a twelfth early
    CHECK(w.engine->stats().renewals == 1);
    w.run_for(4s);
    CHECK(w.engine->stats().renewals == 2);
}

TEST_CASE("a shorter ttl never moves the end back") {
    connected_world w(fakes::either_options_for(3));
    const auto e = w.granted("r", {.ttl = 10s, .renew = false});
    const auto until = e->held.valid_until();
    const auto x = w.extend(e->held, 1s);
    w.run_until_over(*x);
    CHECK(x->outcome() == error_code());
    CHECK(e->held.valid_until() == until);
    w.run_for(5s);
    CHECK(w.ours("r") == 3);
}

TEST_CASE("an extension passes no max_hold") {
    connected_world w(fakes::either_options_for(3));
    const auto e = w.granted("r", {.ttl = 10s, .renew = false, .max_hold = 12s});
    const auto granted = w.now;
    const auto x = w.extend(e->held, 30s);
    w.run_until_over(*x);
    CHECK(x->outcome() == error_code());
    CHECK(e->held.valid_until() <= granted + 12s);
}

TEST_CASE("a minority that is gone costs an extension nothing") {
    connected_world w(fakes::either_options_for(3));
    const bool is_fenced = w.options.fencing;
    const auto e = w.granted("r", {.ttl = 10s, .renew = false});
    const auto fence = e->held.fence();
    w.run_for(1ms);
    const std::size_t node = GENERATE(0U, 1U, 2U);
    const auto on_it = [&] { return w.nodes[node].keys(w.now); };
    const std::string ours = on_it().at("r").value;
    SECTION("dead") { w.set_mode(node, mode::refuses); }
    SECTION("hung") { w.set_mode(node, mode::mute); }
    SECTION("without the key") { w.nodes[node].remove("r"); }
    SECTION("with another owner's key") {
        w.nodes[node].put("r", world::foreign, time_point::max());
    }
    const auto found = on_it();
    const auto x = w.extend(e->held, 30s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcome() == error_code());
    CHECK(e->held.valid_until() > w.now + 20s);
    CHECK(e->held.fence() == fence);
    w.run_for(20ms);
    if (found.empty() && is_fenced) {
        // A fence keeps others out meanwhile, so a key that is gone can be taken again.
        CHECK(on_it().at("r").value == ours);
        CHECK(on_it().at("r").expires > w.now + 20s);
        CHECK(fence_left_on(w, node) > fence);
    } else if (found.empty()) {
        CHECK(on_it().empty());
    } else {
        CHECK(on_it().at("r").value == found.at("r").value);
    }
    w.set_mode(node, mode::up);
    w.run_until_over(*w.release(std::move(e->held)));
    w.run_for(2s);
    CHECK(w.ours("r") == 0);
    w.nodes[node].remove("r");
    const auto next = w.granted("r");
    REQUIRE(next->held);
    CHECK((next->held.fence() > fence) == is_fenced);
}

TEST_CASE("where too few answer the old validity stands") {
    connected_world w(fakes::either_options_for(3));
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
    connected_world w;
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
    connected_world w(fakes::either_options_for(3));
    const auto e = w.granted("r", {.ttl = 5s, .renew = false});
    const auto until = e->held.valid_until();
    const auto lost = w.lost(e->held);
    w.run_for(1ms);
    const bool is_taken = GENERATE(true, false);
    if (is_taken) {
        w.take_elsewhere("r", 2, 24h);
    } else {
        for (const std::size_t i : {0U, 1U}) w.nodes[i].remove("r");
    }
    const auto x = w.extend(e->held, 10s);
    w.run_until_over(*x);
    CHECK(x->outcome() == errc::not_held);
    CHECK(lost->lost_for == loss::taken);
    CHECK_FALSE(e->held);
    CHECK(e->held.valid_until() == until);
    w.run_for(15s);
    CHECK(w.ours("r") == 0);
    for (std::size_t i = 0; is_taken && i < 2; ++i) {
        CHECK(w.nodes[i].keys(w.now).at("r").value == world::elsewhere);
        CHECK(w.nodes[i].keys(w.now).at("r").expires > w.now + 23h);
    }
}

TEST_CASE("what has ended is not extended") {
    connected_world w(fakes::either_options_for(3));
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
    e->held.detach();
    CHECK(w.extend(e->held, 1s)->outcome() == errc::invalid_argument);
    w.run_for(5ms);
    CHECK(w.count_sent("EVALSHA") == 0);
}

TEST_CASE("an extension cancelled at any step completes once and the lease stands") {
    for (std::size_t k = 0; k < 20; ++k) {
        connected_world w;
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
    connected_world w;
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
    connected_world w;
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

/// A lease whose key one node never had: another client had it there meanwhile. Since then that
/// one's tries have raised the fence.
ending_ptr granted_but_on(world& w, std::size_t node, duration ahead, acquire_options how,
                          const std::string& name = "r") {
    w.nodes[node].put(name, world::elsewhere, time_point::max());
    auto e = w.granted(name, how);
    outrun(w, node, name, ahead);
    return e;
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
    connected_world w(fakes::fenced_options_for(3));
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
    // A node that has not answered may still deny the lease, in either round.
    const auto [how, a_round] =
        GENERATE(table<mode, duration>({{mode::mute, 50ms}, {mode::refuses, 200us}}));
    connected_world w(fakes::fenced_options_for(3));
    const auto e = granted_but_on(w, 0, 5s, {.ttl = 5s, .renew = false});
    const auto fence = e->held.fence();
    w.set_mode(1, how);
    const auto sent = w.now;
    const auto x = w.extend(e->held, 30s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcomes == std::vector<error_code>{error_code()});
    CHECK(w.now - sent == 2 * a_round);
    // The validity counts from the second round, which a quorum answered.
    CHECK(e->held.valid_until() == sent + a_round + 30s - 302ms);
    CHECK(e->held.fence() == fence);
    CHECK(w.nodes[0].keys(w.now).contains("r"));
}

TEST_CASE("the second round passes a rival that raises the fence while the first is under way") {
    connected_world w(fakes::fenced_options_for(3));
    // Its clock is ahead, and it tries between the two rounds as well.
    const auto e = granted_but_on(w, 0, 400ms, {.ttl = 5s, .renew = false});
    w.set_mode(1, mode::mute);
    w.after(40ms, [&] { outrun(w, 0, "r", 400ms); });
    const auto x = w.extend(e->held, 30s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcome() == error_code());
    CHECK(w.nodes[0].keys(w.now).contains("r"));
}

TEST_CASE("only leases whose fence was refused are sent again, and once only") {
    connected_world w(fakes::fenced_options_for(3));
    const auto a = granted_but_on(w, 0, 5s, {.ttl = 3s}, "a");
    const auto b = w.granted("b", {.ttl = 3s});
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
    connected_world w(fakes::fenced_options_for(3));
    const auto e = granted_but_on(w, 0, 8s, {.ttl = 3s});
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
    connected_world w(fakes::fenced_options_for(3));
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
    connected_world w(fakes::fenced_options_for(3));
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
        connected_world w(fakes::fenced_options_for(3));
        const auto e = granted_but_on(w, 0, 5s, {.ttl = 5s, .renew = false});
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

namespace {

/// As an operator deletes keys by hand: the fences stay.
void delete_on(world& w, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) w.nodes[i].remove("r");
}

/// Another client acquires on those nodes, works, and releases, so that a fence above all others is
/// left behind.
void come_and_go(world& w, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) outrun(w, i, "r", 1ms);
}

struct deletion {
    /// `away`: a node that does not answer when the lease is granted.
    explicit deletion(std::size_t nodes = 3, std::size_t away = max_nodes, mode how = mode::up)
        : w(fakes::fenced_options_for(nodes)) {
        w.connected();
        if (away < nodes) w.set_mode(away, how);
        held = w.granted("r", {.ttl = 3s});
        w.run_for(10ms);
        lost = w.lost(held->held);
    }
    /// Until every key that the lease may have taken again was renewed or is gone.
    void run() { w.run_for(1500ms); }
    void renew_once() {
        w.run_for(1300ms);
        REQUIRE(w.engine->stats().renewals == 1);
    }
    void fail_to_renew() {
        w.run_for(1200ms);
        REQUIRE(w.count(event_kind::renewal_failed) > 0);
        REQUIRE(held->held);
    }
    bool is_taken() const { return lost->is_over() && lost->lost_for == loss::taken; }

    world w;
    ending_ptr held;
    ending_ptr lost;
};

}  // namespace

TEST_CASE("a lease whose keys were deleted by hand is taken, with another client since or not") {
    deletion d;
    const bool has_fence = GENERATE(true, false);
    delete_on(d.w, 0, 3);
    if (has_fence) come_and_go(d.w, 0, 3);
    const auto until = d.held->held.valid_until();
    d.run();
    CHECK(d.is_taken());
    CHECK_FALSE(d.held->held);
    CHECK(d.held->held.valid_until() == until);
    // What it took again keeps others out while its holder winds up, and is given back.
    CHECK(d.w.now < until);
    d.w.run_for(until - d.w.now + 5ms);
    CHECK(d.w.ours("r") == 0);
    CHECK(d.w.granted("r")->outcome() == error_code());
}

TEST_CASE("a deletion on one node costs no lease, unless another client was there and one is hung") {
    deletion d;
    delete_on(d.w, 0, 1);
    SECTION("nobody was there") {
        if (GENERATE(true, false)) d.w.set_mode(1, mode::mute);
        const auto fence = d.held->held.fence();
        d.run();
        CHECK(d.held->held);
        CHECK(d.held->held.fence() == fence);
        CHECK(d.w.nodes[0].keys(d.w.now).contains("r"));
        CHECK(fence_left_on(d.w, 0) > fence);
    }
    SECTION("a client tried in vain") {
        come_and_go(d.w, 0, 1);
        d.run();
        CHECK(d.held->held);
        CHECK(d.w.nodes[0].keys(d.w.now).contains("r"));
    }
    SECTION("that client may have had a quorum with the hung node") {
        come_and_go(d.w, 0, 1);
        d.w.set_mode(1, mode::mute);
        d.run();
        CHECK(d.is_taken());
    }
    SECTION("all of the resource was deleted, and its fence with it") {
        d.w.nodes[0].remove(wire::fence_key("", "r"));
        d.w.set_mode(1, mode::mute);
        d.run();
        CHECK(d.is_taken());
    }
}

TEST_CASE("a node that was in quarantine all the time had no vote for the client that another shows") {
    deletion d;
    const bool is_since_before = GENERATE(true, false);
    d.w.crash(1, fakes::redis_model::data::lost);
    d.w.run_for(is_since_before ? 1500ms : 100ms);
    CHECK((d.w.engine->stats().renewals > 0) == is_since_before);
    delete_on(d.w, 0, 1);
    come_and_go(d.w, 0, 1);
    d.run();
    // Else it may have voted, and have lost its data then.
    CHECK(d.is_taken() == !is_since_before);
    CHECK(static_cast<bool>(d.held->held) == is_since_before);
}

TEST_CASE("a client that came to two nodes is seen though one of them loses its data then") {
    deletion d;
    delete_on(d.w, 0, 2);
    come_and_go(d.w, 0, 2);
    d.w.crash(1, fakes::redis_model::data::lost);
    d.run();
    CHECK(d.is_taken());
}

TEST_CASE("another client's fence is seen though a node that answers first got a new one of ours") {
    deletion d(5);
    for (const std::size_t node : {0U, 1U, 3U, 4U}) delete_on(d.w, node, 1);
    for (const std::size_t node : {1U, 3U, 4U}) come_and_go(d.w, node, 1);
    d.w.latency[1] = 5ms;
    for (const std::size_t node : {3U, 4U}) d.w.set_mode(node, mode::mute);
    d.run();
    CHECK(d.is_taken());
}

TEST_CASE("a node that did not answer once acquits others when it has answered since") {
    deletion d;
    d.w.latency[2] = 2ms;  // it answers behind a quorum
    d.w.set_mode(2, mode::mute);
    d.renew_once();
    d.w.set_mode(2, mode::refuses);  // what it was sent is lost
    d.w.run_for(10ms);
    d.w.set_mode(2, mode::up);
    d.w.run_for(5s);
    delete_on(d.w, 0, 1);
    come_and_go(d.w, 0, 1);
    d.run();
    CHECK(d.held->held);
}

TEST_CASE("a key that was prolonged for less than the lease shows nothing when its time is over") {
    deletion d;
    d.w.set_mode(2, mode::refuses);
    REQUIRE(d.w.run_until_over(*d.w.extend(d.held->held, 30s)));
    d.w.set_mode(2, mode::up);
    d.w.run_for(1500ms);
    REQUIRE(d.w.run_until_over(*d.w.extend(d.held->held, 3s)));
    d.w.set_mode(2, mode::refuses);
    d.w.run_for(4s);
    REQUIRE_FALSE(d.w.nodes[2].keys(d.w.now).contains("r"));
    come_and_go(d.w, 2, 1);
    d.w.set_mode(1, mode::mute);
    d.w.set_mode(2, mode::up);
    d.w.run_for(2s);
    CHECK(d.held->held);
}

TEST_CASE("another client is seen where two nodes are silent when the lease is prolonged, and then not") {
    deletion d;
    delete_on(d.w, 1, 2);
    come_and_go(d.w, 1, 2);
    // The first of them takes the key again, and its answer is lost.
    d.w.set_mode(2, mode::refuses);
    d.w.set_mode(1, mode::mute);
    d.fail_to_renew();
    d.w.set_mode(1, mode::refuses);
    d.w.run_for(10ms);
    d.w.set_mode(1, mode::up);
    d.w.run_for(1s);
    d.w.set_mode(2, mode::up);
    d.w.run_for(3s);
    CHECK(d.is_taken());
}

TEST_CASE("an answer that comes too late shows another client, too") {
    deletion d(1);
    delete_on(d.w, 0, 1);
    come_and_go(d.w, 0, 1);
    d.w.set_mode(0, mode::mute);
    d.fail_to_renew();
    d.w.set_mode(0, mode::up);
    d.run();
    CHECK(d.is_taken());
}

TEST_CASE("another client that a node shows when the others have acquitted it says nothing later") {
    deletion d;
    delete_on(d.w, 2, 1);
    come_and_go(d.w, 2, 1);
    d.w.latency[2] = 5ms;
    d.renew_once();
    d.w.set_mode(1, mode::mute);
    d.run();
    CHECK(d.held->held);
}

TEST_CASE("another client is seen on a node that granted the lease too late") {
    deletion d(3, 1, mode::mute);
    d.w.run_for(300ms);
    d.w.set_mode(1, mode::up);
    d.w.run_for(100ms);
    REQUIRE(d.w.ours("r") == 3);
    delete_on(d.w, 0, 2);
    come_and_go(d.w, 0, 2);
    d.w.set_mode(0, mode::mute);
    d.run();
    CHECK(d.is_taken());
}

TEST_CASE("another client is seen on a node that was late at the renewal before") {
    deletion d;
    d.w.set_mode(1, mode::mute);
    d.renew_once();
    d.w.set_mode(1, mode::up);
    delete_on(d.w, 1, 2);
    come_and_go(d.w, 1, 2);
    d.w.set_mode(2, mode::mute);
    d.run();
    CHECK(d.is_taken());
}

TEST_CASE("a key that one try found gone is not forgotten by the next one, which finds another gone") {
    deletion d;
    delete_on(d.w, 0, 2);
    for (const std::size_t node : {1U, 2U}) d.w.set_mode(node, mode::refuses);
    d.fail_to_renew();
    REQUIRE(d.w.ours("r") == 2);  // the first node has it again
    d.w.set_mode(1, mode::up);
    d.run();
    CHECK(d.is_taken());
}

TEST_CASE("a node that answers the first of two rounds during the second acquits no other client") {
    deletion d(5);
    for (const std::size_t node : {0U, 3U, 4U}) delete_on(d.w, node, 1);
    outrun(d.w, 0, "r", 5s);  // it refuses the first round, and is why there is a second one
    for (const std::size_t node : {3U, 4U}) come_and_go(d.w, node, 1);
    d.w.set_mode(3, mode::refuses);
    d.w.latency[4] = 5ms;
    d.run();
    CHECK(d.is_taken());
}

TEST_CASE("another client that was seen counts where the node that shows it answers last") {
    deletion d(3, 2, mode::refuses);
    d.w.set_mode(2, mode::up);
    d.w.run_for(100ms);
    REQUIRE(d.w.ours("r") == 2);
    delete_on(d.w, 1, 1);
    come_and_go(d.w, 1, 2);
    d.w.set_mode(1, mode::mute);
    d.renew_once();  // the third node has taken the key
    d.w.latency[1] = 5ms;
    d.w.set_mode(1, mode::up);
    d.run();
    CHECK(d.is_taken());
}

TEST_CASE("a node that answers the first of two rounds during the second acquits, where it kept the key") {
    deletion d(5);
    delete_on(d.w, 2, 1);
    outrun(d.w, 2, "r", 5s);
    d.w.latency[3] = 5ms;
    d.w.set_mode(4, mode::refuses);
    d.run();
    CHECK(d.held->held);
    CHECK(d.w.engine->stats().renewals > 0);
}

TEST_CASE("a node that was sent nothing acquits others as one that has answered") {
    deletion d;
    d.w.run_for(700ms);
    d.w.latency[2] = 60ms;
    d.w.cut(2);  // it is connected again while the others answer
    d.w.run_for(500ms);
    REQUIRE(d.w.engine->stats().renewals == 1);
    d.w.latency[2] = 2ms;
    delete_on(d.w, 1, 1);
    come_and_go(d.w, 1, 1);
    d.w.run_for(1200ms);
    CHECK(d.held->held);
    CHECK(d.w.engine->stats().renewals > 1);
}

TEST_CASE("a lease whose key one of two nodes lost stands, one of the only node's is taken") {
    const std::size_t nodes = GENERATE(1U, 2U);
    deletion d(nodes);
    delete_on(d.w, 0, 1);
    come_and_go(d.w, 0, 1);
    d.run();
    CHECK(d.is_taken() == (nodes == 1));
    CHECK(d.w.ours("r") == nodes);
}

TEST_CASE("nodes that come back empty, one at a time, cost no lease though others raise fences") {
    const std::size_t nodes = GENERATE(3U, 4U, 5U);
    connected_world w(fakes::fenced_options_for(nodes, 4s));
    const auto e = w.granted("r", {.ttl = 3s});
    for (std::size_t node = 0; node < nodes; ++node) {
        w.crash(node, fakes::redis_model::data::lost);
        for (int i = 0; i < 100; ++i) {
            w.run_for(50ms);
            if (!w.nodes[node].keys(w.now).contains("r")) outrun(w, node, "r", 1s);
        }
    }
    CHECK(e->held);
    CHECK(w.engine->stats().lost == 0);
    CHECK(w.count(event_kind::renewal_failed) == 0);
}

TEST_CASE("without the guard a node that comes back empty may have granted the key") {
    auto options = fakes::fenced_options_for(3);
    options.guard = restart_guard::off;
    connected_world w(options);
    const auto e = w.granted("r", {.ttl = 3s});
    const auto lost = w.lost(e->held);
    w.run_for(10ms);
    w.crash(0, fakes::redis_model::data::lost);
    SECTION("where the others kept it the lease stands") {
        w.run_for(1500ms);
        CHECK(e->held);
        CHECK(w.ours("r") == 3);
    }
    SECTION("with one that is hung it may have been a quorum") {
        w.set_mode(1, mode::mute);
        w.run_for(1500ms);
        REQUIRE(lost->is_over());
        CHECK(lost->lost_for == loss::taken);
    }
}

TEST_CASE("a lease by several resources, a slot or a share is taken as others are") {
    connected_world w(fakes::fenced_options_for(3));
    ending_ptr e;
    std::string key = "r";
    SECTION("several") { w.run_until_over(*(e = w.acquire_all({"r", "s"}, {.ttl = 3s}))); }
    SECTION("a slot") {
        e = w.granted("r", {.ttl = 3s, .slots = 1});
        key = "r#0";
    }
    SECTION("a share") { e = w.granted("r", {.ttl = 3s, .mode = lock_mode::shared}); }
    const auto lost = w.lost(e->held);
    w.run_for(10ms);
    for (std::size_t i = 0; i < 2; ++i) w.nodes[i].remove(key);
    w.run_for(1500ms);
    REQUIRE(lost->is_over());
    CHECK(lost->lost_for == loss::taken);
    w.run_for(5s);
    CHECK(w.ours(key) == 0);
}
