// Who waits for which resource in this program, first come, first served.
// SPDX-License-Identifier: MIT
#include "core/line.hpp"

namespace redlock::core {

lines::line* lines::find(std::string_view resource) noexcept {
    const auto at = lines_.find(resource);
    return at == lines_.end() ? nullptr : &at->second;
}

void lines::now_due(line& l) noexcept {
    if (!l.is_taken && !l.waiters.empty() && !l.due.is_linked()) due_.push_back(l);
}

void lines::tidy(line& l) noexcept {
    if (!l.waiters.empty() || l.is_taken) return;
    if (l.due.is_linked()) due_.erase(due_.iterator_to(l));
    lines_.erase(lines_.find(l.resource));
}

void lines::set(waiter& who, waiter::state to) noexcept {
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

void lines::join(waiter& who, std::string_view resource) {
    auto at = lines_.find(resource);
    if (at == lines_.end()) {
        at = lines_.try_emplace(std::string(resource)).first;
        at->second.resource = at->first;
    }
    line& l = at->second;
    who.line_ = &l;
    l.waiters.push_back(who);
    if (&l.waiters.front() == &who) now_due(l);
}

void lines::leave(waiter& who) noexcept {
    if (!who.is_in_line()) return;
    line& l = *who.line_;
    const bool was_first = &l.waiters.front() == &who;
    l.waiters.erase(l.waiters.iterator_to(who));
    who.line_ = nullptr;
    set(who, waiter::state::idle);
    if (was_first) now_due(l);
    tidy(l);
}

void lines::taken(waiter& who) noexcept {
    line& l = *who.line_;
    l.is_taken = true;
    if (l.due.is_linked()) due_.erase(due_.iterator_to(l));
    leave(who);
}

void lines::freed(std::string_view resource) noexcept {
    line* const l = find(resource);
    if (l == nullptr) return;
    l->is_taken = false;
    now_due(*l);
    tidy(*l);
}

waiter* lines::first(std::string_view resource) const noexcept {
    const auto at = lines_.find(resource);
    if (at == lines_.end() || at->second.is_taken || at->second.waiters.empty()) return nullptr;
    // The waiters are others' own; what is constant is who stands where.
    return const_cast<waiter*>(&at->second.waiters.front());
}

bool lines::is_waited_for(std::string_view resource) const noexcept {
    const auto at = lines_.find(resource);
    return at != lines_.end() && !at->second.waiters.empty();
}

void lines::give_turns(time_point now) {
    while (!due_.empty() && turns_ < most_turns) {
        line& l = due_.front();
        due_.pop_front();
        waiter& first = l.waiters.front();
        set(first, waiter::state::has_turn);
        first.on_turn(now);
    }
}

void lines::clear() noexcept {
    due_.clear();
    for (auto& [resource, l] : lines_) {
        l.waiters.clear_and_dispose([this](waiter* w) {
            w->line_ = nullptr;
            set(*w, waiter::state::idle);
        });
    }
    lines_.clear();
}

}  // namespace redlock::core
