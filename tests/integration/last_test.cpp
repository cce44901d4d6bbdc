// Runs on record: what `run --record` notes on real servers, and `last` shows.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"
#include "tool_call.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/run_record.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string key = "{r}:last";

// One text for each run, the latest first.
std::vector<std::string> runs_of(cluster& nodes, const std::string& resource = "r") {
    const auto got = outcome_on(nodes, {"last", "--json", resource});
    REQUIRE(got.status == 0);
    std::vector<std::string> out;
    for (std::size_t at = got.out.find("{\"id\""); at != got.out.npos;) {
        const std::size_t end = got.out.find('}', at);
        out.push_back(got.out.substr(at, end - at));
        at = got.out.find("{\"id\"", end);
    }
    return out;
}

// What stands behind a name, up to the next comma.
std::string member(const std::string& run, const std::string& name) {
    const std::size_t at = run.find("\"" + name + "\":");
    REQUIRE(at != run.npos);
    const std::size_t from = at + name.size() + 3;
    return run.substr(from, run.find(',', from) - from);
}

int status_of(cluster& nodes, std::vector<std::string> how, std::vector<std::string> command) {
    how.insert(how.begin(), {"run", "--record", "1h"});
    how.insert(how.end(), {"r", "--"});
    how.insert(how.end(), command.begin(), command.end());
    return outcome_on(nodes, how).status;
}

}  // namespace

TEST_CASE("last shows how runs ended, the latest first", "[last][tool]") {
    cluster nodes(3);
    CHECK(has_text(outcome_on(nodes, {"last", "r"}).out, "redlock run --record"));
    CHECK(status_of(nodes, {}, {"true"}) == 0);
    CHECK(status_of(nodes, {}, {"sh", "-c", "exit 3"}) == 3);
    CHECK(status_of(nodes, {}, {"sh", "-c", "kill -9 $$"}) == 137);
    CHECK(status_of(nodes, {}, {"/no/such/job"}) == 127);
    const auto runs = runs_of(nodes);
    REQUIRE(runs.size() == 4);
    CHECK(member(runs[0], "status") == "127");
    CHECK(member(runs[1], "status") == "137");
    CHECK(member(runs[1], "signal") == "9");
    CHECK(member(runs[2], "status") == "3");
    CHECK(member(runs[3], "status") == "0");
    for (std::size_t i = 0; i < runs.size(); ++i) {
        CHECK(std::stoll(member(runs[i], "pid")) > 1);
        CHECK(std::stoll(member(runs[i], "fence")) > 0);
        CHECK(member(runs[i], "lost") == "false");
        CHECK(member(runs[i], "end") >= member(runs[i], "start"));
        if (i > 0) CHECK(member(runs[i], "fence") < member(runs[i - 1], "fence"));
    }
    const auto table = outcome_on(nodes, {"last", "r"});
    CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 5);
    CHECK(has_text(table.out, "by signal 9"));
    CHECK(nodes.ask(0).pttl(key) > 59min);
    CHECK(nodes.ask(0).pttl(key) <= 1h);
    CHECK(outcome_on(nodes, {"list", "--all"}).out.empty());  // it is no lock
}

TEST_CASE("a run that was killed with redlock shows as not ended", "[last][tool]") {
    cluster nodes(3);
    tool_process running(call_on(nodes, {"run", "--record", "1h", "r", "--", "sleep", "60"}));
    REQUIRE(eventually([&] { return nodes.ask(0).exists(key) && nodes.ask(1).exists(key); }));
    running.send(SIGKILL);
    (void)running.wait();
    const auto runs = runs_of(nodes);
    REQUIRE(runs.size() == 1);
    CHECK(member(runs[0], "end") == "null");
    CHECK(member(runs[0], "status") == "null");
    CHECK(has_text(outcome_on(nodes, {"last", "r"}).out, "not ended"));
}

TEST_CASE("a node that missed the end of a run is helped out by the others", "[last][tool]") {
    cluster nodes(3);
    CHECK(status_of(nodes, {}, {"true"}) == 0);
    const std::string quoted = member(runs_of(nodes)[0], "id");
    const std::string id = quoted.substr(1, quoted.size() - 2);
    nodes.ask(0).set(key, id + " start=5 word=later");
    auto runs = runs_of(nodes);
    REQUIRE(runs.size() == 1);
    CHECK(member(runs[0], "status") == "0");
    nodes.kill(0);
    CHECK(runs_of(nodes) == runs);
    CHECK(status_of(nodes, {}, {"true"}) == 0);
    nodes.kill(1);
    const auto none = outcome_on(nodes, {"last", "r"});
    CHECK(none.status == 121);
    CHECK(has_text(none.err, "redlock doctor"));
}

TEST_CASE("of a resource twenty runs are kept, for the longest time that one wanted", "[last]") {
    cluster nodes(3);
    blocking_client noting(nodes.options());
    const std::chrono::system_clock::time_point first{1'000'000ms};
    run_record run{.id = "x"};
    for (int i = 0; i < 25; ++i) {
        run.id = "run-" + std::to_string(i);
        run.start = first + i * 1s;
        REQUIRE(noting.record_run("r", run, i == 3 ? 60s : 1s).has_value());
    }
    run.status = 4;
    run.end = run.start;
    const auto all = noting.record_run("r", run, 1s);
    REQUIRE(all.has_value());
    CHECK(all->size() == most_runs);
    CHECK(all->front().id == "run-24");
    CHECK(all->front().status == 4);
    CHECK(all->back().id == "run-5");
    CHECK(nodes.ask(2).pttl(key) > 50s);
    CHECK(noting.last_runs("r")->size() == most_runs);
    CHECK(noting.last_runs("s")->empty());
    CHECK(noting.last_runs("").error() == errc::invalid_argument);
    CHECK(noting.record_run("r", run, 0s).error() == errc::invalid_argument);
    run.id.clear();
    CHECK(noting.record_run("r", run, 1s).error() == errc::invalid_argument);
    CHECK(noting.acquire("{r}:last", {.ttl = 1s}).error().code == errc::invalid_argument);
}

TEST_CASE("a beginning that arrives late does not replace the end", "[last]") {
    cluster nodes(3);
    blocking_client noting(nodes.options());
    run_record run{.id = "x", .start = std::chrono::system_clock::now()};
    const run_record beginning = run;
    run.end = run.start + 1s;
    run.status = 3;
    REQUIRE(noting.record_run("r", run, 1min).has_value());
    const auto all = noting.record_run("r", beginning, 1min);
    REQUIRE(all.has_value());
    REQUIRE(all->size() == 1);
    CHECK(all->front().end.has_value());
    CHECK(all->front().status == 3);
}

TEST_CASE("a run that failed gives its period back, so many times", "[last][tool]") {
    cluster nodes(3);
    const std::vector<std::string> twice{"--min-hold", "30s", "--retry-on-failure", "2"};
    CHECK(status_of(nodes, twice, {"false"}) == 1);
    CHECK(status_of(nodes, twice, {"false"}) == 1);
    CHECK(status_of(nodes, twice, {"false"}) == 1);  // it keeps the others out
    CHECK(status_of(nodes, twice, {"true"}) == 120);
    const auto refused = outcome_on(nodes, {"run", "--retry-on-failure", "2", "r", "--", "true"});
    CHECK(refused.status == 125);
    CHECK(has_text(refused.err, "--min-hold"));
    CHECK(status_of(nodes, {"--min-hold", "30s", "--retry-on-failure", "11"}, {"false"}) == 125);
    CHECK(outcome_on(nodes, {"run", "--record", "0s", "r", "--", "true"}).status == 125);
}

TEST_CASE("a run that succeeds keeps its period, and metrics tell when it did", "[last][tool]") {
    cluster nodes(3);
    const scratch folder;
    const std::string file = folder / "run.prom";
    CHECK(status_of(nodes, {"--metrics", file}, {"true"}) == 0);
    const std::string sample = "\nredlock_run_last_success_timestamp{resource=\"r\"} 1";
    const std::string first = read_file(file);
    CHECK(has_text(first, sample));
    CHECK(status_of(nodes, {"--metrics", file}, {"false"}) == 1);
    const std::string second = read_file(file);
    CHECK(second.substr(second.find(sample)) == first.substr(first.find(sample)));
    CHECK(status_of(nodes, {"--min-hold", "30s", "--retry-on-failure", "2"}, {"true"}) == 0);
    CHECK(status_of(nodes, {}, {"true"}) == 120);
}

TEST_CASE("a slot is given back, too, and what could not be started costs no retry",
          "[last][tool]") {
    cluster nodes(3);
    const std::vector<std::string> once{"--slots", "1", "--min-hold", "30s", "--retry-on-failure", "1"};
    CHECK(status_of(nodes, once, {"/no/such/job"}) == 127);
    CHECK(status_of(nodes, once, {"sh", "-c", "exit 122"}) == 122);
    CHECK(member(runs_of(nodes)[0], "lost") == "false");
    CHECK(has_text(outcome_on(nodes, {"last", "r"}).out, "could not be started"));
    CHECK(status_of(nodes, once, {"false"}) == 1);
    CHECK(status_of(nodes, once, {"true"}) == 120);
}

TEST_CASE("another slot's run that is at work is no failure, and one without an end else is",
          "[last][tool]") {
    const auto [slots, then] = GENERATE(std::pair(2, 0), std::pair(0, 120));
    cluster nodes(3);
    blocking_client noting(nodes.options());
    const run_record at_work{.id = "x", .start = std::chrono::system_clock::now()};
    REQUIRE(noting.record_run("r", at_work, 1h).has_value());
    std::vector<std::string> once{"--min-hold", "30s", "--retry-on-failure", "1"};
    if (slots > 0) once.insert(once.end(), {"--slots", "1"});
    CHECK(status_of(nodes, once, {"false"}) == 1);
    CHECK(status_of(nodes, once, {"true"}) == then);
}

TEST_CASE("where nobody can tell how often a run failed its period is kept", "[last][tool]") {
    cluster nodes(3);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command({"RPUSH", key, "x"});
    const std::vector<std::string> once{"--min-hold", "30s", "--retry-on-failure", "1"};
    CHECK(status_of(nodes, once, {"false"}) == 1);
    CHECK(status_of(nodes, once, {"true"}) == 120);
    const auto got = outcome_on(nodes, {"last", "r"});
    CHECK(got.status == 125);
    CHECK_FALSE(has_text(got.err, "too few nodes"));
}

TEST_CASE("the metric of an earlier success stays in the file, whatever the resource is called",
          "[last][tool]") {
    cluster nodes(3);
    const scratch folder;
    const std::string file = folder / "run.prom";
    const std::vector<std::string> words{"run", "--record", "1h", "--metrics", file, "b\xff\"\\\r"};
    const auto run = [&](const std::string& command) {
        auto all = words;
        all.insert(all.end(), {"--", command});
        return outcome_on(nodes, all).status;
    };
    CHECK(run("true") == 0);
    const auto line_of_success = [&] {
        const std::string text = read_file(file);
        const std::size_t at = text.find("\nredlock_run_last_success_timestamp{");
        REQUIRE(at != text.npos);
        return text.substr(at, text.find('\n', at + 1) - at);
    };
    const std::string before = line_of_success();
    CHECK(std::all_of(before.begin() + 1, before.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command({"FLUSHALL"});
    CHECK(run("false") != 0);
    CHECK(line_of_success() == before);
}
