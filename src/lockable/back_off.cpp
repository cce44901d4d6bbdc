// The pauses after terms that end at once.
// SPDX-License-Identifier: MIT
#include "lockable/back_off.hpp"

#include <algorithm>
#include <utility>

namespace redlock::detail {

std::chrono::milliseconds back_off::after(std::chrono::nanoseconds term,
                                          std::uint64_t random) noexcept {
    if (term >= at_once) {
        next_ = first;
        return std::chrono::milliseconds(0);
    }
    const auto pause = std::exchange(next_, std::min(2 * next_, longest));
    const auto jitter = random % (static_cast<std::uint64_t>(pause.count() / 2) + 1);
    return pause - std::chrono::milliseconds(jitter);
}

}  // namespace redlock::detail
