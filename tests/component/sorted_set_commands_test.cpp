// The Redis master in memory keeps sorted sets as a real one does, also for its scripts.
// SPDX-License-Identifier: MIT
#include "component/support/desk.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <string>

namespace {

using namespace redlock;
using namespace std::chrono_literals;
using fakes::redis_model;
using testing::desk;
using testing::has;

const std::string wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";

TEST_CASE("members of a sorted set are in the order of their scores, then of their bytes") {
    desk d;
    CHECK(d({"ZADD", "z", "2", "b", "1", "c", "2", "\xff", "2", "B"}) == ":4");
    CHECK(d({"ZRANGE", "z", "0", "-1"}) == "*4 $1 c $1 B $1 b $1 \xff");
    CHECK(d({"ZADD", "z", "0", "b", "3", "d"}) == ":1");
    CHECK(d({"ZRANGE", "z", "0", "1", "withscores"}) == "*4 $1 b $1 0 $1 c $1 1");
    CHECK(d({"ZRANGE", "z", "-2", "-1"}) == "*2 $1 \xff $1 d");
    CHECK(d({"ZRANGE", "z", "-9", "0"}) == "*1 $1 b");
    CHECK(d({"ZRANGE", "z", "4", "9"}) == "*1 $1 d");
    CHECK(d({"ZRANGE", "z", "5", "9"}) == "*0");
    CHECK(d({"ZRANGE", "z", "2", "1"}) == "*0");
    CHECK(d({"ZRANK", "z", "c"}) == ":1");
    CHECK(d({"ZRANK", "z", "none"}) == "$-1");
    CHECK(d({"ZCARD", "z"}) == ":5");
    CHECK(d({"ZREM", "z", "b", "none", "c", "b"}) == ":2");
    CHECK(d({"ZREM", "z", "B", "\xff", "d"}) == ":3");
    CHECK(d({"EXISTS", "z"}) == ":0");
    CHECK(d.server.database().all().empty());
}

TEST_CASE("ZADD adds only what its option lets it") {
    desk d;
    CHECK(d({"ZADD", "z", "XX", "1", "a"}) == ":0");
    CHECK(d({"EXISTS", "z"}) == ":0");
    CHECK(d({"ZADD", "z", "nx", "1", "a", "2", "a"}) == ":1");
    CHECK(d({"ZSCORE", "z", "a"}) == "$1 1");
    CHECK(d({"ZADD", "z", "xx", "5", "a", "2", "b"}) == ":0");
    CHECK(d({"ZRANGE", "z", "0", "-1", "WITHSCORES"}) == "*2 $1 a $1 5");
    CHECK(has(d({"ZADD", "z", "NX", "XX", "1", "a"}), "-ERR XX and NX options"));
    CHECK(d({"ZADD", "z", "NX", "1"}) == "-ERR syntax error");
    CHECK(d({"ZADD", "z", "1", "b", "x", "c"}) == "-ERR value is not a valid float");
    CHECK(d({"ZADD", "z", "nan", "b"}) == "-ERR value is not a valid float");
    CHECK(d({"ZADD", "z", " 1", "b"}) == "-ERR value is not a valid float");
    CHECK(d({"ZCARD", "z"}) == ":1");
}

TEST_CASE("scores are printed as Redis prints them") {
    struct score {
        const char* given;
        const char* shown;
    };
    const score cases[] = {
        {"1700000000000005", "$16 1700000000000005"},
        {"9007199254740991", "$16 9007199254740991"},
        {"-9007199254740991", "$17 -9007199254740991"},
        {"1e3", "$4 1000"},
        {"0x10", "$2 16"},
        {"-0", "$1 0"},
        {"1.50", "$3 1.5"},
        {"0.1", "$19 0.10000000000000001"},
        {"+inf", "$3 inf"},
        {"-Infinity", "$4 -inf"},
    };
    desk d;
    for (const auto& c : cases) {
        INFO(c.given);
        d({"ZADD", "z", c.given, "m"});
        CHECK(d({"ZSCORE", "z", "m"}) == c.shown);
    }
    CHECK(d({"ZADD", "z", "1e400", "m"}) == "-ERR value is not a valid float");
    CHECK(d({"ZADD", "z", "1e-400", "m"}) == "-ERR value is not a valid float");
    CHECK(d({"ZSCORE", "z", "none"}) == "$-1");
}

TEST_CASE("a range of scores has open, closed and endless ends, and a limit") {
    desk d;
    d({"ZADD", "z", "1", "a", "2", "b", "3", "c"});
    const auto range = [&](const fakes::command& rest) {
        fakes::command c{"ZRANGEBYSCORE", "z"};
        c.insert(c.end(), rest.begin(), rest.end());
        return d(c);
    };
    CHECK(range({"1", "2"}) == "*2 $1 a $1 b");
    CHECK(range({"(1", "2"}) == "*1 $1 b");
    CHECK(range({"1", "(2"}) == "*1 $1 a");
    CHECK(range({"(2", "(2"}) == "*0");
    CHECK(range({"3", "1"}) == "*0");
    CHECK(range({"-inf", "+inf"}) == "*3 $1 a $1 b $1 c");
    CHECK(range({"(1", "inf", "WITHSCORES", "LIMIT", "1", "5"}) == "*2 $1 c $1 3");
    CHECK(range({"-inf", "inf", "LIMIT", "0", "1"}) == "*1 $1 a");
    CHECK(range({"-inf", "inf", "limit", "1", "-1", "withscores"}) == "*4 $1 b $1 2 $1 c $1 3");
    CHECK(range({"-inf", "inf", "LIMIT", "-1", "2"}) == "*0");
    CHECK(range({"-inf", "inf", "LIMIT", "0", "0"}) == "*0");
    CHECK(range({"a", "2"}) == "-ERR min or max is not a float");
    CHECK(range({"1", "2", "LIMIT", "0"}) == "-ERR syntax error");
    CHECK(range({"1", "2", "LIMIT", "0", "x"}) == "-ERR value is not an integer or out of range");
    CHECK(has(d({"ZRANGE", "z", "0", "1", "LIMIT", "0", "1"}), "-ERR syntax error, LIMIT is only"));
}

TEST_CASE("a sorted set is a key like another, but no string and no list") {
    desk d;
    d({"ZADD", "z", "1", "a"});
    d({"SET", "s", "1"});
    d({"RPUSH", "l", "1"});
    CHECK(d({"TYPE", "z"}) == "+zset");
    CHECK(d({"TYPE", "s"}) == "+string");
    CHECK(d({"TYPE", "l"}) == "+list");
    CHECK(d({"TYPE", "none"}) == "+none");
    for (const char* key : {"s", "l"}) {
        CHECK(d({"ZADD", key, "1", "a"}) == wrong_type);
        CHECK(d({"ZADD", key, "XX", "1", "a"}) == wrong_type);
        CHECK(d({"ZREM", key, "a"}) == wrong_type);
        CHECK(d({"ZCARD", key}) == wrong_type);
        CHECK(d({"ZSCORE", key, "a"}) == wrong_type);
        CHECK(d({"ZRANK", key, "a"}) == wrong_type);
        CHECK(d({"ZRANGE", key, "0", "-1"}) == wrong_type);
        CHECK(d({"ZRANGEBYSCORE", key, "0", "1"}) == wrong_type);
    }
    CHECK(d({"GET", "z"}) == wrong_type);
    CHECK(d({"GETRANGE", "z", "0", "1"}) == wrong_type);
    CHECK(d({"RPUSH", "z", "x"}) == wrong_type);
    CHECK(d({"MGET", "z", "s"}) == "*2 $-1 $1 1");
    CHECK(d({"PEXPIRE", "z", "10"}) == ":1");
    CHECK(d({"ZADD", "z", "2", "b"}) == ":1");
    CHECK(d({"PTTL", "z"}) == ":10");
    d.now += 11ms;
    CHECK(d({"ZCARD", "z"}) == ":0");
    CHECK(d({"ZADD", "z", "2", "b"}) == ":1");
    CHECK(d({"PTTL", "z"}) == ":-1");
    CHECK(d({"DEL", "z"}) == ":1");
    d({"ZADD", "z", "1", "a"});
    CHECK(d({"SET", "z", "now a string"}) == "+OK");
}

TEST_CASE("a snapshot keeps the sorted sets of its time") {
    desk d;
    d({"ZADD", "z", "1", "a"});
    d.server.save();
    d({"ZADD", "z", "2", "a", "3", "b"});
    d.server.crash(redis_model::data::saved);
    CHECK(d({"ZRANGE", "z", "0", "-1", "WITHSCORES"}) == "*2 $1 a $1 1");
}

TEST_CASE("scripts use sorted sets") {
    desk d;
    CHECK(d.eval("return redis.call('ZADD', KEYS[1], 1700000000000005, 'a', 2, 'b')", {"z"}) ==
          ":2");
    CHECK(d.eval("return redis.call('ZSCORE', 'z', 'a')") == "$16 1700000000000005");
    CHECK(d.eval("return redis.call('ZRANGE', 'z', 0, 0)[1]") == "$1 b");
    CHECK(d.eval("return redis.call('ZSCORE', 'z', 'x') == false and 1 or 0") == ":1");
    CHECK(d.eval("return redis.call('ZRANK', 'z', 'x') == false and 1 or 0") == ":1");
    CHECK(d.eval("return redis.call('TYPE', 'z').ok") == "$4 zset");
    CHECK(d.eval("return redis.pcall('GET', 'z')") == wrong_type);
    d.server.set_out_of_memory(true);
    const std::string oom = "-OOM command not allowed when used memory > 'maxmemory'.";
    CHECK(d({"ZADD", "z", "1", "c"}) == oom);
    CHECK(d.eval("return redis.pcall('ZADD', 'z', 1, 'c')") == oom);
    CHECK(d.eval("redis.call('ZREM', 'z', 'b') return redis.call('ZADD', 'z', 1, 'c')") == ":1");
    CHECK(d({"ZREM", "z", "c"}) == ":1");
    d.server.set_replica(true);
    CHECK(has(d({"ZREM", "z", "a"}), "-READONLY"));
    CHECK(d({"ZCARD", "z"}) == ":1");
}

}  // namespace
