// Limits how many acquires that do not wait are at the nodes at once.
// SPDX-License-Identifier: MIT
#include "core/load/admission.hpp"

#include <utility>

namespace redlock::core {

admission::answer admission::apply(applicant& a) noexcept {
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
