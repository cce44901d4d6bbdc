// Judges for how long nobody leads while some candidate can count on a quorum; changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/lease_checker.hpp"
#include "simulation/plan.hpp"
#include "simulation/program.hpp"

#include <memory>
#include <vector>

namespace redlock::simulation {

/// Time counts where a program runs, a quorum of nodes is well for it, and no lease is valid, all
/// of it without a break.
class vacancy_checker {
public:
    vacancy_checker(const plan& in, const std::vector<std::unique_ptr<program>>& candidates)
        : plan_(&in), programs_(&candidates), fit_since_(candidates.size(), beginning) {}

    /// What passed since the last look counts as it is now.
    void look(const surroundings& around);

private:
    const plan* plan_;
    const std::vector<std::unique_ptr<program>>* programs_;
    time_point vacant_since_ = beginning;
    std::vector<time_point> fit_since_;
};

}  // namespace redlock::simulation
