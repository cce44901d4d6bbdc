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
    explicit scene(std::chrono::milliseconds ttl, bool fencing = true,
                   std::chrono::milliseconds node_timeout = 3s)
        : nodes(3), d(options(nodes, fencing, node_timeout)) {
        auto got = d.acquire("r", {.ttl = ttl, .renew = false});
        REQUIRE(got.error() == error_code{});
        held = std::move(got.value());
        REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    }
    static client_options options(const cluster& nodes, bool fencing,
                                  std::chrono::milliseconds node_timeout) {
        auto all = nodes.options(fencing);
        all.node_timeout = node_timeout;
        return all;
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

TEST_CASE("where a quorum has lost the key an extension ends the lease", "[extend]") {
    scene s(10s);
    s.nodes.ask(0).del("r");
    s.nodes.ask(1).del("r");
    CHECK(s.d.extend(s.held, 30s) == errc::not_held);
    CHECK_FALSE(s.held);
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

TEST_CASE("an extension that ends after the validity does not count", "[extend]") {
    scene s(3s, GENERATE(true, false), 10s);
    s.nodes.stop(0);
    s.nodes.stop(1);
    outcome<> extended;
    s.d.client().async_extend(s.held, 30s, extended.handler());
    REQUIRE(s.d.until([&] { return s.held.remaining() == 0ms; }));
    s.nodes.cont(0);
    s.nodes.cont(1);
    CHECK(s.d.finish(extended).error() == errc::lost);
    CHECK_FALSE(s.held);
    CHECK(s.held.remaining() == 0ms);
}
