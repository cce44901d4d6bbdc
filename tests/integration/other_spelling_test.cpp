// Two programs that spell the same nodes differently: what they learn of it, and what ends it; on
// real servers.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "tool_call.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

client_options spelled(cluster& nodes, const std::string& host) {
    client_options options;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        options.nodes.push_back({.host = host, .port = nodes[i].port()});
    }
    options.connect_timeout = 3s;
    return options;
}

result<lease, refusal> lock(const client_options& options) {
    blocking_client program(options);
    return program.acquire("r", {.wait = 5s});
}

std::string set_of(const client_options& options) {
    std::vector<std::string> names;
    for (const node_options& node : options.nodes) names.push_back(display_name(node));
    std::sort(names.begin(), names.end());
    return "the set {" + names.front() + ", ...} of 3 nodes";
}

}  // namespace

TEST_CASE("of another spelling of the nodes the votes show both, and doctor does", "[guard]") {
    cluster nodes(3);
    const auto first = spelled(nodes, "127.0.0.1");
    const auto second = spelled(nodes, "localhost");
    REQUIRE(lock(first).has_value());
    const auto refused = lock(second);
    REQUIRE_FALSE(refused.has_value());
    REQUIRE_FALSE(refused.error().votes.empty());
    const node_vote vote = refused.error().votes[0];
    INFO(format(vote));
    CHECK(vote.error == errc::other_set);
    CHECK(has_text(vote.detail, "it belongs to " + set_of(first) + ", and this client names " +
                                    set_of(second) + ": name the nodes alike"));
    std::vector<std::string> words{"doctor"};
    for (const node_options& node : second.nodes) {
        words.insert(words.end(), {"--node", display_name(node)});
    }
    tool_process doctor(words);
    CHECK(doctor.wait() == 2);
    CHECK(has_text(doctor.out(), set_of(first)));
    SECTION("named alike they are one set") { CHECK(lock(first).has_value()); }
    SECTION("one cluster for all, and init, end it, too") {
        auto one = first;
        auto other = second;
        one.cluster = other.cluster = "shop";
        REQUIRE(blocking_client(one).init().has_value());
        CHECK(lock(one).has_value());
        CHECK(lock(other).has_value());
        // A program without it sees which cluster that is.
        const auto without = lock(first);
        REQUIRE_FALSE(without.has_value());
        CHECK(has_text(without.error().message(), "the cluster \"shop\" of 3 nodes"));
    }
}

TEST_CASE("names on a record are escaped where they are shown", "[guard]") {
    cluster nodes(3);
    auto named = spelled(nodes, "127.0.0.1");
    for (node_options& node : named.nodes) node.name = "\xe2\x80\xae" + display_name(node);
    REQUIRE(lock(named).has_value());
    const auto refused = lock(spelled(nodes, "127.0.0.1"));
    REQUIRE_FALSE(refused.has_value());
    CHECK(has_text(refused.error().message(), "{\\xe2\\x80\\xae127.0.0.1:"));
}
