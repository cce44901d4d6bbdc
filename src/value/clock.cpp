// The clock that counts suspended time, instants of it, and what one process has once.
// SPDX-License-Identifier: MIT
#include "value/clock.hpp"

#include "value/platform.hpp"

#include <cassert>
#include <forward_list>
#include <mutex>
#include <pthread.h>
#include <utility>

namespace redlock {

namespace {

std::atomic<const detail::moved_clock*> moved{nullptr};

std::atomic<std::uint32_t> fork_count{0};

void note_fork() noexcept { fork_count.fetch_add(1, std::memory_order_relaxed); }

// Other objects may be initialised, and fork, before this one is.
[[maybe_unused]] const int at_load = detail::watch_forks();

}  // namespace

int detail::watch_forks() noexcept {
    static const int failed = ::pthread_atfork(nullptr, nullptr, note_fork);
    return failed;
}

std::uint32_t detail::process_number() noexcept {
    watch_forks();
    return fork_count.load(std::memory_order_relaxed);
}

void detail::leave_to_parent(std::shared_ptr<void> what) noexcept {
    assert(what != nullptr);
    // Neither is ever destroyed, also not when the process ends.
    static auto* const mutex = new std::mutex;
    static auto* const kept = new std::forward_list<std::shared_ptr<void>>;
    const std::lock_guard lock(*mutex);
    kept->push_front(std::move(what));
}

void detail::use_moved_clock(const moved_clock* by) noexcept { moved.store(by); }

clock::time_point clock::now() noexcept {
    if (const auto* const by = moved.load(std::memory_order_relaxed)) {
        return time_point(std::chrono::nanoseconds(by->load()));
    }
    return time_point(detail::platform::steady_time());
}

}  // namespace redlock
