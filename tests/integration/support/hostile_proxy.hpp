// Stands between a client and a real server, and harms what passes; knows no rule of the locks.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace redlock::testing {

enum class side : std::uint8_t { requests, replies };

/// What happens to the connections of one kind. The order of the bytes never changes.
struct harm {
    enum class kind : std::uint8_t {
        none,
        delay,     ///< What comes in on that side is passed on later.
        throttle,  ///< Both sides get one byte at a time.
        cut,       ///< Ends one connection, once.
        reset,     ///< The same, at once: what was written before can be read, and nothing written.
        stall,     ///< Nothing passes any more on either side, until healed.
        vanish     ///< The same, and what connections had begun by then stays so: half-open.
    };
    kind what = kind::none;
    side where = side::replies;
    std::size_t after = 0;   ///< So many bytes of that side pass before; for cut and what follows.
    bool listeners = false;  ///< Of connections that subscribe, in place of all the others.
    std::chrono::milliseconds by{0};  ///< For delay.
};

/// Listens on loopback on a port of its own, in a thread of its own. It never holds more than one
/// piece of each side of a connection: a writer to what stands still meets a full socket.
/// Thread-safe.
class hostile_proxy {
public:
    explicit hostile_proxy(std::uint16_t server_port);
    ~hostile_proxy();
    hostile_proxy(const hostile_proxy&) = delete;
    hostile_proxy& operator=(const hostile_proxy&) = delete;

    node_options node(const std::string& name) const;

    /// From now on, in place of what was. Stalled connections go on, vanished ones stay gone.
    void set(const harm& what);
    void heal() { set({}); }
    /// Ends every connection that has not vanished.
    void cut();

    /// Whether a cut, reset, stall or vanish has happened since it was set.
    bool has_struck() const;
    /// How many bytes passed since the last `set()`, on connections of the kind that it named.
    std::size_t passed(side where) const;
    int connections_accepted() const;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace redlock::testing
