// `redlock acquire`, `extend` and `release` as a script uses them; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_call.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// As a shell runs it; $R is the command, $C the configuration, $T a directory.
tool_outcome run_script(cluster& nodes, const std::string& script,
                        const std::string& folder = "./") {
    tool_process running(tool_process::program{"/bin/sh"},
                         {"-c", "R=$REDLOCK_TOOL C=$0 T=$1; " + script, nodes.config(), folder});
    return outcome_of(running);
}

// A command waits for half a second for the nodes beyond the quorum, and they may take longer.
bool is_on_quorum(cluster& nodes, const std::string& key, std::chrono::milliseconds longer_than) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) found += nodes.ask(i).pttl(key) > longer_than;
    return 2 * found > nodes.size();
}

}  // namespace

TEST_CASE("a lock is taken, prolonged and released in three steps of a script",
          "[tool][servers]") {
    cluster nodes(3);
    const scratch folder;
    auto got = run_script(nodes, "$R acquire --config $C --ttl 20s --token-file ${T}t r",
                          folder / "");
    INFO(got.err);
    CHECK(got.status == 0);
    CHECK(got.out.empty());
    CHECK(is_on_quorum(nodes, "r", 0ms));
    struct stat facts {};
    REQUIRE(::stat((folder / "t").c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0600);

    got = run_script(nodes, "$R --json extend --config $C --ttl 40s --token-file ${T}t",
                     folder / "");
    INFO(got.err);
    CHECK(got.status == 0);
    CHECK(has_text(got.out, "\"resource\":\"r\""));
    CHECK(is_on_quorum(nodes, "r", 30s));

    got = run_script(nodes, "$R release --config $C <${T}t", folder / "");
    INFO(got.err);
    CHECK(got.status == 0);
    CHECK(got.out.empty());
    CHECK(nodes.holding("r") == 0);

    SECTION("then the token is used up") {
        for (const std::string command : {"extend", "release"}) {
            got = run_script(nodes, "$R " + command + " --config $C --token-file ${T}t",
                             folder / "");
            CHECK(got.status == 123);
            CHECK(has_text(got.err, "not held any more"));
        }
    }
}

TEST_CASE("a token on standard output goes to the next command by a variable", "[tool]") {
    cluster nodes(3);
    const auto got = run_script(nodes,
                                "REDLOCK_TOKEN=$($R acquire --config $C a b c) && "
                                "export REDLOCK_TOKEN && $R extend --config $C && "
                                "$R release --config $C </dev/null");
    INFO(got.err);
    CHECK(got.status == 0);
    CHECK(got.out.empty());
    CHECK(nodes.keys() == 0);
}

TEST_CASE("a token that stands on the command line by mistake is not shown", "[tool]") {
    cluster nodes(3);
    const auto got = run_script(nodes,
                                "T=$($R acquire --config $C r); $R extend --config $C $T; "
                                "$R release --force --yes --config $C $T; $R release --config $C $T; "
                                "$R --config $C $T; echo $T >&2");
    INFO(got.err << got.out);
    const auto token = got.err.substr(got.err.rfind("redlock1."));
    CHECK(token.size() > 20);
    CHECK(got.err.find(token.substr(0, 20)) == got.err.rfind("redlock1."));
    CHECK_FALSE(has_text(got.out, token.substr(0, 20)));
    CHECK(has_text(got.err, "a token is no argument"));
}

TEST_CASE("several resources of which one is gone are not prolonged", "[tool]") {
    cluster nodes(3);
    const scratch folder;
    REQUIRE(run_script(nodes, "$R acquire --config $C --ttl 20s --token-file ${T}t a b",
                       folder / "")
                .status == 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes.ask(i).command({"DEL", "b"});
    for (const std::string command : {"extend --ttl 50s", "release"}) {
        const auto got = run_script(
            nodes, "$R " + command + " --config $C --token-file ${T}t", folder / "");
        CHECK(got.status == 123);
        for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(nodes.ask(i).pttl("a") <= 20s);
    }
}

TEST_CASE("a token without its lease changes nothing", "[tool][servers]") {
    cluster nodes(3);
    const scratch folder;
    REQUIRE(run_script(nodes, "$R acquire --config $C --ttl 20s --token-file ${T}t r",
                       folder / "")
                .status == 0);
    SECTION("garbled") {
        const auto got = run_script(nodes, "sed s/1/2/2 ${T}t | $R release --config $C",
                                    folder / "");
        CHECK(got.status == 123);
        CHECK(has_text(got.err, "no token of a lease"));
    }
    SECTION("of another holder's lease") {
        for (std::size_t i = 0; i < nodes.size(); ++i) nodes.ask(i).set("r", "somebody");
        const auto got = run_script(nodes, "$R release --config $C <${T}t", folder / "");
        CHECK(got.status == 123);
    }
    SECTION("none at all") {
        auto got = run_script(nodes, "$R release --config $C </dev/null");
        CHECK(got.status == 125);
        CHECK(has_text(got.err, "there is no token in standard input"));
        got = run_script(nodes, "$R release --config $C --token-file ${T}none", folder / "");
        CHECK(got.status == 125);
        CHECK(has_text(got.err, "No such file"));
    }
    CHECK(nodes.holding("r") >= 2);
}

TEST_CASE("where the token can't be handed over the lock is given back", "[tool]") {
    cluster nodes(3);
    SECTION("no such directory") {
        const auto got =
            run_script(nodes, "$R acquire --config $C --token-file ${T}none/t r");
        CHECK(got.status == 125);
        CHECK(has_text(got.err, "--token-file"));
    }
    SECTION("the file is another than a regular one") {
        const scratch folder;
        REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
        REQUIRE(::symlink("elsewhere", (folder / "link").c_str()) == 0);
        for (const std::string name : {"pipe", "link"}) {
            const auto got = run_script(
                nodes, "$R acquire --config $C --token-file ${T}" + name + " r", folder / "");
            CHECK(got.status == 125);
            CHECK(has_text(got.err, "no regular file"));
            struct stat facts {};
            REQUIRE(::lstat((folder / name).c_str(), &facts) == 0);
            CHECK_FALSE(S_ISREG(facts.st_mode));
        }
        CHECK(has_text(run_script(nodes, "$R acquire --config $C --token-file - r").err,
                       "goes to standard output"));
    }
    SECTION("standard output is full") {
        CHECK(run_script(nodes, "$R acquire --config $C r >/dev/full").status == 125);
    }
    SECTION("standard output has no reader") {
        const auto got = run_script(nodes, "{ $R acquire --config $C r; echo $? >&2; } | :");
        CHECK(has_text(got.err, "125"));
    }
    CHECK(nodes.keys() == 0);
}

TEST_CASE("an acquire that is refused, or called off, leaves nothing", "[tool]") {
    cluster nodes(3);
    driver holder(nodes.options());
    auto held = holder.acquire("r", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    SECTION("refused") {
        const auto got = run_script(nodes, "$R acquire --config $C r");
        CHECK(got.status == 120);
        CHECK(has_text(got.err, "wait longer (--wait)"));
        CHECK(run_script(nodes, "$R acquire --config $C -E 7 r").status == 7);
    }
    SECTION("called off") {
        tool_process waiting({"acquire", "--config", nodes.config(), "--wait", "20s", "r"});
        auto queue = nodes.ask(0);
        REQUIRE(holder.until([&] { return queue.exists("{r}:queue"); }));
        waiting.send(SIGTERM);
        CHECK(waiting.wait() == 128 + SIGTERM);
        CHECK(waiting.out().empty());
        CHECK(holder.until([&] { return !queue.exists("{r}:queue"); }));
    }
    CHECK(nodes.holding("r") == 3);
    CHECK(holder.release(std::move(held.value())) == error_code{});
    CHECK(holder.until([&] { return nodes.keys() == 0; }));
}
