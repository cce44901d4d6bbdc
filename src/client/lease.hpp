// One lease: what its client does for it, and what all threads may see of it.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/context.hpp"
#include "core/extend.hpp"
#include "core/lease.hpp"
#include "value/clock.hpp"
#include "wire/owner_value.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/recycling.hpp>
#include <redlock/loss.hpp>
#include <redlock/owner_id.hpp>
#include <redlock/vote.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// One for each node.
using cast_votes = std::vector<node_vote, recycling_memory<node_vote>>;

/// Most leases are granted by votes that have nothing to tell but the node, the fence and the time,
/// and few programs look at them. So these are kept as that, and are made whole at the first look.
class kept_votes {
public:
    explicit kept_votes(cast_votes cast);
    ~kept_votes() { delete whole_.load(std::memory_order_acquire); }
    kept_votes(const kept_votes&) = delete;
    kept_votes& operator=(const kept_votes&) = delete;

    /// As they were cast; for as long as this lives. From any thread.
    std::span<const node_vote> all() const;

private:
    struct brief {
        node_name node;
        std::uint64_t fence;
        std::uint32_t elapsed_us;
        vote answer;
        list_change change;
    };
    struct whole_votes : recycled {
        cast_votes votes{};
    };
    static bool is_brief(const node_vote& v) noexcept;

    std::vector<brief, recycling_memory<brief>> brief_{};  // of all, or of none
    mutable std::atomic<const whole_votes*> whole_{nullptr};
};

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
    std::shared_ptr<lease_state> about_;  // while the message is on its way
    lease_home* to_ = nullptr;            // alive until it is delivered
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

/// Rings at most once, from any thread. It is made by the first that asks for the token: few leases
/// see one.
class loss_bell {
public:
    loss_bell() = default;
    ~loss_bell() { delete source_in(word_.load(std::memory_order_acquire)); }
    loss_bell(const loss_bell&) = delete;
    loss_bell& operator=(const loss_bell&) = delete;

    void ring() noexcept;
    std::stop_token token();

private:
    /// In the lowest bit of the pointer, so that both change at once.
    static constexpr std::uintptr_t rang = 1;
    static std::stop_source* source_in(std::uintptr_t word) noexcept {
        return reinterpret_cast<std::stop_source*>(word & ~rang);
    }

    std::atomic<std::uintptr_t> word_{0};
};

class lease_state {
public:
    enum class status : std::uint8_t { refused, live, ended, lost };

    /// A lock that is held. `all`: the resources, where they are several.
    lease_state(std::string what, owner_id by, std::uint64_t under, clock::time_point until,
                cast_votes cast, wire::lease_proof known = {}, std::vector<std::string> all = {})
        : resource(std::move(what)),
          owner(by),
          fence(under),
          votes(std::move(cast)),
          proof(std::move(known)),
          texts_(texts_of(std::move(all), {})),
          status_(status::live),
          valid_until_(as_open(until)) {}
    /// An acquire that was refused: nothing but its votes, and which argument was refused, if any.
    lease_state(std::string what, cast_votes cast, std::vector<std::string> all = {},
                std::string because = {})
        : resource(std::move(what)),
          votes(std::move(cast)),
          texts_(texts_of(std::move(all), std::move(because))) {}

    // Never changed once a lease points here.
    const std::string resource;  // of several: all their names, for people
    const owner_id owner{};
    const std::uint64_t fence = 0;
    const kept_votes votes;
    const wire::lease_proof proof{};  // as it was granted: see `share`
    std::weak_ptr<lease_home> home;

    /// The token of a lease that is held; empty where it is not.
    std::string token() const;
    /// Whether a program may have the token. Once the lease is over the answer stays the same.
    bool is_known_elsewhere() const noexcept {
        return (shown_.fetch_or(0, std::memory_order_acq_rel) & token_is_out) != 0;
    }
    /// From now on it is held as a reader's, and its token says so. False, and no change, where a
    /// program may have a token that says otherwise.
    bool share() noexcept;

    std::span<const std::string> resources() const noexcept {
        return texts_->several.empty() ? std::span(&resource, 1) : std::span(texts_->several);
    }
    const std::string& why() const noexcept { return texts_->why; }
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
    /// Notifies the watchers without a loss: the client ends over a live lease. Not in a child
    /// process, where a thread that is gone may have been inside of the token.
    void alert() noexcept {
        if (born_.is_here()) bell_.ring();
    }
    std::stop_token lost_token();

    farewell goodbye;             ///< Written at most once, by the call that ended it.
    held_lease* held_as = nullptr;  ///< The client's side; touched on the client's strand only.

private:
    /// In the lowest bit of the instant, so that both change at once: a caller has seen the lease
    /// over.
    static constexpr clock::rep seen_over = 1;
    /// What the token says, and whether it was said: both at once, since any thread may ask for it.
    static constexpr std::uint8_t token_is_out = 1;
    static constexpr std::uint8_t says_shared = 2;
    /// What most have not.
    struct texts {
        std::vector<std::string> several{};  ///< Empty where it is one.
        std::string why{};
    };
    static rare<texts> texts_of(std::vector<std::string> several, std::string why) {
        rare<texts> made;
        if (!several.empty()) made.edit().several = std::move(several);
        if (!why.empty()) made.edit().why = std::move(why);
        return made;
    }
    static clock::rep as_open(clock::time_point until) noexcept {
        return until.time_since_epoch().count() & ~seen_over;
    }

    bool leave(status next) noexcept {
        auto expected = status::live;
        return status_.compare_exchange_strong(expected, next, std::memory_order_acq_rel);
    }

    const rare<texts> texts_;
    const birthplace born_;
    std::atomic<status> status_{status::refused};
    std::atomic<bool> parted_{false};
    mutable std::atomic<std::uint8_t> shown_{0};
    std::atomic<loss> lost_for_{loss::expired};
    std::atomic<clock::rep> valid_until_{0};
    std::atomic<clock::rep> touched_{0};
    loss_bell bell_;
};

class held_lease;

/// What a lease needs of the client that holds it.
class lease_keeper {
public:
    /// The lease is due for renewal: it goes with others that are, before all that have more time.
    virtual void renew(held_lease& what) = 0;
    /// The lease has ended, and leaves the client's list.
    virtual void forget(held_lease& what) noexcept = 0;
    /// Acquires of this client may ask the nodes for its resources from now on, also for its owner.
    virtual void free_line(held_lease& what) noexcept = 0;
    /// Removes what an attempt or a lease left on the nodes; nobody waits for the answers. With
    /// `waits_on` it stays in the nodes' queues.
    virtual void release_in_background(footprint what, bool waits_on, time_point now) = 0;

protected:
    ~lease_keeper() = default;
};

/// An operation that ends with the lease it is about.
class dependent {
public:
    /// `lost`: why it was lost; nothing when it was given back, detached or closed over, and `why`
    /// says which.
    virtual void on_lease_over(std::optional<loss> lost, error_code why, time_point now) = 0;

    void part() noexcept {
        if (listed_.is_linked()) listed_.unlink();
    }

protected:
    ~dependent() = default;

private:
    friend class held_lease;
    list_hook listed_;
};

class held_lease final
    : public boost::intrusive_ref_counter<held_lease, boost::thread_safe_counter>,
      public recycled,
      private timer {
public:
    /// `ids`: of the operation that was granted it.
    held_lease(context& shared, lease_keeper& keeper, std::shared_ptr<lease_state> state,
               footprint left, core::key_history keys, core::renewal machine, event_ids ids);

    /// What is, or may be, of it on the nodes.
    footprint& left() noexcept { return left_; }
    /// From now on it is one of the readers, on whatever node. False, and no change, where a
    /// program may have its token, by which it is a writer's.
    bool share();
    /// Whether a quorum of nodes is known to have it as a reader's.
    bool is_shared_by_quorum() const noexcept {
        assert(left_.kind != nullptr && (!is_turning_ || left_.kind->is_shared));
        return left_.kind->is_shared && !is_turning_;
    }
    /// A quorum of nodes said so.
    void note_shared() noexcept { is_turning_ = false; }
    /// The same, to be given back.
    footprint left_behind() const;
    /// It was lost, and its token is out: another program may go on with its keys, which run out.
    bool is_left_to_others() const;
    lease_state& state() const noexcept { return *state_; }
    core::renewal& machine() noexcept { return machine_; }
    const core::renewal& machine() const noexcept { return machine_; }
    /// The fence by which nodes refused to take its key again.
    core::refused_fence& refused() noexcept { return refused_; }
    /// Which nodes have its key, as far as they have said.
    core::key_history& keys() noexcept { return keys_; }
    /// Of this lease, about what began at `begin`.
    event event_of(event_kind kind, severity how, time_point begin, time_point now) const noexcept;
    bool is_over() const noexcept { return over_ || machine_.is_lost(); }

    /// Takes over the acquire's claim on the owner that the caller gave, and ends it with the
    /// lease.
    void take_claim(owner_claims::claim what) noexcept {
        assert(!claim_ && !over_);
        claim_ = std::move(what);
    }
    void end_claim() noexcept { claim_.reset(); }

    void begin();
    /// Notes whether the list of due renewals has it. Returns what was noted before.
    bool set_due(bool is_due) noexcept { return std::exchange(is_due_, is_due); }
    /// From now on it keeps no acquire of this client waiting. Returns whether it did before.
    bool leave_line() noexcept { return std::exchange(is_in_line_, false); }
    /// False where it is too late: the loss is about to be reported. `new_ttl`: the holder's, if
    /// the holder extended the lease.
    bool extended(time_point sent, time_point until, std::optional<duration> new_ttl);
    /// `said`: why the nodes did not renew it by the request of `sent`; a loss that follows names
    /// that cause.
    void renewal_failed(error_code why, std::string said, time_point sent, time_point now,
                        std::uint64_t random);
    /// Our own clock stood still for `gap`. Where that ends the lease, its loss is reported at
    /// once.
    void shorten(duration gap, time_point now);

    /// Reports the loss if it is due: a thread that stood still may come here before its timers.
    void look_at_clock(time_point now) {
        if (!is_over() && machine_.report_at() <= now) on_due(now);
    }

    void add(dependent& d) noexcept {
        assert(!over_ && !d.listed_.is_linked());
        dependents_.push_back(d);
    }

    /// The holder gave it back or detached it, or the client closes: no more renewals. Its
    /// dependents receive `why`.
    void end(error_code why, time_point now);
    /// The execution context is gone: calls no dependent.
    void drop() noexcept;
    /// As `end`, and gives the key back on every node that may have it, unless it is left to
    /// others; no caller waits for that.
    void give_back(error_code why, time_point now);

private:
    friend class engine;
    void on_due(time_point now) override;
    void spread(core::renewal& machine) const;
    void rearm() noexcept;
    void lose(time_point now);
    bool count_out() noexcept;  // true the first time
    void tell(std::optional<loss> lost, error_code why, time_point now);

    context* shared_;
    lease_keeper* keeper_;
    std::shared_ptr<lease_state> state_;
    footprint left_;
    core::key_history keys_;
    core::renewal machine_;
    core::refused_fence refused_;
    rare<std::string> said_;    // by the nodes, since they last renewed it
    std::uint64_t number_ = 0;  // of the client's leases
    event_ids ids_;
    owner_claims::claim claim_;
    bool over_ = false;         // then it is in nobody's list, and has no timer
    bool counted_out_ = false;  // among the leases that ended: also one that was lost
    bool is_due_ = false;       // as the list of due renewals noted it
    bool is_in_line_ = true;    // this client's acquires of its resources wait for it
    bool is_turning_ = false;  // from a writer's into a reader's
    boost::intrusive::list<dependent,
                           boost::intrusive::member_hook<dependent, list_hook, &dependent::listed_>,
                           boost::intrusive::constant_time_size<false>>
        dependents_;
    list_hook listed_;
};
using held_lease_ptr = boost::intrusive_ptr<held_lease>;

}  // namespace redlock::detail
