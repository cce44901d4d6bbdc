// Masters in memory and a clock that the test moves, for tests of programs that use locks; of the
// library redlock::testing, which no program in production links.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>
#include <redlock/options.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace redlock::testing {

/// Independent Redis masters in memory, which run the library's own scripts. While an object of
/// this class exists, every client that the process constructs talks to them in place of sockets,
/// and `redlock::clock` stands still until the test moves it. So a test takes no real time, and
/// what it does at an instant is the same in each run.
///
/// A client whose `io_context` the test runs is moved by `advance(context, ...)`; clients with
/// threads of their own (`blocking_client`, and what is built on it) by `advance(...)`. Nodes
/// answer at once: only what waits for time needs the clock moved, as renewals, losses, waits and
/// reconnections do. Timers of the program itself (`asio::steady_timer`, `sleep_for`) run by their
/// own clocks.
///
/// **Preconditions.** At most one object at a time: the constructor throws `std::logic_error`. It
/// outlives the clients, and the contexts on which they ran: the destructor aborts the program.
/// **Thread safety.** Any thread may call any member. While one call of `advance` is under way, a
/// second one throws `std::logic_error`.
class masters {
public:
    /// 1 to `max_nodes`.
    explicit masters(std::size_t nodes = 3);
    ~masters();
    masters(const masters&) = delete;
    masters& operator=(const masters&) = delete;

    /// For a client of these nodes, named "node-0" and so on; all else is as by default. They are
    /// no new cluster: they vote at once, for clients that name the same nodes and the same
    /// `cluster`.
    client_options options() const;

    /// Moves the clock. What is due on the way happens at its time, and the handlers that are ready
    /// run, in this thread. Zero runs what is ready now. The clients of a test share one context:
    /// those of another one stand still.
    void advance(boost::asio::io_context& context, clock::duration by);
    /// The same, where the clients' own threads run the handlers. Returns when they have nothing
    /// left to do. An operation that another thread is about to begin is not waited for: move on in
    /// small steps, for instance until `waiting` shows it. Throws `std::runtime_error` where a
    /// handler has not run for 30 s of real time, since no thread runs its context.
    void advance(clock::duration by);

    /// From now on it refuses connections; those that it has break. Its data stays.
    void shut_down(std::size_t node);
    /// From now on it takes commands and answers none, like a stopped process.
    void hang(std::size_t node);
    /// It takes connections and answers again. What it was sent while it hung it carries out now,
    /// also if the client has ended.
    void resume(std::size_t node);
    enum class data { kept, lost };
    /// Its process ends, and another takes its place, with the data or without.
    void restart(std::size_t node, data what = data::kept);

    // In all that follows a resource is written as the nodes have it: with the `key_prefix` of the
    // client before it, if that has one.

    /// Another program takes the resource on every node, held or not: as an operator's mistake
    /// or another library would. A lease of it is lost when it is renewed next.
    void occupy(const std::string& resource, std::chrono::milliseconds ttl);
    /// Nobody holds it any more, on any node.
    void vacate(const std::string& resource);

    /// On how many nodes somebody holds it.
    std::size_t holding(const std::string& resource) const;
    /// How many clients wait for it: the longest queue on any node.
    std::size_t waiting(const std::string& resource) const;

private:
    class world;
    std::unique_ptr<world> world_;
};

}  // namespace redlock::testing
