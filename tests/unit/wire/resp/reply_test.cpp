// Tests the view of a reply, above all where it does not fit; knows nothing of a server.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "wire/resp/parser.hpp"

#include <cstddef>
#include <string_view>

using redlock::resp::parser;
using redlock::resp::reply;
using redlock::resp::reply_type;

namespace {

reply parse(parser& p, std::string_view bytes) {
    reply r;
    REQUIRE(p.feed(bytes, r) == parser::outcome::complete);
    return r;
}

}  // namespace

TEST_CASE("a reply that was never set is nil") {
    const reply r;
    CHECK(r.type() == reply_type::nil);
    CHECK(r.integer() == 0);
    CHECK(r.text().empty());
    CHECK(r.size() == 0);
    CHECK(r[0].type() == reply_type::nil);
    CHECK_FALSE(r.is_error(""));
}

TEST_CASE("accessors of the wrong type give neutral values") {
    parser p;
    const std::string_view bytes =
        GENERATE("+5\r\n", "-5\r\n", ":5\r\n", "$1\r\n5\r\n", "$-1\r\n", "*1\r\n:5\r\n");
    INFO(bytes);
    const reply r = parse(p, bytes);
    const reply_type type = r.type();
    const bool has_text = type == reply_type::status || type == reply_type::string ||
                          type == reply_type::error;
    CHECK(r.integer() == (type == reply_type::integer ? 5 : 0));
    CHECK(r.text() == (has_text ? "5" : ""));
    CHECK(r.size() == (type == reply_type::array ? 1 : 0));
    CHECK(r[0].integer() == (type == reply_type::array ? 5 : 0));
    CHECK(r.is_error("5") == (type == reply_type::error));
}

TEST_CASE("children are found by index, also in nested arrays") {
    parser p;
    const reply r = parse(p, "*3\r\n*2\r\n:1\r\n*1\r\n:2\r\n:3\r\n*1\r\n:4\r\n");
    CHECK(r[2][0].integer() == 4);
    CHECK(r[1].integer() == 3);
    CHECK(r[0][1][0].integer() == 2);
    CHECK(r[0][0].integer() == 1);
}

TEST_CASE("a child out of range is nil") {
    parser p;
    const reply r = parse(p, "*2\r\n*1\r\n:1\r\n:2\r\n");
    CHECK(r[2].type() == reply_type::nil);
    CHECK(r[0][1].type() == reply_type::nil);
    CHECK(r[static_cast<std::size_t>(-1)].type() == reply_type::nil);
    CHECK(r[7][7][7].type() == reply_type::nil);
}

TEST_CASE("the code of an error is its first word") {
    parser p;
    const reply error = parse(p, "-NOSCRIPT No matching script\r\n");
    CHECK(error.is_error("NOSCRIPT"));
    CHECK_FALSE(error.is_error("NOSCRIP"));
    CHECK_FALSE(error.is_error("NOSCRIPT No"));
    CHECK_FALSE(error.is_error(""));
    CHECK(parse(p, "-LOADING\r\n").is_error("LOADING"));
    CHECK_FALSE(parse(p, "-ERR of OOM\r\n").is_error("OOM"));
    CHECK_FALSE(parse(p, "+NOSCRIPT x\r\n").is_error("NOSCRIPT"));
}

TEST_CASE("the code of an error that a script met is found in what an older server makes of it") {
    parser p;
    for (const auto* met : {"-MISCONF Redis is configured to save", "OOM command not allowed"}) {
        const reply error = parse(p, "-ERR Error running script (call to f_0123456789abcdef): "
                                     "@user_script:46: @user_script: 46: " +
                                         std::string(met) + "\r\n");
        CHECK(error.is_error("MISCONF") == (met[0] == '-'));
        CHECK(error.is_error("OOM") == (met[0] == 'O'));
        CHECK(error.is_error("ERR"));
        CHECK_FALSE(error.is_error("READONLY"));
        CHECK_FALSE(error.is_error("NOSCRIPT"));
    }
}
