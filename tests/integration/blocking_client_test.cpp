// The blocking client on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>

#include <boost/asio/error.hpp>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

TEST_CASE("acquires, extends, inspects and releases", "[blocking_client]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    auto got = client.acquire("r", {.ttl = 5s});
    REQUIRE(got.has_value());
    CHECK(static_cast<bool>(*got));
    CHECK(got->resource() == "r");
    CHECK(client.stats().granted == 1);
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    const auto before = got->valid_until();
    CHECK(client.extend(*got, 30s).has_value());
    CHECK(got->valid_until() > before + 20s);
    const auto state = client.inspect("r");
    REQUIRE(state.has_value());
    CHECK(state->held);
    CHECK(client.list().value() == std::vector<std::string>{"r"});
    CHECK(client.list("other").value().empty());
    CHECK(client.release(std::move(*got)).has_value());
    CHECK(eventually([&] { return nodes.holding("r") == 0; }));
    CHECK(client.stats().leases == 0);
}

TEST_CASE("a refusal says why, and contention need not be an error", "[blocking_client]") {
    founded_cluster nodes(3);
    blocking_client holder(nodes.options());
    blocking_client client(nodes.options());
    auto held = holder.acquire("r", {.ttl = 30s});
    REQUIRE(held.has_value());
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    const auto refused = client.acquire("r");
    REQUIRE(refused.has_error());
    const refusal why = refused.error();
    CHECK((why == errc::contended));
    CHECK((why == condition::retryable));
    REQUIRE(why.votes.size() == 3);
    const auto held_votes = std::count_if(why.votes.begin(), why.votes.end(),
                                          [](const auto& v) { return v.answer == vote::held; });
    CHECK(held_votes >= 2);
    CHECK((client.acquire("").error() == errc::invalid_argument));
    nodes.kill(0);
    nodes.kill(1);
    CHECK((client.acquire("other").error() == errc::no_quorum));
}

TEST_CASE("waits until the holder is done", "[blocking_client]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    auto held = client.acquire("r", {.ttl = 30s});
    REQUIRE(held.has_value());
    std::atomic<bool> granted = false;
    std::thread waiter([&] {
        const auto got = client.acquire("r", {.ttl = 30s, .wait = patience});
        granted = got.has_value() && *got;
    });
    CHECK(eventually([&] { return nodes.ask(0).exists("{r}:queue"); }));
    CHECK_FALSE(granted);
    CHECK(client.release(std::move(*held)).has_value());
    waiter.join();
    CHECK(granted);
}

TEST_CASE("a lease of another client, or none, is refused", "[blocking_client]") {
    cluster nodes(3);
    blocking_client a(nodes.options());
    blocking_client b(nodes.options());
    auto held = a.acquire("r");
    REQUIRE(held.has_value());
    CHECK((b.extend(*held, 5s).error() == errc::invalid_argument));
    CHECK((b.release(std::move(*held)).error() == errc::invalid_argument));
    CHECK(eventually([&] { return nodes.holding("r") == 0; }));  // its own client released it
    CHECK((a.release(lease{}).error() == errc::invalid_argument));
}

TEST_CASE("a requested stop ends the wait and leaves nothing", "[blocking_client]") {
    cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    blocking_client client(options);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", "foreign");
    SECTION("before") {
        std::stop_source stop;
        stop.request_stop();
        const auto got = client.acquire("r", {.wait = patience}, stop.get_token());
        CHECK(got.error() == asio::error::operation_aborted);
        if (!options.fencing) CHECK(nodes.ask(0).calls("evalsha") == 0);
        CHECK_FALSE(nodes.ask(0).exists("{r}:fence"));
        if (!options.fencing) CHECK(nodes.ask(0).calls("set") == 1);  // the test's own
    }
    SECTION("meanwhile") {
        std::stop_source stop;
        std::jthread stopper([&] {
            eventually([&] {  // that it waits: it has tried once, or stands in line
                return options.fencing ? nodes.ask(0).exists("{r}:queue")
                                       : nodes.ask(0).calls("set") >= 2;
            });
            stop.request_stop();
        });
        const auto got = client.acquire("r", {.wait = 10 * patience}, stop.get_token());
        CHECK(got.error() == asio::error::operation_aborted);
        CHECK(got.error().votes.size() == 3);
    }
    SECTION("afterwards") {
        std::stop_source stop;
        auto got = client.acquire("free", {}, stop.get_token());
        stop.request_stop();
        REQUIRE(got.has_value());
        CHECK(static_cast<bool>(*got));
    }
    for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).get("r") == "foreign");
}

TEST_CASE("stops from several threads race with grants", "[blocking_client][threads]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    std::atomic<int> granted = 0;
    std::atomic<int> stopped = 0;
    std::atomic<int> other = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                std::stop_source stop;
                std::jthread stopper([&] { stop.request_stop(); });
                auto got = client.acquire("r" + std::to_string(t % 2),
                                          {.ttl = 5s, .wait = patience}, stop.get_token());
                if (got)
                    ++granted;
                else if (got.error() == asio::error::operation_aborted)
                    ++stopped;
                else
                    ++other;
            }
        });
    }
    threads.clear();
    CHECK(granted + stopped == 200);
    CHECK(other == 0);
    CHECK(eventually([&] { return nodes.holding("r0") == 0 && nodes.holding("r1") == 0; }));
}

TEST_CASE("many threads share one client and one lock", "[blocking_client][threads]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    int counter = 0;  // guarded by the lock, not by an atomic
    std::atomic<int> failures = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 25; ++i) {
                auto got = client.acquire("r", {.ttl = 10s, .wait = 2 * patience});
                if (!got) {
                    ++failures;
                    continue;
                }
                ++counter;
                if (!client.release(std::move(*got))) ++failures;
            }
        });
    }
    threads.clear();
    CHECK(failures == 0);
    CHECK(counter == 100);
}

TEST_CASE("a call from the client's own thread is refused", "[blocking_client]") {
    cluster nodes(3);
    std::atomic<blocking_client*> client = nullptr;
    std::atomic<int> refused = 0;
    auto options = nodes.options();
    options.on_event = [&](const event& e) {
        auto* const own = client.load();
        if (e.kind != event_kind::granted || own == nullptr) return;
        refused += own->acquire("other").error() == errc::would_deadlock ? 1 : 0;
        refused += own->inspect("other").error() == errc::would_deadlock ? 1 : 0;
        refused += own->close().error() == errc::would_deadlock ? 1 : 0;
        refused += own->extend(lease{}, 5s).error() == errc::would_deadlock ? 1 : 0;
        refused += own->downgrade(lease{}).error() == errc::would_deadlock ? 1 : 0;
        refused += own->release(lease{}).error() == errc::would_deadlock ? 1 : 0;
    };
    blocking_client own(std::move(options));
    client = &own;
    REQUIRE(own.acquire("r").has_value());
    CHECK(refused == 6);
}

namespace {

// The threads of this process, each with the signals that it blocks, a bit each.
std::map<std::string, std::uint64_t> blocked_by_threads() {
    std::map<std::string, std::uint64_t> out;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream status(one.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (!line.starts_with("SigBlk:")) continue;
            out[one.path().filename()] = std::stoull(line.substr(7), nullptr, 16);
        }
    }
    return out;
}

}  // namespace

TEST_CASE("the thread of a client takes no signal of the program", "[blocking_client]") {
    cluster nodes(1);
    const auto before = blocked_by_threads();
    blocking_client client(nodes.options());
    REQUIRE(client.inspect("r").has_value());  // a thread that has just been made blocks all signals
    std::size_t made = 0;
    for (const auto& [thread, blocked] : blocked_by_threads()) {
        if (before.contains(thread)) continue;
        ++made;
        for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM}) {
            CHECK(((blocked >> (signal - 1)) & 1) == 1);
        }
    }
    CHECK(made == 1);
}

TEST_CASE("the loss reaches the holder", "[blocking_client]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    auto got = client.acquire("r", {.ttl = 5s, .max_hold = 300ms});
    REQUIRE(got.has_value());
    const auto token = got->lost_token();
    CHECK(eventually([&] { return token.stop_requested(); }));
    CHECK_FALSE(static_cast<bool>(*got));
    CHECK((client.release(std::move(*got)).error() == errc::lost));
}

TEST_CASE("init declares a quorum of the nodes new, and names the nodes that did not take it",
          "[blocking_client]") {
    cluster nodes(3);
    auto options = nodes.options();
    options.guard = restart_guard::strict;
    event_log log;
    log.attach(options);
    blocking_client client(options);
    CHECK(client.acquire("r").error() == errc::no_quorum);
    REQUIRE(eventually([&] { return log.nodes_up() == 3; }));
    nodes.kill(1);
    nodes.kill(2);
    const auto alone = client.init();
    REQUIRE_FALSE(alone.has_value());
    CHECK(alone.error() == errc::no_quorum);
    REQUIRE(alone.error().votes.size() == 3);
    CHECK(alone.error().votes[0].answer == vote::granted);
    CHECK(alone.error().votes[2].answer != vote::granted);
    CHECK(alone.error().message().find("n2") != std::string::npos);
    nodes.restart(1, redis_server::data::empty);
    blocking_client second(nodes.options());
    const auto half = second.init();
    REQUIRE(half.has_value());
    REQUIRE(half->size() == 3);
    CHECK((*half)[1].answer == vote::granted);
    CHECK((*half)[2].answer != vote::granted);
    CHECK(second.acquire("r", {.wait = 1s}).has_value());
    nodes.restart(2, redis_server::data::empty);
    const auto whole = blocking_client(nodes.options()).init();
    REQUIRE(whole.has_value());
    CHECK((*whole)[2].answer == vote::granted);
    CHECK(nodes.is_founded());
}

TEST_CASE("the destructor releases what is still out", "[blocking_client]") {
    cluster nodes(5);
    auto client = std::make_unique<blocking_client>(nodes.options());
    auto a = client->acquire("a", {.ttl = 60s});
    auto b = client->acquire("b", {.ttl = 60s});
    REQUIRE(a.has_value());
    REQUIRE(b.has_value());
    REQUIRE(eventually([&] { return nodes.holding("a") == 5 && nodes.holding("b") == 5; }));
    SECTION("all nodes answer") {
        client.reset();
        CHECK(nodes.holding("a") == 0);
        CHECK(nodes.holding("b") == 0);
    }
    SECTION("two hang, and it returns all the same") {
        nodes.stop(0);
        nodes.stop(3);
        client.reset();
        CHECK(nodes.holding("a") == 0);
        CHECK(nodes.holding("b") == 0);
    }
    CHECK_FALSE(*a);  // a lease outlives its client and knows
}

TEST_CASE("a client can be closed, and says whether the nodes answered", "[blocking_client]") {
    cluster nodes(3);
    auto options = nodes.options();
    options.node_timeout = 500ms;
    blocking_client client(options);
    auto held = client.acquire("r", {.ttl = 60s, .wait = 10s});
    REQUIRE(held.has_value());
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    SECTION("they do") {
        CHECK(client.close().has_value());
        CHECK(nodes.holding("r") == 0);
        CHECK(client.close().has_value());
    }
    SECTION("most of them hang") {
        nodes.stop(0);
        nodes.stop(1);
        CHECK(client.close().error() == errc::no_quorum);
        CHECK(nodes.holding("r") == 0);
        CHECK(client.close().error() == errc::no_quorum);
    }
    SECTION("one thread waits meanwhile") {
        auto waiting = std::async(std::launch::async, [&] {
            return client.acquire("r", {.ttl = 10s, .wait = 60s}).error();
        });
        CHECK(client.close().has_value());
        CHECK(waiting.get() == errc::client_closed);
    }
    CHECK_FALSE(*held);
    CHECK(client.acquire("r").error() == errc::client_closed);
}

TEST_CASE("one that was moved from is closed; wrong options throw", "[blocking_client]") {
    cluster nodes(3);
    blocking_client first(nodes.options());
    blocking_client second(std::move(first));
    CHECK(first.acquire("r").error() == errc::client_closed);
    CHECK(first.inspect("r").error() == errc::client_closed);
    CHECK(first.close().has_value());
    CHECK(first.stats().granted == 0);
    auto got = second.acquire("r");
    REQUIRE(got.has_value());
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    second = blocking_client(nodes.options());
    CHECK(nodes.holding("r") == 0);
    CHECK(second.acquire("r").has_value());
    CHECK_THROWS_AS(blocking_client(client_options{}), std::invalid_argument);
}
