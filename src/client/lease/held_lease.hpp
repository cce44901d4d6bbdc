// The client's side of one lease: renews it, reports its loss, gives it back; knows no acquire.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/context.hpp"
#include "client/base/footprint.hpp"
#include "client/lease/lease_state.hpp"
#include "client/base/operation.hpp"
#include "client/base/rare.hpp"
#include "client/base/owner_claims.hpp"
#include "client/base/timers.hpp"
#include "core/lock/refused_fence.hpp"
#include "core/lock/renewal.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::detail {

class held_lease;

/// What a lease needs of the client that holds it.
class lease_keeper {
public:
    /// The lease is due for renewal: it goes with others that are, before all that have more time.
    virtual void renew(held_lease& what) = 0;
    /// The lease has ended, and leaves the client's list.
    virtual void forget(held_lease& what) noexcept = 0;
    /// Removes what an attempt or a lease left on the nodes; nobody waits for the answers. With
    /// `waits_on` it stays in the nodes' queues. `span` is its own, or 0.
    virtual void release_in_background(footprint what, bool waits_on, std::uint64_t span,
                                       time_point now) = 0;

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
    held_lease(context& shared, lease_keeper& keeper, std::shared_ptr<lease_state> state,
               footprint left, core::renewal machine);

    /// What is, or may be, of it on the nodes.
    footprint& left() noexcept { return left_; }
    /// From now on it is one of the readers, on whatever node. False, and no change, where a
    /// program may have its token, by which it is a writer's.
    bool share();
    /// Whether a quorum of nodes is known to have it as a reader's.
    bool is_shared_by_quorum() const noexcept { return left_.kind->is_shared && !is_turning_; }
    /// A quorum of nodes said so.
    void note_shared() noexcept { is_turning_ = false; }
    /// The same, to be given back.
    footprint left_behind() const;
    lease_state& state() const noexcept { return *state_; }
    core::renewal& machine() noexcept { return machine_; }
    const core::renewal& machine() const noexcept { return machine_; }
    /// The fence by which nodes refused to take its key again.
    core::refused_fence& refused() noexcept { return refused_; }
    /// For how long it has been held.
    std::chrono::microseconds held_for(time_point now) const noexcept {
        return std::chrono::duration_cast<std::chrono::microseconds>(now - machine_.granted_at());
    }
    bool is_over() const noexcept { return over_ || machine_.is_lost(); }

    /// Takes over the acquire's claim on the owner that the caller gave, and ends it with the
    /// lease.
    void take_claim(owner_claims::claim what) noexcept { claim_ = std::move(what); }
    void end_claim() noexcept { claim_.end(); }

    void begin();
    /// Tells a tracer that it is held, where `parent` is a span: of what was granted it.
    void begin_span(std::uint64_t parent, time_point now);
    /// The same of what is done with it. The span's id; 0 where nobody traces, or it is over.
    std::uint64_t begin_child(span_kind kind, time_point now);
    /// Notes whether the list of due renewals has it. Returns what was noted before.
    bool set_due(bool is_due) noexcept { return std::exchange(is_due_, is_due); }
    /// False where it is too late: the loss is about to be reported. `new_ttl`: the holder's, if
    /// the holder extended the lease.
    bool extended(time_point sent, time_point until, std::optional<duration> new_ttl);
    /// `said`: why the nodes did not renew it; a loss that follows names that cause.
    void renewal_failed(error_code why, std::string said, time_point now, std::uint64_t random);
    /// Our own clock stood still for `gap`. Where that ends the lease, its loss is reported at
    /// once.
    void shorten(duration gap, time_point now);

    void add(dependent& d) noexcept { dependents_.push_back(d); }

    /// The holder gave it back or detached it, or the client closes: no more renewals. Its
    /// dependents receive `why`.
    void end(error_code why, time_point now);
    /// The execution context is gone: calls no dependent.
    void drop() noexcept;
    /// As `end`, and gives the key back on every node that may have it; no caller waits for that.
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
    core::renewal machine_;
    core::refused_fence refused_;
    rare<std::string> said_;    // by the nodes, since they last renewed it
    std::uint64_t number_ = 0;  // of the client's leases
    std::uint64_t span_ = 0;    // until it is over, or lost
    owner_claims::claim claim_;
    bool over_ = false;
    bool counted_out_ = false;
    bool is_due_ = false;
    bool is_turning_ = false;  // from a writer's into a reader's
    boost::intrusive::list<dependent,
                           boost::intrusive::member_hook<dependent, list_hook, &dependent::listed_>,
                           boost::intrusive::constant_time_size<false>>
        dependents_;
    list_hook listed_;
};
using held_lease_ptr = boost::intrusive_ptr<held_lease>;

}  // namespace redlock::detail
