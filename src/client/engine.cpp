// The coordinator: operations, leases and nodes put together.
// SPDX-License-Identifier: MIT
#include "client/engine.hpp"

#include "client/extend.hpp"
#include "client/release.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

namespace redlock::detail {

using std::chrono::microseconds;

engine::engine(const client_options& options, engine_host& host, traffic& traffic)
    : options_(&options),
      host_(&host),
      traffic_(&traffic),
      client_id_(host.fresh_owner().to_string()),
      channel_(options.key_prefix + "redlock:wake:" + client_id_),
      renewals_(core::node_timeout(options.node_timeout, {}), 1, 2, core::window::growth::steady),
      admission_(core::node_timeout(options.node_timeout, {})) {
    const std::size_t n = options.nodes.size();
    for (const auto& node : options.nodes) names_.emplace_back(display_name(node));
    for (std::size_t i = 0; i < n; ++i) {
        session_owner& owner = *this;
        sessions_.push_back(
            std::make_unique<session>(i, options, host.wire(i), owner, traffic));
    }
    for (std::size_t i = 0; i < n; ++i) {
        listener_owner& owner = *this;
        listeners_.push_back(
            std::make_unique<listener>(i, options, host.wire(n + i), owner, channel_));
    }
    tracker_ = std::make_unique<node_tracker>(*this);
}

engine::~engine() { discard(); }

void engine::start(time_point now) {
    tracker_->start(now);
    for (const auto& s : sessions_) s->start(now);
}

void engine::enlist(operation& what) {
    what.engine_ = this;
    intrusive_ptr_add_ref(static_cast<call*>(&what));  // the list's, until `finished`
    operations_.push_back(what);
}

void engine::begin(operation_ptr what, time_point now) {
    enlist(*what);
    if (closing_) {
        what->cancel(errc::client_closed, now);
    } else {
        what->start(now);
    }
}

void engine::finished(operation& what) noexcept {
    what.listed_.unlink();
    intrusive_ptr_release(static_cast<call*>(&what));
}

void engine::adopt(held_lease_ptr what) {
    intrusive_ptr_add_ref(what.get());  // the list's, until `forget`
    counts_.begun_leases.add();
    held_leases_.push_back(*what);
    what->begin();
}

void engine::forget(held_lease& what) noexcept {
    if (what.has_claim()) owners_.end(what.state().owner, what.state().resource);
    remote_queue_.local_queues().freed(what.state().resource);
    what.listed_.unlink();
    intrusive_ptr_release(&what);
}

void engine::close(time_point now) {
    if (closing_) return;
    closing_ = true;
    tracker_->close();
    remote_queue_.close();
    stop_listening();
    while (!operations_.empty()) operations_.front().cancel(errc::client_closed, now);
    unsettled_.clear();
    due_ = {};
    while (!held_leases_.empty()) {
        const held_lease_ptr lease(&held_leases_.front());
        lease->end(errc::client_closed, now);
        lease->release_in_background(now);
        if (lease->state().end()) lease->state().alert();
    }
    end_if_idle(now);
}

void engine::cancel(error_code why, time_point now) {
    std::vector<operation_ptr> ended;  // some of them begin others, which are not to be cancelled
    for (operation_list* list : {&operations_, &await_end_}) {
        for (operation& o : *list) {
            if (o.has_caller()) ended.emplace_back(&o);
        }
    }
    for (const auto& o : ended) o->cancel(why, now);
}

void engine::await_closed(operation& what) {
    if (over_) return what.on_closed(closed_as_);
    what.listed_.unlink();
    await_end_.push_back(what);
}

void engine::end_turn(time_point now) {
    if (closing_ && !over_ && !is_lingering_) begin_to_linger(now);
    renew_due(now);
    remote_queue_.local_queues().give_turns(now);
    admission_.admit(now);
}

// Counted from the end of the turn, since formatting thousands of releases takes time, too.
void engine::begin_to_linger(time_point now) {
    is_lingering_ = true;
    answers_awaited_from_ = now;
    linger_until_ = now + options_->ttl_max;
    close_timer_at_ = std::min(now + time_for(size()), linger_until_);
    timers_.set(close_timer_, close_timer_at_);
}

// When a node that has not answered everything is given up.
time_point engine::answer_due(const session& node) const noexcept {
    const time_point since = std::max(node.last_answer(), answers_awaited_from_);
    return std::min(since + node.node_timeout(), linger_until_);
}

void engine::on_close_timer(time_point now) {
    // Where this process stood still, answers may have arrived that it has not read yet.
    const bool was_asleep = now - close_timer_at_ > time_for(size()) / 2;
    if (was_asleep && now < linger_until_) answers_awaited_from_ = now;
    silence_checked_at_ = now;
    close_timer_at_ = time_point::max();
    for (const auto& s : sessions_) {
        const time_point until = answer_due(*s);
        if (!s->is_idle() && until > now) close_timer_at_ = std::min(close_timer_at_, until);
    }
    timers_.set(close_timer_, close_timer_at_);
    end_if_idle(now);
}

void engine::end_if_idle(time_point now) {
    if (!closing_ || over_) return;
    const bool is_through = std::all_of(sessions_.begin(), sessions_.end(), [&](const auto& s) {
        return s->is_idle() || (is_lingering_ && answer_due(*s) <= silence_checked_at_);
    });
    if (is_through) end(now);
}

void engine::end(time_point now) {
    if (over_) return;
    over_ = true;
    close_timer_.cancel();
    std::size_t silent = 0;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        const leftovers left = sessions_[i]->close(now);
        if (left.releases == 0) continue;
        ++silent;
        const std::string detail =
            std::to_string(left.releases) +
            (left.releases == 1 ? " release was" : " releases were") +
            " not answered before the client was closed; a key that is left runs out by its ttl" +
            (left.why.detail.empty() ? "" : ": " + left.why.detail);
        emit({.kind = event_kind::releases_given_up, .severity = severity::warning,
              .node = names_[i], .error = left.why.error, .detail = detail});
    }
    const bool has_quorum = sessions_.size() - silent >= redlock::quorum(sessions_.size());
    if (!has_quorum) closed_as_ = errc::no_quorum;
    while (!await_end_.empty()) await_end_.front().on_closed(closed_as_);
}

void engine::discard() noexcept {
    closing_ = true;
    over_ = true;
    tracker_->close();
    remote_queue_.clear();
    admission_.clear();
    due_ = {};
    unsettled_.clear();
    while (!held_leases_.empty()) {
        const held_lease_ptr lease(&held_leases_.front());
        lease->drop();
        forget(*lease);
    }
    for (operation_list* list : {&operations_, &await_end_}) {
        while (!list->empty()) {
            const operation_ptr what(&list->front());
            finished(*what);
            what->discard();
        }
    }
    sessions_.clear();
    listeners_.clear();
}

void engine::on_time(time_point now) {
    timers_.on_time(now);
    for (const auto& s : sessions_) {
        if (s->deadline() <= now) s->on_time(now);
    }
    for (const auto& l : listeners_) {
        if (l->deadline() <= now) l->on_time(now);
    }
}

time_point engine::deadline() const noexcept {
    time_point first = timers_.deadline();
    for (const auto& s : sessions_) first = std::min(first, s->deadline());
    for (const auto& l : listeners_) first = std::min(first, l->deadline());
    return first;
}

connection& engine::connection_at(std::size_t index) noexcept {
    if (index < sessions_.size()) return *sessions_[index];
    return *listeners_[index - sessions_.size()];
}

void engine::listen(time_point now) {
    if (closing_) return;
    for (const auto& l : listeners_) l->open(now);
}

void engine::stop_listening() {
    for (const auto& l : listeners_) l->close();
}

void engine::give_back(lease_state& state, time_point now) {
    if (state.held_as == nullptr) return;
    const held_lease_ptr lease(state.held_as);
    if (state.state() != lease_state::status::lost) counts_.released.add();
    lease->end(errc::not_held, now);
    lease->release_in_background(now);
}

void engine::let_go(lease_state& state, time_point now) {
    if (state.held_as == nullptr) return;
    held_lease_ptr(state.held_as)->end(errc::not_held, now);
}

engine::fan_out engine::send(call& what, std::uint32_t round, std::string_view wire,
                             wire::tail end, time_point now, node_mask mask) {
    fan_out result;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        if ((mask >> i & 1U) == 0) continue;
        if (auto why = sessions_[i]->submit(call_ptr(&what), round, wire, end, now)) {
            result.failures.emplace_back(i, std::move(*why));
        } else {
            result.sent |= node_mask{1} << i;
        }
    }
    return result;
}

void engine::release_in_background(footprint what, bool waits_on, time_point now) {
    // Also while closing: it is what closing is for.
    const operation_ptr release(new background_release(std::move(what), waits_on));
    enlist(*release);
    release->start(now);
}

void engine::await_settled(operation& what, time_point now) {
    if (tracker_->is_settled()) return what.on_settled(now);
    unsettled_.emplace_back(&what);
}

void engine::on_settled(time_point now) {
    for (const auto& what : std::exchange(unsettled_, {})) what->on_settled(now);
}

void engine::on_clock_gap(duration gap, time_point now) {
    const auto length = std::chrono::ceil<microseconds>(gap);
    emit({.kind = event_kind::clock_gap, .severity = severity::warning, .duration = length,
          .detail = "this machine's clock stood still, as in a virtual machine that was paused; "
                    "every lease ends earlier by that"});
    for (operation& what : operations_) what.shorten(gap);
    // A lease that is lost by it leaves the list.
    std::vector<held_lease_ptr> held;
    for (held_lease& lease : held_leases_) held.emplace_back(&lease);
    for (const held_lease_ptr& lease : held) lease->shorten(gap, now);
}

void engine::renew(held_lease& what) {
    // It may become due again while it waits here, since the holder may extend it. A round must not
    // name it twice: the second answer would deny its own key.
    if (std::exchange(what.is_due_, true)) return;
    due_.push({what.machine().report_at(), held_lease_ptr(&what)});
}

// Many leases are due together, and all at once they would be answered too late.
void engine::renew_due(time_point now) {
    while (!due_.empty() && renewals_.has_room()) {
        const auto round = boost::intrusive_ptr<renewal_round>(new renewal_round);
        while (!due_.empty() && round->take(due_.top().lease)) {
            due_.top().lease->is_due_ = false;
            due_.pop();
        }
        renewals_.enter();
        begin(round, now);
    }
}

drift_policy engine::drift() const noexcept {
    return {options_->drift_factor, options_->drift_min};
}

void engine::emit(const event& e) const {
    if (!options_->on_event) return;
    try {
        options_->on_event(e);
    } catch (...) {
        // An observer that fails must not take a lock down with it.
    }
}

duration engine::time_for(std::size_t nodes) const noexcept {
    std::array<duration, max_nodes> each{};
    const auto end = std::transform(sessions_.begin(), sessions_.end(), each.begin(),
                                    [](const auto& s) { return s->node_timeout(); });
    const auto nth = each.begin() + static_cast<std::ptrdiff_t>(nodes - 1);
    std::nth_element(each.begin(), nth, end);
    return *nth;
}

void engine::on_greeted(std::size_t node, const greeting& told, time_point began,
                        time_point now) {
    const duration wanted_in = time_for(redlock::quorum(size()));
    renewals_.set_node_timeout(wanted_in);
    admission_.set_node_timeout(wanted_in);
    const node_mask one = node_mask{1} << node;
    const std::string late = sessions_[node]->lateness();
    if (!late.empty() && (reported_late_ & one) == 0) {
        reported_late_ |= one;
        emit({.kind = event_kind::node_reported, .severity = severity::warning,
              .node = names_[node], .error = errc::timed_out, .detail = late});
    }
    tracker_->on_greeted(node, told, began, now);
}

void engine::on_node_up(std::size_t node, duration took, time_point now) {
    emit({.kind = event_kind::node_up, .severity = severity::info, .node = names_[node],
          .duration = std::chrono::duration_cast<microseconds>(took)});
    tracker_->on_node_up(now);
}

void engine::on_node_down(std::size_t node, const wire::failure& why, time_point now) {
    emit({.kind = event_kind::node_down, .severity = severity::warning, .node = names_[node],
          .error = why.error, .detail = why.detail});
    tracker_->on_node_down(node, now);
}

void engine::on_release_owed(std::size_t node) {
    emit({.kind = event_kind::release_owed, .severity = severity::info, .node = names_[node]});
}

void engine::on_listening(std::size_t node, time_point now) {
    reported_deaf_ &= ~(node_mask{1} << node);
    remote_queue_.on_listening(node, now);
}

void engine::on_deaf(std::size_t node, const wire::failure& why, time_point) {
    if ((reported_deaf_ >> node & 1U) != 0) return;
    reported_deaf_ |= node_mask{1} << node;
    std::string detail = "it can't be listened to, so releases by other clients are noticed late";
    if (!why.detail.empty()) detail += ": " + why.detail;
    emit({.kind = event_kind::node_reported, .severity = severity::warning, .node = names_[node],
          .error = why.error, .detail = detail});
}

void engine::on_message(std::size_t node, std::string_view payload, time_point now) {
    remote_queue_.on_message(node, payload, now);
}

client_stats engine::stats() const noexcept {
    client_stats s;
    s.granted = counts_.granted.get();
    s.contended = counts_.contended.get();
    s.no_quorum = counts_.no_quorum.get();
    s.validity_exhausted = counts_.validity_exhausted.get();
    s.cancelled = counts_.cancelled.get();
    s.retries = counts_.retries.get();
    s.second_rounds = counts_.second_rounds.get();
    s.released = counts_.released.get();
    s.lost = counts_.lost.get();
    s.renewals = counts_.renewals.get();
    s.renewal_failures = counts_.renewal_failures.get();
    const auto ended = counts_.ended_leases.get();  // first: the difference is never negative
    s.leases = counts_.begun_leases.get() - ended;
    s.commands = traffic_->commands.get();
    s.writes = traffic_->writes.get();
    s.reads = traffic_->reads.get();
    s.timeouts = traffic_->timeouts.get();
    s.late_replies = traffic_->late_replies.get();
    s.connects = traffic_->connects.get();
    s.disconnects = traffic_->disconnects.get();
    s.owed_releases = traffic_->owed_releases.get();
    return s;
}

}  // namespace redlock::detail
