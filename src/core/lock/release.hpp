// One round to give a lease back; knows nothing of what is still owed to nodes that did not answer.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum/tally.hpp"

#include <redlock/error.hpp>

#include <cstddef>

namespace redlock::core {

/// Complete at a quorum of answers, once no quorum can deny it any more, or when that is impossible.
class release {
public:
    explicit release(std::size_t nodes) noexcept : tally_(nodes) {}

    /// yes: deleted; no: the key was not ours, or gone; unable: no answer. True when this completes
    /// the round.
    bool cast(std::size_t node, choice c) noexcept;

    bool complete() const noexcept { return complete_; }
    /// None; not_held: a quorum says that the key was not ours; no_quorum: too few answered.
    error_code outcome() const noexcept { return outcome_; }

private:
    tally tally_;
    bool complete_ = false;
    error_code outcome_;
};

}  // namespace redlock::core
