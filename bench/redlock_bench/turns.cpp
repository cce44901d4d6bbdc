// Which worker held one resource when, and the figures that follow from it.
// SPDX-License-Identifier: MIT
#include "turns.hpp"

#include "quantile.hpp"

#include <algorithm>
#include <tuple>

namespace bench {

namespace {

double us(std::int64_t from_ns, std::int64_t to_ns) {
    return static_cast<double>(to_ns - from_ns) * 1e-3;
}

// Jain's index: 1 when all are equal, 1 over their number when one has everything.
double fairness_of(const std::vector<double>& shares) {
    double sum = 0;
    double squares = 0;
    for (const double share : shares) {
        sum += share;
        squares += share * share;
    }
    return sum * sum / (static_cast<double>(shares.size()) * squares);
}

// The turn that follows in the order of fences, or of grants without fences, is the later.
bool overlap(const turn& before, const turn& after) {
    const bool fenced = before.fence != 0 || after.fence != 0;
    return after.granted_ns < before.released_ns || (fenced && after.fence <= before.fence);
}

void add_shares(const contest& what, contest_figures& into) {
    std::vector<double> shares(what.workers);
    double ended = 0;
    for (const turn& t : what.turns) {
        if (t.released_ns > what.when.end_ns) continue;
        ++shares[t.worker];
        ++ended;
    }
    into.turns_per_s = ended * 1e6 / us(what.when.begin_ns, what.when.end_ns);
    into.turns_times_section = into.turns_per_s * static_cast<double>(section_us) * 1e-6;
    into.fairness = fairness_of(shares);
}

void add_waits(const contest& what, contest_figures& into) {
    std::vector<double> waits;
    std::vector<double> held;
    for (const turn& t : what.turns) {
        waits.push_back(us(t.asked_ns, t.granted_ns));
        held.push_back(us(t.granted_ns, t.released_ns));
    }
    into.held_p50_us = quantile(held, 0.5);
    into.wait_p50_us = quantile(waits, 0.5);
    into.wait_p99_us = quantile(waits, 0.99);
    into.wait_p99_over_ideal = into.wait_p99_us / static_cast<double>(what.workers * section_us);
}

// The turns are in order.
void add_successions(const contest& what, contest_figures& into) {
    std::vector<double> gaps;
    std::vector<double> handovers;
    double changes = 0;
    for (std::size_t i = 1; i < what.turns.size(); ++i) {
        const turn& before = what.turns[i - 1];
        const turn& after = what.turns[i];
        if (overlap(before, after)) ++into.overlaps;
        gaps.push_back(us(before.released_ns, after.granted_ns));
        if (before.worker == after.worker) continue;
        handovers.push_back(gaps.back());
        if (after.granted_ns <= what.when.end_ns) ++changes;
    }
    into.next_grant_p50_us = quantile(gaps, 0.5);
    into.handover_p50_us = quantile(handovers, 0.5);
    into.handover_p99_us = quantile(handovers, 0.99);
    into.changes_of_holder_per_s = changes * 1e6 / us(what.when.begin_ns, what.when.end_ns);
}

}  // namespace

contest_figures figures_of(contest what) {
    std::sort(what.turns.begin(), what.turns.end(), [](const turn& a, const turn& b) {
        return std::tie(a.fence, a.granted_ns) < std::tie(b.fence, b.granted_ns);
    });
    contest_figures got;
    got.turns = what.turns.size();
    got.failures = what.failures;
    got.cpu_us_per_turn = what.cpu_us / static_cast<double>(got.turns);
    add_shares(what, got);
    add_waits(what, got);
    add_successions(what, got);
    return got;
}

}  // namespace bench
