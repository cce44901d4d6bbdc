// Tests one node's session fact by fact: order, deadlines, what is owed; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/session.hpp"
#include "component/support/rig.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::ready_rig;
using fakes::rig;
using lines = std::vector<std::string>;

TEST_CASE("it connects, greets and serves") {
    rig r;
    r.session.start(r.now);
    CHECK(r.opens == 1);
    r.connect();
    CHECK(r.names_sent() == "CLIENT INFO TIME SCRIPT");
    CHECK_FALSE(r.session.is_ready());
    r.greet();
    CHECK(r.session.is_ready());
    CHECK(r.ups == 1);
    CHECK(r.traffic.connects.get() == 1);
}

TEST_CASE("commands leave in order and replies are matched in order") {
    ready_rig r;
    const auto a = r.submitted("A");
    const auto b = r.submitted("B");
    const auto c = r.submitted("C");
    CHECK(r.names_sent() == "A B C");
    r.hear("+1\r\n+2\r\n+3\r\n");
    CHECK(a->heard == lines{"1"});
    CHECK(b->heard == lines{"2"});
    CHECK(c->heard == lines{"3"});
    CHECK(r.session.is_idle());
}

TEST_CASE("replies may come in pieces of any size") {
    const std::string all = "$5\r\nhello\r\n:7\r\n";
    for (std::size_t cut = 0; cut <= all.size(); ++cut) {
        ready_rig r;
        const auto a = r.submitted("A");
        const auto b = r.submitted("B");
        r.hear(all.substr(0, cut));
        r.hear(all.substr(cut));
        CHECK(a->heard == lines{"hello"});
        CHECK(b->heard == lines{"7"});
    }
}

TEST_CASE("wanted calls submitted before the first connection is up leave on it in order") {
    rig r;
    r.session.start(r.now);
    const auto a = r.submitted("A");
    r.connect();
    const auto b = r.submitted("B");
    const auto gone = r.make("GONE");
    r.submit(gone);
    gone->wanted = false;
    CHECK(r.session.backlog() == 3);
    CHECK(r.session.is_idle());  // none of them is owed
    r.greet();
    CHECK(r.names_sent() == "EVAL:A EVAL:B");
    r.hear("+1\r\n+2\r\n");
    CHECK(a->heard == lines{"1"});
    CHECK(b->heard == lines{"2"});
    CHECK(gone->heard == lines{"unreachable"});  // each call hears once, whatever becomes of it
    CHECK(r.session.is_idle());
}

TEST_CASE("a node that can't be reached refuses at once, with the cause") {
    rig r;
    r.session.start(r.now);
    const auto early = r.submitted("EARLY");
    r.session.on_down(boost::system::errc::make_error_code(
                          boost::system::errc::connection_refused), r.now);
    CHECK(early->heard == lines{"unreachable"});
    const auto late = r.make("LATE");
    const auto why = r.submit(late);
    REQUIRE(why);
    CHECK(why->answer == vote::unreachable);
    CHECK(why->error == boost::system::errc::connection_refused);
    CHECK(late->heard.empty());
    r.pass(1s);  // the second try is no reason for hope
    CHECK(r.opens == 2);
    CHECK(r.submit(late));
    CHECK(r.session.is_idle());
}

TEST_CASE("a failed handshake refuses with its own cause, and is tried again") {
    rig r;
    r.session.start(r.now);
    r.connect();
    const auto early = r.submitted("EARLY");
    r.sent();
    r.hear("+OK\r\n-NOPERM no\r\n-NOPERM no\r\n-NOPERM no\r\n");  // nor may it look for scripts
    CHECK(early->heard.empty());
    r.sent();
    r.hear("-NOPERM no\r\n");
    CHECK(early->heard == lines{"refused"});
    REQUIRE(r.downs.size() == 1);
    CHECK(r.downs[0].error == errc::script_rejected);
    CHECK(r.drops == 1);
    CHECK(r.submit(r.make("X"))->error == errc::script_rejected);
    r.pass(1s);
    CHECK(r.opens == 2);
    r.connect();
    r.greet();
    CHECK(r.session.is_ready());
}

TEST_CASE("a handshake that does not end is given up after connect_timeout") {
    rig r;
    r.session.start(r.now);
    r.connect();
    const auto early = r.submitted("EARLY");
    CHECK(r.session.deadline() == r.now + r.options.connect_timeout);
    r.pass(r.options.connect_timeout - 1ns);
    CHECK(early->heard.empty());
    r.pass(1ns);
    CHECK(early->heard == lines{"timed_out"});
    CHECK(r.drops == 1);
}

TEST_CASE("a late reply is consumed and matched to nothing else") {
    ready_rig r;
    const auto a = r.submitted("A");
    r.now += 10ms;
    const auto b = r.submitted("B");
    r.pass(r.options.node_timeout - 10ms);
    CHECK(a->heard == lines{"timed_out"});
    CHECK(a->failures[0].error == errc::timed_out);
    CHECK(b->heard.empty());
    r.hear("+late\r\n");
    CHECK(r.traffic.late_replies.get() == 1);
    CHECK(a->heard.size() == 1);
    CHECK(b->heard.empty());
    r.hear("+hers\r\n");
    CHECK(b->heard == lines{"hers"});
    CHECK(r.drops == 0);
    CHECK(r.traffic.timeouts.get() == 1);
}

TEST_CASE("a script that the node forgot is sent with its text, once") {
    ready_rig r;
    const auto a = r.submitted("A");
    const auto b = r.submitted("B");
    r.sent();
    r.hear("-NOSCRIPT gone\r\n+b\r\n");
    CHECK(r.names_sent() == "EVAL:A");
    CHECK(a->heard.empty());
    CHECK(b->heard == lines{"b"});
    SECTION("and answered") {
        r.hear("+a\r\n");
        CHECK(a->heard == lines{"a"});
    }
    SECTION("and a second NOSCRIPT is believed") {
        r.hear("-NOSCRIPT really\r\n");
        CHECK(r.names_sent().empty());
        CHECK(a->heard == lines{"NOSCRIPT really"});
    }
    SECTION("and has a deadline of its own") {
        r.pass(r.options.node_timeout);
        CHECK(a->heard == lines{"timed_out"});
    }
    SECTION("and the connection may break") {
        r.session.on_down({}, r.now);
        CHECK(a->heard == lines{"unreachable"});
    }
}

TEST_CASE("a release goes by the server's own command where this user may use it") {
    struct server {
        std::string valkey_version;
        std::string answer;  // to the handshake
        bool is_asked;
        bool has_command;
    };
    const std::vector<server> all{{"", ":0\r\n", false, false},
                                  {"8.1.4", ":0\r\n", false, false},
                                  {"9.0.0", ":0\r\n", true, true},
                                  {"10.2.1", ":0\r\n", true, true},
                                  {"9.0.0", "-NOPERM no\r\n", true, false},
                                  {"9.0.0", "-ERR unknown command\r\n", true, false},
                                  {"9.0.0", "-READONLY no\r\n", true, false}};
    for (const server& one : all) {
        for (const char* answer : {":1\r\n", "-WRONGTYPE no\r\n"}) {
            CAPTURE(one.valkey_version, one.answer, answer);
            rig r;
            r.valkey_version = one.valkey_version;
            r.delifeq_answer = one.answer;
            r.ready();
            CHECK(r.asked_more == (one.is_asked ? "DELIFEQ" : ""));
            const auto release = r.make_request("R");
            release->owed = true;
            r.submit(release);
            const auto sent = r.sent();
            REQUIRE(sent.size() == 1);
            CHECK(sent[0].front() == (one.has_command ? "DELIFEQ" : "EVALSHA"));
            if (one.has_command) CHECK(sent[0] == fakes::command{"DELIFEQ", "R", "by R"});
            r.hear(answer);
            CHECK(release->heard.size() == 1);
            CHECK(r.session.is_idle());
        }
    }
}

TEST_CASE("what is not wanted any more, or calls no script, is not sent again") {
    ready_rig r;
    const auto a = r.submitted("A");
    r.sent();
    SECTION("it calls no script") {
        a->calls_script = false;
        r.hear("-NOSCRIPT gone\r\n");
        CHECK(a->heard == lines{"NOSCRIPT gone"});
    }
    SECTION("its attempt ended") {
        a->wanted = false;
        r.hear("-NOSCRIPT gone\r\n");
        CHECK(a->heard.size() == 1);
    }
    SECTION("its time is over") {
        r.pass(r.options.node_timeout);
        r.hear("-NOSCRIPT gone\r\n");
        CHECK(a->heard == lines{"timed_out"});
    }
    CHECK(r.names_sent().empty());
    CHECK(r.session.is_idle());
}

TEST_CASE("a release is sent again even when nobody waits for it any more") {
    ready_rig r;
    const auto release = r.make_release("R");
    r.submit(release);
    r.sent();
    r.pass(r.options.node_timeout);
    CHECK(release->heard == lines{"timed_out"});
    r.hear("-NOSCRIPT gone\r\n");
    CHECK(r.names_sent() == "EVAL:R");
    r.hear(":1\r\n");
    CHECK(release->heard.size() == 1);
    CHECK(r.session.is_idle());
}

TEST_CASE("a release whose connection breaks goes first on the next one") {
    ready_rig r;
    const auto set = r.submitted("SET");
    const auto release = r.make_release("R");
    r.submit(release);
    r.session.on_down({}, r.now);
    CHECK(set->heard == lines{"unreachable"});
    CHECK(release->heard == lines{"unreachable"});
    CHECK(r.owed == 1);
    CHECK(r.traffic.owed_releases.get() == 1);
    CHECK(r.opens == 2);
    const auto next = r.submitted("NEXT");
    r.connect();
    r.greet();
    CHECK(r.names_sent() == "EVAL:R EVAL:NEXT");
    SECTION("and is done") {
        r.hear(":1\r\n+OK\r\n");
        CHECK(release->heard.size() == 1);
        CHECK(next->heard == lines{"OK"});
    }
    SECTION("and is owed again when that breaks too") {
        r.session.on_down({}, r.now);
        r.pass(1s);
        r.connect();
        r.greet();
        CHECK(r.names_sent() == "EVAL:R");
        CHECK(release->heard.size() == 1);
    }
}

TEST_CASE("a release that a node refuses for a while is sent again") {
    ready_rig r;
    const auto release = r.make_release("R");
    r.submit(release);
    r.sent();
    const std::string state =
        GENERATE("BUSY Redis is busy", "OOM no memory", "LOADING dataset", "READONLY replica",
                 "MISCONF no disk", "NOREPLICAS too few");
    r.hear("-" + state + "\r\n");
    CHECK(release->heard == lines{state});
    CHECK(r.names_sent().empty());
    r.pass(999ms);
    CHECK(r.names_sent().empty());
    r.pass(1ms);
    CHECK(r.names_sent() == "EVAL:R");
    SECTION("until it is done") {
        r.hear("-" + state + "\r\n");
        r.pass(1s);
        CHECK(r.names_sent() == "EVAL:R");
        r.hear(":1\r\n");
        r.pass(10s);
        CHECK(r.names_sent().empty());
    }
    SECTION("also on the next connection, at once") {
        r.hear("-" + state + "\r\n");
        r.session.on_down({}, r.now);
        r.connect();
        r.greet();
        CHECK(r.names_sent() == "EVAL:R");
        r.pass(400ms);
        CHECK(r.names_sent().empty());
    }
    CHECK(release->heard.size() == 1);
    CHECK(r.owed == 0);
}

TEST_CASE("a release whose script an operator ended is sent again") {
    ready_rig r;
    const auto release = r.make_release("R");
    r.submit(release);
    r.sent();
    r.hear("-ERR Error running script (call to f_1): @user_script:7: Script killed by user with "
           "SCRIPT KILL... script: 1, on @user_script:7.\r\n");
    CHECK(release->heard.size() == 1);
    r.pass(1s);
    CHECK(r.names_sent() == "EVAL:R");
}

TEST_CASE("releases of a command that ended in an error are sent again, one of them first") {
    ready_rig r({}, {}, true);
    const auto a = r.make_request("A");
    const auto b = r.make_request("B");
    const auto c = r.make_request("C");
    a->owed = b->owed = true;
    for (const auto& each : {a, b, c}) r.submit(each);
    CHECK(r.sent().size() == 1);
    r.hear("-ERR Error running script: attempt to perform arithmetic on a nil value\r\n");
    CHECK(a->heard.size() == 1);
    CHECK(c->heard.size() == 1);
    r.pass(1s);
    CHECK(r.sent().size() == 1);  // A alone
    SECTION("that is done: so is the rest") { r.hear(":1\r\n"); }
    SECTION("that is refused: the rest may not be") { r.hear("-ERR again\r\n"); }
    CHECK(r.sent().size() == 1);
    r.hear(":1\r\n");
    r.pass(10s);
    CHECK(a->heard.size() == 1);
    CHECK(b->heard.size() == 1);
}

TEST_CASE("where many releases are refused for a while one asks for all") {
    ready_rig r;
    for (const auto* name : {"A", "B", "C"}) r.submit(r.make_release(name));
    r.sent();
    r.hear("-OOM no memory\r\n-OOM no memory\r\n-OOM no memory\r\n");
    for (const auto* name : {"EVAL:A", "EVAL:B", "EVAL:C", "EVAL:A"}) {
        r.pass(1s);
        CHECK(r.names_sent() == name);
        r.hear("-OOM no memory\r\n");
    }
    r.pass(1s);
    CHECK(r.names_sent() == "EVAL:B");
    r.hear(":1\r\n");
    CHECK(r.names_sent() == "EVAL:C EVAL:A");
    r.hear(":1\r\n:1\r\n");
    r.pass(300ms);
    CHECK(r.names_sent().empty());
}

TEST_CASE("a release that a node refuses with a lasting error is not sent again") {
    ready_rig r;
    const auto release = r.make_release("R");
    r.submit(release);
    r.sent();
    r.hear(GENERATE("-NOPERM no right\r\n", "-WRONGTYPE not a string\r\n", "-ERR what?\r\n"));
    r.pass(400ms);
    CHECK(r.names_sent().empty());
    CHECK(r.session.deadline() > r.now + 1h);
}

TEST_CASE("a release is owed where there is no connection") {
    ready_rig r;
    r.now += 1s;
    r.session.on_down({}, r.now);                                // tried again at once,
    r.session.on_down({}, r.now);                                // and rests after that
    const auto release = r.make_release("R");
    CHECK(r.submit(release));
    CHECK(release->heard.empty());
    CHECK(r.owed == 1);
    // A frozen node may execute what lay in the broken connection whenever it thaws.
    SECTION("however long that lasts") {
        r.pass(GENERATE(duration(1s), duration(48h)));
        r.connect();
        r.greet();
        CHECK(r.names_sent() == "EVAL:R");
        r.hear(":1\r\n");
        CHECK(release->heard.empty());
    }
}

TEST_CASE("of the releases that are owed none is dropped, however many there are") {
    ready_rig r;
    constexpr int leases = 70'000;
    std::vector<fakes::heard_ptr> releases;
    const bool were_sent = GENERATE(false, true);
    if (!were_sent) {
        r.session.on_down({}, r.now);
        r.session.on_down({}, r.now);
    }
    for (int i = 0; i < leases; ++i) {
        releases.push_back(r.make_release(std::to_string(i)));
        r.submit(releases.back());
    }
    if (were_sent) r.session.on_down({}, r.now);
    CHECK(r.owed == leases);
    if (!were_sent) r.pass(1s);
    r.connect();
    r.greet();
    int paid = 0;
    for (auto sent = r.sent(); !sent.empty(); sent = r.sent()) {
        for (const auto& command : sent) {
            REQUIRE(command.back() == std::to_string(paid++));  // in their order
            r.hear(":1\r\n");
        }
        r.pass(0ms);
    }
    CHECK(paid == leases);
    CHECK(r.session.is_idle());
}

TEST_CASE("beyond the limit of owed releases no lease is begun, and other commands are sent") {
    ready_rig r({}, {.max_owed = 2});
    for (const auto* name : {"A", "B"}) r.submit(r.make_release(name));
    r.session.on_down({}, r.now);
    const auto acquire = r.make("SET");
    acquire->begins = true;
    const auto why = r.submit(acquire);
    REQUIRE(why);
    CHECK(why->answer == vote::unreachable);
    CHECK(why->error == errc::backlog);
    CHECK(acquire->heard.empty());
    CHECK_FALSE(r.submit(r.make("RENEW")));
    CHECK_FALSE(r.submit(r.make_release("C")));
    r.connect();
    r.greet();
    CHECK(r.names_sent() == "EVAL:A EVAL:B EVAL:RENEW EVAL:C");
    CHECK_FALSE(r.submit(acquire));
}

TEST_CASE("a reconnect drops the connection and greets the node again on a new one") {
    ready_rig r;
    const auto waits = r.submitted("X");
    r.session.reconnect({vote::unreachable, errc::in_quarantine, "it forgot"}, r.now);
    CHECK(waits->heard == lines{"unreachable"});
    CHECK(r.drops == 1);
    CHECK(r.opens == 2);
    r.session.reconnect({}, r.now);  // it is on its way already
    CHECK(r.drops == 1);
    r.connect();
    r.greet();
    CHECK(r.session.is_ready());
}

TEST_CASE("a release that waits for the connection is owed when that fails") {
    rig r;
    r.session.start(r.now);
    const auto set = r.submitted("SET");
    const auto release = r.make_release("R");
    CHECK_FALSE(r.submit(release));
    r.session.on_down({}, r.now);
    CHECK(set->heard == lines{"unreachable"});
    CHECK(release->heard == lines{"unreachable"});
    r.pass(1s);
    r.connect();
    r.greet();
    CHECK(r.names_sent() == "EVAL:R");
}

TEST_CASE("a connection on which nothing is answered is given up") {
    rig r;
    SECTION("after ten times node_timeout, or connect_timeout where that is longer") {
        r.options.connect_timeout = GENERATE(500ms, 2000ms);
        const auto limit = std::max<duration>(r.options.connect_timeout,
                                              10 * r.options.node_timeout);
        r.ready();
        r.now += 5s;
        const auto release = r.make_release("R");
        r.submit(release);
        r.pass(limit - 1ns);
        CHECK(r.drops == 0);
        r.pass(1ns);
        CHECK(r.drops == 1);
        CHECK(release->heard == lines{"timed_out"});
        CHECK(r.owed == 1);
        CHECK(r.opens == 1);  // not at once: it is not the connection that is at fault
        r.pass(1s);
        CHECK(r.opens == 2);
    }
    SECTION("not while it answers, however many requests were sent at once") {
        r.ready();
        for (int i = 0; i < 30; ++i) r.submit(r.make_release("R"));
        for (int i = 0; i < 30; ++i) {
            r.pass(60ms);
            r.hear(":1\r\n");
        }
        CHECK(r.drops == 0);
        CHECK(r.session.is_idle());
    }
    SECTION("not while it answers late, but answers") {
        r.ready();
        for (int i = 0; i < 30; ++i) {
            r.submitted("A");
            r.pass(60ms);
            r.hear("+late\r\n");
        }
        CHECK(r.drops == 0);
    }
}

TEST_CASE("a login that is worth nothing any more costs the connection, and the next one logs in") {
    ready_rig r;
    const auto a = r.submitted("A");
    const auto b = r.submitted("B");
    r.hear("-NOAUTH Authentication required.\r\n");
    CHECK(a->heard == lines{"refused"});
    CHECK(b->heard == lines{"refused"});
    REQUIRE(r.downs.size() == 1);
    CHECK(r.downs[0].error == errc::auth_failed);
    r.pass(1s);
    CHECK(r.opens == 2);
}

TEST_CASE("bytes that are no reply cost the connection and nothing else") {
    ready_rig r;
    const auto a = r.submitted("A");
    const auto b = r.submitted("B");
    r.hear("+one\r\n!garbage\r\n");
    CHECK(a->heard == lines{"one"});
    CHECK(b->heard == lines{"unreachable"});
    CHECK(b->failures[0].error == errc::protocol_error);
    CHECK(r.drops == 1);
    CHECK_FALSE(r.session.is_ready());
    r.pass(1s);
    r.connect();
    r.greet();
    CHECK(r.session.is_ready());
}

TEST_CASE("a reply to nothing costs the connection") {
    ready_rig r;
    SECTION("while no request is pending") { r.hear("+what?\r\n"); }
    SECTION("while the question has not left yet") {
        const auto a = r.submitted("A");
        r.session.on_bytes("+what?\r\n", r.now);
        CHECK(a->heard == lines{"unreachable"});
    }
    REQUIRE(r.downs.size() == 1);
    CHECK(r.downs[0].error == errc::protocol_error);
    CHECK(r.drops == 1);
}

TEST_CASE("a connection is given up once, whatever its bytes go on to say") {
    ready_rig r;
    SECTION("after a reply to nothing") { r.hear("+what?\r\n!garbage\r\n"); }
    SECTION("after a failed handshake") {
        r.session.on_down({}, r.now);
        r.connect();
        r.drops = 0;
        r.downs.clear();
        r.hear("-NOAUTH no\r\n!garbage\r\n");
    }
    CHECK(r.drops == 1);
    REQUIRE(r.downs.size() == 1);
    CHECK(r.downs[0].detail != "");
}

TEST_CASE("what waits for a node is bounded") {
    rig r({}, {.max_requests = 2, .max_bytes = 100});
    SECTION("in commands, sent") {
        r.ready();
        r.submitted("A");
        r.submitted("B");
    }
    SECTION("in commands, not sent yet") {
        r.session.start(r.now);
        r.submitted("A");
        r.submitted("B");
    }
    SECTION("in bytes, sent") {
        r.ready();
        r.submitted(std::string(80, 'A'));
    }
    SECTION("in bytes, not sent yet") {
        r.session.start(r.now);
        r.submitted(std::string(80, 'A'));
    }
    const auto over = r.make("OVER");
    const auto why = r.submit(over);
    REQUIRE(why);
    CHECK(why->error == errc::backlog);
    CHECK(why->answer == vote::unreachable);
    CHECK(over->heard.empty());
    CHECK_FALSE(r.submit(r.make_release("R")));  // it would only leave a key behind
}

TEST_CASE("closing tells everybody, once") {
    rig r;
    const auto a = r.make("A");
    const auto release = r.make_release("R");
    std::size_t heard = 1;
    SECTION("before it started") { heard = 0; }
    SECTION("while connecting") {
        r.session.start(r.now);
        r.submit(a);
        r.submit(release);
    }
    SECTION("while greeting") {
        r.session.start(r.now);
        r.submit(a);
        r.connect();
        r.submit(release);
    }
    SECTION("while serving") {
        r.ready();
        r.submit(a);
        r.submit(release);
    }
    SECTION("when their time is over already") {
        r.ready();
        r.submit(a);
        r.submit(release);
        r.pass(r.options.node_timeout);
    }
    SECTION("while resting") {
        r.ready();
        r.submit(a);
        r.submit(release);
        r.session.on_down({}, r.now);
        r.session.on_down({}, r.now);
    }
    r.session.close(r.now);
    CHECK(a->heard.size() == heard);
    CHECK(release->heard.size() == heard);
    CHECK(r.session.is_idle());
    CHECK(r.session.deadline() == time_point::max());
    const int opens = r.opens;
    r.pass(1h);
    r.hear("+OK\r\n");
    r.session.on_down({}, r.now);
    r.session.close(r.now);
    CHECK(r.opens == opens);
    CHECK(a->heard.size() == heard);
    CHECK(a->use_count() == 1);  // nothing is kept
    CHECK(release->use_count() == 1);
    CHECK(r.submit(a));
}

TEST_CASE("closing owes nothing: there is no next connection") {
    ready_rig r;
    r.submit(r.make_release("R"));
    r.session.close(r.now);
    CHECK(r.owed == 0);
}

TEST_CASE("closing tells how many releases were not answered, and why") {
    rig r;
    SECTION("all were") {
        r.ready();
        r.submit(r.make_release("R"));
        r.submitted("A");
        r.hear(":1\r\n");
        CHECK(r.session.close(r.now).releases == 0);
    }
    SECTION("the node is silent") {
        r.ready();
        for (const auto* name : {"R", "S"}) r.submit(r.make_release(name));
        r.submitted("A");
        r.write();
        r.pass(r.options.node_timeout);
        const auto left = r.session.close(r.now);
        CHECK(left.releases == 2);
        CHECK(left.why.error == errc::timed_out);
    }
    SECTION("it can't be reached") {
        r.ready();
        r.submit(r.make_release("R"));
        const auto refused = make_error_code(boost::system::errc::connection_refused);
        r.session.on_down(refused, r.now);
        r.session.on_down(refused, r.now);
        r.submit(r.make_release("S"));
        const auto left = r.session.close(r.now);
        CHECK(left.releases == 2);
        CHECK(left.why.error == refused);
    }
    SECTION("it was on its way") {
        r.session.start(r.now);
        r.submit(r.make_release("R"));
        const auto left = r.session.close(r.now);
        CHECK(left.releases == 1);
        CHECK(left.why.error == errc::timed_out);
    }
    CHECK(r.session.close(r.now).releases == 0);
}

TEST_CASE("when a node last answered counts whole answers") {
    ready_rig r;
    const auto greeted = r.now - 1s;
    CHECK(r.session.last_answer() == greeted);
    r.submitted("A");
    r.now += 10ms;
    r.hear("+O");
    CHECK(r.session.last_answer() == greeted);
    r.now += 10ms;
    r.hear("K\r\n");
    CHECK(r.session.last_answer() == r.now);
}

TEST_CASE("a call may submit more calls while it is notified") {
    ready_rig r;
    const auto a = r.make("A");
    std::vector<fakes::heard_ptr> more;
    // Enough to make the queues grow while they are walked.
    a->then = [&] {
        for (int i = 0; i < 200; ++i) more.push_back(r.submitted("M"));
    };
    r.submit(a);
    const auto b = r.submitted("B");
    r.sent();
    SECTION("of a reply") {
        r.hear("+a\r\n+b\r\n");
        CHECK(b->heard == lines{"b"});
        CHECK(r.sent().size() == 200);
    }
    SECTION("of a timeout") {
        r.pass(r.options.node_timeout);
        CHECK(b->heard == lines{"timed_out"});
        CHECK(more[0]->heard.empty());
        CHECK(r.sent().size() == 200);
    }
    SECTION("of a broken connection") {
        r.session.on_down({}, r.now);
        CHECK(b->heard == lines{"unreachable"});
        CHECK(more[0]->heard.empty());
        r.connect();
        r.greet();
        CHECK(r.sent().size() == 200);
    }
    SECTION("of a stalled connection") {
        r.pass(10s);
        CHECK(b->heard == lines{"timed_out"});
    }
    CHECK(a->heard.size() == 1);
    CHECK(b->heard.size() == 1);
}
