// Which owners that callers gave are in use for which resources; knows no operation and no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/owner_id.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace redlock::detail {

/// Owners that the client draws itself are unique, and not kept here.
class owner_claims {
public:
    /// False where the owner is in use for the resource already. Each true must be followed by one
    /// `end`.
    bool begin(const owner_id& owner, std::string_view resource) {
        return in_use_.emplace(owner, resource).second;
    }
    void end(const owner_id& owner, std::string_view resource) {
        in_use_.erase({owner, std::string(resource)});
    }

private:
    using claim = std::pair<owner_id, std::string>;
    struct hash {
        std::size_t operator()(const claim& c) const noexcept {
            const auto* const bytes = reinterpret_cast<const char*>(c.first.bytes.data());
            const std::hash<std::string_view> of;
            return of({bytes, c.first.bytes.size()}) * 31 + of(c.second);
        }
    };

    std::unordered_set<claim, hash> in_use_;
};

}  // namespace redlock::detail
