// The restart guard: who may vote and since when, to the nanosecond.
// SPDX-License-Identifier: MIT
#include "core/node/eligibility.hpp"

#include "tests/support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

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

eligibility three(bool is_on = true) { return eligibility(3, is_on, 60s, {}); }

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
    g.opened(0, start + 7s);
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
