// Does not compile, on purpose: a temporary state that g++ 12 would destroy twice. With NAMED it does.
// SPDX-License-Identifier: MIT
#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

boost::asio::awaitable<bool> watched(redlock::client& client) {
    redlock::resource_state known = co_await client.async_watch("r", boost::asio::use_awaitable);
#ifdef NAMED
    known = co_await client.async_watch("r", known, boost::asio::use_awaitable);
#else
    known = co_await client.async_watch("r", redlock::resource_state{}, boost::asio::use_awaitable);
#endif
    co_return known.held;
}
