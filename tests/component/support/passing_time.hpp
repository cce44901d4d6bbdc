// Has the clock of masters in memory move on while programs block; knows no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include "support/thrown_by.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/testing.hpp>

#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace redlock::testing {

using namespace std::chrono_literals;

/// What most of these tests begin with: three masters, and a client of a program.
struct one_client {
    masters nodes{};
    blocking_client client{nodes.options()};
};
/// The same, and a client of another program.
struct two_clients : one_client {
    blocking_client other_client{nodes.options()};
};

/// A moment of real time, in which other threads run. To yield would cost a turn of each program
/// that is busy on this machine.
inline void rest() { std::this_thread::sleep_for(20us); }

/// The clock moves on for as long as the object exists. For calls that block until something comes
/// to its end. It moves as fast as the clients follow: only what is renewed outlasts it.
class passing_time {
public:
    explicit passing_time(masters& nodes)
        : thread_([&nodes](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  nodes.advance(1ms);
                  rest();
              }
          }) {}

private:
    std::jthread thread_;
};

/// Moves the clock on until `done()`, and says whether it came to that. The limit is real time: it
/// ends a test that would hang.
template <class Predicate>
bool pass_until(masters& nodes, Predicate done) {
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (!done()) {
        if (std::chrono::steady_clock::now() > limit) return done();
        nodes.advance(5ms);
    }
    return true;
}

/// Whether nobody holds a resource or waits for it, on any node.
inline bool is_untouched(const masters& nodes, const std::string& resource) {
    const std::string companion = "{" + resource + "}:";
    return nodes.holding(resource) + nodes.holding(companion + "queue") +
               nodes.holding(companion + "readers") ==
           0;
}

/// Gives a resource to another program until its holder learns of it by `lost`. Then it is free.
inline bool lose(masters& nodes, const std::string& resource, const std::stop_token& lost) {
    nodes.occupy(resource, 24h);
    const bool is_known = pass_until(nodes, [&] { return lost.stop_requested(); });
    nodes.vacate(resource);
    return is_known;
}

/// In a thread of its own.
template <class F>
auto elsewhere(F&& f) {
    return std::async(std::launch::async, std::forward<F>(f)).get();
}

}  // namespace redlock::testing
