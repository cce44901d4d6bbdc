// One call of a rate limiter.
// SPDX-License-Identifier: MIT
#include "client/limit.hpp"

#include "client/acquire.hpp"

#include <algorithm>

namespace redlock::detail {

using verdict = core::rate_limit::verdict;

/// An acquire of as many slots as it costs. It keeps its call alive until the answer.
class limit_operation::question final : public acquire_operation {
public:
    question(limit_operation& of, const acquire_options& options)
        : acquire_operation(of.of_->resource, options, of.of_->calls.terms()), of_(&of) {}
    bool has_caller() const noexcept override { return false; }  // the call has
    void discard() noexcept override { of_.reset(); }

private:
    void complete(error_code outcome, std::shared_ptr<lease_state> state) override {
        assert(of_ && state);
        const auto of = std::exchange(of_, nullptr);
        of->answered(outcome, *state, news());
    }

    boost::intrusive_ptr<limit_operation> of_;
};

void limit_operation::start(time_point now) {
    assert(!is_over() && !asks_);
    if (is_too_dear(now)) return;
    switch (of_->calls.begin(*this, cost_, wait_, now)) {
        case core::rate_limit::start::ask: return on_turn(now);
        case core::rate_limit::start::stand_aside:
            return end_unasked("others wait for this limit", now);
        case core::rate_limit::start::wait: return stand_in_line(now);
    }
}

bool limit_operation::is_too_dear(time_point now) {
    auto why = of_->calls.why_no_cost(cost_);
    if (why.empty()) return false;
    end({.why = {errc::invalid_argument, {}, std::move(why)}}, now);
    return true;
}

void limit_operation::on_turn(time_point now) {
    assert(!is_over() && asks_ == nullptr);
    timer::cancel();
    if (is_too_dear(now)) return;  // the number may have been set while it waited
    asks_ = new question(*this, of_->calls.request(*this, now));
    client().host.begin(asks_, now);
}

void limit_operation::on_rest(time_point until) {
    assert(!is_over() && !asks_);
    client().shared.arm(*this, std::min(until, of_->calls.deadline(*this)));
}

void limit_operation::on_due(time_point now) {
    assert(!is_over() && !asks_);
    // Another call may stand before it by now, and is then the one that looks again.
    if (now < of_->calls.deadline(*this)) return stand_in_line(now);
    if (!last_.code) return end_unasked("no slot is free by then, as earlier calls learned", now);
    end({.why = std::exchange(last_, {})}, now);
}

void limit_operation::answered(error_code outcome, lease_state& said,
                               const limit_news& news) {
    assert(!is_over() && asks_);
    asks_.reset();
    const time_point now = read_clock();
    of_->calls.learn(news, now);
    if (outcome) return refused(outcome, said, now);
    switch (of_->calls.granted(*this, said.valid_until(), now)) {
        case verdict::allowed:
            client().host.let_go(said, now);
            return end({.allowed = true, .at = now}, now);
        case verdict::again:
            client().host.give_back(said, now);
            return on_turn(now);
        case verdict::rest:
            client().host.give_back(said, now);
            return stand_in_line(now);
        case verdict::over:
            client().host.give_back(said, now);
            return end({.why = {errc::validity_exhausted,
                                {said.votes.all().begin(), said.votes.all().end()},
                                "the nodes answer too late for this period"}},
                       now);
    }
}

void limit_operation::refused(error_code why, const lease_state& said, time_point now) {
    assert(why && !asks_);
    last_ = {why, {said.votes.all().begin(), said.votes.all().end()}, said.why()};
    switch (of_->calls.refused(*this, why, last_.votes, client().shared.lists(), now)) {
        case verdict::again: return on_turn(now);
        case verdict::rest: return stand_in_line(now);
        default: return end({.why = std::exchange(last_, {})}, now);
    }
}

void limit_operation::stand_in_line(time_point now) {
    assert(!is_over() && !asks_);
    client().shared.arm(*this, of_->calls.deadline(*this));
    of_->calls.admit(now);
}

void limit_operation::cancel(error_code why, time_point now) {
    if (is_over()) return;
    if (asks_) return asks_->cancel(why, now);  // which completes it
    end({.why = {why, std::move(last_.votes)}}, now);
}

void limit_operation::end_unasked(std::string_view why, time_point now) {
    end({.why = {errc::contended, {}, std::string(why)}}, now);
}

void limit_operation::end(limit_answer answer, time_point now) {
    assert(!is_over() && !asks_);
    leave();
    timer::cancel();
    of_->calls.leave(*this);
    if (answer.why == errc::contended) answer.retry_after = of_->calls.retry_after(*this, now);
    if (answer.allowed)
        of_->calls.admit(now);
    else
        of_->calls.look_again(now);
    complete(std::move(answer));
}

bool limit_change::check() {
    const client_options& all = client().shared.options();
    result_.detail = core::why_no_limit(all, of_->resource, limit_, of_->calls.terms().period);
    return result_.detail.empty();
}

bool limit_change::begin(time_point now) {
    const auto now_us = client().tracker.known().clocks().shared_us(now);
    if (!now_us) {
        result_.detail = "too few nodes answer to tell their time";
        end(errc::no_quorum);
        return false;
    }
    revision_ = of_->calls.set(limit_, std::max<std::int64_t>(*now_us, 0));
    sent_at_ = now;
    result_.votes.resize(client().shared.size());
    const node_mask asked = client().tracker.askable();
    for (const std::size_t i : client().nodes.all() - asked) {
        if (const auto o = client().tracker.object(i, now, now)) failed(i, 0, o->why, now);
    }
    ask(0, asked, now);
    return true;
}

bool limit_change::go_on(time_point now) {
    of_->calls.admit(now);
    end_by(node_mask::where(result_.votes.size(), [&](std::size_t i) {
        return result_.votes[i].answer == vote::granted;
    }));
    return false;
}

bool limit_change::write(std::size_t, std::uint32_t, wire::request& out,
                         resp::script_form) const {
    const std::string& prefix = client().shared.options().key_prefix;
    const slot_number slot{0, limit_};  // which period counts, only the calls name
    const auto key = wire::lock_key(prefix, of_->resource, slot);
    const wire::fence_terms none{0, prefix};
    wire::append_lease(wire::slot_lock, out, "name",
                       {key, "-", core::rate_limit::set_for, slot, {}, revision_}, &none);
    return true;
}

void limit_change::read(std::size_t node, std::uint32_t, const resp::reply& reply,
                        time_point now) {
    const judgement j = client().tracker.judge(node, sent_at_, wire::read_signs(reply), now);
    note(node, j.weigh(wire::read_acquire(wire::slot_lock, reply)), now);
}

void limit_change::note(std::size_t node, const wire::acquire_answer& answer, time_point now) {
    node_vote& v = result_.votes[node];
    v.node = client().shared.name(node);
    v.answer = answer.answer;
    v.error = answer.why.error;
    v.detail = answer.why.detail;
    v.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - sent_at_);
}

}  // namespace redlock::detail
