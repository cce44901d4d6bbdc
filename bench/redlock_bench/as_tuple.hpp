// The token with which the benchmark's coroutines call the client; knows no measurement.
// SPDX-License-Identifier: MIT
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace bench {

/// An error is a value: a cycle that was refused is counted, not thrown.
inline constexpr auto as_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace bench
