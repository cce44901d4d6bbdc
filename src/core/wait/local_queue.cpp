// Who waits for which resource in this program, first come, first served.
// SPDX-License-Identifier: MIT
#include "core/wait/local_queue.hpp"

#include <cassert>

namespace redlock::core {

local_queues::queue* local_queues::find(std::string_view resource) noexcept {
    const auto at = queues_.find(resource);
    return at == queues_.end() ? nullptr : &at->second;
}

void local_queues::now_due(queue& l) noexcept {
    if (!l.is_taken && !l.waiters.empty() && !l.due.is_linked()) due_.push_back(l);
}

void local_queues::tidy(queue& l) noexcept {
    if (!l.waiters.empty() || l.is_taken) return;
    if (l.due.is_linked()) due_.erase(due_.iterator_to(l));
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

void local_queues::join(waiter& who, std::string_view resource) {
    assert(!who.is_queued());
    auto at = queues_.find(resource);
    if (at == queues_.end()) {
        at = queues_.try_emplace(std::string(resource)).first;
        at->second.resource = at->first;
    }
    queue& l = at->second;
    who.queue_ = &l;
    l.waiters.push_back(who);
    if (&l.waiters.front() == &who) now_due(l);
}

void local_queues::leave(waiter& who) noexcept {
    if (!who.is_queued()) return;
    queue& l = *who.queue_;
    const bool was_first = &l.waiters.front() == &who;
    l.waiters.erase(l.waiters.iterator_to(who));
    who.queue_ = nullptr;
    set(who, waiter::state::idle);
    if (was_first) now_due(l);
    tidy(l);
}

void local_queues::taken(waiter& who) noexcept {
    assert(who.is_queued());
    queue& l = *who.queue_;
    l.is_taken = true;
    if (l.due.is_linked()) due_.erase(due_.iterator_to(l));
    leave(who);
}

void local_queues::freed(std::string_view resource) noexcept {
    queue* const l = find(resource);
    if (l == nullptr) return;
    l->is_taken = false;
    now_due(*l);
    tidy(*l);
}

waiter* local_queues::first(std::string_view resource) const noexcept {
    const auto at = queues_.find(resource);
    if (at == queues_.end() || at->second.is_taken || at->second.waiters.empty()) return nullptr;
    // The waiters are others' own; what is constant is who stands where.
    return const_cast<waiter*>(&at->second.waiters.front());
}

bool local_queues::is_waited_for(std::string_view resource) const noexcept {
    const auto at = queues_.find(resource);
    return at != queues_.end() && !at->second.waiters.empty();
}

void local_queues::give_turns(time_point now) {
    while (!due_.empty() && turns_ < most_turns) {
        queue& l = due_.front();
        due_.pop_front();
        waiter& first = l.waiters.front();
        set(first, waiter::state::has_turn);
        first.on_turn(now);
    }
}

void local_queues::clear() noexcept {
    due_.clear();
    for (auto& [resource, l] : queues_) {
        l.waiters.clear_and_dispose([this](waiter* w) {
            w->queue_ = nullptr;
            set(*w, waiter::state::idle);
        });
    }
    queues_.clear();
}

}  // namespace redlock::core
