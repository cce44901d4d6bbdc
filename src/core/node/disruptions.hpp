// Which connections broke and which nodes forgot, in order; knows no time and no reason.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/lock/traces.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::core {

/// Decides whether a release has to raise the fence. What lay in the buffer of a connection that
/// broke may still be executed by the node, after the release that was sent on the next connection:
/// a plain release would let such an acquire take the key again, for a holder that is gone.
class disruptions {
public:
    explicit disruptions(std::size_t nodes) : nodes_(nodes) {}

    void broke(std::size_t node) { at(node).broke_at = ++count_; }
    /// Its record is another: it has forgotten, and executes nothing that was sent before.
    void forgot(std::size_t node) { at(node).forgot_at = ++count_; }
    std::uint64_t so_far() const noexcept { return count_; }

    /// Whether a command of those traces may still arrive at the node out of order. What was sent
    /// under another record can't take anything any more, and a fence that the node has forgotten
    /// counts as more than what was written down then. So only a break since then can hide something
    /// that still can.
    bool may_arrive_late(std::size_t node, const traces& of) const noexcept {
        assert(node < nodes_.size());
        const facts& f = nodes_[node];
        const bool has_broken = f.broke_at > std::max(of.born, f.forgot_at);
        return of.highest_fence != 0 && (has_broken || of.began_elsewhere);
    }

private:
    struct facts {
        std::uint64_t broke_at = 0;
        std::uint64_t forgot_at = 0;
    };
    facts& at(std::size_t node) noexcept {
        assert(node < nodes_.size());
        return nodes_[node];
    }

    std::vector<facts> nodes_;
    std::uint64_t count_ = 0;
};

}  // namespace redlock::core
