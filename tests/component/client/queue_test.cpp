// A place in the queues of masters in memory that belongs to an idle waiter; knows no engine.
// SPDX-License-Identifier: MIT
#include "component/support/memory_cluster.hpp"
#include "support/catch.hpp"

#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// A waiter that stands before all that come later, listens, and sends nothing until its
// entries run out.
class silent_waiter {
public:
    silent_waiter(memory_cluster& nodes, std::chrono::milliseconds life) {
        const std::string id = "AAAAAAAAAAAAAAAAAAAAAA";
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto& ear = ears_.emplace_back(nodes.ask(i));
            ear.command({"SUBSCRIBE", "redlock:wake:" + id});
            const auto time = nodes.ask(i).command({"TIME"});
            const long long now_ms =
                std::stoll(time.items[0].text) * 1'000 + std::stoll(time.items[1].text) / 1'000;
            nodes.ask(i).command({"ZADD", "{r}:queue", "1",
                                  id + ":1:" + std::to_string(now_ms + life.count())});
        }
    }

private:
    std::vector<memory_cluster::asking> ears_;
};

std::size_t votes_that_are(std::span<const node_vote> votes, vote kind) {
    return static_cast<std::size_t>(std::count_if(
        votes.begin(), votes.end(), [kind](const node_vote& v) { return v.answer == kind; }));
}

}  // namespace

TEST_CASE("nobody jumps the queue of a key that is free for a moment", "[queue]") {
    memory_cluster nodes(5);
    memory_driver d(nodes.options());
    REQUIRE(d.release(std::move(d.acquire("r").value())) == error_code{});
    const auto planted = clock::now();
    constexpr auto life = 6s;
    const silent_waiter before(nodes, life);
    auto once = d.acquire("r");
    CHECK(once.error() == errc::contended);
    CHECK(votes_that_are(once.value().votes(), vote::queued) >= 3);
    auto soon = d.acquire("r", {.wait = 300ms});
    CHECK(soon.error() == errc::contended);
    CHECK(votes_that_are(soon.value().votes(), vote::queued) >= 3);
    CHECK(nodes.holding("r") == 0);
    auto later = d.acquire("r", {.wait = 30s});
    REQUIRE(later.value());
    CHECK(later.when() - planted >= life - 2ms);  // Redis reckons in whole ms
    CHECK(later.when() - planted <= life + 1s);
    CHECK(d.release(std::move(later.value())) == error_code{});
    CHECK(d.acquire("r").value());
}
