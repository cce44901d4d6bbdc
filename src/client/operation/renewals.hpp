// Which leases are due for renewal, and when a round of them goes out; knows no answers.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/extend.hpp"
#include "client/lease/held_lease.hpp"
#include "core/load/window.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <queue>

namespace redlock::detail {

/// Many leases are due together, and all at once they would be answered too late. They go in
/// rounds, the most urgent first, and a window bounds how many rounds are under way.
class renewals {
public:
    explicit renewals(duration node_timeout) noexcept
        : window_(node_timeout, 1, 2, core::window::growth::steady) {}

    /// From now on a quorum of nodes answers within so much time, if ever.
    void set_node_timeout(duration t) noexcept { window_.set_node_timeout(t); }
    /// The lease is due: it goes with others at the next `next_round` that has room.
    void add(held_lease& what);
    /// The round to begin now, of those that are due; null where none is due or the window is full.
    boost::intrusive_ptr<renewal_round> next_round();
    void clear() noexcept { due_ = {}; }
    core::window& window() noexcept { return window_; }

private:
    struct due_renewal {
        time_point needed_by;
        held_lease_ptr lease;
        bool operator<(const due_renewal& other) const noexcept {
            return needed_by > other.needed_by;
        }
    };
    std::priority_queue<due_renewal> due_;
    core::window window_;  // on the rounds under way
};

}  // namespace redlock::detail
