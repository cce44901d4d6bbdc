// What a node says about a resource, as text.
// SPDX-License-Identifier: MIT
#include <redlock/resource_state.hpp>

#include "tests/support/catch.hpp"

using namespace redlock;

TEST_CASE("each state of a key has its name") {
    CHECK(to_string(key_state::free) == "free");
    CHECK(to_string(key_state::held) == "held");
    CHECK(to_string(key_state::shared) == "shared");
    CHECK(to_string(key_state::quarantine) == "quarantine");
    CHECK(to_string(key_state::refused) == "refused");
    CHECK(to_string(key_state::timed_out) == "timed_out");
    CHECK(to_string(key_state::unreachable) == "unreachable");
    CHECK(to_string(static_cast<key_state>(200)) == "unknown");
}
