// Looks at the candidates and at what they hold.
// SPDX-License-Identifier: MIT
#include "simulation/vacancy_checker.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

namespace redlock::simulation {

void vacancy_checker::look(const surroundings& around) {
    const time_point now = around.when.now();
    // A leader may come and go between two looks.
    vacant_since_ = around.judge.is_held() ? now
                                           : std::max(vacant_since_, around.judge.last_grant());
    for (std::size_t p = 0; p < programs_->size(); ++p) {
        std::size_t well = 0;
        for (std::size_t n = 0; n < plan_->nodes.size(); ++n) {
            well += around.well.is_well(p, n, now) ? 1 : 0;
        }
        const program& candidate = *(*programs_)[p];
        if (!candidate.is_running() || well < plan_->quorum()) fit_since_[p] = now;
        const duration vacant = now - std::max(vacant_since_, fit_since_[p]);
        around.judge.require(vacant <= *plan_->longest_vacancy, "a leader", [&] {
            return "nobody has led for " +
                   std::to_string(std::chrono::duration_cast<milliseconds>(vacant).count()) +
                   " ms, and " + candidate.name() + " has a quorum";
        });
    }
}

}  // namespace redlock::simulation
