// Waiting for a lease to be lost.
// SPDX-License-Identifier: MIT
#include "client/operation/lost.hpp"

#include "client/operation/client_parts.hpp"

#include <cassert>

namespace redlock::detail {

void lost_operation::start(time_point) {
    const auto state = std::move(state_);
    if (!state || state->home.lock() != client().host.home()) {
        return end(errc::invalid_argument, {});
    }
    if (state->state() == lease_state::status::lost) return end({}, state->lost_for());
    if (state->held_as == nullptr) return end(errc::not_held, {});
    state->held_as->add(*this);
}

void lost_operation::on_lease_over(std::optional<loss> lost, error_code why, time_point) {
    assert(!over_ && (lost || why));
    if (lost) {
        end({}, *lost);
    } else {
        end(why, {});
    }
}

void lost_operation::cancel(error_code why, time_point) { end(why, {}); }

void lost_operation::end(error_code outcome, loss why) {
    if (over_) return;
    over_ = true;
    part();
    client().host.finished(*this);
    complete(outcome, why);
}

}  // namespace redlock::detail
