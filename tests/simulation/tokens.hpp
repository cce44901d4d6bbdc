// The tokens of leases that programs hand to each other; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::simulation {

struct handed_token {
    std::string text;
    std::string value;                   ///< Of the lease's keys.
    std::vector<std::string> keys;
    std::vector<std::size_t> resources;  ///< By their numbers.
    milliseconds min_hold{};
};

/// Where programs leave tokens for each other. A token may be used twice, or long after its lease.
class token_box {
public:
    void put(handed_token one) {
        if (tokens_.size() == most) tokens_.pop_front();
        tokens_.push_back(std::move(one));
    }
    /// One of them, which mostly is gone then.
    std::optional<handed_token> take(chance& dice) {
        if (tokens_.empty()) return std::nullopt;
        const auto at = tokens_.begin() + static_cast<std::ptrdiff_t>(dice.below(tokens_.size()));
        handed_token out = *at;
        if (dice.happens(0.7)) tokens_.erase(at);
        return out;
    }

private:
    static constexpr std::size_t most = 8;
    std::deque<handed_token> tokens_;
};

}  // namespace redlock::simulation
