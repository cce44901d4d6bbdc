// One lock as its threads see it: the operations that the mutexes have in common; knows no nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include "lockable/holds.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/detail/kept_options.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>

namespace redlock::detail {

/// Threads that wait do so in the client's queue, and hold nothing of this object meanwhile.
class lockable {
public:
    /// Whether a thread that holds the lock may lock it again.
    enum class nesting : bool { refused, counted };

    lockable(blocking_client& client, std::string resource, acquire_options options,
             nesting again)
        : client_(&client), resource_(std::move(resource)), options_(options), nesting_(again) {}

    /// Beside a hold of either mode, another one is refused.
    void lock(lock_mode mode = lock_mode::exclusive);
    bool try_lock(std::chrono::milliseconds wait, lock_mode mode = lock_mode::exclusive);
    /// Ends the hold of the calling thread, of whichever mode.
    void unlock();

    /// Shares the hold of the calling thread from now on, also where it has lost it: its unlock
    /// reports that.
    void share();

    /// Of the lease that the calling thread holds.
    std::uint64_t fence() const noexcept;
    std::stop_token lost_token() const noexcept;
    void touch() const noexcept;

private:
    acquire_options options(lock_mode mode) const;
    holds::standing arrive();
    void begin(lease granted);

    blocking_client* client_;
    const std::string resource_;
    const kept_options options_;
    const nesting nesting_;

    mutable std::mutex gate_;  // never held during a call of the client
    holds holds_;
};

}  // namespace redlock::detail
