// What a lock costs the servers, and what the client counts and tells; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/project.hpp"
#include "support/founded.hpp"
#include "support/skipped.hpp"

#include <redlock/error.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// The most requests to three nodes for their time and their epoch, and to note it: every
// five seconds.
std::uint64_t most_probes(clock::time_point born) {
    return 3 * 3 * static_cast<std::uint64_t>((clock::now() - born) / 5s);
}

}  // namespace

TEST_CASE("whether nodes are connected and vote is counted, also of one in quarantine", "[stats]") {
    founded_cluster nodes(3);
    driver d(nodes.options());
    const auto is = [&](std::uint64_t connected, std::uint64_t votes, std::uint64_t quorum) {
        return d.until([&, connected, votes, quorum] {
            const auto s = d.client().stats();
            return s.nodes[0].connected == connected && s.nodes[0].votes == votes &&
                   s.nodes[1].votes == 1 && s.quorum == quorum;
        });
    };
    CHECK(is(1, 1, 1));
    nodes.kill(0);
    CHECK(is(0, 0, 1));
    nodes.restart(0, redis_server::data::empty);
    CHECK(is(1, 0, 1));
    nodes.kill(2);
    CHECK(is(1, 0, 0));
}

TEST_CASE("an uncontended cycle is two commands per node", "[stats]") {
    cluster nodes(3);
    found(nodes);  // it costs commands
    auto options = nodes.options(GENERATE(true, false));
    const auto born = clock::now();
    driver d(options);
    constexpr long long cycles = 50;
    REQUIRE(d.release(std::move(d.acquire("before").value())) == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("before") == 0; }));
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).reset_calls();
    const auto before = d.client().stats();
    for (int i = 0; i < cycles; ++i) {
        auto got = d.acquire("r", {.ttl = 10s});
        REQUIRE(got.value());
        REQUIRE(d.release(std::move(got.value())) == error_code{});
        REQUIRE(d.until([&] { return nodes.holding("r") == 0; }));
    }
    for (std::size_t i = 0; i < 3; ++i) {
        auto ask = nodes.ask(i);
        // The fenced acquire is a script, which reads and writes the key and the fence; the release
        // reads the key. On a busy machine there are looks at clock and record, too, some of which
        // are noted: nothing else reads a key whole.
        const long long own = (options.fencing ? 2 : 1) * cycles;
        const long long looks = options.fencing ? ask.calls("get") - 3 * cycles : 0;
        const long long written = ask.calls("set");
        CHECK(written >= own);
        CHECK(written <= own + looks);
        CHECK(ask.calls("evalsha") == own + looks);
        CHECK(ask.calls("eval") == 0);
        CHECK(ask.calls("script|load") == 0);
    }
    const auto after = d.client().stats();
    const auto probes = most_probes(born);
    CHECK(after.commands - before.commands >= 2 * 3 * cycles);
    CHECK(after.commands - before.commands <= 2 * 3 * cycles + probes);
    CHECK(after.writes - before.writes <= 2 * 3 * cycles + probes);
    CHECK(after.reads - before.reads >= 2 * cycles);
    CHECK(after.reads - before.reads <= 2 * 3 * cycles + probes);
    CHECK(after.granted - before.granted == cycles);
    CHECK(after.released - before.released == cycles);
    CHECK(after.retries == 0);
    CHECK(after.timeouts == 0);
    CHECK(after.connects == 3);
    CHECK(after.disconnects == 0);
}

TEST_CASE("what one turn of the loop asks of a node is few commands in one write", "[stats]") {
    founded_cluster nodes(3);
    const auto born = clock::now();
    driver d(nodes.options());
    const auto before = d.client().stats();
    constexpr int many = 100;
    std::vector<outcome<lease>> tries(many);
    for (int i = 0; i < many; ++i) {
        d.client().async_acquire("r" + std::to_string(i), {.ttl = 10s},
                                 tries[static_cast<std::size_t>(i)].handler());
    }
    for (auto& t : tries) REQUIRE(d.finish(t).value());
    const auto after = d.client().stats();
    const auto probes = most_probes(born);
    CHECK(after.commands - before.commands >= 3 * 2);  // of 64 requests at most
    CHECK(after.commands - before.commands <= 3 * many / 10 + probes);
    CHECK(after.writes - before.writes <= 3 * many / 10 + probes);
}

TEST_CASE("renewals that are due together are one command per node", "[stats]") {
    cluster nodes(3);
    driver d(nodes.options(GENERATE(true, false)));
    constexpr std::size_t many = 100;
    std::vector<outcome<lease>> tries(many);
    for (std::size_t i = 0; i < many; ++i) {
        d.client().async_acquire("r" + std::to_string(i), {.ttl = 6s}, tries[i].handler());
    }
    for (auto& t : tries) REQUIRE(d.finish(t).value());
    for (std::size_t i = 0; i < many; ++i) {
        REQUIRE(d.until([&] { return nodes.holding("r" + std::to_string(i)) == 3; }));
    }
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).reset_calls();
    REQUIRE(d.until([&] { return d.client().stats().renewals >= many; }));
    for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).calls("evalsha") <= 10);
    for (auto& t : tries) CHECK(t.value());
}

TEST_CASE("the counters tell how acquires ended", "[stats]") {
    cluster nodes(3);
    found(nodes);  // else one that stops may have no vote yet, and is not queried
    driver d(nodes.options());
    auto held = d.acquire("r", {.ttl = 30s});
    REQUIRE(held.value());
    CHECK(d.client().stats().leases == 1);
    d.acquire("r");
    CHECK(d.client().stats().contended == 1);
    nodes.stop(0);
    nodes.stop(1);
    d.acquire("s");
    CHECK(d.client().stats().no_quorum == 1);
    CHECK(d.client().stats().timeouts >= 2);
    auto waiting = d.start_acquire("r", {.wait = 60s});
    d.pass(20ms);
    waiting.cancel();
    d.finish(waiting);
    CHECK(d.client().stats().cancelled == 1);
    nodes.cont(0);
    nodes.cont(1);
    CHECK(d.until([&] { return d.client().stats().late_replies >= 2; }));
    CHECK(d.client().stats().granted == 1);
    held.value() = lease{};
    CHECK(d.until([&] { return d.client().stats().leases == 0; }));
}

TEST_CASE("the histograms tell how long things took", "[stats]") {
    founded_cluster nodes(3);
    driver d(nodes.options());
    const auto began = clock::now();
    auto held = d.acquire("r", {.ttl = 6s});
    REQUIRE(held.value());
    REQUIRE(d.until([&] { return d.client().stats().renewals >= 2; }));
    auto waiting = d.start_acquire("r", {.ttl = 30s, .wait = 60s});
    REQUIRE(d.until([&] { return d.client().stats().waiting == 1; }));
    d.pass(30ms);
    CHECK(d.release(std::move(held.value())) == error_code{});
    REQUIRE(d.finish(waiting).value());
    const auto all = clock::now() - began;
    const auto s = d.client().stats();
    CHECK(s.waiting == 0);
    CHECK(s.wait.count() == 2);
    CHECK(s.wait.sum >= 30ms);
    CHECK(s.hold.count() == 1);
    CHECK(s.hold.sum >= 2s);  // two renewals, at a third of the ttl each
    CHECK(s.hold.sum <= all);
    CHECK(s.renewal.count() == s.renewals);
    CHECK(s.remaining.count() == 1);
    CHECK(s.remaining.sum <= 6s);
    REQUIRE(s.nodes.size() == 3);
    for (const auto& node : s.nodes) {
        INFO(node.name);
        CHECK(node.round_trip.count() >= 5);
        CHECK(node.round_trip.sum <= all * static_cast<int>(node.round_trip.count()));
        CHECK(node.owed_releases == 0);
    }
    CHECK(s.nodes[1].name == "n1");
    SECTION("and what is owed to a node that is gone") {
        // With this answer it has given all earlier ones: nothing else is owed.
        REQUIRE(d.inspect("r").value().nodes[1].state == key_state::held);
        nodes.kill(1);
        d.await_down("n1");
        CHECK(d.release(std::move(waiting.value())) == error_code{});
        CHECK(d.until([&] { return d.client().stats().nodes[1].owed_releases == 1; }));
        nodes.restart(1);
        CHECK(d.until([&] { return d.client().stats().nodes[1].owed_releases == 0; }));
    }
}

TEST_CASE("Prometheus' own checker accepts the metrics", "[stats]") {
    if (std::system("command -v promtool >/dev/null") != 0) {
        say_not_installed("promtool");
        return;
    }
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("r");
    REQUIRE(held.value());
    std::FILE* const checker = ::popen("promtool check metrics", "w");
    REQUIRE(checker != nullptr);
    const std::string text = prometheus_text(d.client().stats());
    CHECK(std::fwrite(text.data(), 1, text.size(), checker) == text.size());
    INFO(text);
    CHECK(::pclose(checker) == 0);
    const auto config = redlock::testing::project_folder() / "config";
    const std::string rules = (config / "prometheus" / "alerts.yml").string();
    CHECK(std::system(("promtool check rules " + rules + " >/dev/null").c_str()) == 0);
    const auto fires = redlock::testing::project_folder() / "tests" / "integration" / "alerts_test.yml";
    CHECK(std::system(("promtool test rules " + fires.string() + " >/dev/null").c_str()) == 0);
}

TEST_CASE("events name the node, the resource and the cause, and no secret", "[stats]") {
    server_options each;
    each.password = "s3cret-w0rd";
    cluster nodes(3, each);
    std::string whole_owner;
    driver d(nodes.options());
    auto held = d.acquire("orders", {.ttl = 6s});
    REQUIRE(held.value());
    whole_owner = held.value().owner().to_string();
    d.acquire("orders");
    REQUIRE(d.until([&] { return d.log().count(event_kind::renewed) > 0; }));
    nodes.kill(1);
    d.await_down("n1");
    d.release(std::move(held.value()));
    REQUIRE(d.until([&] { return d.log().count(event_kind::released) > 0; }));
    CHECK(d.log().count(event_kind::node_up) == 3);
    CHECK(d.log().count(event_kind::granted) == 1);
    CHECK(d.log().count(event_kind::refused) == 1);
    for (const auto& e : d.log().all()) {
        CHECK_FALSE(e.text.empty());
        CHECK(e.text.find(each.password) == std::string::npos);
        CHECK(e.text.find(whole_owner) == std::string::npos);
        if (e.kind == event_kind::node_down) {
            CHECK(e.node == "n1");
            CHECK(e.error != error_code{});
        }
        if (e.kind == event_kind::granted || e.kind == event_kind::refused) {
            CHECK(e.resource == "orders");
        }
    }
}
