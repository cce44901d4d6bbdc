// Which nodes may vote, and since when: replicas, doubles, skewed clocks, lost data, new clusters.
// SPDX-License-Identifier: MIT
#include "core/eligibility.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

// The restart guard: which nodes may vote and since when, to the nanosecond.
namespace eligibility_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::eligibility;
using core::record_facts;
using core::server_facts;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point never = time_point::max();
constexpr std::int64_t noon = 1'700'000'000'000'000;
constexpr duration quarantine = 60s + 602ms;  // ttl_max, 1 % of it and 2 ms

eligibility three(bool is_on = true) { return eligibility(node_lists(3), is_on, 60s, {}); }

server_facts server(std::string run_id) { return {.run_id = std::move(run_id)}; }

server_facts replica(std::string run_id) {
    return {.run_id = std::move(run_id), .is_master = false};
}

// A record whose node has remembered everything for so long.
record_facts kept_for(duration d, std::chrono::milliseconds ttl_max = 60s) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(d).count();
    return {.exists = true, .epoch = "e", .time_us = noon, .since_us = noon - us,
            .cluster_since_us = noon - us, .ttl_max = ttl_max, .quarantine = ttl_max};
}

// A node's clock that shows cluster time, which is the one of `kept_for`.
constexpr core::clock_check at_noon{.time_us = noon, .cluster_us = noon};

// The record is read, and the clock compared with it: it had not stepped.
void tell(eligibility& g, std::size_t node, const record_facts& record, time_point now) {
    g.read(node, record, now);
    g.compared(node, at_noon, now);
}

record_facts open_record() {
    return {.exists = true, .epoch = "e", .time_us = noon, .since_us = 0, .ttl_max = 60s, .quarantine = 60s};
}

eligibility three_open() {
    eligibility g = three();
    for (std::size_t i = 0; i < 3; ++i) {
        g.met(i, server(std::string(1, static_cast<char>('a' + i))), start);
        tell(g, i, open_record(), start);
    }
    return g;
}

}  // namespace

TEST_CASE("a node that was never met has no vote and is worth asking") {
    const eligibility g = three();
    CHECK(g.votes_from(0) == never);
    CHECK(g.may_be_queried(0));
    CHECK(g.objection(0, start) == errc::in_quarantine);
    CHECK(g.quarantine_left(0, start) == 60s);
    CHECK(three(false).votes_from(0) == never);
    eligibility met_only = three();
    met_only.met(0, server("a"), start);
    CHECK(met_only.votes_from(0) == never);
}

TEST_CASE("without the guard a node that became a member lately votes a quarantine after the first look") {
    eligibility g = three(false);
    record_facts young{.time_us = noon, .quarantine = 60s, .offset = core::recorded_offset{0, 0, noon},
                       .waits_for_earlier = true};
    young.list.became_us = noon - 10'000'000;
    young.list.became_cluster_us = noon - 10'000'000;
    g.met(0, server("a"), start);
    g.read(0, young, start);
    CHECK(g.votes_from(0) == start + quarantine);
    CHECK(g.objection(0, start + quarantine - 1ns) == errc::in_quarantine);
    CHECK(g.settles_in(0, start) == quarantine);
    SECTION("also when it is read again, with a clock that was set ahead") {
        young.time_us += 3'600'000'000;
        g.read(0, young, start + 1s);
        CHECK(g.votes_from(0) == start + quarantine);
    }
    SECTION("and at once where that is long ago") {
        eligibility late = three(false);
        young.time_us += 3'600'000'000;
        late.met(0, server("a"), start);
        late.read(0, young, start);
        CHECK(late.votes_from(0) <= start);
    }
}

TEST_CASE("an open node votes in rounds that were sent before it was met") {
    const eligibility g = three_open();
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(g.votes_from(i) < start - 1h);
        CHECK_FALSE(g.objection(i, start));
        CHECK(g.quarantine_left(i, start) == 0ns);
    }
}

TEST_CASE("a node votes when it has remembered for ttl_max and the drift allowance") {
    eligibility g = three();
    g.met(0, server("a"), start);
    tell(g, 0, kept_for(0s), start);
    CHECK(g.votes_from(0) == start + quarantine);
    CHECK(g.objection(0, start + quarantine - 1ns) == errc::in_quarantine);
    CHECK_FALSE(g.objection(0, start + quarantine));
    CHECK(g.quarantine_left(0, start + 1s) == quarantine - 1s);
    CHECK(g.quarantine_left(0, start + 1h) == 0ns);
    CHECK(g.may_be_queried(0));
    tell(g, 0, kept_for(20s), start);
    CHECK(g.votes_from(0) == start + quarantine - 20s);
    tell(g, 0, kept_for(1h), start);
    CHECK(g.votes_from(0) == start + quarantine - 1h);
}

TEST_CASE("an answer that was long on its way puts the end of the quarantine off") {
    eligibility g = three();
    g.met(0, server("a"), start);
    tell(g, 0, kept_for(10s), start + 3s);
    CHECK(g.votes_from(0) == start + 3s + quarantine - 10s);
}

TEST_CASE("a node's clock that runs fast within the drift ends no quarantine early") {
    // It lost its data at `start` and counts a hundredth too much.
    for (int s = 0; s <= 60; ++s) {
        eligibility g = three();
        g.met(0, server("a"), start);
        tell(g, 0, kept_for(s * 1010ms), start + s * 1s);
        if (g.votes_from(0) < start + 60s) REQUIRE(g.votes_from(0) >= start + 60s);
    }
    SUCCEED();
}

TEST_CASE("a record from the future counts from now") {
    eligibility g = three();
    g.met(0, server("a"), start);
    tell(g, 0, kept_for(-1h), start);
    CHECK(g.votes_from(0) == start + quarantine);
}

TEST_CASE("a node without a record has no vote and neither has one that lost it") {
    eligibility g = three_open();
    tell(g, 0, {.time_us = noon}, start + 5s);
    CHECK(g.votes_from(0) == start + 5s + quarantine);
    tell(g, 0, kept_for(0s), start + 6s);
    CHECK(g.votes_from(0) == start + 6s + quarantine);
    tell(g, 0, open_record(), start + 7s);
    CHECK(g.votes_from(0) <= start);
    CHECK(g.votes_from(1) <= start);
}

TEST_CASE("the longest quarantine on any record counts for every node from when it is read") {
    eligibility g = three();
    CHECK(g.quarantine() == 60s);
    for (std::size_t i = 0; i < 2; ++i) {
        g.met(i, server(std::to_string(i)), start);
        tell(g, i, kept_for(0s, 1s), start);
    }
    CHECK(g.quarantine() == 1s);
    CHECK(g.ttl_max() == 1s);
    record_facts longer = kept_for(0s, 1s);
    longer.quarantine = 100s;
    tell(g, 1, longer, start);
    CHECK(g.quarantine() == 100s);
    CHECK(g.ttl_max() == 1s);
    CHECK(g.votes_from(0) == start + 101s + 2ms);
    CHECK(g.votes_from(1) == start + 101s + 2ms);
    CHECK(g.least_quarantine() == 1s);
}

TEST_CASE("leases keep to the ttl_max of a quorum of records") {
    eligibility g = three();
    CHECK(g.longest_lease() == 60s);
    g.read(0, kept_for(0s, 100s), start);
    CHECK(g.longest_lease() == 60s);  // no quorum is known
    g.read(1, kept_for(0s, 3s), start);
    CHECK(g.longest_lease() == 3s);
    g.read(2, kept_for(0s, 100s), start);
    CHECK(g.longest_lease() == 100s);
}

TEST_CASE("ttl_max is raised where every node has the quarantine of it") {
    eligibility g = three();
    const auto wanted = [&g](std::size_t on_record = 3) {
        const auto w = g.wanted(node_mask::first(on_record));
        return std::pair(w.quarantine, w.ttl_max);
    };
    using both = std::pair<std::chrono::milliseconds, std::chrono::milliseconds>;
    CHECK(wanted(0) == both(60s, 0s));
    record_facts r = kept_for(0s, 3s);
    for (std::size_t i = 0; i < 3; ++i) g.read(i, r, start);
    CHECK(wanted() == both(60s, 3s));
    r.quarantine = 60s;
    g.read(0, r, start);
    g.read(1, r, start);
    CHECK(wanted() == both(60s, 3s));
    g.read(2, r, start);
    CHECK(wanted() == both(60s, 60s));
    CHECK(wanted(2) == both(60s, 3s));  // one may have lost its record meanwhile
    SECTION("what another client raised it to is passed on") {
        r.quarantine = r.ttl_max = 2h;
        g.read(1, r, start);
        CHECK(wanted(2) == both(2h, 2h));
        SECTION("unless an operator has declared nodes new since") {
            record_facts declared = kept_for(0s, 3s);
            declared.init_us = GENERATE(as<std::int64_t>(), 0, noon);
            g.read(0, declared, start);
            CHECK(wanted(2) == both(60s, 3s));
        }
    }
}

TEST_CASE("a quorum of new records gets its first ttl_max, and fewer get none") {
    eligibility g = three();
    record_facts r = kept_for(0s);
    r.ttl_max = 0s;
    g.read(0, r, start);
    CHECK(g.wanted(node_mask::first(1)).ttl_max == 0s);
    g.read(1, r, start);
    CHECK(g.wanted(node_mask::first(2)).ttl_max == 60s);
    g.read(2, kept_for(0s, 3s), start);
    CHECK(g.wanted(node_mask::first(2)).ttl_max == 3s);
}

TEST_CASE("data of an earlier process have survived where a client saw it a short time ago") {
    eligibility g = three();
    record_facts r = kept_for(1h);
    r.is_of_earlier_process = true;
    g.met(0, server("a"), start);
    g.read(0, r, start);
    CHECK_FALSE(g.has_survived(0, 0s));  // no client has seen it
    r.offset = core::recorded_offset{5, 1, noon + 5};
    g.read(0, r, start);
    CHECK(g.has_survived(0, 60s - 1ns));
    CHECK_FALSE(g.has_survived(0, 60s));
    // Its clock has gone back since: it may have been seen at any time.
    CHECK(g.has_survived(0, -100ms));
    CHECK_FALSE(g.has_survived(0, -1s));
    SECTION("within the smallest quarantine") {
        g.read(1, kept_for(0s, 3s), start);
        CHECK(g.has_survived(0, 3s - 1ns));
        CHECK_FALSE(g.has_survived(0, 3s));
    }
    SECTION("and not before the latest declaration on any record") {
        record_facts declared = kept_for(1h);
        declared.init_us = noon;
        g.read(1, declared, start);
        CHECK(g.has_survived(0, 1s));
        declared.init_us = GENERATE(as<std::int64_t>(), 0, noon + 1);
        g.read(2, declared, start);
        CHECK_FALSE(g.has_survived(0, 1s));
    }
    SECTION("though another record of its own declaration was dated after it was seen") {
        r.init_us = noon;
        g.read(0, r, start);
        record_facts next = kept_for(1h);
        next.init_us = noon + 3'000;
        g.read(1, next, start);
        CHECK(g.has_survived(0, 1s));
        next.init_us = noon + 1'000'001;
        g.read(1, next, start);
        CHECK_FALSE(g.has_survived(0, 1s));
    }
}

TEST_CASE("a record that was written earlier than the one before it shows that the data went back") {
    eligibility g = three();
    g.met(0, server("a"), start);
    record_facts r = kept_for(10s);
    r.offset = core::recorded_offset{0, 1, noon};
    g.read(0, r, start);
    g.compared(0, at_noon, start);
    record_facts next = r;
    next.offset->seen_us = noon - 1;
    SECTION("under the same epoch or another") {
        if (GENERATE(false, true)) next.epoch = "another";
        g.read(0, next, start + 1s);
        CHECK(g.went_back(0));
        CHECK_FALSE(g.is_compared(0));
        g.read(0, next, start + 2s);
        CHECK(g.went_back(0));
        next.epoch = "struck";
        g.read(0, next, start + 3s);
        CHECK_FALSE(g.went_back(0));
    }
    SECTION("and so does one with fewer lifts, whatever its time: the clocks went back meanwhile") {
        next.offset->seen_us = noon + 60'000'000;
        r.floor.lifts = 1;
        r.epoch = "lifted";
        g.read(0, r, start + 1s);
        CHECK_FALSE(g.went_back(0));
        g.read(0, next, start + 2s);
        CHECK(g.went_back(0));
    }
    SECTION("but not one with more lifts, by clocks that went back") {
        next.floor.lifts = 1;
        g.read(0, next, start + 1s);
        CHECK_FALSE(g.went_back(0));
    }
    SECTION("but not where another client has struck it since: its clock went back") {
        next.epoch = "struck";
        next.cluster_since_us = noon + 1;
        g.read(0, next, start + 1s);
        CHECK_FALSE(g.went_back(0));
    }
    SECTION("nor where an operator has declared it new since") {
        next.epoch = "declared";
        next.init_us = GENERATE(as<std::int64_t>(), 0, noon + 1);
        g.read(0, next, start + 1s);
        CHECK_FALSE(g.went_back(0));
    }
}

TEST_CASE("a node has outlived its leases by the quarantine on its own record") {
    eligibility g = three();
    g.met(0, server("a"), start);
    tell(g, 0, kept_for(0s, 3s), start);
    record_facts longer = kept_for(0s, 3s);
    longer.quarantine = 1h;
    g.read(1, longer, start);
    constexpr duration three_seconds = 3s + 30ms + 2ms;
    CHECK_FALSE(g.has_outlived_leases(0, start + three_seconds - 1ns));
    CHECK(g.has_outlived_leases(0, start + three_seconds));
    longer.ttl_max = 1h;  // such leases may be alive
    g.read(1, longer, start);
    CHECK_FALSE(g.has_outlived_leases(0, start + three_seconds));
}

TEST_CASE("a node whose clock may have stepped has no vote until it is compared") {
    eligibility g = three_open();
    g.doubt(0);
    CHECK(g.votes_from(0) == never);
    CHECK_FALSE(g.is_compared(0));
    CHECK(g.objection(0, start) == errc::in_quarantine);
    CHECK(g.quarantine_left(0, start) == 0ns);
    CHECK(g.may_be_queried(0));
    CHECK(g.votes_from(1) <= start);
    g.read(0, open_record(), start + 1s);  // that alone says nothing of its clock
    CHECK(g.votes_from(0) == never);
    g.compared(0, at_noon, start + 2s);
    CHECK(g.votes_from(0) <= start);
}

TEST_CASE("a node that is greeted has no vote until its clock is compared") {
    eligibility g = three_open();
    g.met(0, server("a"), start);
    g.read(0, open_record(), start);
    CHECK(g.votes_from(0) == never);
    CHECK(g.objection(0, start) == errc::in_quarantine);
    g.compared(0, at_noon, start);
    CHECK(g.votes_from(0) <= start);
}

TEST_CASE("a node remembers for the shorter of the times that the two clocks tell") {
    const auto remembers = [](duration by_its_clock, std::optional<duration> in_cluster_time) {
        eligibility g = three();
        g.met(0, server("a"), start);
        record_facts r = kept_for(by_its_clock);
        r.cluster_since_us.reset();
        if (in_cluster_time) r.cluster_since_us = kept_for(*in_cluster_time).since_us;
        tell(g, 0, r, start);
        return start + quarantine - g.votes_from(0);
    };
    CHECK(remembers(10s, 20s) == 10s);
    CHECK(remembers(20s, 10s) == 10s);
    CHECK(remembers(20s, -10s) == 0s);
    CHECK(remembers(-20s, 10s) == 0s);
    CHECK(remembers(20s, std::nullopt) == 0s);
}

TEST_CASE("a new epoch is a memory that begins when it is read") {
    eligibility g = three_open();
    record_facts r = kept_for(1h);
    r.epoch = "another";
    g.read(0, r, start + 5s);
    CHECK(g.votes_from(0) == start + 5s + quarantine);
    g.compared(0, at_noon, start + 5s);
    CHECK(g.votes_from(0) == start + 5s + quarantine - 1h);
}

TEST_CASE("where one node belongs to another set no node has a vote") {
    const bool is_on = GENERATE(true, false);
    eligibility g = is_on ? three_open() : three(false);
    for (std::size_t i = 0; i < 3; ++i) g.met(i, server(std::to_string(i)), start);
    for (std::size_t i = 0; i < 3; ++i) tell(g, i, open_record(), start);
    g.read(1, {.time_us = noon, .list = {.set = "5:other"}, .standing = core::membership::standing::misfit}, start + 1s);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(g.objection(i, start + 1s) == errc::other_set);
        CHECK(g.votes_from(i) == never);
        CHECK_FALSE(g.may_be_queried(i));
    }
    CHECK(g.record_of(1).is_misfit());
    CHECK_FALSE(g.record_of(0).is_misfit());
    // It is met again, and fits: rounds that were sent before that count for nothing.
    g.met(1, server("b"), start + 9s);
    tell(g, 1, open_record(), start + 9s);
    for (std::size_t i = 0; i < 3; ++i) CHECK(g.votes_from(i) == start + 9s);
}

TEST_CASE("a skewed node has no vote and gets it back for rounds that are sent afterwards") {
    eligibility g = three_open();
    g.set_skewed(0, true, start + 1s);
    CHECK(g.votes_from(0) == never);
    CHECK(g.objection(0, start + 1s) == errc::clock_skew);
    CHECK_FALSE(g.may_be_queried(0));
    g.set_skewed(0, true, start + 2s);
    g.set_skewed(0, false, start + 3s);
    CHECK(g.votes_from(0) == start + 3s);
    g.set_skewed(0, false, start + 4s);
    CHECK(g.votes_from(0) == start + 3s);
    CHECK_FALSE(g.objection(0, start + 3s));
}

TEST_CASE("a replica has no vote until it is met as a master") {
    eligibility g = three_open();
    g.met(0, replica("a"), start + 1s);
    CHECK(g.votes_from(0) == never);
    CHECK(g.objection(0, start + 1s) == errc::not_master);
    CHECK_FALSE(g.may_be_queried(0));
    g.met(0, server("a"), start + 9s);
    tell(g, 0, open_record(), start + 9s);
    CHECK(g.votes_from(0) == start + 9s);
}

TEST_CASE("of one server under two names the one that was met first votes") {
    eligibility g = three_open();
    g.met(2, server("a"), start + 1s);
    CHECK(g.first_of(2) == 0);
    CHECK(g.first_of(0) == 0);
    CHECK(g.objection(2, start + 1s) == errc::duplicate_node);
    CHECK(g.votes_from(2) == never);
    CHECK_FALSE(g.may_be_queried(2));
    CHECK(g.votes_from(0) <= start);
    // Each of them is greeted again: nothing changes.
    g.met(0, server("a"), start + 2s);
    g.met(2, server("a"), start + 3s);
    CHECK(g.first_of(2) == 0);
}

TEST_CASE("the later name may come first in the list") {
    eligibility g = three();
    g.met(2, server("a"), start);
    g.met(0, server("a"), start);
    g.met(1, server("a"), start);
    CHECK(g.first_of(0) == 2);
    CHECK(g.first_of(1) == 2);
    CHECK(g.objection(0, start) == errc::duplicate_node);
    CHECK_FALSE(g.objection(2, start) == errc::duplicate_node);
}

TEST_CASE("a double gets the vote only for rounds sent after the first name left the server") {
    eligibility g = three_open();
    g.met(2, server("a"), start + 1s);
    tell(g, 2, open_record(), start + 1s);
    // No fact tells the guard that the first one's connection broke: it may have voted already.
    CHECK(g.votes_from(2) == never);
    g.met(0, server("z"), start + 5s);
    CHECK(g.first_of(2) == 2);
    CHECK(g.votes_from(2) == start + 5s);
    // Back again, it is the double now.
    g.met(0, server("a"), start + 6s);
    CHECK(g.first_of(0) == 2);
    CHECK(g.objection(0, start + 6s) == errc::duplicate_node);
    CHECK(g.votes_from(2) == start + 5s);
}

TEST_CASE("a doubled server that restarts has one vote all the while") {
    eligibility g = three_open();
    g.met(1, server("a"), start + 1s);
    g.met(1, server("a2"), start + 2s);
    tell(g, 1, open_record(), start + 2s);
    CHECK(g.votes_from(1) == start + 2s);
    CHECK(g.first_of(0) == 0);
    g.met(0, server("a2"), start + 3s);
    CHECK(g.first_of(0) == 1);
    CHECK(g.votes_from(0) == never);
}

TEST_CASE("a server that was met under another name votes only in rounds sent afterwards") {
    eligibility g = three();
    for (std::size_t i = 0; i < 2; ++i) {
        g.met(i, server(std::string(1, static_cast<char>('a' + i))), start);
        tell(g, i, open_record(), start);
    }
    // Its first name leads elsewhere now; it may have voted under that one already.
    g.met(1, server("c"), start + 1s);
    tell(g, 1, open_record(), start + 1s);
    CHECK(g.votes_from(1) <= start);
    g.met(2, server("b"), start + 2s);
    tell(g, 2, open_record(), start + 2s);
    CHECK(g.first_of(2) == 2);
    CHECK(g.votes_from(2) == start + 2s);
    CHECK_FALSE(g.objection(2, start + 2s));
    // Greeted again it is no other; nor is one that comes back to its own name.
    g.met(2, server("b"), start + 3s);
    tell(g, 2, open_record(), start + 3s);
    CHECK(g.votes_from(2) == start + 2s);
    g.met(0, server("x"), start + 4s);
    g.met(0, server("a"), start + 5s);
    tell(g, 0, open_record(), start + 5s);
    CHECK(g.votes_from(0) <= start);
}

TEST_CASE("servers that do not tell their run_id are nobody's double") {
    eligibility g = three(false);
    for (std::size_t i = 0; i < 3; ++i) g.met(i, server(""), start);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(g.first_of(i) == i);
        CHECK_FALSE(g.objection(i, start));
        CHECK(g.votes_from(i) <= start);
    }
}

TEST_CASE("nodes that were not met are nobody's double") {
    eligibility g = three();
    g.met(1, server("a"), start);
    CHECK(g.first_of(0) == 0);
    CHECK(g.first_of(1) == 1);
}

TEST_CASE("the reasons come in order of how little a client can do about them") {
    eligibility g = three_open();
    g.met(1, replica("a"), start);
    g.set_skewed(1, true, start);
    CHECK(g.objection(1, start) == errc::not_master);
    g.met(1, server("a"), start);
    CHECK(g.objection(1, start) == errc::duplicate_node);
    g.met(1, server("b"), start);
    CHECK(g.objection(1, start) == errc::clock_skew);
    // From one reason to another it was never fit.
    g.set_skewed(1, false, start + 8s);
    tell(g, 1, open_record(), start + 8s);
    CHECK(g.votes_from(1) == start + 8s);
}

TEST_CASE("with the guard off records count for nothing and the rest does") {
    eligibility g = three(false);
    g.met(0, server("a"), start);
    CHECK(g.votes_from(0) <= start);
    tell(g, 0, kept_for(0s), start);
    CHECK(g.votes_from(0) <= start);
    CHECK_FALSE(g.objection(0, start));
    g.doubt(0);
    CHECK(g.votes_from(0) <= start);
    g.met(1, server("a"), start);
    CHECK(g.objection(1, start) == errc::duplicate_node);
    g.met(2, replica("c"), start);
    CHECK(g.objection(2, start) == errc::not_master);
}

}  // namespace eligibility_test

// How long a node may keep a key, by its record.
namespace keep_limit_test {

using namespace redlock;
using namespace std::chrono_literals;

TEST_CASE("a guarded node keeps no key for longer than its record allows") {
    core::keep_limit limit;
    CHECK(limit.allows(duration::max()));
    core::record_facts record;
    record.exists = true;
    record.ttl_max = 10s;
    limit.set(record, true);
    CHECK(limit.allows(10s));
    CHECK_FALSE(limit.allows(10s + 1ns));
    CHECK(limit.ttl_max() == 10s);
    SECTION("without the guard there is no limit") {
        limit.set(record, false);
        CHECK(limit.allows(duration::max()));
    }
    SECTION("nor is there one without a record, or without a ttl_max on it") {
        limit.set({}, true);
        CHECK(limit.allows(duration::max()));
        record.ttl_max = 0ms;
        limit.set(record, true);
        CHECK(limit.allows(duration::max()));
    }
}

}  // namespace keep_limit_test

// How long acquires wait for the votes of the nodes, to the nanosecond.
namespace settling_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::settling;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point never = time_point::max();

settling waiting() {
    settling s(false, 500ms);
    s.start(start);
    return s;
}

}  // namespace

TEST_CASE("the wait is over as soon as nothing is worth it and once") {
    settling s = waiting();
    CHECK_FALSE(s.is_settled());
    CHECK_FALSE(s.settle(true, start + 1ms));
    CHECK(s.settle(false, start + 2ms));
    CHECK(s.is_settled());
    CHECK(s.deadline() == never);
    CHECK_FALSE(s.settle(false, start + 3ms));
}

TEST_CASE("nodes that never answer are waited for one connect_timeout") {
    settling s = waiting();
    CHECK(s.deadline() == start + 500ms);
    CHECK_FALSE(s.settle(true, start + 500ms - 1ns));
    CHECK(s.settle(true, start + 500ms));
}

TEST_CASE("nodes that are still being greeted at the deadline are waited for once more") {
    settling s = waiting();
    s.await_greeting(start + 500ms - 1ns);
    CHECK(s.deadline() == start + 500ms);
    s.await_greeting(start + 500ms);
    CHECK_FALSE(s.settle(true, start + 500ms));
    CHECK(s.deadline() == start + 1s);
    SECTION("and no longer") {
        s.await_greeting(start + 1s);
        CHECK(s.settle(true, start + 1s));
    }
    SECTION("and not once that is over") {
        CHECK(s.settle(false, start + 780ms));
        s.await_greeting(start + 1s);
        CHECK(s.deadline() == never);
    }
}

TEST_CASE("a command that may give a vote is waited for one node_timeout longer") {
    settling s = waiting();
    s.extend(start + 480ms, 50ms);
    CHECK(s.deadline() == start + 530ms);
    SECTION("but never is the wait made shorter") {
        s.extend(start + 1ms, 50ms);
        CHECK(s.deadline() == start + 530ms);
    }
    SECTION("and many commands one after the other no longer than one") {
        for (int i = 0; i < 100; ++i) s.extend(start + 490ms + i * 40ms, 50ms);
        CHECK(s.deadline() == start + 550ms);
    }
}

TEST_CASE("when a quorum votes the others are waited for as long again") {
    settling s = waiting();
    SECTION("as of when the quorum was first seen") {
        s.note_quorum(start + 3ms);
        s.note_quorum(start + 5ms);
        CHECK(s.deadline() == start + 6ms);
        CHECK_FALSE(s.settle(true, start + 6ms - 1ns));
        CHECK(s.settle(true, start + 6ms));
    }
    SECTION("and never longer than for the quorum") {
        s.note_quorum(start + 400ms);
        CHECK(s.deadline() == start + 500ms);
    }
    SECTION("that was there before an acquire came, since when it was being connected") {
        REQUIRE(s.settle(false, start + 3ms));
        s.take_up(start + 4ms);
        CHECK(s.deadline() == start + 500ms);
        s.note_quorum(start + 4ms);
        CHECK(s.deadline() == start + 8ms);
        REQUIRE(s.settle(false, start + 5ms));
        s.take_up(start + 1h);
        s.note_quorum(start + 1h + 2ms);
        CHECK(s.deadline() == start + 1h + 4ms);
    }
}

TEST_CASE("where clocks have still to be compared the wait is one node_timeout longer, from the start") {
    settling s = waiting();
    s.await_comparison(50ms);
    s.await_comparison(20ms);
    CHECK(s.deadline() == start + 550ms);
    CHECK_FALSE(s.settle(true, start + 500ms));
    s.extend(start + 500ms, 50ms);
    CHECK(s.deadline() == start + 550ms);
    REQUIRE(s.settle(true, start + 550ms));
    s.await_comparison(50ms);
    CHECK(s.deadline() == never);
}

TEST_CASE("what is settled is not extended and waits again where votes are in sight") {
    settling s = waiting();
    REQUIRE(s.settle(false, start + 1ms));
    s.extend(start + 2ms, 50ms);
    CHECK(s.deadline() == never);
    s.unsettle(start + 1h);
    CHECK_FALSE(s.is_settled());
    CHECK(s.deadline() == start + 1h + 500ms);
    // One after the other, nodes that come back would hold acquires up without end.
    s.unsettle(start + 1h + 400ms);
    CHECK(s.deadline() == start + 1h + 500ms);
}

TEST_CASE("without fencing acquires never wait") {
    settling s(true, 500ms);
    s.start(start);
    CHECK(s.is_settled());
    CHECK(s.deadline() == never);
}

}  // namespace settling_test

// The bootstrap of a cluster: by hand, and by clients of chance on nodes that break and forget.
namespace bootstrap_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::bootstrap;
using core::record_facts;
using task = core::bootstrap::task;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point never = time_point::max();
constexpr duration window = 30s;
constexpr std::int64_t noon = 1'700'000'000'000'000;

record_facts made_by(std::string mark) {
    return {.exists = true, .made = true, .epoch = "e", .time_us = noon, .since_us = noon,
            .ttl_max = 60s, .quarantine = 60s, .mark = std::move(mark)};
}

record_facts met_by(std::string mark, duration age = 1s) {
    record_facts r = made_by(std::move(mark));
    r.made = false;
    r.since_us = noon - std::chrono::duration_cast<std::chrono::microseconds>(age).count();
    return r;
}

const record_facts none{.time_us = noon};

bootstrap fresh(std::size_t nodes = 3, bool is_wanted = true) {
    bootstrap b(nodes, is_wanted, window, "m");
    b.keep_records();
    return b;
}

// The orders as text: "0 open, 1 open".
std::string due(bootstrap& b, time_point now) {
    static const std::map<task, std::string> names{{task::look, "look"},
                                                   {task::make, "make"},
                                                   {task::settle, "settle"},
                                                   {task::open, "open"},
                                                   {task::withdraw, "withdraw"}};
    std::string out;
    for (const auto& o : b.due(now)) {
        out += (out.empty() ? "" : ", ") + std::to_string(o.node) + ' ' + names.at(o.what);
    }
    return out;
}

}  // namespace

TEST_CASE("a client that found no record on any node opens all that it made") {
    bootstrap b = fresh();
    CHECK(b.is_pending());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(due(b, start).empty());
        b.found(i, made_by("m"), start);
    }
    CHECK(b.is_pending());
    CHECK(due(b, start + 1ms) == "0 open, 1 open, 2 open");
    CHECK(due(b, start + 2ms).empty());
    for (std::size_t i = 0; i < 3; ++i) b.done(i, start);
    CHECK_FALSE(b.is_pending());
    CHECK(b.deadline() == never);
}

TEST_CASE("a client that only looks makes nothing, and tells a new cluster") {
    bootstrap b(3, true, window, "m");
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK_FALSE(b.is_new_cluster());
        b.found(i, none, start);
        CHECK(due(b, start).empty());
    }
    CHECK(b.is_new_cluster());
    CHECK_FALSE(b.is_pending());
    CHECK(b.deadline() == never);
    SECTION("one record speaks against it") {
        b.found(1, met_by("", 1s), start);
        CHECK_FALSE(b.is_new_cluster());
    }
    SECTION("until it keeps records") {
        b.keep_records();
        CHECK(b.is_pending());
        CHECK(due(b, start) == "0 make, 1 make, 2 make");
    }
}

TEST_CASE("one node with a record is enough for none to be opened") {
    for (const auto& speaks_against :
         {met_by("", 1s), met_by("m", window), met_by("a", 5s), met_by("z", 1h)}) {
        for (std::size_t old = 0; old < 3; ++old) {
            bootstrap b = fresh();
            for (std::size_t i = 0; i < 3; ++i) {
                b.found(i, i == old ? speaks_against : made_by("m"), start);
            }
            CHECK(due(b, start).empty());
            CHECK_FALSE(b.is_pending());
            // Nor when it comes back empty.
            b.down(old);
            b.found(old, made_by(""), start);
            CHECK(due(b, start).empty());
        }
    }
}

TEST_CASE("an open node is never under way whatever mark it bears") {
    bootstrap b = fresh();
    record_facts open = met_by("a", 0s);
    open.since_us = 0;
    b.found(0, open, start);
    CHECK_FALSE(b.is_pending());
}

TEST_CASE("a connection that breaks after the record was made voids the bootstrap") {
    bootstrap b = fresh();
    b.found(0, made_by("m"), start);
    b.down(0);
    CHECK_FALSE(b.is_pending());
    // Not even where the node then has none again, and takes the mark by an earlier call.
    b.found(0, made_by("m"), start);
    b.found(1, made_by("m"), start);
    b.found(2, made_by("m"), start);
    CHECK(due(b, start).empty());
}

TEST_CASE("a make that was not answered voids the bootstrap and a look does not") {
    bootstrap b = fresh();
    for (std::size_t i = 0; i < 3; ++i) b.found(i, none, start);
    CHECK(due(b, start) == "0 make, 1 make, 2 make");
    b.down(0);
    for (std::size_t i = 1; i < 3; ++i) b.found(i, made_by("m"), start);
    b.found(0, made_by("m"), start);
    CHECK(due(b, start).empty());
    bootstrap c = fresh();
    c.found(0, made_by("m"), start);
    c.found(1, none, start);
    c.down(1);
    c.down(2);
    CHECK_FALSE(c.is_pending());  // a node that can't be reached may stay so
    c.found(1, made_by("m"), start + 2s);
    c.found(2, made_by("m"), start + 2s);
    CHECK(due(c, start + 2s) == "0 open, 1 open, 2 open");
}

TEST_CASE("all nodes are found new within the window or none is opened") {
    for (const bool in_time : {true, false}) {
        bootstrap b = fresh();
        b.found(0, made_by("m"), start);
        b.found(1, made_by("m"), start + 10s);
        const time_point last = start + window - (in_time ? 1ns : 0ns);
        b.found(2, made_by("m"), last);
        CHECK(due(b, last) == (in_time ? "0 open, 1 open, 2 open" : ""));
    }
}

TEST_CASE("a record counts as found at the instant when it was requested") {
    // The answer lay there while this client slept; what it says is as old as the question.
    bootstrap b = fresh();
    b.found(0, made_by("m"), start + 1h, start);
    b.found(1, made_by("m"), start + 1h, start + 1h);
    b.found(2, made_by("m"), start + 1h, start + 1h);
    CHECK(due(b, start + 1h).empty());
    bootstrap c = fresh();
    for (std::size_t i = 0; i < 3; ++i) c.found(i, none, start);
    REQUIRE(due(c, start) == "0 make, 1 make, 2 make");
    for (std::size_t i = 0; i < 3; ++i) c.found(i, made_by("m"), start + 1h);
    CHECK(due(c, start + 1h).empty());
}

TEST_CASE("of two clients the higher mark yields and takes back whatever it still gets") {
    bootstrap b = fresh();
    b.found(0, made_by("m"), start);
    b.found(1, met_by("a"), start);
    CHECK(due(b, start) == "0 withdraw");
    CHECK(b.is_pending());
    // The greeting of this one was under way.
    b.found(2, made_by("m"), start);
    CHECK(due(b, start) == "2 withdraw");
    b.done(0, start);
    b.done(2, start);
    CHECK(b.deadline() == start + 20ms);
    CHECK(due(b, start + 20ms) == "0 look, 1 look, 2 look");
    CHECK(b.deadline() == never);  // until one of them is answered
    b.found(0, none, start + 21ms);
    b.found(1, met_by("a"), start + 21ms);
    b.found(2, met_by("a"), start + 21ms);
    CHECK(b.deadline() == start + 40ms);
    CHECK(due(b, start + 40ms) == "0 look, 1 look, 2 look");
    for (std::size_t i = 0; i < 3; ++i) b.found(i, met_by(""), start + 41ms);
    CHECK_FALSE(b.is_pending());
    CHECK(b.deadline() == never);
    CHECK(due(b, start + 1h).empty());
}

TEST_CASE("of two clients the lower mark goes on and makes what the other takes back") {
    bootstrap b = fresh();
    b.found(0, made_by("m"), start);
    b.found(1, met_by("z"), start);
    b.found(2, made_by("m"), start);
    CHECK(due(b, start).empty());
    CHECK(b.deadline() == start + 20ms);
    CHECK(due(b, start + 20ms) == "1 make");
    b.found(1, met_by("z"), start + 21ms);
    CHECK(due(b, start + 40ms) == "1 make");
    b.found(1, made_by("m"), start + 41ms);
    CHECK(due(b, start + 41ms) == "0 open, 1 open, 2 open");
}

TEST_CASE("patience ends with the bootstrap that it was for") {
    // The other client took its mark back long ago; the last node comes late, within the window.
    bootstrap b = fresh();
    b.down(2);
    b.found(0, made_by("m"), start);
    b.found(1, met_by("z"), start);
    CHECK(due(b, start).empty());
    b.found(1, met_by("z"), start + 1ms);
    REQUIRE(due(b, start + 20ms) == "1 make");
    b.found(1, made_by("m"), start + 21ms);
    CHECK(due(b, start + 21ms).empty());
    b.found(2, made_by("m"), start + 6s);
    CHECK(due(b, start + 6s) == "0 open, 1 open, 2 open");
}

TEST_CASE("a client that dies during the bootstrap is waited for, but only about 5 s") {
    for (const std::string mark : {"a", "z"}) {
        bootstrap b = fresh();
        time_point now = start;
        b.found(0, made_by("m"), now);
        b.found(1, made_by("m"), now);
        b.found(2, met_by(mark, 0s), now);
        int steps = 0;
        while (b.is_pending()) {
            for (const auto& o : b.due(now)) {
                REQUIRE(o.what != task::open);
                if (o.what == task::withdraw) b.done(o.node, now);
                else if (o.node == 2) b.found(2, met_by(mark, now - start), now);
                else if (o.what == task::look) b.found(o.node, none, now);
                else b.found(o.node, made_by(""), now);
            }
            if (!b.is_pending()) break;
            REQUIRE(++steps < 300);
            REQUIRE(b.deadline() > now);
            now = b.deadline();
        }
        CHECK(now - start >= 4980ms);
        CHECK(now - start <= 5020ms);
        CHECK(b.deadline() == never);
    }
}

TEST_CASE("a client whose mark never grows old exhausts our patience") {
    bootstrap b = fresh(1);
    time_point now = start;
    b.found(0, met_by("a", 0s), now);
    while (now < start + 5s) {
        for (const auto& o : b.due(now)) b.found(o.node, met_by("a", 0s), now);
        REQUIRE(b.deadline() > now);
        now = b.deadline();
    }
    CHECK(due(b, now).empty());
    CHECK_FALSE(b.is_pending());
    CHECK(b.deadline() == never);
}

TEST_CASE("a record that bears our mark already is as old as it says") {
    // The reply that made it was lost, or two clients have drawn one mark.
    bootstrap b = fresh(2);
    b.found(0, met_by("m", 20s), start + 20s);
    b.found(1, made_by("m"), start + window - 1ns);
    CHECK(due(b, start + window - 1ns) == "0 open, 1 open");
    bootstrap late = fresh(2);
    late.found(0, met_by("m", 20s), start + 20s);
    late.found(1, made_by("m"), start + window);
    CHECK(due(late, start + window).empty());
}

TEST_CASE("a second name of a server needs no record of its own") {
    bootstrap b = fresh();
    b.found(0, made_by("m"), start);
    b.excuse(1);
    CHECK(due(b, start).empty());
    b.found(2, made_by("m"), start);
    CHECK(due(b, start) == "0 open, 2 open");
}

TEST_CASE("no record is made before every node has answered or is out of reach") {
    for (const bool is_wanted : {true, false}) {
        bootstrap b = fresh(3, is_wanted);
        b.found(0, none, start);
        CHECK(due(b, start).empty());
        b.found(1, none, start + 1s);
        CHECK(due(b, start + 1s).empty());
        CHECK(b.is_pending());
        const bool is_down = GENERATE(true, false);
        if (is_down) b.down(2);
        else b.found(2, met_by("", 1h), start + 2s);
        const bool is_new = is_wanted && is_down;
        CHECK(due(b, start + 2s) == (is_new ? "0 make, 1 make" : "0 settle, 1 settle"));
    }
}

TEST_CASE("where a node belongs to another set no record is made until it fits") {
    bootstrap b = fresh();
    b.found(0, none, start);
    b.note_other_set(1);
    b.found(2, none, start);
    CHECK(due(b, start).empty());
    CHECK_FALSE(b.is_pending());
    b.down(1);
    CHECK(due(b, start + 1s).empty());
    b.found(1, met_by("", 1s), start + 2s);
    CHECK(due(b, start + 2s) == "0 settle, 2 settle");
}

TEST_CASE("records that were made beside a node of another set are taken back") {
    bootstrap b = fresh();
    for (std::size_t i = 0; i < 3; ++i) b.found(i, none, start);
    CHECK(due(b, start) == "0 make, 1 make, 2 make");
    b.found(0, made_by("m"), start);
    b.note_other_set(2);
    CHECK(due(b, start) == "0 withdraw");
    b.found(1, made_by("m"), start);
    CHECK(due(b, start) == "1 withdraw");
    b.done(0, start);
    b.done(1, start);
    CHECK(due(b, start + 1h).empty());
    CHECK(b.deadline() == never);
    b.found(2, met_by(""), start + 2h);
    CHECK(due(b, start + 2h) == "0 settle, 1 settle");
}

TEST_CASE("beside a node of another set empty nodes are not looked at") {
    bootstrap b = fresh();
    b.found(0, made_by("m"), start);
    b.found(1, met_by("a"), start);
    CHECK(due(b, start) == "0 withdraw");
    b.done(0, start);
    b.note_other_set(2);
    CHECK(due(b, start + 20ms) == "1 look");
    b.found(1, met_by("a"), start + 21ms);
    SECTION("when the other client has had its time") {
        CHECK(due(b, start + 5s).empty());
        CHECK(due(b, start + 6s).empty());
        CHECK(b.deadline() == never);
        b.found(2, met_by(""), start + 1h);
        CHECK(due(b, start + 1h) == "0 settle");
    }
    SECTION("until that node fits") {
        b.found(2, met_by("a"), start + 30ms);
        CHECK(due(b, start + 40ms) == "0 look, 1 look, 2 look");
    }
    SECTION("or is empty, too, while the other client is at it") {
        b.found(1, met_by(""), start + 30ms);
        CHECK(due(b, start + 30ms).empty());
        CHECK(b.deadline() == start + 5s);
        b.found(2, none, start + 50ms);
        CHECK(due(b, start + 70ms) == "0 look, 2 look");
    }
}

TEST_CASE("where only an operator may declare a cluster new every record is an ordinary one") {
    bootstrap b = fresh(3, false);
    CHECK_FALSE(b.is_pending());
    for (std::size_t i = 0; i < 3; ++i) b.found(i, none, start);
    CHECK(due(b, start) == "0 settle, 1 settle, 2 settle");
    b.found(0, made_by(""), start);
    for (std::size_t i = 0; i < 3; ++i) b.found(i, made_by("m"), start);
    CHECK(due(b, start).empty());
    CHECK(b.deadline() == never);
}

TEST_CASE("an answer to an order that is no longer out changes nothing") {
    bootstrap b = fresh(1);
    b.done(0, start);
    b.found(0, made_by("m"), start);
    b.done(0, start);
    CHECK(due(b, start) == "0 open");
    b.down(0);
    b.done(0, start);
    CHECK_FALSE(b.is_pending());
    CHECK(due(b, start + 1s).empty());
}

// --- clients of chance -----------------------------------------------------------------------

namespace {

struct record {
    std::string mark;
    std::int64_t since_us = 0;
};

/// Clients and nodes with messages between them that arrive when chance has it, each connection in
/// order. What lies in a broken connection to a node may still be executed, or not.
class maternity {
public:
    maternity(std::uint32_t seed, std::size_t clients, bool has_faults)
        : random_(seed), has_faults_(has_faults), nodes_(3) {
        for (std::size_t c = 0; c < clients; ++c) {
            clients_.emplace_back();
            revive(c);
        }
    }

    // Nodes that hold earlier leases, and forget them one after the other.
    void begin_used() {
        for (auto& n : nodes_) n = record{"", noon};
    }

    void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            step();
            check();
        }
    }

    /// Without faults: until nobody has anything left to do.
    int run_out(int limit) {
        int steps = 0;
        while (steps < limit && !is_over()) {
            step();
            ++steps;
        }
        return steps;
    }

    void connect_all() {
        for (std::size_t c = 0; c < clients_.size(); ++c) {
            for (std::size_t node = 0; node < nodes_.size(); ++node) connect(c, node);
        }
    }

    /// How many things can happen next: a message arrives; with faults also a connection breaks,
    /// a client comes again, or a node forgets, each at once.
    std::size_t choices() const {
        const std::size_t pairs = clients_.size() * nodes_.size();
        const std::size_t faults = has_faults_ ? pairs + clients_.size() + nodes_.size() : 0;
        return filled_wires() + faults;
    }

    void choose(std::size_t which) {
        if (which < filled_wires()) {
            deliver(which);
        } else if (which -= filled_wires(); which < clients_.size() * nodes_.size()) {
            reconnect(which / nodes_.size(), which % nodes_.size());
        } else if (which -= clients_.size() * nodes_.size(); which < clients_.size()) {
            die(which);
            for (std::size_t node = 0; node < nodes_.size(); ++node) connect(which, node);
        } else {
            const std::size_t node = which - clients_.size();
            nodes_[node].reset();
            for (std::size_t c = 0; c < clients_.size(); ++c) reconnect(c, node);
        }
        now_ += 1ms;
        check();
    }

    bool is_all_open() const {
        return std::all_of(nodes_.begin(), nodes_.end(),
                           [](const auto& n) { return n && n->since_us == 0; });
    }
    duration elapsed() const { return now_ - start; }
    int openings() const { return openings_; }

private:
    struct message {
        std::size_t client;
        std::size_t node;
        std::uint64_t connection;
        task what;
        std::string mark;
        time_point asked;
        bool is_greeting;
        std::optional<record_facts> told;  // an answer, when there is one
        bool is_answer = false;
    };
    struct one_client {
        std::optional<bootstrap> machine;
        std::array<std::uint64_t, 3> connection{};  // 0: none
        std::array<bool, 3> is_greeted{};
    };

    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    std::int64_t now_us() const {
        return noon + std::chrono::duration_cast<std::chrono::microseconds>(now_ - start).count();
    }

    void revive(std::size_t c) {
        std::string mark;
        for (int i = 0; i < 6; ++i) mark += static_cast<char>('a' + below(26));
        clients_[c].machine.emplace(3U, true, window, mark);
        clients_[c].machine->keep_records();
        clients_[c].connection = {};
        clients_[c].is_greeted = {};
    }

    void send(std::size_t c, std::size_t node, task what, bool is_greeting) {
        const auto& client = clients_[c];
        const std::uint64_t connection = client.connection[node];
        wires_[{connection, false}].push_back(
            {c, node, connection, what, client.machine->mark(), now_, is_greeting, {}});
    }

    void connect(std::size_t c, std::size_t node) {
        clients_[c].connection[node] = ++connections_;
        clients_[c].is_greeted[node] = false;
        send(c, node, task::look, true);
    }

    void drive(std::size_t c) {
        for (const auto& o : clients_[c].machine->due(now_)) {
            if (o.what == task::open) check_premise(c);
            if (clients_[c].is_greeted[o.node]) send(c, o.node, o.what, false);
            else clients_[c].machine->down(o.node);
        }
    }

    void sever(std::size_t c, std::size_t node) {
        const std::uint64_t old = std::exchange(clients_[c].connection[node], 0);
        if (old == 0) return;
        clients_[c].is_greeted[node] = false;
        wires_.erase({old, true});
        if (below(2) == 0) wires_.erase({old, false});
        clients_[c].machine->down(node);
        drive(c);
    }

    // `greeted`, `opened` and `withdrawn` of core/record, on a server that never restarts but may forget.
    void execute(message m) {
        auto& r = nodes_[m.node];
        record_facts told{.time_us = now_us()};
        const bool may_make = m.what == task::make || m.what == task::settle;
        if (m.what == task::open || m.what == task::withdraw) {
            if (r && r->mark == m.mark) {
                if (m.what == task::withdraw) {
                    r.reset();
                } else {
                    ++openings_;
                    r->since_us = 0;
                    r->mark.clear();
                }
            }
        } else {
            if (!r && may_make) {
                r = record{m.what == task::make ? m.mark : "", now_us()};
                emptied_[{m.mark, m.node}] = now_;
                told.made = true;
            }
            if (r) {
                told.exists = true;
                told.since_us = r->since_us;
                told.mark = r->mark;
            }
        }
        m.told = told;
        m.is_answer = true;
        if (clients_[m.client].connection[m.node] == m.connection) {
            wires_[{m.connection, true}].push_back(std::move(m));
        }
    }

    // No node is opened unless all of them had no record within the window, but took this mark.
    void check_premise(std::size_t c) const {
        time_point first = never;
        time_point last = time_point::min();
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const auto seen = emptied_.find({clients_[c].machine->mark(), i});
            if (seen == emptied_.end()) REQUIRE(seen != emptied_.end());
            first = std::min(first, seen->second);
            last = std::max(last, seen->second);
        }
        if (last - first >= window) REQUIRE(last - first < window);
    }

    void hear(const message& m) {
        auto& c = clients_[m.client];
        if (c.connection[m.node] != m.connection) return;
        if (m.is_greeting) c.is_greeted[m.node] = true;
        if (m.what == task::open || m.what == task::withdraw) c.machine->done(m.node, now_);
        else c.machine->found(m.node, *m.told, now_, m.asked);
        drive(m.client);
    }

    std::size_t filled_wires() const {
        return static_cast<std::size_t>(std::count_if(
            wires_.begin(), wires_.end(), [](const auto& w) { return !w.second.empty(); }));
    }

    void deliver(std::size_t which) {
        std::erase_if(wires_, [](const auto& w) { return w.second.empty(); });
        auto wire = wires_.begin();
        std::advance(wire, static_cast<std::ptrdiff_t>(which));
        message m = std::move(wire->second.front());
        wire->second.pop_front();
        if (m.is_answer) hear(m);
        else execute(std::move(m));
    }

    bool deliver_one() {
        const std::size_t wires = filled_wires();
        if (wires == 0) return false;
        deliver(below(wires));
        return true;
    }

    void reconnect(std::size_t c, std::size_t node) {
        sever(c, node);
        connect(c, node);
    }

    void die(std::size_t c) {
        for (std::size_t node = 0; node < nodes_.size(); ++node) sever(c, node);
        revive(c);
    }

    void connect_one() {
        const std::size_t c = below(clients_.size());
        const std::size_t node = below(3);
        if (clients_[c].connection[node] == 0) connect(c, node);
    }

    void pass_time() {
        if (has_faults_ && below(40) == 0) now_ += 1s * static_cast<int>(below(50));
        now_ += 1ms * static_cast<int>(below(5));
        for (std::size_t c = 0; c < clients_.size(); ++c) {
            if (clients_[c].machine->deadline() <= now_) drive(c);
            if (clients_[c].machine->deadline() <= now_) {
                REQUIRE(clients_[c].machine->deadline() > now_);
            }
        }
    }

    void fault() {
        const std::size_t c = below(clients_.size());
        const std::size_t node = below(3);
        switch (below(4)) {
            case 0: sever(c, node); break;
            case 1: die(c); break;
            default:
                // Its data is gone; seldom with its connections, as after a flush.
                nodes_[node].reset();
                if (below(3) == 0) return;
                for (std::size_t i = 0; i < clients_.size(); ++i) sever(i, node);
        }
    }

    void step() {
        switch (below(8)) {
            case 0: pass_time(); break;
            case 1: connect_one(); break;
            case 2:
                if (has_faults_ && below(6) == 0) fault();
                break;
            default:
                if (!deliver_one()) pass_time();
        }
    }

    bool is_over() const {
        const bool is_quiet = std::all_of(wires_.begin(), wires_.end(),
                                          [](const auto& w) { return w.second.empty(); });
        return is_quiet && std::all_of(clients_.begin(), clients_.end(), [](const auto& c) {
                   return !c.machine->is_pending() && c.is_greeted[0] && c.is_greeted[1] &&
                          c.is_greeted[2];
               });
    }

    void check() const {
        for (const auto& c : clients_) {
            const bool good = c.machine->deadline() > start;
            if (!good) REQUIRE(good);
        }
    }

    std::mt19937_64 random_;
    bool has_faults_;
    std::vector<std::optional<record>> nodes_;
    // When there was last no record, by mark and node.
    std::map<std::pair<std::string, std::size_t>, time_point> emptied_;
    std::vector<one_client> clients_;
    std::map<std::pair<std::uint64_t, bool>, std::deque<message>> wires_;
    std::uint64_t connections_ = 0;
    time_point now_ = start;
    int openings_ = 0;
};

// Everything that can happen in the next `depth` steps, each in a world of its own.
template <class Last>
std::size_t explore(const maternity& m, int depth, const Last& last) {
    if (depth == 0) {
        last(m);
        return 1;
    }
    std::size_t worlds = 0;
    for (std::size_t i = 0; i < m.choices(); ++i) {
        maternity next = m;
        next.choose(i);
        worlds += explore(next, depth - 1, last);
    }
    return worlds;
}

}  // namespace

TEST_CASE("two clients open three nodes however their first messages are interleaved") {
    maternity m(1, 2, false);
    m.connect_all();
    const std::size_t worlds = explore(m, 6, [](maternity end) {
        const int steps = end.run_out(5000);
        if (steps < 5000 && end.is_all_open() && end.elapsed() < 5s) return;
        REQUIRE(end.is_all_open());
        REQUIRE(steps < 5000);
        REQUIRE(end.elapsed() < 5s);
    });
    CHECK(worlds > 20'000);
}

TEST_CASE("whatever breaks first of all no node is opened unless all were new") {
    int openings = 0;
    for (const bool is_used : {false, true}) {
        maternity m(1, 2, true);
        if (is_used) m.begin_used();
        m.connect_all();
        explore(m, is_used ? 3 : 4, [&](maternity end) {
            end.run(60);
            openings += end.openings();
        });
    }
    CHECK(openings > 1000);
}

TEST_CASE("without faults some client opens all nodes soon at every interleaving") {
    for (std::uint32_t seed = 1; seed <= 6000; ++seed) {
        maternity m(seed, 1 + seed % 3, false);
        const int steps = m.run_out(5000);
        if (steps < 5000 && m.is_all_open() && m.elapsed() < 5s) continue;
        INFO("seed " << seed << ", steps " << steps << ", ms " << m.elapsed() / 1ms);
        REQUIRE(m.is_all_open());
        REQUIRE(steps < 5000);
        REQUIRE(m.elapsed() < 5s);
    }
}

TEST_CASE("whatever breaks no node is opened unless all were new within the window") {
    int openings = 0;
    for (std::uint32_t seed = 1; seed <= 6000; ++seed) {
        INFO("seed " << seed);
        maternity m(seed, 2 + seed % 2, true);
        if (seed % 4 == 0) m.begin_used();
        m.run(600);
        openings += m.openings();
    }
    CHECK(openings > 1000);
}

}  // namespace bootstrap_test
