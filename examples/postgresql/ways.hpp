// The ways to sell one piece of a stock without overselling it; knows no load.
// SPDX-License-Identifier: MIT
#pragma once

#include "database.hpp"

#include <redlock/blocking_client.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace example {

enum class outcome {
    sold,
    again,     ///< Another buyer was faster, or holds the lock: nothing was written.
    sold_out,
};

/// A buyer and what it buys, with a connection of its own.
struct buyer {
    std::string name;
    std::string item;
    redlock::blocking_client* locks = nullptr;  ///< Of the way that needs one.
    std::chrono::milliseconds lease{1'000};     ///< Of the ways that have one.
    /// Called where it has read the stock and not written yet.
    std::function<void()> having_read = [] {};
    std::uint64_t fence = 0;  ///< Of its last lease.
    database stock{};
};

struct way {
    std::string name;
    outcome (*buy)(buyer&);  ///< One try.
};

const std::vector<way>& all_ways();

/// The tables that they use, empty.
void create_tables(database& in);

}  // namespace example
