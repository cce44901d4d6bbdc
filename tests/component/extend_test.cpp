// Tests prolonging a lease at its holder's wish; knows no socket.
// SPDX-License-Identifier: MIT
#include "runtime/extend.hpp"
#include "support/catch.hpp"
#include "component/support/world.hpp"

#include <utility>

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
    CHECK(e->held.state()->is_live());
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
    CHECK(e->held.state()->is_live());
}

TEST_CASE("answers that are read after the holder was told no bring nothing back") {
    const bool renews = GENERATE(true, false);
    world w;
    w.connected();
    const auto e = w.granted("r", {.ttl = 1s, .renew = renews});
    const auto l = w.lost(e->held);
    const auto until = e->held.valid_until();
    CHECK_FALSE(e->held.state()->is_valid(until));  // by a clock that has gone on
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
    for (const auto ttl : {0ms, -1ms, 61000ms, 2ms}) {
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
