// What stands behind the C interface: its objects, and the last failure of each thread.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/platform.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/c.h>
#include <redlock/config.hpp>
#include <redlock/detail/limit_call.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>
#include <redlock/resource_state.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

namespace redlock::c {

long current_process() noexcept;

/// What a client shares with its leases and limiters, which may outlive it.
struct shared_client {
    explicit shared_client(configuration of)
        : blocking(std::move(of.client)), defaults(of.defaults) {}

    blocking_client blocking;
    const acquire_options defaults;
};
using shared_client_ptr = std::shared_ptr<shared_client>;

/// Readable from `raise` to `lower`, and always in a child process.
class event_descriptor {
public:
    /// Throws `std::system_error` where the system has no descriptor left.
    event_descriptor();
    ~event_descriptor();
    event_descriptor(const event_descriptor&) = delete;
    event_descriptor& operator=(const event_descriptor&) = delete;

    int number() const noexcept { return event_.number; }
    void raise() const noexcept { detail::platform::raise(event_); }
    void lower() const noexcept { detail::platform::lower(event_); }

private:
    const detail::platform::event event_;
};

/// A descriptor that becomes readable when a stop is requested, and is so in a child process.
class stop_signal {
public:
    /// Throws `std::system_error` where the system has no descriptor left.
    explicit stop_signal(std::stop_token of);
    ~stop_signal();
    stop_signal(const stop_signal&) = delete;
    stop_signal& operator=(const stop_signal&) = delete;

    int descriptor() const noexcept { return event_.number(); }

private:
    struct raiser {
        const event_descriptor* event;
        void operator()() const noexcept { event->raise(); }
    };

    const event_descriptor event_;
    const long process_;
    std::unique_ptr<std::stop_callback<raiser>> on_stop_;
};

/// A copy that `redlock_text_free` frees.
char* copied(const std::string& text);

/// The token of what may be null.
std::stop_token token_of(redlock_cancel* cancel);

class begun_acquire;

/// Where calls arrive that are over. The calls and the queue's owner share it.
class over_queue {
public:
    using calls = std::list<std::shared_ptr<begun_acquire>>;

    int descriptor() const noexcept { return event_.number(); }
    /// Needs no memory: `one` has one call.
    void add(calls& one) noexcept;
    /// The one that ended first and still has an owner, or null.
    redlock_pending* next() noexcept;
    bool is_of_this_process() const noexcept;

private:
    const event_descriptor event_;
    const long process_ = current_process();
    std::mutex gate_;
    calls over_;
};

/// An acquire that was begun. Its owner and the client's thread share it.
class begun_acquire : public std::enable_shared_from_this<begun_acquire> {
public:
    /// In the client's thread.
    void arrive(error_code why, lease got) noexcept;

    /// The rest is its owner's.
    int descriptor();
    void add_to(std::shared_ptr<over_queue> queue);
    /// Blocks until it is over.
    error_code await(lease& out);
    void drop() noexcept { owner.store(nullptr); }

    std::atomic<redlock_pending*> owner{nullptr};

private:
    std::mutex gate_;
    std::condition_variable arrived_;
    bool is_over_ = false;
    error_code why_;
    lease got_;
    std::unique_ptr<event_descriptor> event_;
    std::shared_ptr<over_queue> queue_;
    over_queue::calls place_;
};

/// Keeps the reason for redlock_last_error(), and returns its number.
int fail(refusal why) noexcept;
int fail(config_error why) noexcept;
/// An argument that is refused: "client is null".
int refuse(std::string what);
/// A call with what a parent process made.
int refuse_child();

/// Forgets the reason of the call before.
void begin() noexcept;

/// The number of the exception that is being handled, whose reason it keeps.
int fail_by_exception() noexcept;

/// Runs one function of the interface. No exception leaves it.
template <class F>
int guarded(F&& body) noexcept {
    begin();
    try {
        return body();
    } catch (...) {
        return fail_by_exception();
    }
}

/// The same for a function that returns no number: `failed`, where `body()` can't return another.
template <class T, class F>
T guarded_value(T failed, F&& body) noexcept {
    guarded([&] {
        failed = body();
        return 0;
    });
    return failed;
}

}  // namespace redlock::c

struct redlock_client {
    redlock::c::shared_client_ptr shared;
};

struct redlock_lease {
    redlock::c::shared_client_ptr client;
    redlock::lease held;
    // What is made when it is needed first.
    mutable std::mutex gate;
    mutable std::string token;
    mutable std::unique_ptr<redlock::c::stop_signal> lost;
};

struct redlock_limiter {
    redlock::c::shared_client_ptr client;
    redlock::detail::limiter_ptr limit;
};

struct redlock_watch {
    redlock::c::shared_client_ptr client;
    std::string resource;
    redlock::resource_state last;
};

struct redlock_cancel {
    std::stop_source source;
};

struct redlock_queue {
    std::shared_ptr<redlock::c::over_queue> shared;
};

struct redlock_pending {
    redlock::c::shared_client_ptr client;
    std::shared_ptr<redlock::c::begun_acquire> call;
    std::unique_ptr<redlock_lease> made;  // no lease is lost for want of memory
    std::function<void()> cancel;
    const long process = redlock::c::current_process();
};
