// Fencing tokens on real servers: they rise whatever happens, and keep late commands out.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/founded.hpp"
#include "support/skipped.hpp"
#include "support/wall_clock.hpp"
#include "tool_process.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using data = redis_server::data;

namespace {

constexpr auto ttl_max = 2s;

client_options fenced(const cluster& nodes) {
    auto o = nodes.options();
    o.ttl_max = ttl_max;
    return o;
}

/// Holds each lease for a moment and compares its fence with that of the one before.
class succession {
public:
    explicit succession(driver& d) : d_(&d) {}
    void next(bool give_back = true) {
        auto got = d_->acquire("r", {.ttl = 300ms, .wait = 15s, .renew = false});
        INFO(text_of(got.value()));
        REQUIRE(got.error() == error_code{});
        CHECK(got.value().fence() > last_);
        last_ = got.value().fence();
        if (give_back) {
            d_->release(std::move(got.value()));
        } else {
            got.value().detach();
        }
    }
    std::uint64_t last() const { return last_; }

private:
    driver* d_;
    std::uint64_t last_ = 0;
};

}  // namespace

TEST_CASE("fences rise from holder to holder, and the nodes know them", "[fences]") {
    cluster nodes(3);
    driver d(fenced(nodes));
    succession leases(d);
    for (int i = 0; i < 20; ++i) leases.next();
    leases.next(false);  // one that runs out
    leases.next();
    const auto state = d.inspect("r").value();
    CHECK(state.fence == leases.last());
}

TEST_CASE("fences rise through a crash, restarts and a flush of one server", "[fences][servers]") {
    cluster nodes(3, GENERATE(true, false) ? durable : server_options{});
    driver d(fenced(nodes));
    succession leases(d);
    leases.next(false);
    nodes.kill(1);
    leases.next();
    nodes.restart(1, data::keep);
    leases.next();
    nodes.ask(1).command({"FLUSHALL"});
    leases.next();
    nodes.restart(1, data::empty);
    leases.next();
}

TEST_CASE("fences rise for clients whose clocks are days apart", "[fences][tool]") {
    const auto library = wall_clock_library();
    if (library.empty()) {
        say_not_installed("libfaketime");
        return;
    }
    cluster nodes(3);
    std::uint64_t last = 0;
    for (const std::string offset : {"+1d", "-1d", "+0", "-400d", "+1d"}) {
        const wall_clock_offset off(library, offset);
        std::vector<std::string> words;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            words.insert(words.end(), {"--node", nodes[i].uri()});
        }
        words.insert(words.end(), {"run", "--wait", "5s", "r", "--", "sh", "-c",
                                   "echo $REDLOCK_FENCE; date +%Y >&2"});
        tool_process run(words);
        REQUIRE(run.wait() == 0);
        const auto fence = std::stoull(run.out());
        INFO(offset << ": " << fence << " after " << last);
        CHECK(fence > last);
        last = fence;
    }
}

TEST_CASE("a second round goes above a fence that is ahead", "[fences]") {
    cluster nodes(3);
    driver d(fenced(nodes));
    succession leases(d);
    leases.next();
    // As another client would leave it whose nodes' clocks run a little ahead.
    const auto ahead = std::to_string(leases.last() + 200'000);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("{r}:fence", ahead);
    auto got = d.acquire("r");
    INFO(text_of(got.value()));
    REQUIRE(got.error() == error_code{});
    CHECK(got.value().fence() > std::stoull(ahead));
}

TEST_CASE("a fence key with foreign text in it refuses, and names the node", "[fences]") {
    founded_cluster nodes(3);
    driver d(fenced(nodes));
    const std::string foreign = GENERATE("text", "-1", "1e3", " 7", "9007199254740992");
    for (const std::size_t i : {0U, 1U}) nodes.ask(i).set("{r}:fence", foreign);
    const auto refused = d.acquire("r");
    INFO(text_of(refused.value()));
    CHECK(refused.error() == errc::no_quorum);
    for (const std::size_t i : {0U, 1U}) {
        CHECK(refused.value().votes()[i].error == errc::foreign_data);
        CHECK(nodes.ask(i).get("{r}:fence") == foreign);
        CHECK_FALSE(nodes.ask(i).exists("r"));
    }
    CHECK(d.until([&] { return nodes.keys() == 0; }));
}

TEST_CASE("a key of another type refuses, and stays", "[fences]") {
    founded_cluster nodes(3);
    driver d(fenced(nodes));
    const std::string which = GENERATE("r", "{r}:fence");
    for (const std::size_t i : {0U, 1U}) nodes.ask(i).command({"RPUSH", which, "x"});
    const auto refused = d.acquire("r");
    INFO(text_of(refused.value()));
    CHECK(refused.error() == errc::no_quorum);
    for (const std::size_t i : {0U, 1U}) {
        CHECK(refused.value().votes()[i].error == errc::foreign_data);
        CHECK(nodes.ask(i).command({"TYPE", which}).text == "list");
    }
}

TEST_CASE("nothing is left on a node that hung for longer than its connection was kept",
          "[fences]") {
    cluster nodes(3);
    auto options = fenced(nodes);
    options.node_timeout = 100ms;
    options.connect_timeout = 500ms;
    driver d(options);
    succession leases(d);
    // The node knows a fence: a late command is not refused for its age alone.
    do {
        leases.next();
    } while (!d.log().up("n1") || !nodes.ask(1).exists("{r}:fence"));
    nodes.stop(1);
    auto held = d.acquire("r", {.ttl = 300ms, .wait = 10s, .renew = GENERATE(true, false)});
    REQUIRE(held.error() == error_code{});
    d.await_down("n1");
    if (held.value()) d.release(std::move(held.value()));
    d.pass(500ms);  // longer than the ttl, and than anything that counts on it
    nodes.cont(1);
    d.await_up("n1");
    // The thawed node has executed all that lay in its sockets once it answers a new one.
    REQUIRE(d.until([&] { return nodes.ask(1).get("{r}:fence") > std::to_string(leases.last()); }));
    CHECK(nodes.keys() == 0);
    d.pass(200ms);
    CHECK(nodes.keys() == 0);
}

TEST_CASE("nothing is left on a node that died between acquire and release", "[fences]") {
    cluster nodes(3, durable);
    driver d(nodes.options());
    auto held = d.acquire("r", {.ttl = 20s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    nodes.kill(1);
    d.await_down("n1");
    CHECK(d.release(std::move(held.value())) == error_code{});
    nodes.restart(1, data::keep);
    d.await_up("n1");
    CHECK(d.until([&] { return nodes.keys() == 0; }, 10s));
}

TEST_CASE("20 s after its release nothing of a name is left, whatever ttl_max is", "[fences]") {
    cluster nodes(3);
    auto options = nodes.options();
    options.ttl_max = std::chrono::milliseconds(GENERATE(60'000, 3'600'000));
    driver d(options);
    const auto give_back = [&](outcome<lease> got) {
        REQUIRE(got.error() == error_code{});
        REQUIRE(d.release(std::move(got.value())) == error_code{});
    };
    give_back(d.acquire("alone", {.ttl = 50s, .note = "at work"}));
    give_back(d.acquire("shared", {.ttl = 50s, .mode = lock_mode::shared}));
    give_back(d.acquire("slot", {.ttl = 50s, .slots = 3}));
    REQUIRE(d.until([&] { return nodes.keys() == 0; }));
    for (std::size_t i = 0; i < 3; ++i) {
        for (const std::string& key : nodes.ask(i).keys("{*")) {
            INFO(key);
            CHECK(nodes.ask(i).pttl(key) <= 20s);
        }
    }
}

TEST_CASE("plain locks leave no companion keys", "[fences]") {
    cluster nodes(3);
    driver d(nodes.options(false));
    auto got = d.acquire("r", {.ttl = 6s});
    REQUIRE(got.error() == error_code{});
    CHECK(got.value().fence() == 0);
    REQUIRE(d.until([&] { return d.client().stats().renewals >= 1; }));
    CHECK(d.release(std::move(got.value())) == error_code{});
    for (std::size_t i = 0; i < 3; ++i) {  // sooner than the key runs out
        CHECK(d.until([&] { return nodes.ask(i).keys().empty(); }, 3s));
    }
}
