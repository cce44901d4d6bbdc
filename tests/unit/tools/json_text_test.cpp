// JSON text of the command; knows nothing of its content.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include "tools/json_text.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

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
