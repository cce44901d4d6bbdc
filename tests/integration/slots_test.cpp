// At most k at once, by several clients on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"
#include "tool_process.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// For longer than any test waits for a slot to be given back.
acquire_options one_of(std::uint16_t slots, std::chrono::milliseconds wait = 0ms) {
    return {.ttl = 3 * patience, .wait = wait, .slots = slots};
}

bool has_slots(cluster& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes.ask(i).keys("r#*").empty()) return true;
    }
    return false;
}

// Whether what two clients release now is soon gone from all nodes.
bool gives_all_back(driver& a, driver& b, cluster& nodes) {
    return eventually([&] {
        for (driver* d : {&a, &b}) catch_up(d->context());
        return !has_slots(nodes);
    });
}

// Processes that each take a slot of "r" and have it until a file ends each of them: this very
// program, and in it the test case that no other run selects.
class slot_holders {
public:
    static constexpr const char* variable = "REDLOCK_SLOT_HOLDER";

    slot_holders(cluster& nodes, std::uint16_t slots) : nodes_(nodes), slots_(slots) {}

    void start_one() {
        std::ostringstream terms;
        terms << folder_ / "" << ' ' << running_.size() << ' ' << slots_;
        for (std::size_t i = 0; i < nodes_.size(); ++i) terms << ' ' << nodes_[i].port();
        ::setenv(variable, terms.str().c_str(), 1);
        running_.push_back(std::make_unique<tool_process>(
            tool_process::program{std::filesystem::read_symlink("/proc/self/exe").string()},
            std::vector<std::string>{"[slot_holder]"}));
        ::unsetenv(variable);
    }
    /// In the order in which they came in: which process, and which slot it has.
    std::vector<std::pair<std::size_t, unsigned>> granted() const {
        std::vector<std::pair<std::size_t, unsigned>> all;
        std::ifstream file(folder_ / "granted");
        std::size_t who = 0;
        unsigned slot = 0;
        while (file >> who >> slot) all.emplace_back(who, slot);
        return all;
    }
    /// Its exit status, after it has given its slot back.
    int end(std::size_t who) {
        std::ofstream(folder_ / ("end" + std::to_string(who)));
        return running_.at(who)->wait();
    }

private:
    cluster& nodes_;
    std::uint16_t slots_;
    scratch folder_;
    std::vector<std::unique_ptr<tool_process>> running_;
};

// A stall of more than a second may cost a waiter its place. That all have their turn, and never
// more than there are slots, does not hang on it.
bool processes_get_slots_in_order() {
    constexpr std::size_t slots = 3;
    constexpr std::size_t programs = 9;
    founded_cluster nodes(3);
    slot_holders holders(nodes, slots);
    for (std::size_t i = 0; i < programs; ++i) {
        holders.start_one();
        REQUIRE(eventually([&] {
            return i < slots ? holders.granted().size() == i + 1
                             : all_know_of(nodes, i + 1 - slots);
        }));
    }
    CHECK(holders.granted().size() == slots);
    for (std::size_t i = 0; i < programs; ++i) {
        const std::size_t inside = std::min(i + slots, programs);
        REQUIRE(eventually([&] { return holders.granted().size() == inside; }));
        std::set<unsigned> taken;
        const auto all = holders.granted();
        // Those that came in before have left in the order in which they came in.
        for (std::size_t k = i; k < inside; ++k) taken.insert(all[k].second);
        CHECK(taken.size() == inside - i);
        CHECK(*taken.rbegin() < slots);
        REQUIRE(holders.end(all[i].first) == 0);
    }
    std::vector<std::size_t> order;
    for (const auto& [who, slot] : holders.granted()) order.push_back(who);
    std::vector<std::size_t> expected(programs);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    CHECK(std::is_permutation(order.begin(), order.end(), expected.begin(), expected.end()));
    CHECK(eventually([&] { return all_know_of(nodes, 0) && !has_slots(nodes); }));
    return order == expected;
}

}  // namespace

TEST_CASE("a process that has a slot", "[.][slot_holder]") {
    const char* const given = std::getenv(slot_holders::variable);
    if (given == nullptr) return;
    std::istringstream terms(given);
    std::string folder;
    std::string number;
    std::uint16_t slots = 0;
    terms >> folder >> number >> slots;
    client_options options;
    options.node_timeout = 3s;
    options.connect_timeout = 6s;
    options.cluster = "test";
    for (node_options node; terms >> node.port;) options.nodes.push_back(node);
    blocking_client client(options);
    auto got = client.acquire("r", one_of(slots, 60s));
    REQUIRE(got.has_value());
    {
        std::ofstream file(folder + "granted", std::ios::app);
        file << number + " " + std::to_string(got->slot()) + "\n";
    }
    CHECK(eventually([&] { return std::filesystem::exists(folder + "end" + number); }, 60s));
    CHECK(*got);
    CHECK(client.release(std::move(*got)).has_value());
}

TEST_CASE("processes get slots in the order in which they came, and all slots are had", "[slots]") {
    CHECK(once_in_three(processes_get_slots_in_order));
}

TEST_CASE("a thousand slots are held at once, and no more", "[slots]") {
    cluster nodes(3);
    driver a(nodes.options());
    driver b(nodes.options());
    std::vector<lease> held;
    std::set<unsigned> slots;
    for (unsigned i = 0; i < max_slots; ++i) {
        auto got = (i % 2 == 0 ? a : b).acquire("r", one_of(max_slots));
        INFO(i << '\n' << text_of(got.value()));
        REQUIRE(got.error() == error_code{});
        slots.insert(got.value().slot());
        held.push_back(std::move(got.value()));
    }
    CHECK(slots.size() == max_slots);
    CHECK(*slots.rbegin() == max_slots - 1);
    for (driver* d : {&a, &b}) {
        CHECK(d->acquire("r", one_of(max_slots)).error() == errc::contended);
    }
    // The one that is given back is found among all of them, also by one that waited for it.
    auto waits = b.start_acquire("r", one_of(max_slots, 30s));
    REQUIRE(b.until([&] { return all_know_of(nodes, 1); }));
    const auto free = held[444].slot();
    CHECK(a.release(std::move(held[444])) == error_code{});
    b.finish(waits);
    REQUIRE(waits.error() == error_code{});
    CHECK(waits.value().slot() == free);
    held[444] = std::move(waits.value());
    for (std::size_t i = 0; i < held.size(); ++i) {
        (i % 2 == 0 && i != 444 ? a : b).start_release(std::move(held[i]));
    }
    CHECK(gives_all_back(a, b, nodes));
}

TEST_CASE("as many hold a resource as it has slots, and nobody more", "[slots][servers]") {
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
    CHECK(gives_all_back(a, b, nodes));
}

TEST_CASE("a lease of several slots has them all, until it gives them all back", "[slots][servers]") {
    cluster nodes(3);
    driver a(nodes.options());
    driver b(nodes.options());
    const auto several = [](std::uint16_t permits, std::chrono::milliseconds wait = 0ms) {
        acquire_options how = one_of(5, wait);
        how.permits = permits;
        return how;
    };
    auto two = a.acquire("r", several(2));
    auto other = b.acquire("r", several(2));
    REQUIRE(two.error() == error_code{});
    REQUIRE(other.error() == error_code{});
    std::set<std::uint16_t> slots(two.value().slots().begin(), two.value().slots().end());
    slots.insert(other.value().slots().begin(), other.value().slots().end());
    CHECK(slots.size() == 4);
    CHECK(b.acquire("r", several(2)).error() == errc::contended);
    // Two quorums share a node. On the others one may have come too late.
    CHECK(eventually([&] {
        for (std::size_t i = 0; i < 3; ++i) {
            if (nodes.ask(i).keys("r#?").size() == 4) return true;
        }
        return false;
    }));
    // Another process has the whole lease by its token.
    const std::string token = two.value().token();
    two.value().detach();
    outcome<lease> asked;
    b.client().async_adopt(token, acquire_options{.ttl = 3 * patience}, asked.handler());
    auto adopted = b.finish(std::move(asked));
    REQUIRE(adopted.error() == error_code{});
    CHECK(adopted.value().slots().size() == 2);
    auto waits = a.start_acquire("r", several(3, 60s));
    REQUIRE(a.until([&] { return all_know_of(nodes, 1); }));
    CHECK(b.acquire("r", one_of(5)).error() == errc::contended);  // the free one is waited for
    CHECK(b.release(std::move(adopted.value())) == error_code{});
    a.finish(waits);
    REQUIRE(waits.error() == error_code{});
    CHECK(waits.value().slots().size() == 3);
    waits.value() = {};
    other.value() = {};
    CHECK(gives_all_back(a, b, nodes));
}

TEST_CASE("with a node down all slots are held, and by nobody twice", "[slots]") {
    founded_cluster nodes(3);
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
    // The votes say so.
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

TEST_CASE("waiters of several programs are all granted, never more at once than there are slots",
          "[slots]") {
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
                workers.emplace_back([&, w] {
                    for (int round = 0; round < rounds; ++round) {
                        acquire_options how = one_of(slots, 60s);
                        how.permits = static_cast<std::uint16_t>(1 + (round + w) % slots);
                        auto got = client.acquire("r", how);
                        if (!got) continue;
                        const int now = inside += how.permits;
                        int known = most;
                        while (now > known && !most.compare_exchange_weak(known, now)) {
                        }
                        std::this_thread::sleep_for(1ms);
                        inside -= how.permits;
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
