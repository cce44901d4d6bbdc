// What the tests of waiting share: waiters, what they sent, how long it took; knows no socket.
// SPDX-License-Identifier: MIT
#pragma once

#include "component/support/stranger.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::fakes {

inline constexpr auto latency = 100us;  // one way, as worlds have it
inline constexpr auto trip = 2 * latency;
// From one refresh to the next, at most.
inline constexpr auto refresh = 750ms;

/// Notes when a node got what.
struct log_line {
    time_point when{};
    command what{};
};

inline std::shared_ptr<std::vector<log_line>> log_of(world& w, std::size_t node) {
    auto log = std::make_shared<std::vector<log_line>>();
    w.nodes[node].instead = [&w, log](const command& c) -> std::optional<std::string> {
        log->push_back({w.now, c});
        return std::nullopt;
    };
    return log;
}

inline bool is_call(const command& c, const resp::script& what) {
    return c.size() > 1 && c[0] == "EVALSHA" && c[1] == what.sha1;
}
inline bool is_call(const command& c, ask what) {
    const auto asked = testing::requests_of(c);
    return asked && std::any_of(asked->all.begin(), asked->all.end(),
                                [&](const auto& one) { return one.what == what; });
}

template <class What>
std::size_t calls_in_all(const world& w, const What& what) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) n += calls_of(w, what, i);
    return n;
}

inline std::size_t sent_in_all(const world& w) {
    return calls_in_all(w, ask::acquire) + calls_in_all(w, ask::release) +
           calls_in_all(w, resp::wait());
}

/// Waits for what it does not get, entered on every node.
inline ending_ptr asleep(world& w, const std::string& resource,
                         acquire_options how = {.wait = 30s}) {
    const auto e = w.acquire(resource, how);
    w.run_for(20ms);
    REQUIRE_FALSE(e->is_over());
    for (std::size_t i = 0; i < w.nodes.size(); ++i) {
        REQUIRE(queue_of(w, i, resource).size() == 1);
    }
    return e;
}

/// The only waiter is alive in every queue.
inline void check_place_on_all(world& w, const std::string& resource) {
    for (std::size_t i = 0; i < w.nodes.size(); ++i) {
        const auto entries = queue_of(w, i, resource);
        REQUIRE(entries.size() == 1);
        CHECK(entries[0].until_ms > w.nodes[i].wall.ms(w.now));
    }
}

/// The same numbers for the same seed, below the argument.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U) {}
    std::uint64_t operator()(std::uint64_t n) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return (state_ >> 33U) % n;
    }

private:
    std::uint64_t state_;
};

/// How long it takes from now on.
inline duration time_until_over(world& w, const ending& e) {
    const auto before = w.now;
    REQUIRE(w.run_until_over(e));
    return w.now - before;
}

// Whatever happens, it happens at every moment: `then` is given a world in which somebody has begun
// to wait for "r", which is held elsewhere, one turn ago, two turns ago, and so on.
template <class F>
void at_every_turn(duration until, F&& then) {
    for (std::size_t k = 0;; ++k) {
        connected_world w(fenced_options_for(3));
        w.run_for(1s);  // a connection that breaks is made again at once
        w.take_elsewhere("r", 3);
        const auto began = w.now;
        const auto e = w.acquire("r", {.wait = 60s});
        for (std::size_t i = 0; i < k; ++i) w.turn();
        if (w.now - began > until) {
            CHECK(k > 20);
            return;
        }
        INFO("after " << k << " turns, at " << (w.now - began) / 1us << " us");
        then(w, *e);
    }
}

}  // namespace redlock::fakes
