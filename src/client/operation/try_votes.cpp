// What each node answered to the tries of one acquire.
// SPDX-License-Identifier: MIT
#include "client/operation/try_votes.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace redlock::detail {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A fence is a node's time in us when it was drawn, or a little ahead of it.
milliseconds age_of(const wire::acquire_answer& answer, std::int64_t node_time_us) {
    if (answer.answer != vote::held || !answer.fence_is_its || answer.fence == 0) return {};
    const auto us = node_time_us - static_cast<std::int64_t>(answer.fence);
    return std::chrono::floor<milliseconds>(microseconds(std::max<std::int64_t>(us, 0)));
}

}  // namespace

void try_votes::set_all(const context& shared, vote answer, error_code why,
                        std::string_view detail) {
    votes_.assign(shared.size(), {});
    for (std::size_t i = 0; i < votes_.size(); ++i) {
        votes_[i].node = shared.name(i);
        votes_[i].change = shared.options().nodes[i].change;
        votes_[i].answer = answer;
        votes_[i].error = why;
        votes_[i].detail = detail;
    }
}

void try_votes::note(std::size_t node, const wire::acquire_answer& answer, const question& query,
                     time_point now) {
    assert(node < votes_.size() && answer.which < query.resources.size());
    node_vote& v = votes_[node];
    v.answer = answer.answer;
    v.error = answer.why.error;
    v.detail = answer.why.detail;
    const bool is_in_the_way = answer.answer == vote::held || answer.answer == vote::queued;
    if (is_in_the_way && query.resources.size() > 1) v.resource = query.resources[answer.which];
    if (answer.slots != 0 && answer.slots < query.slots) {
        v.detail += (v.detail.empty() ? "" : "; ");
        v.detail += "another program counts " + std::to_string(answer.slots) + " slots";
    }
    v.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - query.sent_at);
    v.retry_in = answer.left;
    v.held_for = query.node_time_us ? age_of(answer, *query.node_time_us) : milliseconds(0);
    v.note = answer.note;
    v.fence = answer.answer == vote::granted && query.fence != 0 ? query.fence : answer.fence;
}

void try_votes::recall() {
    assert(before_.size() <= votes_.size());
    for (std::size_t i = 0; i < before_.size(); ++i) {
        if (votes_[i].answer == vote::pending) votes_[i] = std::move(before_[i]);
    }
}

}  // namespace redlock::detail
