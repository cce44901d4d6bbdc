// JSON text of the command; knows nothing of what is told.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include "tools/json_writer.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using redlock::tool::json_writer;

namespace {

std::string quoted(std::string_view text) {
    json_writer json;
    json.string(text);
    return json.text();
}

}  // namespace

TEST_CASE("nesting, commas and numbers") {
    json_writer json;
    json.begin_object();
    json.key("a").begin_array().end_array();
    json.key("b").begin_array().number(-1).boolean(true).begin_object().end_object();
    json.boolean(false).end_array();
    json.key("c").begin_object().key("d").string("e").key("f").number(0).end_object();
    json.key("g").number_unsigned(std::numeric_limits<std::uint64_t>::max());
    json.end_object();
    CHECK(json.text() == R"({"a":[],"b":[-1,true,{},false],"c":{"d":"e","f":0},)"
                         R"("g":18446744073709551615})");
}

TEST_CASE("strings are escaped") {
    CHECK(quoted("") == "\"\"");
    CHECK(quoted("a\"b\\c/") == R"("a\"b\\c/")");
    CHECK(quoted(std::string_view("\0\x01\n\x1f\x7f", 5)) == R"("\u0000\u0001\u000a\u001f\u007f")");
    CHECK(quoted("z\u00e4\u20ac\U0001f512") == "\"z\u00e4\u20ac\U0001f512\"");
}

TEST_CASE("what a terminal would obey, or what misleads its reader, is escaped") {
    CHECK(quoted("\x1b[2J") == R"("\u001b[2J")");
    CHECK(quoted("\xc2\x9b" "2J") == R"("\u009b2J")");
    CHECK(quoted("a\xe2\x80\xae" "b") == R"("a\u202eb")");
    CHECK(quoted("\xf3\xa0\x81\x81") == R"("\udb40\udc41")");  // a tag, which has no width
}

TEST_CASE("names of members are escaped, too") {
    json_writer json;
    json.begin_object().key("a\"").boolean(true).end_object();
    CHECK(json.text() == R"({"a\"":true})");
}

TEST_CASE("bytes that are no UTF-8 are replaced, one by one") {
    CHECK(quoted("a\xff"
                 "b") == R"("a\ufffdb")");
    CHECK(quoted("\x80") == R"("\ufffd")");
    CHECK(quoted("\xc3") == R"("\ufffd")");
    CHECK(quoted("\xc3"
                 "a") == R"("\ufffda")");
    CHECK(quoted("\xe2\x82") == R"("\ufffd\ufffd")");
    CHECK(quoted("\xc0\x80") == R"("\ufffd\ufffd")");            // overlong
    CHECK(quoted("\xe0\x9f\xbf") == R"("\ufffd\ufffd\ufffd")");  // overlong
    CHECK(quoted("\xf0\x8f\xbf\xbf") == R"("\ufffd\ufffd\ufffd\ufffd")");
    CHECK(quoted("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");            // a surrogate
    CHECK(quoted("\xf4\x90\x80\x80") == R"("\ufffd\ufffd\ufffd\ufffd")");  // above U+10FFFF
    CHECK(quoted("\xf4\x8f\xbf\xbf") == "\"\xf4\x8f\xbf\xbf\"");
}
