// Taking a resource from its holders.
// SPDX-License-Identifier: MIT
#include "client/operation/revoke.hpp"

#include "client/operation/client_parts.hpp"
#include "value/time.hpp"
#include "wire/keys.hpp"
#include "wire/owner_value.hpp"
#include "wire/request.hpp"
#include "wire/revocation.hpp"

#include <cassert>
#include <string>
#include <utility>

namespace redlock::detail {

namespace {

constexpr std::uint32_t most_targets = max_slots + 2U;

core::revocation::held_value held(const std::string& value) {
    return {value, wire::abbreviate_owner(wire::without_kept_mark(value)), wire::is_kept(value)};
}

}  // namespace

error_code revoke_operation::check() {
    const bool is_valid = validate_resource(client().shared.options(), shown_.resource).empty();
    return is_valid ? error_code() : error_code(errc::invalid_argument);
}

bool revoke_operation::go_on(time_point now) {
    if (machine_.state() == phase::none) begin();
    switch (machine_.advance()) {
        case phase::none:
        case phase::look: break;
        case phase::revoke:
            if (client().shared.is_fenced()) {
                // Above all that the revoked holders proposed so far, if node time allows it.
                const auto fresh = client().tracker.propose(machine_.fence(), now);
                if (fresh) machine_.note_fence(fresh->fence, true);
            }
            break;
        case phase::over: conclude(); return false;
    }
    ask_about_targets(now);
    return true;
}

void revoke_operation::begin() {
    machine_ = {shown_, {.empty = wire::abbreviate_owner({}),
                         .readers = wire::abbreviate_owner(wire::shared_marker)}};
    result_.votes.resize(client().shared.size());
    for (std::size_t i = 0; i < result_.votes.size(); ++i) {
        result_.votes[i].node = client().shared.name(i);
        result_.votes[i].change = client().shared.options().nodes[i].change;
        result_.votes[i].answer = vote::granted;
    }
}

void revoke_operation::ask_about_targets(time_point now) {
    const node_mask nodes = client().nodes.all() - failed_;
    for (std::uint32_t i = 0; i < machine_.targets().size(); ++i) {
        if (machine_.is_due(i)) ask_about(i, nodes, now);
    }
}

void revoke_operation::ask_about(std::uint32_t target, node_mask nodes, time_point now) {
    if (nodes.empty()) return;
    const core::revocation::target& t = machine_.targets()[target];
    const std::string& prefix = client().shared.options().key_prefix;
    const std::string key =
        prefix + shown_.resource + (t.slot ? wire::slot_suffix(*t.slot) : std::string());
    wire::request request;
    // With the first one a node that lost its scripts gets this one again.
    const auto form = target == 0 ? resp::script_form::whole : resp::script_form::by_hash;
    wire::write_revocation(request.words, form,
                           {.key = key,
                            .key_prefix = prefix,
                            .slot = t.slot,
                            .is_fenced = client().shared.is_fenced(),
                            .fence = machine_.fence(),
                            .fence_life = client().tracker.limits_of_fences().life,
                            .revoked_life = client().tracker.ttl_max(),
                            .values = machine_.state() == phase::revoke ? &t.values : nullptr});
    ask(static_cast<std::uint32_t>(machine_.state()) * most_targets + target, request, nodes, now);
}

void revoke_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                            time_point now) {
    const auto answer = wire::read_revocation(reply);
    if (!answer) return note(node, wire::read_failure(reply));
    machine_.note_fence(answer->fence, client().tracker.believes(answer->fence, now));
    if (machine_.state() == phase::look) {
        for (const std::string& v : answer->holders) machine_.saw(question % most_targets, held(v));
        return;
    }
    for (const std::string& v : answer->revoked) machine_.removed(held(v));
    for (const std::string& v : answer->holders) machine_.remains(held(v));
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
    machine_.report(result_);
    const bool has_quorum = !client().shared.lists().prevents_quorum(failed_);
    end(has_quorum ? error_code() : error_code(errc::no_quorum));
}

}  // namespace redlock::detail
