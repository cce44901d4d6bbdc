// What performs the I/O of one client, and what a test may put in its place; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "asio/io_strand.hpp"
#include "client/node/connection.hpp"
#include "value/time.hpp"

#include <redlock/export.hpp>
#include <redlock/options.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::detail {

/// Carries the bytes of one connection.
class wire_performer : public transport {
public:
    virtual ~wire_performer() = default;
    /// Takes the connection's outgoing bytes, as far as they can leave now.
    virtual void flush() = 0;
    /// In a child process: lets go of the parent's connection, and says nothing on it.
    virtual void abandon() noexcept {}
};

/// Calls at a given time.
class alarm_performer {
public:
    virtual ~alarm_performer() = default;
    /// `ring` is called at each time that was set, until `stop`. `keep` lives as long.
    virtual void start(std::shared_ptr<void> keep, std::function<void()> ring) = 0;
    /// Rings at `when`, or earlier: an alarm that is due later is not put off.
    virtual void set(time_point when) noexcept = 0;
    virtual void stop() noexcept = 0;
    /// In a child process: stops without a change for the parent.
    virtual void abandon() noexcept { stop(); }
};

/// The owner of wires; it is called on the strand. What is under way on a wire keeps it alive.
class wire_owner {
public:
    /// Null once nothing may start any more, and nothing may be reported.
    virtual std::shared_ptr<wire_owner> keep_alive() noexcept = 0;
    /// The connection whose bytes the wire of that index carries. It must exist while the wire is
    /// open.
    virtual transport_user& user_of(std::size_t index) = 0;
    /// Called after the wire has reported to the connection all that happened at once.
    virtual void end_turn() = 0;

protected:
    ~wire_owner() = default;
};

/// Makes both in place of sockets and timers.
class performer_source {
public:
    virtual std::unique_ptr<wire_performer> make_wire(const io_strand& on, std::size_t index,
                                                      const node_options& node,
                                                      wire_owner& owner) = 0;
    virtual std::unique_ptr<alarm_performer> make_alarm(const io_strand& on) = 0;

protected:
    ~performer_source() = default;
};

/// From now on clients are made with these performers, in the whole process; null: with sockets.
REDLOCK_EXPORT void use_performers(performer_source* from) noexcept;

}  // namespace redlock::detail
