// What a lease remembers of nodes that refused it for their fences.
// SPDX-License-Identifier: MIT
#include "core/lock/refused_fence.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using core::refused_fence;

namespace {

constexpr time_point start = time_point(72h);

}  // namespace

TEST_CASE("nothing is raised where nobody refused") {
    CHECK(refused_fence().raised(start, 1s, 1h) == 0);
    CHECK(refused_fence().raised(time_point(1ms), 1s, 1h) == 0);
}

TEST_CASE("a fence that refused a lease is raised as fast as time goes by") {
    refused_fence r;
    r.note(900, start);
    CHECK(r.raised(start, 0ms, 1s) == 900);
    CHECK(r.raised(start + 3ms, 2ms, 1s) == 900 + 5'000);
}

TEST_CASE("of the answers to one round the highest fence counts") {
    refused_fence r;
    r.note(900, start);
    r.note(700, start);
    CHECK(r.raised(start, 0ms, 1s) == 900);
    r.note(950, start);
    CHECK(r.raised(start, 0ms, 1s) == 950);
}

TEST_CASE("the answers to a later round count for more than those to an earlier one") {
    refused_fence r;
    r.note(900, start);
    r.note(700, start + 1s);
    CHECK(r.raised(start + 1s, 0ms, 1s) == 700);
    r.note(600, start);  // it came late
    CHECK(r.raised(start + 1s, 0ms, 1s) == 700);
}

TEST_CASE("a gap of our own clock makes a refusal older by it") {
    core::refused_fence refused;
    const time_point sent = time_point(72h);
    refused.shorten(1s);  // of nothing
    CHECK(refused.raised(sent, 10ms, 1min) == 0);
    refused.note(700, sent);
    refused.shorten(2s);
    CHECK(refused.raised(sent, 10ms, 1min) == 700 + 2'010'000);
    refused.shorten(1min);
    CHECK(refused.raised(sent, 10ms, 1min) == 0);
}
