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
#include <string>

namespace redlock::simulation {

/// Every order, or as many as there is time for in each, of the small worlds that `which` means:
/// "small", "all", or one by its name; `jobs` of them at once. A line of JSON for each as it ends,
/// and before it, where a promise is broken, the story of that order. The exit status of a program.
int search_orders(const std::string& which, std::chrono::duration<double> limit, unsigned jobs);

}  // namespace redlock::simulation
