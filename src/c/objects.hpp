// What stands behind the C interface: its objects, and the last failure of each thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/c.h>
#include <redlock/config.hpp>
#include <redlock/detail/limit_call.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>
#include <redlock/resource_state.hpp>

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

namespace redlock::c {

/// What a client shares with its leases and limiters, which may outlive it.
struct shared_client {
    explicit shared_client(configuration of)
        : blocking(std::move(of.client)), defaults(of.defaults) {}

    blocking_client blocking;
    const acquire_options defaults;
};
using shared_client_ptr = std::shared_ptr<shared_client>;

/// A descriptor that becomes readable when a stop is requested, and is so in a child process.
class stop_signal {
public:
    /// Throws `std::system_error` where the system has no descriptor left.
    explicit stop_signal(std::stop_token of);
    ~stop_signal();
    stop_signal(const stop_signal&) = delete;
    stop_signal& operator=(const stop_signal&) = delete;

    int descriptor() const noexcept { return descriptor_.number; }

private:
    struct owned_descriptor {
        explicit owned_descriptor(int made);
        ~owned_descriptor();
        owned_descriptor(const owned_descriptor&) = delete;
        owned_descriptor& operator=(const owned_descriptor&) = delete;
        const int number;
    };
    struct writer {
        int descriptor;
        void operator()() const noexcept;
    };

    const owned_descriptor descriptor_;
    const long process_;
    std::unique_ptr<std::stop_callback<writer>> on_stop_;
};

/// A copy that `redlock_text_free` frees.
char* copied(const std::string& text);

/// The token of what may be null.
std::stop_token token_of(redlock_cancel* cancel);

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

namespace redlock::c {

/// Keeps the reason for redlock_last_error(), and returns its number.
int fail(refusal why) noexcept;
int fail(config_error why) noexcept;
/// An argument that is refused: "client is null".
int refuse(std::string what);

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

}  // namespace redlock::c
