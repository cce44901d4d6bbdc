// Prolonging leases by hand on real servers. What an extension does otherwise is tested on masters
// in memory.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/error.hpp>

#include <string>

using namespace redlock;
using namespace redlock::testing;

namespace {

// Three nodes and a lease that nothing but the test prolongs.
struct scene {
    explicit scene(std::chrono::milliseconds ttl, bool fencing = true)
        : nodes(3), d(nodes.options(fencing)) {
        auto got = d.acquire("r", {.ttl = ttl, .renew = false});
        REQUIRE(got.error() == error_code{});
        held = std::move(got.value());
        REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    }
    std::string value() const { return held.owner().to_string() + "@test"; }
    cluster nodes;
    driver d;
    lease held;
};

}  // namespace

TEST_CASE("an extension moves the validity and the keys", "[extend]") {
    scene s(5s, GENERATE(true, false));
    const auto before = s.held.valid_until();
    CHECK(s.d.extend(s.held, 30s) == error_code{});
    CHECK(s.held.valid_until() > before + 20s);
    CHECK(s.held.valid_until() <= clock::now() + 29'698ms);
    CHECK(s.held);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(s.d.until([&] { return s.nodes.ask(i).pttl("r") > 20s; }));
        CHECK(s.nodes.ask(i).pttl("r") <= 30s);
    }
}

TEST_CASE("an extension takes a deleted key again under a fresh fence", "[extend]") {
    scene s(10s);
    const auto fence = s.held.fence();
    s.nodes.ask(0).del("r");
    CHECK(s.d.extend(s.held, 30s) == error_code{});
    CHECK(s.held.remaining() > 20s);
    CHECK(s.held.fence() == fence);
    CHECK(s.d.until([&] { return s.nodes.ask(0).get("r") == s.value(); }));
    CHECK(s.nodes.ask(0).pttl("r") > 20s);
    CHECK(std::stoull(s.nodes.ask(0).get("{r}:fence").value_or("0")) > fence);
    CHECK(s.d.release(std::move(s.held)) == error_code{});
    CHECK(s.d.until([&] { return s.nodes.holding("r") == 0; }));
    auto next = s.d.acquire("r");
    REQUIRE(next.value());
    CHECK(next.value().fence() > fence);
}

