// Taking over a lease that another process acquired.
// SPDX-License-Identifier: MIT
#include "client/adopt.hpp"

#include "client/acquire.hpp"
#include "client/survey.hpp"
#include "core/lease.hpp"
#include "value/options.hpp"
#include "value/text.hpp"
#include "wire/request.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>
#include <vector>

namespace redlock::detail {

using std::chrono::microseconds;

// Why nothing may be sent; empty when all is well.
std::string adopt_operation::check() {
    const client_options& all = client().shared.options();
    known_ = wire::read_token(token_);
    if (!known_) return "the text is no token of a lease, or not the whole of one";
    if ((known_->fence != 0) != all.fencing) {
        return "fencing has to be as it was where the lease was acquired";
    }
    if (auto why = validate_resources(all, known_->resources); !why.empty()) return why;
    if (const auto issues = validate(options_, all); !issues.empty()) {
        return issues.front().where.substr(1) + " " + issues.front().message;
    }
    if (!options_.note.empty() && options_.note.view() != wire::raw_note_of(known_->proof.value)) {
        return "note is what the lease was acquired with, and can't be replaced";
    }
    return {};
}

void adopt_operation::start(time_point now) {
    begun_ = now;
    // What kind of lease it is the token says.
    options_.mode = lock_mode::exclusive;
    options_.slots = 0;
    options_.permits = 1;
    options_.min_hold = {};
    options_.owner = {};
    const std::string why = check();
    ids_ = client().shared.fresh_ids(options_.parent);
    if (!why.empty()) {
        return end(errc::invalid_argument, nullptr, now, why);
    }
    ttl_ = effective_ttl(client().shared.options(), options_.ttl);
    // Where no client had seen the nodes for long, no lease would be thought to be alive.
    client().tracker.take_role(core::record_role::tends, now);
    client().host.await_settled(*this, now);
}

// For people; empty where the token tells none.
std::string adopt_operation::resource() const {
    return known_ ? text::listed(known_->resources) : std::string();
}

footprint adopt_operation::traces_of_lease(time_point now) {
    const wire::lease_proof& proof = known_->proof;
    const std::string& prefix = client().shared.options().key_prefix;
    acquire_options kind;
    kind.slots = proof.slot.of;
    kind.mode = proof.is_shared ? lock_mode::shared : lock_mode::exclusive;
    const core::node_knowledge& known = client().tracker.known();
    const core::adopted_lease facts{
        .fence = known_->fence,
        .is_plausible = client().tracker.believes(known_->fence, now),
        .stay = longest_stay(client().shared.options(), proof.min_hold,
                             client().nodes.time_to_vote()),
        .node_time_us = known.fence_time_us(now),
        .clock_tolerance = known.limits_of_fences().tolerance};
    footprint left{core::traces_of_adopted(facts, known.breaks().so_far(), client().nodes.all(),
                                           now),
                   &client().shared.kind(kind, is_of_several()),
                   wire::lock_key(prefix, known_->resources.front(), proof.slot),
                   proof.value,
                   proof.slot};
    if (is_of_several()) left.also.edit().others = wire::other_keys(prefix, known_->resources);
    if (!proof.slots.empty()) {
        left.also.edit().others =
            wire::slot_keys(prefix, known_->resources.front(),
                            std::span(proof.slots).subspan(1), proof.slot.of);
    }
    // Commands of the other process were drawn before: a fence that is drawn now is above theirs.
    if (known_->fence != 0) {
        if (const auto fresh = client().tracker.propose(left.highest_fence, now)) {
            left.note_sent({}, fresh->fence);
        }
    }
    return left;
}

void adopt_operation::on_settled(time_point now) {
    if (is_over()) return;
    const std::size_t nodes = client().shared.size();
    assert(known_ && !known_->resources.empty() && !count_);
    ttl_ = std::min<duration>(ttl_, client().tracker.known().votes().longest_lease());
    left_ = traces_of_lease(now);
    votes_.resize(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        votes_[i].node = client().shared.name(i);
        votes_[i].change = client().shared.options().nodes[i].change;
    }
    count_.emplace(client().shared.lists(), now, ttl_, client().shared.drift());
    const node_mask ask = client().tracker.askable();
    wire::request& wire = client().nodes.blank();
    write(wire);
    const auto result = client().nodes.send(*this, 0, wire, now, ask);
    for (const auto& [node, why] : result.failures) on_failure(node, 0, why, now);
    for (const std::size_t i : client().nodes.all() - ask) {
        const auto o = client().tracker.object(i, now, now);
        on_failure(i, 0, o ? o->why : wire::failure{}, now);
    }
}

// Under no fence at all: a node that lost the key does not take it again. Those that are there live
// as long as the key.
void adopt_operation::write(wire::request& out) const {
    const wire::fence_terms none{0, client().shared.options().key_prefix};
    const footprint& left = this->left();
    const duration ttl = std::max(ttl_, left.to_keep(count_->sent()));
    wire::write_extend(*left.kind, out, left.request(ttl),
                       left.kind->is_fenced ? &none : nullptr, left.kind->is_fenced);
    out.keeps_for = ttl;
}

const footprint& adopt_operation::left() const noexcept {
    return is_held() ? adopted_->held_as->left() : left_;
}

bool adopt_operation::write_again(std::size_t, std::uint32_t, wire::request& out,
                                  time_point) const {
    write(out);
    return true;
}

// Of a node that the quorum did not need.
void adopt_operation::learn_late(std::size_t node, const wire::compare_answer& answer,
                                 time_point now) {
    held_lease* const lease = is_held() ? adopted_->held_as : nullptr;
    if (lease == nullptr || lease->is_over()) return;
    // The key lives for less than those that were renewed since.
    const bool is_latest = !lease->machine().was_prolonged();
    if (answer.choice == core::choice::yes && is_latest) lease->keys().note_holder(node);
    if (!answer.is_revoked) return;
    lease->renewal_failed(errc::not_held, "it was released by its token", count_->sent(), now, 0);
}

void adopt_operation::on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                               time_point now) {
    if (is_over()) return learn_late(node, wire::read_extension(reply), now);
    const judgement j = client().tracker.judge(node, count_->sent(), wire::read_signs(reply), now);
    const wire::compare_answer answer = wire::read_extension(reply);
    wire::failure why = answer.why;
    if (answer.choice == core::choice::no) {
        why = {vote::refused, errc::not_held, "the key is gone, or another holder's"};
    }
    if (!j.is_vote()) why = j.against->why;
    note(node, why, now);
    if (answer.is_revoked) return deny(now);
    cast(node, j.is_vote() ? answer.choice : core::choice::unable, now);
}

void adopt_operation::on_late_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                                    time_point now) {
    const wire::compare_answer answer = wire::read_extension(reply);
    if (is_over()) return learn_late(node, answer, now);
    if (answer.is_revoked) deny(now);
}

void adopt_operation::on_failure(std::size_t node, std::uint32_t, const wire::failure& why,
                                 time_point now) {
    if (is_over()) return;
    note(node, why, now);
    cast(node, core::choice::unable, now);
}

void adopt_operation::note(std::size_t node, const wire::failure& why, time_point now) {
    assert(!is_over() && node < votes_.size());
    note_failure(votes_[node], why);
    votes_[node].elapsed = std::chrono::duration_cast<microseconds>(now - count_->sent());
}

void adopt_operation::cast(std::size_t node, core::choice c, time_point now) {
    if (c == core::choice::yes) votes_[node].answer = vote::granted;
    switch (count_->cast(node, c, now)) {
        case core::adoption::verdict::open: return;
        case core::adoption::verdict::held: return take(now);
        case core::adoption::verdict::gone: return deny(now);
        case core::adoption::verdict::failed: return end(count_->reason(), nullptr, now);
    }
}

void adopt_operation::deny(time_point now) {
    assert(!adopted_);
    client().host.release_in_background(std::move(left_), false, now);
    end(errc::not_held, nullptr, now);
}

void adopt_operation::take(time_point now) {
    assert(!adopted_ && count_);
    core::renewal machine(now, count_->valid_until(),
                          {.ttl = ttl_,
                           .renew = options_.renew,
                           .max_hold = options_.max_hold,
                           .loss_margin = options_.loss_margin,
                           .watchdog = options_.watchdog});
    if (machine.report_at() <= now) return end(errc::validity_exhausted, nullptr, now);
    std::vector<std::string> several;
    if (is_of_several()) several = known_->resources;
    adopted_ = keep_lease(client(),
                          {resource(), std::move(several), std::move(votes_), begun_, ids_,
                           "taken over from another process"},
                          {wire::owner_of(known_->proof.value), known_->fence, known_->proof,
                           std::move(left_), machine, {}},
                          now);
    if (options_.renew) client().tracker.take_role(core::record_role::keeps, now);
    end({}, adopted_, now);
}

void adopt_operation::end(error_code outcome, std::shared_ptr<lease_state> state, time_point now,
                          std::string_view detail) {
    if (!leave()) return;
    if (!state) {
        state = refuse_lease(client(),
                             {resource(), {}, std::move(votes_), begun_, ids_, detail}, outcome,
                             now);
    }
    complete(outcome, std::move(state));
}

}  // namespace redlock::detail
