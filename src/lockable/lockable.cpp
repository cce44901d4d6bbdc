// Lock, unlock, and which of them reports a loss.
// SPDX-License-Identifier: MIT
#include "lockable/lockable.hpp"

#include "lockable/granting.hpp"
#include "lockable/losing.hpp"

#include <exception>
#include <utility>

namespace redlock::detail {

void lockable::lock(lock_mode mode) {
    if (arrive() == holds::standing::held) {
        if (nesting_ == nesting::refused) fail(errc::would_deadlock, resource_);
        return;
    }
    begin(acquire_or_throw(*client_, resource_, options(mode)));
}

bool lockable::try_lock(std::chrono::milliseconds wait, lock_mode mode) {
    if (arrive() == holds::standing::held) return nesting_ == nesting::counted;
    lease granted = acquire_within(wait, *client_, resource_, options(mode));
    if (!granted) return false;
    begin(std::move(granted));
    return true;
}

void lockable::unlock() {
    const auto thread = this_thread_number();
    const bool may_throw = std::uncaught_exceptions() == 0;
    holds::departure done = [&] {
        const std::lock_guard lock(gate_);
        return holds_.depart(thread, may_throw);
    }();
    switch (done.what) {
        case holds::leaving::level:
        case holds::leaving::excused: return;
        case holds::leaving::not_held: fail(errc::not_held, resource_);
        case holds::leaving::lost: await_report(done.ended); fail(errc::lost, resource_);
        case holds::leaving::hold: break;
    }
    if (release_held(*client_, std::move(done.ended))) return;
    {
        const std::lock_guard lock(gate_);
        holds_.note_loss(thread, may_throw);
    }
    if (may_throw) fail(errc::lost, resource_);
}

void lockable::share() {
    const lease* const held = [&] {
        const std::lock_guard lock(gate_);
        return holds_.find(this_thread_number());
    }();
    if (held == nullptr) fail(errc::not_held, resource_);
    const auto done = client_->downgrade(*held);
    // After any other error it is shared, and the client sends the change again, or it is lost.
    for (const errc refusal : {errc::invalid_argument, errc::would_deadlock}) {
        if (!done && done.error() == refusal) fail(refusal, resource_);
    }
}

std::uint64_t lockable::fence() const noexcept {
    const std::lock_guard lock(gate_);
    const lease* const held = holds_.find(this_thread_number());
    return held == nullptr ? 0 : held->fence();
}

std::stop_token lockable::lost_token() const noexcept {
    const std::lock_guard lock(gate_);
    const lease* const held = holds_.find(this_thread_number());
    return held == nullptr ? std::stop_token() : held->lost_token();
}

void lockable::touch() const noexcept {
    const std::lock_guard lock(gate_);
    if (const lease* const held = holds_.find(this_thread_number())) held->touch();
}

acquire_options lockable::options(lock_mode mode) const {
    acquire_options out = options_.get();
    out.mode = mode;
    return out;
}

// Throws if the thread's last hold was lost. Goes one level deeper where that is allowed.
holds::standing lockable::arrive() {
    const auto thread = this_thread_number();
    holds::arrival now = [&] {
        const std::lock_guard lock(gate_);
        holds::arrival found = holds_.arrive(thread);
        if (found.what == holds::standing::held && nesting_ == nesting::counted) {
            holds_.deepen(thread);
        }
        return found;
    }();
    if (now.what == holds::standing::lost) {
        await_report(now.ended);
        fail(errc::lost, resource_);
    }
    return now.what;
}

void lockable::begin(lease granted) {
    const std::lock_guard lock(gate_);
    holds_.begin(this_thread_number(), std::move(granted));
}

}  // namespace redlock::detail
