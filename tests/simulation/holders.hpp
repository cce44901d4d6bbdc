// The holders of a key on a simulated server; knows no promise.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/model.hpp"
#include "wire/owner_value.hpp"
#include "wire/request.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace redlock::simulation {

/// The members of a set of readers that are alive, and until when each of them has the key, in ms
/// of the server's clock. They have it only where it holds `wire::shared_marker`.
inline std::map<std::string, std::int64_t> readers_in(const fakes::keyspace& in,
                                                      std::string_view set, std::int64_t now_ms) {
    std::map<std::string, std::int64_t> out;
    const auto at = in.all().find(set);
    if (at == in.all().end()) return out;
    if (const auto* const members = std::get_if<fakes::sorted_set>(&at->second.value)) {
        for (const auto& [score, member] : members->all()) {
            const auto until_ms = static_cast<std::int64_t>(score);
            if (until_ms > now_ms) out.emplace(member, until_ms);
        }
    }
    return out;
}

/// The owner values that have it: one, or those of its readers.
inline std::set<std::string> holders_of(const fakes::keyspace& in, const std::string& key,
                                        std::int64_t now_ms) {
    std::set<std::string> out;
    const auto at = in.all().find(key);
    if (at == in.all().end() || at->second.is_gone(now_ms) || at->second.text() == nullptr) {
        return out;
    }
    if (*at->second.text() != wire::shared_marker) return {*at->second.text()};
    for (const auto& [value, until_ms] : readers_in(in, wire::readers_key("", key), now_ms)) {
        out.insert(value);
    }
    return out;
}

}  // namespace redlock::simulation
