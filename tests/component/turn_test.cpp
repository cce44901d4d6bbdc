// Tests how the requests of one turn go to a node together and are answered one by one; knows no
// socket and no operation.
// SPDX-License-Identifier: MIT
#include "component/support/rig.hpp"
#include "support/catch.hpp"
#include "support/requests.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::heard_ptr;
using fakes::ready_rig;
using fakes::rig;
using lines = std::vector<std::string>;

namespace {

/// For fenced locks, ready, its record and clock not known.
struct fenced_rig final : ready_rig {
    fenced_rig() : ready_rig({}, {}, true) {}
};

// Each command's requests by their keys, with what the command was: "EVALSHA a b", "GET".
lines shown(const std::vector<fakes::command>& sent) {
    lines out;
    for (const auto& c : sent) {
        std::string& line = out.emplace_back(c.front());
        if (const auto asked = testing::requests_of(c)) {
            for (const auto& one : asked->all) line += " " + one.key;
        } else if (c.front() == "EVAL") {
            line += " " + c.back();
        }
    }
    return out;
}

// Of the only command.
testing::requests conditions(const std::vector<fakes::command>& sent) {
    REQUIRE(sent.size() == 1);
    const auto asked = testing::requests_of(sent.front());
    REQUIRE(asked);
    return *asked;
}

std::vector<heard_ptr> many(rig& r, int count) {
    std::vector<heard_ptr> out;
    for (int i = 0; i < count; ++i) out.push_back(r.requested("k" + std::to_string(i)));
    return out;
}

}  // namespace

TEST_CASE("the requests of a turn are one command, and each has its own answer") {
    ready_rig plain;
    fenced_rig fenced;
    for (ready_rig* const r : {&plain, static_cast<ready_rig*>(&fenced)}) {
        const auto a = r->requested("a");
        const auto b = r->requested("b");
        const auto c = r->requested("c");
        CHECK(shown(r->sent()) == lines{"EVALSHA a b c"});
        CHECK(r->traffic.commands.get() == 1);
        r->hear("*3\r\n:1\r\n-OOM no room\r\n*2\r\n:4\r\n:9\r\n");
        CHECK(a->heard == lines{"1"});
        CHECK(b->heard == lines{"OOM no room"});
        CHECK(c->heard.size() == 1);
        CHECK(r->session.is_idle());
    }
}

TEST_CASE("a request that is alone is answered without a list") {
    fenced_rig r;
    const auto a = r.requested("a");
    CHECK(shown(r.sent()) == lines{"EVALSHA a"});
    r.hear(":1\r\n");
    const auto b = r.requested("b");
    r.sent();
    r.hear("*2\r\n:4\r\n:9\r\n");
    CHECK(a->heard == lines{"1"});
    CHECK(b->heard == lines{""});
}

TEST_CASE("the next turn's requests are another command") {
    fenced_rig r;
    const auto a = r.requested("a");
    const auto b = r.requested("b");
    r.write();
    const auto c = r.requested("c");
    CHECK(shown(r.sent()) == lines{"EVALSHA a b", "EVALSHA c"});
    r.hear("*2\r\n:1\r\n:0\r\n");
    CHECK(a->heard == lines{"1"});
    CHECK(b->heard == lines{"0"});
    CHECK(c->heard.empty());
    r.hear(":-1\r\n");
    CHECK(c->heard == lines{"-1"});
}

TEST_CASE("a command among requests keeps its place") {
    fenced_rig r;
    const auto a = r.requested("a");
    const auto b = r.requested("b");
    const auto get = r.submitted("GET");
    const auto c = r.requested("c");
    CHECK(shown(r.sent()) == lines{"EVALSHA a b", "GET", "EVALSHA c"});
    r.hear("*2\r\n:1\r\n:1\r\n+got\r\n:0\r\n");
    CHECK(b->heard == lines{"1"});
    CHECK(get->heard == lines{"got"});
    CHECK(c->heard == lines{"0"});
}

TEST_CASE("more requests than a server is to do at once are more commands") {
    fenced_rig r;
    const auto all = many(r, 130);
    const auto sent = r.sent();
    REQUIRE(sent.size() == 3);
    CHECK(testing::requests_of(sent[0])->all.size() == 64);
    CHECK(testing::requests_of(sent[1])->all.size() == 64);
    CHECK(testing::requests_of(sent[2])->all.size() == 2);
    std::string answers;
    int next = 0;
    for (const int count : {64, 64, 2}) {
        answers += "*" + std::to_string(count) + "\r\n";
        for (int i = 0; i < count; ++i) answers += ":" + std::to_string(next++) + "\r\n";
    }
    r.hear(answers);
    for (int i = 0; i < 130; ++i) CHECK(all[i]->heard == lines{std::to_string(i)});
}

TEST_CASE("what becomes of a command becomes of its requests") {
    fenced_rig r;
    const auto all = many(r, 3);
    r.sent();
    SECTION("an error") {
        r.hear("-BUSY running a script\r\n");
        for (const auto& one : all) CHECK(one->heard == lines{"BUSY running a script"});
    }
    SECTION("a broken connection") {
        r.session.on_down({}, r.now);
        for (const auto& one : all) CHECK(one->heard == lines{"unreachable"});
    }
    SECTION("a connection that breaks before it was written") {
        const auto unwritten = r.requested("x");
        r.session.on_down({}, r.now);
        CHECK(unwritten->heard == lines{"unreachable"});
        r.now += 1s;
        r.session.on_time(r.now);
        r.connect();
        r.greet();
        CHECK(r.sent().empty());
    }
    SECTION("silence") {
        r.pass(r.options.node_timeout);
        for (const auto& one : all) CHECK(one->heard == lines{"timed_out"});
        CHECK(r.traffic.timeouts.get() == 3);
        const auto next = r.requested("next");
        r.hear("*3\r\n:1\r\n:1\r\n:1\r\n");
        CHECK(r.traffic.late_replies.get() == 3);
        CHECK(next->heard.empty());
        r.hear(":0\r\n");
        CHECK(next->heard == lines{"0"});
        for (const auto& one : all) CHECK(one->heard.size() == 1);
    }
    SECTION("a list of another length, which costs the connection") {
        r.hear(GENERATE("*2\r\n:1\r\n:1\r\n", "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "*0\r\n"));
        CHECK(r.drops == 1);
        for (const auto& one : all) CHECK(one->heard == lines{"unreachable"});
    }
    SECTION("closing") {
        r.session.close(r.now);
        for (const auto& one : all) CHECK(one->heard.size() == 1);
    }
}

TEST_CASE("a reply to many requests that is neither a list nor an error costs the connection") {
    fenced_rig r;
    const auto all = many(r, 2);
    r.sent();
    r.hear(GENERATE(":1\r\n", "+LATE\r\n", "$-1\r\n"));
    CHECK(r.drops == 1);
    for (const auto& one : all) CHECK(one->heard == lines{"unreachable"});
}

TEST_CASE("closing a session ends the requests that were not written yet") {
    fenced_rig r;
    const auto all = many(r, 2);
    r.session.close(r.now);
    r.session.end_turn();
    CHECK(r.session.outgoing().empty());
    for (const auto& one : all) CHECK(one->heard == lines{"unreachable"});
}

TEST_CASE("a release that was not done is owed, also where its connection ends meanwhile") {
    fenced_rig r;
    const auto first = r.requested("first");
    const auto release = r.make_request("release");
    release->owed = true;
    r.submit(release);
    r.sent();
    first->wanted = false;
    first->then = [&] { r.session.reconnect({vote::refused, errc::in_quarantine, {}}, r.now); };
    r.hear(GENERATE("-NOSCRIPT gone\r\n", "-BUSY a script runs\r\n"));
    CHECK(r.owed == 1);
    r.connect();
    r.greet();
    CHECK(shown(r.sent()) == lines{"EVAL release"});
}

TEST_CASE("of a command whose script the node forgot only what is still wanted is sent again") {
    fenced_rig r;
    const auto a = r.requested("a");
    const auto b = r.requested("b");
    const auto c = r.requested("c");
    r.sent();
    b->wanted = false;
    r.hear("-NOSCRIPT gone\r\n");
    CHECK(b->heard == lines{"NOSCRIPT gone"});
    CHECK(shown(r.sent()) == lines{"EVAL a c"});
    SECTION("and answered") {
        r.hear("*2\r\n:1\r\n:0\r\n");
        CHECK(a->heard == lines{"1"});
        CHECK(c->heard == lines{"0"});
    }
    SECTION("and a second NOSCRIPT is believed") {
        r.hear("-NOSCRIPT really\r\n");
        CHECK(r.sent().empty());
        CHECK(a->heard == lines{"NOSCRIPT really"});
        CHECK(c->heard == lines{"NOSCRIPT really"});
    }
    SECTION("with what is requested in that turn") {
        const auto d = r.requested("d");
        r.hear("*2\r\n:1\r\n:1\r\n:7\r\n");
        CHECK(d->heard == lines{"7"});
    }
}

TEST_CASE("requests sent again after NOSCRIPT stand before requests submitted later") {
    fenced_rig r;
    const auto take = r.requested("take");
    const auto other = r.requested("other");
    r.sent();
    // The call that hears of the failure submits a release at once.
    other->wanted = false;
    other->then = [&] { r.requested("give back"); };
    r.hear("-NOSCRIPT gone\r\n");
    CHECK(shown(r.sent()) == lines{"EVAL take give back"});
}

TEST_CASE("where a right is missing each request is sent alone, once") {
    fenced_rig r;
    const auto a = r.requested("a");
    const auto b = r.requested("b");
    r.sent();
    r.hear("-NOPERM no right to a key\r\n");
    CHECK(shown(r.sent()) == lines{"EVALSHA a", "EVALSHA b"});
    r.hear("-NOPERM no right to a key\r\n:1\r\n");
    CHECK(a->heard == lines{"NOPERM no right to a key"});
    CHECK(b->heard == lines{"1"});
    CHECK(r.sent().empty());
}

TEST_CASE("if one call ends the connection, the others of its command get their answers all the same") {
    fenced_rig r;
    const auto all = many(r, 3);
    r.sent();
    all[0]->then = [&] { r.session.reconnect({vote::refused, errc::in_quarantine, {}}, r.now); };
    r.hear("*3\r\n:1\r\n:0\r\n:-1\r\n");
    CHECK(all[0]->heard == lines{"1"});
    CHECK(all[1]->heard == lines{"0"});
    CHECK(all[2]->heard == lines{"-1"});
    CHECK(r.drops == 1);
}

TEST_CASE("a release that is refused among others is sent again, alone") {
    fenced_rig r;
    std::vector<heard_ptr> all;
    for (const char* name : {"a", "b", "c"}) {
        all.push_back(r.make_request(name));
        all.back()->owed = true;
        r.submit(all.back());
    }
    r.sent();
    r.hear("*3\r\n:1\r\n-MISCONF can't write\r\n:1\r\n");
    CHECK(all[1]->heard == lines{"MISCONF can't write"});
    CHECK(r.session.backlog() == 1);
    r.pass(1s);
    CHECK(shown(r.sent()) == lines{"EVAL b"});
    r.hear(":1\r\n");
    CHECK(r.session.is_idle());
}

TEST_CASE("releases that are owed go together on the next connection, before anything else") {
    fenced_rig r;
    std::vector<heard_ptr> all;
    for (const char* name : {"a", "b"}) {
        all.push_back(r.make_request(name));
        all.back()->owed = true;
        r.submit(all.back());
    }
    r.sent();
    r.session.on_down({}, r.now);
    CHECK(r.owed == 2);
    r.requested("c");
    r.connect();
    r.greet();
    CHECK(shown(r.sent()) == lines{"EVAL a b c"});
}

TEST_CASE("a request that waits for the connection is written when it leaves") {
    rig r({}, {}, true);
    r.session.start(r.now);
    const auto first = r.requested("first");
    const auto unwanted = r.requested("unwanted");
    const auto command = r.submitted("GET");
    const auto last = r.requested("last");
    unwanted->wanted = false;
    command->calls_script = false;
    r.connect();
    r.greet();
    CHECK(unwanted->heard == lines{"unreachable"});
    CHECK(shown(r.sent()) == lines{"EVALSHA first", "GET", "EVALSHA last"});
}

TEST_CASE("what waits in this turn counts for the bound on what waits for a node") {
    ready_rig r({}, {.max_bytes = 600}, true);
    int taken = 0;
    while (!r.submit(r.make_request("k"))) REQUIRE(++taken < 100);
    CHECK(taken > 2);
    r.sent();
    CHECK_FALSE(r.submit(r.make_request("k")));
}

TEST_CASE("the epoch of the node's record stands in what takes a key") {
    fenced_rig r;
    r.options.guard = restart_guard::automatic;  // from here on: the record is set by hand
    r.session.set_record({.exists = true, .epoch = "E1"});
    r.requested("a");
    CHECK(conditions(r.sent()).epoch == "E1");
    SECTION("one that no record has, where there is none") {
        r.session.set_record({});
        r.requested("a");
        CHECK(conditions(r.sent()).epoch == "-");
    }
    SECTION("none to compare, where the guard is off") {
        r.options.guard = restart_guard::off;
        r.session.set_record({});
        r.requested("a");
        CHECK(conditions(r.sent()).epoch.empty());
    }
    SECTION("what was requested before the record was read again goes by the earlier one") {
        r.requested("a");
        r.session.set_record({.exists = true, .epoch = "E2"});
        r.requested("b");
        const auto sent = r.sent();
        REQUIRE(sent.size() == 2);
        CHECK(testing::requests_of(sent[0])->epoch == "E1");
        CHECK(testing::requests_of(sent[1])->epoch == "E2");
    }
}

TEST_CASE("what holds for all fences is said once") {
    fenced_rig r;
    many(r, 2);
    const auto said = conditions(r.sent());
    CHECK(said.record_key == "redlock:node");
    CHECK(said.tolerance_us == "15000000");
    CHECK(said.lift_us == "3600000000");
}

TEST_CASE("a command that can take a key carries a time limit by the node's clock") {
    rig r({}, {}, true);
    using us = std::chrono::microseconds;
    r.options.node_timeout = GENERATE(50ms, 250ms, 2000ms);
    const auto good_for = std::max<duration>(1s, 4 * r.options.node_timeout);
    const auto until = [&](duration ahead) {
        const auto at = r.now.time_since_epoch() + ahead + good_for;
        return std::to_string(std::chrono::duration_cast<us>(at).count());
    };
    r.session.start(r.now);
    r.requested("first");  // waits for the connection, and is good from when it leaves
    r.now += 100ms;
    r.connect();
    SECTION("it is empty where the node's clock is not known") {
        r.greet();
        CHECK(conditions(r.sent()).until.empty());
    }
    SECTION("the clock is set during the handshake") {
        r.on_greeting = [&] { r.session.set_clock(us(7s).count()); };
        r.greet();
        CHECK(conditions(r.sent()).until == until(7s));
        SECTION("later it is another") {
            r.session.set_clock(us(-3s).count());
            r.now += 1ms;
            r.requested("second");
            CHECK(conditions(r.sent()).until == until(-3s));
        }
        SECTION("what is sent again is good for as long from then on") {
            r.now += 1ms;
            r.hear("-NOSCRIPT gone\r\n");
            CHECK(conditions(r.sent()).until == until(7s));
        }
        SECTION("what was known of another connection counts for nothing") {
            r.on_greeting = nullptr;
            r.now += 1s;
            r.session.reconnect({}, r.now);
            r.requested("second");
            r.connect();
            r.greet();
            CHECK(conditions(r.sent()).until.empty());
        }
    }
}
