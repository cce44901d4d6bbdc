// A contender for a resource, as a coroutine and as a process; knows no servers' processes.
// SPDX-License-Identifier: MIT
#pragma once

#include "turns.hpp"

#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>

namespace bench {

/// Asks, holds for the section, gives back and asks again, until the window ends. Turns and
/// failures are added to the contest.
boost::asio::awaitable<void> contend(redlock::client& client, std::string resource,
                                     std::size_t worker, contest& into);

/// The whole of a process that contends: `redlock_bench contend fenced|plain RESOURCE PORT...`. How
/// it talks with its parent process: see `contest_of_processes`. The status of the process.
int contend_as_process(int argc, char** argv);

}  // namespace bench
