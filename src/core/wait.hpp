// When a waiter tries again; knows only what the nodes told of the key and the queue before it.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// When a node would let us have the key, as far as it told: its time to live (below zero: it has
/// no end), and for how long others may stand before us.
time_point free_at(duration left, duration before, time_point now) noexcept;

/// Sleeps until a quorum of nodes would let it have the key, as far as they told, and never tries
/// before. Where the nodes told nothing that is worth waiting for, it rests for a jittered back-off
/// of 5 to 100 ms; more where so many rest that the nodes would have no rest.
///
/// What is asked, and what is heard meanwhile, have an order: a wake-up that comes while answers
/// are outstanding is newer than these.
class wait {
public:
    wait(std::size_t nodes, time_point deadline) noexcept : nodes_(nodes), deadline_(deadline) {}

    /// A question goes out to these nodes, as bits: what they will answer is newer than their
    /// wake-ups so far.
    void asked(std::uint32_t nodes) noexcept { woken_ &= ~nodes; }
    /// An attempt goes out. A node that does not answer it may be free for all that is known.
    void tried(time_point now) noexcept;
    /// Not before that instant does a node let it have the key, as things are. The end of time: not
    /// by itself.
    void told(std::size_t node, time_point free_at) noexcept;
    /// A node says that the key is free, and that it stands first there.
    void woken(std::size_t node, time_point now) noexcept;

    /// The attempt was refused; so many others of this client rest. False when waiting is over
    /// since another try can't end otherwise.
    bool refused(error_code why, time_point now, std::uint64_t random, std::size_t others) noexcept;
    /// Whether it is the rest that it waits for, and nothing that the nodes told.
    bool is_resting() const noexcept { return free_for_a_quorum() <= rest_until_; }

    /// When to try again: once more, at the latest, a little before the deadline, since not
    /// everybody who frees a key tells of it. The deadline itself where there was such a try.
    time_point next() const noexcept;
    time_point deadline() const noexcept { return deadline_; }

private:
    time_point free_for_a_quorum() const noexcept;

    std::size_t nodes_;
    time_point deadline_;
    std::array<time_point, max_nodes> free_at_{};
    std::uint32_t woken_ = 0;  // nodes, as bits
    time_point tried_at_{};
    time_point rest_until_{};
    std::uint32_t rests_ = 0;  // one after the other
};

}  // namespace redlock::core
