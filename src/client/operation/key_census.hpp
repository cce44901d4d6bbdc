// Reckons from some of a node's keys what all keys of the library take there; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/companion.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/node_report.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// First it is shown some pages of the names of all keys: SCAN names them in the order of their
/// hashes, so the first pages are a fair sample. Then what a few of each kind take.
class key_census {
public:
    /// Of each kind so many keys are measured.
    static constexpr std::size_t most_measured = 8;
    /// Of 300 names each.
    static constexpr std::size_t most_pages = 30;

    /// The cursor of the page to read next; empty where there is none, or enough were read.
    std::string on_page(const resp::reply& reply, std::string_view prefix);
    /// The keys to be measured.
    std::vector<std::string> chosen() const;
    /// About the i-th of these.
    void on_usage(std::size_t i, const resp::reply& reply);

    /// `keys`: that the server has in all. Where locks have fences, keys are no locks beyond these.
    key_memory result(std::uint64_t keys, bool has_fences) const;

private:
    struct kind {
        std::uint64_t count = 0;
        std::vector<std::string> chosen{};
        std::uint64_t measured = 0;
        std::uint64_t bytes = 0;
    };
    key_usage usage_of(key_role role, double scale) const;

    std::array<kind, key_roles> kinds_{};
    std::uint64_t seen_ = 0;  // keys, of others too
    std::size_t pages_ = 0;
    bool is_complete_ = false;
    std::string missing_right_{};
};

}  // namespace redlock::detail
