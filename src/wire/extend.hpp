// Extend, as it is asked and answered; counts nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/acquire.hpp"
#include "wire/compare_answer.hpp"
#include "wire/fenced.hpp"
#include "wire/request.hpp"
#include "wire/resp/reply.hpp"

namespace redlock::wire {

/// Without `fencing` a key that is gone stays gone.
void write_extend(request& out, const lease_request& lease, const fence_terms* fencing);
/// Of a slot.
void write_extend_slot(request& out, const lease_request& lease, const fence_terms* fencing);
/// Of several keys at once.
void write_extend_all(request& out, const lease_request& lease, const fence_terms* fencing);
/// Of a reader.
void write_extend_share(request& out, const lease_request& lease, const fence_terms* fencing);

compare_answer read_extension(const resp::reply& reply);

}  // namespace redlock::wire
