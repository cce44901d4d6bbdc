// The Redis master in memory answers as a real one does: commands, scripts, time and faults.
// SPDX-License-Identifier: MIT
#include "component/support/desk.hpp"
#include "component/support/fake_node.hpp"
#include "support/catch.hpp"
#include "testing/model.hpp"
#include "wire/resp/command.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace redlock;
using namespace std::chrono_literals;
using fakes::redis_model;
using testing::desk;
using testing::has;

TEST_CASE("strings are set and read with their conditions") {
    desk d;
    CHECK(d({"GET", "a"}) == "$-1");
    CHECK(d({"set", "a", "1", "nx"}) == "+OK");
    CHECK(d({"SET", "a", "2", "NX"}) == "$-1");
    CHECK(d({"SET", "b", "2", "XX"}) == "$-1");
    CHECK(d({"SET", "a", "3", "XX"}) == "+OK");
    CHECK(d({"RPUSH", "l", "x", "y"}) == ":2");
    CHECK(d({"MGET", "a", "b", "l"}) == "*3 $1 3 $-1 $-1");
    CHECK(d({"EXISTS", "a", "a", "b", "l"}) == ":3");
    CHECK(has(d({"GET", "l"}), "-WRONGTYPE Operation against"));
    CHECK(has(d({"RPUSH", "a", "x"}), "-WRONGTYPE Operation against"));
    CHECK(d({"SET", "l", "now a string"}) == "+OK");
    CHECK(d({"DEL", "a", "b", "l"}) == ":2");
    CHECK(d({"SET", "a", "1", "NX", "XX"}) == "-ERR syntax error");
    CHECK(d({"SET", "a", "1", "PX", "0"}) == "-ERR invalid expire time in 'set' command");
    CHECK(d({"SET", "a", "1", "PX", "1x"}) == "-ERR value is not an integer or out of range");
    CHECK(d({"SET", "a", "1", "PX", "9223372036854775807"}) ==
          "-ERR invalid expire time in 'set' command");
    CHECK(d({"SET", "a"}) == "-ERR wrong number of arguments for 'set' command");
    CHECK(d({"NOPE", "a"}) == "-ERR unknown command 'NOPE', with args beginning with: 'a' ");
}

TEST_CASE("sets keep each member once") {
    desk d;
    CHECK(d({"SISMEMBER", "s", "x"}) == ":0");
    CHECK(d({"SADD", "s", "x", "y", "x"}) == ":2");
    CHECK(d({"SADD", "s", "y", "z"}) == ":1");
    CHECK(d({"SISMEMBER", "s", "z"}) == ":1");
    CHECK(d({"SISMEMBER", "s", "w"}) == ":0");
    CHECK(d({"TYPE", "s"}) == "+set");
    CHECK(has(d({"GET", "s"}), "-WRONGTYPE Operation against"));
    CHECK(d({"SET", "a", "1"}) == "+OK");
    CHECK(has(d({"SADD", "a", "x"}), "-WRONGTYPE Operation against"));
    CHECK(has(d({"SISMEMBER", "a", "x"}), "-WRONGTYPE Operation against"));
}

TEST_CASE("a key lives for its ttl and less than a millisecond more") {
    desk d;
    d.now += 999us;
    CHECK(d({"SET", "a", "1", "PX", "10"}) == "+OK");
    CHECK(d({"PTTL", "a"}) == ":10");
    d.now += 10ms;
    CHECK(d({"PTTL", "a"}) == ":0");
    CHECK(d({"GET", "a"}) == "$1 1");
    d.now += 1us;
    CHECK(d({"GET", "a"}) == "$-1");
    CHECK(d({"PTTL", "a"}) == ":-2");
    CHECK(d({"PEXPIRE", "a", "5"}) == ":0");
    CHECK(d({"SET", "a", "1"}) == "+OK");
    CHECK(d({"PTTL", "a"}) == ":-1");
    CHECK(d({"PEXPIRE", "a", "5"}) == ":1");
    CHECK(d({"PTTL", "a"}) == ":5");
    CHECK(d({"SET", "a", "2"}) == "+OK");
    CHECK(d({"PTTL", "a"}) == ":-1");
    CHECK(d({"PEXPIRE", "a", "-1"}) == ":1");
    CHECK(d({"EXISTS", "a"}) == ":0");
}

TEST_CASE("the node goes by its own clock") {
    desk d;
    d.server.wall.set_offset(-1s);
    CHECK(d({"TIME"}) == "*2 $10 1700003599 $1 0");
    CHECK(d({"SET", "a", "1", "PX", "5000"}) == "+OK");
    SECTION("a step forward ends keys") {
        d.server.step_clock(6s, d.now);
        CHECK(d({"GET", "a"}) == "$-1");
    }
    SECTION("a step back prolongs them but brings none back") {
        CHECK(d({"SET", "b", "1", "PX", "1"}) == "+OK");
        d.now += 2ms;
        d.server.step_clock(-1s, d.now);
        CHECK(d({"PTTL", "a"}) == ":5998");
        CHECK(d({"GET", "b"}) == "$-1");
    }
    SECTION("a clock that gains ends them early") {
        d.server.wall.set_drift_ppm(100'000, d.now);
        d.now += 4s;
        CHECK(d({"PTTL", "a"}) == ":600");
        const std::int64_t end = d.server.wall.us(d.now) + 600'000;
        const time_point when = d.server.wall.when_us(end);
        CHECK(d.server.wall.us(when) >= end);
        CHECK(d.server.wall.us(when - 1us) < end);
        d.server.wall.set_drift_ppm(0, d.now);
        CHECK(d({"PTTL", "a"}) == ":600");
    }
}

TEST_CASE("databases are apart and FLUSHALL empties all") {
    desk d;
    d({"SET", "a", "0"});
    CHECK(d({"SELECT", "3"}) == "+OK");
    CHECK(d({"GET", "a"}) == "$-1");
    d({"SET", "a", "3"});
    CHECK(d.eval("redis.call('SELECT', 0) return redis.call('GET', 'a')") == "$1 0");
    CHECK(d({"GET", "a"}) == "$1 3");
    CHECK(d({"SELECT", "16"}) == "-ERR DB index is out of range");
    CHECK(d({"FLUSHALL"}) == "+OK");
    CHECK(d({"GET", "a"}) == "$-1");
    CHECK(d.server.database(0).all().empty());
}

TEST_CASE("Lua values become replies and replies Lua values") {
    desk d;
    d({"RPUSH", "l", "x"});
    struct conversion {
        const char* script;
        const char* reply;
    };
    const conversion cases[] = {
        {"return 3.9", ":3"},
        {"return -3.9", ":-3"},
        {"return true", ":1"},
        {"return false", "$-1"},
        {"return nil", "$-1"},
        {"return {1, 2.9, {ok = 'K'}, 's', true, false, {}, nil, 4}", "*7 :1 :2 +K $1 s :1 $-1 *0"},
        {"return {err = 'E x'}", "-E x"},
        {"return redis.error_reply('FOREIGN x')", "-FOREIGN x"},
        {"return redis.error_reply('-X')", "-ERR X"},
        {"return redis.status_reply('AMNESIAC')", "+AMNESIAC"},
        {"return redis.call('GET', 'none') == false and 'f' or 't'", "$1 f"},
        {"return redis.call('MGET', 'none', 'l')", "*2 $-1 $-1"},
        {"return redis.call('SET', 'n', 1.5).ok", "$2 OK"},
        {"redis.call('SET', 'n', 9007199254740993) return redis.call('GET', 'n')",
         "$16 9007199254740992"},
        {"return type(redis.call('PTTL', 'l'))", "$6 number"},
        {"return redis.pcall('GET', 'l').err:sub(1, 9)", "$9 WRONGTYPE"},
        {"return redis.pcall('SCRIPT', 'FLUSH')",
         "-ERR This Redis command is not allowed from script"},
        {"local ok, e = pcall(redis.call, 'GET', 'l') return {ok, e:sub(1, 9)}",
         "*2 $-1 $9 WRONGTYPE"},
        {"return {#KEYS, #ARGV}", "*2 :0 :0"},
        {"return 'a\\r\\nb'", "$4 a b"},
    };
    for (const auto& c : cases) {
        INFO(c.script);
        CHECK(d.eval(c.script) == c.reply);
    }
    CHECK(d.eval("return {KEYS[1], ARGV[1], ARGV[2]}", {"k"}, {"", "b"}) == "*3 $1 k $0  $1 b");
}

TEST_CASE("a script that fails says what and where") {
    desk d;
    d({"RPUSH", "l", "x"});
    const auto script_error = [&](const std::string& script, const std::string& text, int line) {
        INFO(script);
        CHECK(d.eval(script) == "-" + text + " script: " + fakes::sha1_of(script) +
                                    ", on @user_script:" + std::to_string(line) + ".");
    };
    script_error("return redis.call('GET')",
                 "ERR Wrong number of args calling Redis command from script", 1);
    script_error("return redis.call('NOPE')", "ERR Unknown Redis command called from script", 1);
    script_error("return redis.call()",
                 "ERR Please specify at least one argument for this redis lib call", 1);
    script_error("\nredis.call('SET', 'a', {})",
                 "ERR Lua redis lib command arguments must be strings or integers", 2);
    script_error("return redis.call('GET', 'l')",
                 "WRONGTYPE Operation against a key holding the wrong kind of value", 1);
    script_error("local x = nil + 1",
                 "ERR user_script:1: attempt to perform arithmetic on a nil value", 1);
    script_error("\n\nreturn x",
                 "ERR user_script:3: Script attempted to access nonexistent global variable 'x'",
                 3);
    script_error("x = 1", "ERR user_script:1: Attempt to modify a readonly table", 1);
    script_error("error('boo')", "ERR user_script:1: boo", 1);
    script_error("error({err = 'FOO x'})", "FOO x", 1);
    CHECK(d.eval("ret urn") ==
          "-ERR Error compiling script (new function): user_script:1: '=' expected near 'urn'");
    CHECK(d({"EVAL", "return 1", "2", "a"}) ==
          "-ERR Number of keys can't be greater than number of args");
    CHECK(d({"EVAL", "return 1", "-1"}) == "-ERR Number of keys can't be negative");
    CHECK(d({"EVAL", "ret urn", "x"}) == "-ERR value is not an integer or out of range");
}

TEST_CASE("scripts reach neither a clock nor chance nor a file") {
    desk d;
    CHECK(d.eval("return {type(math.random), type(math.randomseed), type(math.max)}") ==
          "*3 $3 nil $3 nil $8 function");
    for (const char* name : {"os", "io", "print", "dofile", "loadfile", "rawset"}) {
        CHECK(has(d.eval(std::string("return ") + name), "nonexistent global"));
    }
}

TEST_CASE("a script is known by its SHA1 until it is flushed or the process ends") {
    desk d;
    for (const auto& s : resp::all_scripts()) CHECK(fakes::sha1_of(s.text) == s.sha1);
    const std::string sha1 = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    const std::string missing = "-NOSCRIPT No matching script. Please use EVAL.";
    CHECK(d({"EVALSHA", sha1, "0"}) == missing);
    SECTION("by SCRIPT LOAD") { CHECK(d({"SCRIPT", "LOAD", "return 1"}) == "$40 " + sha1); }
    SECTION("by EVAL") { CHECK(d.eval("return 1") == ":1"); }
    const std::vector<std::string> search{"SCRIPT", "EXISTS", std::string(40, 'a'),
                                          fakes::in_upper_case(sha1)};
    CHECK(d(search) == "*2 :0 :1");
    CHECK(d({"EVALSHA", fakes::in_upper_case(sha1), "0"}) == ":1");
    CHECK(d({"SCRIPT", "FLUSH"}) == "+OK");
    CHECK(d(search) == "*2 :0 :0");
    CHECK(d({"EVALSHA", sha1, "0"}) == missing);
    d({"SCRIPT", "LOAD", "return 1"});
    const std::string before = d.server.run_id();
    d({"SET", "a", "1"});
    d.server.crash(redis_model::data::kept);
    CHECK(d({"EVALSHA", sha1, "0"}) == missing);
    CHECK(d.server.run_id() != before);
    CHECK(d({"GET", "a"}) == "$1 1");
    d.server.crash(redis_model::data::lost);
    CHECK(d({"GET", "a"}) == "$-1");
}

TEST_CASE("run_ids differ by seed and are the same in every run") {
    CHECK(redis_model(1).run_id() == redis_model(1).run_id());
    CHECK(redis_model(1).run_id() != redis_model(2).run_id());
    CHECK(redis_model(1).run_id().size() == 40);
}

TEST_CASE("commands before AUTH answer NOAUTH, and a wrong password WRONGPASS") {
    desk d;
    CHECK(has(d({"AUTH", "x"}), "-ERR AUTH <password> called without any password"));
    d.server.password = "secret";
    CHECK(d({"PING"}) == "-NOAUTH Authentication required.");
    CHECK(has(d({"AUTH", "x"}), "-WRONGPASS"));
    CHECK(has(d({"AUTH", "nobody", "secret"}), "-WRONGPASS"));
    CHECK(d({"PING"}) == "-NOAUTH Authentication required.");
    CHECK(d({"AUTH", "default", "secret"}) == "+OK");
    CHECK(d({"PING"}) == "+PONG");
}

TEST_CASE("a server tells of itself") {
    desk d;
    std::string info = d({"INFO"});
    CHECK(has(info, " run_id:" + d.server.run_id() + " "));
    CHECK(has(info, " role:master "));
    CHECK(has(info, " aof_enabled:0 "));
    CHECK(has(info, " loading:0 "));
    CHECK_FALSE(has(d({"INFO", "replication"}), "run_id"));
    CHECK(d({"CONFIG", "GET", "*appendfsync*"}) ==
          "*4 $11 appendfsync $8 everysec $25 no-appendfsync-on-rewrite $2 no");
    CHECK(d({"CONFIG", "GET", "none?"}) == "*0");
    d.server.set_durable(true);
    d.server.set_replica(true);
    info = d({"INFO", "all"});
    CHECK(has(info, " role:slave "));
    CHECK(has(info, " aof_enabled:1 aof_rewrite_in_progress:0 aof_rewrite_scheduled:0 "));
    CHECK(d({"CONFIG", "GET", "appendfsync"}) == "*2 $11 appendfsync $6 always");
    CHECK(d({"CLIENT", "SETNAME", "a_b"}) == "+OK");
    CHECK(has(d({"CLIENT", "SETNAME", "a b"}), "-ERR Client names"));
    CHECK(has(d({"CLIENT", "NOPE"}), "-ERR unknown subcommand 'NOPE'"));
}

TEST_CASE("a server that loads answers only about itself") {
    desk d;
    d.server.set_loading(true);
    const std::string loading = "-LOADING Redis is loading the dataset in memory";
    CHECK(d({"GET", "a"}) == loading);
    CHECK(d({"SCRIPT", "LOAD", "return 1"}) == loading);
    CHECK(d.eval("return 1") == loading);
    CHECK(has(d({"INFO"}), " loading:1 "));
    d.server.set_loading(false);
    CHECK(d({"GET", "a"}) == "$-1");
}

TEST_CASE("without memory a script writes only where it has written before") {
    desk d;
    d({"SET", "a", "1"});
    d.server.set_out_of_memory(true);
    const std::string oom = "-OOM command not allowed when used memory > 'maxmemory'.";
    CHECK(d({"SET", "b", "1"}) == oom);
    CHECK(d({"PEXPIRE", "a", "100"}) == ":1");
    CHECK(has(d.eval("return redis.call('SET', 'b', 1)"), oom + " script: "));
    CHECK(d.eval("return redis.pcall('SET', 'b', 1)") == oom);
    CHECK(d({"EXISTS", "b"}) == ":0");
    CHECK(d.eval("redis.call('DEL', 'none') return redis.call('SET', 'b', 1)") == "+OK");
    CHECK(d({"DEL", "a", "b"}) == ":2");
}

TEST_CASE("a replica takes no writes and a user only what is permitted") {
    desk d;
    d({"SET", "a", "1"});
    d.server.set_replica(true);
    const std::string readonly = "-READONLY You can't write against a read only replica.";
    CHECK(d({"DEL", "a"}) == readonly);
    CHECK(d.eval("return redis.pcall('SET', 'a', 2)") == readonly);
    CHECK(d({"GET", "a"}) == "$1 1");
    d.server.set_replica(false);
    d.server.forbid("GET");
    d.server.forbid("SCRIPT|LOAD");
    CHECK(d({"GET", "a"}) == "-NOPERM this user has no permissions to run the 'get' command");
    CHECK(has(d({"SCRIPT", "LOAD", "return 1"}), "-NOPERM"));
    CHECK(has(d.eval("return redis.pcall('GET', 'a')"), "-ERR The user executing the script"));
    d.server.permit("GET");
    CHECK(d({"GET", "a"}) == "$1 1");
}

TEST_CASE("a fake node shows its keys by the world's time") {
    fakes::fake_node n(1);
    fakes::connection c;
    const time_point now = time_point{} + 1h + 300us;
    n.wall.set_offset(-5s);
    CHECK(n.answer(c, "*1\r\n$4\r\nPING\r\n", now) == "+PONG\r\n");
    CHECK(n.count("PING") == 1);
    n.put("r", "me", now + 10ms);
    n.put("{r}:fence", "5", now + 1s);
    n.put("app:redlock:node", "a record", time_point::max());
    CHECK(n.all_keys(now).size() == 3);
    REQUIRE(n.keys(now).size() == 1);
    const time_point end = n.keys(now).at("r").expires;
    CHECK(end >= now + 10ms);
    CHECK(end < now + 11ms);
    CHECK(n.keys(end - 1us).size() == 1);
    CHECK(n.keys(end).empty());
    n.lose_everything();
    CHECK(n.all_keys(now).empty());
}

TEST_CASE("the library's own scripts run on it") {
    desk d;
    const std::string epoch(22, 'e');
    const auto us = [&] { return d.server.wall.us(d.now); };
    const std::string text = " run_id=r since=" + std::to_string(us()) +
                             " cluster_since=" + std::to_string(us() - 7);
    const std::string made = d.eval(std::string(resp::record().text), {"redlock:node"},
                                    {"", epoch + " run_id=r since=@now+0 cluster_since=@now-7", ""});
    const std::string size = std::to_string(epoch.size() + text.size());
    CHECK(made == "*2 :" + std::to_string(us()) + " $" + size + " " + epoch + text);
    const auto acquire = [&](const std::string& owner, std::int64_t fence) {
        return d.eval(std::string(resp::requests().text),
                      {"redlock:node", "r", "{r}:fence", "{r}:queue"},
                      {epoch, "", "15000000", "0", "1", "acquire", owner, "1000",
                       std::to_string(fence)});
    };
    const auto plain = [&](const std::vector<std::string>& words) {
        return d.eval(std::string(resp::plain().text), {"r"}, words);
    };
    CHECK(acquire("me", us() + 60'000'000) == "*2 :5 :" + std::to_string(us()));
    CHECK(acquire("me", us() - 15'000'000) == "*2 :4 :" + std::to_string(us() - 15'000'000));
    const std::int64_t first = us();
    CHECK(acquire("me", first) == ":1");
    CHECK(acquire("you", first + 1) == "*5 :2 :1000 $2 me :" + std::to_string(first) + " :0");
    CHECK(plain({"release", "you"}) == ":0");
    d.now += 2s;
    CHECK(acquire("you", first) == "*2 :4 :" + std::to_string(first));
    CHECK(acquire("you", first + 1) == ":1");
    CHECK(plain({"extend", "you", "5000"}) == ":1");
    CHECK(d({"PTTL", "r"}) == ":5000");
    CHECK(plain({"release", "you"}) == ":1");
    for (const auto* none : {"", "x", "-1", " 7", "1e3", "9007199254740992"}) {
        INFO(none);
        d({"SET", "{r}:fence", none});
        const std::string foreign = acquire("me", us());
        CHECK(foreign.substr(0, 8) == "-FOREIGN");
        CHECK(foreign.find("does not hold a fence") != foreign.npos);
        CHECK(d({"GET", "r"}) == "$-1");
    }
    d.server.crash(redis_model::data::lost);
    CHECK(acquire("me", us()) == "+AMNESIAC");
}

}  // namespace
