// Giving a lease back, or taking it from its holder.
// SPDX-License-Identifier: MIT
#include "core/release.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::core {

release_message message_of_release(const traces& left, const release_facts& facts,
                                   time_point now) noexcept {
    release_message out;
    out.raises_fence = facts.may_arrive_late;
    out.names_waiter = facts.is_entered && !(facts.is_again && facts.waits_on);
    out.keep = left.to_keep_at_most(now);
    out.cuts_fence = left.has_long_fences(now);
    return out;
}

node_mask nodes_to_release(const traces& left, node_mask entered, node_mask all) noexcept {
    assert((left.nodes - all).empty() && (entered - all).empty());
    return left.is_known_elsewhere ? all : left.nodes | entered;
}

std::optional<traces> release_after_owed(const traces& left, bool is_fenced) noexcept {
    if (!left.is_known_elsewhere || !is_fenced) return std::nullopt;
    traces next = left;
    next.nodes = {};
    return next;
}

bool release::cast(std::size_t node, choice c) noexcept {
    if (complete_ || !tally_.cast(node, c)) return false;
    if (tally_.is_denied()) {
        outcome_ = errc::not_held;
    } else if (tally_.is_undecidable()) {
        outcome_ = errc::no_quorum;
    } else if (!tally_.has_answers() || tally_.may_be_denied()) {
        return false;
    }
    complete_ = true;
    return true;
}

revocation::revocation(const resource_state& shown, const nameless_owners& names) {
    add_whole(shown, names);
    for (const slot_state& slot : shown.slots) targets_.push_back({slot.number, {slot.owner}});
}

void revocation::add_whole(const resource_state& shown, const nameless_owners& names) {
    target whole;
    const auto add = [&](const std::string& owner) {
        if (!owner.empty()) whole.owners.insert(owner);
    };
    add(shown.owner);
    for (const std::string& reader : shown.readers) add(reader);
    for (const node_state& node : shown.nodes) {
        if (node.state != key_state::shared) add(node.owner);
        for (const std::string& reader : node.readers) add(reader);
        // Other programs write empty values, and leave a shared key without its readers.
        const bool has_key = node.ttl.count() != 0;
        if (has_key && node.owner.empty() && node.readers.empty()) {
            whole.owners.insert(node.state == key_state::shared ? names.readers : names.empty);
        }
    }
    if (!whole.owners.empty()) targets_.push_back(std::move(whole));
}

revocation::phase revocation::advance() {
    assert(phase_ != phase::over);
    switch (phase_) {
        case phase::none: phase_ = targets_.empty() ? phase::over : phase::look; break;
        case phase::look:
            phase_ = phase::revoke;
            for (const target& t : targets_) {
                if (!t.values.empty()) continue;  // the nodes will report its holders again
                for (const held_value& other : t.others) remains(other);
            }
            break;
        case phase::revoke:
        case phase::over: phase_ = phase::over; break;
    }
    return phase_;
}

bool revocation::is_due(std::size_t target) const {
    assert(target < targets_.size());
    return phase_ == phase::look || (phase_ == phase::revoke && !targets_[target].values.empty());
}

void revocation::note_fence(std::uint64_t fence, bool plausible) noexcept {
    if (plausible) fence_ = std::max(fence_, fence);
}

void revocation::saw(std::size_t target, held_value what) {
    assert(phase_ == phase::look && target < targets_.size());
    revocation::target& t = targets_[target];
    if (t.owners.contains(what.owner)) {
        t.values.insert(std::move(what.whole));
    } else {
        t.others.push_back(std::move(what));
    }
}

void revocation::removed(held_value what) {
    assert(phase_ == phase::revoke);
    removed_.insert(std::move(what));
}

void revocation::remains(held_value what) {
    assert(phase_ == phase::revoke);
    remaining_.insert(std::move(what));
}

void revocation::report(redlock::revocation& to) const {
    for (const held_value& v : removed_) (v.is_kept ? to.freed : to.revoked).push_back(v.owner);
    for (const held_value& v : remaining_) {
        if (!v.is_kept) to.holders.push_back(v.owner);
    }
}

}  // namespace redlock::core
