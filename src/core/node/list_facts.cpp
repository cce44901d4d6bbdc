// Ballots of a change of the list of nodes.
// SPDX-License-Identifier: MIT
#include "core/node/list_facts.hpp"

#include <algorithm>
#include <charconv>

namespace redlock::core {

namespace {

std::uint64_t number_of(const std::string& ballot) noexcept {
    std::uint64_t number = 0;
    std::from_chars(ballot.data(), ballot.data() + ballot.size(), number);
    return number;
}

}  // namespace

bool is_above(const std::string& ballot, const std::string& other) noexcept {
    const std::uint64_t number = number_of(ballot);
    const std::uint64_t of_other = number_of(other);
    if (number != of_other) return number > of_other;
    return ballot.substr(std::min(ballot.find('.'), ballot.size())) >
           other.substr(std::min(other.find('.'), other.size()));
}

std::string ballot_above(const std::string& other, const std::string& id) {
    return std::to_string(number_of(other) + 1) + '.' + id;
}

}  // namespace redlock::core
