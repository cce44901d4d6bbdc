// How soon the next waiter has the lock once it is released, however many wait: for one name, and
// for names of their own; knows no faults.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
constexpr redlock::acquire_options with_patience{.wait = 10min};

double us_since(steady::time_point then) {
    return std::chrono::duration<double, std::micro>(steady::now() - then).count();
}

/// Clients beside the setting's own, in its loop.
class clients {
public:
    clients(setting& on, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            all_.push_back(std::make_unique<redlock::client>(on.executor(), on.options()));
        }
    }
    std::size_t size() const noexcept { return all_.size(); }
    redlock::client& at(std::size_t i) { return *all_[i % all_.size()]; }

    asio::awaitable<void> connect() {
        for (auto& one : all_) co_await until_all_answer(*one);
    }
    /// Until they send no more than what keeps their waiters known, or for a minute.
    asio::awaitable<void> until_calm(std::size_t nodes) {
        const std::uint64_t most = (100 + 3 * all_.size()) * nodes;  // in a second
        const auto began = steady::now();
        for (std::uint64_t before = 0, now = 0; us_since(began) < 60e6; before = now) {
            co_await rest_for(1s);
            now = 0;
            for (const auto& one : all_) now += one->stats().commands;
            if (now - before <= most) co_return;
        }
    }
    asio::awaitable<void> close() {
        for (auto& one : all_) co_await one->async_close(as_tuple);
    }

private:
    std::vector<std::unique_ptr<redlock::client>> all_{};
};

/// A waiter that is granted the lock releases it and waits again, so often in all.
struct relay {
    std::size_t turns = 0;
    std::vector<double> after_us{};
    steady::time_point released{};

    bool is_over() const noexcept { return after_us.size() == turns; }
    void join(redlock::client& who) {
        who.async_acquire("crowd", with_patience,
                          [this, &who](redlock::error_code, redlock::lease held) {
                              if (held && !is_over()) got(who, std::move(held));
                          });
    }

private:
    void got(redlock::client& who, redlock::lease held) {
        after_us.push_back(us_since(released));
        released = steady::now();
        who.async_release(std::move(held), [](redlock::error_code) {});
        join(who);
    }
};

/// Acquires names, so many at a time.
struct taker {
    redlock::client& by;
    std::vector<redlock::lease> leases;
    std::size_t next = 0;
    std::size_t taken = 0;

    static std::string name(std::size_t i) { return "crowd:" + std::to_string(i); }

    asio::awaitable<void> take() {
        for (std::size_t i = 0; i < 64; ++i) take_next();
        while (taken < leases.size()) co_await rest_for(1ms);
    }

private:
    void take_next() {
        if (next == leases.size()) return;
        const std::size_t i = next++;
        by.async_acquire(name(i), redlock::acquire_options{.ttl = 60s, .wait = 10s},
                         [this, i](redlock::error_code, redlock::lease held) {
                             leases[i] = std::move(held);
                             ++taken;
                             take_next();
                         });
    }
};

/// The first of each kind is what the others are compared with.
void print(const setting& on, const char* kind, std::size_t count, std::size_t waiters,
           std::vector<double>& us, double& few_us) {
    const double p50 = quantile(us, 0.5);
    if (few_us == 0) few_us = p50;
    json_line("crowd")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("for", kind)
        .add("clients", count)
        .add("waiters", waiters)
        .add("grants", us.size())
        .add("next_grant_p50_us", p50)
        .add("next_grant_p99_us", quantile(us, 0.99))
        .add("next_grant_over_few", p50 / few_us)
        .print();
}

asio::awaitable<void> for_one_name(setting& on, std::size_t count, std::size_t waiters,
                                   std::size_t turns, double& few_us) {
    clients among(on, count);
    co_await among.connect();
    auto [refused, held] = co_await on.client().async_acquire("crowd", with_patience, as_tuple);
    relay all{turns};
    for (std::size_t i = 0; i < waiters; ++i) all.join(among.at(i));
    co_await among.until_calm(on.size());
    all.released = steady::now();
    co_await on.client().async_release(std::move(held), as_tuple);
    while (!all.is_over()) co_await rest_for(1ms);
    print(on, "one name", count, waiters, all.after_us, few_us);
    co_await among.close();
}

/// Each held by another client.
asio::awaitable<void> for_own_names(setting& on, std::size_t waiters, std::size_t turns,
                                    double& few_us) {
    clients among(on, 1);
    co_await among.connect();
    taker holder{on.client(), std::vector<redlock::lease>(waiters)};
    co_await holder.take();
    std::vector<double> us;
    steady::time_point released{};
    std::vector<redlock::lease> granted;
    for (std::size_t i = 0; i < waiters; ++i) {
        among.at(0).async_acquire(taker::name(i), with_patience,
                                  [&](redlock::error_code, redlock::lease held) {
                                      if (!held) return;
                                      us.push_back(us_since(released));
                                      granted.push_back(std::move(held));
                                  });
    }
    co_await among.until_calm(on.size());
    turns = std::min(turns, waiters);
    for (std::size_t i = 0; i < turns; ++i) {
        released = steady::now();
        co_await on.client().async_release(std::move(holder.leases[i * (waiters / turns)]),
                                           as_tuple);
        while (us.size() == i) co_await rest_for(100us);
    }
    print(on, "a name each", 1, waiters, us, few_us);
    co_await among.close();
}

}  // namespace

void measure_crowds(setting& on, const extent& how) {
    double few_us = 0;
    for (const auto& [count, waiters] : how.crowds_for_one_name) {
        on.run(for_one_name(on, count, waiters, how.crowd_turns, few_us));
    }
    few_us = 0;
    for (const std::size_t waiters : how.crowds_for_own_names) {
        on.run(for_own_names(on, waiters, how.crowd_turns, few_us));
        on.settle();
    }
}

}  // namespace bench
