// What the nodes say of the slots of one resource; asks nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/key_reading.hpp"
#include "value/quorum.hpp"
#include "wire/inspect.hpp"

#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace redlock::detail {

/// First each node names the slots that are taken there. That is a hint: only the key of a
/// slot names its holder. So the keys of all slots that were named are read then, some at a time.
class slot_survey {
public:
    /// The number of slots that are read at a time.
    static constexpr std::size_t most_at_once = 32;

    void begin(const node_lists& nodes) { nodes_ = nodes; }
    void named(const wire::slots_answer& by_a_node);

    /// The slots to read next; empty when all were read.
    std::vector<std::uint16_t> next();
    /// About the i-th of these.
    void answered(std::size_t node, std::size_t i, key_question what, const resp::reply& reply);
    /// The answers about the last ones have come, or will not.
    void close();

    /// The slots that a quorum of nodes has for the same owner, in their order.
    std::vector<slot_state> take_held() { return std::move(held_); }
    /// The whole values of their keys.
    const std::vector<std::string>& values() const noexcept { return values_; }
    /// Whether the nodes that did not answer could not change which slots these are.
    bool is_conclusive() const noexcept { return is_conclusive_; }
    /// The smallest number that any node knows of; 0: no program names one.
    std::uint16_t count() const noexcept { return count_; }

private:
    struct look {
        std::uint16_t slot = 0;
        resource_state state{};
        std::vector<std::string> values{};
    };

    node_lists nodes_;
    std::set<std::uint16_t> open_;  // named, and not read yet
    std::vector<look> looks_;
    std::vector<slot_state> held_;
    std::vector<std::string> values_;  // one for each of these
    std::uint16_t count_ = 0;
    bool is_conclusive_ = true;
};

}  // namespace redlock::detail
