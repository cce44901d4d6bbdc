// Does not compile, on purpose: temporary states and leaders that g++ 12 would destroy twice. With
// NAMED it does.
// SPDX-License-Identifier: MIT
#include <redlock/async_election.hpp>
#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>
#include <string>

boost::asio::awaitable<std::string> shown(redlock::client& client, redlock::async_election& office) {
    using boost::asio::use_awaitable;
#ifdef NAMED
    const redlock::resource_state seen = co_await client.async_inspect("r", use_awaitable);
    co_await client.async_revoke(seen, use_awaitable);
    auto known = co_await office.async_observe(std::nullopt, use_awaitable);
    known = co_await office.async_observe(known, use_awaitable);
    co_return known->name;
#elif defined(REVOKED)
    co_await client.async_revoke(co_await client.async_inspect("r", use_awaitable), use_awaitable);
#elif defined(LEADER)
    co_await office.async_observe(redlock::leader_info{.name = "a"}, use_awaitable);
#elif defined(OPTIONAL_LEADER)
    co_await office.async_observe(std::optional(redlock::leader_info{.name = "a"}), use_awaitable);
#endif
    co_return "";
}
