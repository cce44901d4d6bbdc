// One process of a brief program: it does one thing, as a command of `redlock` does it, and ends;
// decides nothing about locks.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"
#include "simulation/tokens.hpp"

#include <redlock/lease.hpp>
#include <redlock/list_state.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace redlock::simulation {

class program;

class visitor {
public:
    visitor(program& in, chance dice);
    ~visitor();
    visitor(const visitor&) = delete;
    visitor& operator=(const visitor&) = delete;

    void begin();
    /// The process is gone.
    void vanish();

    // Where the operations end.
    void on_adopted(error_code outcome, std::shared_ptr<detail::lease_state> state);
    void on_released(error_code outcome);
    void on_declared(error_code outcome);
    void on_inspected(error_code outcome, const resource_state& found);
    void on_listed(error_code outcome);
    void on_revoked(error_code outcome, const revocation& done);
    void on_committed(error_code outcome, const commit_report& report);

private:
    struct adopting;
    struct releasing;
    struct declaring;
    struct inspecting;
    struct listing;
    struct revoking;
    struct committing;

    void use_token();
    void inspect();
    void look_again();
    void revoke(const resource_state& found);
    template <class Operation, class... Args>
    void begin(Args&&... args);
    template <class F>
    void tell(F&& say) const;

    program* in_;
    chance dice_;
    std::size_t resource_ = 0;
    time_point began_{};  // the operation, by the program's clock
    acquire_options how_{};
    bool releases_ = false;  // the lease of the token; else it extends it
    handed_token token_{};
    std::shared_ptr<detail::lease_state> held_;
    lease lease_;
};

}  // namespace redlock::simulation
