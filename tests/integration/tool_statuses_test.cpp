// The exit status of each command for each argument that it can't take; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_process.hpp"

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
    cluster nodes(3);
    found(nodes);
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
    cluster nodes(3);
    found(nodes);
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
