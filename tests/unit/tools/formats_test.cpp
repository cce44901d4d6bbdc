// Tests of durations, columns and JSON as the command writes them.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"
#include "tools/formats.hpp"

#include <redlock/detail/printable.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using namespace redlock::tool;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST_CASE("durations have a unit") {
    const auto [text, value] = GENERATE(table<std::string, milliseconds>(
        {{"500ms", 500ms}, {"10s", 10s}, {"5m", 5min}, {"2h", 2h}, {"0ms", 0ms}, {"007s", 7s},
         {"0.5s", 500ms}, {"1.5h", 90min}, {"1.250s", 1250ms}, {"0.000025h", 90ms},
         {"1.000000000000s", 1s}, {"1m30s", 90s}, {"30d", 720h}, {"1h30m0.5s", 5'400'500ms}, {"10 s", 10s},
         {" 1 m 30 s ", 90s}, {"1s1s", 2s}, {"2305843009213ms", 2305843009213ms}}));
    milliseconds out{-1};
    CHECK(parse_duration(text, out).empty());
    CHECK(out == value);
}

TEST_CASE("what is no duration is refused, and nothing is written") {
    const std::string text =
        GENERATE("", " ", "s", "ms", "-1s", "+1s", "1.s", ".5s", "1,5s", "1..5s", "1.5.5s", "0.5ms",
                 "0.0001s", "0.1234567891234s", "1S", "1sec", "1w", "1m30", "1m-30s", "1 2s", "0x1s",
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

using redlock::tool::fit;
using redlock::tool::width;

TEST_CASE("a text is as wide as a terminal shows it") {
    CHECK(width("") == 0);
    CHECK(width("abc") == 3);
    CHECK(width("Größe") == 5);
    CHECK(width("Gro\xcc\x88\xc3\x9f"
                "e") == 5);  // an o, and a diaeresis that combines with it
    CHECK(width("日本語") == 6);
    CHECK(width("안녕") == 4);
    CHECK(width("\xf0\x9f\x94\x92") == 2);  // a padlock
    CHECK(width("\xff") == 1);
}

TEST_CASE("what fits ends between characters") {
    CHECK(fit("Größe", 3).text == "Grö");
    CHECK(fit("Größe", 3).width == 3);
    CHECK(fit("日本語", 5).text == "日本");
    CHECK(fit("日本語", 5).width == 4);
    CHECK(fit("e\xcc\x81tat", 1).text == "e\xcc\x81");
    CHECK(fit("abc", 0).text.empty());
    CHECK(fit("abc", 3).text == "abc");
    CHECK(fit("", 3).text.empty());
}

TEST_CASE("what fits ends between escapes") {
    CHECK(fit("a\x1b[2J", 4).text == "a");
    CHECK(fit("a\x1b[2J", 5).text == "a\\x1b");
    CHECK(fit("a\x1b[2J", 6).text == "a\\x1b[");
    CHECK(fit("\xff\xff", 7).text == "\\xff");
    CHECK(fit("\xc2\x9b", 7).text.empty());  // one character, two escapes
    CHECK(fit("\xc2\x9b", 8).text == R"(\xc2\x9b)");
}

TEST_CASE("what fits is the beginning of what is printable, and no narrower than it can be") {
    const std::string_view raw =
        "x\xc3\xb6\x1b\xe6\x97\xa5\xff\xc2\x9b\xe2\x80\xae\\x1b\xcc\x88z\xf0\x9f";
    const std::string whole = redlock::detail::printable(raw);
    CHECK(fit(raw, whole.size()).text == whole);
    for (std::size_t columns = 0; columns <= width(whole); ++columns) {
        const auto some = fit(raw, columns);
        INFO(some.text);
        CHECK(some.width == width(some.text));
        CHECK(some.width <= columns);
        CHECK(whole.starts_with(some.text));
    }
}

using redlock::tool::json_text;
using redlock::tool::json_value;

namespace {

std::string quoted(std::string_view text) { return json_text(json_value(text)); }

}  // namespace

TEST_CASE("members keep their order, and no white space is written") {
    json_value value = {{"b", json_value::array({-1, true, nullptr})}, {"a", json_value::array()}};
    value["9"] = std::numeric_limits<std::uint64_t>::max();
    CHECK(json_text(value) == R"({"b":[-1,true,null],"a":[],"9":18446744073709551615})");
}

TEST_CASE("strings are escaped") {
    CHECK(quoted("") == "\"\"");
    CHECK(quoted("a\"b\\c/") == R"("a\"b\\c/")");
    CHECK(quoted(std::string_view("\0\x01\n\x1f\x7f", 5)) == R"("\u0000\u0001\n\u001f\u007f")");
    CHECK(quoted("z\u00e4\u20ac\U0001f512") == "\"z\u00e4\u20ac\U0001f512\"");
}

TEST_CASE("what a terminal would obey, or what misleads its reader, is escaped") {
    CHECK(quoted("\x1b[2J") == R"("\u001b[2J")");
    CHECK(quoted("\xc2\x9b" "2J") == R"("\u009b2J")");
    CHECK(quoted("a\xe2\x80\xae" "b") == R"("a\u202eb")");
    CHECK(quoted("\xf3\xa0\x81\x81") == R"("\udb40\udc41")");  // a tag, which has no width
}

TEST_CASE("names of members are escaped, too") {
    CHECK(json_text({{"a\"\x7f", true}}) == R"({"a\"\u007f":true})");
}

TEST_CASE("what is no UTF-8 is replaced, and throws nothing") {
    CHECK(quoted("a\xff"
                 "b") == "\"a\ufffdb\"");
    CHECK(quoted("\xc3"
                 "a") == "\"\ufffda\"");
    // Cut short, overlong, a surrogate, above U+10FFFF: nothing of them is left.
    for (const std::string_view bad :
         {"\x80", "\xc3", "\xe2\x82", "\xc0\x80", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
          "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
        std::string left = quoted(bad);
        CHECK(left.starts_with("\"\ufffd"));
        for (auto at = left.find("\ufffd"); at != left.npos; at = left.find("\ufffd")) left.erase(at, 3);
        CHECK(left == "\"\"");
    }
    CHECK(quoted("\xf4\x8f\xbf\xbf") == "\"\xf4\x8f\xbf\xbf\"");
}
