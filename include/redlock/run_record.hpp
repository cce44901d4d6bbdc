// What is on record of one run of a command under a lock; sends no command.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock {

/// One run, as `redlock run --record` notes it on the nodes: see `client::async_record_run`.
struct run_record {
    std::string id{};  ///< Tells the runs of a resource apart: of the lease's owner, and no secret.
    std::chrono::system_clock::time_point start{};  ///< By the clock of `host`, to the millisecond.
    /// None where the run goes on, or ended in a way that nobody could note.
    std::optional<std::chrono::system_clock::time_point> end{};
    std::string host{};
    std::int64_t pid = 0;
    std::uint64_t fence = 0;
    int status = 0;        ///< The exit status, as `redlock run` ends with it.
    int signal = 0;        ///< That ended the command; 0: none did.
    bool is_lost = false;    ///< The lease was lost before the command ended.
    bool is_started = true;  ///< Otherwise there was no such command, or it could not be executed.
};

/// So many runs of a resource are kept; the oldest goes first.
inline constexpr std::size_t most_runs = 20;

}  // namespace redlock
