// Nodes that forget, restart and are flushed, in memory, where a quarantine takes no time; knows no
// engine.
// SPDX-License-Identifier: MIT
#include "component/support/memory_cluster.hpp"
#include "support/catch.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// Quarantine is this long, and a little more for the drift of the clocks.
constexpr auto quarantine = 4s;

client_options guarded(const memory_cluster& nodes) {
    auto o = nodes.options();
    o.ttl_max = quarantine;
    return o;
}

void settle(memory_cluster& nodes, const client_options& options) {
    memory_driver first(options);
    first.acquire("settling", {.wait = 5s});  // a client that only looks makes no records
    REQUIRE(first.until([&] { return nodes.is_founded(); }));
}

std::size_t votes_of(const lease& of, vote what) {
    const auto votes = of.votes();
    return static_cast<std::size_t>(std::count_if(
        votes.begin(), votes.end(), [what](const node_vote& v) { return v.answer == what; }));
}

}  // namespace

TEST_CASE("a first start with a node missing waits, unless an operator declares all nodes new",
          "[guard]") {
    memory_cluster nodes(3);
    nodes.kill(2);
    const auto began = clock::now();
    memory_driver d(guarded(nodes), 2);
    const auto refused = d.acquire("r");
    INFO(text_of(refused.value()));
    REQUIRE(refused.error() == errc::no_quorum);
    CHECK(votes_of(refused.value(), vote::quarantine) >= 1);
    CHECK(text_of(refused.value()).find("in quarantine, ") != std::string::npos);
    SECTION("it waits") {
        CHECK(d.acquire("r", {.wait = 10s}).error() == error_code{});
        CHECK(clock::now() - began >= quarantine);
    }
    SECTION("the operator's init fails with fewer than a quorum") {
        nodes.kill(1);
        d.await_down("n1");
        outcome<std::vector<node_vote>> alone;
        d.client().async_init(alone.handler());
        alone = d.finish(alone);
        CHECK(alone.error() == errc::no_quorum);
        CHECK(alone.value()[0].answer == vote::granted);
    }
    SECTION("the operator's init needs a quorum of the nodes") {
        outcome<std::vector<node_vote>> half;
        d.client().async_init(half.handler());
        half = d.finish(half);
        CHECK(half.error() == error_code{});
        CHECK(half.value()[0].answer == vote::granted);
        CHECK(half.value()[2].answer != vote::granted);
        CHECK(d.acquire("r", {.wait = 1s}).error() == error_code{});
        nodes.restart(2, memory_cluster::data::empty);
        d.await_up(3);
        outcome<std::vector<node_vote>> whole;
        d.client().async_init(whole.handler());
        whole = d.finish(whole);
        for (const auto& v : whole.value()) UNSCOPED_INFO(format(v));
        CHECK(whole.error() == error_code{});
        CHECK(d.acquire("r", {.wait = 1s}).error() == error_code{});
        CHECK(nodes.is_founded());
    }
}

TEST_CASE("a node that restarted empty has no vote for ttl_max", "[guard]") {
    memory_cluster nodes(3);
    settle(nodes, guarded(nodes));
    memory_driver d(guarded(nodes));
    nodes.kill(2);  // of the other two, one forgets: no quorum is left that remembers
    nodes.restart(1, memory_cluster::data::empty);
    const auto restarted = clock::now();
    d.await_down("n1");
    d.await_up("n1");
    const auto refused = d.acquire("r");
    INFO(text_of(refused.value()));
    CHECK(refused.error() == errc::no_quorum);
    CHECK(votes_of(refused.value(), vote::quarantine) == 1);
    CHECK(d.inspect("r").value().nodes[1].state == key_state::quarantine);
    CHECK(d.inspect("r").value().nodes[1].detail.find("more") != std::string::npos);
    const auto got = d.acquire("r", {.wait = 10s});
    CHECK(got.error() == error_code{});
    CHECK(clock::now() - restarted > quarantine);
}

TEST_CASE("a durable node votes as soon as it is back", "[guard]") {
    memory_cluster nodes(3, memory_cluster::disk::always);
    settle(nodes, guarded(nodes));
    memory_driver d(guarded(nodes));
    nodes.kill(2);
    nodes.kill(1);
    d.await_down("n1");
    nodes.restart(1, memory_cluster::data::keep);
    d.await_up("n1");
    const auto got = d.acquire("r");
    INFO(text_of(got.value()));
    CHECK(got.error() == error_code{});
}

TEST_CASE("a node that restarts in its sleep is found to be another process", "[guard]") {
    // Nothing was saved, and nothing durable: it has the data only by an earlier snapshot.
    memory_cluster nodes(3);
    settle(nodes, guarded(nodes));
    memory_driver d(guarded(nodes));
    nodes.save(1);
    nodes.kill(2);
    nodes.restart(1, memory_cluster::data::keep);
    d.await_down("n1");
    d.await_up("n1");
    CHECK(d.acquire("r").error() == errc::no_quorum);
}

TEST_CASE("a flushed node takes nothing and loses its vote", "[guard]") {
    memory_cluster nodes(3);
    settle(nodes, guarded(nodes));
    memory_driver d(guarded(nodes));
    nodes.kill(2);
    d.await_down("n2");
    nodes.ask(1).command({"FLUSHALL"});
    const auto refused = d.acquire("r");
    INFO(text_of(refused.value()));
    CHECK(refused.error() == errc::no_quorum);
    CHECK(refused.value().votes()[1].answer == vote::quarantine);
    CHECK_FALSE(nodes.ask(1).exists("r"));
    // It was greeted again, and waits for its quarantine to be over.
    CHECK(d.acquire("r", {.wait = 10s}).error() == error_code{});
}

TEST_CASE("nobody is granted while a majority may have forgotten", "[guard]") {
    memory_cluster nodes(5);
    settle(nodes, guarded(nodes));
    clock::time_point old_ends;
    {
        memory_driver holder(guarded(nodes));
        auto got = holder.acquire("r", {.ttl = quarantine, .renew = false});
        REQUIRE(got.error() == error_code{});
        old_ends = got.value().valid_until();
        got.value().detach();
    }
    for (const std::size_t i : {0U, 1U, 2U}) nodes.restart(i, memory_cluster::data::empty);
    memory_driver d(guarded(nodes));
    while (clock::now() < old_ends) {
        const auto got = d.acquire("r", {.ttl = 500ms, .renew = false});
        INFO(text_of(got.value()));
        if (clock::now() >= old_ends) break;
        REQUIRE(got.error());
        d.pass(10ms);
    }
    CHECK(d.acquire("r", {.ttl = 500ms, .wait = 10s}).error() == error_code{});
}

TEST_CASE("a lease under renewal outlives a rolling restart of all nodes", "[guard]") {
    memory_cluster nodes(3);
    auto options = guarded(nodes);
    options.ttl_max = 5s;
    settle(nodes, options);
    memory_driver d(options);
    auto got = d.acquire("r", {.ttl = 5s});
    REQUIRE(got.error() == error_code{});
    const auto lost = d.start_lost(got.value());
    const auto fence = got.value().fence();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes.restart(i, memory_cluster::data::empty);
        REQUIRE(d.until([&] { return nodes.ask(i).exists("r"); }));  // the renewal took it again
        // Its quarantine: the next one must not forget meanwhile.
        d.pass(5s + 200ms);
        CHECK_FALSE(lost.done());
        CHECK(got.value());
    }
    CHECK(got.value().fence() == fence);
    CHECK(nodes.holding("r") == 3);
    CHECK(d.release(std::move(got.value())) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("another client's larger ttl_max is reported, and counts for the quarantine",
          "[guard]") {
    memory_cluster nodes(3);
    auto large = guarded(nodes);
    large.ttl_max = 30s;
    settle(nodes, large);
    memory_driver d(guarded(nodes));
    CHECK(
        d.until([&] { return d.log().count(event_kind::node_reported, severity::warning) >= 1; }));
    const auto all = d.log().all();
    CHECK(std::any_of(all.begin(), all.end(), [](const seen_event& e) {
        return e.kind == event_kind::node_reported && e.detail.find("ttl_max") != std::string::npos;
    }));
    nodes.kill(2);
    nodes.restart(1, memory_cluster::data::empty);
    d.await_down("n1");
    d.await_up("n1");
    const auto refused = d.acquire("r");
    INFO(text_of(refused.value()));
    REQUIRE(refused.value().votes()[1].answer == vote::quarantine);
    CHECK(refused.value().votes()[1].retry_in > 20s);
}
