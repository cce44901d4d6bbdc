// Prolonging leases by hand on masters in memory; knows no engine.
// SPDX-License-Identifier: MIT
#include "component/support/memory_cluster.hpp"
#include "support/catch.hpp"

#include <redlock/error.hpp>

#include <optional>
#include <string>

using namespace redlock;
using namespace redlock::testing;

namespace {

// Three nodes and a lease that nothing but the test prolongs.
struct prolonged {
    explicit prolonged(std::chrono::milliseconds ttl, bool renew = false, bool fencing = true,
                   std::chrono::milliseconds node_timeout = 3s)
        : nodes(3), d(options(nodes, fencing, node_timeout)) {
        auto got = d.acquire("r", {.ttl = ttl, .renew = renew});
        REQUIRE(got.error() == error_code{});
        held = std::move(got.value());
        REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    }
    static client_options options(const memory_cluster& nodes, bool fencing,
                                  std::chrono::milliseconds node_timeout) {
        auto all = nodes.options(fencing);
        all.node_timeout = node_timeout;
        return all;
    }
    std::string value() const { return held.owner().to_string() + "@test"; }
    memory_cluster nodes;
    memory_driver d;
    lease held;
};

}  // namespace

TEST_CASE("an extension moves the validity and the keys", "[extend]") {
    prolonged s(5s, false, GENERATE(true, false));
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

TEST_CASE("an extension never shortens", "[extend]") {
    prolonged s(30s, false, GENERATE(true, false));
    const auto before = s.held.valid_until();
    CHECK(s.d.extend(s.held, 1s) == error_code{});
    CHECK(s.held.valid_until() == before);
    s.d.pass(20ms);
    for (std::size_t i = 0; i < 3; ++i) CHECK(s.nodes.ask(i).pttl("r") > 20s);
}

TEST_CASE("a minority that is gone costs an extension nothing", "[extend]") {
    const bool fencing = GENERATE(true, false);
    prolonged s(10s, false, fencing);
    const auto fence = s.held.fence();
    bool is_gone = false;
    SECTION("dead") { s.nodes.kill(1); }
    SECTION("hung") { s.nodes.stop(1); }
    SECTION("without the key") {
        s.nodes.ask(1).del("r");
        is_gone = true;
    }
    SECTION("with somebody else's key") { s.nodes.ask(1).set("r", "foreign"); }
    CHECK(s.d.extend(s.held, 30s) == error_code{});
    CHECK(s.held.remaining() > 20s);
    CHECK(s.held.fence() == fence);
    if (is_gone && fencing) {
        // A fence keeps others out meanwhile, so a key that is gone can be taken again.
        CHECK(s.d.until([&] { return s.nodes.ask(1).get("r") == s.value(); }));
    } else if (s.nodes.reachable(1)) {
        s.d.pass(20ms);
        const auto value = s.nodes.ask(1).get("r");
        CHECK(value == (is_gone ? std::nullopt : std::optional<std::string>("foreign")));
    }
}

TEST_CASE("an extension takes a deleted key again under a fresh fence", "[extend]") {
    prolonged s(10s);
    const auto fence = s.held.fence();
    const std::size_t i = GENERATE(0U, 1U, 2U);
    s.nodes.ask(i).del("r");
    CHECK(s.d.extend(s.held, 30s) == error_code{});
    CHECK(s.held.remaining() > 20s);
    CHECK(s.held.fence() == fence);
    CHECK(s.d.until([&] { return s.nodes.ask(i).get("r") == s.value(); }));
    CHECK(s.nodes.ask(i).pttl("r") > 20s);
    CHECK(std::stoull(s.nodes.ask(i).get("{r}:fence").value_or("0")) > fence);
    CHECK(s.d.release(std::move(s.held)) == error_code{});
    CHECK(s.d.until([&] { return s.nodes.holding("r") == 0; }));
    auto next = s.d.acquire("r");
    REQUIRE(next.value());
    CHECK(next.value().fence() > fence);
}

TEST_CASE("where a quorum has lost the key an extension ends the lease", "[extend]") {
    prolonged s(10s);
    s.nodes.ask(0).del("r");
    s.nodes.ask(1).del("r");
    CHECK(s.d.extend(s.held, 30s) == errc::not_held);
    CHECK_FALSE(s.held);
    CHECK(s.d.until([&] { return s.nodes.holding("r") == 0; }, 15s));
}

TEST_CASE("an extension takes nothing where somebody came and went meanwhile", "[extend]") {
    prolonged s(10s);
    // A holder of the key on a quorum since has raised the fence there, here beyond our clock.
    for (std::size_t i = 0; i < 2; ++i) {
        const auto seen = std::stoull(s.nodes.ask(i).get("{r}:fence").value_or("0"));
        s.nodes.ask(i).del("r");
        s.nodes.ask(i).set("{r}:fence", std::to_string(seen + 10'000'000));
    }
    CHECK(s.d.extend(s.held, 30s) == errc::not_held);
    CHECK_FALSE(s.held);
    CHECK_FALSE(s.nodes.ask(0).exists("r"));
    CHECK_FALSE(s.nodes.ask(1).exists("r"));
}

TEST_CASE("an extension goes above a fence that ran ahead where another node is gone", "[extend]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options());
    nodes.ask(0).set("r", "foreign");  // so the lease never had it there
    auto got = d.acquire("r", {.ttl = 10s, .renew = false});
    REQUIRE(got.value());
    const auto fence = got.value().fence();
    nodes.ask(0).del("r");
    const auto ahead = fence + 5'000'000;
    nodes.ask(0).set("{r}:fence", std::to_string(ahead));
    nodes.kill(1);
    CHECK(d.extend(got.value(), 30s) == error_code{});
    CHECK(got.value().remaining() > 20s);
    CHECK(got.value().fence() == fence);
    CHECK(nodes.ask(0).get("r") == got.value().owner().to_string() + "@test");
    CHECK(std::stoull(nodes.ask(0).get("{r}:fence").value_or("0")) > ahead);
}

TEST_CASE("extending with no key, or somebody else's, on a quorum is not_held", "[extend]") {
    const bool is_plain = GENERATE(false, true);
    prolonged s(10s, false, !is_plain);
    const auto before = s.held.valid_until();
    std::optional<std::string> left;
    SECTION("no key in the plain mode") {
        if (!is_plain) return;  // with a fence it is taken until the lease is over
        s.nodes.ask(0).del("r");
        s.nodes.ask(1).del("r");
    }
    SECTION("somebody else's") {
        s.nodes.ask(0).set("r", "foreign");
        s.nodes.ask(1).set("r", "foreign");
        left = "foreign";
    }
    CHECK(s.d.extend(s.held, 30s) == errc::not_held);
    CHECK(s.held.valid_until() == before);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(s.nodes.ask(i).get("r") == left);
        CHECK(s.nodes.ask(i).pttl("r") < 0ms);
    }
}

TEST_CASE("without a quorum of answers the old validity stands", "[extend]") {
    prolonged s(20s, false, GENERATE(true, false));
    const auto before = s.held.valid_until();
    SECTION("dead") {
        s.nodes.kill(0);
        s.nodes.kill(1);
        CHECK(s.d.extend(s.held, 30s) == errc::no_quorum);
    }
    SECTION("hung") {
        s.nodes.stop(0);
        s.nodes.stop(1);
        CHECK(s.d.extend(s.held, 30s) == errc::no_quorum);
    }
    CHECK(s.held.valid_until() == before);
    CHECK(s.held);
}

TEST_CASE("an extension does not revive a lease that is over", "[extend]") {
    prolonged s(4s, false, GENERATE(true, false));
    auto lost = s.d.start_lost(s.held);
    REQUIRE(s.d.finish(lost).error() == error_code{});
    CHECK(s.d.extend(s.held, 30s) == errc::lost);
    CHECK_FALSE(s.held);
    CHECK(s.d.until([&] { return s.nodes.holding("r") == 0; }));
}

TEST_CASE("an extension that ends after the validity does not count", "[extend]") {
    prolonged s(4s, false, GENERATE(true, false), 10s);
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

TEST_CASE("an extension with wrong arguments sends nothing", "[extend]") {
    prolonged s(20s);
    memory_driver other(s.nodes.options());
    const auto sent = s.d.client().stats().commands;
    CHECK(s.d.extend(lease{}, 5s) == errc::invalid_argument);
    CHECK(s.d.extend(s.held, 0ms) == errc::invalid_argument);
    CHECK(s.d.extend(s.held, -5s) == errc::invalid_argument);
    CHECK(s.d.extend(s.held, 61s) == errc::invalid_argument);
    CHECK(other.extend(s.held, 5s) == errc::invalid_argument);
    CHECK(s.d.client().stats().commands == sent);
    s.held.detach();
    CHECK(s.d.extend(s.held, 5s) == errc::invalid_argument);
}

TEST_CASE("renewal keeps the ttl of the last extension", "[extend]") {
    prolonged s(8s, true, GENERATE(true, false));
    CHECK(s.d.extend(s.held, 12s) == error_code{});
    const auto extended = s.held.valid_until();
    const auto renewals = s.d.client().stats().renewals;
    REQUIRE(s.d.until([&] { return s.d.client().stats().renewals > renewals; }));
    // Renewed at about a third of the new ttl, for the new ttl.
    CHECK(s.held.valid_until() > extended + 2s);
    CHECK(s.held);
}

TEST_CASE("an extension passes no max_hold", "[extend]") {
    memory_cluster nodes(3);
    memory_driver d(nodes.options(GENERATE(true, false)));
    auto got = d.acquire("r", {.ttl = 10s, .renew = false, .max_hold = 12s});
    REQUIRE(got.value());
    CHECK(d.extend(got.value(), 30s) == error_code{});
    CHECK(got.value().valid_until() <= got.when() + 12s);
}
