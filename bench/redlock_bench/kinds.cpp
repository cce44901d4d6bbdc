// The rates and times of the kinds of lock beside those of the exclusive one, in alternating
// blocks; knows no faults.
// SPDX-License-Identifier: MIT
#include "as_tuple.hpp"
#include "json_line.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include <redlock/async_rate_limiter.hpp>
#include <redlock/resource_list.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using finish_line = asio::experimental::channel<void(boost::system::error_code)>;

/// What each of the workers does until the time is over.
struct kind_of_work {
    const char* name;
    std::size_t workers;
    redlock::acquire_options how{};
    bool is_one_resource = false;  ///< All ask for the same.
    std::size_t keys = 1;          ///< At once.
    std::chrono::microseconds section{0};
    std::uint16_t cost = 0;  ///< Of each call of a limit, of which there is more than enough.
};

struct outcome {
    std::uint64_t cycles = 0;
    std::uint64_t failures = 0;
    std::vector<double> times_us{};
    double seconds = 0;
};

std::vector<std::string> names_for(const kind_of_work& what, std::size_t worker) {
    const std::string first = "kinds:" + (what.is_one_resource ? "all" : std::to_string(worker));
    std::vector<std::string> names{first};
    for (std::size_t i = 1; i < what.keys; ++i) names.push_back(first + ":" + std::to_string(i));
    return names;
}

asio::awaitable<void> work(redlock::client& client, const kind_of_work& what, std::size_t worker,
                           redlock::clock::time_point until, outcome& total, finish_line& done) {
    asio::steady_timer inside(co_await asio::this_coro::executor);
    const redlock::resource_list names = names_for(what, worker);
    for (auto begin = redlock::clock::now(); begin < until;) {
        auto [refused, lease] = co_await client.async_acquire_all(names, what.how, as_tuple);
        if (!refused) {
            if (what.section > 0us) {
                inside.expires_after(what.section);
                co_await inside.async_wait(asio::use_awaitable);
            }
            auto [kept] = co_await client.async_release(std::move(lease), as_tuple);
            refused = kept;
        }
        ++(refused ? total.failures : total.cycles);
        const auto now = redlock::clock::now();
        total.times_us.push_back(std::chrono::duration<double, std::micro>(now - begin).count());
        begin = now;
    }
    co_await done.async_send({}, asio::use_awaitable);
}

asio::awaitable<void> use_limit(redlock::client& client, const kind_of_work& what,
                                redlock::clock::time_point until, outcome& total,
                                finish_line& done) {
    redlock::async_rate_limiter limiter(client, "kinds:limit", 1'000, 10ms);
    for (auto begin = redlock::clock::now(); begin < until;) {
        const auto [failed, said] = co_await limiter.async_try_acquire(what.cost, as_tuple);
        ++(failed || !said ? total.failures : total.cycles);
        const auto now = redlock::clock::now();
        total.times_us.push_back(std::chrono::duration<double, std::micro>(now - begin).count());
        begin = now;
    }
    co_await done.async_send({}, asio::use_awaitable);
}

asio::awaitable<void> all_work(redlock::client& client, const kind_of_work& what,
                               std::chrono::milliseconds duration, outcome& total) {
    const auto executor = co_await asio::this_coro::executor;
    finish_line done(executor, what.workers);
    const auto until = redlock::clock::now() + duration;
    for (std::size_t i = 0; i < what.workers; ++i) {
        asio::co_spawn(executor,
                       what.cost > 0 ? use_limit(client, what, until, total, done)
                                     : work(client, what, i, until, total, done),
                       asio::detached);
    }
    for (std::size_t i = 0; i < what.workers; ++i) co_await done.async_receive(asio::use_awaitable);
}

outcome measure(setting& on, const kind_of_work& what, std::chrono::milliseconds duration) {
    outcome total;
    const auto begin = redlock::clock::now();
    on.run(all_work(on.client(), what, duration, total));
    total.seconds = std::chrono::duration<double>(redlock::clock::now() - begin).count();
    on.settle();
    return total;
}

/// Prints how often, and how fast, the second does what the first does.
void compare(setting& on, const extent& how, const kind_of_work& base, const kind_of_work& other) {
    const std::array kinds{&base, &other};
    std::array<outcome, 2> sums;
    std::vector<double> rates;
    std::vector<double> times;
    for (const auto* kind : kinds) measure(on, *kind, std::max(how.each / 8, 20ms));
    for (std::size_t i = 0; i < how.rate_blocks; ++i) {
        std::array<double, 2> rate{};
        std::array<double, 2> p50{};
        for (std::size_t turn = 0; turn < 2; ++turn) {
            const std::size_t at = (i + turn) % 2;
            outcome one =
                measure(on, *kinds[at], how.each / static_cast<long>(how.rate_blocks));
            rate[at] = static_cast<double>(one.cycles) / one.seconds;
            p50[at] = quantile(one.times_us, 0.5);
            sums[at].cycles += one.cycles;
            sums[at].failures += one.failures;
            sums[at].seconds += one.seconds;
        }
        rates.push_back(rate[1] / rate[0]);
        times.push_back(p50[1] / p50[0]);
    }
    json_line("kinds")
        .add("nodes", on.size())
        .add("mode", on.mode())
        .add("what", other.name)
        .add("over", base.name)
        .add("workers", other.workers)
        .add("cycles", sums[1].cycles)
        .add("failures", sums[1].failures)
        .add("cycles_per_s", static_cast<double>(sums[1].cycles) / sums[1].seconds)
        .add("rate_ratio", quantile(rates, 0.5))
        .add("p50_ratio", quantile(times, 0.5))
        .print();
}

}  // namespace

void measure_kinds(setting& on, const extent& how) {
    const std::size_t many = how.workers.back() < 128 ? how.workers.back() : 128;
    compare(on, how, {.name = "exclusive, each its own", .workers = many},
            {.name = "shared, all one",
             .workers = many,
             .how = {.mode = redlock::lock_mode::shared},
             .is_one_resource = true});
    compare(on, how, {.name = "one resource", .workers = 1},
            {.name = "four at once", .workers = 1, .keys = 4});
    compare(on, how, {.name = "one resource each", .workers = many},
            {.name = "four at once each", .workers = many, .keys = 4});
    const redlock::acquire_options patient{.wait = 60s};
    for (const std::size_t workers : {std::size_t{1}, many}) {
        compare(on, how, {.name = "would not wait, each its own", .workers = workers},
                {.name = "would wait, each its own", .workers = workers, .how = patient});
    }
    redlock::acquire_options one_of_many = patient;
    one_of_many.slots = static_cast<std::uint16_t>(many / 2);
    compare(on, how,
            {.name = "one lock, section of 1 ms",
             .workers = many,
             .how = patient,
             .is_one_resource = true,
             .section = 1ms},
            {.name = "slots for half of them, section of 1 ms",
             .workers = many,
             .how = one_of_many,
             .is_one_resource = true,
             .section = 1ms});
    compare(on, how, {.name = "a call of a limit", .workers = 1, .cost = 1},
            {.name = "one that costs eight", .workers = 1, .cost = 8});
}

}  // namespace bench
