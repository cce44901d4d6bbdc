// How many requests may be at the nodes at once.
// SPDX-License-Identifier: MIT
#include "core/load/window.hpp"

#include <algorithm>
#include <cassert>

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
    quick_answers_ = 0;
    ++size_;
}

// A request from before it shrank says nothing of the size that it has since.
void window::shrink(time_point sent, time_point now) noexcept {
    if (sent <= shrunk_at_) return;
    shrunk_at_ = now;
    growth_ = growth::steady;
    quick_answers_ = 0;
    size_ = std::max(least_, size_ * 3 / 4);
}

}  // namespace redlock::core
