// What a client asks its nodes and reports of them, stepped by hand, each rule with its sequence.
// SPDX-License-Identifier: MIT
#include "core/node/node_knowledge.hpp"

#include "tests/support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

using namespace redlock;
using namespace std::chrono_literals;
using core::node_knowledge;
using core::node_order;
using core::record_facts;
using core::server_facts;
using step = core::bootstrap::task;
using task = core::node_order::task;

namespace {

constexpr time_point start = time_point(72h);
constexpr std::int64_t noon = 1'700'000'000'000'000;  // of a true clock at `start`

std::int64_t us(duration d) { return std::chrono::floor<std::chrono::microseconds>(d).count(); }

client_options guarded() {
    client_options o;
    o.nodes.resize(3);
    return o;
}

std::string name(const node_order& o) {
    static const std::map<step, std::string> steps{{step::look, "peek"},
                                                   {step::make, "make"},
                                                   {step::settle, "settle"},
                                                   {step::open, "open"},
                                                   {step::withdraw, "withdraw"}};
    using kind = core::amendment::kind;
    static const std::map<kind, std::string> verbs{
        {kind::keep, "write"}, {kind::strike, "strike"}, {kind::open, "open"}};
    const std::string node = " " + std::to_string(o.node);
    switch (o.what) {
        case task::bootstrap: return steps.at(o.step) + node;
        case task::look: return "look" + node;
        case task::write_clock: return verbs.at(o.changes.what) + node;
        case task::read_replication: return "role" + node;
        case task::greet_again: return "greet" + node;
        case task::clock_gap: return "gap";
        case task::settled: return "settled";
        case task::report_objection: return "report" + node;
        case task::report_ttl_max: return "ttl_max" + node;
        case task::use_record:
        case task::use_clock: break;
    }
    return "";
}

/// Three masters with true clocks. Times are counted from `start`.
struct client_of_three {
    explicit client_of_three(const client_options& options = guarded(),
                             core::record_role role = core::record_role::keeps)
        : knows(options, "m") {
        for (std::size_t i = 0; i < 3; ++i) {
            servers[i].run_id = std::string(1, static_cast<char>('a' + i));
            servers[i].replid = "r";
            link(i, false, true);
        }
        knows.start(start);
        knows.take_role(role, start);
        knows.take_orders();
    }

    void link(std::size_t node, bool is_ready, bool is_unheard_of = false) {
        knows.set_link(node, {is_ready, is_unheard_of, 50ms});
    }
    std::string greet(std::size_t node, duration at) {
        link(node, true);
        records[node].time_us = noon + us(at);
        knows.greeted(node, {servers[node], noon + us(at), records[node], start + at}, start + at);
        return orders();
    }
    std::string go_on(duration at) {
        knows.go_on(start + at);
        return orders();
    }
    std::string look_answered(std::size_t node, duration at) {
        records[node].time_us = noon + us(at);
        knows.looked(node, {{}, records[node]}, start + at, start + at);
        return orders();
    }
    std::string probe(duration at) {
        knows.probe(start + at);
        return orders();
    }
    /// The orders since the last ones as text; those to use something left out.
    std::string orders() {
        std::string text;
        for (const auto& o : knows.take_orders()) {
            last = o;
            const std::string word = name(o);
            if (!word.empty()) text += (text.empty() ? "" : ", ") + word;
        }
        return text;
    }

    node_knowledge knows;
    std::array<server_facts, 3> servers;
    std::array<record_facts, 3> records;
    node_order last;
};

// A record that no earlier lease speaks against, its clock on it.
record_facts open_record() {
    return {.exists = true, .epoch = "e", .time_us = noon, .since_us = 0, .cluster_since_us = 0,
            .ttl_max = 60s, .quarantine = 60s, .offset = core::recorded_offset{0, 1000, noon}};
}

record_facts young_record(std::string epoch = "e") {
    record_facts r = open_record();
    r.epoch = std::move(epoch);
    r.since_us = noon;
    r.cluster_since_us = noon;
    return r;
}

/// It has met them, all with a vote.
client_of_three settled() {
    client_of_three c;
    c.records.fill(open_record());
    for (std::size_t i = 0; i < 3; ++i) {
        c.greet(i, 1ms);
        c.go_on(1ms);
    }
    REQUIRE(c.knows.is_settled());
    return c;
}

/// Node 1 is flushed. It says so where a clock is written to it, while node 2, empty as well, gets
/// a record. What the next look at node 1 leads to.
std::string look_after_a_noted_flush(client_of_three& c, duration at) {
    c.records[2] = {};
    c.greet(2, at);
    REQUIRE(c.go_on(at).starts_with("settle 2"));
    c.knows.clock_written(1, {.time_us = noon + us(at)}, start + at, start + at);
    CHECK(c.orders().find("greet") == std::string::npos);
    c.knows.bootstrap_found(2, young_record("new"), start + at, start + at);
    c.orders();
    c.records[1] = {};
    return c.look_answered(1, at + 4s);
}

}  // namespace

TEST_CASE("a new cluster is made and opened and its clocks written before acquires begin") {
    client_of_three c;
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(c.greet(i, 1ms).empty());
        CHECK(c.go_on(1ms).empty());
    }
    c.greet(2, 2ms);
    CHECK(c.go_on(2ms) == "make 0, make 1, make 2");
    record_facts made = young_record();
    made.mark = "m";
    made.made = true;
    made.offset.reset();
    made.cluster_since_us.reset();
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(c.orders().empty());
        c.knows.bootstrap_found(i, made, start + 2ms, start + 3ms);
    }
    CHECK(c.orders() == "open 0, open 1, open 2");
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(c.orders().empty());
        c.knows.bootstrap_done(i, step::open, true, start + 4ms);
    }
    // Together: none of them decides what cluster time is for the others.
    CHECK(c.orders() == "write 0, write 1, write 2");
    made.since_us = 0;
    made.time_us = noon + us(4ms);
    made.offset = core::recorded_offset{0, 1000, noon};
    c.knows.clock_written(0, made, start + 4ms, start + 5ms);
    CHECK(c.orders().empty());
    c.knows.clock_written(1, made, start + 4ms, start + 5ms);
    CHECK(c.orders() == "settled");
}

TEST_CASE("a record that is another than in the handshake has the node greeted again") {
    client_of_three c = settled();
    SECTION("of a flushed node") { c.records[1] = {}; }
    SECTION("of one that another client declared new") { c.records[1].epoch = "f"; }
    SECTION("of a node that was given to another set") { c.records[1].other_set = "5:x"; }
    CHECK(c.look_answered(1, 1s) == "greet 1");
    // Until then the old one stands.
    CHECK(c.knows.votes().record_of(1).epoch == "e");
}

TEST_CASE("a record that changes during a bootstrap has no node greeted again") {
    client_of_three c;
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    REQUIRE(c.go_on(1ms) == "make 0, make 1, make 2");
    c.knows.showed(1, {.is_late = true}, start);
    REQUIRE(c.orders() == "look 1");
    c.records[1] = young_record("made in the meantime");
    CHECK(c.look_answered(1, 2ms).empty());
}

TEST_CASE("amnesiac is news only where the command was sent after the record was read") {
    client_of_three c = settled();
    c.knows.showed(1, {.is_amnesiac = true}, start + 1ms);
    CHECK(c.orders().empty());
    c.knows.showed(1, {.is_amnesiac = true}, start + 2ms);
    CHECK(c.orders() == "greet 1");
    SECTION("and where there was a record") {
        c.records[1] = {};
        c.greet(1, 3ms);
        c.knows.showed(1, {.is_amnesiac = true}, start + 4ms);
        CHECK(c.orders().empty());
    }
}

TEST_CASE("a node that turned into a replica or back is greeted again") {
    client_of_three c = settled();
    server_facts told = c.servers[1];
    SECTION("not while it stays what it was") {
        c.knows.read_replication(1, told);
        CHECK(c.orders().empty());
    }
    SECTION("a replica") {
        told.is_master = false;
        c.knows.read_replication(1, told);
        CHECK(c.orders() == "greet 1");
    }
    SECTION("a replica of another master, promoted since") {
        told.replid = "s";
        c.knows.read_replication(1, told);
        CHECK(c.orders() == "greet 1");
    }
    SECTION("a master whose first replica has attached") {
        told.has_replicas = true;
        c.knows.read_replication(1, told);
        CHECK(c.orders() == "greet 1");
    }
    SECTION("a replica, at each probe, since the handshake alone tells its role") {
        c.servers[1].is_master = false;
        c.greet(1, 1s);
        CHECK(c.probe(2s) == "look 0, role 0, greet 1, look 1, role 1, look 2, role 2, report 1");
    }
}

TEST_CASE("a probe looks at every node within reach") {
    client_of_three c = settled();
    c.link(1, false);
    CHECK(c.probe(5s) == "look 0, role 0, look 2, role 2");
}

TEST_CASE("acquires wait for nodes that are out of reach until they have failed once") {
    client_of_three c;
    c.records.fill(open_record());
    c.greet(0, 1ms);
    CHECK(c.go_on(1ms).empty());
    c.link(1, false);
    c.knows.down(1, start + 2ms);
    CHECK(c.orders().empty());
    c.link(2, false);
    c.knows.down(2, start + 3ms);
    // One of three can't tell cluster time, and nothing is under way.
    CHECK(c.orders() == "settled");
}

TEST_CASE("acquires wait no longer than connect_timeout for nodes that never answer") {
    client_of_three c;
    c.knows.settle(start + 499ms);
    CHECK(c.orders().empty());
    CHECK(c.knows.settle_deadline() == start + 500ms);
    SECTION("or twice as long where a quorum is still being greeted then") {
        c.link(2, false);
        c.knows.settle(start + 500ms);
        CHECK(c.orders().empty());
        CHECK(c.knows.settle_deadline() == start + 1s);
        c.knows.settle(start + 1s);
        CHECK(c.orders() == "settled");
        return;
    }
    for (std::size_t i = 0; i < 3; ++i) c.link(i, false);
    c.knows.settle(start + 500ms);
    CHECK(c.orders() == "settled");
    SECTION("and wait again when one comes after all") {
        c.greet(0, 1s);
        CHECK_FALSE(c.knows.is_settled());
        CHECK(c.knows.settle_deadline() == start + 1500ms);
    }
}

TEST_CASE("acquires wait for a record that is made but not for another client's bootstrap") {
    client_of_three c;
    SECTION("the command to make one may give the node its vote") {
        for (std::size_t i = 0; i < 3; ++i) c.greet(i, 490ms);
        REQUIRE(c.go_on(490ms) == "make 0, make 1, make 2");
        CHECK(c.knows.settle_deadline() == start + 540ms);
    }
    SECTION("a look at the record of another bootstrap only shows that it lasts") {
        c.records.fill(young_record());
        for (auto& r : c.records) r.mark = "z";
        for (std::size_t i = 0; i < 3; ++i) c.greet(i, 460ms);
        c.go_on(460ms);
        CHECK(c.knows.bootstrap_deadline() == start + 480ms);
        CHECK(c.go_on(480ms) == "make 0, make 1, make 2");
        CHECK(c.knows.settle_deadline() == start + 500ms);
    }
}

TEST_CASE("an order that was not sent is as good as failed and is not given again") {
    client_of_three c;
    SECTION("of a bootstrap: the node counts as gone") {
        for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
        REQUIRE(c.go_on(1ms) == "make 0, make 1, make 2");
        for (std::size_t i = 0; i < 3; ++i) {
            c.knows.not_sent({.what = task::bootstrap, .node = i, .step = step::make},
                             start + 1ms);
        }
        CHECK(c.orders().find("settled") != std::string::npos);
        CHECK(c.go_on(2ms).empty());
    }
    SECTION("of a clock: the next probe gives it once more") {
        c.records.fill(open_record());
        for (auto& r : c.records) r.offset.reset();
        for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
        REQUIRE(c.go_on(1ms) == "write 0, write 1, write 2");
        for (std::size_t i = 0; i < 3; ++i) {
            c.knows.not_sent({.what = task::write_clock, .node = i}, start + 1ms);
        }
        CHECK(c.orders() == "settled");
        CHECK(c.go_on(2ms).empty());
        c.probe(5s);
        CHECK(c.look_answered(0, 5s).empty());
        CHECK(c.look_answered(1, 5s).empty());
        CHECK(c.look_answered(2, 5s) == "write 0, write 1, write 2");
    }
    SECTION("of a look") {
        c = settled();
        c.knows.showed(0, {.is_late = true}, start);
        REQUIRE(c.orders() == "look 0");
        c.knows.not_sent({.what = task::look, .node = 0}, start + 1s);
        CHECK(c.orders().empty());
    }
}

TEST_CASE("an order of the bootstrap that failed may have been carried out all the same") {
    client_of_three c;
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    REQUIRE(c.go_on(1ms) == "make 0, make 1, make 2");
    c.knows.bootstrap_failed(1, start + 2ms);
    CHECK(c.orders().starts_with("greet 1"));
}

TEST_CASE("a look that tells nothing has failed and the next probe repeats it") {
    client_of_three c = settled();
    c.knows.showed(0, {.is_late = true}, start);
    REQUIRE(c.orders() == "look 0");
    c.knows.looked(0, {}, start + 1s, start + 1s);
    CHECK(c.orders().empty());
    CHECK(c.probe(5s).starts_with("look 0"));
}

TEST_CASE("a clock that was written beside a record that is gone has the node greeted again") {
    client_of_three c;
    c.records.fill(open_record());
    for (auto& r : c.records) r.offset.reset();
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    REQUIRE(c.go_on(1ms) == "write 0, write 1, write 2");
    c.knows.clock_written(0, {.time_us = noon}, start + 1ms, start + 2ms);
    // And nothing is written to it meanwhile.
    CHECK(c.orders() == "greet 0");
}

// Where many programs meet a new cluster at once, clocks are written to records that their makers
// are taking back. Who broke its connection for that gave up the records that it had made itself:
// all nodes were in quarantine, and nobody opened them.
TEST_CASE("a record that was taken back during a bootstrap breaks no connection") {
    client_of_three c;
    c.records[0] = young_record("another's");
    c.records[0].mark = "z";
    c.records[0].offset.reset();
    c.records[0].cluster_since_us.reset();
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    REQUIRE(c.go_on(1ms) == "make 1, make 2");
    SECTION("a clock is written to it") {
        c.knows.clock_written(0, {.time_us = noon}, start + 2ms, start + 3ms);
    }
    SECTION("a command names it") {
        c.knows.showed(0, {.is_amnesiac = true}, start + 2ms);
    }
    CHECK(c.orders().find("greet") == std::string::npos);
    record_facts made = young_record();
    made.mark = "m";
    made.made = true;
    for (const std::size_t i : {1U, 2U}) c.knows.bootstrap_found(i, made, start + 2ms, start + 3ms);
    CHECK(c.go_on(30ms).starts_with("make 0"));
    c.knows.bootstrap_found(0, made, start + 30ms, start + 31ms);
    CHECK(c.orders().find("open 0, open 1, open 2") != std::string::npos);
}

// That it was gone was noted, so that no look found anything new: the node stayed without a record,
// and without a vote, until its connection broke.
TEST_CASE("a record that is gone when a clock is written, while another is made, is seen again") {
    client_of_three c = settled();
    CHECK(look_after_a_noted_flush(c, 1s).starts_with("greet 1"));
}

TEST_CASE("a client that made a record and could not open it also sees that it is gone") {
    client_of_three c;
    c.greet(0, 1ms);
    c.greet(1, 1ms);
    c.knows.down(2, start + 1ms);
    REQUIRE(c.go_on(1ms).starts_with("make 0, make 1"));
    record_facts made = young_record();
    made.mark = "m";
    for (const std::size_t i : {0U, 1U}) c.knows.bootstrap_found(i, made, start + 2ms, start + 2ms);
    CHECK(look_after_a_noted_flush(c, 40s).starts_with("greet 1"));
}

TEST_CASE("a strike takes the vote and its answer is no further step") {
    client_of_three c = settled();
    record_facts struck = young_record("struck");
    struck.made = true;
    struck.time_us = noon + us(2s);  // a second ahead of what was read before
    c.knows.clock_written(0, struck, start + 1s, start + 1s);
    CHECK(c.orders() == "report 0");
    CHECK(c.knows.votes().objection(0, start + 1s) == errc::in_quarantine);
    // Where nobody was struck the same answer shows a step.
    struck.epoch = "e";
    struck.since_us = 0;
    c.knows.clock_written(1, struck, start + 1s, start + 1s);
    CHECK_FALSE(c.knows.is_settled());
    CHECK(c.orders() == "look 0, look 2");
}

TEST_CASE("why a node has no vote is reported once and not while it may get one any moment") {
    client_of_three c = settled();
    c.records[1] = young_record("f");
    c.greet(1, 1s);
    CHECK(c.go_on(1s) == "settled, report 1");
    CHECK(c.go_on(2s).empty());
    SECTION("again where it had one in between") {
        c.records[1] = open_record();
        c.greet(1, 3s);
        CHECK(c.go_on(3s) == "settled");
        c.records[1] = young_record("g");
        c.greet(1, 4s);
        CHECK(c.go_on(4s) == "settled, report 1");
    }
    SECTION("not during a bootstrap") {
        client_of_three fresh;
        fresh.records[1] = young_record();
        fresh.records[1].mark = "a";
        for (std::size_t i = 0; i < 3; ++i) fresh.greet(i, 1ms);
        CHECK(fresh.go_on(1ms).find("report") == std::string::npos);
    }
}

TEST_CASE("another ttl_max is reported once for all nodes and counts where it is larger") {
    client_of_three c;
    c.records.fill(open_record());
    for (auto& r : c.records) r.ttl_max = 90s;
    CHECK(c.greet(0, 1ms) == "ttl_max 0");
    CHECK(c.greet(1, 1ms).empty());
    CHECK(c.greet(0, 2ms).empty());
    c.records[2].ttl_max = 30s;
    CHECK(c.greet(2, 2ms) == "ttl_max 2");
    CHECK(c.knows.votes().ttl_max() == 90s);
    CHECK(c.knows.clocks().tolerance() == 15s);
}

TEST_CASE("the session of a greeted node is ordered to use its clock and its record") {
    client_of_three c;
    c.records.fill(open_record());
    c.link(0, true);
    c.knows.greeted(0, {c.servers[0], noon, c.records[0], start}, start);
    const auto orders = c.knows.take_orders();
    REQUIRE(orders.size() == 2);
    CHECK(orders[0].what == task::use_clock);
    CHECK(orders[1].what == task::use_record);
}

TEST_CASE("a closed client asks nothing more and still learns what its releases go by") {
    client_of_three c = settled();
    c.knows.close();
    c.knows.down(1, start + 1s);
    CHECK(c.orders().empty());
    c.records[1] = young_record("f");
    c.greet(1, 2s);
    CHECK(c.last.what == task::use_record);
    CHECK(c.go_on(2s).empty());
    CHECK(c.knows.votes().record_of(1).epoch == "f");
}

TEST_CASE("breaks and other records are counted for the releases that come after them") {
    client_of_three c = settled();
    const core::traces left{.born = c.knows.breaks().so_far(),
                            .nodes = node_mask::first(3),
                            .highest_fence = 5};
    CHECK_FALSE(c.knows.breaks().may_arrive_late(1, left));
    c.knows.down(1, start + 1s);
    CHECK(c.knows.breaks().may_arrive_late(1, left));
    c.records[1] = young_record("f");
    c.greet(1, 2s);
    CHECK_FALSE(c.knows.breaks().may_arrive_late(1, left));
}

TEST_CASE("a fence lies near node time and none is drawn where that is in doubt") {
    client_of_three c = settled();
    const auto noon_fence = static_cast<std::uint64_t>(noon);
    const auto tolerance = static_cast<std::uint64_t>(us(15s));
    CHECK(c.knows.propose(0, start + 1ms, {}) >= noon_fence);
    CHECK_FALSE(c.knows.propose(noon_fence + 2 * tolerance, start + 1ms, {}).has_value());
    const auto highest = c.knows.highest_plausible_fence(start + 1ms);
    CHECK(c.knows.limits_of_fences().tolerance == 15s);
    CHECK(c.knows.limits_of_fences().life == 2 * duration(c.knows.votes().ttl_max()));
    CHECK(highest >= noon_fence + tolerance / 2);
    CHECK(highest < noon_fence + 2 * tolerance);
    const node_knowledge none(guarded(), "m");
    CHECK(none.highest_plausible_fence(start) < noon_fence);
    // Two clocks of two that are far apart.
    client_options two = guarded();
    two.nodes.resize(2);
    node_knowledge doubtful(two, "m");
    doubtful.greeted(0, {{.run_id = "a"}, noon, open_record(), start}, start);
    doubtful.greeted(1, {{.run_id = "b"}, noon + us(1h), open_record(), start}, start);
    CHECK(doubtful.clocks().is_in_doubt());
    CHECK_FALSE(doubtful.propose(0, start, {}).has_value());
}

TEST_CASE("without the guard a node votes at once and without fencing nobody waits") {
    client_options options = guarded();
    SECTION("no guard") {
        options.guard = restart_guard::off;
        client_of_three c(options);
        for (std::size_t i = 0; i < 2; ++i) {
            c.greet(i, 1ms);
            CHECK(c.go_on(1ms) == (i == 0 ? "" : "settled"));
            CHECK_FALSE(c.knows.votes().objection(i, start + 1ms));
        }
        CHECK(c.probe(5s) == "look 0, look 1");
    }
    SECTION("no fencing") {
        options.fencing = false;
        client_of_three c(options);
        CHECK(c.knows.is_settled());
        CHECK(c.greet(0, 1ms).empty());
        CHECK(c.go_on(1ms).empty());
    }
}
