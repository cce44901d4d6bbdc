// How many requests may be at the nodes at once.
// SPDX-License-Identifier: MIT
#include "core/load.hpp"

#include <algorithm>
#include <utility>

namespace redlock::core {

void window::enter() noexcept {
    assert(has_room());
    if (inside_ == 0) quickest_ = duration::max();
    ++inside_;
}

void window::answered(time_point sent, time_point now) noexcept {
    const bool was_full = !has_room();
    leave();
    const duration took = now - sent;
    // The way has become longer: what is so little does not wait for itself.
    if (size_ == least_ && took - quickest_ > patience_) quickest_ = took;
    quickest_ = std::min(quickest_, took);
    if (took - quickest_ > patience_)
        shrink(sent, now);
    else if (was_full)
        grow();
}

void window::unanswered(time_point sent, time_point now) noexcept {
    leave();
    if (now - sent > patience_) shrink(sent, now);
}

void window::grow() noexcept {
    if (growth_ == growth::steady && ++quick_answers_ < 8) return;
    assert(quick_answers_ <= 8);
    quick_answers_ = 0;
    ++size_;
}

// A request from before it shrank says nothing of the size that it has since.
void window::shrink(time_point sent, time_point now) noexcept {
    assert(size_ >= least_ && least_ > 0);
    if (sent <= shrunk_at_) return;
    shrunk_at_ = now;
    growth_ = growth::steady;
    quick_answers_ = 0;
    size_ = std::max(least_, size_ * 3 / 4);
}

admission::answer admission::apply(applicant& a) noexcept {
    assert(a.state_ == applicant::state::away);
    if (held_up_.size() >= most_held_up) return answer::go_away;
    if (!held_up_.empty() || !window_.has_room()) {
        held_up_.push_back(a);
        a.state_ = applicant::state::held_up;
        return answer::wait;
    }
    window_.enter();
    a.state_ = applicant::state::inside;
    return answer::enter;
}

// True where it was inside.
bool admission::leave(applicant& a) noexcept {
    const auto was = std::exchange(a.state_, applicant::state::away);
    assert((was == applicant::state::held_up) == a.listed_.is_linked());
    if (was == applicant::state::held_up) held_up_.erase(held_up_.iterator_to(a));
    return was == applicant::state::inside;
}

void admission::answered(applicant& a, time_point sent, time_point now) noexcept {
    if (leave(a)) window_.answered(sent, now);
}

void admission::unanswered(applicant& a, time_point sent, time_point now) noexcept {
    if (leave(a)) window_.unanswered(sent, now);
}

void admission::withdraw(applicant& a) noexcept {
    if (leave(a)) window_.leave();
}

void admission::admit(time_point now) {
    while (!held_up_.empty() && window_.has_room()) {
        applicant& first = held_up_.front();
        assert(first.state_ == applicant::state::held_up);
        held_up_.pop_front();
        window_.enter();
        first.state_ = applicant::state::inside;
        first.on_admitted(now);
    }
}

void admission::clear() noexcept {
    while (!held_up_.empty()) leave(held_up_.front());
}

}  // namespace redlock::core
