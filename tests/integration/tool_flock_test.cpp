// The command line of flock(1), typed with redlock run in front; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "tool_call.hpp"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

TEST_CASE("without -- the first word is the RESOURCE, and CMD has its own options", "[flock]") {
    founded_cluster nodes(3);
    const std::vector<std::pair<call_words, std::string>> calls{
        {{"name", "echo", "-n", "hi"}, "hi"},
        {{"-w", "5", "name", "echo", "--json", "-w"}, "--json -w\n"},
        {{"-w0.5", "-x", "name", "echo", "--wait"}, "--wait\n"},
        {{"-nE7", "--ttl", "5s", "name", "sh", "-c", "echo $REDLOCK_RESOURCE"}, "name\n"},
        {{"--shared", "name", "printf", "%s", "run"}, "run"},
        {{"-s", "--ttl=5s", "name", "echo", "[a,b]"}, "[a,b]\n"},
        {{"name", "-c", "echo one | tr o O; exit 0"}, "One\n"},
        {{"-n", "-c", "echo $REDLOCK_RESOURCE", "name"}, "name\n"},
        {{"-c", "echo \"$REDLOCK_RESOURCE\"", "a", "b", "--"}, "a\nb\n"},
        {{"a", "b", "--", "sh", "-c", "echo \"$REDLOCK_RESOURCE\""}, "a\nb\n"},
        {{"-w", "5", "a", "--ttl", "5s", "--", "echo", "-w"}, "-w\n"},
        {{"--nonblock", "--exclusive", "--close", "name", "echo", "--close"}, "--close\n"},
        {{"--timeout", "5", "-o", "-e", "name", "echo", "hi"}, "hi\n"},
        {{"name", "--command", "echo one"}, "one\n"},
        {{"--command", "echo one", "name"}, "one\n"}};
    for (const auto& [call, out] : calls) {
        const auto got = outcome_of(run_on(nodes, call));
        CAPTURE(call);
        CHECK(got.status == 0);
        CHECK(got.out == out);
        CHECK(got.err.empty());
    }
    CHECK(outcome_of(run_on(nodes, {"name", "-c", "exit 9"})).status == 9);
    CHECK(outcome_of(run_on(nodes, {"name", "false"})).status == 1);
}

TEST_CASE("a script locks itself, as flock(1) has it", "[flock]") {
    founded_cluster nodes(3);
    const scratch folder;
    std::ofstream(folder / "script")
        << "[ \"$LOCKED\" != \"$0\" ] && exec env LOCKED=\"$0\" \"$REDLOCK_TOOL\" run --config \"$1\" "
           "-en \"$0\" sh \"$0\" \"$@\" || :\n"
           "echo \"$2 holds $REDLOCK_RESOURCE\"\n";
    tool_process running(tool_process::program{"/bin/sh"},
                         {folder / "script", nodes.config(), "one"});
    const auto got = outcome_of(running);
    CHECK(got.out == "one holds " + (folder / "script") + "\n");
    CHECK(got.status == 0);
}

TEST_CASE("letters of flock that contradict each other are refused", "[flock]") {
    cluster nodes(1);
    const std::vector<std::pair<call_words, std::string>> calls{
        {{"-n", "-w", "5", "r", "true"}, "-n does not wait"},
        {{"-n", "--wait", "5s", "r", "true"}, "-n does not wait"},
        {{"-w", "5", "--wait", "5s", "r", "true"}, "are the same"},
        {{"-sx", "r", "true"}, "-s shares the lock"},
        {{"-c", "true", "r", "true"}, "stands in place of CMD"},
        {{"r", "-c", "true", "true"}, "stands in place of CMD"},
        {{"-c", "true", "r", "--", "true"}, "stands in place of CMD"},
        {{"-w", "5s", "r", "true"}, "no number of seconds"},
        {{"-w", "-1", "r", "true"}, "no number of seconds"},
        {{"--wait", "ever", "r", "true"}, "or forever"},
        {{"-F", "r", "true"}, "--no-fork can't be had: redlock renews the lease"},
        {{"r"}, "run needs a command"},
        {{"r", "--ttl", "5s"}, "run needs a command"}};
    for (const auto& [call, text] : calls) {
        const auto got = outcome_of(run_on(nodes, call));
        CAPTURE(call, got.err);
        CHECK(got.status == 125);
        CHECK(has_text(got.err, text));
    }
}

TEST_CASE("-n, -w and --wait forever wait as they say", "[flock]") {
    founded_cluster nodes(3);
    const scratch folder;
    REQUIRE(::mkfifo((folder / "gate").c_str(), 0600) == 0);
    tool_process holder(run_on(nodes, {"r", "cat", folder / "gate"}));
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    CHECK(outcome_of(run_on(nodes, {"-n", "r", "echo", "ran"})).status == 120);
    CHECK(outcome_of(run_on(nodes, {"-w", "0.05", "r", "echo", "ran"})).status == 120);
    CHECK(outcome_of(run_on(nodes, {"-s", "-w", "0", "r", "echo", "ran"})).status == 120);
    const std::string config = nodes.config();
    tool_process run({"run", "--config", config, "--wait", "forever", "r", "echo", "mine"});
    tool_process acquire(
        {"acquire", "--config", config, "--wait", "forever", "--ttl", "300ms", "r"});
    tool_process seconds({"run", "--config", config, "-w", "40", "r", "echo", "mine"});
    REQUIRE(eventually([&] { return nodes.ask(0).command({"ZCARD", "{r}:queue"}).number == 3; }));
    std::ofstream(folder / "gate") << "";
    CHECK(holder.wait() == 0);
    CHECK(run.wait() == 0);
    CHECK(acquire.wait() == 0);
    CHECK(seconds.wait() == 0);
    CHECK(run.out() == "mine\n");
    CHECK(has_text(acquire.out(), "redlock1."));
    CHECK(seconds.out() == "mine\n");
}
