// The life of one connection: every fact in every phase, and the rests between its tries.
// SPDX-License-Identifier: MIT
#include "core/node/reconnection.hpp"

#include "tests/support/catch.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using action = core::reconnection::action;
using phase = core::reconnection::phase;

namespace {

constexpr time_point start = time_point(72h);
constexpr duration patience = 500ms;
constexpr time_point never = time_point::max();
constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

// A link in a phase, reached at `start` on the shortest way.
core::reconnection in(phase wanted) {
    core::reconnection l(patience);
    if (wanted == phase::idle) return l;
    l.start(start);
    if (wanted == phase::connecting) return l;
    if (wanted == phase::resting) {
        l.down(start, false, 0);
        return l;
    }
    if (wanted == phase::closed) {
        l.close();
        return l;
    }
    l.opened(start);
    if (wanted == phase::ready) l.greeted(start);
    return l;
}

const std::vector<phase> all_phases{phase::idle,  phase::connecting, phase::greeting,
                                    phase::ready, phase::resting,    phase::closed};

struct expected {
    phase after;
    action what = action::none;
    time_point deadline = never;
};

// Tells a fact to a link in each phase, in the order of `all_phases`.
void check(const std::string& fact, const std::function<action(core::reconnection&)>& tell,
           const std::vector<expected>& each) {
    REQUIRE(each.size() == all_phases.size());
    for (std::size_t i = 0; i < each.size(); ++i) {
        core::reconnection l = in(all_phases[i]);
        REQUIRE(l.state() == all_phases[i]);
        INFO(fact << " in phase " << i);
        CHECK(tell(l) == each[i].what);
        CHECK(l.state() == each[i].after);
        CHECK(l.deadline() == each[i].deadline);
        CHECK(l.is_ready() == (each[i].after == phase::ready));
    }
}

// Fails the link `failures` times before it greets, and returns the last rest.
duration rest_after(int failures, std::uint64_t random) {
    core::reconnection l(patience);
    time_point now = start;
    l.start(now);
    for (int i = 1; i < failures; ++i) {
        l.down(now, false, random);
        now = l.deadline();
        l.on_time(now);
    }
    l.down(now, false, random);
    return l.deadline() - now;
}

}  // namespace

TEST_CASE("each fact in each phase of a link has its one consequence") {
    const time_point limit = start + patience;
    const time_point rest = start + 5ms;
    const time_point later = start + 100ms;
    const expected idle{phase::idle};
    const expected connecting{phase::connecting, action::none, limit};
    const expected greeting{phase::greeting, action::none, limit};
    const expected ready{phase::ready};
    const expected resting{phase::resting, action::none, rest};
    const expected closed{phase::closed};
    const expected to_rest{phase::resting, action::none, later + 5ms};

    check("start", [&](core::reconnection& l) { return l.start(later); },
          {{phase::connecting, action::open, later + patience},
           connecting, greeting, ready, resting, closed});
    const expected answering{phase::greeting, action::none, later + patience};
    check("opened", [&](core::reconnection& l) { return l.opened(later), action::none; },
          {idle, answering, answering, ready, resting, closed});
    check("answered", [&](core::reconnection& l) { return l.answered(later), action::none; },
          {idle, {phase::connecting, action::none, later + patience}, answering, ready, resting,
           closed});
    check("greeted", [&](core::reconnection& l) { return l.greeted(later), action::none; },
          {idle, connecting, ready, ready, resting, closed});
    check("down", [&](core::reconnection& l) { return l.down(later, false, 0); },
          {idle, to_rest, to_rest, to_rest, resting, closed});
    check("stalled", [&](core::reconnection& l) { return l.down(later, true, 0); },
          {idle, to_rest, to_rest, to_rest, resting, closed});
    check("too early", [&](core::reconnection& l) { return l.on_time(rest - 1ns); },
          {idle, connecting, greeting, ready, resting, closed});
    check("end of the rest", [&](core::reconnection& l) { return l.on_time(rest); },
          {idle, connecting, greeting, ready,
           {phase::connecting, action::open, rest + patience}, closed});
    check("end of patience", [&](core::reconnection& l) { return l.on_time(limit); },
          {idle,
           {phase::connecting, action::give_up, limit},
           {phase::greeting, action::give_up, limit},
           ready,
           {phase::connecting, action::open, limit + patience},
           closed});
    check("end of time", [&](core::reconnection& l) { return l.on_time(never - patience); },
          {idle,
           {phase::connecting, action::give_up, limit},
           {phase::greeting, action::give_up, limit},
           ready,
           {phase::connecting, action::open, never},
           closed});
    check("close", [](core::reconnection& l) { return l.close(), action::none; },
          {closed, closed, closed, closed, closed, closed});
}

TEST_CASE("a node has its time to be reached, and again before each answer to its greeting") {
    core::reconnection l(patience);
    CHECK(l.start(start) == action::open);
    const duration nearly = patience - 1ns;
    time_point now = start + nearly;
    CHECK(l.on_time(now) == action::none);
    l.opened(now);
    for (int answers = 0; answers < 2; ++answers) {
        CHECK(l.deadline() == now + patience);
        now += nearly;
        CHECK(l.on_time(now) == action::none);
        l.answered(now);
    }
    SECTION("of four times as long for all") {
        l.answered(now + nearly);
        CHECK(l.deadline() == start + 4 * patience);
    }
    SECTION("and no longer") { CHECK(l.deadline() == now + patience); }
    CHECK(l.on_time(l.deadline()) == action::give_up);
    l.down(l.deadline(), true, 0);
    CHECK(l.state() == phase::resting);
}

TEST_CASE("a connection that served for a while is opened again at once") {
    core::reconnection l = in(phase::ready);
    CHECK(l.down(start + patience, false, all_ones) == action::open);
    CHECK(l.state() == phase::connecting);
    CHECK(l.deadline() == start + 2 * patience);
    CHECK(l.is_hopeful());
}

TEST_CASE("a connection that served for less than that rests first") {
    core::reconnection l = in(phase::ready);
    CHECK(l.down(start + patience - 1ns, false, 0) == action::none);
    CHECK(l.state() == phase::resting);
    CHECK(l.deadline() == start + patience - 1ns + 5ms);
}

TEST_CASE("a connection that stalled rests, however long it had served") {
    core::reconnection l = in(phase::ready);
    CHECK(l.down(start + 24h, true, 0) == action::none);
    CHECK(l.state() == phase::resting);
    CHECK(l.deadline() == start + 24h + 5ms);
}

TEST_CASE("the rest doubles from 10 ms to a second, and up to half of it is jitter") {
    const std::vector<duration> rests{10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1s, 1s, 1s};
    for (std::size_t i = 0; i < rests.size(); ++i) {
        const auto failures = static_cast<int>(i + 1);
        const auto spread = static_cast<std::uint64_t>((rests[i] / 2).count());
        INFO("failures: " << failures);
        CHECK(rest_after(failures, 0) == rests[i] / 2);
        CHECK(rest_after(failures, spread) == rests[i]);
        CHECK(rest_after(failures, spread + 1) == rests[i] / 2);
        CHECK(rest_after(failures, all_ones) >= rests[i] / 2);
        CHECK(rest_after(failures, all_ones) <= rests[i]);
    }
    for (const int failures : {32, 33, 64, 65, 1000}) CHECK(rest_after(failures, 0) == 500ms);
}

TEST_CASE("a node that greets and hangs up is dialled ever more seldom") {
    core::reconnection l(patience);
    time_point now = start;
    l.start(now);
    std::vector<duration> rests;
    for (int i = 0; i < 9; ++i) {
        l.opened(now);
        l.greeted(now);
        REQUIRE(l.is_ready());
        REQUIRE(l.down(now, false, 0) == action::none);
        rests.push_back(l.deadline() - now);
        now = l.deadline();
        REQUIRE(l.on_time(now) == action::open);
    }
    CHECK(rests == std::vector<duration>{5ms, 10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 500ms, 500ms});
}

TEST_CASE("the rests begin again after a connection that served for a while") {
    core::reconnection l(patience);
    time_point now = start;
    l.start(now);
    for (int i = 0; i < 6; ++i) {
        l.down(now, false, 0);
        now = l.deadline();
        l.on_time(now);
    }
    l.opened(now);
    l.greeted(now);
    now += patience;
    SECTION("it ended") {
        CHECK(l.down(now, false, 0) == action::open);
        CHECK(l.is_hopeful());
        CHECK(l.down(now, false, 0) == action::none);
        CHECK(l.deadline() == now + 5ms);
    }
    SECTION("it stalled") {
        CHECK(l.down(now, true, 0) == action::none);
        CHECK(l.deadline() == now + 5ms);
    }
}

TEST_CASE("a link is hopeful while it is on its way and nothing has gone wrong") {
    for (const phase p : all_phases) {
        INFO("phase " << static_cast<int>(p));
        CHECK(in(p).is_hopeful() == (p == phase::connecting || p == phase::greeting));
    }
    core::reconnection l = in(phase::resting);
    REQUIRE(l.on_time(start + 5ms) == action::open);
    CHECK_FALSE(l.is_hopeful());
    l.opened(start + 6ms);
    CHECK_FALSE(l.is_hopeful());
    l.greeted(start + 6ms);
    REQUIRE(l.is_ready());
    REQUIRE(l.down(start + 6ms + patience, false, 0) == action::open);
    CHECK(l.is_hopeful());
}

TEST_CASE("nothing opens a link that was closed") {
    for (const phase p : all_phases) {
        core::reconnection l = in(p);
        l.close();
        CHECK(l.start(start) == action::none);
        l.opened(start);
        l.greeted(start);
        CHECK(l.down(start, false, 0) == action::none);
        CHECK(l.on_time(never) == action::none);
        CHECK(l.state() == phase::closed);
        CHECK(l.deadline() == never);
        CHECK_FALSE(l.is_hopeful());
    }
}
