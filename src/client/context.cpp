// What the parts of one client share.
// SPDX-License-Identifier: MIT
#include "client/context.hpp"

namespace redlock::detail {

void outcome_counts::refused(error_code why) noexcept {
    assert(why);
    if (why == errc::contended)
        contended.add();
    else if (why == errc::no_quorum)
        no_quorum.add();
    else if (why == errc::validity_exhausted)
        validity_exhausted.add();
    else if (why != errc::invalid_argument && why != errc::not_held)
        cancelled.add();
}

histogram duration_counter::get() const noexcept {
    histogram read;
    for (std::size_t i = 0; i < read.counts.size(); ++i) read.counts[i] = counts_[i].get();
    read.sum = std::chrono::microseconds(sum_us_.get());
    return read;
}

client_stats read_stats(const outcome_counts& outcomes, const traffic& connections,
                        const client_options& options, time_point now) {
    assert(options.nodes.size() <= connections.nodes.size());
    client_stats s;
#define REDLOCK_READ(member, metric, help) s.member = outcomes.member.get();
    REDLOCK_OUTCOME_COUNTERS(REDLOCK_READ)
    REDLOCK_HISTOGRAMS(REDLOCK_READ)
#undef REDLOCK_READ
#define REDLOCK_READ(member, metric, help) s.member = connections.member.get();
    REDLOCK_TRAFFIC_COUNTERS(REDLOCK_READ)
#undef REDLOCK_READ
    // First what ended: so the differences are never negative.
    const auto ended = outcomes.ended_leases.get();
    s.leases = outcomes.begun_leases.get() - ended;
    const auto ended_waits = outcomes.ended_waits.get();
    s.waiting = outcomes.begun_waits.get() - ended_waits;
    node_mask voting;
    s.nodes.reserve(options.nodes.size());
    for (std::size_t i = 0; i < options.nodes.size(); ++i) {
        const traffic::node& n = connections.nodes[i];
        const std::uint64_t connected = n.connected.get();
        const time_point from = n.votes_from.load();
        const bool votes = connected != 0 && from != time_point::max() && from <= now;
        s.nodes.push_back({display_name(options.nodes[i]), n.round_trip.get(), n.owed_now.get(),
                           connected, votes ? 1U : 0U});
        voting.set(i, votes);
    }
    s.quorum = node_lists(options).is_quorum(voting) ? 1 : 0;
    return s;
}

context::context(const client_options& options, random_source& random)
    : options_(&options),
      random_(&random),
      lists_(options),
      client_id_(random.fresh_owner().to_string()) {
    assert(!options.nodes.empty() && options.nodes.size() <= max_nodes);
    assert(!options.client_name.empty());
    for (const auto& node : options.nodes) names_.emplace_back(display_name(node));
}

void context::emit(const event& e) const {
    if (!options_->on_event) return;
    try {
        options_->on_event(e);
    } catch (...) {
    }
}

void context::report_lag(time_point due, time_point now) {
    if (now < next_lag_report_) return;
    next_lag_report_ = now + std::chrono::minutes(1);
    emit({.kind = event_kind::loop_lag,
          .severity = severity::warning,
          .duration = std::chrono::duration_cast<std::chrono::microseconds>(now - due),
          .detail = "the client's loop was late for a lease, by more than a tenth of its ttl, and "
                    "beyond the validity that loses it: give its thread a processor (nice, "
                    "real-time priority), keep what blocks out of its callbacks, or use a longer "
                    "ttl",
          .begin = due});
}

}  // namespace redlock::detail
