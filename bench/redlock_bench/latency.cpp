// The time that one acquire takes, and one cycle of acquire and release, beside the floors' on the
// same nodes, in alternating blocks.
// SPDX-License-Identifier: MIT
#include "as_tuple.hpp"
#include "floor.hpp"
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

// In a process of its own the client is named so: host, colon, number. The floor's values are as
// long, so that the same bytes travel.
const std::string floor_value = "0123456789abcdefABCDEF@" + redlock::default_client_name();
const std::string key = "bench:latency";
// As long. Another one, since the fences that the floor counts up fall behind the library's.
const std::string floor_key = "basis:latency";

// What alternates: the library, and two floors, each with both ways to wait. The bare one has the
// least commands that lock, the other the library's own: beside it, what is left is the client.
enum kind : std::size_t { library, bare_all, bare_quorum, same_all, same_quorum, kinds };

struct times {
    std::vector<double> acquire_us{};
    std::vector<double> cycle_us{};
    std::size_t failures = 0;  // cycles that the library was refused: they have no times
};

double us_since(redlock::clock::time_point then) {
    return std::chrono::duration<double, std::micro>(redlock::clock::now() - then).count();
}

asio::awaitable<void> library_block(redlock::client& client, std::size_t cycles, times& into) {
    for (std::size_t i = 0; i < cycles; ++i) {
        const auto begin = redlock::clock::now();
        auto [refused, lease] = co_await client.async_acquire(key, as_tuple);
        const double acquire_us = us_since(begin);
        if (!refused) {
            auto [kept] = co_await client.async_release(std::move(lease), as_tuple);
            refused = kept;
        }
        if (refused) {
            ++into.failures;
            continue;
        }
        into.acquire_us.push_back(acquire_us);
        into.cycle_us.push_back(us_since(begin));
    }
    // Reads what is still due, so that nothing times out while the floor has its turn.
    co_await client.async_inspect(key, asio::use_awaitable);
}

/// All that is measured on one setting.
class blocks {
public:
    explicit blocks(setting& on)
        : on_(&on),
          recorded_(on),
          bare_(on.options().nodes, {on.size(), bare_commands(floor_key, floor_value)}),
          same_(on.options().nodes, recorded_.of(floor_key)) {}

    void measure_round(std::size_t cycles) {
        auto& round = rounds_.emplace_back();
        for (std::size_t turn = 0; turn < kinds; ++turn) {
            const std::size_t which = (rounds_.size() + turn) % kinds;
            round[which].acquire_us.reserve(cycles);
            round[which].cycle_us.reserve(cycles);
            measure_block(which, cycles, round[which]);
        }
    }
    void forget() { rounds_.clear(); }

    std::size_t count() const noexcept { return rounds_.size(); }
    std::size_t failures() const noexcept {
        std::size_t all = 0;
        for (const auto& round : rounds_) all += round[library].failures;
        return all;
    }
    double us(kind which, std::vector<double> times::*what, double q) const {
        std::vector<double> all;
        for (const auto& round : rounds_) {
            const auto& some = round[which].*what;
            all.insert(all.end(), some.begin(), some.end());
        }
        return quantile(all, q);
    }
    /// The library's median over a floor's in each round: what moves the machine moves both.
    double median_over(kind floor, std::vector<double> times::*what) {
        std::vector<double> ratios;
        for (auto& round : rounds_) {
            ratios.push_back(quantile(round[library].*what, 0.5) /
                             quantile(round[floor].*what, 0.5));
        }
        return quantile(ratios, 0.5);
    }

private:
    void measure_block(std::size_t which, std::size_t cycles, times& into) {
        if (which == library) return on_->run(library_block(on_->client(), cycles, into));
        const bool by_quorum = which == bare_quorum || which == same_quorum;
        const auto whom = by_quorum ? floor::wait_for::quorum : floor::wait_for::all;
        floor& with = which == bare_all || which == bare_quorum ? bare_ : same_;
        for (std::size_t i = 0; i < cycles; ++i) {
            const auto begin = redlock::clock::now();
            with.acquire(whom, recorded_.next_fence());
            into.acquire_us.push_back(us_since(begin));
            with.release(whom);
            into.cycle_us.push_back(us_since(begin));
        }
        with.drain();
    }

    setting* on_;
    recorded_commands recorded_;
    floor bare_;
    floor same_;
    std::vector<std::array<times, kinds>> rounds_;
};

}  // namespace

void measure_latency(setting& on, const extent& how) {
    blocks all(on);
    all.measure_round(how.cycles_per_block);
    all.forget();
    for (std::size_t i = 0; i < how.latency_blocks; ++i) all.measure_round(how.cycles_per_block);
    const auto acquire = [&all](kind which, double q) {
        return all.us(which, &times::acquire_us, q);
    };
    const auto cycle = [&all](kind which, double q) { return all.us(which, &times::cycle_us, q); };
    json_line("latency")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("transport", on.transport_name())
        .add("acquires", all.count() * how.cycles_per_block - all.failures())
        .add("failures", all.failures())
        .add("p50_us", acquire(library, 0.5))
        .add("p99_us", acquire(library, 0.99))
        .add("p999_us", acquire(library, 0.999))
        .add("floor_all_p50_us", acquire(bare_all, 0.5))
        .add("floor_all_p99_us", acquire(bare_all, 0.99))
        .add("floor_all_p999_us", acquire(bare_all, 0.999))
        .add("floor_quorum_p50_us", acquire(bare_quorum, 0.5))
        .add("floor_quorum_p99_us", acquire(bare_quorum, 0.99))
        .add("script_floor_all_p50_us", acquire(same_all, 0.5))
        .add("script_floor_quorum_p50_us", acquire(same_quorum, 0.5))
        .add("p50_over_floor_all", all.median_over(bare_all, &times::acquire_us))
        .add("p50_over_floor_quorum", all.median_over(bare_quorum, &times::acquire_us))
        .add("p50_over_script_floor_all", all.median_over(same_all, &times::acquire_us))
        .add("p50_over_script_floor_quorum", all.median_over(same_quorum, &times::acquire_us))
        .add("p99_over_floor_all", acquire(library, 0.99) / acquire(bare_all, 0.99))
        .add("p999_over_floor_all", acquire(library, 0.999) / acquire(bare_all, 0.999))
        .add("cycle_p50_us", cycle(library, 0.5))
        .add("cycle_p99_us", cycle(library, 0.99))
        .add("cycle_p999_us", cycle(library, 0.999))
        .add("floor_cycle_p50_us", cycle(bare_all, 0.5))
        .add("floor_cycle_p99_us", cycle(bare_all, 0.99))
        .add("floor_cycle_p999_us", cycle(bare_all, 0.999))
        .add("script_floor_cycle_p50_us", cycle(same_all, 0.5))
        .add("cycle_p50_over_floor_all", all.median_over(bare_all, &times::cycle_us))
        .add("cycle_p50_over_floor_quorum", all.median_over(bare_quorum, &times::cycle_us))
        .add("cycle_p50_over_script_floor_all", all.median_over(same_all, &times::cycle_us))
        .add("cycle_p50_over_script_floor_quorum", all.median_over(same_quorum, &times::cycle_us))
        .add("cycle_p99_over_floor_all", cycle(library, 0.99) / cycle(bare_all, 0.99))
        .add("cycle_p999_over_floor_all", cycle(library, 0.999) / cycle(bare_all, 0.999))
        .print();
}

}  // namespace bench
