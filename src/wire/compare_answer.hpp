// The answer to a command that acts only where the key is its own; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum/tally.hpp"
#include "wire/failure.hpp"

#include <cstdint>

namespace redlock::wire {

/// The answer to release.lua, or to extend.lua for one lease: yes, no, or unable with its cause.
struct compare_answer {
    core::choice choice = core::choice::unable;
    failure why{};  // when unable
    /// From extend.lua, where it refused the fence: the highest that the node has seen.
    std::uint64_t fence = 0;
};

}  // namespace redlock::wire
