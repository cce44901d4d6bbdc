// `redlock init` while a node is missing, and what becomes of that node when it is back.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_call.hpp"

#include <redlock/clock.hpp>

#include <fstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// A cluster with a short quarantine, for the command.
struct missing_node {
    explicit missing_node(const server_options& each = {}) : nodes(3, each) {}

    tool_outcome run(std::vector<std::string> words, const std::string& set = "test") {
        std::ofstream file(folder / "nodes.json");
        file << R"({"ttl_max_ms": 4000, "node_timeout_ms": 3000, )"
             << R"("connect_timeout_ms": 6000, "cluster": ")" << set << R"(", "nodes": [)";
        for (std::size_t i = 0; i < 3; ++i) file << (i == 0 ? "" : ", ") << '"' << nodes[i].uri() << '"';
        file << "]}";
        file.close();
        words.insert(words.begin() + 1, {"--config", folder / "nodes.json"});
        return outcome_of(words);
    }
    tool_outcome lock(const std::string& wait = "0s", const std::string& set = "test") {
        return run({"run", "--wait", wait, "r", "--", "true"}, set);
    }

    cluster nodes;
    scratch folder;
};

}  // namespace

TEST_CASE("a node that comes back empty after init votes when ttl_max is over", "[tool]") {
    missing_node at;
    at.nodes.kill(2);
    const auto declared = at.run({"init", "--yes"});
    INFO(declared.err);
    REQUIRE(declared.status == 0);
    CHECK(has_text(declared.err, "votes after 4s"));
    CHECK(at.lock().status == 0);
    at.nodes.restart(2, redis_server::data::empty);
    const auto met = clock::now();
    REQUIRE(at.lock().status == 0);  // makes its record
    at.nodes.kill(1);
    const auto refused = at.lock();
    INFO(refused.err);
    CHECK(refused.status == 121);
    CHECK(has_text(refused.err, "in quarantine"));
    CHECK(at.lock("30s").status == 0);
    CHECK(clock::now() - met >= 4s);
}

TEST_CASE("a node that hung during init votes at once when it goes on", "[tool]") {
    missing_node at;
    REQUIRE(at.run({"init", "--yes"}).status == 0);
    REQUIRE(at.lock("10s").status == 0);
    at.nodes.stop(2);
    const auto declared = at.run({"init", "--yes"});
    INFO(declared.err);
    CHECK(declared.status == 0);
    CHECK(has_text(declared.err, "at once if its server ran on"));
    at.nodes.cont(2);
    REQUIRE(at.lock("10s").status == 0);
    at.nodes.kill(1);
    const auto got = at.lock("2s");
    INFO(got.err);
    CHECK(got.status == 0);
}

TEST_CASE("a node that init could not move to another list ends all grants, until init is run again",
          "[tool]") {
    missing_node at;
    REQUIRE(at.run({"init", "--yes"}, "old").status == 0);
    at.nodes.stop(2);
    const auto declared = at.run({"init", "--yes"}, "new");
    INFO(declared.err);
    CHECK(declared.status == 0);
    CHECK(has_text(declared.err,
                   "another list of nodes, no lock is granted from then until init is run "
                   "again"));
    CHECK(at.lock("10s", "new").status == 0);
    at.nodes.cont(2);
    at.nodes.kill(1);  // or a quorum may grant before the third is met
    const auto refused = at.lock("0s", "new");
    INFO(refused.err);
    CHECK(refused.status == 121);
    CHECK(has_text(refused.err, "belongs to another set"));
    const auto examined = at.run({"doctor"}, "new");
    INFO(examined.out);
    CHECK(has_text(examined.out, "redlock init"));
    CHECK(at.run({"init", "--yes"}, "new").status == 0);
    const auto got = at.lock("10s", "new");
    INFO(got.err);
    CHECK(got.status == 0);
}
