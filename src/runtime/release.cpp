// Giving a key back on the nodes that may have it.
// SPDX-License-Identifier: MIT
#include "runtime/release.hpp"

#include "net/answers.hpp"
#include "runtime/commands.hpp"
#include "runtime/engine.hpp"

namespace redlock::detail {

void release_round::send(std::string key, std::string value, node_mask ask,
                         node_mask may_have_key, time_point owed_until, time_point now) {
    key_ = std::move(key);
    value_ = std::move(value);
    owed_until_ = owed_until;
    may_have_key_ = may_have_key;
    machine_.emplace(home().size());
    std::string wire;
    write_compare_delete(wire, script_form::by_hash, key_, value_);
    const auto result = home().send(*this, 0, wire, now, ask);
    for (const auto& [node, why] : result.failures) on_failure(node, 0, why, now);
    for (std::size_t node = 0; node < home().size(); ++node) {
        if ((ask >> node & 1U) == 0) cast(node, core::ballot::unable);
    }
}

void release_round::on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                             time_point) {
    cast(node, net::read_compare(reply).ballot);
}

void release_round::on_failure(std::size_t node, std::uint32_t, const net::failure&, time_point) {
    cast(node, core::ballot::unable);
}

void release_round::cast(std::size_t node, core::ballot b) {
    if (machine_->cast(node, b)) settled(machine_->outcome());
}

bool release_round::write_with_script(std::uint32_t, std::string& out) const {
    write_compare_delete(out, script_form::whole, key_, value_);
    return true;
}

void release_round::cancel(error_code why, time_point) { end(why); }

void release_round::end(error_code outcome) {
    if (over_) return;
    const operation_ptr keep(this);
    over_ = true;
    complete(outcome);
    home().finished(*this);
}

void release_operation::start(time_point now) {
    if (!state_) return end(errc::invalid_argument);
    was_lost_ = state_->state() == lease_state::status::lost;
    if (state_->held_as == nullptr) return end(was_lost_ ? errc::lost : errc::not_held);
    const holding_ptr lease(state_->held_as);
    lease->end(errc::not_held, now);
    // Also to the nodes that never had the key: that they say so counts as an answer.
    send(lease->key(), lease->value(), all_nodes, lease->sent(), lease->gone_at(), now);
}

void release_operation::settled(error_code outcome) {
    if (!outcome && !was_lost_) {
        home().counts().released.add();
        home().emit({.kind = event_kind::released, .severity = severity::debug,
                     .resource = state_->resource});
    }
    end(was_lost_ ? error_code(errc::lost) : outcome);
}

}  // namespace redlock::detail
