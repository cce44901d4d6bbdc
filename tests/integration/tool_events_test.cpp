// The events of `redlock run` as JSON lines in a file.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "tool_call.hpp"
#include "tool_process.hpp"
#include "tools/formats.hpp"

#include <sys/stat.h>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock::testing;
using namespace std::chrono_literals;
using redlock::tool::json_value;

namespace {

std::vector<json_value> events_in(const std::string& file) {
    std::vector<json_value> out;
    std::istringstream text(read_file(file));
    for (std::string line; std::getline(text, line);) out.push_back(json_value::parse(line));
    return out;
}

std::size_t count_of(const std::vector<json_value>& events, const std::string& kind) {
    std::size_t found = 0;
    for (const auto& e : events) found += e.at("kind") == kind;
    return found;
}

}  // namespace

TEST_CASE("run appends its events to a file, and CMD sees the grant there", "[tool]") {
    cluster nodes(3);
    const scratch folder;
    const std::string file = folder / "events.jsonl";
    const auto got = outcome_of(run_on(nodes, {"--events", file, "r", "--", "grep", "-c",
                                               R"("kind":"granted")", file}));
    CHECK(got.status == 0);
    CHECK(got.out == "1\n");
    CHECK(got.err.empty());
    const auto first = events_in(file);
    CHECK(count_of(first, "granted") == 1);
    CHECK(count_of(first, "released") == 1);
    for (const auto& e : first) {
        if (e.at("kind") != "granted") continue;
        CHECK(e.at("resource") == "r");
        CHECK(e.at("duration_us") > 0);
        CHECK(e.at("time").get<std::string>().size() == 24);
    }
    CHECK(outcome_of(run_on(nodes, {"--events", file, "r", "--", "true"})).status == 0);
    CHECK(count_of(events_in(file), "granted") == 2);  // appended
}

TEST_CASE("a refusal in the file of events has the votes", "[tool]") {
    cluster nodes(3);
    const scratch folder;
    const std::string file = folder / "events.jsonl";
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(nodes.ask(i).set_nx_px("r", "x", 60s));
    CHECK(outcome_of(run_on(nodes, {"--events", file, "r", "--", "true"})).status == 120);
    const auto events = events_in(file);
    REQUIRE(count_of(events, "refused") == 1);
    for (const auto& e : events) {
        if (e.at("kind") == "refused") CHECK(e.at("votes").size() == 3);
    }
}

TEST_CASE("where the file of events can't be written CMD is not started", "[tool]") {
    cluster nodes(3);
    const scratch folder;
    std::string file = folder / "none/e";
    std::string why = "No such file or directory: name a file that can be written";
    SECTION("there is no such folder") {}
    SECTION("it is a pipe without a reader") {
        file = folder / "pipe";
        REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
        why = "it is a pipe that no program reads: start the reader first";
    }
    const auto got = outcome_of(run_on(nodes, {"--events", file, "r", "--", "echo", "started"}));
    CHECK(got.status == 125);
    CHECK(got.out.empty());
    CHECK(has_text(got.err, "--events " + file + ": " + why));
    CHECK(nodes.keys() == 0);
}
