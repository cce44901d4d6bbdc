// What `redlock run --json` writes of the lock's and the nodes' events: the library's JSON.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "tool_call.hpp"
#include "tool_process.hpp"
#include "tools/formats.hpp"

#include <sstream>
#include <string>
#include <vector>

using namespace redlock::testing;
using namespace std::chrono_literals;
using redlock::tool::json_value;

namespace {

std::vector<json_value> events_in(const std::string& lines) {
    std::vector<json_value> out;
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);) out.push_back(json_value::parse(line));
    for (const auto& e : out) {
        INFO(e.dump());
        CHECK(e.at("time").get<std::string>().size() == 24);
        CHECK(e.contains("severity"));
    }
    return out;
}

std::size_t count_of(const std::vector<json_value>& events, const std::string& kind) {
    std::size_t found = 0;
    for (const auto& e : events) found += e.at("kind") == kind;
    return found;
}

}  // namespace

TEST_CASE("run --json has each event once, with --verbose those of no weight, too", "[tool]") {
    cluster nodes(3);
    const auto got = outcome_of(run_on(nodes, {"--json", "r", "--", "true"}));
    CHECK(got.status == 0);
    CHECK(got.out.empty());
    const auto events = events_in(got.err);
    CHECK(count_of(events, "granted") == 1);
    CHECK(count_of(events, "released") == 0);
    CHECK(count_of(events, "ended") == 1);
    for (const auto& e : events) {
        if (e.at("kind") == "granted") CHECK(e.at("resource") == "r");
    }
    const auto all = outcome_of(run_on(nodes, {"--json", "--verbose", "r", "--", "true"}));
    CHECK(count_of(events_in(all.err), "granted") == 1);
    CHECK(count_of(events_in(all.err), "released") == 1);
}

TEST_CASE("a refusal in the events has the votes", "[tool]") {
    cluster nodes(3);
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(nodes.ask(i).set_nx_px("r", "x", 60s));
    const auto got = outcome_of(run_on(nodes, {"--json", "r", "--", "true"}));
    CHECK(got.status == 120);
    const auto events = events_in(got.err);
    REQUIRE(count_of(events, "refused") == 1);
    for (const auto& e : events) {
        if (e.at("kind") == "refused") CHECK(e.at("votes").size() == 3);
    }
}
