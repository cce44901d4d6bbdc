// The commands one connection has not answered yet, in order; knows no bytes and no replies.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"

#include <boost/circular_buffer.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace redlock::core {

/// Replies are matched to commands by order alone. A command whose time is over is only marked: it
/// keeps its place, so that its late reply is consumed and matched to nothing else.
template <class T>
class pipeline {
public:
    struct slot {
        T what{};
        time_point sent{};
        time_point deadline{};
        bool expired = false;
    };

    std::size_t size() const noexcept { return slots_.size(); }
    bool empty() const noexcept { return slots_.empty(); }

    /// Deadlines are expected in order; one that is earlier than its predecessor's counts as equal.
    void push(T what, time_point sent, time_point deadline) {
        if (slots_.full()) slots_.set_capacity(std::max<std::size_t>(64, slots_.capacity() * 2));
        if (live_ < slots_.size()) deadline = std::max(deadline, slots_.back().deadline);
        slots_.push_back(slot{std::move(what), sent, deadline, false});
    }

    /// The one that was pushed `n - 1` before the last. Precondition: so many are there.
    T& from_back(std::size_t n) {
        assert(n > 0 && n <= slots_.size());
        return slots_[slots_.size() - n].what;
    }
    /// That the next reply belongs to. Precondition: not empty.
    const T& front() const {
        assert(!empty());
        return slots_.front().what;
    }

    /// The next reply belongs to this. Precondition: not empty.
    slot pop() {
        assert(!empty());
        slot first = std::move(slots_.front());
        slots_.pop_front();
        if (live_ > 0) --live_;
        return first;
    }

    /// Marks what is due at `now` and calls `each(T&)` for it, oldest first.
    template <class F>
    void expire(time_point now, F&& each) {
        while (live_ < slots_.size() && slots_[live_].deadline <= now) {
            slots_[live_].expired = true;
            each(slots_[live_++].what);
        }
    }

    /// When the next command's time is over.
    time_point deadline() const noexcept {
        return live_ < slots_.size() ? slots_[live_].deadline : time_point::max();
    }

    /// When the oldest command without an answer was sent.
    time_point waiting_since() const noexcept {
        return slots_.empty() ? time_point::max() : slots_.front().sent;
    }

private:
    boost::circular_buffer<slot> slots_;
    std::size_t live_ = 0;  // the first that has not expired
};

}  // namespace redlock::core
