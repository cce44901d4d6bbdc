// Rounds that prolong leases.
// SPDX-License-Identifier: MIT
#include "client/extend.hpp"

#include "client/client_parts.hpp"
#include "value/lease_terms.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>
#include <vector>

namespace redlock::detail {

namespace {

// A script holds its node up while it runs: so many leases are one to three milliseconds.
constexpr std::size_t most_leases = 512;
constexpr std::size_t most_bytes = 1U << 20;

}  // namespace

void extension_round::add(held_lease_ptr lease, duration ttl, bool sets_ttl) {
    part& p = parts_.emplace_back(*this, std::move(lease), machine_.add(ttl, sets_ttl));
    p.lease->add(p);
    assert(p.lease->left().kind == &kind());  // one command asks for all of them
}

const wire::lock_kind& extension_round::kind() const noexcept {
    return *parts_.front().lease->left().kind;
}

wire::tail extension_round::write(std::string& out, resp::script_form form,
                                  const selection& about) const {
    std::vector<wire::lease_request> leases;
    leases.reserve(about.size());
    for (const part* p : about) {
        leases.push_back({p->lease->left().key, p->lease->left().value, machine_.ttl(p->index)});
    }
    return kind().write_extend(out, form, leases, fence_ ? &*fence_ : nullptr);
}

void extension_round::send(time_point now) {
    const operation_ptr keep(this);
    const std::size_t nodes = client().shared.size();
    const auto bounds = machine_.begin(nodes, client().shared.drift(), now,
                                       client().nodes.time_for(redlock::quorum(nodes)));
    const std::uint32_t round = machine_.round();
    answers_ = 0;
    asked_.clear();
    asked_otherwise_.clear();
    for (part& p : parts_) {
        if (machine_.is_open(p.index)) asked_.push_back(&p);
    }
    if (kind().is_fenced) {
        fence_ = client().tracker.propose(bounds.seen, now, bounds.lead);
        if (!fence_) return cancel(errc::no_quorum, now);
    }
    std::string wire;
    const wire::tail end = write(wire, resp::script_form::by_hash, asked_);
    const node_mask ask = client().tracker.askable();
    const auto result = client().nodes.send(*this, round, wire, end, now, ask);
    for (part* p : asked_) {
        p->lease->left().note_sent(result.sent, fence_ ? fence_->fence : 0);
    }
    for (const std::size_t i : client().nodes.all() - result.sent) on_failure(i, round, {}, now);
}

void extension_round::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                               time_point now) {
    if (round != machine_.round()) return;
    const operation_ptr keep(this);
    const time_point sent = machine_.sent();
    if (++answers_ == redlock::quorum(client().shared.size())) on_answered(sent, now);
    const judgement j = client().tracker.judge(node, sent, wire::read_signs(reply), now);
    const auto otherwise = asked_otherwise_.find(node);
    const selection& about = otherwise == asked_otherwise_.end() ? asked_ : otherwise->second;
    // The last lease that is decided may begin the next round, which changes `asked_`.
    for (std::size_t i = 0; round == machine_.round() && i < about.size(); ++i) {
        cast(*about[i], node, j.weigh(kind().read_extension(reply, i)), now);
    }
}

void extension_round::on_failure(std::size_t node, std::uint32_t round, const wire::failure&,
                                 time_point now) {
    const operation_ptr keep(this);
    for (std::size_t i = 0; round == machine_.round() && i < asked_.size(); ++i) {
        cast(*asked_[i], node, {}, now);
    }
}

void extension_round::cast(part& p, std::size_t node, const wire::compare_answer& answer,
                           time_point now) {
    switch (machine_.cast(p.index, node, answer.choice, answer.fence, now,
                          p.lease->machine().valid_until())) {
        case core::extension::verdict::open: return;
        case core::extension::verdict::extended:
            if (!p.lease->extended(machine_.sent(), machine_.valid_until(p.index),
                                   machine_.new_ttl(p.index))) {
                return end(p, errc::lost, now);
            }
            client().shared.counts().renewals.add();
            client().shared.emit({.kind = event_kind::renewed, .severity = severity::debug,
                                  .resource = p.lease->state().resource});
            return end(p, {}, now);
        case core::extension::verdict::failed: return end(p, machine_.reason(p.index), now);
        case core::extension::verdict::again: return go_on(now);
    }
}

std::optional<wire::tail> extension_round::write_with_script(std::size_t node, std::uint32_t,
                                                             std::string& out) const {
    selection left;
    std::copy_if(asked_.begin(), asked_.end(), std::back_inserter(left),
                 [this](const part* p) { return machine_.is_open(p->index); });
    const wire::tail end = write(out, resp::script_form::whole, left);
    asked_otherwise_[node] = std::move(left);
    return end;
}

void extension_round::cancel(error_code why, time_point now) {
    const operation_ptr keep(this);
    if (parts_.empty()) return end_unsent(why, now);
    machine_.end_rounds();
    for (part& p : parts_) end(p, why, now);
}

void extension_round::shorten(duration gap) {
    machine_.shorten(gap);
}

void extension_round::end(part& p, error_code outcome, time_point now) {
    if (!machine_.end(p.index)) return;
    const operation_ptr keep(this);
    p.part::dependent::part();
    on_end(p.lease.get(), outcome, now);
    go_on(now);
}

void extension_round::end_unsent(error_code outcome, time_point now) {
    if (is_finished_) return;
    on_end(nullptr, outcome, now);
    finish(now, now);  // no node is to be blamed for the time that it waited
}

// Begins the next round, or ends the operation.
void extension_round::go_on(time_point now) {
    switch (machine_.what_next()) {
        case core::extension_rounds::next::wait: return;
        case core::extension_rounds::next::begin: return send(now);
        case core::extension_rounds::next::finished: return finish(machine_.sent(), now);
    }
}

void extension_round::finish(time_point sent, time_point now) {
    if (std::exchange(is_finished_, true)) return;
    on_finished(sent, now);
    client().host.finished(*this);
}

bool renewal_round::take(const held_lease_ptr& lease) {
    // It may have no need any more.
    if (lease->is_over() || !lease->machine().is_renewing()) return true;
    constexpr std::size_t words_around = 120;
    const footprint& left = lease->left();
    const std::size_t more = 2 * left.key.size() + left.value.size() + words_around;
    if (size() > 0 && (size() == most_leases || bytes_ + more > most_bytes)) return false;
    bytes_ += more;
    add(lease, lease->machine().ttl(), false);
    return true;
}

void renewal_round::start(time_point now) {
    if (size() == 0) return end_unsent(errc::not_held, now);
    random_ = client().shared.random_word();
    send(now);
}

void renewal_round::on_end(held_lease* lease, error_code outcome, time_point now) {
    const bool is_closing = outcome == errc::client_closed;
    const bool is_missed = outcome && !is_closing;
    if (is_missed && lease != nullptr && !lease->is_over()) {
        lease->renewal_failed(outcome, now, random_);
    }
}

void renewal_round::on_answered(time_point sent, time_point now) {
    if (std::exchange(is_counted_, false)) window_.answered(sent, now);
}

void renewal_round::on_finished(time_point sent, time_point now) {
    if (std::exchange(is_counted_, false)) window_.unanswered(sent, now);
}

void extend_operation::start(time_point now) {
    const auto state = std::move(state_);
    const bool is_ours = state && state->home.lock() == client().host.home();
    if (!is_ours || asked_ <= std::chrono::milliseconds::zero() ||
        !validate(acquire_options{.ttl = asked_}, client().shared.options()).empty()) {
        return end_unsent(errc::invalid_argument, now);
    }
    if (state->held_as == nullptr || !state->is_live()) {
        const bool was_lost = state->state() == lease_state::status::lost;
        return end_unsent(was_lost ? errc::lost : errc::not_held, now);
    }
    if (longest_validity(client().shared.options(), asked_) <=
        state->held_as->machine().loss_margin()) {
        return end_unsent(errc::invalid_argument, now);
    }
    add(held_lease_ptr(state->held_as), asked_, true);
    send(now);
}

void extend_operation::on_end(held_lease* lease, error_code outcome, time_point now) {
    complete(outcome);
    // If a quorum of nodes denies the lease it ends, as after a renewal.
    if (outcome == errc::not_held && lease != nullptr && !lease->is_over()) {
        lease->renewal_failed(outcome, now, 0);
    }
}

}  // namespace redlock::detail
