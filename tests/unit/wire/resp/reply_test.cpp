// Replies in RESP: parsed, kept and read; the only file that names hiredis.
// SPDX-License-Identifier: MIT
#include "wire/resp/reply.hpp"

#include "support/catch.hpp"
#include "support/resp_oracle.hpp"

#include <hiredis/read.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Tests the reply parser, with whole, split, hostile and random bytes; knows nothing of a server.
namespace parser_test {

using namespace std::string_view_literals;
using redlock::resp::parser;
using redlock::resp::parser_limits;
using redlock::resp::reply;
using redlock::resp::reply_type;
using outcome = parser::outcome;
using redlock::resp::testing::show;

namespace {

/// Feeds `bytes` and appends every reply that comes out. Returns how it ended.
outcome drain(parser& p, std::string_view bytes, std::vector<std::string>& out) {
    reply r;
    for (;;) {
        const outcome now = p.feed(bytes, r);
        if (now != outcome::complete) {
            CHECK(r.type() == reply_type::nil);
            CHECK((now == outcome::broken || bytes.empty()));
            return now;
        }
        out.push_back(show(r));
    }
}

std::vector<std::string> parse_all(std::string_view bytes) {
    parser p;
    std::vector<std::string> out;
    CHECK(drain(p, bytes, out) == outcome::need_more);
    return out;
}

bool breaks(std::string_view bytes, parser_limits limits = {}) {
    parser p(limits);
    std::vector<std::string> out;
    const bool broken = drain(p, bytes, out) == outcome::broken;
    CHECK(p.error().empty() != broken);
    return broken;
}

using texts = std::vector<std::string>;

const std::string_view every_type =
    "+OK\r\n-NOSCRIPT No matching script\r\n:-42\r\n$3\r\na\0b\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
    "*3\r\n:1\r\n*2\r\n$5\r\nx\r\n\ny\r\n*1\r\n+deep\r\n*2\r\n$-1\r\n-ERR\r\n"
    ":9223372036854775807\r\n"sv;

const texts every_type_shown = {
    "status \"OK\"", "error \"NOSCRIPT No matching script\"", "int -42",
    std::string("string \"a\0b\"", 12), "string \"\"", "nil", "nil", "[]",
    "[int 1, [string \"x\r\n\ny\", [status \"deep\"]], [nil, error \"ERR\"]]",
    "int 9223372036854775807"};

}  // namespace

// The layout of the reader and of its callbacks differs between the versions of hiredis.
TEST_CASE("the linked hiredis fits its header") {
    redisReader* reader = redisReaderCreateWithFunctions(nullptr);
    REQUIRE(reader != nullptr);
    CHECK(reader->fn == nullptr);
    CHECK(reader->privdata == nullptr);
    CHECK(reader->maxbuf == REDIS_READER_MAX_BUF);
    REQUIRE(redisReaderFeed(reader, "+OK\r\n:1", 7) == REDIS_OK);
    CHECK(reader->len == 7);
    void* root = nullptr;
    REQUIRE(redisReaderGetReply(reader, &root) == REDIS_OK);
    CHECK(root != nullptr);
    CHECK(reader->pos == 5);
    redisReaderFree(reader);
}

TEST_CASE("every type is parsed, pipelined and in order") {
    CHECK(parse_all(every_type) == every_type_shown);
}

TEST_CASE("replies may be split at every position") {
    for (std::size_t split = 0; split <= every_type.size(); ++split) {
        INFO("split at " << split);
        parser p;
        texts out;
        REQUIRE(drain(p, every_type.substr(0, split), out) == outcome::need_more);
        REQUIRE(drain(p, every_type.substr(split), out) == outcome::need_more);
        REQUIRE(out == every_type_shown);
    }
}

TEST_CASE("replies may come byte by byte") {
    parser p;
    texts out;
    for (std::size_t at = 0; at < every_type.size(); ++at) {
        REQUIRE(drain(p, every_type.substr(at, 1), out) == outcome::need_more);
    }
    CHECK(out == every_type_shown);
}

TEST_CASE("no bytes are no reply") {
    parser p;
    texts out;
    CHECK(drain(p, "", out) == outcome::need_more);
    CHECK(drain(p, "", out) == outcome::need_more);
    CHECK(out.empty());
}

TEST_CASE("each call gives one reply, also when the bytes are all taken") {
    parser p;
    std::string_view bytes = ":1\r\n:2\r\n";
    reply r;
    REQUIRE(p.feed(bytes, r) == outcome::complete);
    CHECK(r.integer() == 1);
    bytes = {};
    REQUIRE(p.feed(bytes, r) == outcome::complete);
    CHECK(r.integer() == 2);
    CHECK(p.feed(bytes, r) == outcome::need_more);
}

TEST_CASE("many replies in one buffer come out in order") {
    std::string bytes;
    texts expected;
    for (int number = 0; number < 50000; ++number) {
        bytes += ":" + std::to_string(number) + "\r\n";
        expected.push_back("int " + std::to_string(number));
    }
    CHECK(parse_all(bytes) == expected);
}

TEST_CASE("a string of a mebibyte is possible when the limit allows it") {
    const std::string body(1 << 20, 'x');
    const std::string bytes = "$" + std::to_string(body.size()) + "\r\n" + body + "\r\n:7\r\n";
    parser p({2 << 20, 10});
    std::string_view rest = bytes;
    reply r;
    REQUIRE(p.feed(rest, r) == outcome::complete);
    CHECK(r.text() == body);
    REQUIRE(p.feed(rest, r) == outcome::complete);
    CHECK(r.integer() == 7);
}

TEST_CASE("protocol errors break the parser") {
    const std::string_view bytes = GENERATE(
        "hello\r\n"sv, "\r\n"sv, "\0\r\n"sv, ":\r\n"sv, ":1x\r\n"sv, ":01\r\n"sv, ":+1\r\n"sv,
        ":-\r\n"sv, ":9223372036854775808\r\n"sv, "$\r\n"sv, "$-2\r\n"sv, "$-5\r\n"sv, "$x\r\n"sv,
        "$99999999999999999999\r\n"sv, "*-2\r\n"sv, "*x\r\n"sv, "*\r\n"sv, "$1\r\nabc\r\n"sv,
        "$1\r\na\n\r"sv, "*2\r\n:1\r\n?\r\n"sv, "%1\r\n+a\r\n+b\r\n"sv, "_\r\n"sv, "#t\r\n"sv,
        ",1.5\r\n"sv, "(1\r\n"sv, "~1\r\n:1\r\n"sv, ">1\r\n:1\r\n"sv, "=5\r\ntxt:a\r\n"sv,
        "+a\rb\r\n"sv, "-a\nb\r\n"sv, "+\r\r\n"sv, "HTTP/1.1 400 Bad Request\r\n"sv);
    INFO(bytes);
    CHECK(breaks(bytes));
}

TEST_CASE("hostile array counts are refused before anything is allocated") {
    const std::string_view bytes = GENERATE("*65537\r\n"sv, "*1000000000\r\n"sv,
                                            "*2147483647\r\n"sv, "*2147483648\r\n"sv,
                                            "*9223372036854775807\r\n"sv);
    INFO(bytes);
    CHECK(breaks(bytes));
}

TEST_CASE("the limit of elements counts those of nested arrays") {
    const parser_limits limits{1 << 20, 5};
    CHECK_FALSE(breaks("*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n:3\r\n", limits));
    CHECK(breaks("*2\r\n*2\r\n:1\r\n:2\r\n*2\r\n", limits));
    CHECK_FALSE(breaks("*5\r\n", limits));
    CHECK(breaks("*6\r\n", limits));
    CHECK_FALSE(breaks("*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n*5\r\n", limits));
}

TEST_CASE("arrays may be nested seven levels deep") {
    std::string levels;
    for (int level = 0; level < 7; ++level) {
        levels += "*1\r\n";
    }
    CHECK(parse_all(levels + ":1\r\n") == texts{"[[[[[[[int 1]]]]]]]"});
    CHECK(breaks(levels + "*1\r\n"));
    CHECK(breaks(levels + "*0\r\n"));
    for (int level = 0; level < 100000; ++level) {
        levels += "*1\r\n";
    }
    CHECK(breaks(levels));
}

TEST_CASE("a reply may be as long as the limit and no longer") {
    const std::string bytes = "$10\r\n0123456789\r\n";
    const std::size_t slack = GENERATE(0u, 1u, 100u);
    CHECK_FALSE(breaks(bytes, {bytes.size() + slack, 10}));
    CHECK(breaks(bytes, {bytes.size() - 1, 10}));
    CHECK(breaks(bytes, {0, 10}));
}

TEST_CASE("the limit is of each reply, not of what is in the buffer") {
    std::string bytes;
    for (int number = 0; number < 1000; ++number) {
        bytes += "$2\r\nab\r\n";
    }
    CHECK_FALSE(breaks(bytes, {8, 1}));
    CHECK(breaks(bytes + "$3\r\nabc\r\n", {8, 1}));
}

TEST_CASE("what never ends is refused at the limit, however it is cut") {
    const std::string_view header = GENERATE("$2147483647\r\n"sv, "$9223372036854775807\r\n"sv,
                                             "+"sv, "-"sv, ":"sv, "$"sv, "*"sv);
    const std::size_t step = GENERATE(1u, 7u, 5000u, 100000u);
    INFO(header << " in steps of " << step);
    const std::string bytes = std::string(header) + std::string(20000, '1');
    constexpr std::size_t limit = 10000;
    parser p({limit, 10});
    std::size_t taken = 0;
    outcome now = outcome::need_more;
    while (now == outcome::need_more && taken < bytes.size()) {
        std::string_view rest = std::string_view(bytes).substr(taken, step);
        const std::size_t offered = rest.size();
        reply r;
        now = p.feed(rest, r);
        taken += offered - rest.size();
    }
    CHECK(now == outcome::broken);
    CHECK(taken == limit);
}

TEST_CASE("a broken parser takes nothing more until it is reset") {
    const std::string_view cause = GENERATE("*2\r\n:1\r\n!"sv, "*9\r\n"sv, "$70\r\n12345678"sv);
    INFO(cause);
    parser p({12, 8});
    texts out;
    REQUIRE(drain(p, cause, out) == outcome::broken);
    const std::string why(p.error());
    std::string_view bytes = ":5\r\n";
    reply r;
    for (int call = 0; call < 3; ++call) {
        CHECK(p.feed(bytes, r) == outcome::broken);
        CHECK(bytes.size() == 4);
        CHECK(p.error() == why);
    }
    p.reset();
    CHECK(p.error().empty());
    REQUIRE(p.feed(bytes, r) == outcome::complete);
    CHECK(r.integer() == 5);
}

TEST_CASE("a reset forgets half a reply and replies not yet given out") {
    parser p({24, 8});
    std::string_view bytes = ":1\r\n:2\r\n*2\r\n:3\r\n$10\r\nabc";
    reply r;
    REQUIRE(p.feed(bytes, r) == outcome::complete);
    p.reset();
    texts out;
    REQUIRE(drain(p, "$17\r\n0123456789abcdefg\r\n", out) == outcome::need_more);
    CHECK(out == texts{"string \"0123456789abcdefg\""});
}

TEST_CASE("the buffer of the texts is used again") {
    parser p;
    std::string_view bytes = "$3\r\nabc\r\n$3\r\ndef\r\n";
    reply r;
    REQUIRE(p.feed(bytes, r) == outcome::complete);
    const char* first = r.text().data();
    REQUIRE(p.feed(bytes, r) == outcome::complete);
    CHECK(r.text() == "def");
    CHECK(r.text().data() == first);
}

TEST_CASE("a parser that was moved goes on") {
    parser first;
    texts out;
    REQUIRE(drain(first, "*2\r\n:1\r\n$3\r\na", out) == outcome::need_more);
    parser second = std::move(first);
    REQUIRE(drain(second, "bc\r\n", out) == outcome::need_more);
    CHECK(out == texts{"[int 1, string \"abc\"]"});
}

namespace {

std::string random_reply(std::mt19937& random, int depth) {
    static const std::string_view pieces[] = {"", "OK", "a b", "-1", "$5", "ERR no", "*"};
    switch (random() % (depth < 5 ? 8 : 5)) {
    case 0:
        return "+" + std::string(pieces[random() % 5]) + "\r\n";
    case 1:
        return "-" + std::string(pieces[random() % 7]) + "\r\n";
    case 2:
        return ":" + std::to_string(static_cast<std::int32_t>(random())) + "\r\n";
    case 3:
        return random() % 2 ? "$-1\r\n" : "*-1\r\n";
    case 4: {
        std::string body(random() % (random() % 20 == 0 ? 3000 : 12), '\0');
        std::generate(body.begin(), body.end(), [&] { return "\r\n$*:a\0\xff"[random() % 8]; });
        return "$" + std::to_string(body.size()) + "\r\n" + body + "\r\n";
    }
    default:
        break;
    }
    const std::size_t size = random() % 5;
    std::string all = "*" + std::to_string(size) + "\r\n";
    for (std::size_t child = 0; child < size; ++child) {
        all += random_reply(random, depth + 1);
    }
    return all;
}

void mutate(std::mt19937& random, std::string& bytes) {
    for (auto left = random() % 4; left > 0 && !bytes.empty(); --left) {
        const std::size_t at = random() % bytes.size();
        switch (random() % 3) {
        case 0:
            bytes[at] = "+-:$*\r\n0123459x\0"[random() % 16];
            break;
        case 1:
            bytes.erase(at, 1 + random() % 3);
            break;
        default:
            bytes.insert(at, 1, "+-:$*\r\n0123459x\0"[random() % 16]);
            break;
        }
    }
}

outcome decode_all(std::string_view bytes, parser_limits limits, texts& out) {
    using namespace redlock::resp::testing;
    for (;;) {
        const std::string_view seen = bytes.substr(0, limits.max_reply_bytes);
        reference_decoder decoder(seen, limits.max_elements);
        const decoded now = decoder.run();
        if (now == decoded::broken) {
            return outcome::broken;
        }
        if (now == decoded::need_more) {
            return seen.size() < limits.max_reply_bytes ? outcome::need_more : outcome::broken;
        }
        out.push_back(decoder.text());
        bytes.remove_prefix(decoder.consumed());
    }
}

}  // namespace

TEST_CASE("random bytes give what the reference decoder gives, however they are cut") {
    const unsigned seed = GENERATE(range(1u, 17u));
    std::mt19937 random(seed);
    int broken = 0;
    constexpr int rounds = 2000;
    for (int round = 0; round < rounds; ++round) {
        INFO("seed " << seed << " round " << round);
        std::string bytes;
        for (auto left = 1 + random() % 6; left > 0; --left) {
            bytes += random_reply(random, 0);
        }
        if (random() % 2) {
            mutate(random, bytes);
        }
        parser_limits limits;
        if (random() % 2) {
            limits = {20 + random() % 200, random() % 9};
        }
        texts expected;
        const outcome expected_end = decode_all(bytes, limits, expected);

        parser p(limits);
        texts out;
        outcome end = outcome::need_more;
        std::string_view rest = bytes;
        while (!rest.empty() && end == outcome::need_more) {
            const std::size_t longest = random() % 2 ? 5 : 4000;
            const std::string_view slice = rest.substr(0, 1 + random() % longest);
            rest.remove_prefix(slice.size());
            end = drain(p, slice, out);
        }
        REQUIRE(out == expected);
        REQUIRE(end == expected_end);
        broken += end == outcome::broken;
    }
    // The comparison means little unless both ends occur often.
    CHECK(broken > rounds / 10);
    CHECK(broken < rounds * 9 / 10);
}

}  // namespace parser_test

// Tests the view of a reply, above all where it does not fit; knows nothing of a server.
namespace reply_test {

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

}  // namespace reply_test
