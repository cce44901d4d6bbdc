// A rate limiter: which call asks the nodes for a slot, when, for how long, and which grants
// count.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/nodes.hpp"
#include "value/options.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/vote.hpp>

#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace redlock::core {

/// A slot that was allowed at one instant must not be allowed again within a period from there.
/// No other client is granted it before its validity ends. So a grant counts only if its validity
/// lasts for a period from the instant at which it is *used*, which is after the answers came, not
/// from that at which the request was sent. The ttl in the request is longer by the time between
/// the two, as the last grants took it. Not thread-safe.
class pacing {
public:
    pacing(std::chrono::milliseconds longest_ttl, drift_policy drift) noexcept
        : longest_ttl_(longest_ttl), drift_(drift) {}

    /// What a request has to keep its slot taken for, and how it does.
    struct terms {
        std::chrono::milliseconds period{0};
        std::chrono::milliseconds ttl{0};
    };
    /// Of the next request.
    terms next(std::chrono::milliseconds period) const noexcept;
    /// Whether a grant whose request had these counts at `now`. The next ttl is longer where it
    /// came late.
    bool counts(const terms& requested, time_point valid_until, time_point now) noexcept;
    /// The answers took longer than the whole ttl.
    void was_too_late(std::chrono::milliseconds ttl) noexcept {
        assert(ttl.count() > 0);
        slowest_ = ttl;
    }

private:
    duration validity(std::chrono::milliseconds ttl) const noexcept {
        return ttl - drift_.allowance(ttl);
    }

    std::chrono::milliseconds longest_ttl_;
    drift_policy drift_;
    duration slowest_{0};  // of the last grants, from sending to use; halved with each
};

/// When a quorum of nodes will have a free slot, by their votes on a refused try: the quorum-th
/// smallest of the times that they name. `turn`: for a node on which others wait before the caller,
/// and which names none. At least 1 ms, so that nobody tries without a pause.
std::chrono::milliseconds time_until_free(std::span<const node_vote> votes,
                                          const node_lists& nodes, std::chrono::milliseconds turn);

/// What the nodes say of a limit while one call asks them.
class limit_votes {
public:
    /// `said`: a node's answer to the call; `named`: what it says of the limit besides.
    void answered(std::size_t node, vote said, const limit_news& named) noexcept;
    /// A longer period is news where the nodes that named one, and those that failed, leave no
    /// quorum for this one: of these the shortest, which a quorum may take next.
    limit_news news(const node_lists& nodes) const noexcept;

private:
    limit_news said_;
    node_mask unable_;  // the nodes that failed, or named a longer period
};

/// Why there can't be such a limit; empty if there can.
std::string why_no_limit(const client_options& client, std::string_view resource,
                         std::uint16_t limit, std::chrono::milliseconds period);

/// One call of a rate limiter. Embedded in its owner: waiting allocates nothing.
class limited {
public:
    limited() = default;
    limited(const limited&) = delete;
    limited& operator=(const limited&) = delete;

protected:
    ~limited() = default;

private:
    friend class rate_limit;
    /// It has to ask the nodes now.
    virtual void on_turn(time_point now) = 0;
    /// It is the first that waits, and the line has to look again then.
    virtual void on_rest(time_point until) = 0;

    enum class state : std::uint8_t { away, in_line, asking };
    using hook = boost::intrusive::list_member_hook<
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    hook listed_;  // linked where it is in line
    time_point deadline_{};
    std::uint64_t number_ = 0;  // later ones have larger ones
    std::uint16_t cost_ = 1;    // so many slots it takes
    pacing::terms requested_{};  // by its last request
    std::uint64_t revision_ = 0;  // the same
    unsigned tries_ = 0;  // requests so far
    bool waits_ = false;
    state state_ = state::away;
};

/// A call that does not wait asks the nodes once. Those that wait stand in line in the order in
/// which they began, since slots that run out wake nobody. When the nodes refused one, no other
/// that costs as much asks before the instant at which so many slots are free by their answer. Then
/// the first asks alone, and each that is allowed lets one more ask at the same time. So a thousand
/// that wait ask the nodes hardly more often than one, and all the same take a burst of free slots
/// in few round trips. Where a quorum has free slots, but none in common, the rests grow from 1 ms
/// to the time in which a slot becomes free on average.
///
/// Where too few nodes answer a waiting call rests and asks again, until its time is over.
///
/// Nodes refuse a ttl that is shorter than a period which another program names. Then that period
/// counts here, too, for as long as it is: after that the limiter tries its own again.
///
/// The number of slots that was set last counts, here and on the nodes, whatever the programs named
/// when they began. A limiter that learns of it names it from then on.
class rate_limit {
public:
    rate_limit(std::uint16_t slots, std::chrono::milliseconds period,
               std::chrono::milliseconds longest_ttl, drift_policy drift) noexcept
        : pace_(longest_ttl, drift), period_(period), slots_(slots), most_(slots),
          turn_(std::max(std::chrono::milliseconds(1), period / slots)) {
        assert(slots <= max_slots && period.count() > 0 && longest_ttl >= period);
    }
    rate_limit(const rate_limit&) = delete;
    rate_limit& operator=(const rate_limit&) = delete;

    /// How a call begins.
    enum class start : std::uint8_t {
        ask,          ///< The nodes, at once.
        stand_aside,  ///< Refused: it would not wait, and others do.
        wait,         ///< In line: `admit` is due.
    };
    start begin(limited& call, std::uint16_t cost, duration wait, time_point now);
    /// Why no call may cost that; empty if one may.
    std::string why_no_cost(std::uint16_t cost) const;
    /// Calls those whose turn it is, and tells the first of the others until when it rests. Due
    /// after `begin`, `granted` and `refused`, and when that rest is over.
    void admit(time_point now);
    /// Has the first look again by itself, at `now` at the earliest. Due after `leave`: where many
    /// leave at once none of them gets a turn meanwhile.
    void look_again(time_point now);

    /// The acquire with which a call asks.
    acquire_options request(limited& call, time_point now) noexcept;
    /// What each call names to the nodes: its own period, and the number that counts.
    limit_terms terms() const noexcept { return {period_, revision_}; }
    /// The nodes said this, in an answer of which the verdict follows.
    void learn(const limit_news& what, time_point now) noexcept;
    /// From now on there are so many. Returns the revision, which is later than all that it knows.
    std::uint64_t set(std::uint16_t slots, std::int64_t now_us) noexcept;

    /// What becomes of a call when the nodes have answered it.
    enum class verdict : std::uint8_t {
        allowed,  ///< It is over: the slot is used up.
        over,     ///< Refused. A grant is given back.
        again,    ///< It asks again at once. A grant is given back.
        rest,     ///< It stands in line again.
    };
    verdict granted(limited& call, time_point valid_until, time_point now) noexcept;
    verdict refused(limited& call, error_code why, std::span<const node_vote> votes,
                    const node_lists& nodes, time_point now);

    /// It ends early, or has ended.
    void leave(limited& call) noexcept;
    time_point deadline(const limited& call) const noexcept { return call.deadline_; }
    /// For a call that is refused since the limit is reached, by all that the nodes said to any.
    std::chrono::milliseconds retry_after(const limited& call, time_point now) const noexcept;

    /// A grant that comes too late is given back, and the next try asks for a longer ttl.
    static constexpr unsigned most_tries = 4;
    /// A number that was set counts for so long, and as long as programs that know it use it.
    static constexpr duration set_for = std::chrono::hours(24);
    /// Between two tries of a call that waits while too few nodes answer.
    static constexpr std::chrono::milliseconds rest_of_failure{100};

private:
    using line = boost::intrusive::list<
        limited, boost::intrusive::member_hook<limited, limited::hook, &limited::listed_>,
        boost::intrusive::constant_time_size<false>>;

    void count_by(std::uint16_t slots, std::uint64_t revision) noexcept;
    verdict late(limited& call, time_point now) noexcept;
    verdict end(limited& call, verdict how) noexcept;
    verdict rest(limited& call, time_point until) noexcept;
    std::chrono::milliseconds rest_in_vain(std::chrono::milliseconds until_free,
                                           time_point now) noexcept;
    time_point after_failure(const limited& call, time_point now) noexcept;
    /// When it may ask.
    time_point not_before(const limited& call) const noexcept {
        return call.cost_ >= least_cost_ ? not_before_ : time_point{};
    }

    pacing pace_;
    std::chrono::milliseconds period_;
    std::chrono::milliseconds longer_{0};  // of another program
    time_point longer_until_{};            // that counts; by then it may have ended
    std::uint16_t slots_;     // above 0
    std::uint64_t revision_ = 0;  // when that was set, in us of cluster time; 0: it was not
    line line_;               // in the order of their numbers
    std::size_t asking_ = 0;  // of those that wait; may exceed `most_` after that fell
    std::size_t most_;        // of those may ask at the same time: 1 to `slots_`
    std::chrono::milliseconds turn_;  // in which a slot becomes free, on average
    std::chrono::milliseconds in_vain_{0};  // 0 to `turn_`: the last rest though slots were free
    time_point not_before_{};         // may anybody in line ask that costs as much as this:
    std::uint16_t least_cost_ = 1;
    std::uint64_t last_number_ = 0;
};

}  // namespace redlock::core
