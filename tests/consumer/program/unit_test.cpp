// A test of a program that uses an installed redlock, with masters in memory.
// SPDX-License-Identifier: MIT
#include <redlock/blocking_client.hpp>
#include <redlock/testing.hpp>

#include <chrono>
#include <iostream>

int main() {
    using namespace std::chrono_literals;
    redlock::testing::masters nodes;
    redlock::blocking_client client(nodes.options());
    const auto held = client.acquire("r", {.ttl = 10s});
    nodes.advance(1min);
    const bool is_well = held && *held && nodes.holding("r") == 3;
    std::cout << (is_well ? "held for a minute that took no time\n" : "not held\n");
    return is_well ? 0 : 1;
}
