// The Redis master in memory answers as a real one, byte for byte; knows nothing of the library.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/direct.hpp"
#include "support/redis_server.hpp"
#include "testing/model.hpp"
#include "wire/resp/reply.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;
using fakes::command;

namespace {

// A connection to a real server on which the bytes themselves are seen.
class wire {
public:
    explicit wire(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const timeval limit{5, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            ::close(fd_);
            throw std::runtime_error("no connection");
        }
    }
    ~wire() { ::close(fd_); }
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    void send(const command& c) {
        std::vector<fakes::model_reply> words;
        for (const auto& word : c) words.push_back(fakes::model_reply::bulk(word));
        const std::string bytes = to_resp2(fakes::model_reply::array(std::move(words)));
        const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("not sent");
    }
    // The next replies, which are all that comes.
    std::string receive(std::size_t replies) {
        std::string all;
        while (replies > 0) {
            char buffer[4096];
            const auto n = ::recv(fd_, buffer, sizeof buffer, 0);
            if (n <= 0) throw std::runtime_error("no reply, after: " + all);
            std::string_view bytes(buffer, static_cast<std::size_t>(n));
            all += bytes;
            resp::reply r;
            while (parser_.feed(bytes, r) == resp::parser::outcome::complete) --replies;
        }
        return all;
    }

private:
    int fd_;
    resp::parser parser_{};
};

struct servers {
    redis_server real;
    fakes::redis_model model{7};
    time_point now = time_point{} + 1h;

    explicit servers(server_options options = {}) : real(std::move(options)) {}
};

// A connection to both. What differs fails the test.
class connections {
public:
    explicit connections(servers& to) : to_(&to), real_(to.real.port()) {
        model_.push = [this](std::string bytes) {
            heard_ += bytes;
            ++messages_;
        };
    }

    void operator()(const command& c) {
        std::string words;
        for (const auto& word : c) words += word + ' ';
        INFO(words);
        real_.send(c);
        const std::string said = real_.receive(1);
        CHECK(to_resp2(to_->model.execute(model_, c, to_->now)) == said);
    }
    void all(const std::vector<command>& of) {
        for (const command& c : of) (*this)(c);
    }
    void eval(const std::string& script) { (*this)({"EVAL", script, "0"}); }
    /// Compares the messages since the last time.
    void hear(std::size_t messages) {
        REQUIRE(messages_ == messages);
        CHECK(std::exchange(heard_, {}) == real_.receive(std::exchange(messages_, 0)));
    }

private:
    servers* to_;
    wire real_;
    fakes::client_state model_{};
    std::string heard_;
    std::size_t messages_ = 0;
};

}  // namespace

TEST_CASE("the model keeps sorted sets as a real server does") {
    servers s;
    connections c(s);
    for (const char* score : {"1700000000000005",
                              "9007199254740991",
                              "-9007199254740991",
                              "1e3",
                              "0x10",
                              "-0",
                              "1.50",
                              "0.1",
                              "+inf",
                              "-Infinity",
                              "1e400",
                              "1e-400",
                              "1e17",
                              "1e300",
                              " 1",
                              "1 ",
                              "",
                              "nan",
                              "x",
                              "3"}) {
        c.all({{"ZADD", "s", score, "m"}, {"ZSCORE", "s", "m"}});
        c.all({{"ZRANGEBYSCORE", "s", score, "inf"}, {"ZRANGEBYSCORE", "s", "(0", score}});
    }
    c.all({{"ZADD", "z", "2", "b", "1", "c", "2", "\xff", "2", "B", "3", "bb"},
           {"ZADD", "z", "NX", "9", "b", "4", "d", "5", "d"},
           {"zadd", "z", "xx", "0", "c", "1", "none"},
           {"ZADD", "none", "XX", "1", "a"},
           {"ZADD", "z", "NX", "XX", "1", "a"},
           {"ZADD", "z", "NX", "1"},
           {"ZADD", "z", "NX", "1", "a", "2"},
           {"ZADD", "z", "1"},
           {"ZADD", "z", "1", "e", "x", "f"},
           {"ZCARD", "z"},
           {"ZCARD", "none"},
           {"SADD", "members", "x", "y", "x"},
           {"SISMEMBER", "members", "y"},
           {"SISMEMBER", "members", "none"},
           {"SISMEMBER", "none", "x"},
           {"SADD", "z", "x"},
           {"SISMEMBER", "z", "x"},
           {"TYPE", "members"},
           {"ZSCORE", "z", "none"},
           {"ZSCORE", "none", "a"},
           {"ZRANK", "z", "b"},
           {"ZRANK", "z", "none"},
           {"ZRANK", "none", "a"},
           {"ZRANK", "z", "b", "WITHSCORE"}});
    for (const char* first : {"0", "1", "-1", "-2", "-99", "4", "99", "x"}) {
        for (const char* last : {"0", "-1", "-3", "2", "-99", "99"}) {
            c.all({{"ZRANGE", "z", first, last}, {"ZRANGE", "z", first, last, "WithScores"}});
        }
    }
    c.all({{"ZRANGE", "none", "0", "-1"}, {"ZRANGE", "z", "0", "-1", "LIMIT", "0", "1"}});
    c.all({{"ZRANGE", "z", "0", "-1", "LIMIT", "0", "-1"}, {"ZRANGE", "z", "0", "-1", "x"}});
    for (const char* low : {"-inf", "0", "2", "(2", "(3", "inf", "", "(", "a"}) {
        for (const char* high : {"inf", "+inf", "2", "(2", "3", "-inf", "1"}) {
            c.all({{"ZRANGEBYSCORE", "z", low, high, "WITHSCORES"},
                   {"ZRANGEBYSCORE", "z", low, high, "LIMIT", "1", "2"}});
        }
    }
    for (const char* offset : {"0", "1", "-1", "99", "x"}) {
        for (const char* limit : {"0", "1", "-1", "-5", "99"}) {
            c({"ZRANGEBYSCORE", "z", "1", "inf", "limit", offset, limit, "withscores"});
        }
    }
    c.all({{"ZRANGEBYSCORE", "z", "0", "1", "LIMIT", "0"}, {"ZRANGEBYSCORE", "none", "0", "1"}});
    c.all({{"ZADD", "r", "-5", "base", "1", "a", "2", "b", "2", "c", "3", "d", "inf", "e"},
           {"ZREMRANGEBYSCORE", "r", "0", "1"},
           {"ZRANGE", "r", "0", "-1", "WITHSCORES"},
           {"ZREMRANGEBYSCORE", "r", "(2", "3"},
           {"ZREMRANGEBYSCORE", "r", "2", "1"},
           {"ZREMRANGEBYSCORE", "r", "x", "1"},
           {"ZREMRANGEBYSCORE", "r", "0", ""},
           {"ZREMRANGEBYSCORE", "r", "0"},
           {"ZREMRANGEBYSCORE", "r", "0", "1", "2"},
           {"ZREMRANGEBYSCORE", "none", "0", "1"},
           {"ZRANGE", "r", "0", "-1", "WITHSCORES"},
           {"ZREMRANGEBYSCORE", "r", "-inf", "+inf"},
           {"EXISTS", "r"},
           {"ZADD", "r", "-0", "zero"},
           {"ZSCORE", "r", "zero"},
           {"ZRANGE", "r", "-1000", "-1", "WITHSCORES"},
           {"ZREMRANGEBYSCORE", "r", "0", "0"}});
    c.all({{"ZREM", "z", "b", "none", "c", "b"}, {"ZREM", "none", "a"}, {"ZREM", "z"}});
    c.all({{"ZREM", "z", "B", "\xff", "bb", "d"}, {"EXISTS", "z"}, {"ZCARD", "z"}});
}

TEST_CASE("the model tells kinds of values apart as a real server does") {
    servers s;
    connections c(s);
    c.all({{"ZADD", "z", "1", "a"}, {"SET", "s", "1"}, {"RPUSH", "l", "1"}});
    for (const char* key : {"z", "s", "l", "none"}) {
        c.all({{"TYPE", key},
               {"GET", key},
               {"GETRANGE", key, "0", "1"},
               {"MGET", key, "s"},
               {"EXISTS", key},
               {"PTTL", key},
               {"ZCARD", key},
               {"ZSCORE", key, "a"},
               {"ZRANK", key, "a"},
               {"ZRANGE", key, "0", "-1"},
               {"ZRANGE", key, "x", "-1"},
               {"ZRANGEBYSCORE", key, "0", "1"},
               {"ZREM", key, "x"},
               {"ZREMRANGEBYSCORE", key, "5", "6"},
               {"ZREMRANGEBYSCORE", key, "x", "6"},
               {"ZADD", key, "XX", "1", "b"},
               {"ZADD", key, "x", "b"}});
    }
    for (const char* all : {"s*", "\\s*", "z*", "none*"}) {
        c({"SCAN", "0", "MATCH", all, "COUNT", "300", "TYPE", "string"});
    }
    c.all({{"ZADD", "s", "1", "a"}, {"ZADD", "l", "1", "a"}, {"RPUSH", "z", "x"}});
    c.all({{"SET", "z", "x", "NX"}, {"PEXPIRE", "z", "60000"}, {"ZADD", "z", "2", "b"}});
    c.eval("return redis.call('PTTL', 'z') > 0");
    c.eval("return redis.sha1hex('a text')");
    c.eval("return redis.sha1hex('')");
    c.all({{"DEL", "z"}, {"PTTL", "z"}, {"ZADD", "z", "2", "b"}, {"PTTL", "z"}});
    c.all({{"PEXPIRE", "z", "-1"}, {"ZCARD", "z"}, {"ZADD", "z", "2", "b"}});
    c.all({{"PEXPIRE", "z", "1000", "GT"}, {"PTTL", "z"}, {"PEXPIRE", "none", "1000", "GT"}});
    c.all({{"PEXPIRE", "z", "60000"}, {"PEXPIRE", "z", "1000", "gt"}, {"PEXPIRE", "z", "90000", "GT"}});
    c.all({{"PEXPIRE", "z", "1000", "x"}, {"PEXPIRE", "z", "x", "GT"}, {"PEXPIRE", "z"}});
    c.eval("return redis.call('PTTL', 'z') > 60000 and redis.REDIS_VERSION_NUM > 0");
    c.all({{"SET", "z", "x"}, {"TYPE", "z"}, {"TYPE"}, {"DEL", "z", "s", "l"}});
}

TEST_CASE("the model's scripts use sorted sets and channels as a real server's do") {
    servers s;
    connections c(s);
    connections listening(s);
    listening({"SUBSCRIBE", "c"});
    for (const char* script :
         {"return redis.call('ZADD', 'z', 1700000000000005, 'a', 2, 'b', 1.5, 'c')",
          "return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')",
          "return redis.call('ZRANGEBYSCORE', 'z', '(2', '+inf', 'LIMIT', 0, 1)",
          "return redis.call('ZSCORE', 'z', 'a') + 1",
          "return redis.call('ZSCORE', 'z', 'a')",
          "return type(redis.call('ZSCORE', 'z', 'none'))",
          "return {redis.call('ZRANK', 'z', 'a'), redis.call('ZRANK', 'z', 'none'), 1}",
          "return redis.call('ZRANGE', 'none', 0, -1)",
          "return {redis.call('TYPE', 'z').ok, redis.call('TYPE', 'none')}",
          "return redis.call('ZREMRANGEBYSCORE', 'z', '0', '1')",
          "return redis.call('ZREM', 'z', 'a', 'b', 'none')",
          "return redis.pcall('GET', 'z')",
          "return redis.call('GET', 'z')",
          "redis.call('SET', 's', 1) return redis.call('ZADD', 's', 1, 'a')",
          "return redis.pcall('ZADD', 'z', 'x', 'a')",
          "return redis.call('ZADD', 'z', 1)",
          "return redis.call('PUBLISH', 'c', 7)",
          "return redis.call('PUBLISH', 'none', 'x')",
          "return redis.call('PUBLISH', 'c')",
          "return redis.pcall('SUBSCRIBE', 'c')",
          "return redis.call('UNSUBSCRIBE')"}) {
        c.eval(script);
    }
    listening.hear(1);
}

TEST_CASE("the model knows its scripts as a real server does") {
    servers s;
    connections a(s);
    const command search{"SCRIPT", "EXISTS", "E0e1f9fabfc9d4800c877a703b823ac0578ff8db", "x"};
    a.all({search, {"EVAL", "return 1", "0"}, search, {"SCRIPT", "EXISTS"}});
    a.all({{"SCRIPT", "FLUSH"}, search});
}

TEST_CASE("the model publishes as a real server does") {
    servers s;
    connections c(s);
    connections a(s);
    connections b(s);
    a.all({{"UNSUBSCRIBE"}, {"UNSUBSCRIBE", "x"}, {"SUBSCRIBE"}, {"SUBSCRIBE", "x"}});
    a.all({{"SUBSCRIBE", "x"}, {"subscribe", "y"}, {"PING"}, {"PING", "p"}, {"PING", "p", "q"}});
    a.all({{"GET", "k"}, {"get"}, {"NOPE"}, {"PUBLISH", "x", "m"}, {"CLIENT", "SETNAME", "n"}});
    a.all({{"EVAL", "return 1", "0"}, {"SELECT", "1"}, {"CLIENT", "NOPE"}, {"ZCARD", "z"}});
    b({"SUBSCRIBE", "y"});
    c.all({{"PUBLISH", "x", ""}, {"PUBLISH", "y", "1\r\n2"}, {"PUBLISH", "none", "m"}});
    c.all({{"PUBLISH", "X", "m"}, {"PUBLISH", "x"}, {"PING"}});
    a.hear(2);
    b.hear(1);
    a.all({{"UNSUBSCRIBE", "none"}, {"UNSUBSCRIBE", "x"}});
    c({"PUBLISH", "x", "m"});
    a.all({{"UNSUBSCRIBE"}, {"UNSUBSCRIBE"}, {"PING"}, {"GET", "k"}});
    c({"PUBLISH", "y", "m"});
    b.hear(1);
}

TEST_CASE("the model refuses sorted sets and channels as a real server does") {
    servers s;
    direct real(s.real.port());
    connections c(s);
    c({"ZADD", "z", "1", "a", "2", "b"});
    const auto all = [&] {
        connections other(s);
        other.all({{"SUBSCRIBE", "c"}, {"GET", "z"}, {"UNSUBSCRIBE", "c"}});
        c.all({{"PUBLISH", "c", "m"}, {"ZADD", "z", "3", "c"}, {"ZCARD", "z"}, {"TYPE", "z"}});
        c.eval("return redis.call('PUBLISH', 'c', 'm')");
        c.eval("return redis.pcall('PUBLISH', 'c', 'm')");
        c.eval("return redis.pcall('ZADD', 'z', 4, 'd')");
    };
    SECTION("without memory") {
        real.config_set("maxmemory", "1");
        s.model.set_out_of_memory(true);
        all();
        c.all({{"ZREM", "z", "a"}, {"ZREMRANGEBYSCORE", "z", "0", "2"}});
    }
    SECTION("on a replica") {
        REQUIRE(real.command({"REPLICAOF", "127.0.0.1", "1"}).text == "OK");
        s.model.set_replica(true);
        all();
        c.all({{"ZREM", "z", "a"}, {"ZREMRANGEBYSCORE", "z", "0", "2"}});
    }
    SECTION("where the user may not") {
        real.acl_setuser({"default", "-subscribe", "-publish", "-zadd"});
        for (const char* name : {"SUBSCRIBE", "PUBLISH", "ZADD"}) s.model.forbid(name);
        all();
    }
}

TEST_CASE("the model passes messages on while its data is loaded, as a real server does") {
    // A key every 20 ms, and the commands that have come between two of them.
    servers s({.args = {"--rdbcompression", "no", "--key-load-delay", "20000",
                        "--loading-process-events-interval-bytes", "1024"}});
    direct real(s.real.port());
    for (int i = 0; i < 2'000; ++i) real.set(std::to_string(i), std::string(2'000, 'x'));
    REQUIRE(real.command({"SAVE"}).text == "OK");
    s.real.restart(redis_server::data::keep, redis_server::start::do_not_wait);
    const auto is_loading = [&] {
        try {
            return direct(s.real.port()).info("loading") == "1";
        } catch (const std::runtime_error&) {
            return false;
        }
    };
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!is_loading()) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        std::this_thread::sleep_for(5ms);
    }
    s.model.set_loading(true);
    connections c(s);
    connections listening(s);
    listening.all({{"SUBSCRIBE", "c"}, {"PING"}, {"GET", "0"}});
    c.all({{"PUBLISH", "c", "m"}, {"ZCARD", "0"}, {"PING"}, {"TYPE", "0"}});
    c.eval("return redis.call('PUBLISH', 'c', 'm')");
    listening.hear(1);
    listening({"UNSUBSCRIBE", "c"});
    CHECK(is_loading());
}
