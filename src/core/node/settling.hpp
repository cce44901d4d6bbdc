// How long acquires wait until it is known which nodes may vote; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <algorithm>
#include <utility>

namespace redlock::core {

/// An acquire that is sent before the handshakes are over is refused by nodes that would grant it a
/// moment later. So it waits until a quorum may vote, or until nothing is under way that could give
/// a node its vote, or until a deadline.
///
/// Where a node is connected, and its record is still to be read or made when a quorum may vote,
/// that node would refuse what is sent to it now. It is given as long again as the quorum took: a
/// node that hangs costs no more.
///
/// The deadline bounds the wait for nodes that never answer. It is one connect_timeout, two where a
/// quorum is so far away that it is still being greeted after one, and one
/// node_timeout more where a command is out whose answer may give a node its vote. So it is where
/// clocks have still to be compared: that begins when the last node has answered, or was out of
/// reach for connect_timeout, and ends with what is then written to the records. It grows no
/// further: nodes that come back one after the other, each with a command of its own, would hold
/// up acquires without end.
class settling {
public:
    /// `is_settled`: false where acquires wait from the start.
    settling(bool is_settled, duration connect_timeout) noexcept
        : connect_timeout_(connect_timeout), is_settled_(is_settled) {}

    bool is_settled() const noexcept { return is_settled_; }
    /// The end of time where acquires do not wait.
    time_point deadline() const noexcept { return is_settled_ ? time_point::max() : settle_by_; }

    /// The nodes are being connected.
    void start(time_point now) noexcept {
        connect_by_ = settle_by_ = now + connect_timeout_;
        is_prolonged_ = false;
    }
    /// Nodes may soon get their vote. Has no effect while acquires wait.
    void unsettle(time_point now) noexcept {
        if (std::exchange(is_settled_, false)) start(now);
    }
    /// A command was ordered whose answer may give a node its vote. The node answers within
    /// `node_timeout`, if ever. Many commands are not waited for longer than one.
    void extend(time_point now, duration node_timeout) noexcept {
        if (is_settled_) return;
        settle_by_ = std::max(settle_by_, std::min(now, connect_by_) + node_timeout);
    }
    /// Clocks are compared when no node may answer for the first time any more, and then written.
    void await_comparison(duration node_timeout) noexcept {
        if (!is_settled_) settle_by_ = std::max(settle_by_, connect_by_ + node_timeout);
    }
    /// Nodes that could make a quorum were neither greeted nor given up yet: each answer in a greeting
    /// has a connect_timeout. They get the same time again, once.
    void await_greeting(time_point now) noexcept {
        if (is_settled_ || is_prolonged_ || now < settle_by_) return;
        start(now);
        is_prolonged_ = true;
    }
    /// A quorum may vote, and the record of a node that is connected is still to be read.
    void note_quorum(time_point now) noexcept {
        if (is_settled_) return;
        const duration took = now - (connect_by_ - connect_timeout_);
        settle_by_ = std::min(settle_by_, now + took);
    }
    /// Whether the wait has just ended. `is_worth_waiting`: no quorum may vote yet, and something
    /// is under way that may change that.
    bool settle(bool is_worth_waiting, time_point now) noexcept {
        if (is_settled_ || (is_worth_waiting && now < settle_by_)) return false;
        is_settled_ = true;
        return true;
    }

private:
    duration connect_timeout_;
    bool is_settled_;
    bool is_prolonged_ = false;
    time_point connect_by_ = time_point::max();  // nodes that have not answered by then are not waited for
    time_point settle_by_ = time_point::max();
};

}  // namespace redlock::core
