// The steps of a program of a small world.
// SPDX-License-Identifier: MIT
#include "simulation/actor.hpp"

#include "client/acquire.hpp"
#include "client/commit.hpp"
#include "client/extend.hpp"
#include "client/release.hpp"
#include "simulation/watched.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <utility>

namespace redlock::simulation {

using namespace std::chrono_literals;

struct actor::acquiring final : watched<detail::acquire_operation, actor> {
    using watched::watched;
    void complete(error_code outcome, std::shared_ptr<detail::lease_state> state) override {
        ended().on_acquired(outcome, std::move(state));
    }
};
struct actor::extending final : watched<detail::extend_operation, actor> {
    using watched::watched;
    void complete(error_code) override { ended().extension_.reset(); }
};
struct actor::releasing final : watched<detail::release_operation, actor> {
    using watched::watched;
    void complete(error_code) override { ended().on_released(); }
};
struct actor::committing final : watched<detail::commit_operation, actor> {
    using watched::watched;
    void complete(error_code outcome, commit_report report) override {
        ended().on_committed(outcome, report.detail);
    }
};

template <class Operation, class... Args>
detail::operation_ptr actor::begin(Args&&... args) {
    detail::operation_ptr what(new Operation(*in_, *this, std::forward<Args>(args)...));
    in_->begin(what);
    return what;
}

void actor::ask(milliseconds wait) {
    in_->deliver([this, wait] {
        at_ = stage::asking;
        began_ = clock::now();
        how_.wait = wait;
        acquire_ = begin<acquiring>(resource_name(0), how_);
    });
}

void actor::cancel() {
    in_->deliver([this] { in_->cancel(*std::exchange(acquire_, nullptr)); });
}

void actor::extend() {
    in_->deliver([this] { extension_ = begin<extending>(held_, how_.ttl); });
}

void actor::commit(bool may_fail) {
    in_->deliver([this, may_fail] {
        at_ = stage::committing;
        may_fail_ = may_fail;
        begin<committing>(commit_options{.despite_old_programs = true});
    });
}

void actor::on_committed(error_code outcome, const std::string& detail) {
    tell((outcome ? "ended no change: " + outcome.message() : "has ended the change") + ' ' + detail);
    in_->around().judge.require(!outcome || may_fail_, "available", [&] {
        return in_->name() + " could not end a change of the list: " + outcome.message();
    });
    has_committed_ = !outcome;
    pass_on();
}

void actor::on_acquired(error_code outcome, std::shared_ptr<detail::lease_state> state) {
    acquire_.reset();
    lease_checker& judge = in_->around().judge;
    judge.require(state != nullptr && state->votes.all().size() == in_->list_size(),
                  "says why",
                  [&] { return in_->name() + ": an acquire ended without a vote of each node"; });
    if (outcome) {
        tell("is refused: " + outcome.message());
        judge.require(!must_succeed_, "liveness",
                      [&] { return in_->name() + " could not take a lock that nobody holds"; });
        return pass_on();
    }
    judge.require(state->is_live(), "validity",
                  [&] { return in_->name() + " got a lease that is over"; });
    tell("holds the lock under fence " + std::to_string(state->fence));
    held_ = std::move(state);
    at_ = stage::holding;
    judge.granted(*in_, held_, began_, how_);
    if (is_resting_) in_->after(duration(0), [this] { give_back(); });
}

void actor::give_back() {
    in_->deliver([this] {
        if (at_ != stage::holding) return;
        at_ = stage::giving_back;
        has_parted_ = true;
        in_->around().judge.ended(*held_);
        held_->part();
        begin<releasing>(std::exchange(held_, nullptr));
    });
}

void actor::on_released() {
    tell("gave it back");
    pass_on();
}

void actor::prove_alive() {
    turns_ = 1;
    must_succeed_ = true;
    ask(30s);
}

}  // namespace redlock::simulation
