// States, votes and events as lines of JSON, escaped for any reader.
// SPDX-License-Identifier: MIT
#include "tools/formats.hpp"

#include "tests/support/catch.hpp"

#include <redlock/event.hpp>
#include <redlock/json.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

// What the library reports as JSON, read back by a parser of another project.
namespace json_reports_test {

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
    report.findings.push_back({node_problem::slow, severity::warning, "look"});
    const auto read = read_back(std::vector{report})[0];
    CHECK(read["appendonly"].is_null());
    CHECK(read["clock_offset_us"].is_null());
    CHECK(read["findings"][0]["problem"] == "slow");
    report.has_log = true;
    report.memory_limit = 70;
    const auto known = read_back(report);
    CHECK(known["appendonly"] == true);
    CHECK(known["maxmemory"] == 70);
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

}  // namespace json_reports_test

// Events as JSON lines, read back by a parser of another project.
namespace event_json_test {

using namespace redlock;
using namespace std::chrono_literals;

namespace {

using std::chrono::system_clock;

tool::json_value parsed(const event& e) {
    const std::string line = to_json(e);
    INFO(line);
    CHECK(line.find('\n') == line.npos);
    return tool::json_value::parse(line);
}

}  // namespace

TEST_CASE("an event is one JSON object, without the members that say nothing") {
    event e;
    e.kind = event_kind::granted;
    e.resource = "stock/7";
    e.duration = 800us;
    CHECK(to_json(e, system_clock::time_point(1'767'225'599'123ms)) ==
          R"({"time":"2025-12-31T23:59:59.123Z","kind":"granted","severity":"info",)"
          R"("resource":"stock/7","duration_us":800})");
    CHECK(to_json(e, system_clock::time_point(-1ms)).find("\"1969-12-31T23:59:59.999Z\"") !=
          std::string::npos);
    CHECK(parsed(e).size() == 5);
    e.id = 12;
    e.parent = 0xfedc'ba98'7654'3210;
    CHECK(parsed(e).size() == 7);
    CHECK(parsed(e)["id"] == 12);
    CHECK(parsed(e)["parent"] == e.parent);
}

TEST_CASE("a JSON event has the error, and each vote with its cause") {
    std::array<node_vote, 3> votes;
    votes[0].node = node_name("a");
    votes[0].answer = vote::granted;
    votes[0].fence = 9'007'199'254'740'991;
    votes[1].node = node_name("b");
    votes[1].answer = vote::held;
    votes[1].detail = "AAECAwQFBgcICQoLDA0ODw@web-1:4242";
    votes[1].elapsed = 1200us;
    votes[1].retry_in = 4200ms;
    votes[1].resource = "r2";
    votes[2].node = node_name("c");
    votes[2].answer = vote::timed_out;
    votes[2].error = errc::timed_out;
    event e;
    e.kind = event_kind::refused;
    e.error = errc::contended;
    e.detail = "after 3 tries";
    e.votes = votes;
    const auto read = parsed(e);
    CHECK(read["error"]["category"] == "redlock");
    CHECK(read["error"]["value"] == static_cast<int>(errc::contended));
    CHECK(read["error"]["message"] == error_code(errc::contended).message());
    CHECK(read["detail"] == "after 3 tries");
    REQUIRE(read["votes"].size() == 3);
    CHECK(read["votes"][0]["answer"] == "granted");
    CHECK(read["votes"][0]["fence"] == 9'007'199'254'740'991);
    CHECK(read["votes"][1]["node"] == "b");
    CHECK(read["votes"][1]["cause"] == "r2 is held by web-1:4242 for 4.2 s more");
    CHECK(read["votes"][1]["elapsed_us"] == 1200);
    CHECK(read["votes"][1]["retry_in_ms"] == 4200);
    CHECK(read["votes"][1]["resource"] == "r2");
    CHECK(read["votes"][2]["error"]["value"] == static_cast<int>(errc::timed_out));
    CHECK_FALSE(read["votes"][2].contains("fence"));
    CHECK(to_json(e).find("AAECAwQFBgcICQoLDA0ODw") == std::string::npos);
}

TEST_CASE("whatever bytes an event has, its JSON is valid and safe for a terminal") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    event e;
    e.resource = all;
    e.node = "a\"b\\c\x1b[31m\xe2\x80\xae";
    e.detail = "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92 \xf3\xa0\x80\x81 \xed\xa0\x80 \xc3";
    const auto read = parsed(e);
    CHECK(read["node"] == e.node);
    // A surrogate and a cut character are replaced, byte by byte.
    CHECK(read["detail"] == "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92 \xf3\xa0\x80\x81 "
                            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
    const auto resource = read["resource"].get<std::string>();
    CHECK(resource.substr(0, 128) == all.substr(0, 128));
    CHECK(resource.size() == 128 + 3 * 128);
    for (const char c : to_json(e)) CHECK(static_cast<unsigned char>(c) >= 0x20);
    CHECK(to_json(e).find("\xe2\x80\xae") == std::string::npos);
    CHECK(to_json(e).find("gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92 \\udb40\\udc01") != std::string::npos);
}

}  // namespace event_json_test
