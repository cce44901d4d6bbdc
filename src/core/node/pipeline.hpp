// The commands one connection has not answered yet, in order; knows no bytes and no replies.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <boost/circular_buffer.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace redlock::core {

/// Replies are matched to commands by order alone. A command whose time is over is only marked: it
/// keeps its place, so that its late reply is consumed and matched to nothing else. Each has its own
/// time, whatever the others have: one about a short lease may be due before one that was sent
/// before it.
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

    void push(T what, time_point sent, time_point deadline) {
        if (slots_.full()) slots_.set_capacity(std::max<std::size_t>(64, slots_.capacity() * 2));
        due_.push_back({deadline, first_ + slots_.size()});
        std::push_heap(due_.begin(), due_.end(), std::greater<>());
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
        ++first_;
        if (!due_.empty() && due_.front().number < first_) forget_first_due();
        return first;
    }

    /// Marks what is due at `now` and calls `each(T&)` for it, in the order of the deadlines; of
    /// those with the same the oldest first.
    template <class F>
    void expire(time_point now, F&& each) {
        while (deadline() <= now && !due_.empty()) {
            slot& next = slots_[static_cast<std::size_t>(due_.front().number - first_)];
            forget_first_due();
            next.expired = true;
            each(next.what);
        }
    }

    /// When the next command's time is over.
    time_point deadline() const noexcept {
        return due_.empty() ? time_point::max() : due_.front().at;
    }

    /// When the oldest command without an answer was sent.
    time_point waiting_since() const noexcept {
        return slots_.empty() ? time_point::max() : slots_.front().sent;
    }

private:
    struct due {
        time_point at;
        std::uint64_t number;  // of all that were pushed
        auto operator<=>(const due&) const = default;
    };

    // And those behind it that were answered before they were due.
    void forget_first_due() {
        do {
            std::pop_heap(due_.begin(), due_.end(), std::greater<>());
            due_.pop_back();
        } while (!due_.empty() && due_.front().number < first_);
    }

    boost::circular_buffer<slot> slots_;
    std::uint64_t first_ = 0;  // the number of the first slot
    // A heap. The first has neither expired nor been answered; some of the others may have been.
    std::vector<due> due_;
};

}  // namespace redlock::core
