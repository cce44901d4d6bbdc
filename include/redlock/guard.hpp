// A lock for a scope, which neither throws nor ends the program; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>

#include <cstdint>
#include <stop_token>
#include <string>

namespace redlock {

/// Holds a lock from its construction to the end of the scope, unless it could not be acquired or
/// was lost: ask `held()`, before the work and after it.
///
///     redlock::guard stock(client, "stock:4711", {.wait = 5s});
///     if (!stock) return report(stock.why().message());
///     book(stock.fence(), stock.lost_token());
///     if (!stock.held()) undo();
///
/// No member throws, and none ends the program. Where memory runs out the guard is not held, and
/// the code of `why()` is `boost::system::errc::not_enough_memory`.
///
/// A guard can't be copied, moved or assigned: it belongs to its scope, as `std::lock_guard` does,
/// and there is no state in which it was moved from. A function may return one that it constructs
/// in its return statement. What has to move is a `lease`.
///
/// **Leaves behind.** The destructor hands the release to the client, which sends it in the
/// background. It does not wait for the nodes: to learn whether they answered, use `with_lock` or
/// `blocking_client::release`.
/// **Thread safety.** One thread at a time may use a guard, as with `lease`; any thread may use its
/// `lost_token()` and call `touch()`.
class [[nodiscard]] REDLOCK_EXPORT guard {
public:
    /// Blocks until the lock is acquired or refused, as `blocking_client::acquire` does: one
    /// attempt unless `options.wait` says more.
    ///
    /// **Preconditions.** Those of `client::async_acquire`. If they do not hold, the guard is not
    /// held, and `why()` is `invalid_argument`.
    /// **Cancellation.** A stop ends the wait: the guard is not held, and the code of `why()` is
    /// `boost::asio::error::operation_aborted`.
    [[nodiscard]] guard(blocking_client& client, std::string resource, acquire_options options = {},
                        std::stop_token stop = {}) noexcept;
    ~guard() = default;
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    /// Whether the lock was acquired and can be relied on at this instant. Once false it stays
    /// false.
    [[nodiscard]] bool held() const noexcept { return static_cast<bool>(lease_); }
    explicit operator bool() const noexcept { return held(); }

    /// The fencing token: see `lease::fence()`. 0 if the lock was not acquired. It stays after a
    /// loss.
    std::uint64_t fence() const noexcept { return lease_.fence(); }
    /// Reports the loss: see `lease::lost_token()`. Empty if the lock was not acquired.
    std::stop_token lost_token() const noexcept { return lease_.lost_token(); }
    /// A sign of life, for `acquire_options::watchdog`: see `lease::touch()`.
    void touch() const noexcept { lease_.touch(); }

    /// Releases the lock before the end of the scope, and blocks until a quorum of nodes has
    /// answered or cannot. True if the lock was held until then, and `why()` is `not_held` from
    /// then on; else `why()` says what became of it. A second call returns false.
    ///
    /// **Preconditions.** The client was neither destroyed nor moved from.
    [[nodiscard]] bool release() noexcept;

    /// Why it is not held: the refusal of the acquire, `errc::lost` with the reason in its detail,
    /// or `errc::client_closed`. The code is zero while it is held. The reference is valid as long
    /// as the guard; the next call may change what it refers to.
    const refusal& why() const noexcept;

private:
    blocking_client* client_;
    lease lease_;
    mutable refusal why_;
};

}  // namespace redlock
