// What a semaphore acquires its slots with.
// SPDX-License-Identifier: MIT
#include <redlock/detail/slot_terms.hpp>

#include <stdexcept>
#include <string>

namespace redlock::detail {

acquire_options slot_terms(acquire_options options, std::uint16_t slots,
                           std::string_view semaphore) {
    // 0 would be the resource itself, which is another lock.
    if (slots == 0 || slots > max_slots) {
        throw std::invalid_argument("redlock::" + std::string(semaphore) +
                                    ": slots must be 1 to " + std::to_string(max_slots));
    }
    options.mode = lock_mode::exclusive;
    options.slots = slots;
    return options;
}

}  // namespace redlock::detail
