// Proves that the tests' own tools can fail: the judge of histories, the servers, the questions.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/history.hpp"
#include "support/hostile_server.hpp"
#include "support/run.hpp"

#include <filesystem>
#include <signal.h>
#include <unistd.h>

using namespace redlock;
using namespace redlock::testing;

namespace {

judge::span held(const std::string& resource, std::uint64_t fence, int from, int to) {
    const auto at = [](int ns) { return clock::time_point(clock::duration(ns)); };
    judge::span s;
    s.resource = resource;
    s.fence = fence;
    s.granted_at = s.asked_at = at(from);
    s.trusted_until = s.seen_until = at(to);
    return s;
}

}  // namespace

// The self-test of the chaos run has all the rules.
TEST_CASE("a history has overlaps and inverted fences, and nothing else", "[support]") {
    CHECK(find_violations({}).empty());
    CHECK(find_violations({held("r", 1, 0, 10), held("r", 2, 10, 20)}).empty());
    CHECK(find_violations({held("r", 1, 0, 10), held("s", 1, 5, 20)}).empty());
    CHECK(find_violations({held("r", 2, 9, 20), held("r", 1, 0, 10)}).size() == 1);
    CHECK(find_violations({held("r", 2, 0, 10), held("r", 2, 10, 20)}).size() == 1);
    CHECK(find_violations({held("r", 0, 0, 10), held("r", 0, 10, 20)}).empty());
    history all;
    all.add(held("r", 1, 0, 10));
    all.add(held("r", 2, 5, 20));
    CHECK(all.size() == 2);
    CHECK(all.violations().size() == 1);
}

TEST_CASE("servers start, hang, die, come back, and leave nothing", "[support]") {
    std::filesystem::path directory;
    pid_t pid = 0;
    {
        redis_server server({.password = "pw", .unix_socket = true, .keeps_data = true});
        directory = server.directory();
        pid = server.pid();
        CHECK(server.uri() == "redis://:pw@127.0.0.1:" + std::to_string(server.port()));
        CHECK(std::filesystem::exists(server.unix_socket()));
        direct(server.port(), "pw").set("k", "v");
        CHECK_THROWS(direct(server.port(), "wrong"));
        server.stop();
        CHECK_THROWS(direct(server.port(), "pw", 200ms));
        server.cont();
        CHECK(direct(server.port(), "pw").get("k") == "v");
        server.kill();
        CHECK_THROWS(direct(server.port(), "pw"));
        server.restart();
        CHECK(direct(server.port(), "pw").get("k") == "v");
        server.restart(redis_server::data::empty);
        CHECK_FALSE(direct(server.port(), "pw").get("k"));
        server.terminate();
        CHECK_FALSE(server.running());
    }
    CHECK_FALSE(std::filesystem::exists(directory));
    CHECK(::kill(pid, 0) != 0);
    CHECK_THROWS(redis_server({{"--no-such-option", "yes"}, {}, false}));
}

TEST_CASE("questions count commands", "[support]") {
    redis_server server;
    direct ask(server.port());
    ask.reset_calls();
    CHECK(ask.calls("set") == 0);
    ask.set("a", "1");
    CHECK(ask.set_nx_px("b", "1", 60s));
    CHECK_FALSE(ask.set_nx_px("b", "2", 60s));
    CHECK(ask.calls("set") == 3);
    CHECK(ask.pttl("a") == -1ms);
    CHECK(ask.pttl("b") > 50s);
    CHECK(ask.pttl("c") == -2ms);
    CHECK(ask.keys().size() == 2);
    CHECK(ask.del("a"));
    CHECK_FALSE(ask.exists("a"));
    CHECK_THROWS(ask.config_set("no-such-option", "1"));
    CHECK(ask.command({"NOSUCH"}).type == reply::kind::error);
    direct other(server.port());
    other.command({"CLIENT", "SETNAME", "other"});
    CHECK(ask.clients_named("other") == 1);
    CHECK(ask.kill_other_clients() == 1);
    CHECK_THROWS(other.get("b"));
}

TEST_CASE("the count of a cluster's keys has litter in it, and no companion keys", "[support]") {
    cluster nodes(1);
    auto ask = nodes.ask(0);
    CHECK_FALSE(nodes.is_founded());
    const std::string beginning = std::string(22, 'e') + " run_id=" + std::string(40, 'f');
    ask.set("redlock:node", beginning + " since=7 created=5");
    ask.set("{r}:fence", "1");
    CHECK(nodes.keys() == 0);
    CHECK_FALSE(nodes.is_founded());
    ask.set("redlock:node", beginning + " since=0 created=5");
    CHECK(nodes.is_founded());
    for (const auto* litter : {"r", "{r}:fence2", "x{r}:fence", "redlock:nodes", ":fence"}) {
        ask.set(litter, "1");
    }
    CHECK(nodes.keys() == 5);
}

TEST_CASE("a hostile server without misdeeds answers as a good one", "[support]") {
    hostile_server good(hostile::none());
    direct ask(good.port());
    CHECK(ask.command({"CLIENT", "SETNAME", "x"}).text == "OK");
    CHECK(ask.command({"SCRIPT", "LOAD", "return 1"}).text ==
          "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    CHECK(ask.command({"TIME"}).items.size() == 2);
    CHECK(ask.set_nx_px("k", "v", 1s));
    CHECK(good.commands() == 4);
    CHECK(good.commands("SET") == 1);
    CHECK(good.connections_open() == 1);
    good.cut();
    CHECK_THROWS(ask.get("k"));
    CHECK(eventually([&] { return good.connections_open() == 0; }));
}

TEST_CASE("a hostile server follows the script that it is given", "[support]") {
    hostile_server bad(hostile::only_at_first(1, hostile::error("ERR no")));
    direct first(bad.port());
    CHECK(first.command({"CLIENT", "SETNAME", "x"}).text == "OK");
    CHECK(first.command({"SET", "k", "v"}).text == "ERR no");
    CHECK(direct(bad.port()).command({"SET", "k", "v"}).text == "OK");
    bad.behave(hostile::splits(1));
    CHECK(direct(bad.port()).command({"GET", "k"}).type == reply::kind::nil);
    bad.behave(hostile::never_answers());
    CHECK_THROWS(direct(bad.port(), {}, 200ms).command({"GET", "k"}));
    bad.behave(hostile::answers_then_closes("$5\r\nab"));
    CHECK_THROWS(direct(bad.port()).command({"GET", "k"}));
    bad.behave(hostile::floods("+OK\r\n"));
    CHECK(direct(bad.port()).command({"GET", "k"}).text == "OK");
}
