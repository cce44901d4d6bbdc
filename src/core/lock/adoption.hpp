// What a lease that another process acquired may have left on the nodes; knows no token and no key.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/lock/traces.hpp"
#include "value/node_mask.hpp"
#include "value/quorum.hpp"
#include "value/time.hpp"

#include <cstdint>
#include <optional>

namespace redlock::core {

/// What is known of such a lease when it is taken over.
struct adopted_lease {
    std::uint64_t fence = 0;    ///< By its token, which anybody may have changed; 0: it has none.
    bool is_plausible = false;  ///< A client that goes by the rules can have drawn the fence.
    /// For how long its keys block others, from when the request for the grant went out; zero: not.
    duration stay{};
    std::optional<std::int64_t> node_time_us{};
    duration clock_tolerance{};  ///< How far from cluster time a clock that votes may be.
};

/// Its keys may be on every node, and commands of the other process on their way to it: a release
/// raises the fence above them. A fence that no client can have drawn goes to no node.
///
/// A fence is drawn at cluster time, so it says how much of `stay` is over. That may be wrong by as
/// much as the clocks of two programs may differ: each of those that vote is at most
/// `clock_tolerance` from the cluster time of either program.
traces traces_of_adopted(const adopted_lease& what, std::uint64_t born, node_mask all,
                         time_point now) noexcept;

}  // namespace redlock::core
