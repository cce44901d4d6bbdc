// What the parts of one client share.
// SPDX-License-Identifier: MIT
#include "client/context.hpp"

#include <functional>

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

histogram duration_counter::get() const noexcept {
    histogram read;
    for (std::size_t i = 0; i < read.counts.size(); ++i) read.counts[i] = counts_[i].get();
    read.sum = std::chrono::microseconds(sum_us_.get());
    return read;
}

client_stats read_stats(const outcome_counts& outcomes, const traffic& connections,
                        const client_options& options) {
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
    // First what ended: so the differences are never negative.
    const auto ended = outcomes.ended_leases.get();
    s.leases = outcomes.begun_leases.get() - ended;
    const auto ended_waits = outcomes.ended_waits.get();
    s.waiting = outcomes.begun_waits.get() - ended_waits;
    s.commands = connections.commands.get();
    s.writes = connections.writes.get();
    s.reads = connections.reads.get();
    s.timeouts = connections.timeouts.get();
    s.late_replies = connections.late_replies.get();
    s.connects = connections.connects.get();
    s.disconnects = connections.disconnects.get();
    s.owed_releases = connections.owed_releases.get();
    s.wait = outcomes.wait.get();
    s.hold = outcomes.hold.get();
    s.renewal = outcomes.renewal.get();
    s.remaining = outcomes.remaining.get();
    s.nodes.reserve(options.nodes.size());
    for (std::size_t i = 0; i < options.nodes.size(); ++i) {
        const traffic::node& n = connections.nodes[i];
        s.nodes.push_back({display_name(options.nodes[i]), n.round_trip.get(), n.owed_now.get()});
    }
    return s;
}

namespace {

template <class What>
void tell(const std::function<void(const What&)>& observer, const What& what) {
    try {
        observer(what);
    } catch (...) {
    }
}

}  // namespace

context::context(const client_options& options, random_source& random)
    : options_(&options),
      random_(&random),
      lists_(options),
      client_id_(random.fresh_owner().to_string()) {
    for (const auto& node : options.nodes) names_.emplace_back(display_name(node));
}

void context::emit(const event& e) const {
    if (options_->on_event) tell(options_->on_event, e);
}

std::uint64_t context::report_begin(span_kind kind, std::uint64_t parent, std::string_view resource,
                                    time_point now, std::uint64_t fence) {
    span_report s;
    s.edge = span_edge::begin;
    s.kind = kind;
    s.id = ++last_span_;
    s.when = now;
    s.parent = parent;
    s.resource = resource;
    s.fence = fence;
    tell(options_->on_span, s);
    return s.id;
}

void context::report_end(span_kind kind, std::uint64_t id, time_point now, error_code why,
                         std::span<const node_vote> votes, std::string_view detail) const {
    span_report s;
    s.edge = span_edge::end;
    s.kind = kind;
    s.id = id;
    s.when = now;
    s.error = why;
    s.detail = detail;
    s.votes = votes;
    tell(options_->on_span, s);
}

}  // namespace redlock::detail
