// What an answer of a node is worth as a vote; knows no operation and asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/acquire.hpp"
#include "wire/compare_answer.hpp"
#include "wire/failure.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace redlock::detail {

/// Why an answer of a node is no vote.
struct objection {
    wire::failure why;
    std::chrono::milliseconds left{0};  ///< Until the quarantine is over.
    /// It is the others' fault: too few of them answer to know the time of the cluster.
    bool lacks_quorum = false;
};

/// Every answer that is counted as a vote for or against a lease passes through here, after
/// `node_tracker::judge`:
/// - A node that may have forgotten a lease has no vote: it would grant the lock a second time.
/// - A fence further ahead than any client draws is not believed. One node that lies, or was
///   written to by hand, would raise the fence on all others, until no client could pass it.
struct judgement {
    std::optional<objection> against;
    std::uint64_t highest_fence = 0;  ///< That a client which goes by the rules can have drawn.

    bool is_vote() const noexcept { return !against; }
    bool believes(std::uint64_t fence) const noexcept { return fence <= highest_fence; }

    /// What is left of the answer. A refusal stays as it is: it names its own reason.
    wire::acquire_answer weigh(wire::acquire_answer answer) const;
    wire::compare_answer weigh(wire::compare_answer answer) const;
};

}  // namespace redlock::detail
