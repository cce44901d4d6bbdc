// At most k at once, by several clients on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

acquire_options one_of(std::uint16_t slots, std::chrono::milliseconds wait = 0ms) {
    return {.ttl = 20s, .wait = wait, .slots = slots};
}

bool has_slots(cluster& nodes, int slots) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (int slot = 0; slot < slots; ++slot) {
            if (nodes.ask(i).exists("r#" + std::to_string(slot))) return true;
        }
    }
    return false;
}

}  // namespace

TEST_CASE("as many hold a resource as it has slots, and nobody more", "[slots]") {
    cluster nodes(3);
    driver a(nodes.options());
    driver b(nodes.options());
    std::vector<lease> held;
    std::set<std::uint16_t> slots;
    for (int i = 0; i < 5; ++i) {
        auto got = (i % 2 == 0 ? a : b).acquire("r", one_of(5));
        REQUIRE(got.error() == error_code{});
        slots.insert(got.value().slot());
        held.push_back(std::move(got.value()));
    }
    CHECK(slots == std::set<std::uint16_t>{0, 1, 2, 3, 4});
    for (driver* d : {&a, &b}) CHECK(d->acquire("r", one_of(5)).error() == errc::contended);
    const auto free = held[3].slot();
    CHECK(b.release(std::move(held[3])) == error_code{});
    auto again = a.acquire("r", one_of(5));
    REQUIRE(again.error() == error_code{});
    CHECK(again.value().slot() == free);
    held[3] = std::move(again.value());
    // The resource itself is another lock.
    auto whole = a.acquire("r", {.ttl = 20s});
    CHECK(whole.error() == error_code{});
    whole.value() = {};
    held.clear();
    CHECK(a.until([&] { return !has_slots(nodes, 5); }));
    CHECK(b.until([&] { return !has_slots(nodes, 5); }));
}

TEST_CASE("with a node down all slots are held, and by nobody twice", "[slots]") {
    cluster nodes(3);
    driver d(nodes.options());
    nodes.kill(2);
    std::vector<lease> held;
    for (int i = 0; i < 4; ++i) {
        auto got = d.acquire("r", one_of(4));
        REQUIRE(got.error() == error_code{});
        held.push_back(std::move(got.value()));
    }
    CHECK(d.acquire("r", one_of(4)).error() == errc::contended);
}

TEST_CASE("where programs name different numbers of slots the smallest counts", "[slots]") {
    cluster nodes(3);
    driver few(nodes.options());
    driver many(nodes.options());
    auto first = few.acquire("r", one_of(2));
    REQUIRE(first.error() == error_code{});
    auto second = many.acquire("r", one_of(50));
    REQUIRE(second.error() == error_code{});
    CHECK(second.value().slot() < 2);
    auto third = many.acquire("r", one_of(50));
    REQUIRE(third.error() == errc::contended);
    // It is told so.
    const auto votes = third.value().votes();
    CHECK(std::any_of(votes.begin(), votes.end(), [](const node_vote& v) {
        return v.detail.find("counts 2 slots") != std::string::npos;
    }));
}

TEST_CASE("slots that can't be are refused at once", "[slots]") {
    cluster nodes(3);
    driver d(nodes.options());
    CHECK(d.acquire("r", one_of(1'001)).error() == errc::invalid_argument);
    CHECK(d.acquire("r", {.mode = lock_mode::shared, .slots = 2}).error() ==
          errc::invalid_argument);
    auto plain = nodes.options();
    plain.fencing = false;
    driver p(plain);
    CHECK(p.acquire("r", one_of(2)).error() == errc::invalid_argument);
}

TEST_CASE("those who wait get the slots in turn, and never more than there are", "[slots]") {
    constexpr int slots = 3;
    constexpr int rounds = 15;
    cluster nodes(3);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> done{0};
    std::vector<std::thread> programs;
    for (int i = 0; i < 4; ++i) {
        programs.emplace_back([&] {
            blocking_client client(nodes.options());
            std::vector<std::thread> workers;
            for (int w = 0; w < 3; ++w) {
                workers.emplace_back([&] {
                    for (int round = 0; round < rounds; ++round) {
                        auto got = client.acquire("r", one_of(slots, 60s));
                        if (!got) continue;
                        const int now = ++inside;
                        int known = most;
                        while (now > known && !most.compare_exchange_weak(known, now)) {
                        }
                        std::this_thread::sleep_for(1ms);
                        --inside;
                        ++done;
                        (void)client.release(std::move(*got));
                    }
                });
            }
            for (auto& w : workers) w.join();
        });
    }
    for (auto& p : programs) p.join();
    CHECK(done == 4 * 3 * rounds);
    CHECK(most <= slots);
    CHECK(most > 1);
}
