// What a lease and its client share about one lock.
// SPDX-License-Identifier: MIT
#include "client/lease/lease_state.hpp"

#include <cassert>

namespace redlock::detail {

void farewell::deliver() {
    assert(about_ && to_ != nullptr);
    const auto about = std::move(about_);
    to_->on_farewell(*about, what_);
}

bool lease_state::is_valid(clock::time_point now) noexcept {
    if (!is_live()) return false;
    auto until = valid_until_.load(std::memory_order_acquire);
    while ((until & seen_over) == 0) {
        if (now.time_since_epoch().count() < until) return true;
        if (valid_until_.compare_exchange_weak(until, until | seen_over,
                                               std::memory_order_acq_rel)) {
            break;
        }
    }
    return false;
}

bool lease_state::set_end(clock::time_point until) noexcept {
    auto before = valid_until_.load(std::memory_order_acquire);
    while ((before & seen_over) == 0) {
        if (valid_until_.compare_exchange_weak(before, as_open(until),
                                               std::memory_order_acq_rel)) {
            return true;
        }
    }
    return false;
}

// It is noted first: a lease that ends meanwhile has either seen the note, or is over here.
std::string lease_state::token() const {
    if (!is_live()) return {};
    tokens_out_.fetch_or(1, std::memory_order_acq_rel);
    return is_live() ? wire::write_token(resources(), fence, proof) : std::string();
}

bool lease_state::lose(loss why) {
    lost_for_.store(why, std::memory_order_release);
    if (!leave(status::lost)) return false;
    alert();
    return true;
}

void lease_state::alert() {
    std::optional<std::stop_source> alarm;
    {
        const std::lock_guard lock(alarm_mutex_);
        alerted_ = true;
        alarm = alarm_;
    }
    // Outside the lock: callbacks run here, and may ask for the token again.
    if (alarm) alarm->request_stop();
}

std::stop_token lease_state::lost_token() {
    if (!born_.is_here()) {  // where another thread of the parent may hold the mutex for good
        std::stop_source over;
        over.request_stop();
        return over.get_token();
    }
    const std::lock_guard lock(alarm_mutex_);
    if (!alarm_) {
        alarm_.emplace();
        if (alerted_) alarm_->request_stop();
    }
    return alarm_->get_token();
}

}  // namespace redlock::detail
