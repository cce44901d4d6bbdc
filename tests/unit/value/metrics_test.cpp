// The texts for Prometheus: every counter and histogram is there, in the form that it is read in.
// SPDX-License-Identifier: MIT
#include "integration/support/skipped.hpp"
#include "support/catch.hpp"
#include "unit/config/samples.hpp"

#include <redlock/stats.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using redlock::testing::say_not_installed;
using namespace std::chrono_literals;

namespace {

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

bool has_line_of(const std::string& text, const std::string& begin) {
    return ("\n" + text).find("\n" + begin) != std::string::npos;
}

std::string document(const char* name) {
    return samples::content(redlock::testing::project_folder() / "docs" / name);
}

// Of each metric that is written its type and its label, but for the bounds of a histogram.
std::map<std::string, std::string> written_kinds(const client_stats& of) {
    std::map<std::string, std::string> kinds;
    std::istringstream text(prometheus_text(of));
    std::string name;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with("# TYPE ")) {
            const auto end = line.find(' ', 7);
            name = line.substr(7, end - 7);
            kinds[name] = line.substr(end + 1) + " ";
        } else if (const auto at = line.find('{'); line[0] != '#' && at != line.npos) {
            const std::string label = line.substr(at + 1, line.find('=') - at - 1);
            if (label != "le" && !kinds[name].ends_with(label)) kinds[name] += label;
        }
    }
    return kinds;
}

// The same by the table of docs/metrics.md: | `name` | type | unit | `label` | ...
std::map<std::string, std::string> documented_kinds() {
    std::map<std::string, std::string> kinds;
    std::istringstream text(document("metrics.md"));
    for (std::string line; std::getline(text, line);) {
        if (!line.starts_with("| `")) continue;
        std::istringstream row(line);
        std::vector<std::string> cells;
        for (std::string cell; std::getline(row, cell, '|');) {
            std::erase_if(cell, [](char c) { return c == ' ' || c == '`'; });
            cells.push_back(cell);
        }
        REQUIRE(cells.size() == 7);
        kinds[cells[1]] = cells[2] + " " + cells[4];
    }
    return kinds;
}

}  // namespace

TEST_CASE("counters, gauges and histograms are written as Prometheus reads them", "[metrics]") {
    client_stats s;
    s.granted = 7;
    s.contended = 2;
    s.lost = 1;
    s.leases = 3;
    s.waiting = 5;
    s.quorum = 1;
    s.wait.counts[0] = 4;                        // up to 50 us
    s.wait.counts[4] = 2;                        // up to 1 ms
    s.wait.counts[histogram::bounds.size()] = 1;  // above an hour
    s.wait.sum = 3'601'000'001us;
    const bool is_open = GENERATE(true, false);
    const std::string text = is_open ? open_metrics(s) : prometheus_text(s);
    CHECK(has_line(text, "redlock_acquires_total{outcome=\"granted\"} 7"));
    CHECK(has_line(text, "redlock_acquires_total{outcome=\"contended\"} 2"));
    CHECK(has_line(text, "# TYPE redlock_lost_leases counter") == is_open);
    CHECK(has_line(text, "# TYPE redlock_lost_leases_total counter") == !is_open);
    CHECK(has_line(text, "redlock_lost_leases_total 1"));
    CHECK(has_line(text, "# TYPE redlock_leases gauge"));
    CHECK(has_line(text, "redlock_leases 3"));
    CHECK(has_line(text, "redlock_waiting 5"));
    CHECK(has_line(text, "redlock_quorum 1"));
    CHECK(has_line(text, "# TYPE redlock_wait_seconds histogram"));
    CHECK(has_line(text, "redlock_wait_seconds_bucket{le=\"0.000050\"} 4"));
    CHECK(has_line(text, "redlock_wait_seconds_bucket{le=\"0.000500\"} 4"));
    CHECK(has_line(text, "redlock_wait_seconds_bucket{le=\"0.001000\"} 6"));
    CHECK(has_line(text, "redlock_wait_seconds_bucket{le=\"3600.000000\"} 6"));
    CHECK(has_line(text, "redlock_wait_seconds_bucket{le=\"+Inf\"} 7"));
    CHECK(has_line(text, "redlock_wait_seconds_sum 3601.000001"));
    CHECK(has_line(text, "redlock_wait_seconds_count 7"));
    CHECK(has_line(text, "# UNIT redlock_wait_seconds seconds") == is_open);
    CHECK(text.ends_with("\n# EOF\n") == is_open);
}

TEST_CASE("the parsers of Prometheus' Python client read both texts", "[metrics]") {
    client_stats s;
    s.granted = 7;
    s.wait.counts[histogram::bounds.size()] = 1;
    s.wait.sum = 3'601'000'001us;
    s.nodes.push_back({"10.0.0.1:6379", {}, 4});
    s.nodes.push_back({"a\"b\\c\nd", {}, 0});
    const std::string program =
        (redlock::testing::project_folder() / "tests/unit/value/read_metrics").string();
    const auto status_of = [&](const std::string& parser, const std::string& text) {
        std::FILE* const reads = ::popen((program + " " + parser + " >/dev/null").c_str(), "w");
        REQUIRE(reads != nullptr);
        std::fwrite(text.data(), 1, text.size(), reads);
        return WEXITSTATUS(::pclose(reads));
    };
    const int status = status_of("open", open_metrics(s));
    if (status == 77) {
        say_not_installed("python3-prometheus-client");
        return;
    }
    CHECK(status == 0);
    CHECK(status_of("text", prometheus_text(s)) == 0);
    CHECK(status_of("open", prometheus_text(s)) == 1);  // that parser refuses something
}

TEST_CASE("the metrics of a node carry its name, whatever it is", "[metrics]") {
    client_stats s;
    s.nodes.push_back({"10.0.0.1:6379", {}, 4, 1, 0});
    s.nodes.push_back({"a\"b\\c\nd", {}, 0});
    s.nodes[0].round_trip.counts[2] = 9;
    const std::string text = open_metrics(s);
    CHECK(has_line(text, "redlock_node_owed_releases{node=\"10.0.0.1:6379\"} 4"));
    CHECK(has_line(text, "redlock_node_connected{node=\"10.0.0.1:6379\"} 1"));
    CHECK(has_line(text, "redlock_node_votes{node=\"10.0.0.1:6379\"} 0"));
    CHECK(has_line(text, "redlock_node_owed_releases{node=\"a\\\"b\\\\c\\nd\"} 0"));
    CHECK(has_line(
        text, "redlock_node_round_trip_seconds_bucket{node=\"10.0.0.1:6379\",le=\"0.000250\"} 9"));
    CHECK(has_line(text, "redlock_node_round_trip_seconds_count{node=\"10.0.0.1:6379\"} 9"));
}

TEST_CASE("each metric is described before its lines, and once", "[metrics]") {
    client_stats s;
    s.nodes.resize(3);
    std::istringstream text(open_metrics(s));
    std::vector<std::string> described;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with("# TYPE ")) {
            described.push_back(line.substr(7, line.find(' ', 7) - 7));
            const auto before = described.end() - 1;
            CHECK(std::find(described.begin(), before, described.back()) == before);
        } else if (line[0] != '#') {
            INFO(line);
            REQUIRE_FALSE(described.empty());
            CHECK(line.starts_with(described.back()));
        }
    }
    CHECK(described.size() > 20);
}

TEST_CASE("the bounds of a histogram rise", "[metrics]") {
    const auto& bounds = histogram::bounds;
    CHECK(std::is_sorted(bounds.begin(), bounds.end()));
    CHECK(histogram().count() == 0);
}

TEST_CASE("docs/metrics.md has each metric with its type and label, and no other", "[metrics]") {
    client_stats s;
    s.nodes.push_back({"n1", {}, 0});
    CHECK(written_kinds(s).size() > 20);
    CHECK(documented_kinds() == written_kinds(s));
}

TEST_CASE("alerts, dashboard and docs/monitoring.md name metrics that exist", "[metrics]") {
    client_stats s;
    s.nodes.resize(1);
    const std::string written = prometheus_text(s);
    const std::string commands =
        samples::content(redlock::testing::project_folder() / "tools/run.cpp");
    for (const std::string file :
         {"config/prometheus/alerts.yml", "config/grafana/dashboard.json", "docs/monitoring.md"}) {
        const std::string text = samples::content(redlock::testing::project_folder() / file);
        constexpr std::string_view prefix = "redlock_";
        std::size_t names = 0;
        for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
            const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at);
            const std::string name = text.substr(at, end - at);
            INFO(file << ": " << name);
            // The command adds metrics of its runs.
            const bool is_of_runs = commands.find('"' + name + '"') != commands.npos;
            CHECK((is_of_runs || has_line_of(written, name + " ") || has_line_of(written, name + "{") ||
                   has_line_of(written, "# TYPE " + name + " ")));
            ++names;
        }
        CHECK(names > 5);
    }
}
