// What the command says of refusals, beside the library's own words.
// SPDX-License-Identifier: MIT
#include "tools/exit_status.hpp"

#include "tests/support/catch.hpp"

#include <redlock/error.hpp>
#include <redlock/refusal.hpp>
#include <redlock/vote.hpp>

using namespace redlock;

TEST_CASE("where only quarantines were in the way, no node is to be fixed") {
    node_vote waits;
    waits.answer = vote::quarantine;
    waits.error = errc::in_quarantine;
    refusal why{errc::no_quorum, {waits, waits, {}}};
    REQUIRE(why.votes[2].answer == vote::pending);
    CHECK(tool::remedy_of_nodes(why).starts_with("they vote again by themselves"));
    why.votes[2].answer = vote::timed_out;
    why.votes[2].error = errc::timed_out;
    CHECK(tool::remedy_of_nodes(why).starts_with("fix these nodes"));
}
