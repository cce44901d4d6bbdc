// The coordinator: operations, leases and nodes put together.
// SPDX-License-Identifier: MIT
#include "client/engine.hpp"

#include "client/release.hpp"
#include "value/nodes.hpp"
#include "wire/request.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::detail {

using std::chrono::microseconds;

engine::engine(const client_options& options, engine_host& host, traffic& traffic)
    : host_(&host),
      traffic_(&traffic),
      shared_(options, host),
      channel_(wire::wake_channel(options.key_prefix, shared_.client_id())),
      renewals_(core::shortest_timeout(options.node_timeout, {})),
      tracker_(shared_, sessions_, *this),
      remote_(shared_, sessions_, listeners_, tracker_, local_),
      admission_(core::shortest_timeout(options.node_timeout, {})),
      parts_{shared_, sessions_, tracker_, local_, remote_, admission_, owners_, watched_, *this},
      watched_(parts_) {
    const std::size_t n = shared_.size();
    session_owner& of_sessions = *this;
    listener_owner& of_listeners = *this;
    for (std::size_t i = 0; i < n; ++i) {
        sessions_.add(std::make_unique<session>(i, options, host.wire(i), of_sessions, traffic));
        listeners_.add(std::make_unique<listener>(i, options, host.wire(n + i), of_listeners,
                                                  channel_));
    }
}

engine::~engine() { discard(); }

void engine::start(time_point now) {
    assert(phase_ == phase::open);
    tracker_.start(now);
    for (const auto& s : sessions_) s->start(now);
}

void engine::enlist(operation& what) {
    assert(what.client_ == nullptr && !what.listed_.is_linked());
    what.client_ = &parts_;
    intrusive_ptr_add_ref(static_cast<call*>(&what));  // the lists', until `drop_finished`
    operations_.push_back(what);
}

void engine::begin(operation_ptr what, time_point now) {
    enlist(*what);
    if (phase_ != phase::open) {
        what->cancel(errc::client_closed, now);
    } else {
        what->start(now);
    }
}

// What calls it may go on to use it: so it lives until the turn is over.
void engine::finished(operation& what) noexcept {
    assert(what.listed_.is_linked());
    what.listed_.unlink();
    finished_.push_back(what);
}

void engine::drop_finished() noexcept {
    while (!finished_.empty()) {
        operation& what = finished_.front();
        finished_.pop_front();
        intrusive_ptr_release(static_cast<call*>(&what));
    }
    while (!ended_leases_.empty()) {
        held_lease& what = ended_leases_.front();
        ended_leases_.pop_front();
        intrusive_ptr_release(&what);
    }
}

void engine::adopt(held_lease_ptr what) {
    assert(!what->listed_.is_linked());
    intrusive_ptr_add_ref(what.get());  // the lists', until `drop_finished`
    shared_.counts().begun_leases.add();
    held_leases_.push_back(*what);
    what->begin();
    for (const std::string& resource : what->state().resources()) watched_.changed(resource);
}

void engine::free_line(held_lease& what) noexcept {
    if (!what.leave_line()) return;
    assert(what.left().kind != nullptr);
    const slot_number slot = what.left().slot;
    const std::size_t places =
        core::local_queues::places_of(what.left().kind->is_shared, slot.of);
    const std::size_t had = std::max<std::size_t>(what.state().proof.all_slots().size(), 1);
    for (const std::string& resource : what.state().resources()) {
        local_.freed(resource, places, slot.number, had);
    }
    what.end_claim();
}

void engine::forget(held_lease& what) noexcept {
    assert(what.listed_.is_linked());
    free_line(what);
    for (const std::string& resource : what.state().resources()) watched_.changed(resource);
    what.listed_.unlink();
    ended_leases_.push_back(what);
}

void engine::close(time_point now) {
    if (phase_ != phase::open) return;
    phase_ = phase::closing;
    tracker_.close();
    remote_.close();
    listeners_.close_for_good();
    watched_.close();
    while (!operations_.empty()) operations_.front().cancel(errc::client_closed, now);
    unsettled_.clear();
    renewals_.clear();
    while (!held_leases_.empty()) {
        held_lease& lease = held_leases_.front();
        const bool was_live = lease.state().end();  // its token is given to nobody any more
        lease.give_back(errc::client_closed, now);
        if (was_live) lease.state().alert();
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
    if (is_over()) return what.on_closed(closed_as_);
    what.listed_.unlink();
    await_end_.push_back(what);
}

void engine::end_turn(time_point now) {
    if (phase_ == phase::closing) begin_to_linger(now);
    while (const auto round = renewals_.next_round()) begin(round, now);
    local_.give_turns(now);
    admission_.admit(now);
    watched_.end_turn(now);
    for (const auto& s : sessions_) s->end_turn();
    drop_finished();
    shared_.own_delay().awaits([this] { return deadline(); }, now);
}

// Counted from the end of the turn, since formatting thousands of releases takes time, too.
void engine::begin_to_linger(time_point now) {
    assert(phase_ == phase::closing && held_leases_.empty());
    phase_ = phase::lingering;
    answers_awaited_from_ = now;
    linger_until_ = now + shared_.options().ttl_max;
    close_timer_at_ = std::min(now + sessions_.time_for_all(), linger_until_);
    shared_.arm(close_timer_, close_timer_at_);
}

// When a node that has not answered everything is given up.
time_point engine::answer_due(const session& node) const noexcept {
    const time_point since = std::max(node.last_answer(), answers_awaited_from_);
    return std::min(since + node.node_timeout(), linger_until_);
}

void engine::on_close_timer(time_point now) {
    // Where this process stood still, answers may have arrived that it has not read yet.
    const bool was_asleep = now - close_timer_at_ > sessions_.time_for_all() / 2;
    if (was_asleep && now < linger_until_) answers_awaited_from_ = now;
    silence_checked_at_ = now;
    close_timer_at_ = time_point::max();
    for (const auto& s : sessions_) {
        const time_point until = answer_due(*s);
        if (!s->is_idle() && until > now) close_timer_at_ = std::min(close_timer_at_, until);
    }
    shared_.arm(close_timer_, close_timer_at_);
    end_if_idle(now);
}

void engine::end_if_idle(time_point now) {
    if (phase_ == phase::open || is_over()) return;
    const bool is_through = std::ranges::all_of(sessions_, [&](const auto& s) {
        return s->is_idle() ||
               (phase_ == phase::lingering && answer_due(*s) <= silence_checked_at_);
    });
    if (is_through) end(now);
}

void engine::end(time_point now) {
    assert(!is_over());
    phase_ = phase::over;
    close_timer_.cancel();
    node_mask silent;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        const leftovers left = sessions_[i].close(now);
        if (left.releases == 0) continue;
        silent.insert(i);
        const std::string detail =
            std::to_string(left.releases) +
            (left.releases == 1 ? " release was" : " releases were") +
            " not answered before the client was closed; a key that is left runs out by its ttl" +
            (left.why.detail.empty() ? "" : ": " + left.why.detail);
        shared_.emit({.kind = event_kind::releases_given_up, .severity = severity::warning,
                      .node = shared_.name(i), .error = left.why.error, .detail = detail});
    }
    if (shared_.lists().prevents_quorum(silent)) closed_as_ = errc::no_quorum;
    while (!await_end_.empty()) await_end_.front().on_closed(closed_as_);
}

void engine::discard() noexcept {
    phase_ = phase::over;
    tracker_.close();
    remote_.clear();
    local_.clear();
    admission_.clear();
    watched_.close();
    renewals_.clear();
    unsettled_.clear();
    while (!held_leases_.empty()) {
        held_lease& lease = held_leases_.front();
        lease.drop();
        forget(lease);
    }
    for (operation_list* list : {&operations_, &await_end_}) {
        while (!list->empty()) {
            operation& what = list->front();
            finished(what);
            what.discard();
        }
    }
    drop_finished();
    sessions_.clear();
    listeners_.clear();
}

void engine::on_time(time_point now) {
    shared_.own_delay().rang(now);
    shared_.all_timers().on_time(now);
    for (const auto& s : sessions_) {
        if (s->deadline() <= now) s->on_time(now);
    }
    for (const auto& l : listeners_) {
        if (l->deadline() <= now) l->on_time(now);
    }
}

time_point engine::deadline() noexcept {
    time_point first = shared_.all_timers().deadline();
    for (const auto& s : sessions_) first = std::min(first, s->deadline());
    for (const auto& l : listeners_) first = std::min(first, l->deadline());
    return first;
}

connection& engine::connection_at(std::size_t index) noexcept {
    assert(index < connections_per_node * size());
    if (index < sessions_.size()) return sessions_[index];
    return listeners_[index - sessions_.size()];
}

void engine::give_back(lease_state& state, time_point now) {
    if (state.held_as == nullptr) return;
    const held_lease_ptr lease(state.held_as);
    if (state.state() != lease_state::status::lost) shared_.counts().released.add();
    lease->give_back(errc::not_held, now);
}

void engine::let_go(lease_state& state, time_point now) {
    if (state.held_as == nullptr) return;
    held_lease_ptr(state.held_as)->end(errc::not_held, now);
}

void engine::release_in_background(footprint what, bool waits_on, time_point now) {
    // Also while closing: it is what closing is for.
    const operation_ptr release(new background_release(std::move(what), waits_on));
    enlist(*release);
    release->start(now);
}

void engine::await_settled(operation& what, time_point now) {
    if (tracker_.known().is_settled()) return what.on_settled(now);
    unsettled_.emplace_back(&what);
}

void engine::on_settled(time_point now) {
    for (const auto& what : std::exchange(unsettled_, {})) what->on_settled(now);
}

void engine::on_clock_gap(duration gap, time_point now) {
    const auto length = std::chrono::ceil<microseconds>(gap);
    shared_.emit({.kind = event_kind::clock_gap, .severity = severity::warning, .duration = length,
                  .detail = "this machine's clock stood still, as in a virtual machine that was "
                            "paused; every lease ends earlier by that"});
    for (operation& what : operations_) what.shorten(gap);
    // A lease that is lost by it leaves the list.
    std::vector<held_lease_ptr> held;
    for (held_lease& lease : held_leases_) held.emplace_back(&lease);
    for (const held_lease_ptr& lease : held) lease->shorten(gap, now);
}

void engine::on_greeted(std::size_t node, const greeting& facts, time_point began,
                        time_point now) {
    const duration wanted_in = sessions_.shortest_time_for_quorum(shared_.lists());
    renewals_.set_node_timeout(wanted_in);
    admission_.set_node_timeout(wanted_in);
    tracker_.on_greeted(node, facts, began, now);
}

void engine::on_node_up(std::size_t node, duration took, time_point now) {
    assert(node < size());
    outages_[node].ended();
    shared_.emit({.kind = event_kind::node_up,
                  .severity = severity::info,
                  .node = shared_.name(node),
                  .duration = std::chrono::duration_cast<microseconds>(took),
                  .begin = now - took});
    tracker_.on_node_up(now);
}

void engine::on_node_down(std::size_t node, const wire::failure& why, time_point now) {
    assert(node < size() && why.answer != vote::granted);
    if (const auto tries = outages_[node].failed(why.error, now); tries > 0) {
        std::string detail = why.detail;
        if (tries > 1) {
            detail += (detail.empty() ? "tried " : "; tried ") + std::to_string(tries) +
                      " times since it was last reported";
        }
        shared_.emit({.kind = event_kind::node_down,
                      .severity = severity::warning,
                      .node = shared_.name(node),
                      .error = why.error,
                      .detail = detail});
    }
    tracker_.on_node_down(node, now);
}

void engine::on_release_owed(std::size_t node) {
    shared_.emit(
        {.kind = event_kind::release_owed, .severity = severity::info, .node = shared_.name(node)});
}

void engine::on_listening(std::size_t node, time_point now) {
    tracker_.reports().report_deafness(node, nullptr);
    remote_.on_listening(node, now);
}

void engine::on_deaf(std::size_t node, const wire::failure& why, time_point) {
    remote_.on_deaf(node, why);
    tracker_.reports().report_deafness(node, &why);
}

void engine::on_message(std::size_t node, std::string_view payload, time_point now) {
    remote_.on_message(node, payload, now);
    watched_.changed(payload);
}

}  // namespace redlock::detail
