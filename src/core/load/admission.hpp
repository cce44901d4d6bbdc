// Who may ask the nodes now, of those who would not wait for a lock; knows no lock and no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/load/window.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// Somebody with a question to the nodes. Embedded in its owner: being held up allocates nothing.
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

/// A window, and a line before it: first come, first served.
class admission {
public:
    static constexpr std::size_t most_held_up = 65'536;
    enum class answer : std::uint8_t { enter, wait, go_away };

    explicit admission(duration node_timeout) noexcept
        : window_(node_timeout, 16, 32, window::growth::twofold_at_first) {}
    admission(const admission&) = delete;
    admission& operator=(const admission&) = delete;
    ~admission() { clear(); }

    /// From now on a node has so much time.
    void set_node_timeout(duration t) noexcept { window_.set_node_timeout(t); }
    /// Whether it may ask at once, is told when, or finds even the line too long.
    answer apply(applicant& who) noexcept;
    /// A quorum has answered what it asked at `sent`. What comes after the first of these three
    /// changes nothing.
    void answered(applicant& who, time_point sent, time_point now) noexcept;
    /// No quorum will.
    void unanswered(applicant& who, time_point sent, time_point now) noexcept;
    /// It does not ask, or no longer wants to know.
    void withdraw(applicant& who) noexcept;
    /// Lets in whom there is room for.
    void admit(time_point now);
    /// How many may be inside at once.
    std::size_t size() const noexcept { return window_.size(); }
    /// Nobody is held up any more, and nobody is told.
    void clear() noexcept;

private:
    bool leave(applicant& who) noexcept;

    window window_;
    boost::intrusive::list<
        applicant, boost::intrusive::member_hook<applicant, boost::intrusive::list_member_hook<>,
                                                 &applicant::listed_>>
        held_up_;
};

}  // namespace redlock::core
