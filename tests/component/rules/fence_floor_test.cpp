// Tests that fences rise though the clocks of all nodes go back; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/records.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::fenced_options_for;
using fakes::latecomer;
using fakes::mode;
using fakes::newcomer;
using fakes::record_on;
using fakes::redis_model;
using fakes::world;

namespace {

client_options guarded(std::chrono::milliseconds ttl_max = 60s) {
    return fenced_options_for(3, ttl_max);
}

// The fence of a lease that lives for milliseconds, as a command's does. 0: there was none.
std::uint64_t fence_of_a_moment(world& w, const std::string& resource = "r") {
    const auto e = w.granted(resource, {.ttl = 1s, .wait = 5s});
    if (!e->held) return 0;
    const std::uint64_t fence = e->held.fence();
    w.run_until_over(*w.release(std::move(e->held)));
    w.run_for(1ms);
    return fence;
}

void step_all(world& w, duration by) {
    for (std::size_t i = 0; i < w.nodes.size(); ++i) w.step_clock(i, by);
}

std::int64_t lift_on(const world& w, std::size_t node) {
    const std::string word = record_on(w, node)["!lift"];
    return word == "-" ? 0 : std::stoll(word);
}

// Nobody is at the nodes for so long that they forget each fence.
std::unique_ptr<world> idle(world& w, duration span = 24s) {
    w.close();
    w.run_for(span);
    return latecomer(w, w.options);
}

// A fence, and the first one after the clocks of all nodes went back by an hour, which is above.
std::pair<std::uint64_t, std::uint64_t> fences_an_hour_apart(world& w) {
    const auto before = fence_of_a_moment(w);
    step_all(w, -1h);
    w.run_for(6s);
    const auto lifted = fence_of_a_moment(w);
    REQUIRE(lifted > before);
    return {before, lifted};
}

}  // namespace

TEST_CASE("a fence is above the last one though the clocks of all nodes went back") {
    const std::chrono::milliseconds ttl_max = GENERATE(2s, 60s);
    connected_world first(guarded(ttl_max));
    const auto before = fence_of_a_moment(first);
    REQUIRE(before > 0);
    const auto w = idle(first);
    step_all(*w, -GENERATE(as<duration>(), 26s, 45s, 120s, 1h));
    w->connected();
    CHECK(fence_of_a_moment(*w) > before);
    for (std::size_t i = 0; i < 3; ++i) CHECK(lift_on(*w, i) == lift_on(*w, 0));
    const std::size_t lifted = lift_on(*w, 0) > 0 ? 1 : 0;
    CHECK(w->count(event_kind::clocks_went_back, severity::warning) == lifted);
    SECTION("and so are those that follow") {
        auto last = fence_of_a_moment(*w);
        for (int i = 0; i < 3; ++i) {
            w->run_for(30s);
            const auto next = fence_of_a_moment(*w);
            CHECK(next > last);
            last = next;
        }
        CHECK(w->count(event_kind::clocks_went_back) == lifted);
    }
}

TEST_CASE("fences rise through crashes, restarts and flushes of one node after the other") {
    connected_world w(guarded(2s));
    const bool is_durable = GENERATE(true, false);
    for (auto& n : w.nodes) n.set_durable(is_durable);
    std::uint64_t last = 0;
    const auto check_next = [&] {
        const auto next = fence_of_a_moment(w);
        CHECK(next > last);
        last = next;
    };
    for (std::size_t i = 0; i < 3; ++i) {
        check_next();
        const auto runs_out = w.granted("r", {.ttl = 300ms, .renew = false});
        CHECK(runs_out->held.fence() > last);
        last = runs_out->held.fence();
        runs_out->held.detach();
        w.set_mode(i, mode::refuses);
        check_next();
        w.nodes[i].crash(is_durable ? redis_model::data::kept : redis_model::data::saved);
        w.set_mode(i, mode::up);
        check_next();
        w.run_for(2200ms);  // its quarantine: the next one must not forget meanwhile
        w.nodes[i].flush();
        check_next();
        w.run_for(2200ms);
        w.crash(i, redis_model::data::lost);
        check_next();
        w.run_for(2200ms);
    }
}

TEST_CASE("a client that lives for milliseconds writes node time, also where a node hangs") {
    connected_world first(guarded());
    first.set_mode(2, GENERATE(mode::up, mode::mute));
    const auto next = latecomer(first, first.options);
    next->take_role(core::record_role::keeps);
    next->start();
    const auto before = fence_of_a_moment(*next);
    REQUIRE(before > 0);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(static_cast<std::uint64_t>(std::stoll(record_on(*next, i)["highest"])) + 5'000'000 >=
              before);
    }
}

TEST_CASE("a client that was there while the clocks went back goes on above") {
    connected_world w(guarded());
    const auto before = fence_of_a_moment(w);
    w.run_for(GENERATE(0s, 30s));
    step_all(w, -1h);
    w.run_for(6s);
    CHECK(fence_of_a_moment(w) > before);
    CHECK(lift_on(w, 1) > 3'500'000'000);
}

TEST_CASE("where the clocks are set right again the lift goes") {
    connected_world first(guarded());
    const auto [before, lifted] = fences_an_hour_apart(first);
    step_all(first, 1h);
    first.run_for(6s);
    const auto after = fence_of_a_moment(first);
    CHECK(after > lifted);
    CHECK(after < lifted + 120'000'000);
    CHECK(lift_on(first, 0) < 60'000'000);
    first.run_for(120s);
    const auto last = fence_of_a_moment(first);
    CHECK(last > after);
    const auto w = idle(first, 120s);
    w->connected();
    CHECK(fence_of_a_moment(*w) > last);
    CHECK(lift_on(*w, 0) == 0);
}

TEST_CASE("a node that comes back empty is given what the others have") {
    connected_world first(guarded());
    REQUIRE(fence_of_a_moment(first) > 0);
    step_all(first, -1h);
    first.run_for(6s);
    REQUIRE(fence_of_a_moment(first) > 0);
    const auto w = latecomer(first, first.options);
    w->nodes[1].flush();
    w->connected();
    CHECK(record_on(*w, 1)["!lift"] == record_on(*w, 0)["!lift"]);
    CHECK(record_on(*w, 1)["lifts"] == "1");
    CHECK(record_on(*w, 1)["highest"] != "-");
}

TEST_CASE("a client without the guard draws no fence before the lift is written, and then by it") {
    connected_world first(guarded());
    const auto before = fence_of_a_moment(first);
    auto options = first.options;
    options.guard = restart_guard::off;
    const auto w = idle(first);
    step_all(*w, -1h);
    const auto open = latecomer(*w, options);
    open->connected();
    CHECK(open->granted("r", {.ttl = 1s})->outcome() == errc::no_quorum);
    const auto guarded_one = newcomer(*open, first.options);
    REQUIRE(fence_of_a_moment(*guarded_one) > before);
    const auto next = latecomer(*guarded_one, options);
    next->connected();
    CHECK(fence_of_a_moment(*next) > before);
}

TEST_CASE("an operator lowers fences to the clocks as they are, and says so") {
    connected_world first(guarded());
    const auto [before, lifted] = fences_an_hour_apart(first);
    first.run_for(30s);  // the nodes have forgotten each earlier fence
    const bool lowers = GENERATE(true, false);
    const auto done = first.declare({.lowers_fences = lowers});
    REQUIRE(first.run_until_over(*done));
    first.run_for(1s);
    const auto after = fence_of_a_moment(first);
    REQUIRE(after > 0);
    CHECK((after < before) == lowers);
    CHECK((after > lifted) == !lowers);
    CHECK((lift_on(first, 0) == 0) == lowers);
}
