// A kind of lock: how one node is asked for it, and how the answers read; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/acquire.hpp"
#include "wire/compare_answer.hpp"
#include "wire/fenced.hpp"
#include "wire/queue_entry.hpp"
#include "wire/release.hpp"
#include "wire/resp/reply.hpp"
#include "wire/resp/scripts.hpp"
#include "wire/tail.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace redlock::wire {

/// All that the operations know of a kind. Another kind brings its scripts, one of these, and the
/// option by which callers ask for it.
///
/// Kinds exclude each other on a node without knowing each other: each takes the key of the
/// resource only where that is free, and gives back, or prolongs, only what holds its own value.
struct lock_kind {
    /// A grant leaves a fence beside the key, and waiters stand in a queue there. The commands that
    /// take the key name the node record, a time limit and a fence.
    bool is_fenced;

    tail (*write_acquire)(std::string& out, resp::script_form form, const lease_request& lease,
                          const fence_terms* fencing, const queue_entry* entry);
    acquire_answer (*read_acquire)(const resp::reply& reply);

    tail (*write_extend)(std::string& out, resp::script_form form,
                         std::span<const lease_request> leases, const fence_terms* fencing);
    compare_answer (*read_extension)(const resp::reply& reply, std::size_t lease);

    tail (*write_release)(std::string& out, resp::script_form form, const release_request& what);
    compare_answer (*read_release)(const resp::reply& reply);
};

/// The lock of every Redlock library: `SET key value NX PX ttl`, compare-and-delete and
/// compare-and-expire. It touches no other key, and its users need no right to one.
extern const lock_kind plain_lock;
extern const lock_kind fenced_lock;

}  // namespace redlock::wire
