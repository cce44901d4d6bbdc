// The blocking client: the same locks for programs without an event loop; shows no Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/result.hpp>
#include <redlock/stats.hpp>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

namespace redlock {

/// Takes, keeps and gives back locks over N independent Redis masters; each call blocks its thread.
///
/// Owns one thread, on which leases are renewed and losses reported. Every member may be called
/// from any thread, but not from a callback of `lost_token()` or `on_event`, which run on that
/// thread and would wait for themselves. The outcomes, and what each leaves behind on the nodes, are
/// those of `client`.
class REDLOCK_EXPORT blocking_client {
public:
    /// Starts to connect. Throws `std::invalid_argument` that names every field that is wrong, and
    /// `std::system_error` or `boost::system::system_error` where the system has no thread or
    /// descriptor for it.
    explicit blocking_client(client_options options);
    /// Closes, and waits for the last releases as `close()` does; longer only where the system's
    /// resolver is still at a node's name. No other thread may be inside a call.
    ~blocking_client();
    blocking_client(blocking_client&&) noexcept;
    blocking_client& operator=(blocking_client&&) noexcept;

    /// Blocks until granted, refused, `options.wait` is over, or `stop` is requested
    /// (`boost::asio::error::operation_aborted`). See `client::async_acquire`.
    result<lease, refusal> acquire(std::string resource, acquire_options options = {},
                                   std::stop_token stop = {});

    /// The same, where contention is no error: an empty lease that carries the votes.
    result<lease, refusal> try_acquire(std::string resource, acquire_options options = {},
                                       std::stop_token stop = {});

    /// See `client::async_extend`.
    result<void> extend(const lease& held, std::chrono::milliseconds ttl);
    /// See `client::async_release`.
    result<void> release(lease held);
    /// See `client::async_inspect`.
    result<resource_state> inspect(std::string resource);
    /// See `client::async_init`. The refusal carries one vote per node.
    result<void, refusal> init();
    /// Releases what is held, and blocks until the nodes have answered or are given up. Every other
    /// call, also one that is under way, ends with `client_closed`. See `client::async_close`.
    result<void> close();
    /// Counters since the client was made.
    client_stats stats() const;

private:
    struct worker;
    std::unique_ptr<worker> worker_;
};

}  // namespace redlock
