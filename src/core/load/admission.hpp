// Limits how many acquires that do not wait are at the nodes at once; knows no lock and no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/load/window.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>

namespace redlock::core {

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
    boost::intrusive::list_member_hook<> listed_;
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
        held_up_;
};

}  // namespace redlock::core
