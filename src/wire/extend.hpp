// Extend, as it is asked for many leases and answered for each; counts nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/acquire.hpp"
#include "wire/compare_answer.hpp"
#include "wire/fenced.hpp"
#include "wire/resp/reply.hpp"
#include "wire/resp/scripts.hpp"
#include "wire/tail.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace redlock::wire {

/// Returns what the session has to put behind it. Without `fencing` a key that is gone stays gone.
tail write_extend(std::string& out, resp::script_form form, std::span<const lease_request> leases,
                  const fence_terms* fencing);

/// The answer for one lease.
compare_answer read_extension(const resp::reply& reply, std::size_t lease);

}  // namespace redlock::wire
