// For how long a node may keep a key, by its record; knows no key.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/eligibility.hpp"
#include "value/quorum.hpp"
#include "value/time.hpp"

#include <chrono>

namespace redlock::core {

/// The longest lease that the record of a node allows, where the nodes are guarded against lost
/// data. A key that stayed for longer could outlive the quarantine of another node. A node without
/// a record has no vote yet: what it keeps endangers nothing.
class keep_limit {
public:
    void set(const record_facts& record, bool is_guarded) noexcept {
        const bool has_limit = record.exists && record.ttl_max > record.ttl_max.zero();
        limit_ = has_limit && is_guarded ? record.ttl_max : std::chrono::milliseconds::max();
    }
    bool allows(duration keeps_for) const noexcept { return keeps_for <= limit(); }
    std::chrono::milliseconds ttl_max() const noexcept { return limit_; }

private:
    duration limit() const noexcept {
        return limit_ == limit_.max() ? duration::max() : duration(limit_);
    }

    std::chrono::milliseconds limit_ = std::chrono::milliseconds::max();  // or there is none
};

}  // namespace redlock::core
