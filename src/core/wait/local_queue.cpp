// Who waits for which resource in this program, first come, first served.
// SPDX-License-Identifier: MIT
#include "core/wait/local_queue.hpp"

#include <cassert>
#include <iterator>

namespace redlock::core {

local_queues::queue* local_queues::find(std::string_view resource) const noexcept {
    const auto at = queues_.find(resource);
    // The lines are this object's own; what is constant is who stands where.
    return at == queues_.end() ? nullptr : const_cast<queue*>(&at->second);
}

void local_queues::now_due(waiter& who) noexcept {
    if (is_in_front(who) && !who.due_.is_linked()) due_.push_back(who);
}

void local_queues::all_due(queue& l) noexcept {
    for (waiter& w : l.waiters) {
        if (!w.is_in_front_) break;
        now_due(w);
    }
}

// From there on, those are in front whom nobody keeps back any more.
void local_queues::move_up(queue::list::iterator at, queue& l) noexcept {
    for (; at != l.waiters.end() && !at->is_in_front_; ++at) {
        if (at != l.waiters.begin()) {
            const waiter& before = *std::prev(at);
            if (!before.is_in_front_ || !before.shares_ || !at->shares_) return;
        }
        at->is_in_front_ = true;
        now_due(*at);
    }
}

void local_queues::tidy(queue& l) noexcept {
    if (!l.waiters.empty() || l.is_taken || l.sharing > 0) return;
    queues_.erase(queues_.find(l.resource));
}

void local_queues::set(waiter& who, waiter::state to) noexcept {
    using enum waiter::state;
    const auto has_one = [](waiter::state s) -> std::size_t {
        return s == has_turn || s == rests_in_turn;
    };
    const auto is_at_rest = [](waiter::state s) -> std::size_t {
        return s == rests || s == rests_in_turn;
    };
    turns_ += has_one(to) - has_one(who.state_);
    resting_ += is_at_rest(to) - is_at_rest(who.state_);
    who.state_ = to;
}

void local_queues::join(waiter& who, std::string_view resource, bool shares) {
    assert(!who.is_queued());
    auto at = queues_.find(resource);
    if (at == queues_.end()) {
        at = queues_.try_emplace(std::string(resource)).first;
        at->second.resource = at->first;
    }
    queue& l = at->second;
    who.queue_ = &l;
    who.shares_ = shares;
    l.waiters.push_back(who);
    if (!shares) ++l.alone;
    move_up(l.waiters.iterator_to(who), l);
}

void local_queues::leave(waiter& who) noexcept {
    if (!who.is_queued()) return;
    queue& l = *who.queue_;
    if (who.due_.is_linked()) due_.erase(due_.iterator_to(who));
    const auto behind = l.waiters.erase(l.waiters.iterator_to(who));
    if (!who.shares_) --l.alone;
    who.queue_ = nullptr;
    who.is_in_front_ = false;
    set(who, waiter::state::idle);
    move_up(behind, l);
    tidy(l);
}

void local_queues::taken(waiter& who) noexcept {
    assert(who.is_queued());
    queue& l = *who.queue_;
    if (who.shares_)
        ++l.sharing;
    else
        l.is_taken = true;
    leave(who);
}

void local_queues::freed(std::string_view resource, bool shared) noexcept {
    queue* const l = find(resource);
    if (l == nullptr) return;
    if (!shared)
        l->is_taken = false;
    else if (l->sharing > 0 && --l->sharing > 0)
        return;
    all_due(*l);
    tidy(*l);
}

waiter* local_queues::first(std::string_view resource) const noexcept {
    queue* const l = find(resource);
    return l == nullptr || l->is_taken || l->waiters.empty() ? nullptr : &l->waiters.front();
}

void local_queues::wake(std::string_view resource, std::size_t node, time_point now) {
    queue* const l = find(resource);
    if (l == nullptr || l->is_taken) return;
    for (waiter& w : l->waiters) {
        if (!w.is_in_front_) break;
        w.on_wake(node, now);
    }
}

bool local_queues::is_waited_for(std::string_view resource, bool shares) const noexcept {
    const queue* const l = find(resource);
    return l != nullptr && (shares ? l->alone > 0 : !l->waiters.empty());
}

void local_queues::give_turns(time_point now) {
    while (!due_.empty() && turns_ < most_turns) {
        waiter& next = due_.front();
        due_.pop_front();
        set(next, waiter::state::has_turn);
        next.on_turn(now);
    }
}

void local_queues::clear() noexcept {
    due_.clear();
    for (auto& [resource, l] : queues_) {
        l.waiters.clear_and_dispose([this](waiter* w) {
            w->queue_ = nullptr;
            w->is_in_front_ = false;
            set(*w, waiter::state::idle);
        });
    }
    queues_.clear();
}

}  // namespace redlock::core
