// Prolonging leases: the rounds, their votes, and the fence that refused one; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum.hpp"
#include "value/clock.hpp"
#include "value/options.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace redlock::core {

/// What a node's answer to an extension shows of the key.
enum class key_finding : std::uint8_t {
    unknown,    ///< No answer, or none that counts.
    kept,       ///< The node can have granted the key to no other lease: it has it, or no vote.
    unsure,     ///< It has the key, and may have lost it for a while.
    gone,       ///< It may vote, and did not have the key.
    passed_on,  ///< As `gone`. It had the key before, and another client has been there since.
};

/// A node that may vote and has lost the key lost it by hand, or to an eviction. Another lease may
/// have been granted there since, and have ended: then this one must not go on after it. It shows
/// by a higher fence of a node that had the key, or by another's key, which may have no fence.
///
/// That was after the node last said that it has the key, and may come to light late. A node
/// acquits the other client where it has had the key since before that, without a gap: not where it
/// took it again, or may have, by a try without an answer. What was seen counts until a round in
/// which so many nodes acquit that the other client had no quorum.
class key_history {
public:
    /// `keys_until`: when the validity of the grant ends, and no key does before.
    key_history(node_mask holders, std::uint64_t fence, time_point keys_until) noexcept
        : holders_(holders), fence_(fence), keys_until_(keys_until) {}

    /// A node answered a try in time, and with that all earlier ones are settled.
    void note_answer(std::size_t node, time_point now);
    /// It may vote, and said `c`, which is not `unable`. `was_free`: the key was gone there, and
    /// `seen_fence` is the fence that the node had then; 0: it had none. `since`: when the round
    /// was sent that prolonged the lease last.
    key_finding find(std::size_t node, choice c, bool was_free, std::uint64_t seen_fence,
                     time_point since, time_point now);
    /// What a node without an answer has shown so far: `gone`, `passed_on`, or nothing.
    key_finding found(std::size_t node) const noexcept;
    /// Another client was seen, and no round has acquitted it so far.
    bool has_seen_another() const noexcept { return !passed_on_.empty(); }
    /// The node has the key.
    void note_holder(std::size_t node) noexcept;
    /// The node was free, and took the key again under that fence.
    void note_taken(std::size_t node, std::uint64_t fence, time_point now);
    /// It did not answer a try in time; perhaps it does later.
    void note_silent(std::size_t node) { ++past_of(node).unanswered; }
    void note_late_answer(std::size_t node);
    /// A round prolonged the lease after the one that was sent at `since`, and the keys live until
    /// `keys_until` at least: so far these nodes have said yes to it. Other holders are late: their
    /// keys live as long as the earlier round promised. `is_acquitted`: as `extension` says.
    void note_extended(node_mask holders, time_point since, time_point keys_until,
                       bool is_acquitted);
    /// No node can show another client that came before; not after `since`, which is as in `find`.
    time_point horizon(time_point since, time_point now) const noexcept;
    /// Our own clock stood still for `gap`.
    void shorten(duration gap) noexcept;

private:
    // Of a node that is not as the others are.
    struct past {
        std::uint64_t fence = 0;                     // under which it took the key again; or 0
        std::uint32_t unanswered = 0;                // tries, before the latest answer in time
        time_point kept_from = time_point::min();    // without a gap; as here: from the first on
        time_point lives_until = time_point::min();  // its key, where it is late more than once
        time_point yes_at = time_point::max();       // then: when its latest yes was requested
    };
    // Few leases have any.
    struct oddities {
        std::vector<past> nodes;
        time_point passed_since = time_point::max();  // `passed_on_`: another client came later
        node_mask others;  // had another client's key: perhaps of one that raises no fences
    };

    oddities& odd();
    past& past_of(std::size_t node);
    void forget_life(std::size_t node) noexcept;
    past known_past(std::size_t node) const noexcept;
    time_point yes_at(std::size_t node, time_point since, time_point now) const noexcept;

    node_mask holders_;     // said yes when the lease was last prolonged, or since
    node_mask late_;        // were holders, and have not answered since
    node_mask lost_;        // of both: have not, as far as is known
    node_mask gone_;        // since the lease was last prolonged
    node_mask passed_on_;   // of `gone_`
    std::uint64_t fence_;   // under which the nodes took the key first
    time_point keys_until_;                      // of holders
    time_point late_until_ = time_point::min();  // of those that are late
    time_point late_yes_at_{};                   // when their latest yes was requested
    std::unique_ptr<oddities> odd_;
};

/// Prolonged once a quorum said so while the old validity still stood; the new validity counts from
/// the instant at which this round was sent. Otherwise the old validity stands.
///
/// A node on which the key is gone refuses a fence that is not above all that it has seen. Where
/// such nodes could complete the quorum under a higher fence, another round follows, once. But only
/// when it is certain that no quorum denies the lease: otherwise another client may have held the
/// lock in between, under a higher fence, and the lease must not come back.
///
/// Nor where the nodes that did not keep the key could have granted it to another client: a quorum
/// of them lost it; or one shows that another client was there, and those that kept it are too few
/// to have prevented a quorum. As long as other nodes may show that, the count waits for them.
class extension {
public:
    enum class verdict : std::uint8_t { open, extended, failed, again };

    /// `is_last`: no other round follows this one.
    extension(const node_lists& nodes, time_point sent, duration ttl, drift_policy drift,
              bool is_last = true) noexcept
        : tally_(nodes),
          sent_(sent),
          valid_until_(redlock::valid_until(sent, ttl, drift)),
          is_last_(is_last) {}

    /// `old_valid_until` is the validity that stands at `now`: another round may have moved it.
    /// Votes after the verdict change nothing.
    verdict cast(std::size_t node, choice c, time_point now, time_point old_valid_until,
                 key_finding found = key_finding::unknown) noexcept;
    /// Another client was seen, whichever nodes answer this round.
    void note_another() noexcept { was_passed_on_ = true; }
    /// A node says that the lease was revoked: that alone ends it. (What a node notes of that does
    /// not last, and could run out there before a quorum has it.)
    verdict revoke() noexcept;
    /// Our own clock stood still for `gap` since the round was sent.
    void shorten(duration gap) noexcept {
        assert(gap >= duration::zero());
        sent_ -= gap;
        valid_until_ -= gap;
    }

    verdict state() const noexcept { return state_; }
    /// Those that kept the key are so many that no other client had a quorum.
    bool is_acquitted() const noexcept {
        return !tally_.lists().is_majority_of_any(tally_.lists().all() - kept_);
    }
    /// not_held: a quorum says that the key is not ours, it was revoked, or another lease may have
    /// been granted since; no_quorum: too few answered; lost: the old validity ended first;
    /// validity_exhausted: the new one had ended already.
    error_code reason() const noexcept { return reason_; }
    time_point sent() const noexcept { return sent_; }
    time_point valid_until() const noexcept { return valid_until_; }

private:
    verdict decide(verdict v, error_code why) noexcept;
    void note(std::size_t node, key_finding found) noexcept;
    bool may_be_over() const noexcept;
    bool is_in_doubt() const noexcept;

    tally tally_;
    node_mask pending_ = tally_.lists().all();
    node_mask kept_;            // as `key_finding`
    node_mask gone_;            // those that are `passed_on`, too
    bool was_passed_on_ = false;
    time_point sent_;
    time_point valid_until_;
    bool is_last_;       // then `again` is no verdict
    verdict state_ = verdict::open;
    error_code reason_;  // none unless it failed
};

/// A lease that another process acquired is taken over once a quorum prolonged it. Nobody holds it,
/// so that what is left of it may be given back, only where more than half of each list denies it:
/// while the list of nodes changes, a program with one list alone may hold a lease that the other
/// list denies.
class adoption {
public:
    enum class verdict : std::uint8_t { open, held, gone, failed };

    adoption(const node_lists& nodes, time_point sent, duration ttl, drift_policy drift) noexcept
        : lists_(nodes), count_(nodes, sent, ttl, drift) {}

    /// The first verdict that is not `open` stands.
    verdict cast(std::size_t node, choice c, time_point now) noexcept;
    void shorten(duration gap) noexcept { count_.shorten(gap); }

    /// Why it failed: as of an extension.
    error_code reason() const noexcept;
    time_point sent() const noexcept { return count_.sent(); }
    time_point valid_until() const noexcept { return count_.valid_until(); }

private:
    node_lists lists_;
    extension count_;
    node_mask silent_ = lists_.all();
    node_mask denied_by_;
};

/// A node that lost a key takes it again only under a fence above all that it has seen. A client
/// that tries again and again to acquire goes on raising that fence, and where its clock is ahead
/// of node time, a fence drawn by ours alone would never pass it. So a lease remembers a refusal,
/// also past an extension that had its quorum without that node: later another one may fail.
class refused_fence {
public:
    /// A node refused what was sent at `sent` for its fence alone, with or without a vote: it has
    /// seen this one.
    void note(std::uint64_t seen_fence, time_point sent) noexcept {
        fence_ = sent > sent_ ? seen_fence : std::max(fence_, seen_fence);
        sent_ = std::max(sent_, sent);
    }
    /// Our own clock stood still for `gap`: so much longer ago it was.
    void shorten(duration gap) noexcept {
        assert(gap >= duration::zero());
        if (fence_ != 0) sent_ -= gap;
    }
    /// Where that fence may be `soon` after `now`, if it is raised as fast as time goes by. 0 where
    /// nobody has refused for longer than `memory`: fences ahead of node time would cost every
    /// other client a second round.
    std::uint64_t raised(time_point now, duration soon, duration memory) const noexcept {
        using std::chrono::microseconds;
        if (fence_ == 0 || now - sent_ > memory) return 0;
        assert(now + soon >= sent_);
        const auto passed = std::chrono::duration_cast<microseconds>(now + soon - sent_);
        return fence_ + static_cast<std::uint64_t>(passed.count());
    }

private:
    std::uint64_t fence_ = 0;  // the highest that was seen at `sent_`; 0: none was refused
    time_point sent_{};
};

/// Leases that are prolonged together share one fence. Each has a count of its own: what happens to
/// one does not touch the others.
///
/// A node that lost a key takes it again only under a fence above all that it has seen, and names
/// the highest where it refuses. Leases that lack only such nodes for a quorum go out once more, at
/// once, above all fences that were named; those that have a quorum pass these fences next time.
/// (Waiting for the next renewal would not do: see `refused_fence`. The lease would be lost with a
/// quorum of healthy nodes.)
class extension_rounds {
public:
    /// Numbered in the order of `add`.
    using lease_index = std::size_t;
    enum class next : std::uint8_t {
        wait,      ///< For answers to the present round.
        begin,     ///< Call `begin` and send: some leases go out once more.
        finished,  ///< The outcome of every lease is known.
    };

    /// Before the first round. `sets_ttl`: later renewals use `ttl`, too. False for a renewal: it
    /// may have been sent after the holder's own extension and still carry the old ttl, which must
    /// not come back.
    /// `memory`: the lease's, of the fences by which nodes refused it. It outlives the extension,
    /// which notes in it what nodes refuse.
    lease_index add(duration ttl, bool sets_ttl, refused_fence* memory = nullptr);
    std::size_t size() const noexcept { return leases_.size(); }

    /// What the fence of a round has to be above, and up to where a rival may have raised the
    /// fences of the nodes by the time that it arrives.
    struct fence_bounds {
        std::uint64_t seen = 0;
        std::uint64_t raised = 0;
    };
    /// Begins a round, of all leases that are not over. A quorum of nodes answers within
    /// `quorum_time`, if ever: for so long, and since a node refused, a rival may have gone on
    /// raising its fence.
    fence_bounds begin(const node_lists& nodes, drift_policy drift, time_point now,
                       duration quorum_time);
    std::uint32_t round() const noexcept { return round_; }
    time_point sent() const noexcept { return sent_; }
    bool is_open(lease_index lease) const noexcept { return at(lease).is == state::open; }
    /// As the extension of its latest round.
    bool is_acquitted(lease_index lease) const noexcept {
        return at(lease).count && at(lease).count->is_acquitted();
    }
    /// How many leases the present round is still about.
    std::size_t open() const noexcept { return open_; }

    /// A node answered for one lease, and `found` is what that shows. `seen_fence`: the highest
    /// fence that it has seen, where that alone made it refuse; 0 otherwise. It counts also where
    /// the lease is not open any more.
    /// `old_valid_until` is the validity that stands at `now`. After `extended` and `failed` the
    /// caller calls `end`.
    extension::verdict cast(lease_index lease, std::size_t node, choice c, key_finding found,
                            std::uint64_t seen_fence, time_point now,
                            time_point old_valid_until) noexcept;
    void note_another(lease_index lease) noexcept {
        if (leases_[lease].count) leases_[lease].count->note_another();
    }
    /// A node says that the lease was revoked. As `cast`; also where the lease waits for another
    /// round.
    extension::verdict revoke(lease_index lease) noexcept;
    /// Of a lease that is extended: counted from when its round was sent.
    time_point valid_until(lease_index lease) const noexcept {
        assert(at(lease).count);
        return at(lease).count->valid_until();
    }
    /// The ttl of later renewals, where this extension sets it.
    std::optional<duration> new_ttl(lease_index lease) const {
        return at(lease).sets_ttl ? std::optional(at(lease).ttl) : std::nullopt;
    }
    duration ttl(lease_index lease) const noexcept { return at(lease).ttl; }
    error_code reason(lease_index lease) const noexcept {
        assert(at(lease).count);
        return at(lease).count->reason();
    }

    /// The lease is no longer part of it. False where that was known.
    bool end(lease_index lease) noexcept;
    /// There will be no next round: leases that wait for one have to be ended with the others.
    void end_rounds() noexcept;
    next what_next() const noexcept;
    /// Our own clock stood still for `gap` since the round was sent.
    void shorten(duration gap) noexcept;

private:
    enum class state : std::uint8_t { open, again, over };
    struct lease {
        duration ttl;
        bool sets_ttl;
        refused_fence* memory;  // null: the lease has none
        refused_fence refused;  // what it held at the start, and since then
        std::uint64_t seen_fence = 0;  // the highest in all rounds
        state is = state::open;
        std::optional<extension> count;  // of its latest round; none before the first
    };

    const lease& at(lease_index i) const noexcept {
        assert(i < leases_.size());
        return leases_[i];
    }

    static constexpr std::uint32_t last_round = 2;

    std::deque<lease> leases_;
    std::size_t open_ = 0;   // leases that the present round has not decided
    std::size_t again_ = 0;  // leases that wait for the next round
    std::uint32_t round_ = 0;  // 0 before the first; at most `last_round`
    time_point sent_{};        // the present round
};

}  // namespace redlock::core
