// Mutexes, guards and sections on a blocking client: what each thread holds, and how a loss is
// reported.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <stop_token>
#include <string>
#include <type_traits>

namespace redlock::detail {

/// Identifies a thread of this process. Unlike `std::thread::id`, no later thread has it again.
using thread_number = std::uint64_t;
thread_number this_thread_number() noexcept;

/// A hold is a lease and the levels at which a thread holds it. Each loss is reported to its thread
/// once. The levels of a lost hold are *excused*: their unlocks come later, from the destructors of
/// guards, and may neither fail nor end another hold. Not thread-safe.
class holds {
public:
    /// Of a thread before it locks.
    enum class standing {
        free,  ///< It has no hold.
        held,  ///< It has one.
        lost,  ///< It had one: the operation reports the loss, and may try again later.
    };
    struct arrival {
        standing what;
        lease ended{};  ///< Of a loss that was found here, if it was.
    };
    arrival arrive(thread_number thread);

    /// **Preconditions.** The thread has no hold.
    void begin(thread_number thread, lease granted);
    /// One level deeper.
    ///
    /// **Preconditions.** The thread has a hold.
    void deepen(thread_number thread);

    /// What an unlock ends.
    enum class leaving {
        level,     ///< One of several.
        hold,      ///< The last one: `ended` is to be released.
        excused,   ///< A level of a lost hold: nothing.
        lost,      ///< Nothing: the operation reports the loss.
        not_held,  ///< Nothing: the thread has no hold.
    };
    struct departure {
        leaving what;
        lease ended{};  ///< Also of a loss that was found here, if it was.
    };
    /// `lost` only to an operation that may throw: else the next one reports the loss.
    departure depart(thread_number thread, bool may_throw);

    /// The release of a hold that `depart` ended has shown that it was lost. An operation that may
    /// throw reports that.
    void note_loss(thread_number thread, bool may_throw);

    /// The lease of a thread's hold, also if it was lost and the loss was not found yet; else null.
    /// It stays where it is until that thread ends its hold.
    const lease* find(thread_number thread) const noexcept;

    /// Threads that end without unlocking leave an entry. At most this many have no lease: beyond
    /// that, the oldest is forgotten.
    static constexpr std::size_t most_without_lease = 256;

private:
    struct entry {
        thread_number thread = 0;
        lease held;
        std::size_t levels = 0;   // not 0 as long as there is a lease
        std::size_t excused = 0;  // levels of holds that were lost, whose unlocks are still to come
        bool is_unreported = false;
    };

    entry* of(thread_number thread) noexcept;
    entry& made_for(thread_number thread);
    lease find_loss(entry& of) noexcept;
    void tidy() noexcept;

    std::list<entry> entries_;  // few: one for each thread that holds, or has lost a hold
};

/// `get` of a lease; a value that stands for nothing where there is none.
template <class F>
auto of_lease(const lease* held, F get) {
    using value = std::invoke_result_t<F, const lease&>;
    return held != nullptr ? std::invoke(get, *held) : value();
}

/// A lease, after a wait of `options.wait`; where that is 0, of `longest_wait`. Throws
/// `std::system_error` if there is none, also after a stop.
lease acquire_or_throw(blocking_client& client, const std::string& resource,
                       acquire_options options, std::stop_token stop = {});

/// A lease, after `wait` at most; empty if there is none and the same call may succeed later, or a
/// stop was requested. Throws `std::system_error` if it would fail again.
lease acquire_within(std::chrono::milliseconds wait, blocking_client& client,
                     const std::string& resource, acquire_options options,
                     std::stop_token stop = {});

/// Throws `std::system_error` with a text that names the resource, and says more if `detail` does.
[[noreturn]] void fail(errc why, const std::string& resource, const std::string& detail = {});
[[noreturn]] void fail(const refusal& why, const std::string& resource);

/// A thread can see by the clock that a lease is over before the client's thread has reported that:
/// waits for the report, for a second at most, so that `lost_token()` fires before an exception is
/// thrown. Returns at once for an empty lease.
void await_report(const lease& lost);

/// Releases it. False if that shows that the lease was lost: it was not held until then.
bool release_held(blocking_client& client, lease held);

}  // namespace redlock::detail
