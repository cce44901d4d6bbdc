// The mutex: a lockable that its holder may not lock again.
// SPDX-License-Identifier: MIT
#include <redlock/mutex.hpp>

#include "lockable/lockable.hpp"

#include <utility>

namespace redlock {

mutex::mutex(blocking_client& client, std::string resource, acquire_options options)
    : state_(std::make_unique<detail::lockable>(client, std::move(resource), options,
                                                detail::lockable::nesting::refused)) {}

mutex::~mutex() = default;

void mutex::lock() { state_->lock(); }

bool mutex::try_lock_within(std::chrono::milliseconds wait) { return state_->try_lock(wait); }

void mutex::unlock() { state_->unlock(); }

std::uint64_t mutex::fence() const noexcept { return state_->fence(); }

std::stop_token mutex::lost_token() const noexcept { return state_->lost_token(); }

void mutex::touch() const noexcept { state_->touch(); }

}  // namespace redlock
