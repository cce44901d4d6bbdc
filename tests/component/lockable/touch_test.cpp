// Leases with a watchdog on masters in memory, by each object that holds one; knows no internals.
// SPDX-License-Identifier: MIT
#include "component/support/passing_time.hpp"
#include "support/catch.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/counting_semaphore.hpp>
#include <redlock/election.hpp>
#include <redlock/guard.hpp>
#include <redlock/mutex.hpp>
#include <redlock/recursive_mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <chrono>
#include <stop_token>
#include <thread>

using namespace redlock::testing;
using redlock::acquire_options;
using redlock::blocking_client;
using redlock::errc;

namespace {

constexpr acquire_options watched{.ttl = 3s, .watchdog = 2s};

// The lease of `holder` outlives ten ttl as long as it is touched, and is lost 2 s after that.
template <class Holder>
void outlives_its_ttl_while_touched(masters& nodes, const Holder& holder) {
    const std::stop_token lost = holder.lost_token();
    REQUIRE(lost.stop_possible());
    for (int i = 0; i < 20; ++i) {
        nodes.advance(1'500ms);
        REQUIRE_FALSE(lost.stop_requested());
        holder.touch();
    }
    nodes.advance(2s - 1ns);
    CHECK_FALSE(lost.stop_requested());
    nodes.advance(1ns);
    CHECK(lost.stop_requested());
}

}  // namespace

TEST_CASE_METHOD(one_client,
                 "a lease that is not touched is lost, and keeps others out until its validity ends") {
    blocking_client other(nodes.options());
    const auto held = client.acquire("r", watched);
    REQUIRE(held.has_value());
    outlives_its_ttl_while_touched(nodes, *held);
    CHECK_FALSE(*held);
    held->touch();
    CHECK_FALSE(*held);
    const auto until = held->valid_until();
    CHECK(until > redlock::clock::now());
    nodes.advance(until - redlock::clock::now() - 1ms);
    CHECK((other.acquire("r").error() == errc::contended));
    CHECK(pass_until(nodes, [&] { return other.acquire("r").has_value(); }));
    CHECK(redlock::clock::now() >= until);
}

TEST_CASE_METHOD(one_client, "a touch of a guard keeps it") {
    const redlock::guard held(client, "r", watched);
    REQUIRE(held);
    outlives_its_ttl_while_touched(nodes, held);
    CHECK(held.why().code == errc::lost);
    CHECK(held.why().detail.starts_with("stalled: "));
}

TEMPLATE_TEST_CASE("a touch of a mutex keeps it, by the thread that holds it", "[mutex]",
                   redlock::mutex, redlock::recursive_mutex, redlock::shared_mutex) {
    masters nodes;
    blocking_client client(nodes.options());
    TestType m(client, "r", watched);
    m.touch();
    m.lock();
    outlives_its_ttl_while_touched(nodes, m);
    CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
    m.lock();
    const std::stop_token lost = m.lost_token();
    nodes.advance(1'500ms);
    std::thread([&] { m.touch(); }).join();
    nodes.advance(500ms);
    CHECK(lost.stop_requested());
    CHECK(thrown_by([&] { m.unlock(); }) == errc::lost);
}

TEST_CASE_METHOD(one_client, "a touch of a semaphore keeps all slots of the thread",
                 "[semaphore]") {
    redlock::counting_semaphore lines(client, "r", 3, watched);
    lines.touch();
    lines.acquire();
    const std::stop_token first = lines.lost_token();
    lines.acquire();
    outlives_its_ttl_while_touched(nodes, lines);
    CHECK(first.stop_requested());
    CHECK(thrown_by([&] { lines.release(2); }) == errc::lost);
}

TEST_CASE_METHOD(one_client, "a touch of an election keeps its term", "[election]") {
    redlock::election of(client, "r", watched);
    of.touch();
    REQUIRE(of.campaign().has_value());
    outlives_its_ttl_while_touched(nodes, of);
    CHECK_FALSE(of.held());
}
