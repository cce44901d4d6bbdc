// A semaphore on a blocking client.
// SPDX-License-Identifier: MIT
#include "lockable/counting_semaphore.hpp"

#include <redlock/counting_semaphore.hpp>

#include <algorithm>
#include <cassert>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace redlock::detail {

permits::arrival permits::arrive(thread_number thread) {
    arrival out;
    for (entry& e : entries_) {
        if (e.thread == thread && !e.held && !e.is_reported) out.is_lost |= report(e, out.ended);
    }
    tidy();
    return out;
}

void permits::begin(thread_number thread, lease granted) {
    entry& made = entries_.emplace_back();
    made.thread = thread;
    made.held = std::move(granted);
    tidy();
}

permits::departure permits::depart(thread_number thread, std::size_t count, bool may_throw) {
    departure out;
    const auto is_out = [](const entry& e) { return !e.is_given_back; };
    out.is_enough = static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(),
                                                           is_out)) >= count;
    if (!out.is_enough) return out;
    for (; count > 0; --count) {
        const auto next = next_to_go(thread);
        assert(next != entries_.end());
        if (next->held) {
            out.held.push_back(std::move(next->held));
            entries_.erase(next);
        } else if (next->is_reported) {
            entries_.erase(next);
        } else {
            next->thread = thread;  // to which it is reported
            next->is_given_back = true;
        }
    }
    for (entry& e : entries_) {
        const bool is_due = e.thread == thread && e.is_given_back && !e.is_reported;
        if (may_throw && is_due) out.is_lost |= report(e, out.ended);
    }
    tidy();
    return out;
}

void permits::note_loss(thread_number thread) {
    entry& made = entries_.emplace_back();
    made.thread = thread;
    made.is_given_back = true;
    tidy();
}

const lease* permits::latest(thread_number thread) const noexcept {
    const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [&](const entry& e) {
        return e.thread == thread && !e.is_given_back && !e.is_reported;
    });
    return found == entries_.rend() ? nullptr : &found->held;
}

void permits::touch(thread_number thread) const noexcept {
    for (const entry& e : entries_) {
        if (e.thread == thread) e.held.touch();
    }
}

bool permits::report(entry& lost, std::vector<lease>& ended) {
    lost.is_reported = true;
    ended.push_back(std::move(lost.held));
    return true;
}

// Of its own the lost ones, then the latest; of the others the lost ones, then the oldest.
std::vector<permits::entry>::iterator permits::next_to_go(thread_number thread) noexcept {
    auto best = entries_.end();
    int best_rank = 4;
    for (auto e = entries_.begin(); e != entries_.end(); ++e) {
        if (e->is_given_back) continue;
        const bool is_lost = !e->held;
        const bool is_own = e->thread == thread;
        const int rank = (is_own ? 0 : 2) + (is_lost ? 0 : 1);
        const bool is_later_own = rank == best_rank && is_own && !is_lost;
        if (rank < best_rank || is_later_own) {
            best = e;
            best_rank = rank;
        }
    }
    return best;
}

void permits::tidy() noexcept {
    std::erase_if(entries_, [](const entry& e) { return e.is_given_back && e.is_reported; });
    const auto is_lost = [](const entry& e) { return !e.held; };
    if (std::count_if(entries_.begin(), entries_.end(), is_lost) >
        static_cast<std::ptrdiff_t>(most_losses)) {
        entries_.erase(std::find_if(entries_.begin(), entries_.end(), is_lost));
    }
}

}  // namespace redlock::detail

namespace redlock {

namespace {

/// Throws if there can't be so many: none would be the resource itself, which is another lock.
acquire_options one_of(std::uint16_t slots, acquire_options how) {
    if (slots == 0 || slots > max_slots) {
        throw std::invalid_argument("redlock::counting_semaphore: slots must be 1 to " +
                                    std::to_string(max_slots));
    }
    how.mode = lock_mode::exclusive;
    how.slots = slots;
    return how;
}

}  // namespace

struct counting_semaphore::state {
    state(blocking_client& c, std::string name, std::uint16_t slots, acquire_options how)
        : client(&c),
          resource(std::move(name)),
          options(one_of(slots, how)) {}

    /// Throws if the thread has lost a slot.
    void arrive();
    void begin(lease granted);
    /// `get` of the thread's latest lease.
    template <class F>
    auto of_latest(F get) const {
        const std::lock_guard lock(gate);
        return detail::of_lease(permits.latest(detail::this_thread_number()), get);
    }

    blocking_client* client;
    const std::string resource;
    const acquire_options options;

    mutable std::mutex gate;  // never held during a call of the client
    detail::permits permits;
};

void counting_semaphore::state::arrive() {
    const auto now = [&] {
        const std::lock_guard lock(gate);
        return permits.arrive(detail::this_thread_number());
    }();
    if (!now.is_lost) return;
    for (const lease& lost : now.ended) detail::await_report(lost);
    detail::fail(errc::lost, resource);
}

void counting_semaphore::state::begin(lease granted) {
    const std::lock_guard lock(gate);
    permits.begin(detail::this_thread_number(), std::move(granted));
}

counting_semaphore::counting_semaphore(blocking_client& client, std::string resource,
                                       std::uint16_t slots, acquire_options options)
    : state_(std::make_unique<state>(client, std::move(resource), slots, options)) {}

counting_semaphore::~counting_semaphore() = default;

void counting_semaphore::acquire(std::stop_token stop) {
    state_->arrive();
    state_->begin(detail::acquire_or_throw(*state_->client, state_->resource,
                                           state_->options, std::move(stop)));
}

bool counting_semaphore::try_acquire_within(std::chrono::milliseconds wait, std::stop_token stop) {
    state_->arrive();
    lease granted = detail::acquire_within(wait, *state_->client, state_->resource,
                                           state_->options, std::move(stop));
    if (!granted) return false;
    state_->begin(std::move(granted));
    return true;
}

void counting_semaphore::release(std::ptrdiff_t count) {
    if (count < 0) detail::fail(errc::not_held, state_->resource);
    const auto thread = detail::this_thread_number();
    const bool may_throw = std::uncaught_exceptions() == 0;
    detail::permits::departure done = [&] {
        const std::lock_guard lock(state_->gate);
        return state_->permits.depart(thread, static_cast<std::size_t>(count), may_throw);
    }();
    if (!done.is_enough) detail::fail(errc::not_held, state_->resource);
    bool has_lost = done.is_lost;
    for (lease& held : done.held) {
        if (detail::release_held(*state_->client, std::move(held))) continue;
        if (may_throw) {
            has_lost = true;
        } else {
            const std::lock_guard lock(state_->gate);
            state_->permits.note_loss(thread);
        }
    }
    for (const lease& lost : done.ended) detail::await_report(lost);
    if (has_lost) detail::fail(errc::lost, state_->resource);
}

std::uint64_t counting_semaphore::fence() const noexcept {
    return state_->of_latest(&lease::fence);
}

std::uint16_t counting_semaphore::slot() const noexcept { return state_->of_latest(&lease::slot); }

std::stop_token counting_semaphore::lost_token() const noexcept {
    return state_->of_latest(&lease::lost_token);
}

void counting_semaphore::touch() const noexcept {
    const std::lock_guard lock(state_->gate);
    state_->permits.touch(detail::this_thread_number());
}

}  // namespace redlock
