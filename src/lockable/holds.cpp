// The holds of each thread, from grant to unlock or loss.
// SPDX-License-Identifier: MIT
#include "lockable/holds.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::detail {

holds::arrival holds::arrive(thread_number thread) {
    entry* const mine = of(thread);
    if (mine == nullptr) return {standing::free};
    lease ended = find_loss(*mine);
    if (std::exchange(mine->is_unreported, false)) {
        tidy();
        return {standing::lost, std::move(ended)};
    }
    return {mine->levels > 0 ? standing::held : standing::free};
}

void holds::begin(thread_number thread, lease granted) {
    entry& mine = made_for(thread);
    assert(mine.levels == 0);
    mine.held = std::move(granted);
    mine.levels = 1;
}

void holds::deepen(thread_number thread) {
    entry* const mine = of(thread);
    assert(mine != nullptr && mine->levels > 0);
    ++mine->levels;
}

holds::departure holds::depart(thread_number thread, bool may_throw) {
    entry* const mine = of(thread);
    if (mine == nullptr) return {leaving::not_held};
    lease ended = find_loss(*mine);
    if (mine->levels > 1) {
        --mine->levels;
        return {leaving::level};
    }
    departure done{leaving::not_held, std::move(ended)};
    if (mine->levels == 1) {
        mine->levels = 0;
        done = {leaving::hold, std::move(mine->held)};
    } else if (may_throw && mine->is_unreported) {
        mine->is_unreported = false;
        done.what = leaving::lost;
    } else if (mine->excused > 0) {
        --mine->excused;
        done.what = leaving::excused;
    }
    tidy();
    return done;
}

void holds::note_loss(thread_number thread, bool may_throw) {
    entry& mine = made_for(thread);
    if (may_throw) {
        ++mine.excused;  // a guard whose unlock throws will call it again
    } else {
        mine.is_unreported = true;
    }
}

const lease* holds::find(thread_number thread) const noexcept {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) {
        return e.thread == thread && e.levels > 0;
    });
    return found == entries_.end() ? nullptr : &found->held;
}

holds::entry* holds::of(thread_number thread) noexcept {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const entry& e) { return e.thread == thread; });
    return found == entries_.end() ? nullptr : &*found;
}

holds::entry& holds::made_for(thread_number thread) {
    if (entry* const known = of(thread)) return *known;
    tidy();
    entry& made = entries_.emplace_back();
    made.thread = thread;
    return made;
}

// Moves the lease out of a hold that is over.
lease holds::find_loss(entry& of) noexcept {
    if (of.levels == 0 || of.held) return {};
    of.excused += std::exchange(of.levels, 0);
    of.is_unreported = true;
    return std::move(of.held);
}

void holds::tidy() noexcept {
    std::erase_if(entries_, [](const entry& e) {
        return e.levels == 0 && e.excused == 0 && !e.is_unreported;
    });
    const auto has_no_lease = [](const entry& e) { return e.levels == 0; };
    if (std::count_if(entries_.begin(), entries_.end(), has_no_lease) >
        static_cast<std::ptrdiff_t>(most_without_lease)) {
        entries_.erase(std::find_if(entries_.begin(), entries_.end(), has_no_lease));
    }
}

}  // namespace redlock::detail
