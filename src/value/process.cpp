// Counts forks, and keeps what is not to be destroyed in a child process.
// SPDX-License-Identifier: MIT
#include "value/process.hpp"

#include <pthread.h>

#include <atomic>
#include <forward_list>
#include <mutex>
#include <utility>

namespace redlock::detail {

namespace {

std::atomic<std::uint32_t> forks{0};

void note_fork() noexcept { forks.fetch_add(1, std::memory_order_relaxed); }

[[maybe_unused]] const int is_noted = ::pthread_atfork(nullptr, nullptr, note_fork);

}  // namespace

std::uint32_t process_number() noexcept { return forks.load(std::memory_order_relaxed); }

void leave_to_parent(std::shared_ptr<void> what) noexcept {
    // Neither is ever destroyed, also not when the process ends.
    static auto* const mutex = new std::mutex;
    static auto* const kept = new std::forward_list<std::shared_ptr<void>>;
    const std::lock_guard lock(*mutex);
    kept->push_front(std::move(what));
}

}  // namespace redlock::detail
