// Extend requests and their answers; counts nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/acquire.hpp"
#include "wire/compare_answer.hpp"
#include "wire/fenced.hpp"
#include "wire/lock_kind.hpp"
#include "wire/request.hpp"
#include "wire/resp/reply.hpp"

namespace redlock::wire {

/// Without `fencing` a key that is gone stays gone. `prolongs_fence`: as well as the key.
void write_extend(const lock_kind& kind, request& out, const lease_request& lease,
                  const fence_terms* fencing, bool prolongs_fence = false);
compare_answer read_extension(const resp::reply& reply);

}  // namespace redlock::wire
