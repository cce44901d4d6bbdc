// What a semaphore acquires its slots with; knows no client.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>
#include <redlock/options.hpp>

#include <cstdint>
#include <string_view>

namespace redlock::detail {

/// `options` for one of so many slots. Throws `std::invalid_argument`, which names the class of the
/// `semaphore`, if there can't be so many.
REDLOCK_EXPORT acquire_options slot_terms(acquire_options options, std::uint16_t slots,
                                          std::string_view semaphore);

}  // namespace redlock::detail
