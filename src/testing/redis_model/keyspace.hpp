// One database of a Redis master: keys, their values and when they run out; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/redis_model/sorted_set.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace redlock::fakes {

struct stored {
    using list = std::vector<std::string>;
    using set = std::set<std::string, std::less<>>;

    std::variant<std::string, list, sorted_set, set> value{};
    std::optional<std::int64_t> expires_ms{};  ///< The last ms of the node's clock that it sees.

    const std::string* text() const noexcept { return std::get_if<std::string>(&value); }
    bool is_gone(std::int64_t now_ms) const noexcept { return expires_ms && now_ms > *expires_ms; }
};

class keyspace {
public:
    using map = std::map<std::string, stored, std::less<>>;

    /// Null where there is none; one that has run out goes here.
    stored* find(std::string_view key, std::int64_t now_ms);
    void put(std::string_view key, stored what);
    bool erase(std::string_view key, std::int64_t now_ms);
    void clear() noexcept { keys_.clear(); }
    /// Removes what has run out, as a server does in the background.
    void sweep(std::int64_t now_ms);
    /// Also what has run out and was not looked for since.
    const map& all() const noexcept { return keys_; }

private:
    map keys_;
};

}  // namespace redlock::fakes
