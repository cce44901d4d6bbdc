// The name that a mistyped one may have meant.
// SPDX-License-Identifier: MIT
#include <redlock/detail/nearest.hpp>

#include "tests/support/catch.hpp"

using redlock::detail::nearest;
using redlock::detail::unknown_name;

TEST_CASE("the nearest known name is found") {
    constexpr std::string_view known[] = {"host", "port", "node_timeout_ms", "connect_timeout_ms"};
    CHECK(nearest("prot", known) == "port");        // a swap costs one
    CHECK(nearest("pot", known) == "port");
    CHECK(nearest("hosts", known) == "host");
    CHECK(nearest("HOST", known) == "host");
    CHECK(nearest("node-timeout-ms", known) == "node_timeout_ms");
    CHECK(nearest("node_timeout", known) == "node_timeout_ms");
    CHECK(nearest("conect_timeout", known) == "connect_timeout_ms");
}

TEST_CASE("a name without its unit, or with some of its words, is near") {
    constexpr std::string_view known[] = {"ttl_ms", "wait_ms", "max_hold_ms", "loss_margin_ms"};
    CHECK(nearest("ttl", known) == "ttl_ms");
    CHECK(nearest("wait", known) == "wait_ms");
    CHECK(nearest("hold_ms", known) == "max_hold_ms");
    CHECK(nearest("margin", known) == "loss_margin_ms");
    CHECK(nearest("_", known).empty());
    constexpr std::string_view options[] = {"no-renew", "max-hold"};
    CHECK(nearest("norenew", options) == "no-renew");
    CHECK(nearest("hold", options) == "max-hold");
}

TEST_CASE("what is far from all names is near none") {
    constexpr std::string_view known[] = {"host", "port"};
    CHECK(nearest("", known).empty());
    CHECK(nearest("zebra", known).empty());
    CHECK(nearest("most_of_it", known).empty());
    CHECK(nearest(std::string(100'000, 'h'), known).empty());
    CHECK(nearest("host", {}).empty());
}

TEST_CASE("an unknown name is answered with the near one, or with all") {
    constexpr std::string_view known[] = {"host", "port"};
    CHECK(unknown_name("prot", known) == "is not known; did you mean \"port\"?");
    CHECK(unknown_name("zebra", known) == "is not known; known are host, port");
}
