// The election over the nodes, for programs that block: one leader of a name at a time; shows no
// Asio.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/export.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>
#include <redlock/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace redlock {

namespace detail {
class election_state;
}

/// At most one leader of all programs that campaign under a name. The leader holds an exclusive
/// lease of the resource with that name, which the client renews, so a leader excludes a `mutex`,
/// a `lease` and `redlock run` of the same name.
///
/// **The next leader.** Campaigners wait in the queue of the resource, first come, first served.
/// A leader that resigns wakes the next one: that takes about one round trip to the nodes. After
/// a leader has died, the next one follows when the ttl of its lease is over. A leader that
/// reaches no quorum of nodes any more has `lost_token()` stopped before another one can be
/// elected.
///
/// **Loss.** A leader can lose its lease. `lost_token()` reports that at once, and `held()` is
/// false from then on. `fence()` and the token stay those of the term that was lost until the
/// next `campaign()` or `resign()`. A leader that writes elsewhere sends its fence with each
/// write: see `lease::fence()`.
///
/// **Leaves behind.** The destructor of a leader resigns in the background; it never blocks and
/// never throws.
/// **Thread safety.** Any thread may call any member, except the destructor, which no other call
/// may meet. One campaign at a time: a second one is `errc::would_deadlock`.
class REDLOCK_EXPORT election {
public:
    /// Sends nothing. `options.wait` limits each campaign; 0: a year, which is meant as no limit.
    /// `options.mode` and `options.slots` are not used. `options.owner` may identify one lease at
    /// a time: leave it zero.
    ///
    /// **Preconditions.** The client outlives the election and is not moved from.
    election(blocking_client& client, std::string name, acquire_options options = {});
    ~election() = default;
    election(const election&) = delete;
    election& operator=(const election&) = delete;

    /// Blocks until this election leads. While it waits it rides out failures of the nodes.
    ///
    /// **Cancellation.** A stop, or `resign()` in another thread, ends it with
    /// `asio::error::operation_aborted`; this election does not lead then.
    /// **Errors.** `would_deadlock`: this election leads, or another thread campaigns with it; or
    /// the calling thread is the client's own. Else those of `blocking_client::acquire`:
    /// `contended` or `no_quorum` when `options.wait` is over, `invalid_argument`,
    /// `client_closed`.
    [[nodiscard]] result<void, refusal> campaign(std::stop_token stop = {});

    /// Gives the leadership up, and blocks until a quorum of nodes has answered or can't; the next
    /// campaigner is woken meanwhile. The leadership is over with this call, whatever the outcome.
    ///
    /// If another thread campaigns, that campaign ends instead. If `lead()` runs its callback,
    /// stop is requested of the callback's token: the leadership ends when the callback has
    /// returned, and `lead()` then campaigns again. In both cases this returns at once, with
    /// success.
    ///
    /// **Errors.** `not_held`: this election does not lead; or the nodes say that the lease was
    /// gone already. `lost`: the lease was lost before. `no_quorum`: too few nodes answered; the
    /// client goes on to release it in the background. See `blocking_client::release`.
    [[nodiscard]] result<void> resign();

    /// Whether this election leads, by a reading of the clock in this call.
    [[nodiscard]] bool held() const noexcept;
    /// The fence of this term. 0 before the first one, after `resign()`, and without `fencing`.
    std::uint64_t fence() const noexcept;
    /// Stop is requested when the leadership of this term is lost: see `lease::lost_token()`, also
    /// for what its callbacks may do. Empty before the first term and after `resign()`.
    std::stop_token lost_token() const noexcept;
    /// A sign of life of the leader, for `acquire_options::watchdog`: see `lease::touch()`. Does
    /// nothing if this election does not lead.
    void touch() const noexcept;

    /// The leader that a quorum of nodes names; empty if there is none. Also for programs that do
    /// not campaign. Readers (`lock_mode::shared`) of the resource are no leader.
    ///
    /// **Errors.** `no_quorum`: too few nodes answered. Else those of `blocking_client::inspect`.
    result<std::optional<leader_info>> leader();

    /// Blocks until the leader is another one than `last`, or was elected again, and returns it;
    /// empty: there is no leader. `last` is what the caller knows, so a change between two calls
    /// is not missed; of several changes in between the last one is returned. It takes the fence
    /// to tell two terms of one client apart, which there is only with `fencing`.
    ///
    /// The client watches the resource: `client::async_watch` says how soon a change is seen. While
    /// too few nodes answer nothing counts as a change.
    ///
    /// **Cancellation.** A stop ends it with `asio::error::operation_aborted`.
    /// **Errors.** Those of `blocking_client::watch`.
    result<std::optional<leader_info>> observe(const std::optional<leader_info>& last,
                                               std::stop_token stop = {});

    /// What a leader does. The lease is valid while the callback runs, unless it is lost. The
    /// token stops when it is lost, when `stop` of `lead()` is requested, and by `resign()`.
    using elected_callback = std::function<void(const lease&, std::stop_token)>;
    /// Called with the fence of the term that was lost.
    using lost_callback = std::function<void(std::uint64_t fence)>;

    /// Campaigns, calls `on_elected` in this thread, resigns when it has returned, and begins
    /// again, until a stop is requested. If the lease was lost, calls `on_lost`, if there is one,
    /// after `on_elected` has returned: work that was done late can be checked there.
    ///
    /// If `on_elected` returns within a second of the election, its work counts as failed at
    /// once, and other campaigners should have a turn: `lead()` pauses before it campaigns again,
    /// for 100 ms, twice as long after each further failure, 30 s at most; jitter shortens each
    /// pause by up to a half. A longer term is followed by a campaign at once.
    ///
    /// An exception of a callback leaves `lead()`, after the resignation, as one passes
    /// a guard: only the caller knows whether a further try could succeed. A callback that catches
    /// its exceptions and returns gets the pauses.
    ///
    /// **Completion.** Success: a stop was requested, and this election does not lead any more.
    /// **Errors.** What `campaign()` returned, unless it was stopped.
    [[nodiscard]] result<void, refusal> lead(const elected_callback& on_elected,
                                             const lost_callback& on_lost = {},
                                             std::stop_token stop = {});

private:
    blocking_client* client_;
    std::shared_ptr<detail::election_state> state_;
};

}  // namespace redlock
