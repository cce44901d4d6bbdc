// The end of a client's event loop, bounded; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <boost/asio/io_context.hpp>

#include <redlock/options.hpp>

#include <chrono>
#include <functional>

namespace redlock::tool {

/// Lets a closed client send its last releases. The system's resolver can't be interrupted, and the
/// context's destructor waits for it: where it hangs, `leave` must end the process.
void drain(boost::asio::io_context& context, std::chrono::milliseconds limit,
           const std::function<void()>& leave);
/// The same; the process ends with `status`.
void drain(boost::asio::io_context& context, std::chrono::milliseconds limit, int status);

/// The most that a node may take over one command: `node_timeout`, or what is measured at most.
std::chrono::milliseconds longest_answer(const client_options& client);

}  // namespace redlock::tool
