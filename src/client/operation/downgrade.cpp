// Sharing a lease that its holder has alone.
// SPDX-License-Identifier: MIT
#include "client/operation/downgrade.hpp"

#include "client/operation/client_parts.hpp"

namespace redlock::detail {

void downgrade_operation::start(time_point now) {
    const auto [lease, why] = find();
    if (why) return end_unsent(why, now);
    if (lease->is_shared_by_quorum()) return end_unsent({}, now);
    const footprint& left = lease->left();
    if (!left.kind->is_shared) {
        const bool may_share = left.kind == &wire::fenced_lock && !left.began_elsewhere &&
                               left.to_keep(now) == duration::zero();
        if (!may_share || !lease->share()) return end_unsent(errc::invalid_argument, now);
    }
    add(lease, lease->machine().ttl(), false);
    begin_spans(span_kind::downgrade, now);
    // Behind it on the same connections: readers of this client that wait.
    client().local.shared(lease->state().resource);
    send(now);
}

void downgrade_operation::on_end(held_lease* lease, error_code outcome, time_point now) {
    if (lease != nullptr && !outcome) lease->note_shared();
    holders_extension::on_end(lease, outcome, now);
}

}  // namespace redlock::detail
