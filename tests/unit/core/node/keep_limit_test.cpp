// How long a node may keep a key, by its record.
// SPDX-License-Identifier: MIT
#include "core/node/keep_limit.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;

TEST_CASE("a guarded node keeps no key for longer than its record allows") {
    core::keep_limit limit;
    CHECK(limit.allows(duration::max()));
    core::record_facts record;
    record.exists = true;
    record.ttl_max = 10s;
    limit.set(record, true);
    CHECK(limit.allows(10s));
    CHECK_FALSE(limit.allows(10s + 1ns));
    CHECK(limit.ttl_max() == 10s);
    SECTION("without the guard there is no limit") {
        limit.set(record, false);
        CHECK(limit.allows(duration::max()));
    }
    SECTION("nor is there one without a record, or without a ttl_max on it") {
        limit.set({}, true);
        CHECK(limit.allows(duration::max()));
        record.ttl_max = 0ms;
        limit.set(record, true);
        CHECK(limit.allows(duration::max()));
    }
}
