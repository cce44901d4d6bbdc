// The recursive mutex: a lockable that counts the levels of its holder.
// SPDX-License-Identifier: MIT
#include <redlock/recursive_mutex.hpp>

#include "lockable/lockable.hpp"

#include <utility>

namespace redlock {

recursive_mutex::recursive_mutex(blocking_client& client, std::string resource,
                                 acquire_options options)
    : state_(std::make_unique<detail::lockable>(client, std::move(resource), options,
                                                detail::lockable::nesting::counted)) {}

recursive_mutex::~recursive_mutex() = default;

void recursive_mutex::lock() { state_->lock(); }

bool recursive_mutex::try_lock_within(std::chrono::milliseconds wait) {
    return state_->try_lock(wait);
}

void recursive_mutex::unlock() { state_->unlock(); }

std::uint64_t recursive_mutex::fence() const noexcept { return state_->fence(); }

std::stop_token recursive_mutex::lost_token() const noexcept { return state_->lost_token(); }

void recursive_mutex::touch() const noexcept { state_->touch(); }

}  // namespace redlock
