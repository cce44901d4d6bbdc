// Searches small worlds through every order of their events; draws nothing at random.
// SPDX-License-Identifier: MIT
//
// A search that ends proves more than one that samples. In these worlds nothing arrives by itself
// and time stands still: from where all are connected, the search decides what happens next, until
// it has seen every order. Two events that touch different programs and nodes may change places
// without anybody's noticing, and so may what a program hears that has no more use for it: of such
// orders it takes one. It begins each order from the start. A handshake is one event.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace redlock::simulation {

/// A search ends with the order in which it comes to one of these. Steps are the same on each
/// machine: the events that were performed, over all orders.
struct search_bounds {
    std::uint64_t most_steps = std::numeric_limits<std::uint64_t>::max();
    std::chrono::duration<double> time{1e9};
};

/// Every order, or as many as the bounds leave each, of the small worlds that `which` means:
/// "quick", "long", "small", which are both of these, "all", or one by its name; `jobs` of them at
/// once. A line of JSON for each as it ends, and before it, where a promise is broken, the story of
/// that order; behind it, where steps were too few, a line that says so. The exit status of a
/// program.
int search_orders(const std::string& which, const search_bounds& bounds, unsigned jobs);

}  // namespace redlock::simulation
