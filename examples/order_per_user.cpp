// One order per user, however often the user clicks and on whichever server; knows no database.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/client.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::array users{"ada", "barbara", "edsger", "grace", "leslie"};
constexpr int clicks_per_user = 8;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

struct shop {
    std::map<std::string, int> orders;  // of each user
    int placed_already = 0;             // clicks that found the order there
    int turned_away = 0;                // clicks that waited in vain
};

// One click on "buy". No other click of the user may look for an order until this one has ended.
asio::awaitable<void> click(redlock::client& server, shop& shop, std::string user) {
    const redlock::acquire_options options{.ttl = 5s, .wait = 30s};
    auto [why, lease] = co_await server.async_acquire("example:order:" + user, options, awaited);
    if (why == redlock::errc::contended) {  // other clicks of this user are being served
        ++shop.turned_away;
        co_return;
    }
    if (why) throw boost::system::system_error(why);
    if (shop.orders[user] > 0) {
        ++shop.placed_already;
    } else {
        asio::steady_timer payment(co_await asio::this_coro::executor, 5ms);
        co_await payment.async_wait(asio::use_awaitable);
        if (lease) ++shop.orders[user];  // ours still, by the clock: the payment took its time
    }
    co_await server.async_release(std::move(lease), asio::use_awaitable);
}

}  // namespace

int main(int argc, char** argv) try {
    const redlock::client_options options = example::options(argc, argv);
    asio::io_context context;
    std::array servers{redlock::client(context.get_executor(), options),
                       redlock::client(context.get_executor(), options)};
    shop shop;
    std::size_t running = users.size() * clicks_per_user;
    auto on_end = [&](const std::exception_ptr& failure) {
        if (failure) std::rethrow_exception(failure);
        if (--running > 0) return;
        for (auto& server : servers) server.close();  // nothing else keeps the context running
    };
    for (const std::string user : users) {
        for (std::size_t i = 0; i < clicks_per_user; ++i) {
            asio::co_spawn(context, click(servers[i % servers.size()], shop, user), on_end);
        }
    }
    context.run();

    bool one_each = shop.orders.size() == users.size();
    for (const auto& [user, orders] : shop.orders) {
        std::cout << user << ": " << orders << (orders == 1 ? " order\n" : " orders\n");
        one_each = one_each && orders == 1;
    }
    std::cout << shop.placed_already << " clicks found the order placed, " << shop.turned_away
              << " were turned away\n";
    return example::check(one_each, "one order per user");
} catch (const std::exception& why) {
    return example::failed(why);
}
