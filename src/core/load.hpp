// How many requests may be at the nodes at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <boost/intrusive/list.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// Nodes that receive more requests than they can execute answer all of them too late: each answer
/// waits for all earlier requests, and an answer after the time-out is worth nothing. So there is
/// a window on the number of requests under way. It grows while answers come soon, by an eighth in
/// each round trip, or twofold until it was once too large. It shrinks by a quarter when answers
/// had to wait for a quarter of the time that a node has. The distance of the nodes does not
/// count: the measure is the quickest answer since nothing was under way, or since so little was
/// that it cannot have waited long.
///
/// Requests of other clients make the nodes slower, too; the window makes no difference there.
class window {
public:
    enum class growth : bool { steady, twofold_at_first };

    window(duration node_timeout, std::size_t least, std::size_t size, growth how) noexcept
        : patience_(node_timeout / 4), least_(least), size_(size), growth_(how) {
        assert(node_timeout > duration::zero() && least > 0 && least <= size);
    }

    /// From now on a node has that much time to answer.
    void set_node_timeout(duration node_timeout) noexcept {
        assert(node_timeout > duration::zero());
        patience_ = node_timeout / 4;
    }
    bool has_room() const noexcept { return inside_ < size_; }
    std::size_t size() const noexcept { return size_; }

    void enter() noexcept;
    // Each request that entered leaves once, by one of these.
    /// A quorum of nodes has answered the request that was sent at `sent`.
    void answered(time_point sent, time_point now) noexcept;
    /// No quorum will answer.
    void unanswered(time_point sent, time_point now) noexcept;
    /// The answer is no longer needed.
    void leave() noexcept {
        assert(inside_ > 0);
        --inside_;
    }

private:
    void grow() noexcept;
    void shrink(time_point sent, time_point now) noexcept;

    duration patience_;
    std::size_t least_;       // above 0
    std::size_t size_;        // never below `least_`
    std::size_t inside_ = 0;  // may exceed `size_` after that shrank
    growth growth_;
    std::size_t quick_answers_ = 0;        // since it grew: below 8
    duration quickest_ = duration::max();  // as here: none is known
    time_point shrunk_at_ = time_point::min();
};

/// A caller that wants to send a request to the nodes. Embedded in its owner: holding it up
/// allocates nothing.
class applicant {
public:
    applicant() = default;
    applicant(const applicant&) = delete;
    applicant& operator=(const applicant&) = delete;

protected:
    ~applicant() = default;

private:
    friend class admission;
    virtual void on_admitted(time_point now) = 0;

    enum class state : std::uint8_t { away, held_up, inside };
    boost::intrusive::list_member_hook<> listed_;  // linked where it is held up
    state state_ = state::away;
};

/// A window, and a queue before it: first come, first served.
class admission {
public:
    static constexpr std::size_t most_held_up = 65'536;
    enum class answer : std::uint8_t { enter, wait, go_away };

    explicit admission(duration node_timeout) noexcept
        : window_(node_timeout, 16, 32, window::growth::twofold_at_first) {}
    admission(const admission&) = delete;
    admission& operator=(const admission&) = delete;
    ~admission() { clear(); }

    /// From now on a node has that much time to answer.
    void set_node_timeout(duration t) noexcept { window_.set_node_timeout(t); }
    /// `enter`: it may send its request at once. `wait`: `on_admitted` says when. `go_away`: too
    /// many wait already.
    answer apply(applicant& a) noexcept;
    /// A quorum answered the request that was sent at `sent`. Only the first of these three calls
    /// has an effect.
    void answered(applicant& a, time_point sent, time_point now) noexcept;
    /// No quorum will answer.
    void unanswered(applicant& a, time_point sent, time_point now) noexcept;
    /// It sends no request, or no longer needs the answer.
    void withdraw(applicant& a) noexcept;
    /// Admits as many as the window has room for, in the order in which they applied.
    void admit(time_point now);
    /// How many may be admitted at once.
    std::size_t size() const noexcept { return window_.size(); }
    /// Drops all that are held up, without calling them.
    void clear() noexcept;

private:
    bool leave(applicant& a) noexcept;

    window window_;
    boost::intrusive::list<
        applicant, boost::intrusive::member_hook<applicant, boost::intrusive::list_member_hook<>,
                                                 &applicant::listed_>>
        held_up_;  // in the order of their calls; at most `most_held_up`
};

}  // namespace redlock::core
