// The lease: what the holder of a lock has; knows nothing of nodes and connections.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>
#include <redlock/export.hpp>
#include <redlock/owner_id.hpp>
#include <redlock/vote.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

namespace redlock {

namespace detail {
class lease_state;
struct access;
}

/// A lock that is held: a resource and an owner, valid until an instant. Move-only. A lease that
/// was default-constructed or moved from is empty.
///
/// **Leaves behind.** The destructor hands a release for every node to the client, which sends it
/// in the background; it never blocks and never throws. To learn whether the nodes answered, use
/// `client::async_release`. A lease may outlive its client: its members still answer by the clock,
/// and its keys remain until their ttl ends, unless `client::close()` has released them.
/// **Fork.** In a child process an inherited lease is over: it is false, its `lost_token()` is
/// stopped, and its destructor does nothing. In the parent nothing changes. A token that was taken
/// before the fork does not fire in the child.
/// **Thread safety.** One thread at a time may use a lease object, as with `std::unique_lock`. The
/// state that it shares with the client is synchronised.
class [[nodiscard]] REDLOCK_EXPORT lease {
public:
    lease() noexcept = default;
    lease(lease&& other) noexcept;
    lease& operator=(lease&& other) noexcept;  ///< Releases the lease that it replaces.
    ~lease();

    /// True if the lease was granted, was neither released nor lost, and `valid_until()` is still
    /// in the future by a reading of the clock in this call. Once false it stays false, whatever
    /// the nodes answer later.
    explicit operator bool() const noexcept;

    /// Of several the first.
    const std::string& resource() const noexcept;
    /// All that it is of, in the order in which they were named. The span is valid as long as the
    /// lease.
    std::span<const std::string> resources() const noexcept;
    owner_id owner() const noexcept;

    /// The fencing token: strictly larger than that of every earlier lease of the resource. Send
    /// it with each write, and let the receiver refuse a fence below the highest that it has seen:
    /// then a holder that has lost its lease without knowing it can't overwrite a later holder's
    /// data. 0 if `client_options::fencing` is off.
    std::uint64_t fence() const noexcept;

    /// Which of `acquire_options::slots` the lease holds, from 0; 0 if the acquire named no slots.
    std::uint16_t slot() const noexcept;
    /// All of `acquire_options::permits` slots, from the lowest on, which is `slot()`; empty if the
    /// acquire named no slots. The span is valid as long as the lease.
    std::span<const std::uint16_t> slots() const noexcept;

    /// Text with which another process can prolong or release this lease: `client::async_adopt`. It
    /// stays the same as long as the lease lives. Empty if the lease is. From then on its release
    /// is noted on the nodes: a program that has the token can't bring the lease back.
    ///
    /// The token is a secret: a program that has it, and reaches the nodes, can end the lease.
    /// Write it to a file that only its reader can open, and never to logs or to a command line.
    std::string token() const;

    /// When the lease ends if nothing prolongs it. The drift allowance is already deducted.
    clock::time_point valid_until() const noexcept;
    /// Time until `valid_until()`, rounded down; zero if the lease has ended, was lost or
    /// released.
    std::chrono::milliseconds remaining() const noexcept;

    /// One vote per node, as they stood when the acquire completed; also if it failed. If the
    /// acquire gave up during a try, a node that had not answered that try has its vote of the try
    /// before. May be empty if the acquire ended before its first try. The span is valid as long
    /// as the lease. The first call may allocate; where memory has run out the program ends.
    std::span<const node_vote> votes() const noexcept;

    /// If an acquire failed with `errc::invalid_argument`: which argument was refused, and its
    /// bounds. Else empty.
    const std::string& why() const noexcept;

    /// Stop is requested when the lease is lost, before `valid_until()`, or when the client is
    /// closed, or it or its execution context destroyed, while the lease is held; not by a release.
    /// As long as no thread runs that context, nothing is reported. After a loss the keys stay on
    /// the nodes until `valid_until()`, or until this object releases them, so that no other client
    /// acquires the lock while the holder stops its work. Where `token()` was called, or the lease
    /// was adopted, they run out: another program may go on with them. The first call allocates.
    ///
    /// **Thread safety.** Callbacks run on the client's internal strand, or in the thread that
    /// destroys the context: keep them short. One that ends the program has to call
    /// `std::quick_exit` or `_exit`: `std::exit` destroys static objects, and the destructor of a
    /// `blocking_client` among them joins the thread that runs the callback, which would wait for
    /// itself.
    std::stop_token lost_token() const;

    /// A sign of life, for a lease with `acquire_options::watchdog`: call it wherever the work has
    /// come further, such as once in each turn of its loop. A call reads the clock and writes one
    /// word of memory; it sends nothing and waits for nothing. On a lease that is empty, over, or
    /// without a watchdog it changes nothing: in particular it brings no lost lease back.
    ///
    /// **Thread safety.** Any thread may call it, also several at once, as long as no thread moves,
    /// assigns or destroys this object meanwhile. A thread that calls it only to keep the lease
    /// makes the watchdog useless: that thread goes on where the work hangs.
    void touch() const noexcept;

    /// Ends renewal without a release, and makes this object empty.
    ///
    /// **Leaves behind.** The keys, until their ttl ends.
    void detach() noexcept;

private:
    friend struct detail::access;
    explicit lease(std::shared_ptr<detail::lease_state> state) noexcept;

    std::shared_ptr<detail::lease_state> state_;
};

}  // namespace redlock
