// Does not compile, on purpose: a temporary that g++ 12 would destroy twice. With NAMED it does.
// SPDX-License-Identifier: MIT
#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <stop_token>
#include <string>

boost::asio::awaitable<int> section(redlock::client& client, std::string text) {
    auto named = [text](const redlock::lease&, std::stop_token) { return text.size(); };
#ifdef NAMED
    co_await client.async_with_lock("r", named);
    co_await client.async_with_lock("r", [&](const redlock::lease&, std::stop_token) { text += "!"; });
#else
    co_await client.async_with_lock("r", [text](const redlock::lease&, std::stop_token) {});
#endif
    co_return 0;
}
