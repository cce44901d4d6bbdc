// The votes of an acquire's tries, as its caller sees them.
// SPDX-License-Identifier: MIT
#include "client/operation/try_votes.hpp"

#include "tests/support/catch.hpp"

#include <array>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using detail::try_votes;

namespace {

struct no_chance final : detail::random_source {
    std::uint64_t random_word() override { return 0; }
    owner_id fresh_owner() override { return {}; }
};

struct try_votes_fixture {
    client_options options{.nodes = std::vector<node_options>(3)};
    no_chance random;
    detail::context shared{options, random};
    try_votes votes;
};

constexpr time_point sent = time_point(72h);
const std::array<std::string, 2> names{"a", "b"};

}  // namespace

TEST_CASE("a node that has not answered a try is shown as it answered the one before") {
    try_votes_fixture f;
    f.votes.next_try();
    f.votes.set_all(f.shared, vote::pending, {}, {});
    f.votes.note(1, {.answer = vote::held}, {names, 0, 0, sent}, sent + 3ms);
    f.votes.next_try();
    f.votes.set_all(f.shared, vote::pending, {}, {});
    f.votes.note(0, {.answer = vote::stale}, {names, 0, 0, sent}, sent + 3ms);
    f.votes.recall();
    CHECK(f.votes.all()[0].answer == vote::stale);
    CHECK(f.votes.all()[1].answer == vote::held);
    CHECK(f.votes.all()[2].answer == vote::pending);
}

TEST_CASE("a vote says which of several resources is in the way, and after how long") {
    try_votes_fixture f;
    f.votes.set_all(f.shared, vote::pending, {}, {});
    f.votes.note(0, {.answer = vote::held, .which = 1}, {names, 0, 0, sent}, sent + 3ms);
    f.votes.note(1, {.answer = vote::granted, .which = 1}, {names, 0, 77, sent}, sent + 4ms);
    CHECK(f.votes.all()[0].resource == "b");
    CHECK(f.votes.all()[0].elapsed == 3ms);
    CHECK(f.votes.all()[1].resource.empty());
    CHECK(f.votes.all()[1].fence == 77);
}

TEST_CASE("a vote says that another program counts fewer slots") {
    try_votes_fixture f;
    f.votes.set_all(f.shared, vote::pending, {}, {});
    f.votes.note(0, {.answer = vote::held, .slots = 2}, {{names.data(), 1}, 3, 0, sent}, sent);
    f.votes.note(1, {.answer = vote::held, .slots = 3}, {{names.data(), 1}, 3, 0, sent}, sent);
    CHECK(f.votes.all()[0].detail == "another program counts 2 slots");
    CHECK(f.votes.all()[1].detail.empty());
}
