// What an election promises, on real servers: how long a change of leaders takes, and that no two
// lead; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/hostile_proxy.hpp"
#include "support/waiting.hpp"
#include "tool_call.hpp"

#include <redlock/async_election.hpp>
#include <redlock/blocking_client.hpp>
#include <redlock/election.hpp>

#include <boost/asio/error.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

client_options options_of(cluster& nodes, const std::string& name) {
    auto options = nodes.options();
    options.client_name = name;
    return options;
}

// A campaign in a thread of its own, and when it was won.
class candidate {
public:
    explicit candidate(election& of)
        : thread_([this, &of](const std::stop_token& stop) {
              const bool is_elected = of.campaign(stop).has_value();
              when_.set_value(is_elected ? clock::now() : clock::time_point::max());
          }) {}

    clock::time_point elected_at() { return when_.get_future().get(); }

private:
    std::promise<clock::time_point> when_;
    std::jthread thread_;
};

// A process that leads until it is killed, and says so on the pipe.
pid_t start_leader(const client_options& options, acquire_options how, int pipe) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    blocking_client client(options);
    election mine(client, "r", how);
    if (!mine.campaign()) ::_exit(1);
    const std::uint64_t fence = mine.fence();
    if (::write(pipe, &fence, sizeof fence) != sizeof fence) ::_exit(1);
    while (true) ::pause();
}

}  // namespace

TEST_CASE("a resignation hands over to the campaigner that waits, without a pause",
          "[election]") {
    founded_cluster nodes(3);
    blocking_client here(options_of(nodes, "here"));
    blocking_client elsewhere(options_of(nodes, "elsewhere"));
    election mine(here, "r");
    election other(elsewhere, "r");
    // A waiter that no release wakes looks again after 750 ms.
    CHECK(once_in_three([&] {
        REQUIRE(mine.campaign().has_value());
        const auto fence = mine.fence();
        candidate next(other);
        REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
        std::this_thread::sleep_for(50ms);  // a waiter that has just looked
        const auto resigned = clock::now();
        REQUIRE(mine.resign().has_value());
        const auto took = next.elected_at() - resigned;
        print_ms("from the resignation to the next leader", took);
        CHECK(other.fence() > fence);
        REQUIRE(other.resign().has_value());
        return took < 300ms;
    }));
}

TEST_CASE("a killed leader costs its ttl at most", "[election]") {
    founded_cluster nodes(3);
    CHECK(once_in_three([&] {
        int pipe[2];
        REQUIRE(::pipe(pipe) == 0);
        const pid_t leader = start_leader(options_of(nodes, "killed"), {.ttl = 2s}, pipe[1]);
        REQUIRE(leader > 0);
        ::close(pipe[1]);
        std::uint64_t fence = 0;
        REQUIRE(::read(pipe[0], &fence, sizeof fence) == sizeof fence);
        ::close(pipe[0]);
        blocking_client client(options_of(nodes, "next"));
        election mine(client, "r", {.ttl = 2s});
        candidate next(mine);
        REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
        const auto killed = clock::now();
        ::kill(leader, SIGKILL);
        ::waitpid(leader, nullptr, 0);
        const auto took = next.elected_at() - killed;
        print_ms("from the kill to the next leader, with a ttl of 2 s", took);
        CHECK(mine.fence() > fence);
        REQUIRE(mine.resign().has_value());
        return took < 2'200ms;
    }));
}

TEST_CASE("a leader that loses its quorum stops before another one is elected", "[election]") {
    founded_cluster nodes(3);
    std::vector<std::unique_ptr<hostile_proxy>> proxies;
    auto through = options_of(nodes, "cut off");
    through.node_timeout = 500ms;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        proxies.push_back(std::make_unique<hostile_proxy>(nodes[i].port()));
        through.nodes[i] = proxies[i]->node(through.nodes[i].name);
    }
    blocking_client here(through);
    blocking_client elsewhere(options_of(nodes, "elsewhere"));
    election mine(here, "r", {.ttl = 3s});
    election other(elsewhere, "r", {.ttl = 3s});
    REQUIRE(mine.campaign().has_value());
    const auto fence = mine.fence();
    std::promise<clock::time_point> lost;
    const std::stop_callback on_loss(mine.lost_token(), [&] { lost.set_value(clock::now()); });
    candidate next(other);
    REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    proxies[0]->set({.what = harm::kind::stall});
    proxies[1]->set({.what = harm::kind::stall});
    const auto elected_at = next.elected_at();
    const auto lost_at = lost.get_future().get();
    print_ms("from the loss to the next leader", elected_at - lost_at);
    CHECK(lost_at < elected_at);
    CHECK_FALSE(mine.held());
    CHECK(other.fence() > fence);
    CHECK(mine.resign().error() == errc::lost);
    CHECK(other.held());
}

TEST_CASE("an election excludes redlock run of the same name, and waits for it",
          "[election][tool]") {
    founded_cluster nodes(3);
    blocking_client client(options_of(nodes, "leader"));
    election mine(client, "r");
    REQUIRE(mine.campaign().has_value());
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    tool_process refused(call_on(nodes, {"run", "r", "--", "true"}));
    CHECK(refused.wait() == 120);
    tool_process queued(call_on(nodes, {"run", "--wait", "1m", "r", "--", "sleep", "60"}));
    REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    REQUIRE(mine.resign().has_value());
    std::optional<leader_info> leader;
    REQUIRE(eventually([&] { return (leader = mine.leader().value()).has_value(); }));
    CHECK(leader->name.ends_with(":" + std::to_string(queued.pid())));
    candidate next(mine);
    REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    queued.send(SIGTERM);
    CHECK(next.elected_at() < clock::time_point::max());
    CHECK(mine.fence() > leader->fence);
}

TEST_CASE("observers of other programs learn of each leader", "[election]") {
    founded_cluster nodes(3);
    blocking_client here(options_of(nodes, "a"));
    blocking_client elsewhere(options_of(nodes, "b"));
    election mine(here, "r");
    election view(elsewhere, "r");
    REQUIRE(mine.campaign().has_value());
    std::optional<leader_info> known = view.observe(std::nullopt).value();
    REQUIRE(known.has_value());
    CHECK(known->name == "a");
    CHECK(known->fence == mine.fence());
    CHECK(known->since < patience);
    auto vacancy = std::async(std::launch::async, [&] { return view.observe(known); });
    const auto resigned = clock::now();
    REQUIRE(mine.resign().has_value());
    CHECK_FALSE(vacancy.get().value().has_value());
    print_ms("from the resignation to its observation", clock::now() - resigned);
    REQUIRE(mine.campaign().has_value());
    // One that still knows the first leader misses nothing.
    CHECK(view.observe(known).value()->fence == mine.fence());
    nodes.kill(2);
    CHECK(view.leader().value()->fence == mine.fence());
    nodes.kill(1);
    CHECK(eventually([&] { return view.leader().has_error(); }));
    CHECK(view.leader().error() == errc::no_quorum);
}

TEST_CASE("an asynchronous election leads, is observed, and hands over", "[election]") {
    founded_cluster nodes(3);
    driver a(options_of(nodes, "a"));
    driver b(options_of(nodes, "b"));
    async_election mine(a.client(), "r");
    async_election other(b.client(), "r");
    outcome<std::optional<leader_info>> seen;
    other.async_observe(std::nullopt, seen.handler());
    outcome<refusal> elected;
    mine.async_campaign(elected.handler());
    CHECK_FALSE(a.finish(elected).error());
    REQUIRE_FALSE(b.finish(seen).error());
    REQUIRE(seen.value().has_value());
    CHECK(seen.value()->name == "a");
    outcome<refusal> next;
    other.async_campaign(next.handler());
    REQUIRE(b.until([&] { return all_know_of(nodes, 1); }));
    outcome<> resigned;
    mine.async_resign(resigned.handler());
    CHECK_FALSE(a.finish(resigned).error());
    CHECK_FALSE(b.finish(next).error());
    CHECK(other.fence() > seen.value()->fence);
    outcome<std::optional<leader_info>> found_now;
    mine.async_leader(found_now.handler());
    REQUIRE(a.finish(found_now).value().has_value());
    CHECK(found_now.value()->name == "b");
}
