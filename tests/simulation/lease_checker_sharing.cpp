// Judging leases with several holders: handed over by their tokens, given back by one of them, or
// taken from them by an operator.
// SPDX-License-Identifier: MIT
#include "simulation/lease_checker.hpp"

#include "client/lease.hpp"
#include "wire/owner_value.hpp"

#include <algorithm>
#include <utility>

namespace redlock::simulation {

namespace {

// The resource itself, or one of its slots.
bool is_of(const std::string& key, const std::string& resource) {
    return key == resource || key.starts_with(resource + "#");
}

}  // namespace

bool lease_checker::was_over(std::string_view value, time_point at) const {
    const auto parted = partings_.find(value);
    return parted != partings_.end() && parted->second.done && *parted->second.done <= at;
}

void lease_checker::adopted(const holder& by, std::shared_ptr<detail::lease_state> lease,
                            time_point asked, const acquire_options& how) {
    held h = hold(by, std::move(lease));
    h.since = when_->now();
    if (how.max_hold > milliseconds(0)) h.cap = by.local_now() + how.max_hold;
    check_terms(h, asked, how.ttl);
    require(!is_safe() || !was_over(h.value, by.true_time(asked)), "adoption", [&] {
        return by.name() + " took over " + h.lease->resource + ", which was given back";
    });
    const auto others = h.lease->held_as->left().also->others;
    check_adopted(h);
    for (const auto& other : others) {
        h.key = other;
        check_adopted(h);
    }
}

// Nobody has held the lock since it was granted; but for one that got it while the answers to this
// one were on their way, since another holder gave it back.
void lease_checker::check_adopted(held h) {
    const fences& seen = fences_[h.key];
    const std::uint64_t last = h.is_shared ? seen.last_alone : seen.last;
    const bool may_be_lower =
        partings_.contains(h.value) || h.lease->fence == 0 || h.by->is_misled();
    require(!is_safe() || may_be_lower || h.lease->fence >= last, "fences", [&] {
        return h.by->name() + " took over " + h.lease->resource + " under fence " +
               std::to_string(h.lease->fence) + ", after " + std::to_string(last);
    });
    judge_end(h);
    open_.push_back(std::move(h));
}

void lease_checker::not_adopted(const holder& by, std::string_view owner_value, time_point asked,
                                error_code why) {
    if (!is_safe() || why != errc::not_held || partings_.contains(owner_value)) return;
    const time_point sent = by.true_time(asked);
    for (const held& h : open_) {
        const bool is_held = h.value == owner_value && h.since <= sent && h.lease->is_live() &&
                             h.true_until > when_->now() && !h.by->is_misled();
        require(!is_held, "adoption", [&] {
            return by.name() + " learns that nobody holds " + h.lease->resource + ", which " +
                   h.by->name() + " holds";
        });
    }
}

bool lease_checker::is_relied_on(std::string_view owner_value) const {
    const auto is_it = [&](const held& h) { return h.value == owner_value; };
    return is_handed_over(owner_value) && std::any_of(open_.begin(), open_.end(), is_it);
}

void lease_checker::begins_release(std::string_view owner_value) {
    const bool is_asked_for = is_handed_over(owner_value) || keys_kept_.contains(owner_value);
    if (is_asked_for) partings_.try_emplace(std::string(owner_value));
}

void lease_checker::closes(const holder& by) {
    for (const held& h : open_) {
        if (h.by == &by) begins_release(h.value);
    }
}

void lease_checker::released(std::string_view owner_value) {
    const auto at = partings_.find(owner_value);
    if (at == partings_.end() || (at->second.done && !at->second.by_hand)) return;
    at->second = {.done = when_->now(), .resource = at->second.resource};
}

void lease_checker::begins_revocation(const std::string& resource,
                                      const std::set<std::string>& from) {
    for (const held& h : open_) {
        if (is_of(h.key, resource) && from.contains(wire::abbreviate_owner(h.value))) {
            partings_.try_emplace(h.value, parting{.resource = resource});
        }
    }
    taken_from_.insert(from.begin(), from.end());
    std::erase_if(foreign_, [&](const auto& one) { return one.first == resource; });
    // A key that stays after its lease is taken, too.
    std::erase_if(kept_, [&](const auto& one) { return is_of(one.first, resource); });
    std::erase_if(keys_kept_, [&](const auto& one) {
        return from.contains(wire::abbreviate_owner(one.first));
    });
}

void lease_checker::keys_deleted(
    const std::function<std::uint32_t(const std::string&, const std::string&)>& lost) {
    if (!is_safe()) return;
    keys_deleted_at_ = when_->now();
    calls_.clear();  // a limit counts the keys that a quorum has, and an eviction takes from it
    for (const held& h : open_) {
        if (h.by->is_quorum(lost(h.key, h.value))) {
            partings_.try_emplace(h.value, parting{.by_hand = true});
        }
    }
    foreign_.clear();
    kept_.clear();
    keys_kept_.clear();
}

// A lease of the key is granted: one that was given back, or whose keys were deleted, must not go on
// after it.
void lease_checker::note_next(const std::string& key, std::string_view value, bool is_shared) {
    for (const held& h : open_) {
        const bool is_beside = h.is_shared && is_shared;
        if (h.key != key || h.value == value || is_beside) continue;
        const auto parted = partings_.find(h.value);
        if (parted != partings_.end() && !parted->second.done) parted->second.done = when_->now();
    }
}

bool lease_checker::was_taken_from(const std::string& owner_value) const {
    return !taken_from_.empty() && taken_from_.contains(wire::abbreviate_owner(owner_value));
}

void lease_checker::revoked(const std::string& resource, const std::set<std::string>& from) {
    begins_revocation(resource, from);  // one may have been granted since it was looked at
    for (auto& [value, parted] : partings_) {
        const bool is_meant = from.contains(wire::abbreviate_owner(value));
        if (is_meant && !parted.done) parted.done = when_->now();
    }
}

// A holder without news goes on until it queries the nodes. No answer to what it sends after a
// quorum knows may count.
void lease_checker::check_growth(const held& of) {
    if (!is_safe() || of.by->is_misled()) return;
    const duration ttl = of.lease->held_as->machine().ttl();
    require(!was_over(of.value, of.by->true_time(of.until - ttl)), "taken back", [&] {
        return of.by->name() + " prolongs its lease of " + of.lease->resource +
               ", which was given back, revoked, or another's since";
    });
}

// Where keys were deleted a holder that does not know that yet takes them again on the nodes.
void lease_checker::shown(const holder& by, const resource_state& found, time_point asked) {
    if (!is_safe() || !found.held) return;
    const time_point sent = by.true_time(asked);
    for (const auto& [value, parted] : partings_) {
        const std::string& one = value;  // a lambda cannot hold a structured binding
        const bool is_gone = parted.resource.empty() || parted.resource == found.resource;
        const bool is_it = is_gone && parted.done && *parted.done <= sent && !parted.by_hand &&
                           wire::abbreviate_owner(value) == found.owner;
        require(!is_it, "shown", [&] {
            return by.name() + " sees " + found.resource + " held by " + one +
                   ", which has given it back";
        });
    }
}

}  // namespace redlock::simulation
