// The name that a mistyped one may have meant.
// SPDX-License-Identifier: MIT
#include "config/nearest.hpp"

#include "tests/support/catch.hpp"

using redlock::config::nearest;
using redlock::config::unknown_name;

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
