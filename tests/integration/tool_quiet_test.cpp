// What redlock run writes where another holder has the lock, and where more than that is wrong;
// knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "tool_call.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

void set_everywhere(cluster& nodes, const std::string& key) {
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes.ask(i).set_nx_px(key, "someone", 60s);
}

}  // namespace

TEST_CASE("a lock that another holder has is no news for cron", "[quiet]") {
    founded_cluster nodes(3);
    set_everywhere(nodes, "r");
    const std::vector<call_words> calls{{}, {"--wait", "1ms"}, {"--quiet"}, {"-E", "7"}};
    for (const call_words& options : calls) {
        call_words all = options;
        all.insert(all.end(), {"r", "--", "echo", "ran"});
        const auto got = outcome_of(run_on(nodes, all));
        CHECK(got.status == (options == call_words{"-E", "7"} ? 7 : 120));
        CHECK(got.out.empty());
        CHECK(got.err.empty());
    }
    const auto told = outcome_of(run_on(nodes, {"--verbose", "r", "--", "true"}));
    CHECK(told.status == 120);
    CHECK(has_text(told.err, "'r': "));
    CHECK(has_text(told.err, "held by someone"));
    const auto in_json = outcome_of(run_on(nodes, {"--json", "r", "--", "true"}));
    CHECK(has_text(in_json.err, R"("kind":"message","severity":"info","text":"'r': )"));
}

TEST_CASE("a turn of this period that another machine had is no news for cron", "[quiet]") {
    founded_cluster nodes(3);
    const call_words job{"--min-hold", "50s", "report", "--", "echo", "ran"};
    CHECK(outcome_of(run_on(nodes, job)).out == "ran\n");
    const auto late = outcome_of(run_on(nodes, job));
    CHECK(late.status == 120);
    CHECK(late.out.empty());
    CHECK(late.err.empty());
}

TEST_CASE("what waiting can't help, and what fails, is said also with --quiet", "[quiet]") {
    founded_cluster nodes(3);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", "someone");
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command({"LPUSH", "list", "x"});
    for (const call_words& options : std::vector<call_words>{{}, {"--quiet"}}) {
        const auto run_with = [&](const call_words& rest) {
            call_words all = options;
            all.insert(all.end(), rest.begin(), rest.end());
            return outcome_of(run_on(nodes, all));
        };
        const auto stays = run_with({"r", "--", "true"});
        CHECK(stays.status == 120);
        CHECK(has_text(stays.err, "waiting can't help"));
        const auto other = run_with({"list", "--", "true"});
        CHECK(other.status == 125);
        CHECK(has_text(other.err, "used for something else"));
        CHECK(has_text(run_with({"a", "--", "/no/such/program"}).err, "No such file"));
        CHECK(has_text(run_with({"--ttl", "1ms", "a", "--", "true"}).err, "--ttl"));
    }
    nodes.kill(0);
    nodes.kill(1);
    const auto down = outcome_of(run_on(nodes, {"--quiet", "a", "--", "true"}));
    CHECK(down.status == 121);
    CHECK(has_text(down.err, "too few nodes could vote"));
}

TEST_CASE("what is doubtful in the configuration is said by doctor, and by run --verbose",
          "[quiet]") {
    const auto [count, doubt] =
        GENERATE(std::pair(1, "when the one node fails, nothing can be locked"),
                 std::pair(2, "2 nodes bear no more"));
    founded_cluster nodes(static_cast<std::size_t>(count));
    const auto usual = outcome_of(run_on(nodes, {"r", "--", "true"}));
    CHECK(usual.status == 0);
    CHECK(usual.err.empty());
    for (const call_words& other : std::vector<call_words>{
             {"acquire", "--ttl", "1s", "r"}, {"inspect", "r"}, {"list"}}) {
        call_words call = other;
        call.insert(call.begin() + 1, {"--config", nodes.config()});
        CHECK(outcome_of(call).err.empty());
    }
    const auto told = outcome_of(run_on(nodes, {"--verbose", "r", "--", "true"}));
    CHECK(has_text(told.err, doubt));
    CHECK(has_text(outcome_of({"doctor", "--config", nodes.config()}).out, doubt));
}

TEST_CASE("--quiet contradicts --verbose and --json", "[quiet]") {
    cluster nodes(1);
    for (const auto* more : {"--verbose", "--json"}) {
        const auto got = outcome_of(run_on(nodes, {"--quiet", more, "r", "--", "true"}));
        CHECK(got.status == 125);
        CHECK(has_text(got.err, "leave one out"));
    }
}

TEST_CASE("a refusal of many nodes or about many resources names the first three", "[quiet]") {
    const scratch folder;
    call_words call{"run"};
    for (int i = 0; i < 31; ++i) {
        call.insert(call.end(), {"--node", "unix://" + (folder / ("no" + std::to_string(i)))});
    }
    for (int i = 0; i < 64; ++i) call.push_back("r" + std::to_string(i));
    call.insert(call.end(), {"--", "true"});
    const auto got = outcome_of(call);
    CHECK(got.status == 121);
    CHECK(has_text(got.err, "'r0', 'r1', 'r2' and 61 more: "));
    CHECK(has_text(got.err, "0 of 31 nodes granted"));
    CHECK(has_text(got.err, "; and 28 more: "));
    CHECK_FALSE(has_text(got.err, "no30"));
    call.insert(call.begin() + 1, "--json");
    const auto in_json = outcome_of(call);
    CHECK(has_text(in_json.err, R"(no30","answer")"));
    CHECK(has_text(in_json.err, R"("r63")"));

    call.assign(call.begin() + 2, call.begin() + 2 + 2 * 31);
    call.insert(call.begin(), "doctor");
    const auto ill = outcome_of(call);
    CHECK(ill.status == 2);
    CHECK(has_text(ill.out, "error: and 28 more: unreachable"));
    CHECK_FALSE(has_text(ill.out, "no30"));
    call.emplace_back("--json");
    CHECK(has_text(outcome_of(call).out, "no30"));
}
