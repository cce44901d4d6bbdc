// A simulated worker hands over the token of its lease, and takes over leases by their tokens.
// SPDX-License-Identifier: MIT
#include "client/adopt.hpp"
#include "simulation/program.hpp"
#include "simulation/watched.hpp"
#include "simulation/worker.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <utility>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

struct taking_over final : watched<detail::adopt_operation, worker> {
    using watched::watched;
    void complete(error_code outcome, std::shared_ptr<detail::lease_state> state) override {
        ended().on_adopted(outcome, std::move(state));
    }
};

}  // namespace

// True where that is all that it does with the lease; else it goes on to hold it, too.
bool worker::hand_over() {
    std::string token = lease_.token();
    if (token.empty()) return false;
    lease_checker& judge = in_->around().judge;
    judge.handed_over(value_);
    in_->will_run_out(held_->owner);
    in_->around().tokens.put({std::move(token), value_, keys_, resources_, how_.min_hold});
    const bool lets_go = dice_.happens(0.4);
    tell([&] { return std::string("hands over its token") + (lets_go ? ", and lets go" : ""); });
    if (!lets_go) return false;
    ++step_;
    held_.reset();
    lease_.detach();
    think();
    return true;
}

// False where nobody has handed over a token.
bool worker::take_over() {
    auto token = in_->around().tokens.take(dice_);
    if (!token) return false;
    token_ = std::move(*token);
    is_busy_ = true;
    resources_ = token_.resources;
    const duration longest = in_->terms().longest_ttl;
    how_ = {.ttl = std::chrono::ceil<milliseconds>(dice_.between_orders(longest / 20, longest)),
            .renew = dice_.happens(0.65),
            .min_hold = token_.min_hold};
    how_.ttl = std::max<milliseconds>(how_.ttl, 10ms);
    tell([&] { return "takes over " + token_.keys.front() + " of " + token_.value; });
    if (dice_.happens(0.1)) plan(dice_.between_orders(10us, 100ms), &worker::cancel);
    begin<taking_over>(token_.text, how_);
    return true;
}

void worker::on_adopted(error_code outcome, std::shared_ptr<detail::lease_state> state) {
    ++step_;
    current_.reset();
    const auto& in = in_->around().in;
    check_time(2 * duration(in.longest_node_timeout()) + in.longest_opening() + 2ms, "an adoption");
    lease_checker& judge = in_->around().judge;
    judge.require(state != nullptr, "says why",
                  [&] { return name() + ": an adoption ended without a state"; });
    if (outcome) {
        tell([&] { return "can't take it over: " + outcome.message(); });
        judge.not_adopted(*in_, token_.value, began_, outcome);
        const bool is_over = outcome == errc::not_held && token_.min_hold == 0ms;
        for (const std::string& key : token_.keys) {
            if (is_over) in_->expect_gone(key, token_.value);
        }
        return plan(0ns, &worker::think);
    }
    judge.require(state->is_live(), "validity",
                  [&] { return name() + " took over a lease that is over"; });
    tell([&] { return std::string("has taken it over"); });
    hold(std::move(state));
    judge.adopted(*in_, held_, began_, how_);
    plan(0ns, &worker::keep);
}

}  // namespace redlock::simulation
