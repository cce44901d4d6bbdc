// Records of an earlier life, of another ttl_max, and beside programs that only look, on real
// servers.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"
#include "tool_process.hpp"

#include <redlock/error.hpp>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

constexpr auto record_key = "redlock:node";

client_options with_limit(const cluster& nodes, std::chrono::milliseconds limit) {
    auto options = nodes.options();
    options.ttl_max = limit;
    return options;
}

std::vector<std::optional<std::string>> records(cluster& nodes) {
    std::vector<std::optional<std::string>> all;
    for (std::size_t i = 0; i < nodes.size(); ++i) all.push_back(nodes.ask(i).get(record_key));
    return all;
}

// The configuration of these nodes, with another ttl_max.
std::string config_with(const cluster& nodes, const std::string& limit_ms, const scratch& folder) {
    std::string text = read_file(nodes.config());
    text.insert(1, "\"ttl_max_ms\": " + limit_ms + ", ");
    const auto path = folder / "redlock.json";
    std::ofstream(path) << text;
    return path;
}

// Whether the lease was still valid when the other client had tried: on a machine that stalls it may
// have run out, and then the try shows nothing.
bool is_refused_beside_a_lease() {
    constexpr auto limit = 4s;
    cluster nodes(3, durable);
    const auto options = with_limit(nodes, limit);
    found(nodes, options);
    driver holder(options);
    holder.acquire("keeps the records");
    nodes[1].options() = {};
    nodes.restart(1);
    REQUIRE(holder.until([&] { return nodes.ask(1).exists(record_key); }));
    holder.pass(limit + 300ms);  // now its votes count
    nodes.kill(2);
    const auto held = holder.acquire("r", {.ttl = 3900ms, .wait = 20s, .renew = false});
    INFO(text_of(held.value()));
    REQUIRE(held.error() == error_code{});
    nodes[1].options() = durable;
    nodes.restart(1);
    nodes.restart(2);
    CHECK(nodes.ask(1).exists(record_key));
    CHECK_FALSE(nodes.ask(1).exists("r"));
    driver other(options);
    const auto got = other.acquire("r", {.ttl = 1s});
    if (!held.value()) return false;
    INFO(text_of(got.value()));
    CHECK(got.error() != error_code{});
    CHECK(got.value().votes()[1].answer == vote::quarantine);
    return true;
}

}  // namespace

TEST_CASE("files of an earlier life do not vote while a lease of the one between is valid",
          "[records]") {
    CHECK(once_in_three(is_refused_beside_a_lease));
}

TEST_CASE("a ttl_max that one node does not know makes no lease longer", "[records]") {
    cluster nodes(3);
    const auto small = with_limit(nodes, 3s);
    found(nodes, small);
    nodes.kill(2);
    clock::time_point ends;
    {
        driver large(with_limit(nodes, 60s), 2);
        auto got = large.acquire("r", {.ttl = 40s, .wait = 10s, .renew = false});
        INFO(text_of(got.value()));
        REQUIRE(got.error() == error_code{});
        CHECK(got.value().remaining() <= 3s);
        for (std::size_t i = 0; i < 2; ++i) CHECK(nodes.ask(i).pttl("r") <= 3s);
        ends = got.value().valid_until();
        got.value().detach();
    }
    nodes.restart(2);
    nodes.restart(1, redis_server::data::empty);
    nodes.kill(0);
    driver other(small, 2);
    const auto next = other.acquire("r", {.ttl = 1s, .wait = 60s});
    INFO(text_of(next.value()));
    CHECK(next.error() == error_code{});
    CHECK(clock::now() > ends);
}

TEST_CASE("a program that asks for an hour takes no vote", "[records]") {
    cluster nodes(3);
    found(nodes, with_limit(nodes, 3s));
    nodes.restart(1, redis_server::data::empty);
    {
        driver small(with_limit(nodes, 3s));
        small.acquire("keeps the records");
        small.pass(3300ms);
    }
    driver large(with_limit(nodes, 1h));
    REQUIRE(large.acquire("a", {.ttl = 1s, .wait = 10s}).error() == error_code{});
    nodes.kill(0);
    large.await_down("n0");
    const auto got = large.acquire("r", {.ttl = 1s, .wait = 10s});
    INFO(text_of(got.value()));
    CHECK(got.error() == error_code{});
}

TEST_CASE("the command that looks at one new node writes no record", "[records]") {
    cluster nodes(3);
    tool_process looks({"inspect", "--node", nodes[0].uri(), "r"});
    looks.wait();
    CHECK(looks.out().find("r") != std::string::npos);
    CHECK(records(nodes) == std::vector<std::optional<std::string>>(3));
    found(nodes);
}

TEST_CASE("the command that watches one node of three costs no lease", "[records]") {
    founded_cluster nodes(3);
    driver holder(nodes.options());
    auto held = holder.acquire("r", {.ttl = 20s});
    REQUIRE(held.error() == error_code{});
    nodes.restart(0, redis_server::data::empty);
    {  // before the holder, which stands still meanwhile
        tool_process watches({"watch", "--json", "--node", nodes[0].uri(), "r"});
        REQUIRE(eventually([&] { return watches.out().find("\"r\"") != std::string::npos; }));
        CHECK_FALSE(nodes.ask(0).exists(record_key));
    }
    REQUIRE(holder.until([&] { return nodes.ask(0).exists(record_key); }));
    CHECK(holder.extend(held.value(), 20s) == error_code{});
    CHECK(held.value());
    CHECK(holder.acquire("another", {.wait = 10s}).error() == error_code{});
}

TEST_CASE("a look with a ttl_max of an hour changes no record", "[records]") {
    founded_cluster nodes(3);
    const auto before = records(nodes);
    const scratch folder;
    tool_process looks({"inspect", "--config", config_with(nodes, "3600000", folder), "r"});
    looks.wait();
    CHECK(looks.out().find("r") != std::string::npos);
    CHECK(records(nodes) == before);
    driver d(nodes.options());
    CHECK(d.acquire("r", {.ttl = 1s}).error() == error_code{});
}
