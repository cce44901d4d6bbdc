// Which failures of a node's connection are news; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace redlock::core {

/// A node that stays away fails at each try, about once a second. Reported are the first failure of
/// each cause, and then, once a minute, that it goes on.
class outage {
public:
    static constexpr duration between_summaries = std::chrono::minutes(1);
    /// Further causes wait for the next summary.
    static constexpr std::size_t most_causes = 8;

    /// How many tries have failed since the last report, this one included, where this failure is
    /// to be reported; 0 where it is not.
    std::uint64_t failed(const error_code& why, time_point now) {
        ++tries_;
        const bool is_known = std::find(causes_.begin(), causes_.end(), why) != causes_.end();
        const bool is_news = !is_known && causes_.size() < most_causes;
        if (!is_news && now - reported_at_ < between_summaries) return 0;
        if (is_news) causes_.push_back(why);
        reported_at_ = now;
        return std::exchange(tries_, 0);
    }
    void ended() noexcept {
        causes_.clear();
        tries_ = 0;
    }

private:
    std::vector<error_code> causes_;
    std::uint64_t tries_ = 0;  // since the last report
    time_point reported_at_{};
};

}  // namespace redlock::core
