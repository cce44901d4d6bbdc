// The command beside servers that answer late or not at all; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_process.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

std::string config(cluster& nodes, const scratch& folder, int connect_timeout_ms,
                   int node_timeout_ms = 0) {
    std::string path = folder / "nodes.json";
    std::ofstream file(path);
    file << R"({"cluster": "test", "connect_timeout_ms": )" << connect_timeout_ms
         << R"(, "node_timeout_ms": )" << node_timeout_ms << R"(, "nodes": [)";
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        file << (i == 0 ? "" : ", ") << '"' << nodes[i].uri() << '"';
    }
    file << "]}";
    return path;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}

// The node records are made, and every node has its vote.
void found(cluster& nodes, const std::string& configuration) {
    tool_process first({"run", "--config", configuration, "first", "--", "true"});
    REQUIRE(first.wait() == 0);
    REQUIRE(eventually([&] { return nodes.is_founded(); }));
}

// Both of the servers are given up before they go on.
void thaw_late(cluster& nodes, const tool_process& running) {
    CHECK(eventually([&] {
        return running.has_ended() || count(running.err(), "could not connect in time") >= 2;
    }));
    nodes.cont(0);
    nodes.cont(1);
}

}  // namespace

TEST_CASE("a command that would not wait gives its first connections more time", "[tool]") {
    cluster nodes(3);
    const scratch folder;
    found(nodes, config(nodes, folder, 5'000));
    const std::string configuration = config(nodes, folder, 150, 5'000);
    nodes.stop(0);
    nodes.stop(1);
    SECTION("run") {
        tool_process running(
            {"run", "--json", "--config", configuration, "r", "--", "echo", "done"});
        thaw_late(nodes, running);
        CHECK(running.wait() == 0);
        CHECK(running.out() == "done\n");
    }
    SECTION("run --wait, for less than that") {
        tool_process running({"run", "--json", "--wait", "1ms", "--config", configuration, "r",
                              "--", "echo", "done"});
        thaw_late(nodes, running);
        CHECK(running.wait() == 0);
        CHECK(running.out() == "done\n");
    }
}

TEST_CASE("a command on a quorum that hangs ends with 121, and a signal ends it at once", "[tool]") {
    cluster nodes(3);
    const scratch folder;
    const std::string configuration = config(nodes, folder, 150);
    nodes.stop(0);
    nodes.stop(1);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"run", "--config", configuration, "r", "--", "true"},
          {"acquire", "--config", configuration, "r"},
          {"inspect", "--config", configuration, "r"},
          {"list", "--config", configuration}}) {
        tool_process running(words);
        CHECK(running.wait() == 121);
        INFO(words.front() << ": " << running.err());
        CHECK_FALSE(running.err().empty());
    }
    tool_process running({"run", "--json", "--config", configuration, "r", "--", "true"});
    REQUIRE(eventually([&] { return count(running.err(), "could not connect in time") >= 1; }));
    running.send(SIGTERM);
    CHECK(running.wait() == 128 + SIGTERM);
}

TEST_CASE("a lock that a command takes or extends is on the node that was late, too", "[tool]") {
    cluster nodes(3);
    const scratch folder;
    const std::string configuration = config(nodes, folder, 5'000);
    found(nodes, configuration);
    // The command waits for half a second, in which this machine may stall: not three times in a row.
    bool is_everywhere = false;
    for (int tries = 0; tries < 3 && !is_everywhere; ++tries) {
        nodes.stop(2);
        tool_process acquire({"acquire", "--ttl", "20s", "--config", configuration, "r"});
        REQUIRE(eventually([&] { return nodes.holding("r") == 2; }));
        nodes.cont(2);
        REQUIRE(acquire.wait() == 0);
        std::ofstream(folder / "token") << acquire.out();
        is_everywhere = nodes.holding("r") == 3;
        if (is_everywhere) {
            nodes.stop(2);
            tool_process extend({"extend", "--ttl", "60s", "--token-file", folder / "token",
                                 "--config", configuration});
            REQUIRE(eventually([&] { return nodes.ask(0).pttl("r") > 30s; }));
            nodes.cont(2);
            REQUIRE(extend.wait() == 0);
            is_everywhere = nodes.ask(2).pttl("r") > 30s;
        }
        tool_process release(
            {"release", "--token-file", folder / "token", "--config", configuration});
        REQUIRE(release.wait() == 0);
        REQUIRE(eventually([&] { return nodes.holding("r") == 0; }));
    }
    CHECK(is_everywhere);
}

TEST_CASE("a node that hangs keeps a command that takes a lock no longer than half a second",
          "[tool]") {
    cluster nodes(3);
    const scratch folder;
    const std::string configuration = config(nodes, folder, 500);
    found(nodes, configuration);
    // The shortest of several runs, beside what they take here without the node's fault.
    const auto shortest = [&](const std::string& name) {
        auto least = std::chrono::steady_clock::duration::max();
        for (int tries = 0; tries < 3; ++tries) {
            const auto began = std::chrono::steady_clock::now();
            tool_process acquire({"acquire", "--ttl", "20s", "--config", configuration,
                                  name + std::to_string(tries)});
            REQUIRE(acquire.wait() == 0);
            least = std::min(least, std::chrono::steady_clock::now() - began);
        }
        return least;
    };
    const auto without_fault = shortest("r");
    nodes.stop(2);
    CHECK(shortest("s") < without_fault + 1s);
}
