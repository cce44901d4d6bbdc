// A kind of lock: how one node is asked for it, and how the answers read; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/acquire.hpp"
#include "wire/compare_answer.hpp"
#include "wire/fenced.hpp"
#include "wire/queue_entry.hpp"
#include "wire/release.hpp"
#include "wire/request.hpp"
#include "wire/resp/reply.hpp"

namespace redlock::wire {

/// All that the operations know of a kind. Another kind brings its requests, one of these, and the
/// option by which callers ask for it.
///
/// Kinds exclude each other on a node without knowing each other: each takes the key of the
/// resource only where that is free, and gives back, or prolongs, only what holds its own value.
struct lock_kind {
    /// A grant leaves a fence beside the key, and waiters stand in a queue there. What takes the key
    /// names the node record, a time limit and a fence.
    bool is_fenced;
    /// Several may hold the key at once, all of this kind.
    bool is_shared;

    void (*write_acquire)(request& out, const lease_request& lease, const fence_terms* fencing,
                          const queue_entry* entry);
    acquire_answer (*read_acquire)(const resp::reply& reply);

    void (*write_extend)(request& out, const lease_request& lease, const fence_terms* fencing);
    compare_answer (*read_extension)(const resp::reply& reply);

    void (*write_release)(request& out, const release_request& what);
    compare_answer (*read_release)(const resp::reply& reply);
};

/// The lock of every Redlock library: `SET key value NX PX ttl`, compare-and-delete and
/// compare-and-expire. It touches no other key, and its users need no right to one.
extern const lock_kind plain_lock;
extern const lock_kind fenced_lock;
/// Of readers, who share the key of a fenced lock.
extern const lock_kind shared_lock;
/// Of those who have several keys at once, or none of them; and the same without fences.
extern const lock_kind set_lock;
extern const lock_kind plain_set_lock;
/// Of those who have one of the slots of a resource, each a fenced lock with a key of its own.
extern const lock_kind slot_lock;

}  // namespace redlock::wire
