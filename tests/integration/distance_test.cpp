// A client with the default time-outs, and one with a short one, on real nodes that are far away.
// SPDX-License-Identifier: MIT
#include "integration/support/cluster.hpp"
#include "integration/support/hostile_proxy.hpp"
#include "integration/support/run.hpp"
#include "integration/tool_process.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

// `away`: for how long each way what is said is held back.
struct far_cluster {
    explicit far_cluster(std::chrono::milliseconds away = 80ms) : nodes(3) {
        found(nodes);
        for (std::size_t i = 0; i < 3; ++i) {
            proxies.push_back(std::make_unique<hostile_proxy>(nodes[i].port()));
            proxies.back()->set({.what = harm::kind::delay, .by = away});
        }
    }
    client_options options() const {
        client_options o;
        o.cluster = nodes.options().cluster;
        for (std::size_t i = 0; i < 3; ++i) {
            o.nodes.push_back(proxies[i]->node("n" + std::to_string(i)));
        }
        o.connect_timeout = 6s;  // a stall of the machine is no fault of the nodes
        return o;
    }
    std::string uri(std::size_t i) const {
        return "redis://127.0.0.1:" + std::to_string(proxies[i]->node("").port);
    }
    cluster nodes;
    std::vector<std::unique_ptr<hostile_proxy>> proxies;
};

}  // namespace

TEST_CASE("with the default node_timeout a lock is granted on nodes 80 ms away") {
    far_cluster f;
    driver d(f.options());
    auto got = d.acquire("far", {.wait = 10s});
    REQUIRE_FALSE(got.error());
    CHECK(got.value());
    CHECK_FALSE(d.release(std::move(got.value())));
}

TEST_CASE("nodes 260 ms away are reached by default, at the first try") {
    far_cluster f(260ms);
    auto options = f.options();
    options.connect_timeout = client_options{}.connect_timeout;
    {
        driver d(options, 0);
        CHECK(d.acquire("far").value());
        CHECK(d.log().count(event_kind::node_down) == 0);
    }
    const scratch folder;
    const std::string file = folder / "far.json";
    std::ofstream(file) << R"({"cluster": ")" << options.cluster << R"(", "nodes": [")" << f.uri(0)
                        << R"(", ")" << f.uri(1) << R"(", ")" << f.uri(2) << R"("]})";
    tool_process run({"run", "--config", file, "far too", "--", "true"});
    const int status = run.wait();
    INFO(run.err());
    CHECK(status == 0);
}

TEST_CASE("a node_timeout below the round trip is reported, with one that would do") {
    far_cluster f;
    auto options = f.options();
    options.node_timeout = 30ms;
    driver d(options);
    const auto events = d.log().all();
    for (const std::string name : {"n0", "n1", "n2"}) {
        CHECK(std::count_if(events.begin(), events.end(), [&](const seen_event& e) {
                  return e.kind == event_kind::node_reported && e.node == name &&
                         e.detail.find("node_timeout is 30 ms: set it to ") != std::string::npos;
              }) == 1);
    }
    const auto got = d.acquire("far");
    CHECK(got.error() == errc::no_quorum);
    INFO(text_of(got.value()));
    CHECK(text_of(got.value()).find("node_timeout is 30 ms: set it to ") != std::string::npos);
}
