// What an answer of a node is worth as a vote.
// SPDX-License-Identifier: MIT
#include "client/node/judgement.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace redlock::detail;
using namespace std::chrono_literals;

namespace {

judgement of_a_voter(std::uint64_t highest_fence) {
    return {.against = {}, .highest_fence = highest_fence};
}

judgement of_one_in_quarantine() {
    return {.against = objection{{vote::quarantine, errc::in_quarantine, "why"}, 7ms},
            .highest_fence = 100};
}

}  // namespace

TEST_CASE("the answer of a node that may vote stands") {
    const auto j = of_a_voter(100);
    CHECK(j.is_vote());
    CHECK(j.weigh(wire::acquire_answer{.answer = vote::granted}).answer == vote::granted);
    const auto stale = j.weigh(wire::acquire_answer{.answer = vote::stale, .fence = 100});
    CHECK(stale.answer == vote::stale);
    CHECK(j.weigh(wire::compare_answer{.choice = core::choice::yes}).choice == core::choice::yes);
    CHECK(j.weigh(wire::compare_answer{.choice = core::choice::no, .fence = 99}).fence == 99);
}

TEST_CASE("no answer of a node that may have forgotten a lease is a vote") {
    const auto j = of_one_in_quarantine();
    CHECK_FALSE(j.is_vote());
    for (const vote said : {vote::granted, vote::held, vote::queued, vote::stale}) {
        const auto left = j.weigh(wire::acquire_answer{.answer = said, .fence = 5});
        CHECK(left.answer == vote::quarantine);
        CHECK(left.why.error == errc::in_quarantine);
        CHECK(left.left == 7ms);
    }
    for (const auto said : {core::choice::yes, core::choice::no}) {
        CHECK(j.weigh(wire::compare_answer{.choice = said}).choice == core::choice::unable);
    }
}

TEST_CASE("a node in quarantine that refuses names its own reason") {
    const wire::acquire_answer refused{.answer = vote::refused,
                                       .why = {vote::refused, errc::server_error, "OOM"}};
    const auto left = of_one_in_quarantine().weigh(refused);
    CHECK(left.answer == vote::refused);
    CHECK(left.why.error == errc::server_error);
}

TEST_CASE("a fence that no client can have drawn makes no round above it") {
    const auto j = of_a_voter(100);
    const auto left = j.weigh(wire::acquire_answer{.answer = vote::stale, .fence = 101});
    CHECK(left.answer == vote::refused);
    CHECK(left.why.error == errc::clock_skew);
    CHECK_FALSE(j.believes(101));

    // An extension goes out once more above the fence that the node told.
    const auto extension =
        j.weigh(wire::compare_answer{.choice = core::choice::no, .fence = 100});
    CHECK(extension.choice == core::choice::unable);
    CHECK(extension.fence == 0);
}

TEST_CASE("a holder's fence that can't be right does not hide the holder") {
    const auto left =
        of_a_voter(100).weigh(wire::acquire_answer{.answer = vote::held, .fence = 1'000});
    CHECK(left.answer == vote::held);
}
