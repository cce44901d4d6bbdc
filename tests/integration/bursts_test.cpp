// Programs that try for one lock at the same instant, and do not wait, on real servers; no
// internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/blocking_client.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

struct burst_outcomes {
    int without_winner = 0;
    int with_two = 0;
    std::uint64_t retries = 0;
};

// Each client is a thread. The one that gets the lock keeps it until all others end.
burst_outcomes burst(cluster& nodes, bool fencing, std::size_t clients, int bursts) {
    std::barrier together(static_cast<std::ptrdiff_t>(clients));
    std::atomic<int> winners = 0;
    std::atomic<std::uint64_t> retries = 0;
    burst_outcomes out;
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < clients; ++i) {
        all.emplace_back([&, i] {
            client_options options = nodes.options(fencing);
            // They are one set in any order, and another node is the first for each client.
            std::rotate(options.nodes.begin(),
                        options.nodes.begin() +
                            static_cast<std::ptrdiff_t>(i % options.nodes.size()),
                        options.nodes.end());
            blocking_client client(options);
            (void)client.acquire("connected " + std::to_string(i));
            for (int b = 0; b < bursts; ++b) {
                together.arrive_and_wait();
                auto got = client.acquire("r", {.ttl = 10s, .renew = false});
                if (got) ++winners;
                together.arrive_and_wait();
                if (i == 0) {
                    const int won = winners.exchange(0);
                    out.without_winner += won == 0 ? 1 : 0;
                    out.with_two += won > 1 ? 1 : 0;
                }
                if (got) (void)client.release(std::move(*got));
            }
            retries += client.stats().retries;
        });
    }
    for (std::thread& one : all) one.join();
    out.retries = retries;
    return out;
}

}  // namespace

TEST_CASE("of clients that try at the same instant one gets the lock", "[threads]") {
    constexpr int bursts = 40;
    cluster nodes(GENERATE(3U, 5U));
    found(nodes);
    const bool fencing = GENERATE(true, false);
    const bool is_one_dead = GENERATE(false, true);
    if (is_one_dead) nodes.kill(0);
    const burst_outcomes seen = burst(nodes, fencing, 8, bursts);
    std::printf("    %zu nodes%s, %s: %d of %d bursts without a winner, %llu tries again\n",
                nodes.size(), is_one_dead ? ", one dead" : "", fencing ? "fenced" : "plain",
                seen.without_winner, bursts, static_cast<unsigned long long>(seen.retries));
    CHECK(seen.with_two == 0);
    // Some 37 of 100 were, without another try. Afterwards it is less than five in a thousand.
    CHECK(seen.without_winner <= 2);
}
