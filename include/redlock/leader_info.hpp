// Which client leads an election, as the nodes show it; sends no command.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace redlock {

/// The leader of an election, by what a quorum of nodes answers.
struct leader_info {
    /// The `client_options::client_name` of the leader. Empty if another library holds the lock.
    std::string name{};
    std::string note{};  ///< Of its campaign (`acquire_options::note`); empty if it has none.
    /// The fence under which it leads, as `resource_state::fence`: it rises from leader to leader.
    std::uint64_t fence = 0;
    /// How long ago it was elected, as `resource_state::held_for`; 0 if the nodes do not show it.
    std::chrono::milliseconds since{0};
};

}  // namespace redlock
