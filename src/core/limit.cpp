// A rate limiter.
// SPDX-License-Identifier: MIT
#include "core/limit.hpp"

#include "core/acquire.hpp"

#include <vector>

namespace redlock::core {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

pacing::terms pacing::next(milliseconds period) const noexcept {
    assert(period > 0ms);
    const duration least = std::max<duration>(1ms, period / 100);
    const duration wanted = period + std::max<duration>(least, 2 * slowest_);
    if (wanted >= longest_ttl_) return {period, longest_ttl_};
    // The share of the drift is taken of the whole ttl, so the sum is not enough.
    auto ttl = std::chrono::ceil<milliseconds>(wanted + drift_.allowance(wanted));
    while (ttl < longest_ttl_ && validity(ttl) < wanted) {
        const auto missing = std::chrono::ceil<milliseconds>(wanted - validity(ttl));
        ttl += std::max(missing, 1ms);
    }
    return {period, std::min(ttl, longest_ttl_)};
}

bool pacing::counts(const terms& requested, time_point valid_until, time_point now) noexcept {
    assert(requested.ttl > 0ms && requested.ttl <= longest_ttl_);
    const time_point sent = valid_until - validity(requested.ttl);
    slowest_ = std::max<duration>(now - sent, slowest_ / 2);
    return valid_until - now >= requested.period;
}

namespace {

milliseconds time_until_free_in(node_mask list, std::span<const node_vote> votes,
                                milliseconds turn) {
    std::vector<milliseconds> times;
    for (const std::size_t i : list) {
        const node_vote& v = votes[i];
        switch (v.answer) {
            case vote::held: times.push_back(v.retry_in); break;
            case vote::queued: times.push_back(v.retry_in > 0ms ? v.retry_in : turn); break;
            case vote::granted:
            case vote::stale: times.push_back(0ms); break;
            default: break;
        }
    }
    if (times.empty()) return 1ms;
    // A node that did not answer in time, because the others had decided, is taken to be like them.
    const auto nth = times.begin() + static_cast<std::ptrdiff_t>(
                                         std::min(quorum(list.size()), times.size()) - 1);
    std::nth_element(times.begin(), nth, times.end());
    return std::max(*nth, 1ms);
}

}  // namespace

milliseconds time_until_free(std::span<const node_vote> votes, const node_lists& nodes,
                             milliseconds turn) {
    assert(votes.size() == nodes.size() && turn > 0ms);
    return std::max(time_until_free_in(nodes.old(), votes, turn),
                    time_until_free_in(nodes.after(), votes, turn));
}

void limit_votes::answered(std::size_t node, vote said, const limit_news& named) noexcept {
    unable_.set(node, weigh(said) == choice::unable);
    if (named.period > 0ms) {
        said_.period = said_.period > 0ms ? std::min(said_.period, named.period) : named.period;
    }
    if (named.revision <= said_.revision || named.slots == 0) return;
    said_.revision = named.revision;
    said_.slots = named.slots;
}

limit_news limit_votes::news(const node_lists& nodes) const noexcept {
    limit_news out = said_;
    if (nodes.is_quorum(nodes.all() - unable_)) out.period = 0ms;
    return out;
}

std::string why_no_limit(const client_options& client, std::string_view resource,
                         std::uint16_t limit, milliseconds period) {
    const auto in_ms = [](milliseconds span) { return std::to_string(span.count()) + " ms"; };
    if (auto why = validate_resource(client, resource); !why.empty()) return why;
    if (!client.fencing) return "a limit needs fencing: slots have fences";
    if (limit == 0 || limit > max_slots) {
        return "a limit of " + std::to_string(limit) + " can't be: it must be 1 to " +
               std::to_string(max_slots);
    }
    if (period <= 0ms) return "the period must be longer than 0";
    const milliseconds longest = longest_kept(client.ttl_max, drift_of(client));
    if (period <= longest) return {};
    return "a period of " + in_ms(period) + " is above " + in_ms(longest) +
           ", the longest with a ttl_max of " + in_ms(client.ttl_max) +
           ": shorten it, or raise ttl_max for all clients of these nodes";
}

std::string rate_limit::why_no_cost(std::uint16_t cost) const {
    const std::uint16_t most = std::min(slots_, max_permits);
    if (cost >= 1 && cost <= most) return {};
    return "a cost of " + std::to_string(cost) + " can't be: it must be 1 to " +
           std::to_string(most) + ", the " +
           (most == slots_ ? "limit" : "most that one call takes; count in larger units");
}

rate_limit::start rate_limit::begin(limited& call, std::uint16_t cost, duration wait,
                                    time_point now) {
    assert(call.state_ == limited::state::away && cost > 0);
    call.cost_ = cost;
    call.waits_ = wait > duration::zero();
    call.deadline_ = now + wait;
    if (!call.waits_) {
        if (asking_ > 0 || !line_.empty()) return start::stand_aside;
        call.state_ = limited::state::asking;
        return start::ask;
    }
    call.number_ = ++last_number_;
    call.state_ = limited::state::in_line;
    line_.push_back(call);
    return start::wait;
}

void rate_limit::admit(time_point now) {
    while (!line_.empty() && asking_ < most_ && now >= not_before(line_.front())) {
        limited& first = line_.front();
        assert(first.state_ == limited::state::in_line && first.waits_);
        line_.pop_front();
        first.state_ = limited::state::asking;
        ++asking_;
        first.on_turn(now);
    }
    if (!line_.empty() && asking_ < most_) line_.front().on_rest(not_before(line_.front()));
}

void rate_limit::look_again(time_point now) {
    if (line_.empty() || asking_ >= most_) return;
    line_.front().on_rest(std::max(not_before(line_.front()), now));
}

acquire_options rate_limit::request(limited& call, time_point now) noexcept {
    assert(call.state_ == limited::state::asking);
    ++call.tries_;
    if (now >= longer_until_) longer_ = 0ms;
    call.requested_ = pace_.next(std::max(period_, longer_));
    call.revision_ = revision_;
    return {.ttl = call.requested_.ttl, .renew = false, .slots = slots_, .permits = call.cost_};
}

void rate_limit::learn(const limit_news& what, time_point now) noexcept {
    if (what.revision > revision_) count_by(what.slots, what.revision);
    if (what.period <= period_ || what.period < longer_) return;
    longer_ = std::min<milliseconds>(what.period, longest_ttl);
    longer_until_ = now + longer_;
}

std::uint64_t rate_limit::set(std::uint16_t slots, std::int64_t now_us) noexcept {
    assert(now_us >= 0);
    count_by(slots, std::max(static_cast<std::uint64_t>(now_us), revision_ + 1));
    return revision_;
}

// What was said of free slots is out of date.
void rate_limit::count_by(std::uint16_t slots, std::uint64_t revision) noexcept {
    assert(slots > 0 && slots <= max_slots && revision > revision_);
    slots_ = slots;
    revision_ = revision;
    most_ = std::min<std::size_t>(most_, slots_);
    turn_ = std::max(1ms, period_ / slots_);
    not_before_ = {};
}

rate_limit::verdict rate_limit::granted(limited& call, time_point valid_until,
                                        time_point now) noexcept {
    assert(call.state_ == limited::state::asking && most_ >= 1 && most_ <= slots_);
    if (!pace_.counts(call.requested_, valid_until, now)) return late(call, now);
    not_before_ = {};  // the nodes have free slots
    in_vain_ = 0ms;
    if (call.waits_) most_ = std::min<std::size_t>(most_ + 1, slots_);
    return end(call, verdict::allowed);
}

rate_limit::verdict rate_limit::refused(limited& call, error_code why,
                                        std::span<const node_vote> votes,
                                        const node_lists& nodes, time_point now) {
    assert(why && call.state_ == limited::state::asking);
    if (!(why == condition::retryable)) return end(call, verdict::over);
    if (call.requested_.period < longer_ || call.revision_ < revision_) return late(call, now);
    const bool is_reached = why == errc::contended;
    if (is_reached) {
        const auto until_free = time_until_free(votes, nodes, turn_ * call.cost_);
        not_before_ = now + std::max(until_free, rest_in_vain(until_free, now));
        least_cost_ = call.cost_;
    } else if (why == errc::validity_exhausted) {
        pace_.was_too_late(call.requested_.ttl);
        return late(call, now);
    }
    most_ = 1;
    if (!call.waits_ || now >= call.deadline_) return end(call, verdict::over);
    return rest(call, is_reached ? not_before_ : after_failure(call, now));
}

// Each of a quorum has a free slot, and no quorum has one in common: until some of their slots run
// out asking changes nothing.
milliseconds rate_limit::rest_in_vain(milliseconds until_free, time_point now) noexcept {
    if (until_free > 1ms) in_vain_ = 0ms;
    else if (now >= not_before_) in_vain_ = std::clamp(2 * in_vain_, 1ms, turn_);
    return in_vain_;
}

void rate_limit::leave(limited& call) noexcept { end(call, verdict::over); }

milliseconds rate_limit::retry_after(const limited& call, time_point now) const noexcept {
    const time_point from = not_before(call);
    if (from <= now) return turn_ * call.cost_;
    return std::chrono::ceil<milliseconds>(from - now);
}

rate_limit::verdict rate_limit::late(limited& call, time_point now) noexcept {
    if (call.tries_ < most_tries) return verdict::again;
    if (!call.waits_ || now >= call.deadline_) return end(call, verdict::over);
    // The nodes are too slow for the period, and trying makes them no faster.
    most_ = 1;
    return rest(call, after_failure(call, now));
}

rate_limit::verdict rate_limit::end(limited& call, verdict how) noexcept {
    assert((call.state_ == limited::state::in_line) == call.listed_.is_linked());
    assert(asking_ > 0 || !call.waits_ || call.state_ != limited::state::asking);
    if (call.state_ == limited::state::asking && call.waits_) --asking_;
    if (call.listed_.is_linked()) call.listed_.unlink();
    call.state_ = limited::state::away;
    return how;
}

// Whatever the others cost.
time_point rate_limit::after_failure(const limited& call, time_point now) noexcept {
    const time_point until = std::max(not_before(call), now + rest_of_failure);
    least_cost_ = 1;
    return until;
}

// Of those that rest the earlier ones stand before the later ones.
rate_limit::verdict rate_limit::rest(limited& call, time_point until) noexcept {
    assert(call.waits_ && call.state_ == limited::state::asking);
    end(call, verdict::rest);
    not_before_ = until;
    const auto next = std::find_if(line_.begin(), line_.end(), [&](const limited& other) {
        return other.number_ > call.number_;
    });
    line_.insert(next, call);
    call.state_ = limited::state::in_line;
    return verdict::rest;
}

}  // namespace redlock::core
