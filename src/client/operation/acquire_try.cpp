// The present try of an acquire.
// SPDX-License-Identifier: MIT
#include "client/operation/acquire_try.hpp"

#include "value/lease_terms.hpp"
#include "wire/keys.hpp"
#include "wire/owner_value.hpp"

#include <cassert>
#include <utility>

namespace redlock::detail {

void acquire_try::begin(std::uint64_t span, time_point now) {
    machine_->begin_try(client_->tracker.longest_lease(), client_->tracker.breaks(), now);
    span_ = client_->shared.begin_span(span_kind::attempt, span, request_->shown(), now);
    votes_.next_try();
    const owner_id& given = request_->options().owner;
    owner_ = given.is_zero() ? client_->shared.fresh_owner() : given;
    const slot_number slot = machine_->draw_slot(client_->local.freed_slot(request_->shown()),
                                                 [&] { return client_->shared.random_word(); });
    const std::string& prefix = client_->shared.options().key_prefix;
    left_ = {};
    left_.kind = kind_;
    left_.key = wire::lock_key(prefix, request_->resources().front(), slot);
    left_.value = fresh_value();
    if (request_->resources().size() > 1) {
        left_.also.edit().others = wire::other_keys(prefix, request_->resources());
    }
    left_.slot = slot;
    if (!request_->note().empty()) left_.also.edit().note = request_->note();
    fence_.reset();
}

recycled_string acquire_try::fresh_value() const {
    std::optional<std::uint64_t> random;
    if (!request_->options().owner.is_zero()) random = client_->shared.random_word();
    return wire::owner_value(owner_, client_->shared.options().client_name, random,
                             request_->has_note());
}

std::uint32_t acquire_try::begin_round(time_point now) {
    assert(machine_->is_trying() && left_.kind != nullptr);
    sent_at_ = now;
    votes_.set_all(client_->shared, vote::pending, {}, {});
    return machine_->begin_round(client_->nodes.time_to_vote(machine_->ttl()), now);
}

bool acquire_try::draw_fence(time_point now) {
    if (!kind_->is_fenced) return true;
    fence_ = client_->tracker.propose(machine_->seen_fence(), now);
    if (fence_) {
        draw_ticket(now);
        return true;
    }
    set_all(vote::refused, errc::clock_skew,
            client_->tracker.is_time_in_doubt()
                ? "the nodes' clocks are too far apart to tell which are right"
                : "the fences of this resource have run ahead of the nodes' clocks");
    return false;
}

void acquire_try::draw_ticket(time_point now) {
    machine_->draw_ticket(client_->tracker.shared_time_us(now));
    if (machine_->ticket() == 0 || !waiter_id_.empty()) return;
    waiter_id_ = client_->remote.next_id(kind_->is_shared);
}

wire::queue_entry acquire_try::entry(bool is_entered) const noexcept {
    const bool lives = is_entered && machine_->may_be_entered();
    return {waiter_id_, machine_->ticket(),
            lives ? client_->remote.entry_life() : duration::zero()};
}

void acquire_try::write(wire::request& out, bool is_entered, const footprint& left) const {
    const wire::queue_entry at = entry(is_entered);
    wire::write_acquire(*kind_, out,
                        left.request(machine_->kept_for(), client_->shared.options().key_prefix),
                        fence_ ? &*fence_ : nullptr, waiter_id_.empty() ? nullptr : &at);
    out.keeps_for = machine_->kept_for();
}

node_sessions::fan_out acquire_try::send(call& what, node_mask nodes, bool is_entered,
                                         time_point now) {
    if (nodes.empty()) return {};
    wire::request& wire = client_->nodes.blank();
    write(wire, is_entered, left_);
    auto result = client_->nodes.send(what, machine_->round(), wire, now, nodes);
    machine_->sent(result.sent, fence(), is_entered);
    return result;
}

wire::wait_request acquire_try::query(std::size_t key) const {
    std::string_view name;  // none once a grant has moved them to the lease
    if (key == 0) name = left_.key;
    const auto& others = left_.also->others;
    if (key > 0 && key <= others.size()) name = others[key - 1];
    return {left_.slot.of > 0 ? wire::without_slot(name) : name, entry(true), left_.slot.of};
}

footprint acquire_try::remains(const core::acquisition::remains& what) const {
    footprint out = left_;
    static_cast<core::traces&>(out) = what.left;
    if (!waiter_id_.empty()) out.also.edit().place = {waiter_id_, machine_->ticket(), what.entered};
    return out;
}

granted_lease acquire_try::take(owner_claims::claim claim, std::uint64_t span, time_point now) {
    const std::chrono::milliseconds min_hold = request_->options().min_hold;
    wire::lease_proof proof{left_.value, left_.slot, kind_->is_shared, min_hold};
    static_cast<core::traces&>(left_) = machine_->left();
    if (const node_mask entered = machine_->still_entered(); !entered.empty()) {
        left_.also.edit().place = {waiter_id_, machine_->ticket(), entered};
    }
    left_.keep_until = now + longest_stay(client_->shared.options(), min_hold);
    return {owner_,           fence(), std::move(proof), std::move(left_), machine_->lease(now),
            std::move(claim), span};
}

}  // namespace redlock::detail
