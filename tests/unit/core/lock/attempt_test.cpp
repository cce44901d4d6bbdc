// One try to acquire: every vote vector against the brute force, and the validity to the 1 ns.
// SPDX-License-Identifier: MIT
#include "core/lock/attempt.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <limits>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::attempt;
using core::choice;
using core::testing::oracle;
using core::testing::plain_count;
using verdict = core::attempt::verdict;

namespace {

constexpr time_point sent = time_point(72h);
constexpr time_point end = sent + 97ms;  // 100 ms less 1 % and 2 ms

const std::vector<vote> common{vote::granted, vote::held, vote::stale, vote::refused,
                               vote::quarantine};
const std::vector<vote> all_votes{vote::granted,    vote::held,    vote::queued,    vote::stale,
                                  vote::quarantine, vote::refused, vote::timed_out,
                                  vote::unreachable};

attempt fresh(std::size_t nodes) { return attempt(nodes, sent, 100ms, {}); }

struct trying {
    explicit trying(std::size_t nodes) : machine(fresh(nodes)) {}
    attempt machine;
    plain_count votes;
    std::size_t stale = 0;  // they are among the no
    bool is_second = false;
    verdict expected = verdict::open;
    error_code reason;
};

// What the attempt should say after one more vote; it stands by what it said once. A vote that is
// stale is lost for this round and to be had in the next.
void foresee(trying& t, vote v, time_point now, oracle& o) {
    if (t.expected != verdict::open) return;
    if (v == vote::granted) ++t.votes.yes;
    else if (v == vote::held || v == vote::queued || v == vote::stale) ++t.votes.no;
    else ++t.votes.unable;
    t.stale += v == vote::stale ? 1U : 0U;
    const auto& view = o.at(t.votes);
    if (view.won) {
        t.expected = now < end ? verdict::granted : verdict::refused;
        if (now >= end) t.reason = errc::validity_exhausted;
        return;
    }
    // As if the stale ones had granted: that is what a second round is for.
    const plain_count next{t.votes.yes + t.stale, t.votes.no - t.stale, t.votes.unable};
    const auto& second = o.at(next);
    if (!t.is_second && second.won) {
        t.expected = verdict::again;
    } else if (!view.can_win && (t.is_second || !second.can_win)) {
        t.expected = verdict::refused;
        t.reason = view.can_answer ? errc::contended : errc::no_quorum;
    }
}

auto checked_step(oracle& o, time_point now = sent + 1ms) {
    return [&o, now](trying& t, std::size_t node, vote v) {
        foresee(t, v, now, o);
        const verdict said = t.machine.cast(node, v, now);
        if (said == t.expected && t.machine.state() == said && t.machine.reason() == t.reason) {
            return;
        }
        INFO("granted " << t.votes.yes << ", against " << t.votes.no << ", unable "
                        << t.votes.unable << "; last " << to_string(v) << " of node " << node);
        CHECK(said == t.expected);
        REQUIRE(t.machine.reason() == t.reason);
        REQUIRE(false);
    };
}

}  // namespace

TEST_CASE("only a grant is a yes, and only a node that could have granted says no") {
    CHECK(core::weigh(vote::pending) == choice::pending);
    CHECK(core::weigh(vote::granted) == choice::yes);
    CHECK(core::weigh(vote::stale) == choice::stale);
    for (const vote v : {vote::held, vote::queued}) {
        CHECK(core::weigh(v) == choice::no);
    }
    for (const vote v : {vote::quarantine, vote::refused, vote::timed_out, vote::unreachable}) {
        CHECK(core::weigh(v) == choice::unable);
    }
    CHECK(core::weigh(static_cast<vote>(200)) == choice::unable);
}

TEST_CASE("an attempt decides every vector in every order as soon as arithmetic allows") {
    const std::vector<std::size_t> sequences{0, 5, 50, 750, 15000, 375000};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::every_order(nodes, common, trying(nodes), checked_step(o)) ==
              sequences[nodes]);
    }
}

TEST_CASE("an attempt decides every vector of six and seven nodes as the brute force does") {
    const std::vector<vote> kinds{vote::granted, vote::held, vote::timed_out};
    for (const std::size_t nodes : {6U, 7U}) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, kinds, false, trying(nodes),
                                            checked_step(o)) == (nodes == 6 ? 729 : 2187));
    }
}

TEST_CASE("an attempt decides every multiset of all votes as the brute force does") {
    const std::vector<std::size_t> multisets{0, 8, 36, 120, 330, 792, 1716, 3432};
    for (std::size_t nodes = 1; nodes <= 7; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, all_votes, true, trying(nodes),
                                            checked_step(o)) == multisets[nodes]);
    }
}

TEST_CASE("the last nanosecond of the validity is still granted, the next is not") {
    for (std::size_t nodes = 1; nodes <= max_nodes; ++nodes) {
        const std::size_t quorum = nodes / 2 + 1;
        attempt in_time = fresh(nodes);
        CHECK(in_time.valid_until() == end);
        for (std::size_t node = 0; node + 1 < quorum; ++node) {
            REQUIRE(in_time.cast(node, vote::granted, sent) == verdict::open);
        }
        attempt late = in_time;
        CHECK(in_time.cast(quorum - 1, vote::granted, end - 1ns) == verdict::granted);
        CHECK_FALSE(in_time.reason());
        CHECK(late.cast(quorum - 1, vote::granted, end) == verdict::refused);
        CHECK(late.reason() == errc::validity_exhausted);
    }
}

TEST_CASE("an attempt without validity is never granted") {
    attempt a(1, sent, 2ms, {0.0, 2ms});
    CHECK(a.valid_until() == sent);
    CHECK(a.cast(0, vote::granted, sent) == verdict::refused);
    CHECK(a.reason() == errc::validity_exhausted);
    attempt b(1, sent, 1ms, {});
    CHECK(b.cast(0, vote::granted, sent) == verdict::refused);
}

TEST_CASE("an attempt that can no longer be granted in time is refused by the next answer") {
    for (const vote v : all_votes) {
        attempt a = fresh(5);
        INFO(to_string(v));
        CHECK(a.cast(0, v, end) == verdict::refused);
        CHECK(a.reason() == errc::validity_exhausted);
    }
    attempt just_in_time = fresh(5);
    CHECK(just_in_time.cast(0, vote::granted, end - 1ns) == verdict::open);
}

TEST_CASE("thirty-two nodes grant with the seventeenth and have lost with the sixteenth no") {
    attempt granted = fresh(32);
    for (std::size_t node = 0; node < 16; ++node) granted.cast(node, vote::granted, sent);
    CHECK(granted.state() == verdict::open);
    CHECK(granted.cast(31, vote::granted, sent) == verdict::granted);
    attempt contended = fresh(32);
    for (std::size_t node = 0; node < 15; ++node) contended.cast(node, vote::held, sent);
    CHECK(contended.state() == verdict::open);
    CHECK(contended.cast(31, vote::unreachable, sent) == verdict::refused);
    CHECK(contended.reason() == errc::contended);
}

TEST_CASE("a second vote of a node, and one of no node, change nothing") {
    for (std::size_t nodes = 1; nodes <= 9; ++nodes) {
        attempt a = fresh(nodes);
        const bool decided_by_one = nodes == 1;
        a.cast(0, vote::granted, sent);
        attempt b = fresh(nodes);
        b.cast(0, vote::held, sent);
        for (const vote v : all_votes) {
            for (int i = 0; i < 9; ++i) {
                a.cast(0, v, sent);
                b.cast(0, v, sent);
                a.cast(nodes, v, sent);
                b.cast(max_nodes, v, sent);
                a.cast(std::numeric_limits<std::size_t>::max(), v, sent);
            }
        }
        INFO("nodes: " << nodes);
        CHECK(a.state() == (decided_by_one ? verdict::granted : verdict::open));
        CHECK(b.state() == (nodes <= 2 ? verdict::refused : verdict::open));
        CHECK(b.reason() == (nodes <= 2 ? error_code(errc::contended) : error_code()));
    }
}

TEST_CASE("a pending vote is none") {
    attempt a = fresh(1);
    CHECK(a.cast(0, vote::pending, sent) == verdict::open);
    CHECK(a.cast(0, vote::granted, sent) == verdict::granted);
}

TEST_CASE("what comes after the verdict, even after the validity, changes nothing") {
    attempt granted = fresh(3);
    granted.cast(0, vote::granted, sent);
    granted.cast(1, vote::granted, sent);
    CHECK(granted.cast(2, vote::held, end + 1h) == verdict::granted);
    CHECK_FALSE(granted.reason());
    attempt refused = fresh(3);
    refused.cast(0, vote::held, sent);
    refused.cast(1, vote::held, sent);
    CHECK(refused.cast(2, vote::granted, end + 1h) == verdict::refused);
    CHECK(refused.reason() == errc::contended);
}

// --- the second round ------------------------------------------------------------------------

namespace {

constexpr time_point sent_again = sent + 50ms;
constexpr time_point end_again = sent_again + 97ms;

// Through the second round with every vector in every order, from each first round that ends so.
std::size_t second_rounds(std::size_t nodes, oracle& o) {
    std::size_t sequences = 0;
    trying second(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        // Granted by one of five, stale on the rest: nothing of that may count.
        second.machine.cast(i, i == 4 ? vote::granted : vote::stale, sent + 1ms);
    }
    REQUIRE(second.machine.state() == verdict::again);
    second.machine.begin_second(sent_again);
    REQUIRE(second.machine.state() == verdict::open);
    second.is_second = true;
    sequences += core::testing::every_order(nodes, common, second, checked_step(o, sent_again));
    return sequences;
}

attempt in_second(std::size_t nodes, std::size_t granted) {
    attempt a = fresh(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        a.cast(i, i < granted ? vote::granted : vote::stale, sent);
    }
    a.begin_second(sent_again);
    return a;
}

}  // namespace

TEST_CASE("the second round decides every vector in every order and is the last") {
    const std::vector<std::size_t> sequences{0, 5, 50, 750, 15000, 375000};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(second_rounds(nodes, o) == sequences[nodes]);
    }
}

TEST_CASE("no vote for the first fence counts for the second") {
    for (std::size_t nodes = 2; nodes <= 9; ++nodes) {
        const std::size_t quorum = nodes / 2 + 1;
        attempt a = in_second(nodes, quorum - 1);
        REQUIRE(a.state() == verdict::open);
        for (std::size_t i = 0; i + 1 < quorum; ++i) {
            REQUIRE(a.cast(nodes - 1 - i, vote::granted, sent_again) == verdict::open);
            REQUIRE(a.cast(nodes - 1 - i, vote::granted, sent_again) == verdict::open);
        }
        CHECK(a.cast(0, vote::granted, sent_again) == verdict::granted);
    }
}

TEST_CASE("there is no third round however many are stale") {
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        attempt a = in_second(nodes, 0);
        for (std::size_t i = 0; i < nodes; ++i) a.cast(i, vote::stale, sent_again);
        CHECK(a.state() == verdict::refused);
        CHECK(a.reason() == errc::contended);
        a.begin_second(sent_again + 1ms);
        CHECK(a.state() == verdict::refused);
    }
}

TEST_CASE("begin_second does nothing unless the votes call for a second round") {
    attempt open = fresh(3);
    open.cast(0, vote::granted, sent);
    open.begin_second(sent + 1s);
    CHECK(open.valid_until() == end);
    CHECK(open.cast(1, vote::granted, sent) == verdict::granted);
    open.begin_second(sent + 1s);
    CHECK(open.state() == verdict::granted);
    CHECK(open.valid_until() == end);
}

TEST_CASE("between the rounds no vote counts") {
    attempt a = fresh(3);
    a.cast(0, vote::stale, sent);
    REQUIRE(a.cast(1, vote::stale, sent) == verdict::again);
    CHECK(a.cast(2, vote::granted, sent) == verdict::again);
    a.begin_second(sent_again);
    CHECK(a.cast(2, vote::granted, sent_again) == verdict::open);
    CHECK(a.cast(0, vote::granted, sent_again) == verdict::granted);
}

TEST_CASE("the validity of the second round counts from its own sending to the nanosecond") {
    attempt in_time = in_second(3, 1);
    CHECK(in_time.valid_until() == end_again);
    in_time.cast(0, vote::granted, sent_again);
    attempt late = in_time;
    CHECK(in_time.cast(1, vote::granted, end_again - 1ns) == verdict::granted);
    CHECK(late.cast(1, vote::granted, end_again) == verdict::refused);
    CHECK(late.reason() == errc::validity_exhausted);
}

TEST_CASE("a first round that took the whole validity is not followed by a second") {
    attempt in_time = fresh(3);
    in_time.cast(0, vote::stale, end - 2ns);
    attempt late = in_time;
    CHECK(in_time.cast(1, vote::stale, end - 1ns) == verdict::again);
    CHECK(late.cast(1, vote::stale, end) == verdict::refused);
    CHECK(late.reason() == errc::validity_exhausted);
}

TEST_CASE("the second round begins as soon as those that answered can win it") {
    struct sequence {
        std::size_t nodes;
        std::vector<vote> votes;  // the last of them decides, and not one before
    };
    const std::vector<sequence> all{
        {1, {vote::stale}},
        {2, {vote::stale, vote::granted}},
        {3, {vote::granted, vote::stale}},
        {3, {vote::stale, vote::granted}},
        {3, {vote::stale, vote::stale}},
        {3, {vote::timed_out, vote::granted, vote::stale}},
        {3, {vote::held, vote::stale, vote::granted}},
        {4, {vote::granted, vote::stale, vote::granted}},
        {5, {vote::granted, vote::granted, vote::stale}},
        {5, {vote::stale, vote::held, vote::granted, vote::unreachable, vote::granted}},
    };
    for (const auto& s : all) {
        attempt a = fresh(s.nodes);
        for (std::size_t i = 0; i < s.votes.size(); ++i) {
            INFO(s.nodes << " nodes, vote " << i);
            const bool is_last = i + 1 == s.votes.size();
            CHECK(a.cast(i, s.votes[i], sent) == (is_last ? verdict::again : verdict::open));
        }
    }
}

TEST_CASE("without a stale vote there is no second round, however few have answered") {
    for (std::size_t nodes = 1; nodes <= max_nodes; ++nodes) {
        const std::size_t quorum = nodes / 2 + 1;
        attempt a = fresh(nodes);
        for (std::size_t node = 0; node + 1 < quorum; ++node) {
            REQUIRE(a.cast(node, vote::granted, sent) == verdict::open);
        }
        // The quorum was reached in the first round: a stale vote changes nothing then.
        attempt granted = a;
        CHECK(granted.cast(quorum - 1, vote::granted, sent) == verdict::granted);
        CHECK(granted.cast(quorum, vote::stale, sent) == verdict::granted);
        if (nodes > 1) CHECK(a.cast(quorum - 1, vote::stale, sent) == verdict::again);
    }
}
