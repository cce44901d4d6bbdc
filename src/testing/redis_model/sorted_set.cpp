// Members in the order of their scores, as Redis keeps them.
// SPDX-License-Identifier: MIT
#include "testing/redis_model/sorted_set.hpp"

#include <iterator>

namespace redlock::fakes {

bool sorted_set::put(const std::string& member, double score) {
    score += 0.0;  // there is no negative zero
    const auto [at, is_new] = by_member_.try_emplace(member, score);
    if (!is_new) by_score_.erase({at->second, member});
    at->second = score;
    by_score_.emplace(score, member);
    return is_new;
}

bool sorted_set::erase(std::string_view member) {
    const auto at = by_member_.find(member);
    if (at == by_member_.end()) return false;
    by_score_.erase({at->second, at->first});
    by_member_.erase(at);
    return true;
}

std::optional<double> sorted_set::score_of(std::string_view member) const {
    const auto at = by_member_.find(member);
    return at != by_member_.end() ? std::optional(at->second) : std::nullopt;
}

std::optional<std::size_t> sorted_set::rank_of(std::string_view member) const {
    const auto score = score_of(member);
    if (!score) return std::nullopt;
    const auto at = by_score_.find({*score, std::string(member)});
    return static_cast<std::size_t>(std::distance(by_score_.begin(), at));
}

}  // namespace redlock::fakes
