// What is known of a resource, a leader, a node or a list, and when that is a change.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/leader_info.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/result.hpp>

#include <optional>

namespace redlock::detail {

/// Whether a watcher that knows `last` is to learn of `now`, which enough nodes agree on: the
/// resource is taken, free or kept now and was not, or is shared and was not, or it, one of its
/// slots or a share of it has another holder or note. It does not count as a change that a lease
/// was extended, or that the fence which shows is another one of the same lease. Any state is news
/// to a watcher whose `last` was not decided.
bool has_changed_hands(const resource_state& last, const resource_state& now);

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
