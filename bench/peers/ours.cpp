// Takes and gives back locks of this library, as bench/peers/stores does those of others.
// SPDX-License-Identifier: MIT
#include <redlock/client.hpp>
#include <redlock/config.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
const redlock::acquire_options patient{.ttl = 2s, .wait = 60s};

// CLOCK_MONOTONIC, as the others have it.
std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

asio::awaitable<void> rest_for(std::chrono::nanoseconds how_long) {
    asio::steady_timer timer(co_await asio::this_coro::executor, how_long);
    co_await timer.async_wait(asio::use_awaitable);
}

std::string own_resource(std::size_t worker) {
    return "own-" + std::to_string(::getpid()) + '-' + std::to_string(worker);
}

struct counts {
    std::uint64_t failures = 0;
    std::vector<std::int64_t> acquire_us{};
    std::size_t running = 0;
};

asio::awaitable<void> cycle(redlock::client& client, std::string resource, std::int64_t end_ns,
                            counts& into) {
    while (now_ns() < end_ns) {
        const std::int64_t begin_ns = now_ns();
        auto [refused, lease] = co_await client.async_acquire(resource, patient, as_tuple);
        const std::int64_t taken_ns = now_ns();
        if (!refused) {
            auto [kept] = co_await client.async_release(std::move(lease), as_tuple);
            refused = kept;
        }
        if (refused) {
            ++into.failures;
        } else {
            into.acquire_us.push_back((taken_ns - begin_ns) / 1'000);
        }
    }
    --into.running;
}

asio::awaitable<void> cycles(redlock::client& client, std::size_t workers, std::int64_t ms) {
    counts all;
    all.running = workers;
    const std::int64_t begin_ns = now_ns();
    for (std::size_t i = 0; i < workers; ++i) {
        asio::co_spawn(co_await asio::this_coro::executor,
                       cycle(client, own_resource(i), begin_ns + ms * 1'000'000, all),
                       asio::detached);
    }
    while (all.running > 0) co_await rest_for(1ms);
    const double seconds = static_cast<double>(now_ns() - begin_ns) * 1e-9;
    auto& times = all.acquire_us;
    std::sort(times.begin(), times.end());
    if (times.empty()) times.push_back(0);
    std::cout << R"({"cycles":)" << times.size() << R"(,"failures":)" << all.failures
              << R"(,"seconds":)" << seconds << R"(,"p50_us":)" << times[times.size() / 2]
              << R"(,"p99_us":)" << times[times.size() * 99 / 100] << "}" << std::endl;
}

asio::awaitable<void> contend(redlock::client& client, std::int64_t begin_ns, std::int64_t end_ns,
                              std::int64_t hold_us) {
    co_await rest_for(std::chrono::nanoseconds(begin_ns - now_ns()));
    std::string turns;
    while (now_ns() < end_ns) {
        const redlock::acquire_options until_the_end{
            .ttl = patient.ttl,
            .wait = std::chrono::milliseconds((end_ns - now_ns()) / 1'000'000 + 1)};
        auto [refused, lease] = co_await client.async_acquire("shared", until_the_end, as_tuple);
        if (refused) continue;
        const std::int64_t granted_ns = now_ns();
        co_await rest_for(std::chrono::microseconds(hold_us));
        turns += (turns.empty() ? "[" : ",[") + std::to_string(granted_ns) + ',' +
                 std::to_string(now_ns()) + ']';
        co_await client.async_release(std::move(lease), as_tuple);
    }
    std::cout << R"({"turns":[)" << turns << "]}" << std::endl;
}

asio::awaitable<void> stream(redlock::client& client, std::int64_t ms) {
    std::string grants;
    std::uint64_t failures = 0;
    for (const std::int64_t end_ns = now_ns() + ms * 1'000'000; now_ns() < end_ns;) {
        auto [refused, lease] = co_await client.async_acquire(own_resource(0), patient, as_tuple);
        if (refused) {
            ++failures;
            co_await rest_for(1ms);
            continue;
        }
        grants += (grants.empty() ? "" : ",") + std::to_string(now_ns());
        co_await client.async_release(std::move(lease), as_tuple);
    }
    std::cout << R"({"grants":[)" << grants << R"(],"failures":)" << failures << "}" << std::endl;
}

// The lease is kept, and renewed, until this process ends.
asio::awaitable<void> take(redlock::client& client, redlock::lease& kept) {
    kept = co_await client.async_acquire("taken", patient, asio::use_awaitable);
    std::cout << R"({"granted":)" << now_ns() << "}" << std::endl;
}

asio::awaitable<void> warm_up(redlock::client& client) {
    auto lease = co_await client.async_acquire(own_resource(0), patient, asio::use_awaitable);
    co_await client.async_release(std::move(lease), as_tuple);
}

void run(asio::io_context& context, asio::awaitable<void> work) {
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(work), [&](std::exception_ptr why) {
        failure = std::move(why);
        context.stop();
    });
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> obey(redlock::client& client, const std::string& line,
                           redlock::lease& kept) {
    std::istringstream words(line);
    std::string what;
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t c = 0;
    words >> what >> a >> b >> c;
    if (what == "cycles") return cycles(client, static_cast<std::size_t>(a), b);
    if (what == "contend") return contend(client, a, b, c);
    if (what == "stream") return stream(client, a);
    if (what == "take") return take(client, kept);
    throw std::runtime_error("'" + line + "' is not understood");
}

int obey_all(const std::string& mode, const std::vector<std::string>& addresses) {
    redlock::client_options options;
    options.fencing = mode == "fenced";
    for (const std::string& address : addresses) {
        auto node = redlock::parse_node_uri("redis://" + address);
        if (!node) throw std::runtime_error("no address: " + address);
        options.nodes.push_back(*std::move(node));
    }
    asio::io_context context(1);
    redlock::client client(context.get_executor(), options);
    run(context, warm_up(client));
    std::cout << "ready" << std::endl;
    redlock::lease kept;
    for (std::string line; std::getline(std::cin, line);) run(context, obey(client, line, kept));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::cerr << "usage: bench_ours fenced|plain ADDRESS...\n";
        return 2;
    }
    try {
        return obey_all(argv[1], {argv + 2, argv + argc});
    } catch (const std::exception& e) {
        std::cerr << "bench_ours: " << e.what() << '\n';
        return 1;
    }
}
