// What a node's record says of a change of the list of nodes; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::core {

struct list_facts {
    enum class change : std::uint8_t {
        none,     ///< The node is a member of `set`.
        joining,  ///< It will be one of the set that follows `set`.
        closed,   ///< It takes only programs with the joint list of `set` and `closed_for`.
    };

    std::string set{};          ///< Empty: that of the client, which was not changed.
    std::string names{};        ///< What the record calls the nodes of the set; "-": it does not say.
    std::uint64_t number = 0;   ///< How often the list was changed until then.
    change is = change::none;
    std::string closed_for{};
    std::string announced{};    ///< What a program with a joint list named as the set to follow.
    std::string promised{};     ///< The highest ballot that the node takes; empty: none.
    std::string accepted{};     ///< The ballot under which it was closed.
    std::int64_t became_us = 0;  ///< When it became a member by a change, by its own clock; 0: not so.
    std::optional<std::int64_t> became_cluster_us{};  ///< The same in cluster time.
    std::vector<std::pair<std::uint64_t, std::string>> history{};  ///< The sets before, latest first.

    /// Whether the record has words about a change.
    bool is_changed() const noexcept {
        return number != 0 || is != change::none || !announced.empty() || !promised.empty();
    }
    friend bool operator==(const list_facts&, const list_facts&) = default;
};

/// Ballots are NUMBER.ID; an empty one is below all others.
bool is_above(const std::string& ballot, const std::string& other) noexcept;
/// The lowest one of a program with that id that is above `other`.
std::string ballot_above(const std::string& other, const std::string& id);

}  // namespace redlock::core
