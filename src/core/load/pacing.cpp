// For how long a rate limiter takes a slot, and which grants count.
// SPDX-License-Identifier: MIT
#include "core/load/pacing.hpp"

#include "value/lease_terms.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace redlock::core {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

milliseconds pacing::ttl() const noexcept {
    const duration least = std::max<duration>(1ms, period_ / 100);
    const duration wanted = period_ + std::max<duration>(least, 2 * slowest_);
    if (wanted >= longest_ttl_) return longest_ttl_;
    // The share of the drift is taken of the whole ttl, so the sum is not enough.
    auto ttl = std::chrono::ceil<milliseconds>(wanted + drift_.allowance(wanted));
    while (ttl < longest_ttl_ && validity(ttl) < wanted) {
        const auto missing = std::chrono::ceil<milliseconds>(wanted - validity(ttl));
        ttl += std::max(missing, 1ms);
    }
    return std::min(ttl, longest_ttl_);
}

bool pacing::counts(milliseconds ttl, time_point valid_until, time_point now) noexcept {
    const time_point sent = valid_until - validity(ttl);
    slowest_ = std::max<duration>(now - sent, slowest_ / 2);
    return valid_until - now >= period_;
}

milliseconds pacing::longest_period(milliseconds longest_ttl, drift_policy drift) noexcept {
    return longest_kept(longest_ttl, drift);
}

namespace {

milliseconds time_until_free_in(node_mask list, std::span<const node_vote> votes,
                                milliseconds turn) {
    std::vector<milliseconds> times;
    for (const std::size_t i : list) {
        const node_vote& v = votes[i];
        switch (v.answer) {
            case vote::held: times.push_back(v.retry_in); break;
            case vote::queued: times.push_back(v.retry_in > 0ms ? v.retry_in : turn); break;
            case vote::granted:
            case vote::stale: times.push_back(0ms); break;
            default: break;
        }
    }
    if (times.empty()) return 1ms;
    // A node that did not answer in time, because the others had decided, is taken to be like them.
    const auto nth = times.begin() + static_cast<std::ptrdiff_t>(
                                         std::min(quorum(list.size()), times.size()) - 1);
    std::nth_element(times.begin(), nth, times.end());
    return std::max(*nth, 1ms);
}

}  // namespace

milliseconds time_until_free(std::span<const node_vote> votes, const node_lists& nodes,
                             milliseconds turn) {
    assert(votes.size() == nodes.size());
    return std::max(time_until_free_in(nodes.old(), votes, turn),
                    time_until_free_in(nodes.after(), votes, turn));
}

}  // namespace redlock::core
