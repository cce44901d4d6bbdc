// Delta debugging over the faults, then over the programs and nodes.
// SPDX-License-Identifier: MIT
#include "simulation/shrink.hpp"

#include <algorithm>
#include <utility>

namespace redlock::simulation {

outcome run_quietly(const plan& what) {
    story nobody;
    return world(what, nobody).run();
}

namespace {

class shrinking {
public:
    shrinking(plan broken, const violation& how, int runs)
        : best_(std::move(broken)), checker_(how.checker), runs_(runs) {}

    plan shrink() {
        // Where nobody is to be refused, programs rely on each change that an operator ends.
        const bool may_drop = !best_.changes_lists || best_.is_only_safe;
        for (std::size_t piece = std::max<std::size_t>(best_.faults.size() / 2, 1); may_drop;
             piece /= 2) {
            drop_faults(piece);
            if (piece <= 1) break;
        }
        drop_people();
        if (may_drop) drop_faults(1);
        return best_;
    }

private:
    bool keep_if_broken(plan candidate) {
        if (runs_-- <= 0) return false;
        const auto result = run_quietly(candidate);
        if (!result.broken || result.broken->checker != checker_) return false;
        best_ = std::move(candidate);
        return true;
    }

    void drop_faults(std::size_t piece) {
        for (std::size_t at = 0; at < best_.faults.size();) {
            plan less = best_;
            const auto from = less.faults.begin() + static_cast<std::ptrdiff_t>(at);
            const auto count = std::min(piece, best_.faults.size() - at);
            less.faults.erase(from, from + static_cast<std::ptrdiff_t>(count));
            if (!keep_if_broken(std::move(less))) at += piece;
        }
    }

    void drop_people() {
        plan alone = best_;
        alone.foreigners.clear();
        keep_if_broken(std::move(alone));
        for (std::size_t i = 0; i < best_.programs.size(); ++i) {
            if (best_.programs[i].workers == 0) continue;
            // One without workers asks for nothing; the others keep their numbers.
            plan less = best_;
            less.programs[i].workers = 0;
            if (keep_if_broken(std::move(less))) continue;
            while (best_.programs[i].workers > 1) {
                plan fewer = best_;
                --fewer.programs[i].workers;
                if (!keep_if_broken(std::move(fewer))) break;
            }
        }
    }

    plan best_;
    std::string checker_;
    int runs_;
};

}  // namespace

plan shrink(plan broken, const violation& how, int runs) {
    return shrinking(std::move(broken), how, runs).shrink();
}

}  // namespace redlock::simulation
