// The end of a section in a thread that may block.
// SPDX-License-Identifier: MIT
#include <redlock/with_lock.hpp>

#include "lockable/losing.hpp"

namespace redlock::detail {

blocking_section::~blocking_section() {
    if (has_ended_) return;
    try {
        static_cast<void>(end());
    } catch (...) {
        // Out of memory: the lease's own destructor releases it in the background.
    }
}

refusal blocking_section::end() {
    has_ended_ = true;
    if (!held_) await_report(held_);
    const section_end end(held_);
    const auto released = client_->release(std::move(held_));
    return end.after_release(released ? error_code() : released.error());
}

}  // namespace redlock::detail
