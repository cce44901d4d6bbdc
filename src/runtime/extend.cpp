// Rounds that prolong a lease.
// SPDX-License-Identifier: MIT
#include "runtime/extend.hpp"

#include "lease_terms.hpp"
#include "net/answers.hpp"
#include "runtime/commands.hpp"
#include "runtime/engine.hpp"

namespace redlock::detail {

void extension_round::send(holding_ptr lease, duration ttl, time_point now) {
    lease_ = std::move(lease);
    ttl_ = ttl;
    lease_->add(*this);
    machine_.emplace(home().size(), now, ttl, home().drift());
    std::string wire;
    write_compare_expire(wire, script_form::by_hash, lease_->key(), lease_->value(), ttl);
    const auto result = home().send(*this, 0, wire, now);
    lease_->note_sent(result.sent, home().key_gone_at(now, ttl));
    for (const auto& [node, why] : result.failures) on_failure(node, 0, why, now);
}

void extension_round::on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                               time_point now) {
    cast(node, net::read_compare(reply).ballot, now);
}

void extension_round::on_failure(std::size_t node, std::uint32_t, const net::failure&,
                                 time_point now) {
    cast(node, core::ballot::unable, now);
}

void extension_round::cast(std::size_t node, core::ballot b, time_point now) {
    if (over_) return;
    switch (machine_->cast(node, b, now, lease_->machine().valid_until())) {
        case core::extension::verdict::open: return;
        case core::extension::verdict::extended:
            home().counts().renewals.add();
            lease_->extended(machine_->sent(), machine_->valid_until(), ttl_);
            home().emit({.kind = event_kind::renewed, .severity = severity::debug,
                         .resource = lease_->state().resource});
            end({}, now);
            return;
        case core::extension::verdict::failed: end(machine_->reason(), now); return;
    }
}

bool extension_round::is_wanted(std::uint32_t) const noexcept { return !over_; }

bool extension_round::write_with_script(std::uint32_t, std::string& out) const {
    write_compare_expire(out, script_form::whole, lease_->key(), lease_->value(), ttl_);
    return true;
}

void extension_round::on_lease_over(std::optional<loss> lost, error_code why, time_point now) {
    end(lost ? error_code(errc::lost) : why, now);
}

void extension_round::cancel(error_code why, time_point now) { end(why, now); }

void extension_round::end(error_code outcome, time_point now) {
    if (over_) return;
    const operation_ptr keep(this);
    over_ = true;
    part();
    on_end(outcome, now);
    lease_.reset();
    home().finished(*this);
}

void renewal::start(time_point now) {
    const auto ttl = target_->machine().ttl();
    send(std::move(target_), ttl, now);
}

void renewal::on_end(error_code outcome, time_point now) {
    const bool is_closing = outcome == errc::client_closed;
    if (outcome && !is_closing && !lease()->is_over()) lease()->renewal_failed(outcome, now);
}

void extend_operation::start(time_point now) {
    const auto state = std::move(state_);
    const bool is_ours = state && state->home.lock() == home().host().home();
    if (!is_ours || asked_ <= std::chrono::milliseconds::zero() ||
        !validate(acquire_options{.ttl = asked_}, home().options()).empty()) {
        return end(errc::invalid_argument, now);
    }
    if (state->held_as == nullptr || !state->is_live()) {
        const bool was_lost = state->state() == lease_state::status::lost;
        return end(was_lost ? errc::lost : errc::not_held, now);
    }
    if (longest_validity(home().options(), asked_) <= state->held_as->machine().loss_margin()) {
        return end(errc::invalid_argument, now);
    }
    send(holding_ptr(state->held_as), asked_, now);
}

void extend_operation::on_end(error_code outcome, time_point now) {
    complete(outcome);
    // A quorum that says "not yours" ends the lease, whoever asked.
    if (outcome == errc::not_held && lease() && !lease()->is_over()) {
        lease()->renewal_failed(outcome, now);
    }
}

}  // namespace redlock::detail
