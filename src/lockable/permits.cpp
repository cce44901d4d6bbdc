// The permits of a semaphore, from grant to release or loss.
// SPDX-License-Identifier: MIT
#include "lockable/permits.hpp"

#include <algorithm>
#include <cassert>
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
