// Sharing a lease that its holder has alone; knows no timers.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/extend.hpp"

#include <memory>
#include <utility>

namespace redlock::detail {

/// One extension, by the request of a reader: each node makes a reader of the writer whose key it
/// is. From when it is sent the lease promises no more than a reader's does, whatever is answered,
/// since no answer may mean that a node has let readers in. Its renewals are a reader's, too, and
/// go on turning the nodes that have not been; its release is, and deletes a writer's key as well.
///
/// Until a node has got one of these requests it keeps readers out: they are granted less than they
/// might be, never more. The lease is valid as far as a quorum of nodes has its key, in whichever
/// form: the change shortens no key's time.
///
/// Its fence stays that of a writer. Readers that come have to exceed what a node had seen when it
/// was turned, and any two quorums have a node in common: their fences are above this one. It is
/// not above theirs, and need not be, as between any two readers.
///
/// Refused, with nothing sent: a lease of several resources or of a slot, or without a fence, whose
/// kinds know no readers; one whose `min_hold` is not over, since readers would come before that;
/// one that was adopted, or whose token another program may have, which would go on prolonging the
/// key, or give it back, as a writer's.
class downgrade_operation : public holders_extension {
public:
    explicit downgrade_operation(std::shared_ptr<lease_state> state)
        : holders_extension(std::move(state)) {}
    void start(time_point now) final;

private:
    void on_end(held_lease* lease, error_code outcome, time_point now) final;
};

}  // namespace redlock::detail
