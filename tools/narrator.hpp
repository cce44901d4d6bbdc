// What `redlock run` writes about its progress, as text or as JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/commands.hpp"

#include <redlock/event.hpp>
#include <redlock/lease.hpp>
#include <redlock/resource_state.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock::tool {

/// Writes to standard error. With `--json` it reports everything that happens, one object a line;
/// otherwise only the wait: on one line of a terminal, which it redraws, or with `--verbose` line
/// by line. With `--quiet` it writes nothing.
class narrator {
public:
    explicit narrator(const run_request& request);

    /// The time from now until the next report of the wait, or look whether there is a quorum.
    std::chrono::seconds pause() const;
    /// Whether it draws on a terminal. It must not while another process group is in the
    /// foreground: `waiting` and `waited` are not called then.
    bool draws() const noexcept { return draws_; }
    /// Whether a refusal is reported that is ordinary: another holder has the lock. Else cron would
    /// send a mail from each machine that was not the first.
    bool tells_of_contention() const noexcept {
        return draws_ || request_.json || request_.nodes.verbose;
    }
    void waiting(const resource_state& state);
    /// No quorum of nodes may vote, so the wait can't end. Says it, with the causes, at once and
    /// then once a minute, also where the wait is not reported. `down`: those out of reach.
    void without_quorum(const resource_state& state, const std::string& down);
    /// The same of another reason for which the wait can't end.
    void in_vain(const std::string& why) { warn(why, true); }
    /// The wait is over: clears the terminal's line.
    void waited();
    void granted(const lease& got) const;
    /// A run around this one has the lock.
    void nested(std::uint64_t fence) const;
    void happened(const event& e) const;
    void ended(int status) const;

private:
    void warn(const std::string& line, bool has_quorum);
    void draw(const std::string& line);
    void tell_of_wait(const resource_state& state) const;
    std::string wait_so_far() const;
    std::chrono::milliseconds since_start() const;

    const run_request& request_;
    const bool draws_;
    const clock::time_point began_ = clock::now();
    std::size_t width_ = 0;  // of the line on the terminal, in columns
    std::optional<clock::time_point> last_warning_;
};

}  // namespace redlock::tool
