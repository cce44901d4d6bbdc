// One acquire, from its call to its verdict: when to try, what to ask for, which votes win; sends
// nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/lease.hpp"
#include "core/quorum.hpp"
#include "core/retry.hpp"
#include "value/clock.hpp"
#include "value/nodes.hpp"
#include "value/options.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/vote.hpp>

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace redlock::core {

/// What a vote is worth in an attempt.
choice weigh(vote v) noexcept;

/// The Redlock rule: granted once a quorum said so within the validity, refused as soon as that can
/// no longer be (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
///
/// Where nodes that found the proposed fence stale could make up the quorum, there is a second
/// round, once, under a fence above all that were seen. It begins as soon as the nodes that have
/// answered could win it. Only votes for the present round count.
///
/// Made when the round is handed to the first connection. If it is not granted, the caller gives
/// back every vote of it.
class attempt {
public:
    enum class verdict : std::uint8_t { open, granted, refused, again };

    attempt(const node_lists& nodes, time_point sent, duration ttl, drift_policy drift) noexcept
        : tally_(nodes),
          ttl_(ttl),
          drift_(drift),
          valid_until_(redlock::valid_until(sent, ttl, drift)) {}

    /// A node answered the present round, or did not in time. What comes after the verdict changes
    /// nothing. `again`: send the second round to every node, and say so by `begin_second`.
    verdict cast(std::size_t node, vote v, time_point now) noexcept;
    void begin_second(time_point sent) noexcept;
    /// Our own clock stood still for `gap` since the round was sent.
    void shorten(duration gap) noexcept {
        assert(gap >= duration::zero());
        valid_until_ -= gap;
    }

    verdict state() const noexcept { return state_; }
    /// Why it was refused.
    error_code reason() const noexcept { return reason_; }
    /// A quorum granted or refused the present round.
    bool has_answers() const noexcept { return tally_.has_answers(); }
    time_point valid_until() const noexcept { return valid_until_; }

private:
    verdict decide(verdict v, error_code why) noexcept;

    tally tally_;
    duration ttl_;
    drift_policy drift_;
    time_point valid_until_;   // of the present round
    bool is_second_ = false;   // there is no third
    verdict state_ = verdict::open;
    error_code reason_;        // none unless it was refused
};

/// A slot is a lock of its own, so an acquire asks all nodes for one and the same. Nodes that
/// refuse it name those that are free there. The next try asks for a slot that may be free on a
/// quorum, of these for one that is taken on the fewest nodes. Among several it draws one at
/// random, so that many acquires that try at once do not meet at one slot.
class slot_choice {
public:
    /// So many tries follow each other at once. More would be those of a crowd that finds each slot
    /// taken by the time it asks for it.
    static constexpr unsigned most_in_a_row = 8;

    slot_choice() = default;
    /// `needed`: so many at once.
    slot_choice(const node_lists& nodes, std::uint16_t slots, std::uint16_t needed = 1) noexcept
        : nodes_(nodes), slots_(slots), needed_(needed) {
        assert(slots <= max_slots && (slots == 0 || (needed > 0 && needed <= slots)));
    }

    /// A wake-up named this slot as free. The next try asks for it, unless this client gave one
    /// back or the nodes' answers to the last try name free slots.
    void suggest(std::uint16_t slot) noexcept {
        if (slot < slots_) suggested_ = slot;
    }
    /// Returns the slot to ask for in the next try, and forgets what the nodes answered to earlier
    /// tries. `freed`: a slot that this client gave back, and for which no other try asks; it is
    /// returned if there is one.
    std::uint16_t draw(std::uint64_t random, std::optional<std::uint16_t> freed = std::nullopt);
    /// The same where it needs several: as many, all different. One quorum has to have them all, so
    /// they are chosen one by one, as long as one may have those that were chosen.
    std::vector<std::uint16_t> draw_all(std::uint64_t random);
    /// A node refused the try: a bit for each slot that is free there, of `slots` that it counts.
    void refused(std::size_t node, std::string_view free, std::uint16_t slots);
    /// These nodes are queried again: a program that names fewer slots may be gone by now.
    void count_anew(node_mask queried) noexcept;
    /// A node counts so many; 0: it does not say.
    void count(std::size_t node, std::uint16_t slots);
    /// The try was refused: whether another may find a free slot at once.
    bool is_another_free() const;
    /// It waits, or is over: the row of tries has ended.
    void rest() noexcept { in_a_row_ = 0; }

    /// The smallest number of slots that any node named in its last answer, and this program.
    std::uint16_t counted() const noexcept;
    /// Whether there are as many as it needs, taken or not.
    bool are_enough() const noexcept { return slots_ == 0 || needed_ <= counted(); }

private:
    bool may_be_free(node_mask taken) const noexcept;
    std::vector<std::uint16_t> least_taken() const;
    /// Moves slots that may be free together to the front. Returns how many, at most those needed.
    std::size_t choose(std::vector<std::uint16_t>& among) const;
    std::vector<std::uint16_t> all_slots() const;

    node_lists nodes_;
    std::uint16_t slots_ = 0;
    std::uint16_t needed_ = 1;
    std::vector<std::uint16_t> counted_;  // by node, each at least 1; empty: no node named any
    std::uint16_t counted_before_ = 0;    // while none has; 0: none ever did
    std::vector<node_mask> taken_;  // on these nodes, by slot; empty: no node named any
    std::optional<std::uint16_t> suggested_;  // below `slots_`
    unsigned in_a_row_ = 0;         // tries since it last rested
};

/// What a node answered about the slots of the resource: a bit for each one that is free there,
/// from the lowest of the first byte on; and how many there are. 0: nothing.
struct slots_seen {
    std::string_view free{};
    std::uint16_t count = 0;
};

/// Tries until one try is granted, or refused for good, or the time is over. Without a wait there
/// is one try, but where votes were split: see `split_votes`.
///
/// Facts go in, with the time and random words among them, and actions come out. It calls nobody.
/// Its driver carries the actions out in their sequence. The votes of every refused try are given
/// back, also between two tries. (Kept votes would let contenders block each other, each with a
/// minority.)
class acquisition {
public:
    enum class phase : std::uint8_t {
        queued,  ///< It has not tried: the voters are not known yet, or others come first.
        trying,  ///< A round is out.
        judged,  ///< A try is over, and the driver is to act on it.
        asleep,  ///< Until the nodes would let it have the key, its turn comes, or a rest ends.
        over,
    };
    enum class action : std::uint8_t {
        // What is sent.
        begin_try,     ///< Call `begin_try` and `begin_round`, and send.
        second_round,  ///< Call `begin_round` and send, under a fence above all that were seen.
        release,       ///< Give back what the nodes granted; its place in their queues stays.
        leave,         ///< Give back what the nodes granted, and its place in their queues.

        // Among the waiters of this client.
        apply,         ///< For admission to the nodes, past the queues of this client.
        join,          ///< Enters the queues of this client, and calls `joined`.
        ask_for_turn,  ///< Its time has come: it tries when its turn comes.
        end_turn,      ///< Its turn is over.
        rest,          ///< Its turn is over; the nodes named nothing that is worth waiting for.
        /// The same, and no resource has a quorum: its turn lasts until the next try.
        rest_in_turn,

        // How it waits.
        arm,            ///< A timer for `due_at`.
        await_wake_up,  ///< The client queries the nodes for it now and then, and they wake it.
        draw_ticket,    ///< Call `draw_ticket`.

        // How a try, or all of it, ends.
        judge,         ///< The try was refused, for `reason`: call `refused`.
        recall_votes,  ///< No node need have answered this try: the one before says why it waited.
        grant,         ///< With the lease of `lease`.
        refuse,        ///< For `reason`.
        stand_aside,   ///< Refused: others of this client are before it.
        turn_away,     ///< Refused: there was no time in which a request could go out.
    };
    using actions = boost::container::static_vector<action, 5>;

    acquisition() = default;

    /// Called once, before everything else. The options are valid; `all` outlives this. `keys`:
    /// that it wants at once.
    void begin(const client_options& all, const node_lists& nodes, const acquire_options& how,
               std::size_t keys, time_point now);

    /// It is known which nodes may vote. The first try may last `longest`, which is the time that
    /// the nodes may take, even if the wait is shorter.
    actions settled(time_point now, duration longest);
    /// Without a wait: the nodes have room for its request. It must not overtake others of this
    /// client that wait for what it wants.
    actions admitted(bool others_wait);
    /// The nodes refused the try for what it could not know, and what it left is given back: when
    /// `settled` is called again, another one begins. It has its time as the first one has. Where
    /// there is none in time, the reason is that of the try before it.
    void begin_again() noexcept {
        assert(!is_over());
        phase_ = phase::queued;
        reason_ = reason_before_;
        is_again_ = true;
    }
    /// It stands in the queues of this client: in front of them, or behind other acquires.
    void joined(bool is_in_front) noexcept;
    /// It is the first of this client.
    actions turn();

    /// The nodes grant no ttl above `longest`. `born`: `disruptions::so_far`.
    void begin_try(duration longest, std::uint64_t born, time_point now) noexcept;
    /// Which slot the try asks for. `freed`: one that this client gave back.
    template <class Random>
    slot_number draw_slot(std::optional<std::uint16_t> freed, Random random_word) {
        if (slot_count_ == 0) return {};
        if (!also_slots_) return {slots_.draw(random_word(), freed), slot_count_};
        *also_slots_ = slots_.draw_all(random_word());
        std::sort(also_slots_->begin(), also_slots_->end());
        return {also_slots_->front(), slot_count_};
    }
    /// All for which it asks, where they are several; they rise.
    /// As far as is known there are as many as it wants.
    bool are_slots_enough() const noexcept { return slots_.are_enough(); }
    std::span<const std::uint16_t> all_slots() const noexcept {
        if (!also_slots_) return {};
        return *also_slots_;
    }
    /// Returns its number. Only answers to it are votes. `later`: so much later a grant may come.
    std::uint32_t begin_round(duration later, time_point now) noexcept;
    /// A node has seen this fence: the next proposed one has to be above it.
    void saw(std::uint64_t fence) noexcept { seen_fence_ = std::max(seen_fence_, fence); }
    /// The present round goes to these nodes; with `is_entered` it is in their queues from now on.
    /// `fence`: that it proposes; 0: none.
    void sent(node_mask nodes, std::uint64_t fence, bool is_entered) noexcept;
    /// A node answered the present round, with whatever. True once, when a quorum of them has.
    bool completes_quorum(std::size_t node) noexcept {
        assert(nodes_.all().contains(node));
        if (nodes_.is_quorum(answered_)) return false;
        answered_.insert(node);
        return nodes_.is_quorum(answered_);
    }
    /// Enough nodes have voted, and of those that were sent the round these alone have not: the
    /// votes are split. Returns one of them; nothing where it is not so.
    std::optional<std::size_t> hangs_on(node_mask nodes) const noexcept {
        const bool hangs = is_trying() && (silent_ - nodes).empty() && attempt_->has_answers();
        return hangs && !silent_.empty() ? std::optional(*silent_.begin()) : std::nullopt;
    }
    /// A node answered the present round, or did not in time.
    actions cast(std::size_t node, vote v, const outlook& what, const slots_seen& slots,
                 time_point now);
    /// Where it may try later: a random word, how many others of this client rest, and the round
    /// trip to a quorum.
    struct prospects {
        std::uint64_t random;
        std::size_t others;
        duration round_trip;
    };
    bool may_try_later(error_code why, time_point now) const {
        if (tries_another_slot(why)) return false;
        return retry_ ? now < retry_->deadline() : is_split(why) && !split_->is_over(now);
    }
    /// The try came to nothing.
    actions refused(error_code why, time_point now, std::optional<prospects> further);

    /// A ticket is the time of the first try, by what all clients go by: one that followed clocks
    /// which were ahead, and drew its fences by them, must not stand behind all that come later.
    /// Without a time it would stand before all.
    void draw_ticket(std::optional<std::int64_t> time_us) noexcept;
    /// 0: it is in no node's queue.
    std::uint64_t ticket() const noexcept { return ticket_; }
    /// A request was sent to these nodes to enter it in their queues.
    void entered(node_mask nodes) noexcept { entered_ |= nodes; }
    /// The nodes in whose queues it may be.
    node_mask entered() const noexcept { return entered_; }
    /// Those that have not said that they let it out: a node that grants does. After an earlier try
    /// a message that keeps its place may still lie in a broken connection.
    node_mask still_entered() const noexcept {
        return tries_ == 1 ? entered_ - granted_by_ : entered_;
    }
    /// Those that did not answer an earlier round in time, and nothing since.
    node_mask mute() const noexcept { return mute_; }
    /// Those to which the present round sent that request.
    node_mask entered_now() const noexcept { return entered_now_; }
    /// What the present try may have left on the nodes.
    const traces& left() const noexcept { return left_; }
    /// The try is given back, and with `leaves` its place in the queues, too: from now on nothing
    /// of it is left. Returns what has to be released on the nodes, and its place there; nothing
    /// where no node can have any of it. A node that failed the round may have the key all the
    /// same.
    struct remains {
        traces left;
        node_mask entered;
    };
    std::optional<remains> give_back(bool leaves) noexcept;

    /// A query goes out: what these nodes will have `answered` is newer than their wake-ups so
    /// far.
    void queried(node_mask nodes) noexcept;
    /// A node says that the key of that index is free, or that slot of it.
    actions woken(std::size_t node, std::size_t key, std::optional<std::uint16_t> slot,
                  time_point now);
    /// Asleep: when a node would let it have the key; or, where it has no vote, when it has one.
    actions answered(std::size_t node, const outlook& what, time_point now);

    /// The timer went off, and this client's timers ring late: the nodes have `extra` time more for
    /// the first try. `is_behind`: other acquires of this client are before it.
    actions due(time_point now, duration extra, bool is_behind);
    /// When to call it. From `judged` on there is no such time.
    time_point due_at() const noexcept { return due_at_; }
    /// Whether there is such a time during a try.
    bool is_timed() const noexcept { return waits() || due_at_ != time_point{}; }
    /// Our own clock stood still for `gap`.
    void shorten(duration gap) noexcept;
    /// Granted, given up or cancelled: no fact matters any more.
    void end() noexcept { phase_ = phase::over; }

    phase state() const noexcept { return phase_; }
    bool is_over() const noexcept { return phase_ == phase::over; }
    bool is_trying() const noexcept { return phase_ == phase::trying; }
    /// Whether an answer to that round is a vote.
    bool is_open(std::uint32_t round) const noexcept { return is_trying() && round == round_; }
    /// Whether a request of that round that could not be sent yet still is to be. `is_held`: its
    /// lease lives; then the round that won it goes out to the nodes that were still connecting,
    /// too: the more nodes have the key, the more of them may fail.
    bool is_wanted(std::uint32_t round, bool is_held) const noexcept {
        return is_open(round) || (round == round_ && is_held);
    }
    bool waits() const noexcept { return retry_ != nullptr; }
    /// It would get the lock if it were the first, and the nodes can enter it in their queues.
    /// Where it can reach no quorum others may, and would wait for it in vain.
    bool may_be_entered() const noexcept { return may_queue_ && ticket_ != 0; }
    std::uint32_t tries() const noexcept { return tries_; }
    std::uint32_t round() const noexcept { return round_; }
    /// The highest fence that was passed to `saw`, in all tries.
    std::uint64_t seen_fence() const noexcept { return seen_fence_; }
    /// What the try asks for.
    duration ttl() const noexcept { return ttl_; }
    /// How long the nodes keep a key that nobody gives back: `ttl` or, with a least time, longer.
    duration kept_for() const noexcept { return kept_for_; }
    /// The lease of a try that is granted now.
    renewal lease(time_point now) const noexcept;
    error_code reason() const noexcept { return reason_; }

private:
    void note(std::size_t node, const outlook& what, time_point now) noexcept;
    bool tries_another_slot(error_code why) const {
        return why == errc::contended && slots_.is_another_free();
    }
    bool is_split(error_code why) const noexcept {
        return split_ && why == errc::contended && split_->is_split(nodes_, granted_by_);
    }
    actions give_up(error_code why);
    bool is_cut_off() const noexcept { return nodes_.prevents_quorum(unable_); }
    bool lasts(time_point now) const noexcept;
    // However short the wait.
    bool has_its_time() const noexcept { return tries_ == 1 || is_again_; }

    const client_options* all_ = nullptr;  // null before `begin`
    node_lists nodes_;
    renewal::terms terms_{};      // as the caller gave them
    std::chrono::milliseconds min_hold_{0};
    duration ttl_{};              // of the present try: at most that of the terms
    std::unique_ptr<retry> retry_;  // null for one that would not wait: it is large
    std::unique_ptr<split_votes> split_;  // of that one, once a node refused; large, too
    time_point nodes_until_{};    // until then the first try may take, however short the wait
    time_point due_at_{};         // none before `settled`; without a wait before the first rest
    std::optional<attempt> attempt_;  // from the first try on
    phase phase_ = phase::queued;
    bool is_again_ = false;         // see `begin_again`
    bool is_called_again_ = false;  // its turn came again during a try
    bool is_known_to_nodes_ = false;  // where it waits: they queue and wake it
    bool may_queue_ = true;
    std::uint32_t tries_ = 0;  // that have begun
    std::uint32_t round_ = 0;  // of all tries: rises, and is never used twice
    node_mask unable_;  // that could not vote in this round
    std::uint64_t seen_fence_ = 0;
    error_code reason_ = errc::no_quorum;  // what is said when the time is over before a first try
    error_code reason_before_ = errc::no_quorum;  // the same, of the present try

    duration kept_for_{};
    time_point keys_until_{};  // until then those that were granted in this round live

    std::uint16_t slot_count_ = 0;
    slot_choice slots_;
    std::unique_ptr<std::vector<std::uint16_t>> also_slots_;  // all of the try; null for one
    std::unique_ptr<blocked_keys> blocked_;  // of several; large, and null for one

    traces left_;
    node_mask answered_;  // the present round
    node_mask silent_;    // it was sent to these, and they have neither answered nor failed
    node_mask mute_;      // their last answer, of all rounds, did not come in time

    std::uint64_t ticket_ = 0;  // drawn once; 0 before that
    node_mask entered_;         // in whose queues it may be, by any round or query
    node_mask granted_by_;      // the present round
    node_mask entered_now_;     // by the present round: all are among `entered_`
};

}  // namespace redlock::core
