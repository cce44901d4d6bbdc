// The rounds of an extension: which leases go out once more, above which fence, and with which ttl.
// SPDX-License-Identifier: MIT
#include "core/lock/extension_rounds.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using core::choice;
using core::extension_rounds;
using next = core::extension_rounds::next;
using verdict = core::extension::verdict;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point old_end = start + 50ms;
constexpr duration quorum_time = 10ms;

std::uint64_t us(duration d) {
    return static_cast<std::uint64_t>(std::chrono::microseconds(d / 1us).count());
}

struct rounds {
    extension_rounds machine;

    extension_rounds::fence_bounds begin(time_point now) {
        return machine.begin(3, {}, now, quorum_time);
    }
    verdict cast(std::size_t lease, std::size_t node, choice c, std::uint64_t seen_fence = 0,
                 time_point now = start + 1ms) {
        return machine.cast(lease, node, c, seen_fence, now, old_end);
    }
    // Node 0 has it, node 1 lost it and refuses the fence, node 2 does not answer.
    verdict refuse_by_fence(std::size_t lease, std::uint64_t seen_fence) {
        cast(lease, 0, choice::yes);
        cast(lease, 1, choice::no, seen_fence);
        return cast(lease, 2, choice::unable);
    }
};

}  // namespace

TEST_CASE("an extension is over when every lease of it has ended") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(200ms, false);
    r.begin(start);
    CHECK(r.machine.open() == 2);
    CHECK(r.cast(a, 0, choice::yes) == verdict::open);
    CHECK(r.cast(a, 1, choice::yes) == verdict::extended);
    CHECK(r.machine.valid_until(a) == start + 97ms);
    CHECK(r.machine.end(a));
    CHECK(r.machine.what_next() == next::wait);
    CHECK(r.machine.end(b));
    CHECK(r.machine.what_next() == next::finished);
}

TEST_CASE("a lease ends once") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    CHECK(r.machine.end(a));  // also before anything was sent
    CHECK_FALSE(r.machine.end(a));
    CHECK(r.machine.what_next() == next::finished);
}

TEST_CASE("the first round has no fence to pass") {
    rounds r;
    r.machine.add(100ms, false);
    const auto fence = r.begin(start);
    CHECK(fence.seen == 0);
    CHECK(fence.raised == 0);
}

TEST_CASE("leases that a fence refused go out once more, above all fences that were named") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(100ms, false);
    const auto done = r.machine.add(100ms, false);
    r.begin(start);
    CHECK(r.refuse_by_fence(a, 700) == verdict::again);
    CHECK(r.machine.what_next() == next::wait);  // for the others: all go together
    CHECK(r.refuse_by_fence(b, 900) == verdict::again);
    r.cast(done, 0, choice::yes);
    CHECK(r.cast(done, 1, choice::yes) == verdict::extended);
    r.machine.end(done);
    REQUIRE(r.machine.what_next() == next::begin);
    const auto fence = r.begin(start + 4ms);
    CHECK(fence.seen == 900);
    CHECK(fence.raised == 900 + us(4ms + quorum_time));
    CHECK(r.machine.round() == 2);
    CHECK(r.machine.open() == 2);
    CHECK_FALSE(r.machine.is_open(done));
    CHECK(r.machine.sent() == start + 4ms);
}

TEST_CASE("a fence that is named after the lease was decided counts for the next round") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(100ms, false);
    r.begin(start);
    r.cast(a, 0, choice::yes);
    r.cast(a, 1, choice::unable);
    CHECK(r.cast(a, 2, choice::no, 700) == verdict::again);
    CHECK(r.cast(a, 1, choice::no, 900) == verdict::open);
    r.machine.end(b);
    REQUIRE(r.machine.what_next() == next::begin);
    CHECK(r.begin(start + 1ms).seen == 900);
}

TEST_CASE("the next extension passes a fence that refused the lease, also where a quorum had it") {
    core::refused_fence known;
    known.note(700, start);
    rounds r;
    r.machine.add(100ms, false, &known);
    const auto fence = r.begin(start + 30ms);
    CHECK(fence.raised == 700 + us(30ms + quorum_time));  // a rival went on raising it
    CHECK(fence.seen == 0);  // one that has run too far ahead does not stop the renewal
}

TEST_CASE("leases that are prolonged together pass the fence that is raised furthest") {
    core::refused_fence earlier;
    earlier.note(4'000, start);
    core::refused_fence later;
    later.note(9'000, start + 20ms);
    rounds r;
    r.machine.add(100ms, false, &earlier);
    r.machine.add(100ms, false, &later);
    r.machine.add(100ms, false);
    CHECK(r.begin(start + 30ms).raised == 4'000 + us(30ms + quorum_time));
}

TEST_CASE("a refusal is remembered for as long as the ttl") {
    core::refused_fence known;
    known.note(700, start);
    for (const duration age : {100ms, 101ms}) {
        rounds r;
        r.machine.add(100ms, false, &known);
        CHECK((r.begin(start + age).raised != 0) == (age == 100ms));
    }
}

TEST_CASE("there is no third round") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    r.begin(start);
    REQUIRE(r.refuse_by_fence(a, 700) == verdict::again);
    r.begin(start + 1ms);
    CHECK(r.refuse_by_fence(a, 900) == verdict::failed);
    CHECK(r.machine.reason(a) == errc::no_quorum);
}

TEST_CASE("without further rounds leases that wait for one are to be ended") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(100ms, false);
    r.begin(start);
    REQUIRE(r.refuse_by_fence(a, 700) == verdict::again);
    r.machine.end_rounds();
    CHECK(r.machine.what_next() == next::wait);
    r.machine.end(a);
    r.machine.end(b);
    CHECK(r.machine.what_next() == next::finished);
}

TEST_CASE("only the holder's own extension sets the ttl of later renewals") {
    extension_rounds machine;
    const auto renewal = machine.add(100ms, false);
    const auto own = machine.add(200ms, true);
    CHECK(machine.new_ttl(renewal) == std::nullopt);
    CHECK(machine.new_ttl(own) == duration(200ms));
    CHECK(machine.ttl(renewal) == 100ms);
}

TEST_CASE("a gap of our clock shortens what is on its way") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    r.begin(start);
    r.machine.shorten(30ms);
    CHECK(r.machine.valid_until(a) == start + 67ms);
}

TEST_CASE("an answer of nobody's fence is no refusal by the fence") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    r.begin(start);
    r.cast(a, 0, choice::yes);
    r.cast(a, 1, choice::unable, 700);  // it named a fence, but has no vote
    CHECK(r.cast(a, 2, choice::unable) == verdict::failed);
    CHECK(r.machine.reason(a) == errc::no_quorum);
}

TEST_CASE("a lease that one node says was revoked fails alone") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(100ms, false);
    r.begin(start);
    SECTION("in its round") {}
    SECTION("while it waits for another") {
        REQUIRE(r.refuse_by_fence(a, 700) == verdict::again);
    }
    CHECK(r.machine.revoke(a) == verdict::failed);
    CHECK(r.machine.reason(a) == errc::not_held);
    CHECK(r.machine.end(a));
    CHECK(r.machine.revoke(a) == verdict::open);  // that is known
    CHECK(r.cast(b, 0, choice::yes) == verdict::open);
    CHECK(r.cast(b, 1, choice::yes) == verdict::extended);
    r.machine.end(b);
    CHECK(r.machine.what_next() == next::finished);
}

TEST_CASE("while our clock stood still a rival went on raising the fence that refused the lease") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    r.begin(start);
    REQUIRE(r.refuse_by_fence(a, 700) == verdict::again);
    r.machine.shorten(30ms);
    CHECK(r.begin(start + 1ms).raised == 700 + us(1ms + 30ms + quorum_time));
}

TEST_CASE("a lease remembers the fence that a node refused, past the extension and its outcome") {
    core::refused_fence memory;
    {
        rounds r;
        const auto a = r.machine.add(100ms, false, &memory);
        r.begin(start);
        r.cast(a, 0, choice::yes);
        r.cast(a, 1, choice::yes);
        r.cast(a, 2, choice::no, 900);  // it was extended by then
    }
    rounds next;
    next.machine.add(100ms, false, &memory);
    CHECK(next.begin(start + 30ms).raised == 900 + us(30ms + quorum_time));
}
