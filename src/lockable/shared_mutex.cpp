// The shared mutex: a lockable with holds of either mode.
// SPDX-License-Identifier: MIT
#include <redlock/shared_mutex.hpp>

#include "lockable/lockable.hpp"

#include <utility>

namespace redlock {

shared_mutex::shared_mutex(blocking_client& client, std::string resource, acquire_options options)
    : state_(std::make_unique<detail::lockable>(client, std::move(resource), options,
                                                detail::lockable::nesting::refused)) {}

shared_mutex::~shared_mutex() = default;

void shared_mutex::lock() { state_->lock(); }

void shared_mutex::lock_shared() { state_->lock(lock_mode::shared); }

bool shared_mutex::try_lock_within(std::chrono::milliseconds wait, lock_mode mode) {
    return state_->try_lock(wait, mode);
}

void shared_mutex::unlock() { state_->unlock(); }

void shared_mutex::unlock_shared() { state_->unlock(); }

void shared_mutex::unlock_and_lock_shared() { state_->share(); }

std::uint64_t shared_mutex::fence() const noexcept { return state_->fence(); }

std::stop_token shared_mutex::lost_token() const noexcept { return state_->lost_token(); }

void shared_mutex::touch() const noexcept { state_->touch(); }

}  // namespace redlock
