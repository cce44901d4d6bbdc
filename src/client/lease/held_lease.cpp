// The client's side of one lease.
// SPDX-License-Identifier: MIT
#include "client/lease/held_lease.hpp"

#include <cassert>
#include <utility>

namespace redlock::detail {

held_lease::held_lease(context& shared, lease_keeper& keeper, std::shared_ptr<lease_state> state,
                       footprint left, core::renewal machine)
    : shared_(&shared),
      keeper_(&keeper),
      state_(std::move(state)),
      left_(std::move(left)),
      machine_(machine) {}

void held_lease::begin() {
    assert(state_ && state_->held_as == nullptr && left_.kind != nullptr);
    state_->held_as = this;
    number_ = shared_->counts().begun_leases.get();
    spread(machine_);
    rearm();
}

void held_lease::begin_span(std::uint64_t parent, time_point now) {
    if (parent == 0) return;
    span_ = shared_->begin_span(span_kind::hold, parent, state_->resource, now, state_->fence);
}

std::uint64_t held_lease::begin_child(span_kind kind, time_point now) {
    return span_ == 0 ? 0 : shared_->begin_span(kind, span_, state_->resource, now);
}

void held_lease::spread(core::renewal& machine) const {
    machine.spread(shared_->leases(), core::renewal::place_of(number_));
}

void held_lease::rearm() noexcept {
    shared_->arm(*this, machine_.is_lost() ? machine_.valid_until() : machine_.deadline());
}

void held_lease::on_due(time_point now) {
    if (machine_.is_lost()) {
        return left_behind().ends_with_validity() ? give_back(errc::lost, now)
                                                  : end(errc::lost, now);
    }
    machine_.touched(state_->touched());
    switch (machine_.on_time(now)) {
        case core::renewal::action::none: rearm(); break;
        case core::renewal::action::lost: lose(now); break;
        case core::renewal::action::renew:
            rearm();
            keeper_->renew(*this);
            break;
    }
}

bool held_lease::share() {
    assert(!is_over() && left_.kind == &wire::fenced_lock);
    if (!state_->share()) return false;
    left_.kind = &wire::shared_lock;
    is_turning_ = true;
    return true;
}

bool held_lease::extended(time_point sent, time_point until, std::optional<duration> new_ttl) {
    assert(!over_);
    core::renewal prolonged = machine_;
    prolonged.extended(sent, until, new_ttl);
    spread(prolonged);
    // The thread may have stood still since it looked at the clock, and the holder was faster.
    if (!state_->set_end(prolonged.valid_until())) return false;
    machine_ = prolonged;
    said_ = {};
    rearm();
    return true;
}

void held_lease::shorten(duration gap, time_point now) {
    if (is_over()) return;
    machine_.shorten(gap);
    state_->shorten_touch(gap);
    refused_.shorten(gap);
    state_->set_end(machine_.valid_until());
    on_due(now);
}

void held_lease::renewal_failed(error_code why, std::string said, time_point now,
                                std::uint64_t random) {
    said_.edit() = std::move(said);
    shared_->counts().renewal_failures.add();
    shared_->emit({.kind = event_kind::renewal_failed,
                   .severity = severity::warning,
                   .resource = state_->resource,
                   .error = why,
                   .detail = *said_});
    if (machine_.renewal_failed(why, now, random) == core::renewal::action::lost) {
        lose(now);
    } else {
        rearm();
    }
}

void held_lease::lose(time_point now) {
    assert(machine_.is_lost() && !over_);
    const loss why = machine_.reason();
    if (!state_->lose(why)) {
        // The holder was faster: its own message is on its way and does the rest.
        return;
    }
    shared_->counts().lost.add();
    if (count_out()) shared_->counts().hold.add(now - machine_.granted_at());
    std::string detail(to_string(why));
    if (why == loss::unreachable && !said_->empty()) detail += ": " + *said_;
    shared_->emit({.kind = event_kind::lost,
                   .severity = severity::error,
                   .resource = state_->resource,
                   .error = errc::lost,
                   .duration = held_for(now),
                   .detail = detail});
    // The keys stay while the holder winds up: nobody else may enter before it is done, or the
    // validity is over.
    rearm();
    tell(why, errc::lost, now);
    shared_->end_span(span_kind::hold, span_, now, errc::lost, {}, to_string(why));
}

void held_lease::end(error_code why, time_point now) {
    if (over_) return;
    over_ = true;
    cancel();
    state_->held_as = nullptr;
    if (count_out()) {
        shared_->counts().hold.add(now - machine_.granted_at());
        shared_->counts().remaining.add(machine_.valid_until() - now);
    }
    keeper_->forget(*this);
    tell(std::nullopt, why, now);
    shared_->end_span(span_kind::hold, span_, now, why == errc::not_held ? error_code() : why);
}

void held_lease::tell(std::optional<loss> lost, error_code why, time_point now) {
    assert(over_ || machine_.is_lost());
    while (!dependents_.empty()) {
        dependent& d = dependents_.front();
        dependents_.pop_front();
        d.on_lease_over(lost, why, now);
    }
}

bool held_lease::count_out() noexcept {
    if (std::exchange(counted_out_, true)) return false;
    shared_->counts().ended_leases.add();
    return true;
}

void held_lease::drop() noexcept {
    over_ = true;
    count_out();
    cancel();
    dependents_.clear();
    state_->held_as = nullptr;
    state_->end();
}

void held_lease::give_back(error_code why, time_point now) {
    const std::uint64_t span = begin_child(span_kind::release, now);
    end(why, now);
    keeper_->release_in_background(left_behind(), false, span, now);
}

footprint held_lease::left_behind() const {
    footprint left = left_;
    left.note_token(state_->is_known_elsewhere());
    return left;
}

}  // namespace redlock::detail
