// What operations use of their client, part by part; takes no decision.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/context.hpp"
#include "client/base/footprint.hpp"
#include "client/lease/held_lease.hpp"
#include "client/node/node_sessions.hpp"
#include "client/node/node_tracker.hpp"
#include "client/base/operation.hpp"
#include "client/base/owner_claims.hpp"
#include "client/wait/remote_queue.hpp"
#include "core/load/admission.hpp"
#include "core/wait/local_queue.hpp"

#include <memory>

namespace redlock::detail {

/// Keeps the operations, and the leases that they are granted.
class operation_host : public lease_keeper {
public:
    /// The operation is forgotten. Called before its completion is handed over, which may throw
    /// where memory is short.
    virtual void finished(operation& what) noexcept = 0;
    /// Begins what another operation, or the client itself, needs done.
    virtual void begin(operation_ptr what, time_point now) = 0;
    /// Calls `on_settled` when it is known which nodes may vote: at once, or later.
    virtual void await_settled(operation& what, time_point now) = 0;
    /// Calls `on_closed` when the client is closed, at once if it is. Until then closing does not
    /// end `what`.
    virtual void await_closed(operation& what) = 0;
    virtual void close(time_point now) = 0;
    /// Keeps a lease that was granted.
    virtual void adopt(held_lease_ptr what) = 0;
    /// Gives a lease back in the background, or lets it run out.
    virtual void give_back(lease_state& state, time_point now) = 0;
    virtual void let_go(lease_state& state, time_point now) = 0;
    /// Where the leases of this client go when their holders are done with them.
    virtual std::shared_ptr<lease_home> home() const = 0;

protected:
    ~operation_host() = default;
};

class watches;

struct client_parts {
    context& shared;
    node_sessions& nodes;
    node_tracker& tracker;
    core::local_queues& local;
    remote_queue& remote;
    core::admission& admission;
    owner_claims& owners;
    watches& watched;
    operation_host& host;
};

}  // namespace redlock::detail
