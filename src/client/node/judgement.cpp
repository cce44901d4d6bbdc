// What an answer of a node is worth as a vote.
// SPDX-License-Identifier: MIT
#include "client/node/judgement.hpp"

#include <utility>

namespace redlock::detail {

wire::acquire_answer judgement::weigh(wire::acquire_answer answer) const {
    if (answer.answer == vote::stale && !believes(answer.fence)) {
        answer.answer = vote::refused;
        answer.why = {vote::refused, errc::clock_skew,
                      "its fence has run ahead of the nodes' clocks"};
    }
    if (answer.answer == vote::refused || is_vote()) return answer;
    answer.answer = against->why.answer;
    answer.why = against->why;
    answer.left = against->left;
    return answer;
}

// The next round has to propose a fence above the one that the node answered.
wire::compare_answer judgement::weigh(wire::compare_answer answer) const {
    if (answer.fence != 0 && !believes(answer.fence + 1)) answer = {};
    if (!is_vote()) answer.choice = core::choice::unable;
    return answer;
}

}  // namespace redlock::detail
