// The Redis master in memory passes on what is published to its subscribers, as long as both
// live.
// SPDX-License-Identifier: MIT
#include "testing/model.hpp"

#include "component/support/desk.hpp"
#include "support/catch.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace redlock;
using fakes::redis_model;
using testing::desk;
using testing::has;
using testing::one_line;

/// A connection that keeps what is pushed to it.
struct listener : fakes::client_state {
    std::vector<std::string> heard{};

    listener() {
        push = [this](std::string bytes) { heard.push_back(one_line(std::move(bytes))); };
    }
};

TEST_CASE("subscribers of a channel receive its messages, and other connections do not") {
    desk d;
    listener a;
    listener b;
    CHECK(d({"PUBLISH", "c", "nobody"}) == ":0");
    CHECK(d.ask(a, {"SUBSCRIBE", "c"}) == "*3 $9 subscribe $1 c :1");
    CHECK(d.ask(a, {"SUBSCRIBE", "d"}) == "*3 $9 subscribe $1 d :2");
    CHECK(d.ask(a, {"SUBSCRIBE", "d"}) == "*3 $9 subscribe $1 d :2");
    CHECK(d.ask(b, {"subscribe", "d"}) == "*3 $9 subscribe $1 d :1");
    CHECK(d({"PUBLISH", "d", ""}) == ":2");
    CHECK(d({"PUBLISH", "c", "x\r\n"}) == ":1");
    CHECK(d({"PUBLISH", "C", "x"}) == ":0");
    CHECK(a.heard ==
          std::vector<std::string>{"*3 $7 message $1 d $0 ", "*3 $7 message $1 c $3 x "});
    CHECK(b.heard == std::vector<std::string>{"*3 $7 message $1 d $0 "});
    CHECK(d.ask(a, {"UNSUBSCRIBE", "d"}) == "*3 $11 unsubscribe $1 d :1");
    CHECK(d.ask(a, {"UNSUBSCRIBE", "none"}) == "*3 $11 unsubscribe $4 none :1");
    CHECK(d.ask(a, {"UNSUBSCRIBE"}) == "*3 $11 unsubscribe $1 c :0");
    CHECK(d.ask(a, {"UNSUBSCRIBE"}) == "*3 $11 unsubscribe $-1 :0");
    CHECK(d({"PUBLISH", "d", "x"}) == ":1");
    CHECK(a.heard.size() == 2);
}

TEST_CASE("one channel at a time is what the model can answer for") {
    desk d;
    const std::string refusal = "-ERR model: one channel at a time";
    CHECK(d({"SUBSCRIBE", "a", "b"}) == refusal);
    d({"SUBSCRIBE", "a"});
    d({"SUBSCRIBE", "b"});
    CHECK(d({"UNSUBSCRIBE"}) == refusal);
    CHECK(d({"UNSUBSCRIBE", "a", "b"}) == refusal);
    CHECK(d.connection.subscriptions() == 2);
}

TEST_CASE("a subscribed connection does little else") {
    desk d;
    d({"SUBSCRIBE", "c"});
    const std::string rest =
        "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
        "context";
    CHECK(d({"GET", "a"}) == "-ERR Can't execute 'get" + rest);
    CHECK(d({"PUBLISH", "c", "x"}) == "-ERR Can't execute 'publish" + rest);
    CHECK(d({"CLIENT", "SETNAME", "x"}) == "-ERR Can't execute 'client|setname" + rest);
    CHECK(d({"PING"}) == "*2 $4 pong $0 ");
    CHECK(d({"PING", "x"}) == "*2 $4 pong $1 x");
    CHECK(has(d({"GET"}), "-ERR wrong number of arguments"));
    d({"UNSUBSCRIBE", "c"});
    CHECK(d({"PING"}) == "+PONG");
    CHECK(d({"GET", "a"}) == "$-1");
}

TEST_CASE("scripts publish, while they run, and subscribe to nothing") {
    desk d;
    listener a;
    d.ask(a, {"SUBSCRIBE", "c"});
    std::string seen;
    a.push = [&](std::string bytes) {
        const auto* const k = d.server.database().find("k", d.server.wall.ms(d.now));
        seen = *k->text() + ", " + one_line(std::move(bytes));
    };
    CHECK(d.eval("redis.call('SET', 'k', 'before') local n = redis.call('PUBLISH', 'c', 7) "
                 "redis.call('SET', 'k', 'after') return n") == ":1");
    CHECK(seen == "before, *3 $7 message $1 c $1 7");
    for (const char* name : {"SUBSCRIBE", "UNSUBSCRIBE"}) {
        CHECK(d.eval("return redis.pcall(ARGV[1], 'c')", {}, {name}) ==
              "-ERR This Redis command is not allowed from script");
    }
}

TEST_CASE("publishing writes nothing, and goes on where only that is refused") {
    desk d;
    listener a;
    SECTION("on a replica") { d.server.set_replica(true); }
    SECTION("without memory") { d.server.set_out_of_memory(true); }
    SECTION("while the data is loaded, as a real server does") {
        d.server.set_loading(true);
        CHECK(d.ask(a, {"SUBSCRIBE", "c"}) == "*3 $9 subscribe $1 c :1");
        CHECK(has(d.ask(a, {"PING"}), "-LOADING"));
        CHECK(has(d.eval("return redis.call('PUBLISH', 'c', 'x')"), "-LOADING"));
        CHECK(d({"PUBLISH", "c", "x"}) == ":1");
        d.server.set_loading(false);
    }
    d.ask(a, {"SUBSCRIBE", "c"});
    CHECK(d({"PUBLISH", "c", "x"}) == ":1");
    CHECK(d.eval("return redis.call('PUBLISH', 'c', 'x')") == ":1");
}

TEST_CASE("channel commands without the right answer NOPERM, and without a password NOAUTH") {
    desk d;
    d.server.forbid("SUBSCRIBE");
    d.server.forbid("PUBLISH");
    CHECK(d({"SUBSCRIBE", "c"}) ==
          "-NOPERM this user has no permissions to run the 'subscribe' command");
    CHECK(d({"PUBLISH", "c", "x"}) ==
          "-NOPERM this user has no permissions to run the 'publish' command");
    CHECK(d.eval("return redis.pcall('PUBLISH', 'c', 'x')") ==
          "-ERR The user executing the script can't run this command or subcommand");
    CHECK(d.connection.subscriptions() == 0);
    d.server.password = "secret";
    CHECK(has(d({"UNSUBSCRIBE"}), "-NOAUTH"));
}

TEST_CASE("subscriptions end with the connection, the process or the server") {
    auto d = std::make_unique<desk>();
    listener a;
    d->ask(a, {"SUBSCRIBE", "c"});
    SECTION("the connection") {
        auto b = std::make_unique<listener>();
        d->ask(*b, {"SUBSCRIBE", "c"});
        CHECK((*d)({"PUBLISH", "c", "x"}) == ":2");
        b.reset();
        CHECK((*d)({"PUBLISH", "c", "x"}) == ":1");
        a.leave();
        CHECK((*d)({"PUBLISH", "c", "x"}) == ":0");
    }
    SECTION("the process") {
        d->server.crash(redis_model::data::kept);
        CHECK(a.subscriptions() == 0);
        CHECK((*d)({"PUBLISH", "c", "x"}) == ":0");
        CHECK(d->ask(a, {"PING"}) == "+PONG");
        CHECK(d->ask(a, {"SUBSCRIBE", "d"}) == "*3 $9 subscribe $1 d :1");
        CHECK((*d)({"PUBLISH", "c", "x"}) == ":0");
        CHECK((*d)({"PUBLISH", "d", "x"}) == ":1");
    }
    SECTION("the server") {
        d.reset();
        CHECK(a.subscriptions() == 0);
        desk other;
        CHECK(other.ask(a, {"SUBSCRIBE", "d"}) == "*3 $9 subscribe $1 d :1");
    }
}

TEST_CASE("what takes a message may end connections") {
    desk d;
    auto first = std::make_unique<listener>();
    auto second = std::make_unique<listener>();
    listener last;
    d.ask(*first, {"SUBSCRIBE", "c"});
    d.ask(*second, {"SUBSCRIBE", "c"});
    d.ask(last, {"SUBSCRIBE", "c"});
    first->push = [&](std::string) {
        second.reset();
        first.reset();
    };
    CHECK(d({"PUBLISH", "c", "x"}) == ":2");
    CHECK(last.heard.size() == 1);
    last.push = nullptr;
    CHECK(d({"PUBLISH", "c", "x"}) == ":1");
    CHECK(last.heard.size() == 1);
}

}  // namespace
