// A run inside another of the same resource: finds out whether the outer one holds it, and runs CMD
// under its lock; acquires nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/child.hpp"
#include "tools/nesting.hpp"
#include "tools/run.hpp"

#include <redlock/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::tool {

/// The locks of the runs around this process, by its environment.
std::vector<held_lock> locks_around();

/// If an outer run holds what is wanted, by the nodes' word, replaces this process by CMD: so CMD
/// is in the process group that the outer run ends when its lease is lost. Returns the exit status
/// if that fails or would be a deadlock; nothing if the run has to acquire its own lock.
std::optional<int> run_under_outer_lock(const run_request& request, const configuration& from,
                                        const inherited_signals& given);

/// What CMD finds in its environment. `slot`: of a lock that is one. `note`: of the lock, or empty.
environment variables_for(const std::vector<std::string>& resources, const held_lock& lock,
                          std::optional<std::uint16_t> slot, const std::string& note,
                          const std::vector<held_lock>& all);

}  // namespace redlock::tool
