// Many clients and processes that wait for one lock on real servers, for a while; no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/contender.hpp"
#include "support/history.hpp"
#include "support/waiting.hpp"

#include <redlock/error.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

using turns = std::vector<contender_turn>;

// All that processes did.
turns run_contenders(cluster& nodes, const redis_server& counter,
                     const std::function<contender_plan(int)>& plan, int processes) {
    scratch folder;
    std::vector<std::unique_ptr<tool_process>> running;
    for (int i = 0; i < processes; ++i) {
        running.push_back(start_contender(nodes, counter, plan(i), folder / std::to_string(i)));
    }
    turns all;
    for (int i = 0; i < processes; ++i) {
        CHECK(running[static_cast<std::size_t>(i)]->wait() == 0);
        for (auto& t : read_turns(folder / std::to_string(i), i)) all.push_back(std::move(t));
    }
    return all;
}

void check_exclusion(const turns& all, const redis_server& counter) {
    std::vector<judge::span> spans;
    for (const auto& t : all) spans.push_back(t.held);
    CHECK(find_violations(spans) == std::vector<std::string>());
    CHECK(direct(counter.port()).get("counter") == std::to_string(all.size()));
}

// Turns for each, by some name for them; printed with the fairest and the unfairest share.
template <class Name>
std::map<int, int> shares(const turns& all, const char* of_what, Name name) {
    std::map<int, int> found;
    for (const auto& t : all) ++found[name(t)];
    double sum = 0;
    double squares = 0;
    int least = static_cast<int>(all.size());
    int most = 0;
    for (const auto& [who, n] : found) {
        sum += n;
        squares += static_cast<double>(n) * n;
        least = std::min(least, n);
        most = std::max(most, n);
    }
    std::printf("    %s: %zu, turns each %d to %d, Jain's index %.3f\n", of_what, found.size(),
                least, most, sum * sum / (squares * static_cast<double>(found.size())));
    return found;
}

void print_waits(const turns& all, bool fenced, const char* whose) {
    std::vector<clock::duration> waits;
    for (const auto& t : all) {
        if ((t.held.fence > 0) == fenced) waits.push_back(t.held.granted_at - t.held.asked_at);
    }
    if (waits.empty()) return;
    std::sort(waits.begin(), waits.end());
    const auto at = [&](double q) {
        const auto last = static_cast<double>(waits.size() - 1);
        const auto wait = waits[static_cast<std::size_t>(q * last)];
        return std::chrono::duration<double, std::milli>(wait).count();
    };
    std::printf("    %s: %zu turns, waits p50 %.1f ms, p99 %.1f ms, longest %.1f ms\n", whose,
                waits.size(), at(0.5), at(0.99), at(1));
}

// The holder gives it back at the next turn of the loop; every client once.
struct crowd {
    explicit crowd(asio::io_context& c) : context(c) {}
    void join(client& user) {
        user.async_acquire("r", {.ttl = 20s, .wait = 100s}, [&](error_code error, lease got) {
            if (error) return;
            const auto granted_at = clock::now();
            most_inside = std::max(most_inside, ++inside);
            asio::post(context, [&, granted_at, held = std::move(got)]() mutable {
                spans.add(span_until_now(held, granted_at));
                --inside;
                user.async_release(std::move(held), [](error_code) {});
            });
        });
    }
    asio::io_context& context;
    history spans;
    int inside = 0;
    int most_inside = 0;
};

}  // namespace

TEST_CASE("eight processes of eight coroutines lose no increment", "[waiting]") {
    founded_cluster nodes(5);
    const redis_server counter;
    const auto all = run_contenders(
        nodes, counter,
        [](int i) {
            return contender_plan{true, i, 8, 4'000};
        },
        8);
    check_exclusion(all, counter);
    const auto by_process = shares(all, "processes", [](auto& t) { return t.process; });
    const auto by_coroutine =
        shares(all, "coroutines", [](auto& t) { return t.process * 100 + int(t.coroutine); });
    print_waits(all, true, "all");
    CHECK(by_process.size() == 8);
    CHECK(by_coroutine.size() == 64);  // everybody got on
    CHECK(eventually([&] { return all_know_of(nodes, 0) && nodes.keys() == 0; }));
    CHECK(eventually([&] { return all_are_heard_by(nodes, 0); }));
}

TEST_CASE("fenced and plain clients together lose no increment", "[waiting]") {
    founded_cluster nodes(5);
    const redis_server counter;
    const auto all = run_contenders(
        nodes, counter,
        [](int i) {
            return contender_plan{i % 2 == 0, i, 4, 3'000};
        },
        4);
    check_exclusion(all, counter);
    CHECK(shares(all, "processes", [](auto& t) { return t.process; }).size() == 4);
    print_waits(all, true, "fenced");
    print_waits(all, false, "plain");
    CHECK(eventually([&] { return all_know_of(nodes, 0) && nodes.keys() == 0; }));
}

TEST_CASE("a thousand contenders all get their turn, one at a time", "[waiting]") {
    founded_cluster nodes(5);
    const auto clients_wanted = static_cast<std::size_t>(GENERATE(1, 10));
    CAPTURE(clients_wanted);
    asio::io_context context;
    std::vector<std::unique_ptr<client>> clients;
    for (std::size_t i = 0; i < clients_wanted; ++i) {
        clients.push_back(std::make_unique<client>(context.get_executor(), nodes.options()));
    }
    constexpr std::size_t contenders = 1'000;
    crowd all(context);
    const auto begun = clock::now();
    for (std::size_t i = 0; i < contenders; ++i) all.join(*clients[i % clients_wanted]);
    CHECK(run_until(
        context, [&] { return all.spans.size() == contenders && all.inside == 0; }, 100s));
    print_ms("a thousand of " + std::to_string(clients_wanted) + " client(s)",
             clock::now() - begun);
    CHECK(all.spans.size() == contenders);
    CHECK(all.most_inside == 1);
    CHECK(all.spans.violations() == std::vector<std::string>());
    // Not only when it runs out.
    CHECK(run_until(
        context,
        [&] {
            run_for(context, 50ms);  // a look takes its time, in which no handler runs
            return all_know_of(nodes, 0) && nodes.keys() == 0;
        },
        1s));
    for (auto& user : clients) user->close();
    context.run_for(10s);
    CHECK(eventually([&] { return all_are_heard_by(nodes, 0); }));
}

TEST_CASE("a lock goes round while the subscriptions are cut again and again",
          "[waiting][threads]") {
    founded_cluster nodes(5);
    constexpr int clients = 4;
    constexpr int each = 50;
    history spans;
    std::atomic<int> failures = 0;
    std::atomic<int> running = clients;
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i) {
        threads.emplace_back([&] {
            blocking_client user(nodes.options());
            for (int n = 0; n < each; ++n) {
                auto got = user.acquire("r", {.ttl = 20s, .wait = 60s});
                if (!got) {
                    ++failures;
                    continue;
                }
                const auto granted_at = clock::now();
                std::this_thread::sleep_for(1ms);  // so that the others come to wait
                spans.add(span_until_now(*got, granted_at));
                if (!user.release(std::move(*got))) ++failures;
            }
            --running;
        });
    }
    const auto seed = Catch::rngSeed();
    CAPTURE(seed);
    std::mt19937 random(seed);
    long long cuts = 0;
    std::vector<direct> ask;
    for (std::size_t i = 0; i < 5; ++i) ask.push_back(nodes.ask(i));
    // With a limit: a waiter that is deaf to a quorum stands behind its own entry (see
    // waiting_test), and as long as this goes on it may stay there.
    const auto limit = clock::now() + 10s;
    while (running > 0 && clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        cuts += ask[random() % 5].command({"CLIENT", "KILL", "TYPE", "pubsub"}).number;
    }
    threads.clear();
    CHECK(failures == 0);
    CHECK(spans.violations() == std::vector<std::string>());
    const auto longest = spans.longest_gap();
    std::printf("    %lld subscriptions cut\n", cuts);
    print_ms("the longest of 200 hand-overs", longest);
    CHECK(cuts > 0);
    CHECK(longest < 6s);
}
