// Rounds that prolong leases, called by a holder or due by the clock, and the downgrade to a
// reader's.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/lease.hpp"
#include "core/extend.hpp"
#include "core/load.hpp"
#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/request.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Prolongs leases: one request per lease, node and round. What a round decides, and whether
/// another one follows, its machine says; all leases share one fresh fence, under which a node that
/// lost a key may take it again.
class extension_round : public operation {
public:
    void cancel(error_code why, time_point now) final;
    void shorten(duration gap) final {
        machine_.shorten(gap);
        first_.sent -= gap;
    }

protected:
    /// Before `send`. `sets_ttl`: later renewals use `ttl`, too.
    void add(held_lease_ptr lease, duration ttl, bool sets_ttl);
    std::size_t size() const noexcept { return parts_.size(); }
    /// The outcome of each lease comes through `on_end`, exactly once.
    void send(time_point now);
    /// Ends it without having sent anything.
    void end_unsent(error_code outcome, time_point now);
    /// The nodes did not extend it: the lease is lost, or to be tried again.
    void note_failed(held_lease& lease, error_code why, time_point now, std::uint64_t random) const;
    /// `lease` is null where the round was not about one.
    virtual void on_end(held_lease* lease, error_code outcome, time_point now) = 0;
    /// A quorum of nodes has answered what was sent at `sent`.
    virtual void on_answered(time_point /*sent*/, time_point /*now*/) {}
    /// Of all its leases the outcome is known.
    virtual void on_finished(time_point /*sent*/, time_point /*now*/) {}

private:
    /// One lease of it.
    class part final : public dependent {
    public:
        part(extension_round& in, held_lease_ptr of, std::size_t at)
            : round(&in), lease(std::move(of)), index(at) {}
        void on_lease_over(std::optional<loss> lost, error_code why, time_point now) override {
            round->end(*this, lost ? error_code(errc::lost) : why, now);
        }

        extension_round* round;
        held_lease_ptr lease;
        std::size_t index;       // in the machine
        bool prolongs_fence = false;
        node_mask holders;       // have said that they have the key
    };

    void on_reply(std::size_t node, std::uint32_t tag, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t tag, const wire::failure& why,
                    time_point now) final;
    void on_late_reply(std::size_t node, std::uint32_t tag, const resp::reply& reply,
                       time_point now) final;
    bool is_wanted(std::uint32_t tag) const noexcept final;
    duration lease_ttl(std::uint32_t tag) const noexcept final;
    bool write_again(std::size_t node, std::uint32_t tag, wire::request& out,
                     time_point now) const final;
    std::uint32_t tag(const part& p) const noexcept;
    part& part_of(std::uint32_t tag) noexcept;
    bool is_present(std::uint32_t tag) const noexcept;
    duration keys_live_for(const part& p, time_point now) const;
    void write(wire::request& out, const part& p, time_point now) const;
    void note(std::size_t node, const wire::failure& why);
    /// Why nodes did not extend, in the latest round: their own words, where they said any.
    std::string reasons() const;
    struct sight {
        wire::compare_answer counted;
        core::key_finding found;
    };
    sight look(std::size_t node, std::uint32_t tag, const resp::reply& reply, time_point now);
    void learn(std::size_t node, std::uint32_t tag, const resp::reply& reply, time_point now);
    /// What a round sent, and when.
    struct sending {
        time_point sent{};
        std::uint64_t fence = 0;  // 0: none
    };
    sending present() const noexcept { return {machine_.sent(), fence_ ? fence_->fence : 0}; }
    void cast(part& p, std::size_t node, const wire::compare_answer& answer, time_point now,
              core::key_finding found);
    void end(part& p, error_code outcome, time_point now);
    void go_on(time_point now);
    void finish(time_point sent, time_point now);

    std::deque<part> parts_;  // they stand in lists of their leases, and so may not move
    core::extension_rounds machine_;
    std::array<std::size_t, max_nodes> answers_{};  // of the present round, of each node
    std::size_t requested_ = 0;                     // leases that it asks for
    node_mask complete_;                            // nodes that have answered for all of them
    std::optional<wire::fence_terms> fence_;
    sending first_;  // where the present round is the second
    std::vector<std::pair<std::size_t, wire::failure>> failures_;  // of the present round, by node
};

/// The renewal of all leases that are due, each for its present ttl.
class renewal_round final : public extension_round {
public:
    /// Enters the window when it begins, and leaves it when a quorum has answered, or never will.
    explicit renewal_round(core::window& window) noexcept : window_(window) {}
    /// False when it is full.
    bool take(const held_lease_ptr& lease);
    void start(time_point now) override;
    bool has_caller() const noexcept override { return false; }
    void discard() noexcept override {}

private:
    void on_end(held_lease* lease, error_code outcome, time_point now) override;
    void on_answered(time_point sent, time_point now) override;
    void on_finished(time_point sent, time_point now) override;

    core::window& window_;
    std::uint64_t random_ = 0;  // of all its leases, for when they are to be tried again
    bool is_counted_ = true;    // among those that are under way
};

/// Called by the holder of one lease.
class holders_extension : public extension_round {
protected:
    explicit holders_extension(std::shared_ptr<lease_state> state) : state_(std::move(state)) {}
    /// The client's side of the lease, and why it can't be prolonged: it is another client's
    /// (invalid_argument), or over. Called once.
    std::pair<held_lease_ptr, error_code> find(time_point now);
    virtual void complete(error_code outcome) = 0;
    void on_end(held_lease* lease, error_code outcome, time_point now) override;

private:
    std::shared_ptr<lease_state> state_;
};

class extend_operation : public holders_extension {
public:
    extend_operation(std::shared_ptr<lease_state> state, std::chrono::milliseconds ttl)
        : holders_extension(std::move(state)), ttl_(ttl) {}
    void start(time_point now) final;

private:
    std::chrono::milliseconds ttl_;
};

/// Many leases are due together, and all at once they would be answered too late. They go in
/// rounds, the most urgent first, and a window bounds how many rounds are under way.
class renewals {
public:
    explicit renewals(duration node_timeout) noexcept
        : window_(node_timeout, 1, 2, core::window::growth::steady) {}

    /// From now on a quorum of nodes answers within so much time, if ever.
    void set_node_timeout(duration t) noexcept { window_.set_node_timeout(t); }
    /// The lease is due: it goes with others at the next `next_round` that has room.
    void add(held_lease& what);
    /// The round to begin now, of those that are due; null where none is due or the window is full.
    boost::intrusive_ptr<renewal_round> next_round();
    void clear() noexcept { due_ = {}; }
    core::window& window() noexcept { return window_; }

private:
    struct due_renewal {
        time_point needed_by;
        held_lease_ptr lease;
        bool operator<(const due_renewal& other) const noexcept {
            return needed_by > other.needed_by;
        }
    };
    std::priority_queue<due_renewal> due_;
    core::window window_;  // on the rounds under way
};

/// One extension, by the request of a reader: each node makes a reader of the writer whose key it
/// is. From when it is sent the lease promises no more than a reader's does, whatever is answered,
/// since no answer may mean that a node has let readers in. Its renewals are a reader's, too, and
/// go on turning the nodes that have not been; its release is, and deletes a writer's key as well.
///
/// Until a node has got one of these requests it keeps readers out: they are granted less than they
/// might be, never more. The lease is valid as far as a quorum of nodes has its key, in whichever
/// form: the change shortens no key's time.
///
/// Its fence stays that of a writer. Readers that come have to exceed what a node had seen when it
/// was turned, and any two quorums have a node in common: their fences are above this one. It is
/// not above theirs, and need not be, as between any two readers.
///
/// Refused, with nothing sent: a lease of several resources or of a slot, or without a fence, whose
/// kinds know no readers; one whose `min_hold` is not over, since readers would come before that;
/// one that was adopted, or whose token another program may have, which would go on prolonging the
/// key, or give it back, as a writer's.
class downgrade_operation : public holders_extension {
public:
    explicit downgrade_operation(std::shared_ptr<lease_state> state)
        : holders_extension(std::move(state)) {}
    void start(time_point now) final;

private:
    void on_end(held_lease* lease, error_code outcome, time_point now) final;
};

}  // namespace redlock::detail
