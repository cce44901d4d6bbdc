// Which failures of a connection are reported: each cause once, then a summary each minute.
// SPDX-License-Identifier: MIT
#include "core/node/outage.hpp"

#include "support/catch.hpp"

#include <chrono>

using namespace redlock;
using namespace std::chrono_literals;
using core::outage;

namespace {

const error_code gone = errc::timed_out;
const error_code refused = errc::auth_failed;

constexpr time_point start{1h};

}  // namespace

TEST_CASE("a cause is reported once, and each minute with the number of tries", "[outage]") {
    outage o;
    CHECK(o.failed(gone, start) == 1);
    for (int s = 1; s < 60; ++s) CHECK(o.failed(gone, start + s * 1s) == 0);
    CHECK(o.failed(gone, start + 60s) == 60);
    CHECK(o.failed(gone, start + 61s) == 0);
}

TEST_CASE("another cause is news, and two that alternate are no flood", "[outage]") {
    outage o;
    CHECK(o.failed(gone, start) == 1);
    CHECK(o.failed(refused, start + 1s) == 1);
    CHECK(o.failed(gone, start + 2s) == 0);
    CHECK(o.failed(refused, start + 3s) == 0);
}

TEST_CASE("what fails again after it was over is news", "[outage]") {
    outage o;
    CHECK(o.failed(gone, start) == 1);
    CHECK(o.failed(gone, start + 1s) == 0);
    o.ended();
    CHECK(o.failed(gone, start + 2s) == 1);
}

TEST_CASE("no number of causes is a flood", "[outage]") {
    outage o;
    int reported = 0;
    for (int i = 1; i <= 50; ++i) {
        if (o.failed({i, boost::system::generic_category()}, start) != 0) ++reported;
    }
    CHECK(reported == static_cast<int>(outage::most_causes));
}
