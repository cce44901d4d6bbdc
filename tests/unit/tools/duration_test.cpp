// Durations of the command line; knows no option.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include "tools/duration.hpp"

#include <string>

using namespace redlock::tool;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST_CASE("durations have a unit") {
    const auto [text, value] = GENERATE(table<std::string, milliseconds>(
        {{"500ms", 500ms}, {"10s", 10s}, {"5m", 5min}, {"2h", 2h}, {"0ms", 0ms}, {"007s", 7s}}));
    milliseconds out{-1};
    CHECK(parse_duration(text, out).empty());
    CHECK(out == value);
}

TEST_CASE("what is no duration is refused, and nothing is written") {
    const std::string text =
        GENERATE("", "s", "ms", "-1s", "+1s", " 1s", "1 s", "1s ", "1.5s", "1S", "1sec", "1d",
                 "0x1s", "ten", "99999999999999999999s", "9999999999999h", "9999999999999999ms");
    milliseconds out{42};
    INFO(text);
    CHECK_FALSE(parse_duration(text, out).empty());
    CHECK(out == 42ms);
}

TEST_CASE("a plain number is told its remedy") {
    milliseconds out{};
    CHECK(parse_duration("10", out) == "'10' has no unit: write 10ms, 10s or 10m");
}

TEST_CASE("durations are written as they are read") {
    const std::string text = GENERATE("1ms", "1500ms", "10s", "90s", "5m", "2h", "0ms");
    milliseconds out{};
    REQUIRE(parse_duration(text, out).empty());
    CHECK(format_duration(out) == text);
}
