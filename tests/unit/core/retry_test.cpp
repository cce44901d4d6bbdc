// When an acquire tries again, and for which of its keys a waiter waits.
// SPDX-License-Identifier: MIT
#include "core/retry.hpp"

#include "tests/support/catch.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

// When a waiter tries again: the nodes' answers, wake-ups, the bounds of its rest, the deadline;
// and the pauses of a leader whose work fails at once, and the rests after split votes.
namespace retry_test {

using namespace redlock;
using namespace std::chrono_literals;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point far = start + 24h;
constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

// The random word that makes the rest the longest of its window.
std::uint64_t longest_of(duration window) {
    return static_cast<std::uint64_t>((window - 5ms).count());
}

// What is left of the keys on the first nodes; the others tell nothing.
core::retry refused_with(std::vector<duration> left, std::size_t nodes = 5,
                         std::uint64_t random = longest_of(10ms)) {
    core::retry w(node_lists(nodes), far);
    w.tried(start);
    for (std::size_t i = 0; i < left.size(); ++i) {
        w.answered(i, {.free_at = start + left[i]}, start);
    }
    CHECK(w.refused(errc::contended, start, random, 0));
    return w;
}

duration sleep_of(const core::retry& w) { return w.next() - start; }

}  // namespace

TEST_CASE(
    "where nothing is worth waiting for it rests 5 ms at least, and up to a window that "
    "doubles to 100 ms") {
    const std::vector<duration> windows{10ms, 20ms, 40ms, 80ms, 100ms, 100ms, 100ms};
    for (const std::uint64_t random : {std::uint64_t{0}, all_ones}) {
        core::retry w(node_lists(5), far);
        for (const duration window : windows) {
            w.tried(start);
            REQUIRE(w.refused(errc::contended, start, random, 0));
            CHECK(sleep_of(w) >= 5ms);
            CHECK(sleep_of(w) <= window);
            if (random == 0) CHECK(sleep_of(w) == duration(5ms));
        }
    }
    core::retry longest(node_lists(5), far);
    for (const duration window : windows) {
        longest.tried(start);
        REQUIRE(longest.refused(errc::contended, start, longest_of(window), 0));
        CHECK(sleep_of(longest) == window);
    }
}

TEST_CASE("a crowd that rests tries 5,000 times a second, all taken together") {
    for (const std::size_t others : {0U, 250U, 251U, 5'000U, 100'000U}) {
        INFO(others << " others");
        std::mt19937_64 random(others);
        core::retry w(node_lists(3), far);
        duration sum{};
        for (int i = 0; i < 1'000; ++i) {
            w.tried(start);
            REQUIRE(w.refused(errc::no_quorum, start, random(), others));
            CHECK(w.is_resting());
            CHECK(sleep_of(w) >= 5ms);
            CHECK(sleep_of(w) <= std::max<duration>(100ms, others * 400us));
            sum += sleep_of(w);
        }
        CHECK(sum / 1'000 >= others * 180us);
    }
}

TEST_CASE("it rests no more when the nodes tell what to wait for") {
    core::retry w(node_lists(3), far);
    w.tried(start);
    REQUIRE(w.refused(errc::no_quorum, start, longest_of(10ms), 0));
    CHECK(w.is_resting());
    w.answered(0, {.free_at = start + 30s}, start);
    CHECK(w.is_resting());
    w.answered(1, {.free_at = start + 30s}, start);
    CHECK_FALSE(w.is_resting());
    CHECK(w.next() == start + 30s);
}

TEST_CASE("only what can end otherwise is tried again") {
    for (const errc why : {errc::contended, errc::no_quorum, errc::validity_exhausted}) {
        core::retry w(node_lists(5), far);
        w.tried(start);
        CHECK(w.refused(why, start, 0, 0));
    }
    const error_code aborted = boost::asio::error::operation_aborted;
    for (const error_code why :
         {error_code(errc::not_held), error_code(errc::lost), error_code(errc::client_closed),
          error_code(errc::invalid_argument), error_code(errc::would_deadlock),
          error_code(errc::auth_failed), error_code(errc::script_rejected), aborted,
          error_code()}) {
        core::retry w(node_lists(5), far);
        w.tried(start);
        INFO(why.message());
        CHECK_FALSE(w.refused(why, start, 0, 0));
    }
}

TEST_CASE("it sleeps until a quorum of nodes would let it have the key") {
    CHECK(sleep_of(refused_with({9s, 6s, 8s, 7s, 5s})) == duration(7s));
    CHECK(sleep_of(refused_with({9s, 8s, 7s, 6s})) == duration(7s));  // one tells nothing: two more
    CHECK(sleep_of(refused_with({9s, 8s, 7s})) == duration(7s));
    CHECK(sleep_of(refused_with({2ms, 2ms})) == duration(10ms));  // a quorum tells nothing: a rest
    CHECK(sleep_of(refused_with({9s, 8s}, 4)) == duration(8s));   // two of four are no quorum
    CHECK(sleep_of(refused_with({9s}, 2)) == duration(9s));
    CHECK(sleep_of(refused_with({9s}, 1)) == duration(9s));
}

TEST_CASE("a node lets us have the key when it is free and nobody may stand before us") {
    const auto free_at = [](duration left, duration before) {
        return core::look_ahead(left, before, start).free_at;
    };
    CHECK(free_at(0ms, 0ms) <= start);
    CHECK(free_at(7ms, 0ms) == start + 8ms);  // in its last ms it is still there
    CHECK(free_at(7ms, 5ms) == start + 8ms);
    CHECK(free_at(7ms, 9ms) == start + 9ms);
    CHECK(free_at(0ms, 9ms) == start + 9ms);
    CHECK(free_at(-1ms, 9ms) == time_point::max());
    CHECK(core::look_ahead(7ms, 0ms, start).first_at <= start);
    CHECK(core::look_ahead(-1ms, 9ms, start).first_at == start + 9ms);
}

TEST_CASE("any keys on any nodes give the sleep that the brute force finds") {
    std::mt19937_64 random(11);
    for (std::size_t nodes = 1; nodes <= 9; ++nodes) {
        for (std::size_t held = 0; held <= nodes; ++held) {
            for (int i = 0; i < 100; ++i) {
                std::vector<duration> keys(held);
                for (duration& k : keys) k = duration(1ms) * static_cast<int>(1 + random() % 14);
                auto sorted = keys;
                sorted.resize(nodes);  // the others have no key in the way
                std::sort(sorted.begin(), sorted.end());
                const duration nth = sorted[nodes / 2];
                const auto got = sleep_of(refused_with(keys, nodes));
                INFO(held << " keys on " << nodes << " nodes");
                REQUIRE(got == (nth > 0ms ? nth : duration(10ms)));
            }
        }
    }
}

TEST_CASE("keys that do not run out let nobody try before the end") {
    core::retry w(node_lists(3), start + 10s);
    w.tried(start);
    for (std::size_t i = 0; i < 3; ++i) w.answered(i, {.free_at = time_point::max()}, start);
    REQUIRE(w.refused(errc::contended, start, 0, 0));
    CHECK(sleep_of(w) == duration(10s - 10ms));
}

TEST_CASE("wake-ups of a quorum end the sleep, and those of fewer do not") {
    auto w = refused_with({9s, 9s, 9s, 9s, 9s});
    w.woken(0, start + 1s);
    w.woken(0, start + 1s);
    w.woken(1, start + 2s);
    CHECK(sleep_of(w) == duration(9s));
    w.woken(4, start + 3s);
    CHECK(sleep_of(w) == duration(3s));
}

TEST_CASE("a wake-up counts together with nodes that have nothing in the way") {
    auto w = refused_with({9s, 9s, 9s});
    w.woken(1, start + 1s);
    CHECK(sleep_of(w) == duration(1s));
}

TEST_CASE("a wake-up ends a rest, too, where a quorum voted and has nothing in the way") {
    auto w = refused_with({2ms, 0ms, 0ms}, 3);  // the votes were split
    w.woken(0, start + 1ms);
    CHECK(sleep_of(w) == duration(1ms));
}

// Else those that get the same minority would wake each other as fast as that answers: each of
// them gets the key there, and gives it back.
TEST_CASE("where no quorum may grant, no wake-up shortens the rest") {
    const duration held = GENERATE(duration(0), duration(30s));
    INFO("the keys of the nodes that have no part in it are left for " << held / 1s << " s");
    core::retry w(node_lists(5), far);
    for (const duration window : {10ms, 20ms, 40ms}) {
        w.tried(start);
        w.woken(0, start);
        w.answered(1, {}, start);
        // One can't be reached, and two are held, or can't vote.
        for (const std::size_t node : {2U, 3U}) {
            w.answered(node, {.free_at = start + held, .has_vote = held > 0ms}, start);
        }
        w.answered(4, {.has_vote = false}, start);
        REQUIRE(w.refused(errc::contended, start, longest_of(window), 0));
        CHECK(sleep_of(w) == window);
        for (const std::size_t node : {0U, 1U}) w.woken(node, start + 1ms);
        CHECK(sleep_of(w) == window);
        CHECK(w.is_resting());
    }
    w.woken(3, start + 2ms);  // its holder has gone
    CHECK(sleep_of(w) == duration(2ms));
}

TEST_CASE("a wake-up that comes while answers are outstanding is newer than these") {
    core::retry w(node_lists(3), far);
    w.tried(start);
    for (std::size_t i = 0; i < 2; ++i) {
        w.woken(i, start + 1ms);
        w.answered(i, {.free_at = start + 9s}, start);
    }
    w.answered(2, {.free_at = start + 9s}, start);
    REQUIRE(w.refused(errc::contended, start + 2ms, longest_of(10ms), 0));
    CHECK(sleep_of(w) == duration(2ms));  // at once
}

TEST_CASE("after a wake-up by a node only its answer to a later question counts") {
    auto w = refused_with({9s, 9s, 9s}, 3);
    w.woken(0, start + 1s);
    w.queried(node_mask::only(0));
    w.answered(0, {.free_at = start + 8s}, start);
    w.woken(1, start + 2s);
    CHECK(sleep_of(w) == duration(8s));
    w.queried(node_mask::only(0));
    w.answered(1, {.free_at = start + 8s}, start);  // not queried since
    w.answered(0, {.free_at = start + 3s}, start);
    CHECK(sleep_of(w) == duration(3s));
}

TEST_CASE("an attempt forgets the answers before it") {
    auto w = refused_with({9s, 9s, 9s}, 3);
    w.tried(start + 1s);
    REQUIRE(w.refused(errc::no_quorum, start + 1s, 0, 0));
    CHECK(sleep_of(w) == duration(1s + 5ms));
}

TEST_CASE("a sleep by a node's answer ends the growth of the rests") {
    core::retry w(node_lists(1), far);
    for (int i = 0; i < 6; ++i) {
        w.tried(start);
        REQUIRE(w.refused(errc::no_quorum, start, 0, 0));
    }
    w.tried(start);
    w.answered(0, {.free_at = start + 1s}, start);
    REQUIRE(w.refused(errc::contended, start, 0, 0));
    w.tried(start);
    REQUIRE(w.refused(errc::no_quorum, start, longest_of(10ms), 0));
    CHECK(sleep_of(w) == duration(10ms));
}

TEST_CASE("10 ms before the deadline it tries once more, and then no more than it would anyway") {
    core::retry w(node_lists(1), start + 1s);
    CHECK(w.deadline() == start + 1s);
    w.tried(start);
    w.answered(0, {.free_at = start + 5s}, start);
    REQUIRE(w.refused(errc::contended, start, 0, 0));
    CHECK(sleep_of(w) == duration(990ms));
    w.tried(start + 990ms);
    SECTION("nothing more to be hoped for") {
        w.answered(0, {.free_at = start + 5s}, start);
        REQUIRE(w.refused(errc::contended, start + 991ms, 0, 0));
        CHECK(sleep_of(w) == duration(1s));
    }
    SECTION("the key runs out in time") {
        w.answered(0, {.free_at = start + 995ms}, start);
        REQUIRE(w.refused(errc::contended, start + 991ms, 0, 0));
        CHECK(sleep_of(w) == duration(995ms));
    }
}

TEST_CASE("the next try is never after the deadline") {
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        std::mt19937_64 random(seed);
        const auto patience = duration(1ms) * static_cast<int>(random() % 3000);
        core::retry w(node_lists(5), start + patience);
        time_point now = start;
        for (int tries = 0; now < w.deadline(); ++tries) {
            REQUIRE(tries < 1000);
            w.tried(now);
            for (std::size_t i = 0; i < 5; ++i) {
                if (random() % 2 == 0)
                    w.answered(i, {.free_at = now + 1us * static_cast<int>(random() % 50'000)},
                               now);
            }
            REQUIRE(w.refused(errc::contended, now, random(), 0));
            REQUIRE(w.next() > now);
            REQUIRE(w.next() <= w.deadline());
            now = w.next();
        }
    }
}

namespace {

// Held by somebody foreign for a minute, as the nodes report it.
core::outlook foreign(std::size_t holder, time_point now, duration before = 0ms) {
    auto o = core::look_ahead(60s, before, now);
    o.is_foreign = true;
    o.holder = holder;
    return o;
}

// One try, which finds that holder on so many nodes of three; for how long it waits then.
duration look(core::retry& w, std::size_t holder, time_point now, std::size_t nodes = 3,
              std::uint64_t random = 0) {
    w.tried(now);
    for (std::size_t i = 0; i < 3; ++i) {
        core::outlook o = foreign(holder, now);
        o.is_foreign = i < nodes;
        w.answered(i, o, now);
    }
    REQUIRE(w.refused(errc::contended, now, random, 0));
    return w.next() - now;
}

}  // namespace

TEST_CASE("beside a foreign holder it looks again in 2 ms, and more seldom while that one stays") {
    for (const std::uint64_t random : {std::uint64_t{0}, all_ones}) {
        core::retry w(node_lists(3), far);
        time_point now = start;
        duration last = 0ms;
        int looks = 0;
        for (; now < start + 10s; ++looks) {
            const auto next = look(w, 1, now, 3, random);
            CHECK(w.is_resting());
            REQUIRE(next >= 2ms);
            REQUIRE(next <= 50ms);
            if (random == 0) REQUIRE(next >= last);
            last = next;
            now += next;
        }
        CHECK(last >= 40ms);
        CHECK(looks < 300);
        // Another one may be as quick as those before it.
        CHECK(look(w, 2, now, 3, random) <= 2500us);
    }
}

TEST_CASE("where foreign holders follow each other it goes on looking every 2 ms") {
    core::retry w(node_lists(3), far);
    time_point now = start;
    for (std::size_t holder = 1; holder < 1'000; ++holder) {
        const auto next = look(w, holder, now, 3, all_ones);
        REQUIRE(next <= 2500us);
        now += next;
    }
}

TEST_CASE("it looks for a foreign holder's sake only where that stands in its way") {
    core::retry w(node_lists(3), far);
    CHECK(look(w, 1, start, 0) == duration(60s + 1ms));
    CHECK(look(w, 1, start, 1) == duration(60s + 1ms));
    CHECK(look(w, 1, start, 2) < 3ms);
    SECTION("and not while others stand before it") {
        w.tried(start);
        for (std::size_t i = 0; i < 3; ++i) w.answered(i, foreign(1, start, 1500ms), start);
        REQUIRE(w.refused(errc::contended, start, 0, 0));
        CHECK_FALSE(w.is_resting());
        CHECK(sleep_of(w) == duration(1500ms));
    }
    SECTION("and tries when the keys run out, if that is sooner") {
        w.tried(start);
        auto o = core::look_ahead(200us, 0ms, start);
        o.is_foreign = true;
        for (std::size_t i = 0; i < 3; ++i) w.answered(i, o, start);
        REQUIRE(w.refused(errc::contended, start, all_ones, 0));
        CHECK(sleep_of(w) == duration(1200us));
    }
}

TEST_CASE("a sleeping waiter looks at once when a quorum answers with a foreign holder") {
    core::retry w(node_lists(3), far);
    look(w, 1, start, 0);
    CHECK_FALSE(w.is_resting());
    w.answered(0, foreign(1, start + 1s), start + 1s);
    CHECK(w.next() > start + 1s);
    w.answered(1, foreign(1, start + 1s), start + 1s);
    CHECK(w.next() <= start + 1s);
}

TEST_CASE("a crowd beside foreign holders looks 5,000 times a second, all taken together") {
    core::retry w(node_lists(3), far);
    w.tried(start);
    for (std::size_t i = 0; i < 3; ++i) w.answered(i, foreign(1, start), start);
    REQUIRE(w.refused(errc::contended, start, 399'999'000, 1'000));
    CHECK(sleep_of(w) > 400ms);
}

TEST_CASE("a holder that leaves early without a wake-up counts as foreign, and so do later ones") {
    core::retry w(node_lists(3), far);
    look(w, 1, start, 0);
    const bool was_listening = GENERATE(true, false);
    const bool ran_out = GENERATE(true, false);
    const time_point now = start + (ran_out ? 61s : 1s);
    for (std::size_t i = 0; i < 2; ++i) {
        w.answered(i, {.free_at = now, .was_listening = was_listening}, now);
    }
    CHECK(w.next() <= now);
    const auto next = look(w, 2, now, 0);
    if (!was_listening || ran_out) {
        CHECK(next == duration(60s + 1ms));
        return;
    }
    CHECK(next < 3ms);
    // Until a wake-up comes.
    w.woken(0, now + 1ms);
    CHECK(look(w, 3, now + 2ms, 0) == duration(60s + 1ms));
}

TEST_CASE("votes are split where it has one itself and no holder has a quorum", "[split]") {
    const node_mask ours = node_mask::only(4);
    const auto with = [](const std::vector<std::size_t>& holders) {
        core::split_votes s;
        for (std::size_t i = 0; i < holders.size(); ++i) s.refused(i, vote::held, holders[i]);
        return s;
    };
    CHECK(with({7, 8, 9, 9}).is_split(node_lists(5), ours));
    CHECK_FALSE(with({7, 7}).is_split(node_lists(3), node_mask::only(2)));
    CHECK_FALSE(with({7, 8, 7, 7}).is_split(node_lists(5), ours));
    CHECK_FALSE(with({7, 8, 9, 9}).is_split(node_lists(5), {}));
    SECTION("a node that is still silent may have granted it, until a holder has a quorum") {
        CHECK(with({7}).may_be_split(node_lists(3), {}, node_mask::only(2)));
        CHECK(with({7, 7, 8}).may_be_split(node_lists(5), {}, node_mask::only(4)));
        CHECK_FALSE(with({7, 7, 7}).may_be_split(node_lists(5), {}, node_mask::only(4)));
        CHECK_FALSE(with({7}).may_be_split(node_lists(3), {}, {}));
        CHECK_FALSE(with({7}).may_be_split(node_lists(3), node_mask::only(2), node_mask::only(1)));
    }
    SECTION("plain keys name nobody: a quorum of them is a holder's, unless it has one itself") {
        CHECK(with({0, 0}).is_split(node_lists(3), node_mask::only(2)));
        CHECK(with({0}).may_be_split(node_lists(3), {}, node_mask::only(2)));
        CHECK_FALSE(with({0, 0}).may_be_split(node_lists(3), {}, node_mask::only(2)));
        core::split_votes s = with({0, 0});
        for (int tries = 1; tries < 3; ++tries) {
            REQUIRE(s.is_split(node_lists(3), node_mask::only(2)));
            REQUIRE(s.rest(node_lists(3), 1ms, 0, start));
            s.begin_round();
            s.refused(0, vote::held, 0);
            CHECK(s.is_split(node_lists(3), node_mask::only(2)));
            s.refused(1, vote::held, 0);
        }
        CHECK_FALSE(s.is_split(node_lists(3), node_mask::only(2)));
    }
    SECTION("waiters that are before it count together") {
        core::split_votes s;
        s.refused(0, vote::queued, 0);
        CHECK(s.is_split(node_lists(3), node_mask::only(2)));
        s.refused(1, vote::queued, 0);
        CHECK_FALSE(s.is_split(node_lists(3), node_mask::only(2)));
    }
    SECTION("another round knows nothing of the one before") {
        core::split_votes s = with({7, 7, 7});
        s.begin_round();
        s.refused(0, vote::held, 8);
        CHECK(s.is_split(node_lists(5), ours));
    }
}

TEST_CASE("after split votes it rests half to two round trips, doubled each time", "[split]") {
    const duration round_trip = GENERATE(1us, 1ms, 20ms);
    const bool is_long = GENERATE(false, true);
    const duration once = std::max<duration>(round_trip, 100us);
    const duration time = std::max<duration>(100ms, 16 * once);
    core::split_votes s;
    time_point now = start;
    CHECK_FALSE(s.is_over(far));
    duration least = once / 2;
    int rests = 0;
    for (;; ++rests, least *= 2) {
        const auto longest = static_cast<std::uint64_t>((3 * least).count());
        const auto next = s.rest(node_lists(3), round_trip, is_long ? longest : 0, now);
        CHECK(s.ends_at() == start + time);
        const duration rest = is_long ? 4 * least : least;
        if (now + rest >= start + time) {
            CHECK_FALSE(next);
            break;
        }
        REQUIRE(next);
        CHECK(*next == now + rest);
        now = *next;
        CHECK_FALSE(s.is_over(now));
    }
    CHECK(rests >= 3);
    CHECK(s.is_over(start + time));
}

TEST_CASE("each failure in a row doubles the pause, up to half a minute", "[retry]") {
    core::term_pauses pauses;
    CHECK(pauses.after(0s, 0) == 100ms);
    CHECK(pauses.after(999ms, 0) == 200ms);
    CHECK(pauses.after(5ms, 0) == 400ms);
    for (int i = 0; i < 20; ++i) pauses.after(1ms, 0);
    CHECK(pauses.after(1ms, 0) == 30s);
}

TEST_CASE("a term of a second is no failure, and ends the row", "[retry]") {
    core::term_pauses pauses;
    pauses.after(0s, 0);
    pauses.after(0s, 0);
    CHECK(pauses.after(1s, 0) == 0ms);
    CHECK(pauses.after(0s, 0) == 100ms);
}

TEST_CASE("jitter takes up to half of a pause", "[retry]") {
    for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{50}, std::uint64_t{51},
                                       std::uint64_t{12345678901}, UINT64_MAX}) {
        core::term_pauses pauses;
        const auto pause = pauses.after(0s, random);
        CHECK(pause >= 50ms);
        CHECK(pause <= 100ms);
    }
    core::term_pauses pauses;
    CHECK(pauses.after(0s, 50) == 50ms);
}

}  // namespace retry_test

// Which of several keys each node keeps from a waiter, by answers and wake-ups in any order.
namespace blocked_keys_test {

using namespace redlock;
using core::blocked_keys;

TEST_CASE("a node lets a waiter have its keys when it has woken it for each that was in the way") {
    blocked_keys keys(3);
    keys.queried(node_mask::first(2));
    keys.answered(0, 0b101);
    keys.answered(1, 0b100);
    CHECK_FALSE(keys.woken(0, 2));
    CHECK(keys.woken(1, 2));
    CHECK(keys.woken(0, 0));
    CHECK(keys.woken(0, 1));  // was not in the way
}

TEST_CASE("a wake-up that comes before an answer is newer than that answer") {
    blocked_keys keys(2);
    keys.queried(node_mask::only(0));
    CHECK(keys.woken(0, 1));
    keys.answered(0, 0b011);
    CHECK(keys.woken(0, 0));
}

TEST_CASE("an answer to a later question is newer than the wake-ups before it") {
    blocked_keys keys(2);
    keys.queried(node_mask::only(0));
    keys.answered(0, 0b01);
    CHECK(keys.woken(0, 0));
    keys.queried(node_mask::only(0));
    keys.answered(0, 0b11);
    CHECK_FALSE(keys.woken(0, 1));
    CHECK(keys.woken(0, 0));
}

TEST_CASE("the last of sixty-four keys is distinguished from the others") {
    blocked_keys keys(64);
    keys.answered(0, ~blocked_keys::keys{0});
    for (std::size_t i = 0; i < 63; ++i) CHECK_FALSE(keys.woken(0, i));
    CHECK(keys.woken(0, 63));
}

TEST_CASE("a node that names more keys than there are keeps nothing more from the waiter") {
    blocked_keys keys(2);
    keys.answered(0, ~blocked_keys::keys{0});
    CHECK_FALSE(keys.woken(0, 0));
    CHECK(keys.woken(0, 1));
}

TEST_CASE("an answer that names only what was freed meanwhile lets the waiter have its keys") {
    blocked_keys keys(3);
    CHECK_FALSE(keys.answered(0, 0b100));
    keys.queried(node_mask::only(0));
    CHECK_FALSE(keys.woken(0, 0));  // by what it reported before
    CHECK(keys.answered(0, 0b001));
    CHECK_FALSE(keys.answered(0, 0));
}

}  // namespace blocked_keys_test
