// Rounds that prolong leases.
// SPDX-License-Identifier: MIT
#include "runtime/extend.hpp"

#include "lease_terms.hpp"
#include "runtime/engine.hpp"

#include <utility>
#include <vector>

namespace redlock::detail {

namespace {

// A script holds its node up while it runs: so many leases are one to three milliseconds.
constexpr std::size_t most_leases = 512;
constexpr std::size_t most_bytes = 1U << 20;

}  // namespace

void extension_round::add(holding_ptr lease, duration ttl) {
    part& p = parts_.emplace_back(*this, std::move(lease), ttl);
    p.lease->add(p);
    ++open_;
}

net::tail extension_round::write(std::string& out, script_form form) const {
    std::vector<lease_request> leases;
    leases.reserve(parts_.size());
    for (const part& p : parts_) {
        leases.push_back({p.lease->left().key, p.lease->left().value, p.ttl});
    }
    return write_extend(out, form, leases, fence_ ? &*fence_ : nullptr);
}

void extension_round::send(time_point now) {
    const operation_ptr keep(this);
    sent_at_ = now;
    for (part& p : parts_) p.machine.emplace(home().size(), now, p.ttl, home().drift());
    if (home().options().fencing) {
        fence_ = home().nodes().propose(0, now);
        if (!fence_) return cancel(errc::no_quorum, now);
    }
    std::string wire;
    const net::tail end = write(wire, script_form::by_hash);
    const node_mask ask = home().nodes().askable();
    const auto result = home().send(*this, 0, wire, end, now, ask);
    for (part& p : parts_) {
        p.lease->left().note_sent(result.sent, fence_ ? fence_->fence : 0);
    }
    for (std::size_t i = 0; i < home().size(); ++i) {
        if ((result.sent >> i & 1U) == 0) on_failure(i, 0, {}, now);
    }
}

void extension_round::on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                               time_point now) {
    const operation_ptr keep(this);
    if (++answers_ == core::quorum(home().size())) on_answered(sent_at_, now);
    const bool is_vote = !home().nodes().object(node, sent_at_, now);
    bool has_changed = net::is_amnesiac(reply);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto answer = net::read_extension(reply, i);
        has_changed = has_changed || answer.why.error == errc::not_master;
        cast(parts_[i], node, is_vote ? answer.ballot : core::ballot::unable, now);
    }
    if (has_changed) home().nodes().greet_again(node, now);
    if (net::is_late(reply)) home().nodes().doubt_clock(node, now);
}

void extension_round::on_failure(std::size_t node, std::uint32_t, const net::failure&,
                                 time_point now) {
    const operation_ptr keep(this);
    for (part& p : parts_) cast(p, node, core::ballot::unable, now);
}

void extension_round::cast(part& p, std::size_t node, core::ballot b, time_point now) {
    if (p.is_over) return;
    switch (p.machine->cast(node, b, now, p.lease->machine().valid_until())) {
        case core::extension::verdict::open: return;
        case core::extension::verdict::extended:
            if (!p.lease->extended(p.machine->sent(), p.machine->valid_until(), p.ttl)) {
                return end(p, errc::lost, now);
            }
            home().counts().renewals.add();
            home().emit({.kind = event_kind::renewed, .severity = severity::debug,
                         .resource = p.lease->state().resource});
            return end(p, {}, now);
        case core::extension::verdict::failed: return end(p, p.machine->reason(), now);
    }
}

std::optional<net::tail> extension_round::write_with_script(std::size_t, std::uint32_t,
                                                            std::string& out) const {
    return write(out, script_form::whole);
}

void extension_round::cancel(error_code why, time_point now) {
    const operation_ptr keep(this);
    if (parts_.empty()) return end_unsent(why, now);
    for (part& p : parts_) end(p, why, now);
    finish_if_over(now);
}

void extension_round::end(part& p, error_code outcome, time_point now) {
    if (std::exchange(p.is_over, true)) return;
    const operation_ptr keep(this);
    --open_;
    p.part::dependent::part();
    on_end(p.lease.get(), outcome, now);
    finish_if_over(now);
}

void extension_round::end_unsent(error_code outcome, time_point now) {
    if (is_finished_) return;
    sent_at_ = now;  // no node is to be blamed for the time that it waited
    on_end(nullptr, outcome, now);
    finish_if_over(now);
}

void extension_round::finish_if_over(time_point now) {
    if (open_ != 0 || std::exchange(is_finished_, true)) return;
    on_finished(sent_at_, now);
    home().finished(*this);
}

bool renewal_round::take(const holding_ptr& lease) {
    // It may have no need any more.
    if (lease->is_over() || !lease->machine().is_renewing()) return true;
    constexpr std::size_t words_around = 120;
    const footprint& left = lease->left();
    const std::size_t more = 2 * left.key.size() + left.value.size() + words_around;
    if (size() > 0 && (size() == most_leases || bytes_ + more > most_bytes)) return false;
    bytes_ += more;
    add(lease, lease->machine().ttl());
    return true;
}

void renewal_round::start(time_point now) {
    if (size() == 0) return end_unsent(errc::not_held, now);
    random_ = home().host().random_word();
    send(now);
}

void renewal_round::on_end(holding* lease, error_code outcome, time_point now) {
    const bool is_closing = outcome == errc::client_closed;
    const bool is_missed = outcome && !is_closing;
    if (is_missed && lease != nullptr && !lease->is_over()) {
        lease->renewal_failed(outcome, now, random_);
    }
}

void renewal_round::on_answered(time_point sent, time_point now) {
    if (std::exchange(is_counted_, false)) home().renewals().answered(sent, now);
}

void renewal_round::on_finished(time_point sent, time_point now) {
    if (std::exchange(is_counted_, false)) home().renewals().unanswered(sent, now);
}

void extend_operation::start(time_point now) {
    const auto state = std::move(state_);
    const bool is_ours = state && state->home.lock() == home().host().home();
    if (!is_ours || asked_ <= std::chrono::milliseconds::zero() ||
        !validate(acquire_options{.ttl = asked_}, home().options()).empty()) {
        return end_unsent(errc::invalid_argument, now);
    }
    if (state->held_as == nullptr || !state->is_live()) {
        const bool was_lost = state->state() == lease_state::status::lost;
        return end_unsent(was_lost ? errc::lost : errc::not_held, now);
    }
    if (longest_validity(home().options(), asked_) <= state->held_as->machine().loss_margin()) {
        return end_unsent(errc::invalid_argument, now);
    }
    add(holding_ptr(state->held_as), asked_);
    send(now);
}

void extend_operation::on_end(holding* lease, error_code outcome, time_point now) {
    complete(outcome);
    // A quorum that says "not yours" ends the lease, whoever asked.
    if (outcome == errc::not_held && lease != nullptr && !lease->is_over()) {
        lease->renewal_failed(outcome, now, 0);
    }
}

}  // namespace redlock::detail
