// The arithmetic of validity: that nothing is rounded down.
// SPDX-License-Identifier: MIT
#include "value/validity.hpp"

#include "tests/support/catch.hpp"

#include <cstdint>
#include <limits>
#include <random>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

constexpr time_point sent = time_point(72h);

}  // namespace

TEST_CASE("the drift allowance is the share of the ttl and the minimum together") {
    CHECK(drift_policy{}.allowance(10s) == 102ms);
    CHECK(drift_policy{}.allowance(100ms) == 3ms);
    CHECK(drift_policy{}.allowance(0ns) == 2ms);
    CHECK(drift_policy{0.0, 0ns}.allowance(24h) == 0ns);
    CHECK(drift_policy{0.0, 7ns}.allowance(24h) == 7ns);
    CHECK(drift_policy{0.5, 0ns}.allowance(24h) == 12h);
}

TEST_CASE("a part of a nanosecond of drift is a whole one") {
    CHECK(drift_policy{0.01, 0ns}.allowance(1ns) == 1ns);
    CHECK(drift_policy{0.01, 0ns}.allowance(101ns) == 2ns);
    CHECK(drift_policy{0.25, 0ns}.allowance(4ns) == 1ns);
    CHECK(drift_policy{0.25, 0ns}.allowance(5ns) == 2ns);
    CHECK(drift_policy{std::numeric_limits<double>::denorm_min(), 0ns}.allowance(1ns) == 1ns);
}

TEST_CASE("the drift allowance is never rounded down, and up by one nanosecond at most") {
    std::mt19937_64 random(3);
    const auto check = [](std::int64_t ttl, std::int64_t thousandths) {
        const drift_policy policy{static_cast<double>(thousandths) / 1000, 2ms};
        const std::int64_t exact = (ttl * thousandths + 999) / 1000;
        const std::int64_t share = (policy.allowance(duration(ttl)) - 2ms).count();
        if (share < exact || share > exact + 1) {
            INFO("ttl " << ttl << " ns, factor " << policy.factor);
            REQUIRE(share == exact);
        }
    };
    for (std::int64_t thousandths = 0; thousandths < 1000; ++thousandths) {
        for (int i = 0; i < 40; ++i) {
            check(static_cast<std::int64_t>(random() % 60'000'000'000), thousandths);
            check(static_cast<std::int64_t>(1 + random() % 86'400'000) * 1'000'000, thousandths);
        }
    }
    for (std::int64_t ttl = 0; ttl <= 5000; ++ttl) check(ttl, 10);
    SUCCEED();
}

TEST_CASE("the validity counts from the sending, less the drift allowance") {
    CHECK(redlock::valid_until(sent, 10s, {}) == sent + 9898ms);
    CHECK(redlock::valid_until(sent, 100ms, {0.0, 0ns}) == sent + 100ms);
    CHECK(redlock::valid_until(sent, 101ns, {0.01, 0ns}) == sent + 99ns);
}

TEST_CASE("a ttl within its own drift allowance ends before it begins") {
    CHECK(redlock::valid_until(sent, 1ms, {}) == sent - 1010us);
    CHECK(redlock::valid_until(sent, 2ms, {0.0, 2ms}) == sent);
}
