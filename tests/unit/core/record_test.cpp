// The rules by which the record of a node changes, each alone.
// SPDX-License-Identifier: MIT
#include "core/record.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;
using core::amendment;
using core::at_writing;
using core::clock_check;
using core::list_step;
using core::record_facts;
using core::record_terms;
using core::ruled;
using change = core::list_facts::change;
using said = core::ruled::said;

namespace {

constexpr std::int64_t now_us = 1'700'000'000'000'005;
constexpr std::int64_t settle_us = 10'000'000;

/// A member of set S, an hour old, of a server that writes nothing down.
record_facts stood() {
    return {.exists = true,
            .epoch = "e",
            .time_us = now_us,
            .since_us = now_us - 3'600'000'000,
            .ttl_max = 60s,
            .quarantine = 60s,
            .list = {.set = "S", .names = "a,b,c"},
            .run_id = "run",
            .replid = "repl",
            .created_us = 5,
            .unknown = " later=1"};
}
record_facts marked() {
    record_facts r = stood();
    r.mark = "mark";
    return r;
}
record_facts none() { return {.time_us = now_us}; }

record_terms same() {
    return {.server = {.run_id = "run", .replid = "repl"},
            .set = "S",
            .names = "a,b,c",
            .epoch = "new",
            .mark = "mark",
            .quarantine = 60s,
            .ttl_max = 50s};
}
record_terms making() {
    record_terms t = same();
    t.makes = true;
    return t;
}
record_terms looking() {
    record_terms t = same();
    t.only_judges = true;
    return t;
}

bool is_as_it_was(const ruled& r) { return r.what == said::as_it_was && !r.next; }

/// What every rule leaves alone.
void keeps_the_rest(const record_facts& next) {
    CHECK(next.unknown == " later=1");
    CHECK(next.created_us == 5);
}

void has_forgotten(const record_facts& next) {
    CHECK(next.epoch == "new");
    CHECK(next.since_us == at_writing);
    CHECK_FALSE(next.cluster_since_us);
    CHECK(next.mark.empty());
}

void is_open(const record_facts& next) {
    CHECK(next.since_us == 0);
    CHECK(next.cluster_since_us == 0);
    CHECK(next.mark.empty());
}

}  // namespace

TEST_CASE("a record is made where there is none, and only by a client that makes one") {
    CHECK(is_as_it_was(core::greeted(none(), same())));
    CHECK(is_as_it_was(core::greeted(none(), looking())));
    record_terms t = making();
    t.server.is_durable = true;
    t.floor = {1, 500, 90};
    if (GENERATE(true, false)) t.mark.clear();
    const ruled r = core::greeted(none(), t);
    CHECK(r.next->floor == t.floor);
    CHECK(r.what == said::done);
    REQUIRE(r.next);
    CHECK(r.next->exists);
    CHECK(r.next->epoch == "new");
    CHECK(r.next->since_us == at_writing);
    CHECK(r.next->created_us == at_writing);
    CHECK_FALSE(r.next->cluster_since_us);
    CHECK(r.next->mark == t.mark);
    CHECK(r.next->quarantine == 60s);
    CHECK(r.next->ttl_max == 50s);
    CHECK(r.next->run_id == "run");
    CHECK(r.next->replid == "repl");
    CHECK(r.next->is_durable);
    CHECK(r.next->list.set == "S");
    CHECK(r.next->list.names == "a,b,c");
    CHECK_FALSE(r.next->offset);
    CHECK_FALSE(r.next->init_us);
}

TEST_CASE("a record that is made while the list changes says what the others' do") {
    record_terms t = making();
    t.made = core::list_facts{.set = "S", .number = 3, .is = change::closed, .closed_for = "T",
                              .promised = "2.x", .accepted = "2.x"};
    SECTION("of the client's own set, with its names") {
        const auto next = core::greeted(none(), t).next.value();
        CHECK(next.list.closed_for == "T");
        CHECK(next.list.names == "a,b,c");
        CHECK(next.list.announced.empty());
    }
    SECTION("of a joint list, which the request names") {
        t.after = "T";
        CHECK(core::greeted(none(), t).next.value().list.announced == "T");
    }
    SECTION("of another set, without names") {
        t.made->set = "T";
        t.after = "T";
        const auto next = core::greeted(none(), t).next.value();
        CHECK(next.list.names.empty());
        CHECK(next.list.announced.empty());
    }
}

TEST_CASE("`since` stays for the same process, and is open where both were durable") {
    record_facts found = marked();
    record_terms t = same();
    found.is_durable = GENERATE(false, true);
    t.server.is_durable = GENERATE(false, true);
    const bool is_same = GENERATE(false, true);
    if (!is_same) t.server.run_id = "another";
    const bool may_have_survived = !is_same && found.is_durable && t.server.is_durable;
    const ruled r = core::greeted(found, t);
    CHECK(r.what == said::as_it_was);
    const record_facts seen = core::as_seen(found, t);
    CHECK(seen.is_of_earlier_process == may_have_survived);
    CHECK(seen.is_void == (!is_same && !may_have_survived));
    t.only_judges = true;
    CHECK(is_as_it_was(core::greeted(found, t)));
    if (may_have_survived) {
        CHECK(is_as_it_was(r));
        return;
    }
    REQUIRE(r.next);
    keeps_the_rest(*r.next);
    CHECK(r.next->run_id == t.server.run_id);
    CHECK(r.next->is_durable == t.server.is_durable);
    if (!is_same) return has_forgotten(*r.next);
    CHECK(r.next->epoch == "e");
    CHECK(r.next->since_us == found.since_us);
    CHECK(r.next->mark == "mark");
}

TEST_CASE("a process with another replication id has another server's data") {
    record_facts found = marked();
    record_terms t = same();
    t.server.is_durable = found.is_durable = GENERATE(false, true);
    t.server.replid = "other";
    SECTION("in a handshake") {
        CHECK(core::as_seen(found, t).is_void);
        const auto next = core::greeted(found, t).next.value();
        has_forgotten(next);
        CHECK(next.replid == "other");
    }
    SECTION("but not long after it, when another client may know better") {
        t.is_much_later = true;
        CHECK_FALSE(core::as_seen(found, t).is_void);
        t.server.is_durable = !found.is_durable;
        const auto next = core::greeted(found, t).next.value();
        CHECK(next.epoch == "e");
        CHECK(next.replid == "repl");
        CHECK(next.is_durable == found.is_durable);
    }
    SECTION("unless the record does not know its own") {
        found.replid.clear();
        CHECK(core::greeted(found, t).next.value().epoch == "e");
    }
}

TEST_CASE("another process long after the handshake counts as not durable") {
    record_facts found = stood();
    found.is_durable = true;
    record_terms t = same();
    t.server = {.run_id = "another", .replid = "other", .is_durable = true};
    t.is_much_later = true;
    const auto next = core::greeted(found, t).next.value();
    has_forgotten(next);
    CHECK(next.replid == "other");
    CHECK_FALSE(next.is_durable);
}

TEST_CASE("a node whose clock went back beyond `since` has forgotten") {
    record_facts found = marked();
    found.since_us = now_us;
    CHECK(core::greeted(found, same()).next.value().epoch == "e");
    found.since_us = now_us + 1;
    CHECK(core::as_seen(found, same()).is_void);
    has_forgotten(core::greeted(found, same()).next.value());
}

TEST_CASE("the record of another set's node stays as it is") {
    record_terms t = GENERATE(same(), looking(), making());
    t.server.run_id = "another";
    t.set = "other";
    CHECK(is_as_it_was(core::greeted(stood(), t)));
    const record_facts seen = core::as_seen(stood(), t);
    CHECK(seen.exists);
    CHECK(seen.list.set == "S");
    CHECK_FALSE(seen.is_void);
}

TEST_CASE("a record keeps what the client that named its set calls the nodes") {
    record_terms t = same();
    t.names = "x,y,z";
    CHECK(core::greeted(stood(), t).next.value().list.names == "x,y,z");
    record_terms later = t;
    later.is_much_later = true;
    CHECK(core::greeted(stood(), later).next.value().list.names == "a,b,c");
    SECTION("and which list is to follow, as the first client said that knows") {
        t.after = "T";
        record_facts next = core::greeted(stood(), t).next.value();
        CHECK(next.list.announced == "T");
        t.after = "U";
        CHECK(core::greeted(next, t).next.value().list.announced == "T");
    }
    SECTION("but not of the list that follows") {
        t.set = "T";
        t.after = "S";
        const auto next = core::greeted(stood(), t).next.value();
        CHECK(next.list.names == "a,b,c");
        CHECK(next.list.announced.empty());
    }
}

TEST_CASE("that a list is to follow is said again, and forgotten where it is not") {
    constexpr std::int64_t ahead_us = 7;
    record_terms joint = same();
    joint.after = "T";
    record_facts found = stood();
    found.quarantine = std::chrono::seconds(4);
    found.offset = core::recorded_offset{ahead_us, 1, now_us - 1};
    const auto said = core::greeted(found, joint).next.value().list;
    CHECK(said.announced == "T");
    CHECK(said.announced_at_us == core::at_writing);
    found.list.announced = "T";
    const std::int64_t cluster_us = now_us - ahead_us;
    for (const auto& [ago_us, is_due] : {std::pair(999'999, false), std::pair(1'000'000, true)}) {
        found.list.announced_at_us = cluster_us - ago_us;
        const auto again = core::greeted(found, joint).next.value().list;
        CHECK((again.announced_at_us == core::at_writing) == is_due);
    }
    record_terms old = same();
    CHECK(core::greeted(found, old).next.value().list.announced == "T");
    old.forgets_announced_before_us = *found.list.announced_at_us;
    CHECK(core::greeted(found, old).next.value().list.announced == "T");
    ++*old.forgets_announced_before_us;
    const auto forgot = core::greeted(found, old).next.value().list;
    CHECK(forgot.announced.empty());
    CHECK_FALSE(forgot.announced_at_us);
}

TEST_CASE("a client without the guard compares the set and writes nothing") {
    record_terms t = making();
    t.only_peeks = true;
    t.server.run_id = "another";
    CHECK(is_as_it_was(core::greeted(stood(), t)));
    CHECK(is_as_it_was(core::greeted(none(), t)));
    CHECK_FALSE(core::as_seen(stood(), t).exists);
    CHECK(core::as_seen(stood(), t).time_us == now_us);
    record_facts found = stood();
    found.list.announced = "T";
    CHECK(core::as_seen(found, t).list.announced == "T");
    found = stood();
    found.floor = {1, 500, 90};
    CHECK(core::as_seen(found, t).floor == found.floor);  // its fences go by that, too
}

TEST_CASE("a node is opened and withdrawn only where the mark is the client's own") {
    const auto rule = GENERATE(&core::opened, &core::withdrawn);
    record_facts found = marked();
    found.since_us = now_us - 1;
    found.mark = GENERATE("other", "");
    CHECK(is_as_it_was(rule(found, same())));
    CHECK(is_as_it_was(rule(none(), same())));
    record_terms unmarked = same();
    unmarked.mark.clear();
    CHECK(is_as_it_was(rule(found, unmarked)));
}

TEST_CASE("a new cluster is opened under the same epoch") {
    const ruled r = core::opened(marked(), same());
    CHECK(r.what == said::done);
    is_open(r.next.value());
    keeps_the_rest(*r.next);
    CHECK(r.next->epoch == "e");
    CHECK(r.next->init_us == core::init_pending);
}

TEST_CASE("a record is withdrawn while it is so young that no client can rely on it") {
    record_facts found = marked();
    found.since_us = now_us - 30'000'000;
    const ruled r = core::withdrawn(found, same());
    CHECK(r.what == said::done);
    CHECK_FALSE(r.next.value().exists);
    CHECK(r.not_after_us == now_us);
    found.since_us = now_us - 30'000'001;
    CHECK(is_as_it_was(core::withdrawn(found, same())));
}

TEST_CASE("an operator declares a node new under a new epoch") {
    record_facts found = marked();
    found.list = {.set = "other", .number = 3, .is = change::closed, .closed_for = "T",
                  .promised = "1.x", .accepted = "1.x", .history = {{2, "Z"}}};
    found.offset = core::recorded_offset{1, 2, 3};
    found.quarantine = found.ttl_max = 95s;
    record_terms t = same();
    t.number = 4;
    t.server = {.run_id = "another", .replid = "other", .is_durable = true};
    const ruled r = core::declared(found, t, std::nullopt, false);
    CHECK(r.what == said::done);
    const record_facts& next = r.next.value();
    is_open(next);
    keeps_the_rest(next);
    CHECK(next.epoch == "new");
    CHECK(next.run_id == "another");
    CHECK(next.replid == "other");
    CHECK(next.is_durable);
    CHECK(next.quarantine == 60s);
    CHECK(next.ttl_max == 50s);
    CHECK(next.init_us == core::init_pending);
    CHECK(next.offset->seen_us == 3);
    CHECK(next.list == core::list_facts{.set = "S", .names = "a,b,c", .number = 4});
    SECTION("with its clock where that is known") {
        const auto dated =
            core::declared(found, t, clock_check{.ahead_us = -8, .error_us = 9, .cluster_us = 42},
                           false);
        CHECK(dated.next->init_us == 42);
        CHECK(dated.next->offset->ahead_us == -8);
        CHECK(dated.next->offset->error_us == 9);
        CHECK(dated.next->offset->seen_us == at_writing);
    }
    SECTION("and the process that is on record, where the node has not said which it is yet") {
        t.server = {};
        const auto early = core::declared(found, t, std::nullopt, false).next.value();
        CHECK(early.run_id == found.run_id);
        CHECK(early.replid == found.replid);
        CHECK(early.is_durable == found.is_durable);
    }
    SECTION("and fences go on above all that the client knows of") {
        t.floor = {1, 500, 90};
        CHECK(core::declared(found, t, std::nullopt, false).next->floor == t.floor);
        found.floor = {2, 700, 80};
        CHECK(core::declared(found, t, std::nullopt, false).next->floor == found.floor);
        SECTION("unless they are lowered for all, on every record") {
            CHECK(core::declared(found, t, std::nullopt, true).next->floor ==
                  core::fence_floor{.lifts = 3});
            CHECK(core::declared(none(), t, std::nullopt, true).next->floor ==
                  core::fence_floor{.lifts = 2});
        }
    }
    SECTION("also where there is no record") {
        const auto first = core::declared(none(), t, std::nullopt, false).next.value();
        CHECK(first.exists);
        CHECK(first.created_us == at_writing);
        is_open(first);
    }
}

namespace {

constexpr clock_check at_99{.ahead_us = -2000, .error_us = 7, .cluster_us = 99};

record_facts seen_at(std::int64_t us) {
    record_facts r = stood();
    r.offset = core::recorded_offset{-2000, 7, us};
    return r;
}
ruled amend(const record_facts& found, const amendment& changes = {}) {
    return core::amended(found, same(), found, at_99, changes);
}

}  // namespace

TEST_CASE("a record keeps an offset, and `since` in cluster time where there was none") {
    const ruled r = amend(stood());
    CHECK(r.what == said::done);
    const record_facts& next = r.next.value();
    keeps_the_rest(next);
    CHECK(next.epoch == "e");
    CHECK(next.since_us == stood().since_us);
    CHECK(next.cluster_since_us == at_writing);
    CHECK(next.offset->ahead_us == -2000);
    CHECK(next.offset->error_us == 7);
    CHECK(next.offset->seen_us == at_writing);
    CHECK_FALSE(next.init_us);
    record_facts known = stood();
    known.cluster_since_us = 8;
    CHECK(amend(known).next->cluster_since_us == 8);
    known.since_us = 0;
    known.cluster_since_us.reset();
    CHECK(amend(known).next->cluster_since_us == 0);
}

TEST_CASE("nothing is written by a client that compared with an older record") {
    for (const auto what :
         {amendment::kind::keep, amendment::kind::strike, amendment::kind::open}) {
        const amendment changes{.what = what};
        CHECK(is_as_it_was(core::amended(seen_at(5), same(), seen_at(4), at_99, changes)));
        CHECK(is_as_it_was(core::amended(seen_at(5), same(), stood(), at_99, changes)));
        record_facts other = seen_at(5);
        other.epoch = "f";
        CHECK(is_as_it_was(core::amended(seen_at(5), same(), other, at_99, changes)));
        CHECK(is_as_it_was(core::amended(none(), same(), seen_at(5), at_99, changes)));
    }
    // What else was written meanwhile is no reason.
    record_facts announced = seen_at(5);
    announced.list.announced = "T";
    const ruled r = core::amended(announced, same(), seen_at(5), at_99, {});
    CHECK(r.what == said::done);
    CHECK(r.next->list.announced == "T");
}

TEST_CASE("with the offset goes the highest node time, and never another lift") {
    record_facts found = seen_at(5);
    found.floor = {1, 500, 90};
    record_terms t = same();
    t.floor = {1, 600, 90};
    CHECK(core::amended(found, t, found, at_99, {}).next->floor == t.floor);
    t.floor.highest_us = 400;
    CHECK(core::amended(found, t, found, at_99, {}).next->floor == found.floor);
    t.floor = {2, 600, 95};
    CHECK(core::amended(found, t, found, at_99, {}).next->floor == found.floor);
}

TEST_CASE("the highest node time is written under the same epoch, where no other client has just done it") {
    constexpr std::int64_t fresh_us = 5'000'000;
    record_facts found = seen_at(5);
    found.floor = {1, 500, 90};
    const core::fence_floor to{1, 500 + fresh_us, 90};
    const ruled r = core::floored(found, same(), {}, to);
    CHECK(r.what == said::done);
    CHECK(r.next->floor == to);
    CHECK(r.next->epoch == "e");
    CHECK(r.next->offset->seen_us == 5);
    keeps_the_rest(*r.next);
    found.floor.highest_us = 501;
    CHECK(is_as_it_was(core::floored(found, same(), {}, to)));
    CHECK(is_as_it_was(core::floored(none(), same(), {}, to)));
}

TEST_CASE("a lift gives the record a new epoch, and is written once") {
    record_facts found = seen_at(5);
    found.floor = {1, 500, 90};
    const core::fence_floor to{2, 500, 95};
    const ruled r = core::floored(found, same(), found.floor, to);
    CHECK(r.what == said::done);
    CHECK(r.next->floor == to);
    CHECK(r.next->epoch == "new");
    CHECK(r.next->since_us == found.since_us);
    // That may lie in the future now, and would prove nothing for as long.
    CHECK(r.next->offset->seen_us == at_writing);
    SECTION("by one client") {
        const core::fence_floor known{1, 499, 90};
        CHECK(is_as_it_was(core::floored(found, same(), known, to)));
    }
    SECTION("and says nothing of an earlier process") {
        found.run_id = "earlier";
        CHECK(core::floored(found, same(), found.floor, to).next->offset->seen_us == 5);
    }
}

TEST_CASE("a strike forgets everything, in both clocks") {
    record_facts found = seen_at(5);
    found.cluster_since_us = 8;
    found.mark = "mark";
    found.list.became_us = 6;
    found.list.became_cluster_us = 7;
    const record_facts next = amend(found, {.what = amendment::kind::strike}).next.value();
    CHECK(next.epoch == "new");
    CHECK(next.since_us == at_writing);
    CHECK(next.cluster_since_us == at_writing);
    CHECK(next.mark.empty());
    CHECK(next.list.became_us == at_writing);
    CHECK(next.list.became_cluster_us == at_writing);
    CHECK(next.run_id == "run");
}

TEST_CASE("a record is opened, raised and names the process, with its clock") {
    record_facts found = seen_at(5);
    found.run_id = "earlier";
    SECTION("no lease can be alive") {
        found.mark = "mark";
        const auto next =
            amend(found, {.what = amendment::kind::open, .names_process = true}).next.value();
        is_open(next);
        CHECK(next.epoch == "e");
        CHECK(next.run_id == "run");
    }
    SECTION("a process is named where that is due") { CHECK(amend(found).next->run_id == "earlier"); }
    SECTION("a longer quarantine, under another epoch") {
        const auto next = amend(found, {.quarantine = 90s}).next.value();
        CHECK(next.epoch == "new");
        CHECK(next.quarantine == 90s);
        CHECK(next.ttl_max == 60s);
        CHECK(next.since_us == found.since_us);
    }
    SECTION("a longer ttl_max, under another epoch") {
        const auto next = amend(found, {.ttl_max = 90s}).next.value();
        CHECK(next.epoch == "new");
        CHECK(next.ttl_max == 90s);
    }
    SECTION("the first ttl_max under the same") {
        found.ttl_max = 0s;
        const auto next = amend(found, {.ttl_max = 90s}).next.value();
        CHECK(next.epoch == "e");
        CHECK(next.ttl_max == 90s);
    }
    SECTION("shorter ones change nothing") {
        const auto next = amend(found, {.quarantine = 5s, .ttl_max = 5s}).next.value();
        CHECK(next.epoch == "e");
        CHECK(next.quarantine == 60s);
        CHECK(next.ttl_max == 60s);
    }
    SECTION("an instant of a declaration that was not known is cluster time now") {
        found.init_us = core::init_pending;
        CHECK(amend(found).next->init_us == 99);
        found.init_us = 42;
        CHECK(amend(found).next->init_us == 42);
    }
    SECTION("and when it became a member, in cluster time") {
        found.list.became_us = 6;
        CHECK(amend(found).next->list.became_cluster_us == at_writing);
        found.list.became_cluster_us = 7;
        CHECK(amend(found).next->list.became_cluster_us == 7);
    }
}

namespace {

/// A member of set S, number 3.
record_facts member() {
    record_facts r = stood();
    r.list.number = 3;
    r.list.history = {{2, "Z"}};
    return r;
}
list_step step_of(list_step::kind what, const std::string& ballot = "1.x") {
    return {.what = what,
            .from = {.set = "S", .number = 3},
            .epoch = "e",
            .to = {.set = "T", .names = "b,c,d", .number = 4, .history = {{3, "S"}, {2, "Z"}}},
            .ballot = ballot,
            .settle_us = settle_us,
            .quarantine = 60s,
            .ttl_max = 60s};
}
ruled step(const record_facts& on, const list_step& s) { return core::stepped(on, same(), s); }
record_facts promised(const std::string& ballot = "1.x") {
    return step(member(), step_of(list_step::kind::promise, ballot)).next.value();
}
record_facts closed() { return step(promised(), step_of(list_step::kind::close)).next.value(); }

}  // namespace

TEST_CASE("a close gives the node a new epoch: what was sent under the earlier one is void") {
    CHECK(promised().epoch == "e");
    CHECK(promised().list.promised == "1.x");
    record_facts once = closed();
    keeps_the_rest(once);
    CHECK(once.epoch == "new");
    CHECK(once.list.is == change::closed);
    CHECK(once.list.closed_for == "T");
    CHECK(once.list.accepted == "1.x");
    // One that is repeated under its ballot gives none, so that no program is turned back twice.
    once.epoch = "e";
    CHECK(step(once, step_of(list_step::kind::promise)).what == said::outbid);
    const ruled again = step(once, step_of(list_step::kind::close));
    CHECK(again.what == said::done);
    CHECK(again.next->epoch == "e");
}

TEST_CASE("a node closes under the promise that it has, and under no other") {
    CHECK(step(member(), step_of(list_step::kind::close)).what == said::outbid);
    CHECK(step(promised("2.y"), step_of(list_step::kind::promise)).what == said::outbid);
    CHECK(step(promised("2.y"), step_of(list_step::kind::close)).what == said::outbid);
    CHECK(step(promised("2.y"), step_of(list_step::kind::close, "3.x")).what == said::outbid);
    CHECK(step(promised("9.y"), step_of(list_step::kind::promise, "10.x")).what == said::done);
    record_facts joining = member();
    joining.list.is = change::joining;
    CHECK(is_as_it_was(step(joining, step_of(list_step::kind::promise))));
}

TEST_CASE("a member that has just become one by a change is not closed for the next at once") {
    const auto is_young = [](std::int64_t age_us, std::int64_t cluster_age_us, bool is_dated = true) {
        record_facts found = member();
        found.offset = core::recorded_offset{500, 1, now_us};
        found.list.became_us = now_us - age_us;
        if (is_dated) found.list.became_cluster_us = now_us - 500 - cluster_age_us;
        return step(found, step_of(list_step::kind::promise)).what == said::too_young;
    };
    CHECK(is_young(settle_us - 1, settle_us));
    CHECK(is_young(settle_us, settle_us - 1));
    CHECK_FALSE(is_young(settle_us, settle_us));
    CHECK(is_young(settle_us, settle_us, false));
}

TEST_CASE("a step for another number, set or epoch than the record's is not done") {
    for (const auto what :
         {list_step::kind::promise, list_step::kind::close, list_step::kind::become}) {
        list_step s = step_of(what);
        s.epoch.clear();
        record_facts found = what == list_step::kind::promise ? member() : promised();
        REQUIRE(step(found, s).what == said::done);
        s.from.number = 2;
        CHECK(is_as_it_was(step(found, s)));
        s.from = {.set = "Z", .number = 3};
        CHECK(is_as_it_was(step(found, s)));
        found.epoch = "f";
        CHECK(is_as_it_was(step(found, step_of(what))));
        CHECK(is_as_it_was(step(none(), s)));
    }
    CHECK(is_as_it_was(step(member(), step_of(list_step::kind::read))));
}

TEST_CASE("a node that becomes a member of the next set knows when, and what it was before") {
    record_facts found = closed();
    found.list.announced = "T";
    list_step s = step_of(list_step::kind::become);
    s.epoch = "new";
    const record_facts next = step(found, s).next.value();
    keeps_the_rest(next);
    CHECK(next.epoch == "new");
    CHECK(next.since_us == found.since_us);
    CHECK(next.list == core::list_facts{.set = "T", .names = "b,c,d", .number = 4,
                                        .became_us = at_writing, .history = s.to.history});
    SECTION("also in cluster time") {
        found.offset = core::recorded_offset{1, 2, 3};
        CHECK(step(found, s).next->list.became_cluster_us == at_writing);
    }
    SECTION("with the largest numbers that were met") {
        s.quarantine = 90s;
        s.ttl_max = 5s;
        CHECK(step(found, s).next->quarantine == 90s);
        CHECK(step(found, s).next->ttl_max == 60s);
    }
    SECTION("with the highest fences that were met") {
        record_terms t = same();
        t.floor = {1, 500, 90};
        CHECK(core::stepped(found, t, s).next->floor == t.floor);
    }
    SECTION("and waits where it may have missed leases") {
        s.leases = list_step::memory::lost;
        has_forgotten(step(found, s).next.value());
    }
    SECTION("but not where the same list goes on") {
        s.leases = list_step::memory::undisturbed;
        CHECK(step(found, s).next->list.became_us == 0);
    }
}

TEST_CASE("a node that is closed stays so when its server starts again") {
    record_facts found = closed();
    record_terms t = making();
    t.server.run_id = "another";
    found.is_durable = t.server.is_durable = GENERATE(false, true);
    t.made = found.list;
    const auto next = core::greeted(found, t).next.value_or(found);
    CHECK((next.run_id == "another") != found.is_durable);
    CHECK(next.list.is == change::closed);
    CHECK(next.list.accepted == found.list.accepted);
}

TEST_CASE("data of an earlier process may lack steps of a change, which the others know") {
    record_facts found = stood();
    record_terms t = same();
    t.floor = {1, 500, 90};
    const bool is_other_process = GENERATE(true, false);
    (is_other_process ? t.server.run_id : t.server.replid) = "another";
    SECTION("where the record tells of a change") {
        if (GENERATE(true, false)) found.list.announced = "T";
        else found = closed();
    }
    SECTION("where another node's does") { t.is_list_changing = true; }
    const record_facts seen = core::as_seen(found, t);
    CHECK(seen.is_void);
    CHECK(seen.may_lack_steps);
    CHECK(is_as_it_was(core::greeted(found, t)));  // it is made when the others were read
    for (const auto what : {list_step::kind::promise, list_step::kind::close}) {
        list_step s{.what = what, .from = found.list, .ballot = found.list.promised + "1.x"};
        CHECK(is_as_it_was(core::stepped(found, t, s)));
    }
    t.makes = true;
    t.made = core::list_facts{.set = "S", .is = change::closed, .closed_for = "T",
                              .promised = "3.y", .accepted = "2.x"};
    t.made->number = found.list.number;
    t.quarantine = 90s;
    if (found.list.number > 0) {
        record_terms late = t;  // a later change reached the record meanwhile
        late.made->number = found.list.number - 1;
        CHECK(is_as_it_was(core::greeted(found, late)));
    }
    const auto next = core::greeted(found, t).next.value();
    has_forgotten(next);
    CHECK(next.list.closed_for == "T");
    CHECK(next.list.promised == "3.y");
    CHECK(next.quarantine == 90s);
    CHECK(next.ttl_max == 60s);
    CHECK(next.floor == t.floor);
    CHECK(next.unknown == found.unknown);
    CHECK_FALSE(core::as_seen(next, t).is_void);
}

TEST_CASE("a record lacks no steps where the list does not change, nor for its own clock") {
    record_facts found = stood();
    record_terms t = same();
    SECTION("without a change") {
        t.server.run_id = "another";
        has_forgotten(core::greeted(found, t).next.value());
    }
    SECTION("a clock that went back") {
        found.list.announced = "T";
        found.since_us = now_us + 1;
        has_forgotten(core::greeted(found, t).next.value());
    }
    CHECK(core::as_seen(found, t).is_void);
    CHECK_FALSE(core::as_seen(found, t).may_lack_steps);
}
