// Keys that stay for the least time of a lease after its release, on masters in memory; knows no
// engine.
// SPDX-License-Identifier: MIT
#include "component/support/memory_cluster.hpp"
#include "support/catch.hpp"

#include <redlock/error.hpp>

#include <cstdint>
#include <utility>

using namespace redlock;
using namespace redlock::testing;

namespace {

// Keeps others out until `until`, at the least; they get it at once afterwards, with a higher fence.
void check_kept_until(clock::time_point until, memory_driver& other, std::uint64_t fence) {
    for (;;) {
        const auto tried = other.acquire("r");
        if (tried.error() == error_code{}) {
            CHECK(clock::now() >= until);
            CHECK((fence == 0 || tried.value().fence() > fence));
            return;
        }
        CHECK(tried.error() == errc::contended);
        REQUIRE(clock::now() < until + 1s);
        other.pass(clock::now() + 30ms < until ? 20ms : 1ms);
    }
}

}  // namespace

TEST_CASE("a release before the least time leaves the keys for what is left", "[kept]") {
    memory_cluster nodes(3);
    const bool fencing = GENERATE(true, false);
    memory_driver a(nodes.options(fencing));
    memory_driver b(nodes.options(fencing));
    const auto asked = clock::now();
    auto got = a.acquire("r", {.ttl = 20s, .min_hold = 2s});
    REQUIRE(got.error() == error_code{});
    REQUIRE(a.until([&] { return nodes.holding("r") == 3; }));
    const auto fence = got.value().fence();
    SECTION("released") { CHECK(a.release(std::move(got.value())) == error_code{}); }
    SECTION("destroyed") { got.value() = lease{}; }
    SECTION("closed over") {
        outcome<> closed;
        a.client().async_close(closed.handler());
        CHECK(a.finish(closed).error() == error_code{});
    }
    SECTION("destroyed with the client") { a.destroy_client(); }
    CHECK(a.until([&] {
        for (std::size_t i = 0; i < 3; ++i) {
            if (nodes.ask(i).pttl("r") > 3s) return false;
        }
        return true;
    }));
    check_kept_until(asked + 2s, b, fence);
}
