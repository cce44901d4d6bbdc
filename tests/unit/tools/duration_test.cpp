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
        {{"500ms", 500ms}, {"10s", 10s}, {"5m", 5min}, {"2h", 2h}, {"0ms", 0ms}, {"007s", 7s},
         {"0.5s", 500ms}, {"1.5h", 90min}, {"1.250s", 1250ms}, {"0.000025h", 90ms},
         {"1.000000000000s", 1s}, {"1m30s", 90s}, {"1h30m0.5s", 5'400'500ms}, {"10 s", 10s},
         {" 1 m 30 s ", 90s}, {"1s1s", 2s}, {"2305843009213ms", 2305843009213ms}}));
    milliseconds out{-1};
    CHECK(parse_duration(text, out).empty());
    CHECK(out == value);
}

TEST_CASE("what is no duration is refused, and nothing is written") {
    const std::string text =
        GENERATE("", " ", "s", "ms", "-1s", "+1s", "1.s", ".5s", "1,5s", "1..5s", "1.5.5s", "0.5ms",
                 "0.0001s", "0.1234567891234s", "1S", "1sec", "1d", "1m30", "1m-30s", "1 2s", "0x1s",
                 "1e3s", "ten", "99999999999999999999s", "9999999999999h", "2305843009214ms",
                 "2305843009213ms1ms", "9223372036854775807ms9223372036854775807ms");
    milliseconds out{42};
    INFO(text);
    CHECK_FALSE(parse_duration(text, out).empty());
    CHECK(out == 42ms);
}

TEST_CASE("seconds are read as flock reads them") {
    const auto [text, value] = GENERATE(table<const char*, milliseconds>(
        {{"5", 5s}, {"0.5", 500ms}, {".5", 500ms}, {"0", 0ms}, {"0.0001", 1ms}, {"1e3", 0ms}}));
    milliseconds out{};
    INFO(text);
    CHECK(parse_seconds(text, out).empty() == (std::string(text) != "1e3"));
    CHECK(out == value);
    for (const auto* wrong : {"", "5s", "-1", "+1", " 1", "x", "nan", "inf", "9999999999999999"}) {
        milliseconds kept{42};
        INFO(wrong);
        CHECK_FALSE(parse_seconds(wrong, kept).empty());
        CHECK(kept == 42ms);
    }
}

TEST_CASE("a number without a unit is refused, with the units to write") {
    milliseconds out{};
    CHECK(parse_duration("10", out) == "'10' has no unit: write 10ms, 10s or 10m");
    CHECK(parse_duration("1m30 ", out) == "'1m30 ' has no unit: write 1m30ms, 1m30s or 1m30m");
}

TEST_CASE("durations are written as they are read") {
    const std::string text = GENERATE("1ms", "1500ms", "10s", "90s", "5m", "2h", "0ms");
    milliseconds out{};
    REQUIRE(parse_duration(text, out).empty());
    CHECK(format_duration(out) == text);
}
