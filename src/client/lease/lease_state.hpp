// What a lease and its client share about one lock, from any thread; knows no nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/mailbox.hpp"
#include "value/process.hpp"
#include "wire/lease_token.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/recycling.hpp>
#include <redlock/loss.hpp>
#include <redlock/owner_id.hpp>
#include <redlock/vote.hpp>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace redlock::detail {

class held_lease;
class lease_home;
class lease_state;

/// The message that a holder is done with a lease.
class farewell final : public mail {
public:
    enum class kind : bool { give_back, let_go };

    void write(std::shared_ptr<lease_state> about, lease_home& to, kind what) noexcept {
        assert(about && !about_);
        about_ = std::move(about);
        to_ = &to;
        what_ = what;
    }
    void deliver() override;
    void discard() noexcept override { about_.reset(); }

private:
    std::shared_ptr<lease_state> about_;
    lease_home* to_ = nullptr;
    kind what_ = kind::give_back;
};

/// Where a lease goes when its holder is done with it. May be gone before the lease is.
class lease_home {
public:
    virtual ~lease_home() = default;
    /// From any thread: gives it back in the background, or lets it run out.
    virtual void part(std::shared_ptr<lease_state> state, farewell::kind what) noexcept = 0;
    /// On the strand: the message has arrived.
    virtual void on_farewell(lease_state& state, farewell::kind what) = 0;
};

/// One for each node.
using cast_votes = std::vector<node_vote, recycling_memory<node_vote>>;

class lease_state {
public:
    enum class status : std::uint8_t { refused, live, ended, lost };

    /// A lock that is held. `all`: the resources, where they are several.
    lease_state(std::string what, owner_id by, std::uint64_t under, clock::time_point until,
                cast_votes cast, wire::lease_proof known = {}, std::vector<std::string> all = {})
        : resource(std::move(what)),
          several(std::move(all)),
          owner(by),
          fence(under),
          votes(std::move(cast)),
          proof(std::move(known)),
          status_(status::live),
          valid_until_(as_open(until)) {}
    /// An acquire that was refused: nothing but its votes, and which argument was refused, if any.
    lease_state(std::string what, cast_votes cast, std::vector<std::string> all = {},
                std::string because = {})
        : resource(std::move(what)),
          several(std::move(all)),
          votes(std::move(cast)),
          why(std::move(because)) {}

    // Never changed once a lease points here.
    const std::string resource;  // of several: all their names, for people
    const std::vector<std::string> several;  // empty where it is one
    const owner_id owner{};
    const std::uint64_t fence = 0;
    const cast_votes votes;
    const std::string why;
    const wire::lease_proof proof{};
    std::weak_ptr<lease_home> home;

    /// The token of a lease that is held; empty where it is not.
    std::string token() const;
    /// Whether a program may have the token. Once the lease is over the answer stays the same.
    bool is_known_elsewhere() const noexcept {
        return tokens_out_.fetch_or(0, std::memory_order_acq_rel) != 0;
    }

    std::span<const std::string> resources() const noexcept {
        return several.empty() ? std::span(&resource, 1) : std::span(several);
    }
    /// In a child process nothing is: see `lease`.
    bool is_live() const noexcept {
        return status_.load(std::memory_order_acquire) == status::live && born_.is_here();
    }
    /// On the client's strand: the client still keeps it.
    bool is_held() const noexcept { return is_live() && held_as != nullptr; }
    status state() const noexcept { return status_.load(std::memory_order_acquire); }
    clock::time_point valid_until() const noexcept {
        const auto until = valid_until_.load(std::memory_order_acquire);
        return clock::time_point(clock::duration(until & ~seen_over));
    }
    /// Whether the holder may rely on it. Once that was denied it stays so, whatever is answered
    /// later.
    bool is_valid(clock::time_point now) noexcept;
    /// Moves the end, either way. False, and no change, if a caller has seen that it is over.
    bool set_end(clock::time_point until) noexcept;

    /// The holder gave a sign of life. From any thread: one that is delayed after it has looked at
    /// the clock takes no later sign away.
    void touch(clock::time_point now) noexcept {
        const auto mine = now.time_since_epoch().count();
        auto latest = touched_.load(std::memory_order_relaxed);
        while (latest < mine &&
               !touched_.compare_exchange_weak(latest, mine, std::memory_order_relaxed)) {
        }
    }
    /// The latest sign; the clock's epoch if there was none.
    clock::time_point touched() const noexcept {
        return clock::time_point(clock::duration(touched_.load(std::memory_order_relaxed)));
    }
    /// Our own clock stood still for `gap`: all signs so far come earlier by it.
    void shorten_touch(clock::duration gap) noexcept {
        touched_.fetch_sub(gap.count(), std::memory_order_relaxed);
    }

    /// The holder is done with a lease that is, or was, its own: true for the first call.
    bool part() noexcept {
        end();
        return state() != status::refused && !parted_.exchange(true, std::memory_order_acq_rel);
    }
    /// The lease is over, other than by loss: true for the first call.
    bool end() noexcept { return leave(status::ended); }
    /// True if it was live; then the watchers are notified.
    bool lose(loss why);
    loss lost_for() const noexcept { return lost_for_.load(std::memory_order_acquire); }
    /// Notifies the watchers without a loss: the client closes over a live lease.
    void alert();
    std::stop_token lost_token();

    farewell goodbye;             ///< Written at most once, by the call that ended it.
    held_lease* held_as = nullptr;  ///< The client's side; touched on the client's strand only.

private:
    /// In the lowest bit of the instant, so that both change at once: a caller has seen the lease
    /// over.
    static constexpr clock::rep seen_over = 1;
    static clock::rep as_open(clock::time_point until) noexcept {
        return until.time_since_epoch().count() & ~seen_over;
    }

    bool leave(status next) noexcept {
        auto expected = status::live;
        return status_.compare_exchange_strong(expected, next, std::memory_order_acq_rel);
    }

    const birthplace born_;
    std::atomic<status> status_{status::refused};
    std::atomic<bool> parted_{false};
    mutable std::atomic<std::uint8_t> tokens_out_{0};
    std::atomic<loss> lost_for_{loss::expired};
    std::atomic<clock::rep> valid_until_{0};
    std::atomic<clock::rep> touched_{0};
    std::mutex alarm_mutex_;
    bool alerted_ = false;
    std::optional<std::stop_source> alarm_;  // made by the first `lost_token`: few leases see one
};

}  // namespace redlock::detail
