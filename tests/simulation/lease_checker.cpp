// The checkers.
// SPDX-License-Identifier: MIT
#include "simulation/lease_checker.hpp"

#include "client/lease.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>

namespace redlock::simulation {

namespace {

std::string in_ms(duration d) {
    return std::to_string(std::chrono::duration<double, std::milli>(d).count()) + " ms";
}

}  // namespace

std::string resource_name(std::size_t number) { return "r" + std::to_string(number); }

void lease_checker::blame(std::string_view checker, std::string text) {
    const bool is_promised = !plan_->is_only_safe ||
                             (checker != "available" && checker != "liveness" && checker != "turns");
    const bool is_judged =
        is_promised && (plan_->promise.empty() || plan_->promise == checker);
    if (is_judged && !first_) first_ = {std::string(checker), std::move(text), when_->now()};
}

lease_checker::support& lease_checker::support_of(std::string_view identity) {
    const auto at = support_.find(identity);
    return at != support_.end() ? at->second : support_[std::string(identity)];
}

void lease_checker::voted(std::string_view owner_value, std::size_t server, std::int64_t fence) {
    support& of = support_of(owner_value);
    if (fence > of.fence) {  // votes for an earlier round do not count
        of.votes = 0;
        of.fence = fence;
    }
    if (fence == of.fence) of.votes |= 1U << server;
}

void lease_checker::covered(std::string_view owner_value, std::size_t server, time_point until) {
    // Never less than before: on a server that lost the key the quarantine stands in for the rest
    // of its time, also where a shorter renewal on its way has taken it again since.
    time_point& known = support_of(owner_value).until.at(server);
    known = std::max(known, until);
}

// When it is over in true time, as far as its holder can know, and whether that is promised.
void lease_checker::judge_end(held& of) {
    of.true_until = of.by->true_time(of.until);
    if (of.by->is_misled()) {
        of.true_until =
            std::min(of.true_until, of.by->quorum_keeps(support_of(of.value).until));
        return;
    }
    check_cover(of);
    check_exclusion(of);
}

// The keys on a quorum of different servers outlive the validity.
void lease_checker::check_cover(const held& of) {
    if (!is_safe()) return;
    const auto& by_server = support_of(of.value).until;
    const auto servers = std::count_if(by_server.begin(), by_server.end(),
                                       [&](time_point until) { return until >= of.true_until; });
    require(of.by->quorum_keeps(by_server) >= of.true_until, "quorum", [&] {
        return of.by->name() + " relies on " + of.lease->resource +
               " for longer than the keys of " + std::to_string(servers) + " servers live";
    });
}

lease_checker::held lease_checker::hold(const holder& by,
                                        std::shared_ptr<detail::lease_state> lease) {
    const auto& left = lease->held_as->left();
    held h{.by = &by, .lease = std::move(lease)};
    h.value = left.value;
    h.is_shared = left.kind->is_shared;
    h.slot = h.lease->proof.slot;
    h.key = left.key;
    h.until = h.lease->valid_until();
    return h;
}

void lease_checker::check_terms(const held& of, time_point asked, milliseconds ttl) {
    const holder& by = *of.by;
    const time_point now = by.local_now();
    const duration allowance =
        std::chrono::duration_cast<duration>(duration(ttl) * plan_->drift_factor) +
        plan_->drift_min;
    require(of.until > now, "validity",
            [&] { return by.name() + " was handed a lease that is over"; });
    require(of.until <= now + ttl - allowance, "validity",
            [&] { return by.name() + " was handed a lease for longer than its ttl allows"; });
    require(asked <= now, "validity",
            [&] { return std::string("granted before its acquire began"); });
}

void lease_checker::granted(const holder& by, std::shared_ptr<detail::lease_state> lease,
                            time_point asked, const acquire_options& how) {
    held h = hold(by, std::move(lease));
    h.since = last_grant_ = when_->now();
    // What was granted on a node may have been deleted while the other answers were on their way.
    if (keys_deleted_at_ && by.true_time(h.until - how.ttl) <= *keys_deleted_at_) {
        partings_.try_emplace(h.value, parting{.by_hand = true});
        return;
    }
    check_number(h, by.true_time(asked));
    require(how.slots == 0 || h.lease->proof.slot.number < how.slots, "exclusion",
            [&] { return by.name() + " got a slot of " + h.lease->resource + " that is none"; });
    if (how.max_hold > milliseconds(0)) h.cap = by.local_now() + how.max_hold;
    check_terms(h, asked, how.ttl);
    const auto votes = std::popcount(support_of(h.value).votes);
    require(by.is_quorum(support_of(h.value).votes), "quorum", [&] {
        return by.name() + " holds " + h.lease->resource + " by the grants of " +
               std::to_string(votes) + " servers";
    });
    count_turn(h, by.true_time(asked));
    const auto others = h.lease->held_as->left().also->others;
    const auto slots = h.lease->proof.all_slots();
    require(slots.size() == how.permits, "exclusion", [&] {
        return by.name() + " got " + std::to_string(slots.size()) + " slots in place of " +
               std::to_string(how.permits);
    });
    check_granted(h, how);
    for (std::size_t i = 0; i < others.size(); ++i) {
        h.key = others[i];
        if (how.permits > 1) h.slot.number = slots[i + 1];
        check_number(h, by.true_time(asked));
        check_granted(h, how);
    }
    check_permits(h, how.slots);
}

// However the slots are named.
void lease_checker::check_permits(const held& of, std::uint16_t slots) {
    if (!is_safe() || slots == 0 || of.by->is_misled()) return;
    std::set<std::string> held;  // by their keys: one that is handed on is two programs'
    for (const auto& one : open_) {
        const bool is_one = one.slot.of != 0 && one.lease->resource == of.lease->resource;
        const bool lives = one.true_until > when_->now() && !partings_.contains(one.value);
        if (is_one && lives) held.emplace(one.key);
    }
    require(held.size() <= std::max(slots, plan_->slots), "exclusion", [&] {
        return of.by->name() + " holds " + of.lease->resource + ", of which " +
               std::to_string(held.size()) + " slots are held";
    });
}

void lease_checker::allowed(const holder& by, std::uint16_t cost) {
    if (!is_safe() || by.is_misled()) return;
    calls_.erase(calls_.begin(), calls_.upper_bound(when_->now()));
    unsigned sum = cost;
    for (const auto& [until, before] : calls_) sum += before;
    require(sum <= plan_->limit, "limit", [&] {
        return by.name() + " may call, and within a period calls of " + std::to_string(sum) +
               " were allowed";
    });
    // What the nodes granted may have been deleted before the answers came.
    const bool may_be_gone =
        keys_deleted_at_ && when_->now() - *keys_deleted_at_ <= plan_->longest_node_timeout();
    if (may_be_gone) return;
    calls_.emplace(by.true_time(by.local_now() + plan_->period), cost);
}

// While a holder of a slot names a smaller number, no acquire of one beyond begins and is granted
// it.
void lease_checker::check_number(const held& of, time_point asked) {
    if (!is_safe() || of.slot.of == 0 || of.by->is_misled()) return;
    for (const held& other : open_) {
        if (other.slot.of == 0 || other.lease->resource != of.lease->resource) continue;
        const bool was_counted = other.since > asked || other.true_until <= asked;
        require(of.slot.number < other.slot.of || was_counted, "exclusion", [&] {
            return of.by->name() + " holds " + of.lease->resource + "#" +
                   std::to_string(of.slot.number) + ", while " + other.by->name() + " has one of " +
                   std::to_string(other.slot.of) + " slots";
        });
    }
}

void lease_checker::check_granted(held h, const acquire_options& how) {
    const holder& by = *h.by;
    fences& seen = fences_[h.key];
    const std::uint64_t last = h.is_shared ? seen.last_alone : seen.last;
    if (is_safe() && h.lease->fence != 0 && !by.is_misled()) {
        require(h.lease->fence > last, "fences", [&] {
            return by.name() + " got fence " + std::to_string(h.lease->fence) + " of " +
                   h.lease->resource + ", after " + std::to_string(last);
        });
        seen.last = std::max(seen.last, h.lease->fence);
        if (!h.is_shared) seen.last_alone = h.lease->fence;
    }
    note_next(h.key, h.value, h.is_shared);
    judge_end(h);
    check_kept(h, how.min_hold);
    open_.push_back(std::move(h));
}

void lease_checker::check_kept(const held& of, milliseconds min_hold) {
    if (!is_safe() || of.by->is_misled()) return;
    time_point& until = kept_[of.key];
    require(when_->now() >= until, "min_hold", [&] {
        return of.by->name() + " holds " + of.lease->resource + ", which was to be kept for " +
               in_ms(until - when_->now()) + " more";
    });
    if (min_hold <= milliseconds(0)) return;
    until = of.by->true_time(of.by->local_now() + min_hold);
    keys_kept_[of.value] = until;
}

// A holder of a lease that another one gives back, or that is taken from it, goes on until it asks the
// nodes: see `check_growth`.
void lease_checker::check_exclusion(const held& of) {
    if (!is_safe() || partings_.contains(of.value)) return;
    const time_point now = when_->now();
    for (const held& other : open_) {
        if (other.lease == of.lease || other.key != of.key || other.value == of.value) continue;
        if (other.is_shared && of.is_shared) continue;
        if (partings_.contains(other.value)) continue;
        require(other.true_until <= now, "exclusion", [&] {
            return of.by->name() + " holds " + of.lease->resource + " while " + other.by->name() +
                   " relies on it for " + in_ms(other.true_until - now) + " more";
        });
    }
    const auto foreign = foreign_.find(of.key);
    if (foreign != foreign_.end()) {
        require(foreign->second <= now, "exclusion", [&] {
            return of.by->name() + " holds " + of.lease->resource +
                   " while a foreigner relies on it "
                   "for " +
                   in_ms(foreign->second - now) + " more";
        });
    }
}

// Its fence was a writer's, and readers that come have to exceed it.
void lease_checker::shares(const detail::lease_state& lease) {
    for (held& h : open_) h.is_shared = h.is_shared || h.lease.get() == &lease;
}

void lease_checker::ended(const detail::lease_state& lease) {
    std::erase_if(open_, [&](const held& h) { return h.lease.get() == &lease; });
}

bool lease_checker::is_held() const noexcept {
    return std::any_of(open_.begin(), open_.end(),
                       [&](const held& h) { return h.true_until > when_->now(); });
}

void lease_checker::after_turn(const holder& by, time_point alarm) {
    for (std::size_t i = 0; i < open_.size();) {
        held& h = open_[i];
        if (h.by != &by) {
            ++i;
            continue;
        }
        if (!h.lease->is_live()) {
            open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        const time_point until = h.lease->valid_until();
        const bool has_found_gap = std::exchange(h.has_found_gap, false);
        require(until >= h.until || has_found_gap, "validity",
                [&] { return by.name() + " sees its validity shrink"; });
        require(until <= h.cap, "max_hold", [&] { return by.name() + " holds beyond max_hold"; });
        if (until != h.until || has_found_gap) {
            require(until <= h.until || h.until > by.local_now(), "validity",
                    [&] { return by.name() + " sees a lease revived that was over"; });
            h.until = until;
            check_growth(h);
            judge_end(h);
        }
        require(alarm <= until, "loss in time", [&] {
            return by.name() + " would not be woken before its lease of " + h.lease->resource +
                   " is over, but " + in_ms(alarm - until) + " later";
        });
        ++i;
    }
}

void lease_checker::found_gap(const holder& by) {
    for (held& h : open_) h.has_found_gap = h.has_found_gap || h.by == &by;
}

void lease_checker::is_sure_again(const holder& by) {
    for (held& h : open_) {
        if (h.by == &by && h.lease->is_live()) judge_end(h);
    }
}

void lease_checker::after_alarm(const holder& by) {
    for (const held& h : open_) {
        if (h.by != &by || !h.lease->is_live()) continue;
        require(h.until > by.local_now(), "loss in time", [&] {
            return by.name() + " has no news that its lease of " + h.lease->resource + " is over";
        });
    }
}

void lease_checker::foreigner_granted(std::size_t resource, time_point until) {
    if (!is_safe() || plan_->is_amnesia_possible()) return;
    const std::string name = resource_name(resource);
    for (const held& h : open_) {
        const bool is_free =
            h.key != name || h.true_until <= when_->now() || partings_.contains(h.value);
        require(is_free, "exclusion", [&] {
            return "a foreigner holds " + name + " while " + h.by->name() + " relies on it";
        });
    }
    note_next(name, {}, false);
    foreign_[name] = until;
}

void lease_checker::foreigner_ended(std::size_t resource) {
    foreign_.erase(resource_name(resource));
}

void lease_checker::waits(const void* worker, std::size_t resource) {
    if (plan_->most_turns != 0) waiting_[worker] = {resource_name(resource), when_->now()};
}

void lease_checker::count_turn(const held& of, time_point asked) {
    // By then it is in line, also where the connection to a node was waited for.
    const duration long_before = std::chrono::seconds(1) + 2 * duration(plan_->connect_timeout);
    for (auto& [worker, one] : waiting_) {
        if (one.key != of.key || one.since + long_before > asked) continue;
        const std::size_t passed_by = ++one.passed_by;
        require(passed_by <= plan_->most_turns, "order", [&] {
            return of.by->name() + " is granted " + of.key + " as number " +
                   std::to_string(passed_by) + " of acquires that began long after one that waits";
        });
    }
}

void lease_checker::leaves_idle(std::size_t resource) {
    idle_[resource] = {idle_time(resource), when_->now()};
}

void lease_checker::takes_up(std::size_t resource) {
    idle_[resource] = {idle_time(resource), std::nullopt};
}

duration lease_checker::idle_time(std::size_t resource) const {
    const auto at = idle_.find(resource);
    if (at == idle_.end()) return {};
    const idleness& i = at->second;
    return i.over + (i.since ? when_->now() - *i.since : duration(0));
}

}  // namespace redlock::simulation
