// One acquire, from its call to its verdict: when to try, and what becomes of a try; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/lock/attempt.hpp"
#include "core/wait/retry.hpp"
#include "value/node_mask.hpp"
#include "value/quorum.hpp"

#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace redlock::core {

/// Tries until one try is granted, or refused for good, or the time is over. Without a wait there
/// is one try.
///
/// Facts go in, with the time and random words among them, and the next step comes out. It calls
/// nobody. Its driver sends the rounds, arms a timer for `due_at`, and gives back the votes of
/// every refused try, also between two tries. (Kept votes would let contenders block each other,
/// each with a minority.)
class acquisition {
public:
    enum class phase : std::uint8_t {
        queued,  ///< It has not tried: who may vote is not known yet, or others come first.
        trying,  ///< A round is out.
        judged,  ///< A try is over, and the driver is to act on it.
        asleep,  ///< Until the nodes would let it have the key, or its turn comes.
        over,
    };
    enum class step : std::uint8_t {
        none,          ///< Until the next fact.
        begin_try,     ///< Call `begin_try` and `begin_round`, and send.
        second_round,  ///< Call `begin_round` and send, under a fence above all that were seen.
        grant,         ///< Within `valid_until`.
        judge,         ///< The try was refused, for `reason`: call `refused`.
        sleep,         ///< It waits on; until a turn comes or `due_at`.
        ask_for_turn,  ///< Its time has come: it tries when its turn comes.
        give_up,       ///< It is refused, for `reason`.
        stand_aside,   ///< It is refused: others of this client are before it.
        turn_away,     ///< It is refused: there was no time in which it could have asked the nodes.
    };

    acquisition() = default;

    /// Called once, before everything else. `longest_wait`: zero for one that would not wait.
    void begin(std::size_t nodes, duration ttl, drift_policy drift, duration longest_wait,
               time_point now);

    /// It is about to stand in line. However short the wait, its first try may take as long as a
    /// node may, which is `longest`.
    void settled(time_point now, duration longest) noexcept;
    /// Others of this client stand before it.
    void stands_behind() noexcept;
    /// It is the first of this client.
    step turn() noexcept;

    /// What the tries from now on ask for.
    void set_ttl(duration ttl) noexcept { ttl_ = ttl; }
    void begin_try(time_point now) noexcept;
    /// Returns its number. Only answers to it are votes.
    std::uint32_t begin_round(time_point now) noexcept;
    /// A node has seen this fence: the next proposed one has to be above it.
    void saw(std::uint64_t fence) noexcept { seen_fence_ = std::max(seen_fence_, fence); }
    /// A node answered the present round, or did not in time.
    step cast(std::size_t node, vote v, const outlook& what, time_point now) noexcept;
    /// Where it may wait on: a random word, and how many others of this client rest.
    struct prospects {
        std::uint64_t random;
        std::size_t others;
    };
    bool may_wait_on(time_point now) const noexcept { return retry_ && now < retry_->deadline(); }
    /// The try came to nothing.
    step refused(error_code why, time_point now, std::optional<prospects> further) noexcept;

    /// What these nodes will have `told` is newer than their wake-ups so far.
    void asked(node_mask nodes) noexcept { retry_->asked(nodes); }
    void woken(std::size_t node, time_point now) noexcept;
    /// Asleep: when a node would let it have the key; or, where it has no vote, when it has one.
    void told(std::size_t node, const outlook& what, bool has_vote, time_point now) noexcept;
    /// Whether it rests: the nodes told nothing that is worth waiting for.
    bool is_resting() const noexcept { return retry_->is_resting(); }
    /// Whether those that told something since the last try could grant it.
    bool may_reach_quorum() const noexcept;
    /// It may stand in others' way again: a quorum can be reached.
    void queue_again() noexcept { may_queue_ = true; }

    /// The timer went off, and this client's timers ring late: the nodes have `extra` time more for
    /// the first try. True where the time is not over, then.
    bool postpone(time_point now, duration extra) noexcept;
    /// The timer went off, and is not postponed.
    step due(time_point now, bool is_queued) noexcept;
    /// When to call it. Without a wait, and from `judged` on, there is no such time.
    time_point due_at() const noexcept { return due_at_; }
    /// Our own clock stood still for `gap`.
    void shorten(duration gap) noexcept {
        if (attempt_) attempt_->shorten(gap);
    }
    /// Granted, given up or cancelled: no fact matters any more.
    void end() noexcept { phase_ = phase::over; }

    phase state() const noexcept { return phase_; }
    bool is_over() const noexcept { return phase_ == phase::over; }
    bool is_trying() const noexcept { return phase_ == phase::trying; }
    /// Whether an answer to that round is a vote.
    bool is_open(std::uint32_t round) const noexcept { return is_trying() && round == round_; }
    bool waits() const noexcept { return retry_ != nullptr; }
    /// It would get the lock if it were the first. Where it can reach no quorum others may, and
    /// would wait for it in vain.
    bool may_queue() const noexcept { return may_queue_; }
    std::uint32_t tries() const noexcept { return tries_; }
    std::uint32_t round() const noexcept { return round_; }
    /// The highest fence that was passed to `saw`, in all tries.
    std::uint64_t seen_fence() const noexcept { return seen_fence_; }
    time_point valid_until() const noexcept { return attempt_->valid_until(); }
    error_code reason() const noexcept { return reason_; }

private:
    std::size_t nodes_ = 0;
    duration ttl_{};
    drift_policy drift_;
    std::unique_ptr<retry> retry_;  // null for one that would not wait: it is large
    time_point nodes_until_{};    // until then the first try may take, however short the wait
    time_point due_at_{};
    std::optional<attempt> attempt_;
    phase phase_ = phase::queued;
    bool is_called_again_ = false;  // its turn came again during a try
    bool may_queue_ = true;
    std::uint32_t tries_ = 0;
    std::uint32_t round_ = 0;
    node_mask voters_;  // have a vote, and told something since the last try
    std::uint64_t seen_fence_ = 0;
    error_code reason_ = errc::no_quorum;  // what is said when the time is over before a first try
};

}  // namespace redlock::core
