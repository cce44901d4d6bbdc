// Which leader the nodes' answers show; sends no command.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/leader_info.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/result.hpp>

#include <optional>

namespace redlock::detail {

/// What a campaign acquires the resource with, where the caller gave `options`: the longest wait
/// if that names none, and for one holder alone.
acquire_options candidacy(acquire_options options);

/// The holder of the resource; empty if a quorum of nodes answered and shows no exclusive holder.
/// `errc::no_quorum` if too few nodes answered.
result<std::optional<leader_info>> leader_of(const resource_state& shown);

/// Whether an observer that knows `last` is to learn of `now`: the leader is another one, or the
/// same one was elected again. How long it has led makes no difference.
bool is_change(const std::optional<leader_info>& last, const std::optional<leader_info>& now);

}  // namespace redlock::detail
