// The exit statuses of the command, for arguments that it can't take and for what befalls; knows no
// internals.
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

namespace {

using argument_list = std::vector<std::string>;

argument_list joined(argument_list first, const argument_list& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

// `tail` is the rest of a call of the command that would be good.
void check_refusals(cluster& nodes, const argument_list& head,
                    const std::vector<argument_list>& bad, const argument_list& tail, int status) {
    for (const argument_list& wrong : bad) {
        argument_list words = joined(joined({"--config", nodes.config()}, head), wrong);
        tool_process running(joined(words, tail));
        std::string shown;
        for (const auto& word : joined(joined(head, wrong), tail)) {
            shown += word.substr(0, 60) + " ";
        }
        CAPTURE(shown);
        const int got = running.wait();
        const std::string said = running.err();
        CAPTURE(said);
        CHECK(got == status);
        CHECK(running.out().empty());
        CHECK(said.starts_with("redlock: "));
        CHECK(said.find("_ms:") == std::string::npos);  // in the words of options
    }
}

const std::vector<argument_list>& bad_durations() {
    static const std::vector<argument_list> all{
        {"--ttl", "0s"},        {"--ttl", "1ms"},     {"--ttl", "2ms"}, {"--ttl", "60001ms"},
        {"--ttl", "1000000h"},  {"--ttl", "10"},      {"--ttl", ""},    {"--ttl", "-1s"},
        {"--ttl", "1s", "--ttl", "2s"}};
    return all;
}

const std::vector<argument_list>& bad_terms() {
    static const std::vector<argument_list> all{
        {"--wait", "-1s"},   {"--wait", "x"},       {"--slots", "0"},
        {"--slots", "1025"}, {"--slots", "many"},   {"--slots", "2", "--shared"},
        {"-E", "256"},       {"-E", "-1"},          {"-E", "x"}};
    return all;
}

const std::vector<argument_list>& bad_resources() {
    static const std::vector<argument_list> all{
        {""}, {std::string(513, 'x')}, {"{r}:fence"}, {"redlock:node"}, {"redlock:wake:x"}, {}};
    return all;
}

}  // namespace

TEST_CASE("a lease that is held is not called lost for a bad argument", "[statuses]") {
    founded_cluster nodes(3);
    const scratch folder;
    const std::string token = folder / "token";
    const argument_list by_token{"--token-file", token};
    tool_process taken(
        joined({"--config", nodes.config(), "acquire", "--ttl", "50s", "b3"}, by_token));
    REQUIRE(taken.wait() == 0);
    check_refusals(nodes, {"extend"}, bad_durations(), by_token, 125);
    for (const auto* command : {"extend", "release"}) {
        check_refusals(nodes, {command}, {{"b3"}, {"--tll", "1s"}, {"--force", "--token-file"}},
                       by_token, 125);
        check_refusals(nodes, {command},
                       {{"--token-file", folder / "none"}, {"--token-file", "/dev/null"}}, {}, 125);
        std::ofstream(folder / "bad") << "redlock1.none";
        check_refusals(nodes, {command}, {{"--token-file", folder / "bad"}}, {}, 123);
    }
    check_refusals(nodes, {"release"}, {{"--yes"}, {"--force"}}, by_token, 125);
    CHECK(nodes.holding("b3") >= 2);
    tool_process given_back({"--config", nodes.config(), "release", "--token-file", token});
    CHECK(given_back.wait() == 0);
    for (const auto* command : {"extend", "release"}) {
        check_refusals(nodes, {command}, {by_token}, {}, 123);
    }
}

TEST_CASE("what can't be taken is refused with 125 by each command", "[statuses]") {
    founded_cluster nodes(3);
    const argument_list cmd{"r", "--", "true"};
    const std::vector<argument_list> of_run{
        {"--margin", "0s"},    {"--margin", "6s"},   {"--max-hold", "1ms"},
        {"--min-hold", "61s"}, {"--ttl"},            {"--max-hold", "9000h"},
        {"--metrics"},         {"--no-such-option"}, {"--max-hold", "1s", "--margin", "1s"},
        {"--min-hold", "1s", "--shared"}};
    for (const auto* bad : {&bad_durations(), &bad_terms(), &of_run}) {
        check_refusals(nodes, {"run"}, *bad, cmd, 125);
    }
    check_refusals(nodes, {"run"}, bad_resources(), {"--", "true"}, 125);
    check_refusals(nodes, {"run"}, {{}, {"r"}, {"r", "--"}, {"r", "r", "--", "true"}}, {}, 125);
    const scratch folder;
    const std::vector<argument_list> of_acquire{{"--token-file", "-"},
                                                {"--token-file", folder / "none/token"},
                                                {"--token-file", "/dev"},
                                                {"--max-hold", "1s"}};
    for (const auto* bad : {&bad_durations(), &bad_terms(), &of_acquire}) {
        check_refusals(nodes, {"acquire"}, *bad, {"r"}, 125);
    }
    for (const auto* command : {"acquire", "inspect", "watch"}) {
        check_refusals(nodes, {command}, bad_resources(), {}, 125);
    }
    check_refusals(nodes, {"release", "--force", "--yes"}, bad_resources(), {}, 125);
    check_refusals(nodes, {"inspect"}, {{"a", "b"}}, {}, 125);
    check_refusals(nodes, {"list"}, {{"a", "b"}, {"--ttl", "1s"}}, {}, 125);
    for (const auto* command : {"doctor", "init", "bench"}) {
        check_refusals(nodes, {command}, {{"r"}, {"--wait", "1s"}}, {}, 125);
    }
    check_refusals(nodes, {"bench", "--yes"},
                   {{"--each", "0s"}, {"--each", "60001ms"}, {"--each", "1"}, {"--workers", "0"},
                    {"--workers", "1001"}},
                   {}, 125);
    check_refusals(nodes, {"completion"}, {{}, {"tcsh"}, {"bash", "zsh"}}, {}, 125);
    check_refusals(nodes, {"help"}, {{"lock"}, {"run", "list"}}, {}, 125);
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("a lease that an operator took before CMD ended is no success", "[statuses]") {
    founded_cluster nodes(3);
    const scratch folder;
    REQUIRE(::mkfifo((folder / "gate").c_str(), 0600) == 0);
    // It ends before a renewal is due, which would report the loss.
    tool_process running(run_on(nodes, {"--ttl", "60s", "r", "--", "cat", folder / "gate"}));
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    CHECK(outcome_of({"release", "--config", nodes.config(), "--force", "--yes", "r"}).status == 0);
    std::ofstream(folder / "gate") << "";
    const auto got = outcome_of(running);
    CHECK(got.status == 122);
    CHECK(has_text(got.err, "the lease of 'r' was gone from a quorum of nodes before CMD ended"));
    CHECK(has_text(got.err, "release --force"));
}

TEST_CASE("what could not be executed keeps nobody out for --min-hold", "[statuses]") {
    founded_cluster nodes(3);
    const scratch folder;
    std::ofstream(folder / "unready") << "";
    for (const auto& [job, status] : {std::pair{folder / "none", 127},
                                      std::pair{folder / "unready", 126}}) {
        CHECK(outcome_of(run_on(nodes, {"--min-hold", "50s", "r", "s", "--", job})).status == status);
        CHECK(nodes.holding("r") == 0);
        CHECK(outcome_of(run_on(nodes, {"s", "--", "true"})).status == 0);
    }
    // A job that ends so has run.
    CHECK(outcome_of(run_on(nodes, {"--min-hold", "50s", "r", "-c", "exit 127"})).status == 127);
    CHECK(outcome_of(run_on(nodes, {"r", "--", "true"})).status == 120);
}

TEST_CASE("a script that can't be read as one is refused with the cause", "[statuses]") {
    founded_cluster nodes(3);
    const scratch folder;
    const auto complaint = [&](const std::string& text) {
        std::ofstream(folder / "job") << text;
        REQUIRE(::chmod((folder / "job").c_str(), 0700) == 0);
        return outcome_of(run_on(nodes, {"r", "--", folder / "job"})).err;
    };
    CHECK(has_text(complaint("#!/bin/sh\r\necho\r\n"), "its lines end as on Windows"));
    CHECK(has_text(complaint("#! /no/such -x\necho\n"),
                   "its first line names the interpreter /no/such, which is not here"));
}

TEST_CASE("a wait without a quorum says so, and why, also where nobody looks", "[statuses]") {
    founded_cluster nodes(3);
    const scratch folder;
    for (const std::size_t i : {0, 1}) nodes.kill(i);
    const std::string port = std::to_string(nodes.options().nodes[1].port);
    for (const char* option : {"--verbose", "--quiet", "--no-renew"}) {
        tool_process running(run_on(nodes, {option, "--wait", "forever", "--metrics",
                                            folder / "metrics", "r", "--", "true"}));
        const auto told = "no quorum of nodes may vote: ";
        CHECK(eventually([&] { return has_text(running.err(), told); }));
        running.send(SIGTERM);
        const auto got = outcome_of(running);
        CHECK(got.err.find(told) == got.err.rfind(told));
        CHECK(has_text(got.err, ":" + port + ": Connection refused"));
        const std::string counted = read_file(folder / "metrics");
        CHECK(has_text(counted, "redlock_quorum 0"));
        CHECK(has_text(counted, ":" + port + "\"} 0"));
    }
    tool_process json(run_on(nodes, {"--json", "--wait", "forever", "r", "--", "true"}));
    CHECK(eventually([&] { return has_text(json.err(), "\"quorum\":false"); }));
}

TEST_CASE("doctor --ready waits for the nodes' votes", "[statuses]") {
    founded_cluster nodes(3);
    const auto ready = [&](call_words rest) {
        rest.insert(rest.begin(), {"doctor", "--ready", "--config", nodes.config()});
        return outcome_of(rest);
    };
    const auto name = [&](std::size_t i) {
        return "127.0.0.1:" + std::to_string(nodes.options().nodes[i].port);
    };
    CHECK(ready({}).status == 0);
    nodes.kill(0);
    const auto got = ready({});
    CHECK(got.status == 1);
    CHECK(has_text(got.err, name(0) + " has no vote: "));
    CHECK(ready({name(1)}).status == 0);
    CHECK(ready({name(0)}).status == 1);
    CHECK(ready({"other"}).status == 125);
}

TEST_CASE("nodes that can't be used are refused with 125 by each command", "[statuses]") {
    const std::vector<argument_list> bad{
        {"--node", ""}, {"--node", "host:0"}, {"--node", "redis://"}, {"--node", "redis://h:0"},
        {"--node", "redis://h", "--node", "redis://h"}, {"--config", ""}, {"--config", "/none"},
        {"--config", "/dev/null"}, {"--node", "rediss://h", "--tls-ca", "/none"}, {}};
    const std::vector<argument_list> commands{
        {"run", "r", "--", "true"}, {"acquire", "r"}, {"extend", "--token-file", "/dev/null"},
        {"release", "--token-file", "/dev/null"}, {"release", "--force", "--yes", "r"},
        {"inspect", "r"}, {"list"}, {"watch", "r"}, {"doctor"}, {"init", "--yes"},
        {"bench", "--yes"}};
    for (const argument_list& wrong : bad) {
        for (const argument_list& command : commands) {
            tool_process running(joined(wrong, command));
            const int status = running.wait();
            INFO(command.front() << ": " << running.err());
            CHECK(status == 125);
            CHECK(running.err().starts_with("redlock: "));
        }
    }
}
