// How a function that ran under a lease ended, by what the lease and its release say.
// SPDX-License-Identifier: MIT
#include <redlock/detail/section.hpp>

#include "client/lease/lease_state.hpp"

#include <redlock/clock.hpp>

#include <string>
#include <utility>

namespace redlock::detail {

namespace {

refusal lost(std::string because) { return {errc::lost, {}, std::move(because)}; }

std::string sentence(loss why) {
    switch (why) {
        case loss::expired: return "expired: its validity ended without a renewal";
        case loss::taken: return "taken: a quorum says that the key is gone or another owner's";
        case loss::unreachable:
            return "unreachable: no renewal reached a quorum before its validity ended";
        case loss::max_hold: return "max_hold: it was held for as long as that allows";
        case loss::stalled: return "stalled: touch() was not called for as long as watchdog says";
    }
    return std::string(to_string(why));
}

}  // namespace

refusal why_over(const lease& held) {
    const auto& state = held.state();
    if (!state) return {errc::not_held, {}};
    if (state->state() == lease_state::status::lost) return lost(sentence(state->lost_for()));
    if (held) return {};
    // The client ended it: it was closed, or is the parent process's. Or the clock is ahead of it.
    return state->is_live() ? lost("expired: its validity ended before the client could report it")
                            : refusal{errc::client_closed, {}};
}

refusal section_end::after_release(error_code outcome) const {
    if (state_->state() == lease_state::status::lost) return lost(sentence(state_->lost_for()));
    if (before_.code) return before_;
    // Of keys that are gone since the validity ended meanwhile nothing follows.
    if (outcome == errc::not_held && clock::now() < state_->valid_until()) {
        return lost("taken: a quorum says at the release that the key was not this lease's");
    }
    return {};
}

}  // namespace redlock::detail
