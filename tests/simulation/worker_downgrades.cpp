// A simulated worker shares a lease that it has alone.
// SPDX-License-Identifier: MIT
#include "client/extend.hpp"
#include "simulation/program.hpp"
#include "simulation/watched.hpp"
#include "simulation/worker.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <utility>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

struct downgrading final : watched<detail::downgrade_operation, worker> {
    downgrading(program& in, worker& by, std::shared_ptr<detail::lease_state> what, bool known)
        : watched(in, by, what), of(std::move(what)), may_be_known(known) {}
    void complete(error_code outcome) override {
        ended().on_downgraded(outcome, *of, may_be_known);
    }
    std::shared_ptr<detail::lease_state> of;
    bool may_be_known;
};

}  // namespace

// Nothing is drawn where no writer does so: these worlds stay as they are.
bool worker::may_downgrade() {
    const double downgrades = in_->terms().downgrades;
    const bool is_kind = how_.mode == lock_mode::exclusive && how_.slots == 0 &&
                         how_.min_hold == 0ms && resources_.size() == 1;
    const bool is_taken_over = token_.value == value_;
    return downgrades > 0 && is_kind && !is_taken_over && dice_.happens(downgrades);
}

void worker::downgrade() {
    ++step_;
    const bool may_be_known = held_->is_known_elsewhere();
    tell([&] { return "shares " + held_->resource + (may_be_known ? ", as it may not" : ""); });
    if (!may_be_known) in_->around().judge.shares(*held_);
    const duration ttl = how_.ttl;
    plan(dice_.happens(0.2) ? dice_.between_orders(10us, ttl) : 2 * ttl, &worker::look);
    begin<downgrading>(held_, may_be_known);
}

void worker::on_downgraded(error_code outcome, const detail::lease_state& of, bool may_be_known) {
    current_.reset();
    const auto& in = in_->around().in;
    check_time(2 * duration(in.longest_node_timeout()) + in.longest_opening() + 2ms, "a downgrade");
    lease_checker& judge = in_->around().judge;
    judge.require(outcome || (of.is_live() && clock::now() < of.valid_until()), "validity",
                  [&] { return name() + " learns that it shares a lease, and that is over"; });
    judge.require(outcome || !may_be_known, "adoption",
                  [&] { return name() + " shares a lease whose token says otherwise"; });
    judge.require(outcome != errc::invalid_argument || may_be_known, "says why",
                  [&] { return name() + " may not share a lease that it has alone"; });
    if (!outcome) ++in_->around().counts.downgraded;
    tell([&] { return outcome ? "could not share it: " + outcome.message() : "shares it"; });
    if (!held_) return;
    ++step_;
    plan(dice_.between_orders(1ms, 2 * duration(how_.ttl)), &worker::look);
}

}  // namespace redlock::simulation
