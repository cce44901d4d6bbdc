// Giving keys back on the nodes that may have them.
// SPDX-License-Identifier: MIT
#include "client/release.hpp"

#include "client/remote_queue.hpp"
#include "client/survey.hpp"

#include <cassert>

namespace redlock::detail {

void release_round::send(footprint left, node_mask ask, time_point now) {
    left_ = std::move(left);
    assert(!machine_ && left_.kind != nullptr);
    machine_.emplace(client().shared.lists());
    node_mask plain;
    for (const std::size_t node : client().nodes.all()) {
        if (!ask.contains(node)) {
            cast(node, core::choice::unable);
        } else if (client().tracker.known().breaks().may_arrive_late(node, left_)) {
            send_to(node_mask::only(node), now);
        } else {
            plain.insert(node);
        }
    }
    send_to(plain & left_.also->place.nodes, now);
    send_to(plain - left_.also->place.nodes, now);
}

void release_round::write(wire::request& out, std::size_t node, bool is_again,
                          time_point now) const {
    const place_in_queue& place = left_.also->place;
    const core::node_knowledge& known = client().tracker.known();
    const auto message =
        core::message_of_release(left_,
                                 {.may_arrive_late = known.breaks().may_arrive_late(node, left_),
                                  .is_entered = place.nodes.contains(node),
                                  .waits_on = waits_on_,
                                  .is_again = is_again},
                                 now);
    const wire::queue_entry entry{place.id, place.ticket,
                                  waits_on_ ? client().remote.entry_life() : duration::zero()};
    const std::string& prefix = client().shared.options().key_prefix;
    const wire::fence_terms raise{left_.highest_fence, prefix};
    wire::write_release(*left_.kind, out,
                        {.key = left_.key,
                         .value = left_.value,
                         .key_prefix = prefix,
                         .entry = message.names_waiter ? &entry : nullptr,
                         .raise = message.raises_fence ? &raise : nullptr,
                         .slot = left_.slot,
                         .others = left_.also->others,
                         .keep = message.keep,
                         .never_prolongs = left_.began_elsewhere,
                         .cuts_fence = message.cuts_fence && left_.kind->is_fenced,
                         .note = left_.is_known_elsewhere ? duration(known.votes().ttl_max())
                                                          : duration::zero()});
}

// All of them get the same.
void release_round::send_to(node_mask nodes, time_point now) {
    if (nodes.empty()) return;
    wire::request& wire = client().nodes.blank();
    write(wire, *nodes.begin(), false, now);
    const auto result = client().nodes.send(*this, 0, wire, now, nodes);
    for (const auto& [node, why] : result.failures) on_failure(node, 0, why, now);
}

void release_round::on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                             time_point) {
    cast(node, wire::read_release(reply).choice);
}

void release_round::on_failure(std::size_t node, std::uint32_t, const wire::failure&,
                               time_point) {
    cast(node, core::choice::unable);
}

void release_round::cast(std::size_t node, core::choice b) {
    assert(machine_);
    if (machine_->cast(node, b)) settled(machine_->outcome());
}

bool release_round::write_again(std::size_t node, std::uint32_t, wire::request& out,
                                time_point now) const {
    write(out, node, true, now);
    return true;
}

// A node to which nothing ever went out has nothing of a lease that began here.
bool release_round::is_owed(std::size_t node) const noexcept {
    return left_.nodes.contains(node) &&
           (left_.began_elsewhere || client().nodes[node].was_asked());
}

void release_round::on_paid(time_point now) {
    const auto next = core::release_after_owed(left_, left_.kind->is_fenced);
    if (!next) return;
    footprint again = left_;
    static_cast<core::traces&>(again) = *next;
    again.also.edit().place = {};
    client().host.release_in_background(std::move(again), false, now);
}

void release_round::end(error_code outcome) {
    if (leave()) complete(outcome);
}

void background_release::start(time_point now) {
    const node_mask nodes =
        core::nodes_to_release(of_, of_.also->place.nodes, client().nodes.all());
    send(std::move(of_), nodes, now);
}

void release_operation::start(time_point now) {
    if (!state_) return end(errc::invalid_argument);
    was_lost_ = state_->state() == lease_state::status::lost;
    if (state_->held_as == nullptr) return end(was_lost_ ? errc::lost : errc::not_held);
    lease_.reset(state_->held_as);
    called_ = now;
    lease_->end(errc::not_held, now);
    if (lease_->is_left_to_others()) return end(errc::lost);
    // Also to the nodes that never had the key: that they say so counts as an answer.
    send(lease_->left_behind(), client().nodes.all(), now);
}

void release_operation::settled(error_code outcome) {
    if (!outcome && !was_lost_) {
        client().shared.counts().released.add();
        client().shared.emit(lease_->event_of(event_kind::released, severity::debug,
                                              lease_->machine().granted_at(), called_));
    }
    end(was_lost_ ? error_code(errc::lost) : outcome);
}

void close_operation::start(time_point now) { client().host.close(now); }

void close_operation::cancel(error_code why, time_point) {
    if (!is_over() && why == errc::client_closed) return client().host.await_closed(*this);
    end(why);
}

void close_operation::end(error_code outcome) {
    if (leave()) complete(outcome);
}

void lost_operation::start(time_point) {
    const auto state = std::move(state_);
    if (!state || state->home.lock() != client().host.home()) {
        return end(errc::invalid_argument, {});
    }
    if (state->state() == lease_state::status::lost) return end({}, state->lost_for());
    if (state->held_as == nullptr) return end(errc::not_held, {});
    state->held_as->add(*this);
}

void lost_operation::on_lease_over(std::optional<loss> lost, error_code why, time_point) {
    assert(!is_over() && (lost || why));
    lost ? end({}, *lost) : end(why, {});
}

void lost_operation::end(error_code outcome, loss why) {
    if (!leave()) return;
    part();
    complete(outcome, why);
}

}  // namespace redlock::detail
