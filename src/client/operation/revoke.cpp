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

void revoke_operation::start(time_point now) {
    if (!validate_resource(client().shared.options(), shown_.resource).empty()) {
        return end(errc::invalid_argument);
    }
    client().host.await_settled(*this, now);
}

void revoke_operation::on_settled(time_point now) {
    if (over_) return;
    done_.votes.resize(client().shared.size());
    for (std::size_t i = 0; i < done_.votes.size(); ++i) {
        done_.votes[i].node = client().shared.name(i);
        done_.votes[i].answer = vote::granted;
    }
    find_targets();
    if (targets_.empty()) return end({});
    ask(phase::look, now);
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

void revoke_operation::ask(phase next, time_point now) {
    phase_ = next;
    const auto is_asked = [&](const target& t) { return next == phase::look || !t.values.empty(); };
    for (const target& t : targets_) {
        if (!is_asked(t)) holders_.insert(t.others.begin(), t.others.end());
    }
    const node_mask nodes = client().nodes.all() - failed_;
    open_ = nodes.size() *
            static_cast<std::size_t>(std::count_if(targets_.begin(), targets_.end(), is_asked));
    if (open_ == 0) return conclude();
    for (std::uint32_t i = 0; i < targets_.size() && !over_; ++i) {
        if (is_asked(targets_[i])) ask_about(i, nodes, now);
    }
}

void revoke_operation::ask_about(std::uint32_t target, node_mask nodes, time_point now) {
    assert(target < targets_.size() && !nodes.empty());
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
    const auto result = client().nodes.send(*this, round, request, now, nodes);
    for (const auto& [node, why] : result.failures) on_failure(node, round, why, now);
}

void revoke_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                time_point now) {
    if (over_) return;
    const auto answer = wire::read_revocation(reply);
    if (!answer) return on_failure(node, round, wire::read_failure(reply), now);
    target& t = targets_[round % (max_slots + 2U)];
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
    answered(now);
}

void revoke_operation::on_failure(std::size_t node, std::uint32_t, const wire::failure& why,
                                  time_point now) {
    if (over_) return;
    note(node, why);
    answered(now);
}

// The first failure of a node says why.
void revoke_operation::note(std::size_t node, const wire::failure& why) {
    assert(node < done_.votes.size());
    if (failed_.contains(node)) return;
    failed_.insert(node);
    done_.votes[node].answer = why.answer;
    done_.votes[node].error = why.error;
    done_.votes[node].detail = why.detail;
}

void revoke_operation::answered(time_point now) {
    assert(!over_ && open_ > 0);
    if (--open_ != 0) return;
    if (phase_ == phase::revoke) return conclude();
    if (client().shared.is_fenced()) {
        // Above all that the revoked holders proposed so far, if node time allows it.
        if (const auto fresh = client().tracker.propose(fence_, now)) fence_ = fresh->fence;
    }
    ask(phase::revoke, now);
}

void revoke_operation::conclude() {
    for (const std::string& value : revoked_) {
        auto& to = wire::is_kept(value) ? done_.freed : done_.revoked;
        to.push_back(wire::abbreviate_owner(wire::without_kept_mark(value)));
    }
    for (const std::string& value : holders_) {
        if (!wire::is_kept(value)) done_.holders.push_back(wire::abbreviate_owner(value));
    }
    const std::size_t did = client().shared.size() - failed_.size();
    const bool has_quorum = did >= redlock::quorum(client().shared.size());
    end(has_quorum ? error_code() : error_code(errc::no_quorum));
}

void revoke_operation::cancel(error_code why, time_point) { end(why); }

void revoke_operation::end(error_code outcome) {
    if (over_) return;
    over_ = true;
    client().host.finished(*this);
    complete(outcome, std::move(done_));
}

}  // namespace redlock::detail
