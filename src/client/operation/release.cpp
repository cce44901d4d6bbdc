// Giving a key back on the nodes that may have it.
// SPDX-License-Identifier: MIT
#include "client/operation/release.hpp"

#include "client/operation/client_parts.hpp"
#include "client/wait/remote_queue.hpp"
#include "wire/failure.hpp"
#include "wire/fenced.hpp"
#include "wire/queue_entry.hpp"
#include "wire/release.hpp"

#include <cassert>

namespace redlock::detail {

void release_round::send(footprint left, node_mask ask, time_point now) {
    left_ = std::move(left);
    assert(!machine_ && left_.kind != nullptr);
    machine_.emplace(client().shared.size());
    node_mask plain;
    for (const std::size_t node : client().nodes.all()) {
        if (!ask.contains(node)) {
            cast(node, core::choice::unable, now);
        } else if (const auto raise = client().tracker.to_raise(node, left_)) {
            send_to(node_mask::only(node), left_.place.nodes.contains(node), &*raise, now);
        } else {
            plain.insert(node);
        }
    }
    send_to(plain & left_.place.nodes, true, nullptr, now);
    send_to(plain - left_.place.nodes, false, nullptr, now);
}

void release_round::write(wire::request& out, bool has_place, const wire::fence_terms* raise,
                          time_point now) const {
    const wire::queue_entry entry{left_.place.id, left_.place.ticket,
                                  waits_on_ ? client().remote.entry_life() : duration::zero()};
    wire::write_release(*left_.kind, out,
                        {.key = left_.key,
                         .value = left_.value,
                         .key_prefix = client().shared.options().key_prefix,
                         .entry = has_place ? &entry : nullptr,
                         .raise = raise,
                         .slot = left_.slot,
                         .others = left_.others,
                         .keep = left_.to_keep_at_most(now),
                         .never_prolongs = left_.began_elsewhere,
                         .note = left_.is_known_elsewhere ? duration(client().tracker.ttl_max())
                                                          : duration::zero()});
}

void release_round::send_to(node_mask nodes, bool has_place, const wire::fence_terms* raise,
                            time_point now) {
    if (nodes.empty()) return;
    wire::request& wire = client().nodes.blank();
    write(wire, has_place, raise, now);
    const auto result = client().nodes.send(*this, 0, wire, now, nodes);
    for (const auto& [node, why] : result.failures) on_failure(node, 0, why, now);
}

void release_round::on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                             time_point now) {
    cast(node, wire::read_release(reply).choice, now);
}

void release_round::on_failure(std::size_t node, std::uint32_t, const wire::failure&,
                               time_point now) {
    cast(node, core::choice::unable, now);
}

void release_round::cast(std::size_t node, core::choice b, time_point now) {
    assert(machine_);
    if (machine_->cast(node, b)) settled(machine_->outcome(), now);
}

bool release_round::write_again(std::size_t node, std::uint32_t, wire::request& out, time_point now) const {
    const auto raise = client().tracker.to_raise(node, left_);
    // Much later, perhaps: whether it waits still is no longer known here.
    const bool has_place = !waits_on_ && left_.place.nodes.contains(node);
    write(out, has_place, raise ? &*raise : nullptr, now);
    return true;
}

void release_round::on_paid(time_point now) {
    if (!left_.is_known_elsewhere || !left_.kind->is_fenced) return;
    footprint again = left_;
    again.nodes = {};  // this one is owed to none of them
    again.place = {};
    client().host.release_in_background(std::move(again), false, 0, now);
}

void release_round::cancel(error_code why, time_point now) { end(why, now); }

void release_round::end(error_code outcome, time_point now) {
    if (over_) return;
    over_ = true;
    client().shared.end_span(span_kind::release, span_, now, outcome);
    client().host.finished(*this);
    complete(outcome);
}

void background_release::start(time_point now) {
    const node_mask nodes =
        of_.is_known_elsewhere ? client().nodes.all() : of_.nodes | of_.place.nodes;
    send(std::move(of_), nodes, now);
}

void release_operation::start(time_point now) {
    if (!state_) return end(errc::invalid_argument, now);
    was_lost_ = state_->state() == lease_state::status::lost;
    if (state_->held_as == nullptr) return end(was_lost_ ? errc::lost : errc::not_held, now);
    const held_lease_ptr lease(state_->held_as);
    held_for_ = lease->held_for(now);
    set_span(lease->begin_child(span_kind::release, now));
    lease->end(errc::not_held, now);
    // Also to the nodes that never had the key: that they say so counts as an answer.
    send(lease->left_behind(), client().nodes.all(), now);
}

void release_operation::settled(error_code outcome, time_point now) {
    if (!outcome && !was_lost_) {
        client().shared.counts().released.add();
        client().shared.emit({.kind = event_kind::released,
                              .severity = severity::debug,
                              .resource = state_->resource,
                              .duration = held_for_});
    }
    end(was_lost_ ? error_code(errc::lost) : outcome, now);
}

}  // namespace redlock::detail
