// Members in the order of their scores, as Redis keeps them; knows no key, no command and no text.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::fakes {

class sorted_set {
public:
    /// Those of one score are in the order of their members' bytes.
    using in_order = std::set<std::pair<double, std::string>>;

    /// Whether it is a new one; another score of one that is there takes the place of the old.
    bool put(const std::string& member, double score);
    bool erase(std::string_view member);
    std::optional<double> score_of(std::string_view member) const;
    /// How many are before it.
    std::optional<std::size_t> rank_of(std::string_view member) const;
    const in_order& all() const noexcept { return by_score_; }

private:
    in_order by_score_;
    std::map<std::string, double, std::less<>> by_member_;
};

}  // namespace redlock::fakes
