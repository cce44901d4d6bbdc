// Acquiring a lease.
// SPDX-License-Identifier: MIT
#include "runtime/acquire.hpp"

#include "lease_terms.hpp"
#include "runtime/engine.hpp"

#include <algorithm>
#include <utility>

namespace redlock::detail {

using namespace std::chrono_literals;
using std::chrono::microseconds;

// Why nothing may be sent; empty when all is well.
std::string acquire_operation::check() const {
    const auto& client = home().options();
    if (auto why = validate_resource(client, resource_); !why.empty()) return why;
    if (const auto issues = validate(options_, client); !issues.empty()) {
        return issues.front().where.substr(1) + " " + issues.front().message;
    }
    if (!options_.owner.is_zero() && home().owner_is_in_use(*this, resource_, options_.owner)) {
        return "this owner holds, or is acquiring, the resource already";
    }
    return {};
}

void acquire_operation::start(time_point now) {
    begun_ = now;
    ttl_ = effective_ttl(home().options(), options_.ttl);
    if (const auto why = check(); !why.empty()) {
        return end(errc::invalid_argument, nullptr, now, why);
    }
    wait_.emplace(options_.wait > 0ms ? now + options_.wait : now);
    last_refusal_ = errc::no_quorum;  // what is said when the time is over before a first verdict
    home().await_settled(*this, now);
}

void acquire_operation::on_settled(time_point now) {
    if (over_) return;
    try_once(now);
    // However short the wait, one attempt may take the time that a node may take.
    if (options_.wait > 0ms && is_open(round_)) {
        home().arm(*this, std::max(wait_->deadline(), now + home().options().node_timeout));
    }
}

void acquire_operation::try_once(time_point now) {
    if (++tries_ > 1) home().counts().retries.add();
    // A new value for each attempt, so that a release of one that is still on its way can't delete
    // the key of a later one.
    owner_ = options_.owner.is_zero() ? home().host().fresh_owner() : options_.owner;
    left_ = {.key = home().options().key_prefix + resource_,
             .value = owner_.to_string() + '@' + home().options().client_name,
             .born = home().nodes().breaks()};
    if (!options_.owner.is_zero() && !home().is_first_use(left_.value, left_.key)) {
        left_.value += '#' + std::to_string(home().host().random_word());
    }
    attempt_.emplace(home().size(), now, ttl_, home().drift());
    fence_.reset();
    send_round(now);
}

bool acquire_operation::draw_fence(time_point now) {
    if (!home().options().fencing) return true;
    fence_ = home().nodes().propose(seen_fence_, now);
    return fence_.has_value();
}

net::tail acquire_operation::write(std::string& out, script_form form) const {
    return write_acquire(out, form, {left_.key, left_.value, ttl_}, fence_ ? &*fence_ : nullptr);
}

void acquire_operation::send_round(time_point now) {
    sent_at_ = now;
    const std::uint32_t round = ++round_;
    votes_.assign(home().size(), {});
    for (std::size_t i = 0; i < votes_.size(); ++i) votes_[i].node = home().name(i);
    if (!draw_fence(now)) {
        for (node_vote& v : votes_) {
            v.answer = vote::refused;
            v.error = errc::clock_skew;
            v.detail = "the fences of this resource have run ahead of the nodes' clocks";
        }
        return refused(errc::no_quorum, now);
    }
    std::string wire;
    const net::tail end = write(wire, script_form::by_hash);
    const node_mask ask = home().nodes().askable();
    const auto result = home().send(*this, round, wire, end, now, ask);
    left_.note_sent(result.sent, fence_ ? fence_->fence : 0);
    for (std::size_t i = 0; i < home().size(); ++i) {
        if ((ask >> i & 1U) != 0) continue;
        if (const auto o = home().nodes().object(i, now, now)) on_failure(i, round, o->why, now);
    }
    for (const auto& [node, why] : result.failures) on_failure(node, round, why, now);
}

// Under a fence above all that were seen, to every node: those that granted the first raise theirs.
void acquire_operation::send_second_round(time_point now) {
    attempt_->begin_second(now);
    home().counts().second_rounds.add();
    send_round(now);
}

void acquire_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point now) {
    if (!is_open(round)) return;  // a late grant is released with the lease, or was already
    auto answer = fence_ ? net::read_acquire(reply) : net::read_set(reply);
    // One node that lies, or has been written to by hand, must not lead all the others astray.
    if (home().nodes().is_plausible(answer.fence, now)) {
        seen_fence_ = std::max(seen_fence_, answer.fence);
    } else if (answer.answer == vote::stale) {
        answer.answer = vote::refused;
        answer.why = {vote::refused, errc::clock_skew,
                      "its fence has run ahead of the nodes' clocks"};
    }
    const bool has_changed = answer.is_amnesiac || answer.why.error == errc::not_master;
    if (has_changed) home().nodes().greet_again(node, now);
    if (answer.answer != vote::refused && !answer.is_amnesiac) {
        if (auto o = home().nodes().object(node, sent_at_, now)) {
            answer.answer = o->why.answer;
            answer.why = std::move(o->why);
            answer.left = o->left;
        }
    }
    cast(node, answer, now);
}

void acquire_operation::on_failure(std::size_t node, std::uint32_t round, const net::failure& why,
                                   time_point now) {
    if (is_open(round)) cast(node, {.answer = why.answer, .why = why}, now);
}

bool acquire_operation::is_open(std::uint32_t round) const noexcept {
    return !over_ && round == round_ && attempt_ &&
           attempt_->state() == core::attempt::verdict::open;
}

// A node that was still connecting gets the key of a lease that lives: the more nodes hold it, the
// more of them may fail.
bool acquire_operation::is_wanted(std::uint32_t round) const noexcept {
    return is_open(round) || (round == round_ && granted_ && granted_->is_live());
}

std::optional<net::tail> acquire_operation::write_with_script(std::size_t, std::uint32_t,
                                                              std::string& out) const {
    if (!fence_) return std::nullopt;
    return write(out, script_form::whole);
}

void acquire_operation::cast(std::size_t node, const net::acquire_answer& answer,
                             time_point now) {
    node_vote& v = votes_[node];
    v.answer = answer.answer;
    v.error = answer.why.error;
    v.detail = answer.why.detail;
    v.elapsed = std::chrono::duration_cast<microseconds>(now - sent_at_);
    v.retry_in = answer.left;
    v.fence = answer.answer == vote::granted && fence_ ? fence_->fence : answer.fence;
    switch (attempt_->cast(node, answer.answer, now)) {
        case core::attempt::verdict::open: return;
        case core::attempt::verdict::granted: return grant(now);
        case core::attempt::verdict::refused: return refused(attempt_->reason(), now);
        case core::attempt::verdict::again: return send_second_round(now);
    }
}

void acquire_operation::grant(time_point now) {
    core::hold machine(now, attempt_->valid_until(),
                       {.ttl = ttl_,
                        .renew = options_.renew,
                        .max_hold = options_.max_hold,
                        .loss_margin = options_.loss_margin});
    if (machine.report_at() <= now) return refused(errc::validity_exhausted, now);
    auto state = std::make_shared<lease_state>(resource_, owner_, fence_ ? fence_->fence : 0,
                                               machine.valid_until(), votes_);
    state->home = home().host().home();
    home().counts().granted.add();
    home().emit({.kind = event_kind::granted, .severity = severity::debug, .resource = resource_,
                 .duration = std::chrono::duration_cast<microseconds>(now - begun_),
                 .votes = votes_});
    home().adopt(holding_ptr(new holding(home(), state, left_, machine)));
    granted_ = state;
    end({}, std::move(state), now);
}

void acquire_operation::give_back(time_point now) {
    if (left_.nodes == 0) return;
    home().release_in_background(left_, now);
    left_.nodes = 0;
}

void acquire_operation::refused(error_code why, time_point now) {
    attempt_->abandon(why);
    give_back(now);
    last_refusal_ = why;
    std::vector<duration> expiries;
    for (const node_vote& v : votes_) {
        if (v.answer == vote::held && v.retry_in > 0ms) expiries.push_back(v.retry_in);
    }
    const auto next =
        wait_->refused(why, home().size(), expiries, now, home().host().random_word());
    if (next) return home().arm(*this, *next);
    end(why, nullptr, now);
}

void acquire_operation::on_due(time_point now) {
    const operation_ptr keep(this);
    // Armed for the next attempt, or, while one is under way, for the end of waiting.
    if (attempt_->state() == core::attempt::verdict::open) {
        attempt_->abandon(last_refusal_);
        give_back(now);
        return end(last_refusal_, nullptr, now);
    }
    try_once(now);
    if (is_open(round_)) {
        home().arm(*this, wait_->deadline());
    }
}

void acquire_operation::cancel(error_code why, time_point now) {
    if (over_) return;
    if (attempt_) attempt_->abandon(why);
    give_back(now);
    end(why, nullptr, now);
}

void acquire_operation::end(error_code outcome, std::shared_ptr<lease_state> state,
                            time_point now, std::string_view detail) {
    const operation_ptr keep(this);
    over_ = true;
    core::appointment::cancel();
    if (!state) {
        auto& counts = home().counts();
        if (outcome == errc::contended) counts.contended.add();
        else if (outcome == errc::no_quorum) counts.no_quorum.add();
        else if (outcome == errc::validity_exhausted) counts.validity_exhausted.add();
        else if (outcome != errc::invalid_argument) counts.cancelled.add();
        const bool is_expected = outcome == errc::contended || outcome == errc::client_closed ||
                                 !(outcome.category() == category());  // cancelled
        home().emit({.kind = event_kind::refused,
                     .severity = is_expected ? severity::info : severity::warning,
                     .resource = resource_,
                     .error = outcome,
                     .duration = std::chrono::duration_cast<microseconds>(now - begun_),
                     .votes = votes_,
                     .detail = detail});
        state = std::make_shared<lease_state>(std::move(resource_), std::move(votes_));
    }
    complete(outcome, std::move(state));
    home().finished(*this);
}

}  // namespace redlock::detail
