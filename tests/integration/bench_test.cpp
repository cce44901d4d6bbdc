// `redlock bench` on real servers: what it prints, and what it leaves behind; judges no speed.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "tool_process.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

std::vector<std::string> bench_words(const cluster& nodes, std::vector<std::string> more) {
    std::vector<std::string> words{"bench", "--config", nodes.config()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace

TEST_CASE("bench measures three parts, and leaves no lock", "[tool][bench]") {
    founded_cluster nodes(3);
    SECTION("in words") {
        tool_process running(bench_words(nodes, {"--yes", "--each", "100ms", "--workers", "8"}));
        CHECK(running.wait() == 0);
        const std::string out = running.out();
        INFO(out << running.err());
        CHECK(std::count(out.begin(), out.end(), '\n') == 3);
        CHECK(out.find("one acquire at a time: p50 ") == 0);
        CHECK(out.find(" cycles a second\n") != out.npos);
    }
    SECTION("in JSON") {
        tool_process running(
            bench_words(nodes, {"--json", "--yes", "--each", "100ms", "--workers", "8"}));
        CHECK(running.wait() == 0);
        const std::string out = running.out();
        INFO(out);
        for (const char* part : {"latency", "throughput", "handoff"}) {
            CHECK(out.find(std::string("{\"part\":\"") + part + "\",\"cycles\":") != out.npos);
        }
        CHECK(out.find("\"acquire_p99_us\":") != out.npos);
    }
    SECTION("also where it is ended") {
        tool_process running(bench_words(nodes, {"--yes", "--each", "1m"}));
        direct ask = nodes.ask(0);
        const auto holds = [&] {
            const auto keys = ask.keys("redlock-bench:*");
            return !keys.empty();
        };
        for (const auto end = clock::now() + patience; !holds() && clock::now() < end;) {
        }
        running.send(SIGINT);
        CHECK(running.wait() == 128 + SIGINT);
        CHECK(running.out().empty());
    }
    CHECK(nodes.keys() == 0);
}

TEST_CASE("bench asks first, and says why it can't measure", "[tool][bench]") {
    founded_cluster nodes(3);
    {
        tool_process running(bench_words(nodes, {}));
        CHECK(running.wait() == 125);
        CHECK(running.err().find("no terminal to ask on") != std::string::npos);
    }
    for (const char* each : {"0s", "2m"}) {
        tool_process running(bench_words(nodes, {"--yes", "--each", each}));
        CHECK(running.wait() == 125);
        CHECK(running.err().find("--each") != std::string::npos);
    }
    nodes.kill(0);
    nodes.kill(1);
    tool_process running(bench_words(nodes, {"--yes"}));
    CHECK(running.wait() == 121);
    INFO(running.err());
    CHECK(running.err().find("too few nodes could vote") != std::string::npos);
}
