// Several resources at once, by several clients on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>
#include <redlock/resource_list.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

bool is_anywhere(cluster& nodes, const std::string& key) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes.ask(i).exists(key)) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("all are held, renewed and released as one", "[several][servers]") {
    const bool is_fenced = GENERATE(true, false);
    cluster nodes(3);
    auto options = nodes.options();
    options.fencing = is_fenced;
    blocking_client client(options);
    blocking_client other(options);
    auto held = client.acquire_all({"a", "b", "c"}, {.ttl = 3s});
    REQUIRE(held.has_value());
    CHECK(held->resources().size() == 3);
    const auto refused = other.acquire_all({"c", "d"}, {.ttl = 20s});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() == errc::contended);
    CHECK(refused.error().message().find("c is held by ") != std::string::npos);
    CHECK_FALSE(is_anywhere(nodes, "d"));
    for (const auto* one : {"a", "b", "c"}) {
        CHECK_FALSE(other.acquire(one, {.ttl = 20s}).has_value());
        const auto state = other.inspect(one);
        REQUIRE(state.has_value());
        CHECK(state->held);
        CHECK(state->fence == held->fence());
    }
    CHECK(eventually([&] { return client.stats().renewals >= 4; }));  // beyond its ttl
    CHECK(*held);
    CHECK_FALSE(other.acquire("b", {.ttl = 20s}).has_value());
    CHECK(client.release(std::move(*held)).has_value());
    const auto next = other.acquire_all({"c", "a"}, {.ttl = 20s});
    CHECK(next.has_value());
}

TEST_CASE("a coroutine acquires several at once", "[several]") {
    cluster nodes(3);
    driver d(nodes.options());
    bool done = false;
    asio::co_spawn(
        d.context(),
        [&]() -> asio::awaitable<void> {
            lease held = co_await d.client().async_acquire_all(resource_list("a", "b"),
                                                               asio::use_awaitable);
            CHECK(held);
            co_await d.client().async_release(std::move(held), asio::use_awaitable);
            std::vector<std::string> names;
            for (const auto* one : {"b", "a"}) names.emplace_back(one);
            acquire_options how{.ttl = 5s};
            lease again = co_await d.client().async_acquire_all(names, how, asio::use_awaitable);
            CHECK(again);
            done = true;
        },
        asio::detached);
    CHECK(d.until([&] { return done; }));
}

TEST_CASE("with a node down, or empty again, several are held all the same", "[several]") {
    cluster nodes(3);
    driver d(nodes.options());
    driver::granted got;
    d.client().async_acquire_all(resource_list("a", "b"), {.ttl = 8s}, got.handler());
    REQUIRE(d.until([&] { return got.done(); }));
    REQUIRE(got.error() == error_code{});
    nodes.kill(2);
    nodes.ask(1).command({"DEL", "b"});
    CHECK(d.until([&] { return nodes.ask(1).exists("b"); }));  // by a renewal
    CHECK(got.value());
    nodes.ask(0).command({"SET", "a", "foreign"});
    nodes.ask(1).command({"SET", "a", "foreign"});
    CHECK(d.until([&] { return !got.value(); }));
    got.value() = {};
    CHECK(d.until([&] { return !nodes.ask(0).exists("b") && !nodes.ask(1).exists("b"); }));
    CHECK(nodes.ask(0).get("a") == "foreign");
}

namespace {

struct many_programs {
    int programs;
    std::size_t names;
    std::size_t least;  // that each wants at once
    std::size_t most;
    std::chrono::seconds time;
};

// Each program has a client of its own, and checks by itself that it is inside alone.
void want_several_at_once(const many_programs& how) {
    cluster nodes(3);
    std::vector<std::atomic<int>> inside(how.names);
    std::atomic<int> overlaps{0};
    std::atomic<int> refusals{0};
    std::string first_refusal;
    std::atomic<bool> is_over{false};
    std::vector<int> turns(static_cast<std::size_t>(how.programs));
    std::vector<std::thread> all;
    for (int p = 0; p < how.programs; ++p) {
        all.emplace_back([&, p] {
            std::mt19937 random(static_cast<unsigned>(p));
            blocking_client client(nodes.options());
            while (!is_over) {
                std::vector<std::size_t> order(inside.size());
                std::iota(order.begin(), order.end(), 0);
                std::shuffle(order.begin(), order.end(), random);
                const std::size_t count = how.least + random() % (how.most - how.least + 1);
                std::vector<std::string> wanted;
                for (std::size_t i = 0; i < count; ++i) {
                    wanted.push_back("r" + std::to_string(order[i]));
                }
                auto got = client.acquire_all(wanted, {.ttl = 20s, .wait = 60s});
                if (!got) {
                    if (++refusals == 1) first_refusal = got.error().message();
                    continue;
                }
                for (std::size_t i = 0; i < count; ++i) {
                    if (++inside[order[i]] > 1) ++overlaps;
                }
                std::this_thread::sleep_for(1ms);
                for (std::size_t i = 0; i < count; ++i) --inside[order[i]];
                if (!client.release(std::move(*got))) ++refusals;
                ++turns[static_cast<std::size_t>(p)];
            }
        });
    }
    std::this_thread::sleep_for(how.time);
    is_over = true;
    for (auto& one : all) one.join();
    CHECK(overlaps == 0);
    INFO(first_refusal);
    CHECK(refusals == 0);
    for (const int n : turns) CHECK(n > 0);
    for (std::size_t i = 0; i < how.names; ++i) {
        const std::string key = "r" + std::to_string(i);
        CHECK_FALSE(is_anywhere(nodes, key));
        CHECK_FALSE(is_anywhere(nodes, "{" + key + "}:queue"));
    }
}

}  // namespace

TEST_CASE("programs that want the same resources in any order never block each other",
          "[several]") {
    want_several_at_once({.programs = 16, .names = 12, .least = 1, .most = 5, .time = 4s});
}

TEST_CASE("fifty programs that want five of twenty resources never block each other", "[.][soak]") {
    want_several_at_once({.programs = 50, .names = 20, .least = 5, .most = 5, .time = 60s});
}
