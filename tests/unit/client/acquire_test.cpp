// Acquiring a lease: carries out what its machine decides, and keeps the votes of each try.
// SPDX-License-Identifier: MIT
#include "client/acquire.hpp"

#include "core/queue.hpp"

#include "tests/support/catch.hpp"

#include <array>
#include <string>
#include <vector>

// What the caller of an acquire wants: names, kinds, places, and what is refused unsent.
namespace acquire_request_test {

using namespace redlock;
using namespace std::chrono_literals;
using detail::acquire_request;

namespace {

struct no_random final : detail::random_source {
    std::uint64_t random_word() override { return 0; }
    owner_id fresh_owner() override { return {}; }
};

struct fixture {
    client_options options{.nodes = std::vector<node_options>(3), .client_name = "c"};
    no_random random;
    detail::context shared{options, random};
};

resource_list pair() { return resource_list("a", "b"); }

}  // namespace

TEST_CASE("a list of one resource is a request for that resource") {
    fixture f;
    const acquire_request one(resource_list(std::vector<std::string>{"a"}), {.ttl = 10s});
    CHECK(one.keys() == 1);
    CHECK(one.shown() == "a");
    CHECK(&one.kind(f.shared) == &wire::fenced_lock);
    const acquire_request two(pair(), {.ttl = 10s});
    CHECK(two.keys() == 2);
    CHECK(two.resources()[1] == "b");
    CHECK(&two.kind(f.shared) == &wire::set_lock);
}

TEST_CASE("a request has as many places as its kind of lock") {
    fixture f;
    CHECK(acquire_request("a", {.ttl = 10s}).places(f.shared) == 1);
    CHECK(acquire_request("a", {.ttl = 10s, .slots = 4}).places(f.shared) == 4);
    CHECK(acquire_request("a", {.ttl = 10s, .mode = lock_mode::shared}).places(f.shared) ==
          core::local_queues::any_number);
}

TEST_CASE("a request that no node may get says why") {
    fixture f;
    CHECK(acquire_request("a", {.ttl = 10s}).why_invalid(f.options).empty());
    CHECK_FALSE(acquire_request("", {.ttl = 10s}).why_invalid(f.options).empty());
    CHECK_FALSE(acquire_request("a", {.ttl = -1s}).why_invalid(f.options).empty());
    CHECK(acquire_request(pair(), {.ttl = 10s}).why_invalid(f.options).empty());
    CHECK_FALSE(acquire_request(pair(), {.ttl = 10s, .slots = 2}).why_invalid(f.options).empty());
}

TEST_CASE("a wait of any length is bounded, so that no deadline overflows") {
    const acquire_request request("a", {.wait = std::chrono::milliseconds::max()});
    CHECK(request.options().wait < std::chrono::milliseconds::max());
}

TEST_CASE("at its end a request gives its names to the lease or the refusal") {
    acquire_request request(pair(), {.ttl = 10s});
    const std::string shown = request.shown();
    const auto all = request.finish({}, time_point(1s), {7, 8}, "why");
    CHECK(all.resource == shown);
    CHECK(all.several == std::vector<std::string>{"a", "b"});
    CHECK(all.ids.id == 7);
    CHECK(all.ids.parent == 8);
    CHECK(all.detail == "why");
}

}  // namespace acquire_request_test

// The votes of an acquire's tries, as its caller sees them.
namespace try_votes_test {

using namespace redlock;
using namespace std::chrono_literals;
using detail::try_votes;

namespace {

struct no_chance final : detail::random_source {
    std::uint64_t random_word() override { return 0; }
    owner_id fresh_owner() override { return {}; }
};

struct try_votes_fixture {
    client_options options{.nodes = std::vector<node_options>(3), .client_name = "c"};
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

}  // namespace try_votes_test
