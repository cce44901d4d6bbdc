// What is owed to one node that could not be reached, and when to ask it again; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace redlock::core {

/// Oldest first. Nothing is ever dropped: a node that was frozen may execute, when it thaws, what
/// lay in the connection that broke, and the key lives from then on. So neither the ttl nor a fixed
/// number bounds the debts; each lease that was in flight is owed one release.
///
/// If a node refuses a request for a state that passes (as out of memory), only one debt at a time
/// is sent to find out whether that is over: there may be thousands, all with the same answer.
template <class T>
class debts {
public:
    /// Between a refusal and the next try.
    static constexpr duration rest = std::chrono::seconds(1);

    bool empty() const noexcept { return owed_.empty(); }
    std::size_t size() const noexcept { return owed_.size(); }
    void clear() noexcept { owed_.clear(); }

    /// The connection that it was sent on broke, or there was none.
    void owe(T what) {
        owed_.push_back(std::move(what));
    }
    /// The node refused it for a state that passes.
    void refused(T what, time_point now) {
        owed_.push_back(std::move(what));
        due_ = std::min(due_, now + rest);
    }

    /// The node accepts requests: calls `send(T)` for what is owed, as long as `has_room()`.
    /// The first of the rest is due at once.
    template <class Room, class Send>
    void pay(time_point now, Room&& has_room, Send&& send) {
        due_ = time_point::max();
        while (!owed_.empty() && has_room()) {
            send(pop());
        }
        if (!owed_.empty()) due_ = now;
    }
    /// It is time to try: the debt that is sent first. When the node takes it, call `pay`.
    std::optional<T> take_first() {
        due_ = time_point::max();
        if (owed_.empty()) return std::nullopt;
        return pop();
    }
    /// There is no connection: the next one tries at once.
    void disconnected() noexcept { due_ = time_point::max(); }
    /// When to call `take_first`.
    time_point due() const noexcept { return due_; }

private:
    T pop() {
        T first = std::move(owed_.front());
        owed_.pop_front();
        return first;
    }

    std::deque<T> owed_;
    time_point due_ = time_point::max();
};

}  // namespace redlock::core
