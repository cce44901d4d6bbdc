// A worker that contends for a resource, as a coroutine and as a process.
// SPDX-License-Identifier: MIT
#include "contender.hpp"

#include "as_tuple.hpp"
#include "setting.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>
#include <utility>

namespace bench {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

std::int64_t now_ns() { return redlock::clock::now().time_since_epoch().count(); }

redlock::client_options options_of(int argc, char** argv) {
    redlock::client_options options;
    options.cluster = "bench";
    options.fencing = std::string_view(argv[2]) == "fenced";
    for (int i = 4; i < argc; ++i) {
        redlock::node_options node;
        node.port = static_cast<std::uint16_t>(std::strtoul(argv[i], nullptr, 10));
        options.nodes.push_back(std::move(node));
    }
    return options;
}

// Connections, buffers and scripts are there before it counts.
asio::awaitable<void> warm_up(redlock::client& client) {
    co_await until_all_answer(client);
    const std::string own = "bench:warm-up:" + redlock::default_client_name();
    const redlock::acquire_options options{.wait = 20s};  // others are starting, too
    auto lease = co_await client.async_acquire(own, options, asio::use_awaitable);
    co_await client.async_release(std::move(lease), as_tuple);  // goes on by itself if need be
}

asio::awaitable<void> take_part(redlock::client& client, std::string resource, contest& into) {
    co_await rest_for(std::chrono::nanoseconds(into.when.begin_ns - now_ns()));
    co_await contend(client, std::move(resource), 0, into);
}

void run(asio::io_context& context, asio::awaitable<void> work) {
    std::exception_ptr failure;
    auto done = [&](std::exception_ptr why) {
        failure = std::move(why);
        context.stop();
    };
    asio::co_spawn(context, std::move(work), done);
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
}

void tell(const contest& what) {
    for (const turn& t : what.turns) {
        std::cout << "turn " << t.fence << ' ' << t.asked_ns << ' ' << t.granted_ns << ' '
                  << t.released_ns << '\n';
    }
    std::cout << "done " << static_cast<std::int64_t>(what.cpu_us) << ' ' << what.failures
              << std::endl;
}

}  // namespace

asio::awaitable<void> contend(redlock::client& client, std::string resource, std::size_t worker,
                              contest& into) {
    // Long enough that only what is never served fails.
    const redlock::acquire_options options{.wait = 20s};
    turn t;
    t.worker = worker;
    while ((t.asked_ns = now_ns()) < into.when.end_ns) {
        auto [refused, lease] = co_await client.async_acquire(resource, options, as_tuple);
        t.granted_ns = now_ns();
        if (refused) {
            ++into.failures;
            continue;
        }
        t.fence = lease.fence();
        co_await rest_for(std::chrono::microseconds(section_us));
        t.released_ns = now_ns();
        into.turns.push_back(t);
        auto [kept] = co_await client.async_release(std::move(lease), as_tuple);
        if (kept) ++into.failures;
    }
}

int contend_as_process(int argc, char** argv) {
    if (argc < 5) return 2;
    asio::io_context context(1);
    redlock::client client(context.get_executor(), options_of(argc, argv));
    run(context, warm_up(client));
    std::cout << "ready" << std::endl;
    contest mine;
    std::string word;
    if (!(std::cin >> word >> mine.when.begin_ns >> mine.when.end_ns) || word != "go") return 2;
    const double cpu = cpu_seconds();
    run(context, take_part(client, argv[3], mine));
    mine.cpu_us = (cpu_seconds() - cpu) * 1e6;
    tell(mine);
    client.close();
    context.restart();
    context.run();
    return 0;
}

}  // namespace bench
