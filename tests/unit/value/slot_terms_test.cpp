// What a semaphore acquires its slots with, and which numbers of slots there can't be.
// SPDX-License-Identifier: MIT
#include <redlock/detail/slot_terms.hpp>

#include "tests/support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;

TEST_CASE("a semaphore's slots are exclusive, and all else is as the caller has it") {
    const auto how = detail::slot_terms(
        {.ttl = 3s, .wait = 2s, .renew = false, .mode = lock_mode::shared, .slots = 9}, 4, "s");
    CHECK(how.slots == 4);
    CHECK(how.mode == lock_mode::exclusive);
    CHECK(how.ttl == 3s);
    CHECK(how.wait == 2s);
    CHECK_FALSE(how.renew);
}

TEST_CASE("a number of slots that can't be is refused in the name of its class") {
    CHECK_NOTHROW(detail::slot_terms({}, 1, "s"));
    CHECK_NOTHROW(detail::slot_terms({}, max_slots, "s"));
    const auto slots = GENERATE(std::uint16_t{0}, std::uint16_t{max_slots + 1});
    try {
        (void)detail::slot_terms({}, slots, "a_semaphore");
        FAIL("no exception");
    } catch (const std::invalid_argument& e) {
        CHECK(std::string(e.what()) == "redlock::a_semaphore: slots must be 1 to 1000");
    }
}
