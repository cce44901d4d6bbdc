// Proves that the tests' own tools can fail: the overlap checker, the servers, the questions.
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

held_span span(const std::string& resource, const std::string& owner, int from, int to) {
    const auto at = [](int ns) { return clock::time_point(clock::duration(ns)); };
    return {resource, owner, at(from), at(to)};
}

}  // namespace

TEST_CASE("overlaps are found, and only overlaps", "[support]") {
    CHECK(find_overlaps({}).empty());
    CHECK(find_overlaps({span("r", "a", 0, 10), span("r", "b", 10, 20)}).empty());
    CHECK(find_overlaps({span("r", "a", 0, 10), span("s", "b", 5, 20)}).empty());
    CHECK(find_overlaps({span("r", "b", 9, 20), span("r", "a", 0, 10)}).size() == 1);
    // One long trust over two short ones, which are no neighbours of the second.
    CHECK(find_overlaps({span("r", "a", 0, 100), span("r", "b", 10, 20),
                         span("r", "c", 30, 40)}).size() == 2);
}

TEST_CASE("a history goes through a file", "[support]") {
    const auto path = (std::filesystem::temp_directory_path() /
                       ("redlock-history-" + std::to_string(::getpid()))).string();
    history one;
    one.add(span("r", "a", 0, 10));
    one.save(path);
    history other;
    other.add(span("r", "b", 5, 20));
    other.load(path);
    std::filesystem::remove(path);
    CHECK(other.size() == 2);
    CHECK(other.overlaps().size() == 1);
}

TEST_CASE("servers start, hang, die, come back, and leave nothing", "[support]") {
    std::filesystem::path directory;
    pid_t pid = 0;
    {
        redis_server server({{"--appendonly", "yes", "--appendfsync", "always"}, "pw", true});
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

TEST_CASE("companion keys are told from litter", "[support]") {
    cluster nodes(1);
    auto ask = nodes.ask(0);
    CHECK_FALSE(nodes.is_founded());
    const std::string beginning = std::string(22, 'e') + " " + std::string(40, 'f');
    ask.set("redlock:node", beginning + " 7 5 60000 0 -");
    ask.set("{r}:fence", "1");
    CHECK(nodes.keys() == 0);
    CHECK_FALSE(nodes.is_founded());
    ask.set("redlock:node", beginning + " 0 5 60000 0 -");
    CHECK(nodes.is_founded());
    for (const auto* litter : {"r", "{r}:fence2", "x{r}:fence", "redlock:nodes", ":fence"}) {
        ask.set(litter, "1");
    }
    CHECK(nodes.keys() == 5);
}

TEST_CASE("the hostile server is a good one where it is not told otherwise", "[support]") {
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

TEST_CASE("the hostile server does as it is told", "[support]") {
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
