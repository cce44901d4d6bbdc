// What a holder has; knows nothing of nodes and connections.
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
}

/// A lock that is held: a resource, an owner, valid until an instant. Move-only.
///
/// Destroying it gives the lock back in the background: the destructor posts a release to every
/// node, never blocks and never throws. To know that the release arrived, use
/// `client::async_release`. A lease may outlive its client; it then keeps telling the truth about
/// time, and its keys run out by their ttl unless `close()` has released them.
///
/// A lease object is used by one thread at a time, like a `std::unique_lock`; what it points to is
/// shared with the client and synchronised. A lease that was moved from is empty.
class REDLOCK_EXPORT lease {
public:
    lease() noexcept = default;
    lease(lease&& other) noexcept;
    lease& operator=(lease&& other) noexcept;  ///< Releases what it held before.
    ~lease();

    /// Granted, neither released nor lost, and the clock agrees at this very call. Once false it
    /// stays false, whatever the nodes answer later.
    explicit operator bool() const noexcept;

    const std::string& resource() const noexcept;
    owner_id owner() const noexcept;

    /// The fencing token: strictly larger for each holder of a resource than for all before it. Send
    /// it along with what you write, and have the receiver refuse less than it has seen: then a
    /// holder that has lost its lease unawares does no harm. 0 where `client_options::fencing` is
    /// off.
    std::uint64_t fence() const noexcept;

    /// When the lease ends if nothing prolongs it; already reduced by the drift allowance.
    clock::time_point valid_until() const noexcept;
    /// Time until then; zero when it is over, lost or released.
    std::chrono::milliseconds remaining() const noexcept;

    /// One vote per node, as it stood when the acquire completed; also on the lease that comes with
    /// an error. Where waiting ended during a try, nodes that had not answered it are shown as they
    /// answered the one before. Valid as long as the lease.
    std::span<const node_vote> votes() const noexcept;

    /// Stop is requested when the lease is lost, before `valid_until()`. The keys stay on the nodes
    /// until then, or until this object gives them back, so that nobody else enters while the holder
    /// winds up. Callbacks run on the client's internal strand: keep them short.
    std::stop_token lost_token() const noexcept;

    /// Lets the lease run out by itself: no release, no renewal. Afterwards the lease is empty.
    void detach() noexcept;

    /// @internal
    explicit lease(std::shared_ptr<detail::lease_state> state) noexcept;
    const std::shared_ptr<detail::lease_state>& state() const noexcept { return state_; }
    /// @internal Ends the lease without posting a release: the caller sends it.
    std::shared_ptr<detail::lease_state> surrender() && noexcept;

private:
    std::shared_ptr<detail::lease_state> state_;
};

}  // namespace redlock
