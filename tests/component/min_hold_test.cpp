// Tests that the nodes keep a key for as long as its lease was to be held, however that ended;
// knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "value/options.hpp"

#include <chrono>
#include <cstddef>
#include <utility>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

// A trip there and the whole milliseconds in which nodes count.
constexpr auto slack = 3ms;

/// A lease of "r" that is to be held for a least time, and what its nodes do with the key.
struct keeper {
    explicit keeper(const acquire_options& how, client_options o = either_options_for(3))
        : w(std::move(o)), min_hold(how.min_hold) {
        w.connected();
        e = w.granted("r", how);
        REQUIRE(e->held);
        granted = w.now;
        w.run_for(1ms);
        REQUIRE(w.ours("r") == 3);
    }
    time_point expires(std::size_t node) const { return w.nodes[node].keys(w.now).at("r").expires; }
    /// Whether a node keeps the key for min_hold, and no longer than its clock may be wrong by. A
    /// node without a command since its vote may keep the key `later` longer, since the holder
    /// may have been granted the lease that much after this vote.
    bool is_kept_by(std::size_t node, duration later = {}) const {
        if (!w.nodes[node].keys(w.now).contains("r")) return false;
        const auto until = expires(node);
        return until >= granted + min_hold &&
               until <= granted + longest_stay(w.options, min_hold, later) + slack;
    }
    bool is_kept(duration later = {}) const {
        return is_kept_by(0, later) && is_kept_by(1, later) && is_kept_by(2, later);
    }
    duration time_to_vote() const { return 2 * w.options.node_timeout; }
    void run_until(duration since_grant) { w.run_for(granted + since_grant - w.now); }

    world w;
    std::chrono::milliseconds min_hold;
    ending_ptr e;
    time_point granted;
};

}  // namespace

TEST_CASE("a lease that ends early leaves its keys for what is left of min_hold") {
    const auto ttl = GENERATE(2s, 30s);
    keeper k({.ttl = ttl, .min_hold = 10s});
    k.run_until(GENERATE(1ms, 4s, 9'990ms));
    SECTION("released") {
        const auto released = k.w.release(std::move(k.e->held));
        k.w.run_until_over(*released);
        CHECK(released->outcome() == error_code());
    }
    SECTION("released where the scripts were flushed") {
        for (auto& n : k.w.nodes) n.flush_scripts();
        const auto released = k.w.release(std::move(k.e->held));
        k.w.run_until_over(*released);
        CHECK(released->outcome() == error_code());
    }
    SECTION("destroyed") { k.e->held = lease(); }
    SECTION("closed over") { k.w.start_close(); }
    k.w.run_for(1ms);
    CHECK(k.is_kept());
    const auto extensions = calls_of(k.w, ask::extend, 0);
    k.run_until(10s);
    CHECK(k.w.ours("r") == 3);
    k.run_until(longest_stay(k.w.options, 10s) + slack);
    CHECK(k.w.ours("r") == 0);
    CHECK(calls_of(k.w, ask::extend, 0) == extensions);  // nobody renews it
}

TEST_CASE("a release after min_hold frees the keys at once") {
    keeper k({.ttl = 2s, .min_hold = 5s});
    k.run_until(longest_stay(k.w.options, 5s));
    REQUIRE(k.w.ours("r") == 3);
    const auto released = k.w.release(std::move(k.e->held));
    k.w.run_until_over(*released);
    CHECK(released->outcome() == error_code());
    k.w.run_for(1ms);
    CHECK(k.w.ours("r") == 0);
}

TEST_CASE("a holder that dies or is let go keeps the keys for the longer of ttl and min_hold") {
    SECTION("min_hold is longer") {
        keeper k({.ttl = 2s, .min_hold = 10s});
        SECTION("at once") {}
        SECTION("after some renewals") { k.run_until(5s); }
        if (GENERATE(true, false)) {
            k.w.discard();
        } else {
            k.e->held.detach();
            k.w.run_for(1ms);
        }
        CHECK(k.is_kept(k.time_to_vote()));
    }
    SECTION("the ttl is longer") {
        keeper k({.ttl = 30s, .min_hold = 10s});
        k.w.discard();
        for (std::size_t i = 0; i < 3; ++i) CHECK(k.expires(i) > k.granted + 29s);
    }
}

TEST_CASE("min_hold counts from the grant, also where the votes for it came one after the other") {
    connected_world w(either_options_for(3));
    w.latency = {100us, w.options.node_timeout / 2 - 1ms, 10 * w.options.node_timeout};
    const auto e = w.granted("r", {.ttl = 900ms, .min_hold = 1s});
    REQUIRE(e->held);
    const time_point granted = w.now;
    SECTION("the holder dies") { w.discard(); }
    SECTION("the lease is let go") { e->held.detach(); }
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK((w.nodes[i].keys(w.now).at("r").expires >= granted + 1s));
    }
}

TEST_CASE("a lease that is lost keeps others out until min_hold is over") {
    keeper k({.ttl = 2s, .max_hold = 1s, .min_hold = 10s});
    k.run_until(3s);
    CHECK_FALSE(k.e->held);
    CHECK(k.w.ours("r") == 3);
    k.e->held = lease();
    k.w.run_for(1ms);
    CHECK(k.is_kept());
}

TEST_CASE("a node that lost the key and takes it again keeps it as long as the others do") {
    keeper k({.ttl = 3s, .min_hold = 20s}, fenced_options_for(3));
    k.run_until(1s);
    k.w.nodes[0].remove("r");
    k.run_until(4s);
    CHECK(k.is_kept(k.time_to_vote()));
}

TEST_CASE("an owed release keeps the key for what is left then") {
    keeper k({.ttl = 30s, .min_hold = 10s});
    k.w.modes[0] = mode::refuses;
    k.w.cut(0);
    k.w.run_for(1ms);
    k.w.release(std::move(k.e->held));
    k.w.run_for(1ms);
    CHECK(k.is_kept_by(1));
    CHECK(k.is_kept_by(2));
    CHECK_FALSE(k.is_kept_by(0));
    const auto back = GENERATE(1s, 8s, 15s);
    k.run_until(back);
    k.w.set_mode(0, mode::up);
    k.w.run_for(1500ms);
    REQUIRE(k.w.engine->stats().owed_releases >= 1);
    if (back < 10s) {
        CHECK(k.is_kept_by(0));
    } else {
        CHECK(k.w.ours("r") == 0);
    }
}

TEST_CASE("nothing is kept of an attempt that was granted nothing") {
    connected_world w(either_options_for(3));
    SECTION("refused") {
        w.take_elsewhere("r", 2);
        CHECK(w.granted("r", {.min_hold = 10s})->outcome() == errc::contended);
    }
    SECTION("called off before the answers") {
        const auto e = w.acquire("r", {.min_hold = 10s});
        w.turn();
        w.cancel(*e);
        CHECK_FALSE(e->held);
    }
    SECTION("given up for want of validity") {
        for (auto& way : w.latency) way = 12ms;
        w.run_for(1s);
        CHECK(w.granted("r", {.ttl = 20ms, .min_hold = 10s})->outcome() ==
              errc::validity_exhausted);
    }
    w.run_for(100ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("an acquire is contended until kept keys run out, then granted with a higher fence") {
    keeper k({.ttl = 2s, .min_hold = 10s});
    const auto fence = k.e->held.fence();
    k.run_until(1s);
    k.w.release(std::move(k.e->held));
    k.w.run_for(1ms);
    CHECK(k.w.granted("r")->outcome() == errc::contended);
    k.run_until(9'900ms);
    CHECK(k.w.granted("r")->outcome() == errc::contended);
    k.run_until(longest_stay(k.w.options, 10s) + slack);
    const auto next = k.w.granted("r");
    CHECK(next->outcome() == error_code());
    CHECK((fence == 0 || next->held.fence() > fence));
}

TEST_CASE("a waiter sleeps for the time that the kept keys have left, and sends few acquires") {
    keeper k({.ttl = 2s, .min_hold = 10s}, fenced_options_for(3));
    SECTION("from before the release") {}
    SECTION("from after it") {
        k.w.release(std::move(k.e->held));
        k.w.run_for(1s);
    }
    const auto asked = calls_of(k.w, ask::acquire, 0);
    const auto waiting = k.w.acquire("r", {.wait = 60s});
    k.w.run_for(1s);
    if (k.e->held) k.w.release(std::move(k.e->held));
    k.run_until(10s);
    CHECK_FALSE(waiting->is_over());
    k.run_until(longest_stay(k.w.options, 10s) + 100ms);
    CHECK(waiting->outcome() == error_code());
    CHECK(calls_of(k.w, ask::acquire, 0) <= asked + 4);
}
