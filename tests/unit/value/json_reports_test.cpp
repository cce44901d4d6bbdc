// What the library reports as JSON, read back by a parser of another project.
// SPDX-License-Identifier: MIT
#include <redlock/json.hpp>

#include "tests/support/catch.hpp"
#include "tools/json_text.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

template <class T>
tool::json_value read_back(const T& what) {
    const std::string line = to_json(what);
    INFO(line);
    CHECK(line.find('\n') == line.npos);
    return tool::json_value::parse(line);
}

}  // namespace

TEST_CASE("the state of a resource is an object with all of its nodes and slots") {
    resource_state state;
    state.resource = "a \"free\" one\n";
    state.held = true;
    state.fence = 9'007'199'254'740'991;
    state.quorum = 1;
    state.nodes.push_back({.node = node_name("n"), .error = errc::timed_out, .detail = "late"});
    state.slots.push_back({.number = 3, .owner = "o", .fence = 5, .note = "why"});
    auto read = read_back(state);
    CHECK(read["resource"] == state.resource);
    CHECK(read["held"] == true);
    CHECK(read["fence"] == 9'007'199'254'740'991);
    CHECK(read["since_ms"].is_null());
    CHECK(read["nodes"][0]["state"] == "unreachable");
    CHECK(read["nodes"][0]["error"] == problem_of(state.nodes[0]));
    CHECK(read["slots"][0]["slot"] == 3);
    CHECK(read["slots"][0]["note"] == "why");
    CHECK_FALSE(read.contains("note"));
    state.held_for = 4s;
    state.note = "shown";
    read = read_back(state);
    CHECK(read["since_ms"] == 4'000);
    CHECK(read["note"] == "shown");
}

TEST_CASE("the problem of a node is its error and what the server said") {
    CHECK(problem_of({}).empty());
    CHECK(problem_of({.error = errc::timed_out}) == error_code(errc::timed_out).message());
    CHECK(problem_of({.detail = "said"}) == "said");
}

TEST_CASE("the report of a node has its findings, and null for what it did not say") {
    node_report report;
    report.name = "n";
    report.keys.missing_right = "scan";
    report.findings.push_back({node_problem::slow, severity::warning, "look"});
    const auto read = read_back(std::vector{report})[0];
    CHECK(read["appendonly"].is_null());
    CHECK(read["clock_offset_us"].is_null());
    CHECK(read["keys"]["counted"].is_null());
    CHECK(read["keys"]["missing_right"] == "scan");
    CHECK(read["findings"][0]["problem"] == "slow");
    report.has_log = true;
    report.keys.is_known = true;
    report.keys.locks = {7, 70};
    const auto known = read_back(report);
    CHECK(known["appendonly"] == true);
    CHECK(known["keys"]["total"]["keys"] == 7);
}

TEST_CASE("a refusal is its code, its sentence and its votes") {
    refusal why{errc::contended, {}, "after 3 tries"};
    why.votes.push_back({.node = node_name("n"), .answer = vote::held});
    const auto read = read_back(why);
    CHECK(read["error"]["value"] == 1);
    CHECK(read["message"] == why.message());
    CHECK(read["detail"] == "after 3 tries");
    CHECK(read["votes"][0]["node"] == "n");
}

TEST_CASE("a configuration that can't be used is all of its issues") {
    const auto wrong = parse_configuration(R"({"nodes": [], "no_such": 1})");
    REQUIRE(wrong.has_error());
    const config_error why = wrong.error();
    const auto read = read_back(why);
    CHECK(read["error"]["value"] == 11);
    CHECK(read["message"] == why.message());
    CHECK(read["issues"].size() == why.issues().size());
    CHECK(read["issues"][0]["severity"] == "error");
}

TEST_CASE("counters are numbers by their names, and histograms have all bounds") {
    client_stats stats;
    stats.granted = 3;
    stats.wait.counts.back() = 2;
    stats.wait.sum = 5s;
    stats.nodes.push_back({.name = "n"});
    const auto read = read_back(stats);
    CHECK(read["granted"] == 3);
    CHECK(read["wait"]["count"] == 2);
    CHECK(read["wait"]["sum_us"] == 5'000'000);
    CHECK(read["wait"]["buckets"].size() == histogram::bounds.size() + 1);
    CHECK(read["wait"]["buckets"].back()[0].is_null());
    CHECK(read["nodes"][0]["name"] == "n");
}

TEST_CASE("texts are a list, and what is no UTF-8 becomes U+FFFD") {
    CHECK(to_json(std::vector<std::string>{}) == "[]");
    CHECK(to_json(std::vector<std::string>{"\n\t\x7f"}) == R"(["\n\t\u007f"])");
    const auto read = read_back(std::vector<std::string>{"a", "\xff\x01"});
    CHECK(read[1] == "\xef\xbf\xbd\x01");
}
