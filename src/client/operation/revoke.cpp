// Taking a resource from its holders.
// SPDX-License-Identifier: MIT
#include "client/operation/revoke.hpp"

#include "client/operation/client_parts.hpp"
#include "value/quorum.hpp"
#include "value/time.hpp"
#include "wire/keys.hpp"
#include "wire/owner_value.hpp"
#include "wire/request.hpp"
#include "wire/revocation.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace redlock::detail {

error_code revoke_operation::check() {
    const bool is_valid = validate_resource(client().shared.options(), shown_.resource).empty();
    return is_valid ? error_code() : error_code(errc::invalid_argument);
}

bool revoke_operation::go_on(time_point now) {
    if (phase_ == phase::none) {
        result_.votes.resize(client().shared.size());
        for (std::size_t i = 0; i < result_.votes.size(); ++i) {
            result_.votes[i].node = client().shared.name(i);
            result_.votes[i].answer = vote::granted;
        }
        find_targets();
        if (targets_.empty()) {
            end({});
            return false;
        }
        phase_ = phase::look;
    } else if (phase_ == phase::look) {
        if (client().shared.is_fenced()) {
            // Above all that the revoked holders proposed so far, if node time allows it.
            if (const auto fresh = client().tracker.propose(fence_, now)) fence_ = fresh->fence;
        }
        phase_ = phase::revoke;
    } else {
        conclude();
        return false;
    }
    ask_about_targets(now);
    return true;
}

void revoke_operation::find_targets() {
    const std::string key = client().shared.options().key_prefix + shown_.resource;
    target whole{key};
    const auto add = [&](const std::string& owner) {
        if (!owner.empty()) whole.owners.insert(owner);
    };
    add(shown_.owner);
    for (const std::string& reader : shown_.readers) add(reader);
    for (const node_state& node : shown_.nodes) {
        if (node.state != key_state::shared) add(node.owner);
        for (const std::string& reader : node.readers) add(reader);
        // Other programs write empty values, and leave a shared key without its readers.
        const bool has_key = node.ttl.count() != 0;
        if (has_key && node.owner.empty() && node.readers.empty()) {
            whole.owners.insert(wire::abbreviate_owner(
                node.state == key_state::shared ? wire::shared_marker : std::string_view()));
        }
    }
    if (!whole.owners.empty()) targets_.push_back(std::move(whole));
    for (const slot_state& slot : shown_.slots) {
        targets_.push_back({key + wire::slot_suffix(slot.number), slot.number, {slot.owner}});
    }
}

void revoke_operation::ask_about_targets(time_point now) {
    const node_mask nodes = client().nodes.all() - failed_;
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        const target& t = targets_[i];
        if (phase_ == phase::look || !t.values.empty())
            ask_about(i, nodes, now);
        else
            holders_.insert(t.others.begin(), t.others.end());
    }
}

void revoke_operation::ask_about(std::uint32_t target, node_mask nodes, time_point now) {
    assert(target < targets_.size());
    if (nodes.empty()) return;
    const auto& t = targets_[target];
    wire::request request;
    // With the first one a node that lost its scripts gets this one again.
    const auto form = target == 0 ? resp::script_form::whole : resp::script_form::by_hash;
    wire::write_revocation(request.words, form,
                           {.key = t.key,
                            .key_prefix = client().shared.options().key_prefix,
                            .slot = t.slot,
                            .is_fenced = client().shared.is_fenced(),
                            .fence = fence_,
                            .fence_life = client().tracker.limits_of_fences().life,
                            .revoked_life = client().tracker.ttl_max(),
                            .values = phase_ == phase::revoke ? &t.values : nullptr});
    const auto round = static_cast<std::uint32_t>(phase_) * (max_slots + 2U) + target;
    ask(round, request, nodes, now);
}

void revoke_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                            time_point now) {
    const auto answer = wire::read_revocation(reply);
    if (!answer) return note(node, wire::read_failure(reply));
    target& t = targets_[question % (max_slots + 2U)];
    if (client().tracker.believes(answer->fence, now)) fence_ = std::max(fence_, answer->fence);
    if (phase_ == phase::look) {
        for (const std::string& value : answer->holders) {
            const auto owner = wire::abbreviate_owner(wire::without_kept_mark(value));
            (t.owners.contains(owner) ? t.values : t.others).insert(value);
        }
    } else {
        revoked_.insert(answer->revoked.begin(), answer->revoked.end());
        holders_.insert(answer->holders.begin(), answer->holders.end());
    }
}

// The first failure of a node says why.
void revoke_operation::note(std::size_t node, const wire::failure& why) {
    assert(node < result_.votes.size());
    if (failed_.contains(node)) return;
    failed_.insert(node);
    result_.votes[node].answer = why.answer;
    result_.votes[node].error = why.error;
    result_.votes[node].detail = why.detail;
}

void revoke_operation::conclude() {
    for (const std::string& value : revoked_) {
        auto& to = wire::is_kept(value) ? result_.freed : result_.revoked;
        to.push_back(wire::abbreviate_owner(wire::without_kept_mark(value)));
    }
    for (const std::string& value : holders_) {
        if (!wire::is_kept(value)) result_.holders.push_back(wire::abbreviate_owner(value));
    }
    const std::size_t did = client().shared.size() - failed_.size();
    const bool has_quorum = did >= redlock::quorum(client().shared.size());
    end(has_quorum ? error_code() : error_code(errc::no_quorum));
}

}  // namespace redlock::detail
