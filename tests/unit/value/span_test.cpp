// The kinds of spans as text.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <redlock/span.hpp>

#include <cstdint>
#include <set>
#include <string_view>

using namespace redlock;

TEST_CASE("each kind of span has a name of its own") {
    constexpr auto last = static_cast<std::uint8_t>(span_kind::downgrade);
    std::set<std::string_view> names;
    for (std::uint8_t kind = 0; kind <= last; ++kind) {
        names.insert(to_string(static_cast<span_kind>(kind)));
    }
    CHECK(names.size() == last + 1U);
    CHECK(names.count("unknown") == 0);
    CHECK(to_string(static_cast<span_kind>(last + 1)) == "unknown");
}
