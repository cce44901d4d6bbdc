// The answer to a command that acts only where the key is its own; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum/tally.hpp"
#include "wire/failure.hpp"

#include <cstdint>

namespace redlock::wire {

/// The answer to a release or an extension: yes, no, or unable with its cause.
struct compare_answer {
    core::choice choice = core::choice::unable;
    failure why{};  // when unable
    /// From an extension, where the node refused the fence: the highest that it has seen.
    std::uint64_t fence = 0;
    /// From an extension: an operator took the key from the lease, or another process released it.
    bool is_revoked = false;
};

}  // namespace redlock::wire
