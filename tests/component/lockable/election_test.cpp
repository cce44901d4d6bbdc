// The election on masters in memory: terms, campaigns that end, losses, the loop; knows no
// internals.
// SPDX-License-Identifier: MIT
#include "component/support/passing_time.hpp"
#include "support/catch.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/election.hpp>

#include <boost/asio/error.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace redlock::testing;
using redlock::blocking_client;
using redlock::election;
using redlock::errc;

namespace {

const auto aborted = redlock::error_code(boost::asio::error::operation_aborted);

redlock::client_options named(const masters& nodes, const char* name) {
    auto options = nodes.options();
    options.client_name = name;
    return options;
}

template <class F>
auto begin_elsewhere(F&& f) {
    return std::async(std::launch::async, std::forward<F>(f));
}

template <class Future>
bool is_ready(const Future& of) {
    return of.wait_for(0s) == std::future_status::ready;
}

}  // namespace

TEST_CASE("a leader has a fence and a token, is known to others, and resigns", "[election]") {
    masters nodes;
    blocking_client client(named(nodes, "a"));
    blocking_client other(named(nodes, "b"));
    election mine(client, "r");
    election view(other, "r");
    CHECK_FALSE(mine.held());
    CHECK(mine.fence() == 0);
    CHECK_FALSE(mine.lost_token().stop_possible());
    CHECK_FALSE(view.leader().value());
    REQUIRE(mine.campaign().has_value());
    const auto fence = mine.fence();
    CHECK(mine.held());
    CHECK(fence > 0);
    CHECK(mine.lost_token().stop_possible());
    nodes.advance(0s);
    const auto seen = view.leader().value();
    REQUIRE(seen);
    CHECK(seen->name == "a");
    CHECK(seen->fence == fence);
    REQUIRE(mine.resign().has_value());
    CHECK_FALSE(mine.held());
    CHECK(mine.fence() == 0);
    CHECK_FALSE(mine.lost_token().stop_possible());
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
    CHECK_FALSE(view.leader().value());
    CHECK(mine.resign().error() == errc::not_held);
    REQUIRE(view.campaign().has_value());
    CHECK(view.fence() > fence);
}

TEST_CASE_METHOD(two_clients,
                 "a campaign waits until the leader resigns, and the next one takes over",
                 "[election]") {
    election first(client, "r");
    election second(other_client, "r");
    REQUIRE(first.campaign().has_value());
    const auto fence = first.fence();
    auto next = begin_elsewhere([&] { return second.campaign().has_value(); });
    REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
    CHECK_FALSE(second.held());
    REQUIRE(first.resign().has_value());
    REQUIRE(pass_until(nodes, [&] { return is_ready(next); }));
    CHECK(next.get());
    CHECK(second.fence() > fence);
}

TEST_CASE_METHOD(one_client, "the destructor of a leader resigns", "[election]") {
    std::optional<election> mine(std::in_place, client, "r");
    REQUIRE(mine->campaign().has_value());
    mine.reset();
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(two_clients, "an election campaigns once at a time", "[election]") {
    election leader(client, "r");
    election mine(other_client, "r");
    REQUIRE(leader.campaign().has_value());
    CHECK((leader.campaign().error() == errc::would_deadlock));
    CHECK(leader.held());
    std::stop_source stop;
    auto waiting = begin_elsewhere([&] { return mine.campaign(stop.get_token()); });
    REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
    CHECK((mine.campaign().error() == errc::would_deadlock));
    CHECK((mine.lead([](auto&, auto) {}).error() == errc::would_deadlock));
    CHECK_FALSE(is_ready(waiting));
    stop.request_stop();
    REQUIRE(pass_until(nodes, [&] { return is_ready(waiting); }));
    CHECK((waiting.get().error() == aborted));
}

TEST_CASE_METHOD(two_clients, "a stop or a resignation ends a campaign, which leaves the queue",
                 "[election]") {
    election leader(client, "r");
    election mine(other_client, "r");
    REQUIRE(leader.campaign().has_value());
    std::stop_source stop;
    auto waiting = begin_elsewhere([&] { return mine.campaign(stop.get_token()); });
    REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
    SECTION("stop") { stop.request_stop(); }
    SECTION("resign") { CHECK(mine.resign().has_value()); }
    REQUIRE(pass_until(nodes, [&] { return is_ready(waiting) && nodes.waiting("r") == 0; }));
    CHECK((waiting.get().error() == aborted));
    CHECK_FALSE(mine.held());
    CHECK(mine.resign().error() == errc::not_held);
    stop.request_stop();
    CHECK((mine.campaign(stop.get_token()).error() == aborted));
    REQUIRE(leader.resign().has_value());
    auto next = begin_elsewhere([&] { return mine.campaign(); });
    // A node may have to release still: then it rests, and tries again.
    REQUIRE(pass_until(nodes, [&] { return is_ready(next); }));
    CHECK(next.get().has_value());
}

TEST_CASE_METHOD(two_clients, "a campaign ends when its own limit is over, and says why",
                 "[election]") {
    election leader(client, "r");
    election mine(other_client, "r", {.wait = 300ms});
    REQUIRE(leader.campaign().has_value());
    auto waiting = begin_elsewhere([&] { return mine.campaign(); });
    REQUIRE(pass_until(nodes, [&] { return is_ready(waiting); }));
    const auto refused = waiting.get();
    CHECK((refused.error() == errc::contended));
    CHECK(refused.error().votes.size() == 3);
    election wrong(other_client, "r", {.ttl = 24h});
    CHECK((wrong.campaign().error() == errc::invalid_argument));
    CHECK_FALSE(wrong.campaign().error().detail.empty());
}

TEST_CASE_METHOD(one_client,
                 "a lost term is reported, keeps its fence, and makes room for a campaign",
                 "[election]") {
    election mine(client, "r");
    REQUIRE(mine.campaign().has_value());
    const auto fence = mine.fence();
    const auto lost = mine.lost_token();
    REQUIRE(lose(nodes, "r", lost));
    CHECK_FALSE(mine.held());
    CHECK(mine.fence() == fence);
    CHECK(mine.lost_token().stop_requested());
    SECTION("resigns") { CHECK(mine.resign().error() == errc::lost); }
    SECTION("campaigns") {
        REQUIRE(mine.campaign().has_value());
        CHECK(mine.held());
        CHECK(mine.fence() > fence);
        CHECK_FALSE(mine.lost_token().stop_requested());
    }
}

TEST_CASE_METHOD(one_client, "a leader that reaches no quorum stops before its keys are gone",
                 "[election]") {
    election mine(client, "r", {.ttl = 2s});
    REQUIRE(mine.campaign().has_value());
    nodes.advance(0s);
    const auto lost = mine.lost_token();
    std::atomic<std::size_t> keys_at_stop = 0;
    const std::stop_callback on_loss(lost, [&] { keys_at_stop = nodes.holding("r"); });
    nodes.hang(0);
    nodes.hang(1);
    REQUIRE(pass_until(nodes, [&] { return lost.stop_requested(); }));
    CHECK(pass_until(nodes, [&] { return keys_at_stop >= 2; }));
    CHECK_FALSE(mine.held());
}

TEST_CASE("observers see each change, also one between two calls", "[election]") {
    masters nodes;
    blocking_client a(named(nodes, "a"));
    blocking_client b(named(nodes, "b"));
    election mine(a, "r");
    election view(b, "r");
    REQUIRE(mine.campaign().has_value());
    nodes.advance(0s);
    const auto first = view.observe(std::nullopt).value();
    REQUIRE(first);
    CHECK(first->name == "a");
    CHECK(first->fence == mine.fence());
    auto next = begin_elsewhere([&] { return view.observe(first); });
    nodes.advance(600ms);
    CHECK_FALSE(is_ready(next));  // since only `since` has changed
    REQUIRE(mine.resign().has_value());
    REQUIRE(pass_until(nodes, [&] { return is_ready(next); }));
    CHECK_FALSE(next.get().value());
    REQUIRE(mine.campaign().has_value());
    nodes.advance(0s);
    const auto again = view.observe(first).value();  // as if the vacancy had not been seen
    REQUIRE(again);
    CHECK(again->fence > first->fence);
    std::stop_source stop;
    auto waiting = begin_elsewhere([&] { return view.observe(again, stop.get_token()); });
    stop.request_stop();
    CHECK(waiting.get().error() == aborted);
    CHECK(view.observe(std::nullopt, stop.get_token()).error() == aborted);
}

TEST_CASE_METHOD(one_client, "without a quorum of answers nothing counts as a change",
                 "[election]") {
    election mine(client, "r");
    REQUIRE(mine.campaign().has_value());
    nodes.advance(0s);
    const auto last = mine.leader().value();
    nodes.shut_down(0);
    nodes.shut_down(1);
    REQUIRE(pass_until(nodes, [&] {
        auto now = begin_elsewhere([&] { return mine.leader(); });
        return pass_until(nodes, [&] { return is_ready(now); }) && now.get().has_error();
    }));
    std::stop_source stop;
    auto waiting = begin_elsewhere([&] { return mine.observe(last, stop.get_token()); });
    const passing_time running(nodes);
    CHECK(waiting.wait_for(700ms) == std::future_status::timeout);
    stop.request_stop();
    CHECK(waiting.get().error() == aborted);
}

TEST_CASE_METHOD(one_client, "lead works under the lease, resigns, pauses, and begins again",
                 "[election]") {
    election mine(client, "r");
    std::stop_source stop;
    std::vector<std::uint64_t> fences;
    std::vector<std::chrono::steady_clock::time_point> times;
    const auto done = mine.lead(
        [&](const redlock::lease& office, const std::stop_token& ends) {
            CHECK(office);
            CHECK(mine.held());
            CHECK(mine.fence() == office.fence());
            CHECK_FALSE(ends.stop_requested());
            CHECK((mine.campaign().error() == errc::would_deadlock));
            fences.push_back(office.fence());
            times.push_back(std::chrono::steady_clock::now());
            if (fences.size() == 3) stop.request_stop();
            CHECK(ends.stop_requested() == (fences.size() == 3));
        },
        {}, stop.get_token());
    CHECK(done.has_value());
    CHECK_FALSE(mine.held());
    REQUIRE(fences.size() == 3);
    CHECK(fences[0] < fences[1]);
    CHECK(fences[1] < fences[2]);
    CHECK(times[1] - times[0] >= 50ms);   // the work returned at once
    CHECK(times[2] - times[1] >= 100ms);
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(one_client, "an exception of the work leaves lead after the resignation",
                 "[election]") {
    election mine(client, "r");
    CHECK_THROWS_AS(mine.lead([](auto&, auto) { throw std::runtime_error("no disk"); }),
                    std::runtime_error);
    CHECK_FALSE(mine.held());
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
    CHECK(mine.campaign().has_value());
}

TEST_CASE_METHOD(one_client, "lead reports a loss once the work has ended, and campaigns again",
                 "[election]") {
    election mine(client, "r");
    std::stop_source stop;
    std::vector<std::uint64_t> worked;
    std::vector<std::uint64_t> lost;
    const auto done = mine.lead(
        [&](const redlock::lease& office, const std::stop_token& ends) {
            CHECK(lost.size() == worked.size());
            worked.push_back(office.fence());
            if (worked.size() == 2) return stop.request_stop(), void();
            CHECK(lose(nodes, "r", office.lost_token()));
            CHECK(ends.stop_requested());
            CHECK(lost.empty());
        },
        [&](std::uint64_t fence) { lost.push_back(fence); }, stop.get_token());
    CHECK(done.has_value());
    REQUIRE(worked.size() == 2);
    CHECK(lost == std::vector{worked[0]});
}

TEST_CASE_METHOD(one_client, "a resignation ends the work of lead, which campaigns again",
                 "[election]") {
    election mine(client, "r");
    std::stop_source stop;
    int terms = 0;
    const auto done = mine.lead(
        [&](const redlock::lease& office, const std::stop_token& ends) {
            if (++terms == 2) return stop.request_stop(), void();
            CHECK(elsewhere([&] { return mine.resign().has_value(); }));
            CHECK(ends.stop_requested());
            CHECK(office);  // until the work returns
        },
        {}, stop.get_token());
    CHECK(done.has_value());
    CHECK(terms == 2);
}

TEST_CASE_METHOD(one_client, "lead ends with what no further campaign would change", "[election]") {
    election wrong(client, "r", {.ttl = 24h});
    CHECK((wrong.lead([](auto&, auto) { FAIL("elected"); }).error() == errc::invalid_argument));
    election mine(client, "r");
    int lost = 0;
    const auto done = mine.lead([&](auto&, auto) { CHECK(client.close().has_value()); },
                                [&](auto) { ++lost; });
    CHECK((done.error() == errc::client_closed));
    CHECK(lost == 1);
}

TEST_CASE("no two lead at once, while each campaigns and resigns", "[election][threads]") {
    masters nodes;
    std::array<std::unique_ptr<blocking_client>, 2> clients;
    for (auto& c : clients) c = std::make_unique<blocking_client>(nodes.options());
    std::array<std::unique_ptr<election>, 4> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = std::make_unique<election>(*clients[i % 2], "r");
    }
    std::atomic<int> inside = 0;
    std::atomic<int> overlaps = 0;
    std::atomic<int> terms = 0;
    std::stop_source stop;
    {
        const passing_time running(nodes);
        std::vector<std::jthread> threads;
        for (auto& one : all) {
            threads.emplace_back([&] {
                for (int i = 0; i < 20; ++i) {
                    if (!one->campaign(stop.get_token())) continue;
                    if (inside.fetch_add(1) != 0) ++overlaps;
                    ++terms;
                    inside.fetch_sub(1);
                    static_cast<void>(one->resign());
                }
            });
        }
        threads.emplace_back([&] {
            for (int i = 0; i < 40; ++i) {
                rest();
                static_cast<void>(all[0]->held());
                static_cast<void>(all[1]->fence());
                static_cast<void>(all[2]->lost_token());
            }
        });
    }
    CHECK(overlaps == 0);
    CHECK(terms == 80);
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}
