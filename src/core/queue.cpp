// Which acquire of a client has the next turn, and when the nodes are queried for those that sleep.
// SPDX-License-Identifier: MIT
#include "core/queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::core {

local_queues::queue* local_queues::find(std::string_view resource) const noexcept {
    const auto at = queues_.find(resource);
    // The queues are this object's own; their order is what is constant.
    return at == queues_.end() ? nullptr : const_cast<queue*>(&at->second);
}

void local_queues::now_due(waiter& w) noexcept {
    if (is_in_front(w) && !w.due_.is_linked()) due_.push_back(w);
}

bool local_queues::is_in_front(const waiter& w) const noexcept {
    if (!w.is_queued() || w.behind_ > 0 || w.stand_.line->is_taken) return false;
    for (std::size_t i = 0; i < w.more_count_; ++i) {
        if (w.more_[i].line->is_taken) return false;
    }
    return true;
}

void local_queues::all_due(queue& l) noexcept {
    for (stand& s : l.waiters) {
        if (!s.is_in_front) break;
        now_due(*s.waiting);
    }
}

// Those come to the front whom nobody keeps back any more.
void local_queues::move_up(queue& l) noexcept {
    auto at = l.last_in_front == nullptr ? l.waiters.begin()
                                         : std::next(l.waiters.iterator_to(*l.last_in_front));
    for (; at != l.waiters.end(); ++at) {
        if (l.last_in_front != nullptr) {
            const std::size_t places =
                std::min(l.last_in_front->waiting->places_, at->waiting->places_);
            if (l.wanted + l.sharing + at->waiting->wanted_ > places) return;
        }
        assert(!at->is_in_front && at->waiting->behind_ > 0);
        at->is_in_front = true;
        --at->waiting->behind_;
        l.wanted += at->waiting->wanted_;
        l.last_in_front = &*at;
        now_due(*at->waiting);
    }
}

void local_queues::tidy(queue& l) noexcept {
    if (!l.waiters.empty() || l.is_taken || l.sharing > 0) return;
    assert(l.wanted == 0 && l.last_in_front == nullptr && l.alone == 0);
    queues_.erase(queues_.find(l.resource));
}

void local_queues::set(waiter& w, waiter::state to) noexcept {
    using enum waiter::state;
    const auto has_one = [](waiter::state s) -> std::size_t {
        return s == has_turn || s == rests_in_turn;
    };
    const auto is_at_rest = [](waiter::state s) -> std::size_t {
        return s == rests || s == rests_in_turn;
    };
    assert(turns_ >= has_one(w.state_) && resting_ >= is_at_rest(w.state_));
    turns_ += has_one(to) - has_one(w.state_);
    resting_ += is_at_rest(to) - is_at_rest(w.state_);
    w.state_ = to;
}

void local_queues::enter(stand& at, waiter& w, std::string_view resource) {
    auto found = queues_.find(resource);
    if (found == queues_.end()) {
        found = queues_.try_emplace(std::string(resource)).first;
        found->second.resource = found->first;
    }
    queue& l = found->second;
    // The resources of one waiter are distinct.
    assert(at.line == nullptr && (l.waiters.empty() || l.waiters.back().waiting != &w));
    if (w.places_ > 1 && w.places_ != any_number) l.freed_slots.reserve(w.places_);
    at.waiting = &w;
    at.line = &l;
    l.waiters.push_back(at);
    if (w.places_ == 1) ++l.alone;
}

void local_queues::join(waiter& w, std::span<const std::string> resources, std::size_t places,
                        std::size_t wanted) {
    assert(!w.is_queued() && !resources.empty() && wanted > 0 && wanted <= places);
    assert(w.state_ == waiter::state::idle && !w.due_.is_linked());
    w.places_ = places;
    w.wanted_ = wanted;
    w.behind_ = resources.size();
    w.more_count_ = resources.size() - 1;
    if (w.more_count_ > 0) w.more_ = std::make_unique<stand[]>(w.more_count_);
    enter(w.stand_, w, resources.front());
    for (std::size_t i = 0; i < w.more_count_; ++i) enter(w.more_[i], w, resources[i + 1]);
    w.for_each_stand([this](stand& s) { move_up(*s.line); });
}

void local_queues::want(waiter& w, std::size_t places) noexcept {
    assert(w.is_queued() && places > 0 && places <= w.places_);
    if (places == w.wanted_) return;
    w.for_each_stand([&](stand& s) {
        if (s.is_in_front) s.line->wanted += places - w.wanted_;
    });
    w.wanted_ = places;
    w.for_each_stand([this](stand& s) { move_up(*s.line); });
}

void local_queues::remove(stand& s) noexcept {
    assert(s.line != nullptr && s.waiting != nullptr);
    queue& l = *s.line;
    assert(s.waiting->places_ > 1 || l.alone > 0);
    assert(!s.is_in_front || l.wanted >= s.waiting->wanted_);
    const auto at = l.waiters.iterator_to(s);
    if (s.is_in_front) l.wanted -= s.waiting->wanted_;
    // All those before it are in front, too.
    if (l.last_in_front == &s)
        l.last_in_front = at == l.waiters.begin() ? nullptr : &*std::prev(at);
    l.waiters.erase(at);
    if (s.waiting->places_ == 1) --l.alone;
    s.line = nullptr;
    s.is_in_front = false;
    move_up(l);
    tidy(l);
}

void local_queues::leave(waiter& w) noexcept {
    if (!w.is_queued()) return;
    if (w.due_.is_linked()) due_.erase(due_.iterator_to(w));
    w.for_each_stand([this](stand& s) { remove(s); });
    w.more_count_ = 0;
    w.more_.reset();
    set(w, waiter::state::idle);
}

void local_queues::taken(waiter& w) noexcept {
    assert(w.is_queued() && w.behind_ == 0);
    w.for_each_stand([&w](stand& s) {
        if (w.places_ > 1)
            s.line->sharing += w.wanted_;
        else
            s.line->is_taken = true;
    });
    leave(w);
}

// Allocates nothing: `enter` reserved the memory. Where that is full the oldest slot is dropped.
void local_queues::note_freed(std::vector<std::uint16_t>& slots, std::uint16_t slot) noexcept {
    std::erase(slots, slot);
    assert(slots.size() <= slots.capacity());
    if (slots.capacity() == 0) return;
    if (slots.size() == slots.capacity()) slots.erase(slots.begin());
    slots.push_back(slot);
}

void local_queues::freed(std::string_view resource, std::size_t places, std::uint16_t slot,
                         std::size_t had) noexcept {
    assert(places > 0 && had > 0);
    queue* const l = find(resource);
    if (l == nullptr) return;
    if (places == 1) {
        l->is_taken = false;
    } else if (l->sharing > 0) {
        l->sharing -= std::min(had, l->sharing);
        if (places == any_number && l->sharing > 0) return;
    }
    if (places > 1 && places != any_number) note_freed(l->freed_slots, slot);
    move_up(*l);
    all_due(*l);
    tidy(*l);
}

void local_queues::shared(std::string_view resource) noexcept {
    queue* const l = find(resource);
    if (l == nullptr) return;
    if (std::exchange(l->is_taken, false)) ++l->sharing;
    move_up(*l);
    all_due(*l);
    tidy(*l);
}

std::optional<std::uint16_t> local_queues::freed_slot(std::string_view resource) noexcept {
    queue* const l = find(resource);
    if (l == nullptr || l->freed_slots.empty()) return std::nullopt;
    const std::uint16_t latest = l->freed_slots.back();
    l->freed_slots.pop_back();
    return latest;
}

waiter* local_queues::first(std::string_view resource) const noexcept {
    queue* const l = find(resource);
    if (l == nullptr || l->is_taken || l->waiters.empty()) return nullptr;
    return l->waiters.front().waiting;
}

void local_queues::wake(std::string_view resource, std::size_t node,
                        std::optional<std::uint16_t> slot, time_point now) {
    queue* const l = find(resource);
    if (l == nullptr || l->is_taken) return;
    for (stand& s : l->waiters) {
        if (!s.is_in_front) break;
        if (is_in_front(*s.waiting)) s.waiting->on_wake(node, resource, slot, now);
    }
}

bool local_queues::is_waited_for(std::string_view resource, std::size_t places) const noexcept {
    const queue* const l = find(resource);
    return l != nullptr && (places == any_number ? l->alone > 0 : !l->waiters.empty());
}

bool local_queues::is_any_waited_for(std::span<const std::string> resources,
                                     std::size_t places) const noexcept {
    return std::ranges::any_of(
        resources, [&](const std::string& one) { return is_waited_for(one, places); });
}

bool local_queues::is_any_taken(std::span<const std::string> resources) const noexcept {
    return std::ranges::any_of(resources, [&](const std::string& one) {
        return first(one) == nullptr && is_waited_for(one);
    });
}

void local_queues::give_turns(time_point now) {
    while (!due_.empty() && turns_ < most_turns) {
        waiter& next = due_.front();
        assert(next.is_queued() && next.behind_ == 0);
        due_.pop_front();
        set(next, waiter::state::has_turn);
        next.on_turn(now);
    }
}

void local_queues::clear() noexcept {
    due_.clear();
    for (auto& [resource, l] : queues_) {
        l.waiters.clear_and_dispose([this](stand* s) {
            s->line = nullptr;
            s->is_in_front = false;
            set(*s->waiting, waiter::state::idle);
        });
    }
    queues_.clear();
    assert(turns_ == 0 && resting_ == 0);
}

void sleepers::add(sleeper& waiter, std::size_t keys, time_point sent) noexcept {
    assert(!waiter.is_asleep() && keys > 0);
    waiter.queried_at_ = sent;
    waiter.keys_ = keys;
    asleep_.push_back(waiter);
    keys_ += keys;
}

void sleepers::remove(sleeper& waiter) noexcept {
    if (!waiter.is_asleep()) return;
    assert(keys_ >= waiter.keys_);
    asleep_.erase(asleep_.iterator_to(waiter));
    keys_ -= waiter.keys_;
    assert(!asleep_.empty() || keys_ == 0);
}

void sleepers::clear() noexcept {
    asleep_.clear();
    keys_ = 0;
}

node_mask sleepers::unqueried(node_mask listening, node_mask queried,
                              time_point sent) const noexcept {
    node_mask out = listening - queried;
    for (const std::size_t node : listening) {
        if (listening_since_[node] > sent) out.insert(node);
    }
    return out;
}

duration sleepers::entry_life(duration longest) const noexcept {
    assert(keys_ >= asleep_.size() && longest >= shortest_life);
    // Those that want several keys fill a batch to a half at least.
    const std::size_t full = (keys_ + most_at_once - 1) / most_at_once;
    const bool are_single = keys_ == asleep_.size();
    const std::size_t batches = are_single ? full : std::min(asleep_.size(), 2 * full);
    return std::clamp(3 * static_cast<duration::rep>(batches) * between_batches, shortest_life,
                      longest);
}

time_point sleepers::next_query(time_point now, std::uint64_t random) const noexcept {
    const auto spread = static_cast<std::uint64_t>(jitter.count()) + 1;
    const duration period = refresh + duration(static_cast<duration::rep>(random % spread));
    time_point when = now + period;
    if (!asleep_.empty()) {
        const sleeper& first = asleep_.front();
        when = is_hurried(first) ? now : first.queried_at_ + period;
    }
    return std::max(when, now + between_batches);
}

sleepers::list::iterator sleepers::end_of_due(time_point now) noexcept {
    auto last = asleep_.begin();
    for (std::size_t keys = 0; last != asleep_.end(); ++last) {
        if (!is_hurried(*last) && last->queried_at_ > now - refresh / 2) break;
        assert(last->keys_ > 0);
        keys += last->keys_;
        if (keys > most_at_once) break;
    }
    return last;
}

bool sleepers::open(time_point now) noexcept {
    last_needed_ = now;
    return !std::exchange(is_open_, true);
}

bool sleepers::close_if_idle(time_point now) noexcept {
    if (!asleep_.empty()) last_needed_ = now;
    if (now - last_needed_ < patience) return false;
    is_open_ = false;
    return true;
}

bool sleepers::listens(std::size_t node, time_point now) noexcept {
    assert(node < listening_since_.size());
    listening_since_[node] = now;
    if (keys_ <= most_at_once) return true;
    hurried_at_ = now;
    return false;
}

}  // namespace redlock::core
