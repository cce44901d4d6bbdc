// One worker of a simulated program: takes locks, keeps them for a while, gives them back; decides
// nothing about locks.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "simulation/chance.hpp"
#include "simulation/plan.hpp"
#include "simulation/program.hpp"
#include "simulation/tokens.hpp"

#include <redlock/clock.hpp>
#include <redlock/lease.hpp>
#include <redlock/limit_answer.hpp>
#include <redlock/loss.hpp>
#include <redlock/options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redlock::simulation {

/// Every step is a function that runs in a turn of the program. A step that was planned for a lease
/// or an operation which is over by then does nothing.
class worker {
public:
    worker(program& in, std::size_t index, chance dice);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// Takes a lock after a while, and so on.
    void think();
    /// Takes every resource once more, waiting for each for `patience` at most.
    void prove_alive(milliseconds patience, duration in_time);
    bool is_done() const noexcept { return !is_busy_; }
    /// The process is gone.
    void vanish();

    // Where the operations end.
    void on_acquired(error_code outcome, std::shared_ptr<detail::lease_state> state);
    void on_extended(error_code outcome, const detail::lease_state& of);
    void on_adopted(error_code outcome, std::shared_ptr<detail::lease_state> state);
    void on_downgraded(error_code outcome, const detail::lease_state& of, bool may_be_known);
    void on_called(const limit_answer& answer, std::uint16_t cost);
    void on_released(error_code outcome);
    void on_lost(error_code outcome, loss why, detail::lease_state& of, time_point since);

private:
    void plan(duration delay, void (worker::*step)());
    void take();
    void take(std::size_t resource, const acquire_options& how);
    void call();
    void call(std::uint16_t cost, milliseconds wait);
    void take_several(std::size_t count, const acquire_options& how);
    void take(std::vector<std::size_t> resources, const acquire_options& how);
    bool take_over();
    void hold(std::shared_ptr<detail::lease_state> state);
    bool hand_over();
    void expect_gone() const;
    owner_id own_owner() const;
    void prove_next();
    void keep();
    void lead();
    void look();
    void extend();
    bool may_downgrade();
    void downgrade();
    void cancel();
    void cancel_release();
    void let_go();
    void part_with(bool detaches);
    void give_back();
    void rest();
    duration until_burst() const;
    std::string name() const;
    template <class F>
    void tell(F&& say) const;
    template <class Operation, class... Args>
    void begin(Args&&... args);
    void check_votes(std::span<const node_vote> votes) const;
    void check_time(duration allowed, const char* what) const;
    void check_ttl() const;

    program* in_;
    std::size_t index_;
    chance dice_;
    std::uint64_t step_ = 0;  // what was planned before the last one is void
    bool is_busy_ = false;
    detail::operation_ptr current_;
    acquire_options how_{};
    std::vector<std::size_t> resources_;
    time_point began_{};
    std::uint64_t pauses_ = 0;  // of the program, when the operation began
    duration idle_before_{};    // of the resources, when they were requested
    std::shared_ptr<detail::lease_state> held_;
    std::vector<std::string> keys_;
    std::string value_;  // of its keys
    lease lease_;
    milliseconds asked_for_{};   // by the extension that is under way, or was last
    milliseconds extended_to_{};  // 0: not extended
    // One more than there are: all of them at once; two more: a call.
    std::vector<std::size_t> to_prove_;
    milliseconds patience_{};
    duration in_time_{};
    handed_token token_{};               // of the lease that it takes over
    bool has_called_off_ = false;  // this resource, while it proves that it gets it
};

template <class F>
void worker::tell(F&& say) const {
    in_->around().log.tell(in_->around().when.now(), [&] { return name() + "  " + say(); });
}

template <class Operation, class... Args>
void worker::begin(Args&&... args) {
    began_ = clock::now();
    pauses_ = in_->pauses();
    current_ = detail::operation_ptr(new Operation(*in_, *this, std::forward<Args>(args)...));
    in_->begin(current_);
}

}  // namespace redlock::simulation
