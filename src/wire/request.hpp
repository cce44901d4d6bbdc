// What an operation asks of one key on a node, or of several at once; knows no connection and no
// other request.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace redlock::wire {

/// One request of a script that does many (`wire::batch`), or a command of its own.
struct request {
    std::string keys;         ///< That it reads and writes, encoded: with their fences, if any.
    std::string queues;       ///< Of the waiters for them.
    std::string set;          ///< That goes with it: of readers, or of slots; empty for others.
    std::string words;        ///< Encoded: the verb and its arguments; or the whole command.
    std::uint32_t count = 0;  ///< Of the words; 0: a command of its own.
    std::uint32_t locks = 1;  ///< Of the keys, not counting what goes with them.
    duration keeps_for{};     ///< How long the node is to keep them; zero: it takes and prolongs none.

    bool is_command() const noexcept { return count == 0; }
    std::size_t size() const noexcept {
        return keys.size() + queues.size() + set.size() + words.size();
    }
    void clear() noexcept {
        keys.clear();
        queues.clear();
        set.clear();
        words.clear();
        count = 0;
        locks = 1;
        keeps_for = {};
    }
};

}  // namespace redlock::wire
