// What events say for a trace: to which acquire or lease they belong, and when that began.
// SPDX-License-Identifier: MIT
#include <redlock/event.hpp>

#include "component/support/program.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using redlock::testing::masters;
using redlock::testing::program;

namespace {

struct noted {
    event_kind kind{};
    std::uint64_t id = 0, parent = 0;
    clock::time_point begin{}, at{};
    std::chrono::microseconds duration{};
    error_code error{};
};

// A program, and the events of its client that are about a lease.
struct scene {
    client_options options() {
        client_options out = nodes.options();
        out.on_event = [this](const event& e) {
            if (e.resource.empty()) {
                CHECK(e.id == 0);
                return;
            }
            CHECK(e.id != 0);
            all.push_back({e.kind, e.id, e.parent, e.begin, clock::now(), e.duration, e.error});
        };
        return out;
    }
    std::vector<noted> of(event_kind kind) const {
        std::vector<noted> out;
        for (const noted& e : all) {
            if (e.kind == kind) out.push_back(e);
        }
        return out;
    }
    noted only(event_kind kind) const {
        REQUIRE(of(kind).size() == 1);
        return of(kind).front();
    }

    masters nodes;
    boost::asio::io_context io;
    std::vector<noted> all;
    program p{nodes, io, options()};
};

}  // namespace

TEST_CASE("the events of an acquire and of its lease have one id, and the caller's parent") {
    scene s;
    s.nodes.occupy("r", 5s);
    const auto called = clock::now();
    std::optional<lease> held;
    s.p.client.async_acquire("r", {.ttl = 9s, .wait = 1min, .parent = 77},
                             [&](error_code, lease got) { held = std::move(got); });
    s.p.pass(10s);
    REQUIRE(held);
    const noted granted = s.only(event_kind::granted);
    CHECK(granted.begin == called);
    CHECK(granted.duration >= 4s);
    CHECK(granted.at - called - granted.duration < 1us);
    s.p.pass(10s);
    s.p.client.async_extend(*held, 5s, [](error_code) {});
    s.p.pass(0s);
    CHECK(s.of(event_kind::renewed).size() >= 3);
    for (const noted& e : s.of(event_kind::renewed)) CHECK(e.begin >= granted.at);
    const auto released_at = clock::now();
    const bool is_destroyed = GENERATE(false, true);
    if (is_destroyed)
        held.reset();
    else
        s.p.client.async_release(*std::move(held), [](error_code) {});
    s.p.pass(1s);
    const noted released = s.only(event_kind::released);
    CHECK(released.begin == granted.at);
    CHECK(released_at - released.begin - released.duration < 1us);
    for (const noted& e : s.all) {
        CHECK(e.id == granted.id);
        CHECK(e.parent == 77);
    }
}

TEST_CASE("two acquires of one caller have an id each") {
    scene s;
    const auto a = s.p.acquire("a", {.parent = 5}).second, b = s.p.acquire("b", {.parent = 5}).second;
    const auto granted = s.of(event_kind::granted);
    REQUIRE(granted.size() == 2);
    CHECK(granted[0].id != granted[1].id);
    CHECK(granted[0].parent == granted[1].parent);
}

TEST_CASE("a refusal says when the call was made, one whose arguments are wrong, too") {
    scene s;
    s.nodes.occupy("r", 1h);
    const auto called = clock::now();
    std::optional<error_code> ended;
    s.p.client.async_acquire("r", {.wait = 20s, .parent = 6},
                             [&](error_code why, const lease&) { ended = why; });
    s.p.pass(20s);
    REQUIRE(ended == errc::contended);
    CHECK(s.only(event_kind::refused).begin == called);
    CHECK(s.only(event_kind::refused).duration == 20s);
    CHECK(s.only(event_kind::refused).parent == 6);
    CHECK(s.p.acquire("r", {.ttl = -1ms}).first == errc::invalid_argument);
    CHECK(s.all.back().error == errc::invalid_argument);
    CHECK(s.all.back().begin == clock::now());
    CHECK(s.all.back().id != s.all.front().id);
}

TEST_CASE("a loss says when the lease was granted, and a renewal that failed when it was sent") {
    scene s;
    const auto granted_at = clock::now();
    const auto held = s.p.acquire("r", {.ttl = 9s}).second;
    for (std::size_t i = 0; i < 2; ++i) s.nodes.hang(i);
    s.p.pass(10s);
    REQUIRE_FALSE(held);
    const noted lost = s.only(event_kind::lost);
    CHECK(lost.begin == granted_at);
    CHECK(lost.at - granted_at - lost.duration < 1us);
    CHECK(lost.id == s.only(event_kind::granted).id);
    const auto failed = s.of(event_kind::renewal_failed);
    REQUIRE_FALSE(failed.empty());
    // The first one waits for the nodes; later ones find their connections given up.
    CHECK(failed.front().duration > 100ms);
    for (const noted& e : failed) {
        CHECK(e.id == lost.id);
        CHECK(e.at - e.begin - e.duration < 1us);
        CHECK(e.begin > granted_at);
    }
}

TEST_CASE("an adopted lease has an id of its own") {
    scene s;
    const auto first = s.p.acquire("r", {.ttl = 1min}).second;
    std::optional<lease> adopted;
    s.p.client.async_adopt(first.token(), {.parent = 8},
                           [&](error_code, lease got) { adopted = std::move(got); });
    s.p.pass(0s);
    REQUIRE(adopted);
    const auto granted = s.of(event_kind::granted);
    REQUIRE(granted.size() == 2);
    CHECK(granted[0].id != granted[1].id);
    CHECK(granted[1].parent == 8);
    adopted.reset();
    s.p.pass(0s);
    CHECK(s.only(event_kind::released).id == granted[1].id);
}

TEST_CASE("a client that is closed reports each lease that it gives back") {
    scene s;
    const auto held = s.p.acquire("r").second;
    s.p.client.close();
    s.p.pass(1min);
    CHECK(s.only(event_kind::released).id == s.only(event_kind::granted).id);
}
