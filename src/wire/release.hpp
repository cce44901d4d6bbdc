// Release requests and their answers; counts nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/slot.hpp"
#include "value/time.hpp"
#include "wire/compare_answer.hpp"
#include "wire/fenced.hpp"
#include "wire/keys.hpp"
#include "wire/lock_kind.hpp"
#include "wire/queue_entry.hpp"
#include "wire/request.hpp"
#include "wire/resp/reply.hpp"

#include <string_view>

namespace redlock::wire {

/// One key that is given back.
struct release_request {
    std::string_view key;
    std::string_view value;
    std::string_view key_prefix{};  ///< The rest is not for a plain lock.
    const queue_entry* entry = nullptr;
    const fence_terms* raise = nullptr;  ///< So that nothing below can take the key any more.
    slot_number slot{};  ///< Of which that is the key.
    more_keys others{};  ///< That are given back with it.
    duration keep{};  ///< For so long the key stays in the way of others; zero: it is deleted.
    bool never_prolongs = false;  ///< It stays no longer than it would without the release.
    bool cuts_fence = false;  ///< The node may keep the fence for longer than it is needed.
    duration note{};  ///< For so long no process may take the key again for the value; zero: any may.
};

/// Compares and deletes, or has the key run out, raises the fence where it has to, and wakes a waiter.
/// Of a reader the key goes with the last of them. The note of a lease that has one goes.
void write_release(const lock_kind& kind, request& out, const release_request& what);
compare_answer read_release(const resp::reply& reply);

}  // namespace redlock::wire
