// One of the places of a semaphore; knows no key.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace redlock {

struct slot_number {
    std::uint16_t number = 0;
    std::uint16_t of = 0;  ///< So many there are; 0: it is the resource itself.
};

}  // namespace redlock
