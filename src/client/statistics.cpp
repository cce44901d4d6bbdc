// Counts that one thread writes and any thread reads.
// SPDX-License-Identifier: MIT
#include "client/statistics.hpp"

namespace redlock::detail {

void outcome_counts::refused(error_code why) noexcept {
    if (why == errc::contended)
        contended.add();
    else if (why == errc::no_quorum)
        no_quorum.add();
    else if (why == errc::validity_exhausted)
        validity_exhausted.add();
    else if (why != errc::invalid_argument && why != errc::not_held)
        cancelled.add();
}

client_stats read_stats(const outcome_counts& outcomes, const traffic& connections) noexcept {
    client_stats s;
    s.granted = outcomes.granted.get();
    s.contended = outcomes.contended.get();
    s.no_quorum = outcomes.no_quorum.get();
    s.validity_exhausted = outcomes.validity_exhausted.get();
    s.cancelled = outcomes.cancelled.get();
    s.retries = outcomes.retries.get();
    s.second_rounds = outcomes.second_rounds.get();
    s.released = outcomes.released.get();
    s.lost = outcomes.lost.get();
    s.renewals = outcomes.renewals.get();
    s.renewal_failures = outcomes.renewal_failures.get();
    const auto ended = outcomes.ended_leases.get();  // first: the difference is never negative
    s.leases = outcomes.begun_leases.get() - ended;
    s.commands = connections.commands.get();
    s.writes = connections.writes.get();
    s.reads = connections.reads.get();
    s.timeouts = connections.timeouts.get();
    s.late_replies = connections.late_replies.get();
    s.connects = connections.connects.get();
    s.disconnects = connections.disconnects.get();
    s.owed_releases = connections.owed_releases.get();
    return s;
}

}  // namespace redlock::detail
