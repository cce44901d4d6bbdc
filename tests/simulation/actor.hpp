// What one program does in a small world, a step at a time; when is not its to decide.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/lease.hpp"
#include "simulation/plan.hpp"
#include "simulation/program.hpp"

#include <redlock/options.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace redlock::simulation {

/// Asks for the one resource there is, and gives back what it got.
class actor {
public:
    enum class stage : std::uint8_t { before, asking, holding, giving_back, committing, after };

    actor(program& in, int turns, const acquire_options& how)
        : in_(&in), turns_(turns), how_(how) {}

    stage at() const noexcept { return at_; }
    bool has_more_to_do() const noexcept { return turns_ > 1; }
    /// It gave back what it had, or was refused, at least once.
    bool has_parted() const noexcept { return has_parted_; }
    bool is_extending() const noexcept { return extension_ != nullptr; }
    bool is_committing() const noexcept { return at_ == stage::committing; }
    bool has_committed() const noexcept { return has_committed_; }
    void ask(milliseconds wait = milliseconds(0));
    void cancel();
    void extend();
    /// Ends the change of the list that its program has. `may_fail`: answers may come too late.
    void commit(bool may_fail);
    void give_back();
    /// From now on it keeps nothing, and takes each lock that it asks for.
    void prove_alive();
    void rest() noexcept { is_resting_ = true; }

private:
    struct acquiring;
    struct extending;
    struct releasing;
    struct committing;

    template <class Operation, class... Args>
    detail::operation_ptr begin(Args&&... args);
    void on_acquired(error_code outcome, std::shared_ptr<detail::lease_state> state);
    void on_released();
    void on_committed(error_code outcome, const std::string& detail);
    void pass_on() {
        has_parted_ = true;
        at_ = --turns_ > 0 ? stage::before : stage::after;
    }
    void tell(const std::string& what) const {
        in_->around().log.tell(in_->around().when.now(),
                                [&] { return in_->name() + "  " + what; });
    }

    program* in_;
    int turns_;
    acquire_options how_;
    stage at_ = turns_ > 0 ? stage::before : stage::after;
    bool has_parted_ = false;
    bool is_resting_ = false;
    bool may_fail_ = false;  // to commit
    bool has_committed_ = false;
    bool must_succeed_ = false;
    time_point began_{};
    detail::operation_ptr acquire_;
    detail::operation_ptr extension_;
    std::shared_ptr<detail::lease_state> held_;
};

}  // namespace redlock::simulation
