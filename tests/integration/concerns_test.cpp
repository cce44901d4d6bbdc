// What endangers locks on real servers is reported, with the remedy; takes no lock but one.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/founded.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

std::vector<seen_event> reports(const event_log& log, std::string_view words) {
    auto all = log.all();
    std::erase_if(all, [&](const seen_event& e) {
        return e.kind != event_kind::node_reported || e.detail.find(words) == e.detail.npos;
    });
    return all;
}

void reconnect(driver& d, cluster& nodes, std::size_t node) {
    const std::string name = "n" + std::to_string(node);
    const auto before = d.log().count(event_kind::node_up);
    nodes.ask(node).kill_other_clients();
    REQUIRE(d.until([&] { return d.log().count(event_kind::node_up) > before; }));
}

}  // namespace

TEST_CASE("nothing is reported of sound servers", "[concerns]") {
    founded_cluster nodes(3, durable);
    driver d(nodes.options());
    CHECK(d.acquire("r").error() == error_code{});
    CHECK(d.log().count(event_kind::node_reported) == 0);
}

TEST_CASE("an only node is reported once", "[concerns]") {
    founded_cluster nodes(1, durable);
    driver d(nodes.options());
    CHECK(d.acquire("r").error() == error_code{});
    const auto said = reports(d.log(), "this is the only node");
    REQUIRE(said.size() == 1);
    CHECK(said[0].severity == severity::info);
    reconnect(d, nodes, 0);
    CHECK(reports(d.log(), "this is the only node").size() == 1);
}

TEST_CASE("a server that evicts is reported once", "[concerns]") {
    founded_cluster nodes(3, durable);
    nodes.ask(1).config_set("maxmemory", "1gb");
    nodes.ask(1).config_set("maxmemory-policy", "volatile-lru");
    nodes.ask(2).config_set("maxmemory-policy", "allkeys-lfu");
    driver d(nodes.options());
    auto said = reports(d.log(), "set maxmemory-policy noeviction");
    REQUIRE(said.size() == 2);
    for (const auto& e : said) {
        INFO(e.text);
        const bool has_limit = e.node == "n1";
        CHECK(e.severity == (has_limit ? severity::warning : severity::info));
        CHECK(e.detail.find(has_limit ? "volatile-lru" : "allkeys-lfu") != std::string::npos);
    }
    reconnect(d, nodes, 1);
    CHECK(reports(d.log(), "maxmemory-policy").size() == 2);
    nodes.ask(2).config_set("maxmemory", "1gb");
    reconnect(d, nodes, 2);
    said = reports(d.log(), "maxmemory-policy");
    REQUIRE(said.size() == 3);
    CHECK(said.back().node == "n2");
    CHECK(said.back().severity == severity::warning);
    CHECK(d.acquire("r").error() == error_code{});
}

TEST_CASE("a server whose memory is nearly full is reported", "[concerns]") {
    founded_cluster nodes(3, durable);
    nodes.ask(0).config_set("maxmemory", "1gb");
    nodes.ask(2).set("ballast", std::string(20'000'000, 'x'));
    const auto limit = std::stoull(nodes.ask(2).info("used_memory")) * 106 / 100;
    nodes.ask(2).config_set("maxmemory", std::to_string(limit));
    driver d(nodes.options());
    const auto said = reports(d.log(), "raise maxmemory");
    REQUIRE(said.size() == 1);
    INFO(said[0].text);
    CHECK(said[0].node == "n2");
    CHECK(said[0].severity == severity::warning);
    CHECK(said[0].detail.find("of maxmemory (" + std::to_string(limit)) != std::string::npos);
}

TEST_CASE("what a restart costs is reported where the persistence is known", "[concerns]") {
    cluster nodes(3);
    nodes.ask(1).config_set("appendonly", "yes");
    nodes.ask(1).config_set("appendfsync", "everysec");
    auto options = nodes.options();
    nodes.ask(2).config_set("appendonly", "yes");
    nodes.ask(2).acl_setuser({"ann", "on", ">pw", "~*", "&*", "+@all", "-config"});
    options.nodes[2].username = "ann";
    options.nodes[2].password = "pw";
    driver d(options);
    const auto said = reports(d.log(), "each restart costs this node its vote");
    REQUIRE(said.size() == 2);
    for (const auto& e : said) {
        INFO(e.text);
        CHECK(e.severity == severity::info);
        const auto* setting = e.node == "n0" ? "appendonly is no" : "appendfsync is everysec";
        CHECK(e.detail.starts_with(setting));
        CHECK(e.node != "n2");
    }
}

TEST_CASE("without the restart guard a server that forgets is a danger", "[concerns]") {
    cluster nodes(3);
    auto options = nodes.options();
    SECTION("plain locks") { options.fencing = false; }
    SECTION("the guard alone") { options.guard = restart_guard::off; }
    driver d(options);
    const auto said = reports(d.log(), "without the restart guard");
    REQUIRE(said.size() == 3);
    for (const auto& e : said) CHECK(e.severity == severity::warning);
}

TEST_CASE("one key under two prefixes is reported, and so are plain locks beside ours",
          "[concerns]") {
    founded_cluster nodes(3, durable);
    auto other = nodes.options();
    const bool is_plain = GENERATE(false, true);
    other.client_name = "the-other";
    if (is_plain) {
        other.fencing = false;
    } else {
        other.key_prefix = "app:";
    }
    driver holder(other);
    auto held = holder.acquire(is_plain ? "app:r" : "r", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    driver d(nodes.options());
    for (int i = 0; i < 2; ++i) CHECK(d.acquire("app:r").error() == errc::contended);
    const auto said = reports(d.log(), "key_prefix");
    REQUIRE(said.size() == 1);
    INFO(said[0].text);
    CHECK(said[0].resource == "app:r");
    CHECK(said[0].severity == severity::warning);
    CHECK(said[0].detail.find("the-other") != std::string::npos);
    CHECK(said[0].detail.find("fencing off") != std::string::npos);
    CHECK(said[0].detail.find(held.value().owner().to_string()) == std::string::npos);
}
