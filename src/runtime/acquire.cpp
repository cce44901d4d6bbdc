// Acquiring a lease.
// SPDX-License-Identifier: MIT
#include "runtime/acquire.hpp"

#include "lease_terms.hpp"
#include "net/answers.hpp"
#include "runtime/commands.hpp"
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
    key_ = home().options().key_prefix + resource_;
    wait_.emplace(options_.wait > 0ms ? now + options_.wait : now);
    last_refusal_ = errc::no_quorum;  // what is said when the time is over before a first verdict
    try_once(now);
    // However short the wait, one attempt may take the time that a node may take.
    if (options_.wait > 0ms && is_open(round_)) {
        home().arm(*this, std::max(wait_->deadline(), now + home().options().node_timeout));
    }
}

void acquire_operation::try_once(time_point now) {
    if (++round_ > 1) home().counts().retries.add();
    // A new value for each attempt, so that a release of one that is still on its way can't delete
    // the key of a later one.
    owner_ = options_.owner.is_zero() ? home().host().fresh_owner() : options_.owner;
    value_ = owner_.to_string();
    value_ += '@';
    value_ += home().options().client_name;
    if (!options_.owner.is_zero() && !home().is_first_use(value_, key_)) {
        value_ += '#' + std::to_string(home().host().random_word());
    }
    votes_.assign(home().size(), {});
    for (std::size_t i = 0; i < votes_.size(); ++i) votes_[i].node = home().name(i);
    sent_at_ = now;
    attempt_.emplace(home().size(), now, ttl_, home().drift());
    std::string wire;
    write_set(wire, key_, value_, ttl_);
    const std::uint32_t round = round_;
    const auto result = home().send(*this, round, wire, now);
    sent_ = result.sent;
    for (const auto& [node, why] : result.failures) on_failure(node, round, why, now);
}

void acquire_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point now) {
    if (!is_open(round)) return;  // a late grant is released with the lease, or was already
    const auto answer = net::read_set(reply);
    cast(node, answer.answer, answer.why, now);
}

void acquire_operation::on_failure(std::size_t node, std::uint32_t round, const net::failure& why,
                                   time_point now) {
    if (is_open(round)) cast(node, why.answer, why, now);
}

bool acquire_operation::is_open(std::uint32_t round) const noexcept {
    return !over_ && round == round_ && attempt_->state() == core::attempt::verdict::open;
}

// A node that was still connecting gets the key of a lease that lives: the more nodes hold it, the
// more of them may fail.
bool acquire_operation::is_wanted(std::uint32_t round) const noexcept {
    return is_open(round) || (granted_ && granted_->is_live());
}

void acquire_operation::cast(std::size_t node, vote answer, const net::failure& why,
                             time_point now) {
    node_vote& v = votes_[node];
    v.answer = answer;
    v.error = why.error;
    v.detail = why.detail;
    v.elapsed = std::chrono::duration_cast<microseconds>(now - sent_at_);
    switch (attempt_->cast(node, answer, now)) {
        case core::attempt::verdict::open: return;
        case core::attempt::verdict::granted: return grant(now);
        case core::attempt::verdict::refused: return refused(attempt_->reason(), now);
    }
}

void acquire_operation::grant(time_point now) {
    core::hold machine(now, attempt_->valid_until(),
                       {.ttl = ttl_,
                        .renew = options_.renew,
                        .max_hold = options_.max_hold,
                        .loss_margin = options_.loss_margin});
    if (machine.report_at() <= now) return refused(errc::validity_exhausted, now);
    auto state = std::make_shared<lease_state>(resource_, owner_, machine.valid_until(), votes_);
    state->home = home().host().home();
    home().counts().granted.add();
    home().emit({.kind = event_kind::granted, .severity = severity::debug, .resource = resource_,
                 .duration = std::chrono::duration_cast<microseconds>(now - begun_),
                 .votes = votes_});
    home().adopt(
        holding_ptr(new holding(home(), state, key_, value_, machine, sent_,
                                home().key_gone_at(sent_at_, ttl_))));
    granted_ = state;
    end({}, std::move(state), now);
}

void acquire_operation::give_back(time_point now) {
    if (sent_ == 0) return;
    home().release_in_background(key_, value_, std::exchange(sent_, 0),
                                 home().key_gone_at(sent_at_, ttl_), now);
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
        home().emit({.kind = event_kind::refused,
                     .severity = outcome == errc::contended ? severity::info : severity::warning,
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
