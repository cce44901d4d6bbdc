// One call of a rate limiter.
// SPDX-License-Identifier: MIT
#include "client/limit.hpp"

#include "client/acquire.hpp"
#include "client/survey.hpp"

#include <algorithm>
#include <cassert>

namespace redlock::detail {

using verdict = core::rate_limit::verdict;

/// An acquire of one slot. It keeps its call alive until the answer.
class limit_operation::question final : public acquire_operation {
public:
    question(limit_operation& of, const acquire_options& options)
        : acquire_operation(of.of_->resource, options, of.of_->calls.period()), of_(&of) {}
    bool has_caller() const noexcept override { return false; }  // the call has
    void discard() noexcept override { of_.reset(); }

private:
    void complete(error_code outcome, std::shared_ptr<lease_state> state) override {
        assert(of_ && state);
        const auto of = std::exchange(of_, nullptr);
        of->answered(outcome, *state, named_period());
    }

    boost::intrusive_ptr<limit_operation> of_;
};

void limit_operation::start(time_point now) {
    assert(!is_over_ && !asks_);
    switch (of_->calls.begin(*this, wait_, now)) {
        case core::rate_limit::start::ask: return on_turn(now);
        case core::rate_limit::start::stand_aside:
            return end_unasked("others wait for this limit", now);
        case core::rate_limit::start::wait: return stand_in_line(now);
    }
}

void limit_operation::on_turn(time_point now) {
    assert(!is_over_ && asks_ == nullptr);
    timer::cancel();
    asks_ = new question(*this, of_->calls.request(*this, now));
    client().host.begin(asks_, now);
}

void limit_operation::on_rest(time_point until) {
    assert(!is_over_ && !asks_);
    client().shared.arm(*this, std::min(until, of_->calls.deadline(*this)));
}

void limit_operation::on_due(time_point now) {
    assert(!is_over_ && !asks_);
    // Another call may stand before it by now, and is then the one that looks again.
    if (now < of_->calls.deadline(*this)) return stand_in_line(now);
    if (!last_.code) return end_unasked("others waited for this limit before", now);
    end({.why = std::exchange(last_, {})}, now);
}

void limit_operation::answered(error_code outcome, lease_state& said,
                               std::chrono::milliseconds named) {
    assert(!is_over_ && asks_);
    asks_.reset();
    const time_point now = read_clock();
    of_->calls.named(named, now);
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
    assert(!is_over_ && !asks_);
    client().shared.arm(*this, of_->calls.deadline(*this));
    of_->calls.admit(now);
}

void limit_operation::cancel(error_code why, time_point now) {
    if (is_over_) return;
    if (asks_) return asks_->cancel(why, now);  // which completes it
    end({.why = {why, std::move(last_.votes)}}, now);
}

void limit_operation::end_unasked(std::string_view why, time_point now) {
    end({.why = {errc::contended, {}, std::string(why)}}, now);
}

void limit_operation::end(limit_answer answer, time_point now) {
    assert(!is_over_ && !asks_);
    is_over_ = true;
    timer::cancel();
    of_->calls.leave(*this);
    client().host.finished(*this);
    if (answer.why == errc::contended) answer.retry_after = of_->calls.retry_after(now);
    if (answer.allowed)
        of_->calls.admit(now);
    else
        of_->calls.look_again(now);
    complete(std::move(answer));
}

}  // namespace redlock::detail
