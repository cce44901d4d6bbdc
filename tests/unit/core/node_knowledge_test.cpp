// What one client knows of its nodes, and what it asks them for that reason; sends nothing.
// SPDX-License-Identifier: MIT
#include "core/node_knowledge.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/project.hpp"
#include "tests/support/trace.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

// What a client orders from its nodes and reports of them: stories in `traces`, and single rules.
namespace node_knowledge_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::node_knowledge;
using core::node_order;
using core::record_facts;
using core::server_facts;
using testing::trace_command;
using testing::trace_text;
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
        case task::turn: return "turn" + node;
        case task::write_floor: return "floor" + node;
        case task::read_replication: return "role" + node;
        case task::greet_again: return "greet" + node;
        case task::clock_gap: return "gap";
        case task::settled: return "settled";
        case task::report_objection: return "report" + node;
        case task::report_ttl_max: return "ttl_max" + node;
        case task::report_lift: return "lift";
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

    void link(std::size_t node, bool is_ready, bool is_untried = false) {
        knows.set_link(node, {is_ready, is_untried, 50ms});
    }
    std::int64_t read_clock(std::size_t node, duration at) {
        return records[node].time_us = noon + us(at + ahead[node]);
    }
    void meet(std::size_t node, duration at) {
        link(node, true);
        const std::int64_t time_us = read_clock(node, at);
        knows.greeted(node, {servers[node], time_us, records[node], start + at}, start + at);
    }
    std::string greet(std::size_t node, duration at) {
        meet(node, at);
        return orders();
    }
    std::string go_on(duration at) {
        knows.go_on(start + at);
        return orders();
    }
    std::string look_answered(std::size_t node, duration at) {
        read_clock(node, at);
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
    std::array<duration, 3> ahead{};  // each node's clock
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

/// Drives clients, one after the other, by the lines of a story.
class node_story {
public:
    std::string answer(const trace_command& c) {
        const std::string& w = c.word();
        if (w == "client") return begin(c), "";
        if (w == "at") return now_ = testing::trace_time(c.at(0)), "";
        if (w == "wait") return wait();
        if (w == "vote") return vote(c.number_at(0));
        if (w == "keep") knows().take_role(core::record_role::keeps, now());
        else if (w == "settle") knows().settle(now());
        else if (w == "due") knows().go_on(now());
        else if (w == "probe") knows().probe(now());
        else befall(c);
        return client_->orders();
    }

private:
    node_knowledge& knows() { return client_.value().knows; }
    time_point now() const { return start + now_; }

    void begin(const trace_command& c) {
        using enum core::record_role;
        client_.emplace(guarded(), c.text("role", "keeps") == "keeps" ? keeps : looks);
    }

    std::string wait() {
        if (knows().is_settled()) return "over";
        return "until " + trace_text(knows().settle_deadline() - start);
    }

    std::string vote(std::size_t node) {
        const error_code why = knows().votes().objection(node, now());
        return why ? why.message() : "counts";
    }

    // What comes of one node, or of "all".
    void befall(const trace_command& c) {
        const bool is_of_all = c.at(0) == "all";
        for (std::size_t i = 0; i < 3; ++i) {
            if (is_of_all || i == c.number_at(0)) befall(i, c);
        }
        if (c.word() == "greeted") knows().go_on(now());
    }

    void befall(std::size_t node, const trace_command& c) {
        const std::string& w = c.word();
        record_facts& record = client_.value().records[node];
        if (w == "record") return put(record, c);
        if (w == "clock") return void(client_->ahead[node] = c.time("ahead"));
        if (w == "unreachable") return client_->link(node, false);
        if (w == "down") return client_->link(node, false), knows().down(node, now());
        client_->read_clock(node, now_);
        if (w == "greeted") return client_->meet(node, now_);
        if (w == "looked") return knows().looked(node, {{}, record}, now(), now());
        if (w == "made") return knows().bootstrap_found(node, record, now(), now());
        if (w == "opened") {
            record.since_us = 0;
            record.cluster_since_us = 0;
            record.init_us = core::init_pending;
            record.mark.clear();
            return knows().bootstrap_done(node, step::open, &record, now(), now());
        }
        if (w == "written") return knows().clock_written(node, record, now(), now());
        if (w == "late") return knows().showed(node, {.is_late = true}, now(), now());
        if (w == "amnesiac") return knows().showed(node, {.is_amnesiac = true}, now(), now());
        throw std::invalid_argument("no command: " + w);
    }

    // What a node has on record from now on. `since`: its quarantine began then. `mark`: of a
    // bootstrap that is not over. `made`: this client's order wrote it. `clock=none`: without the
    // clock's offset.
    static void put(record_facts& record, const trace_command& c) {
        if (c.text("is") == "none") return void(record = {});
        record = open_record();
        record.epoch = c.text("epoch", "e");
        record.mark = c.text("mark");
        record.made = c.has("made");
        if (c.has("since")) record.since_us = noon + us(c.time("since"));
        record.cluster_since_us = record.since_us;
        if (c.text("clock") == "none") {
            record.offset.reset();
            record.cluster_since_us.reset();
        }
    }

    std::optional<client_of_three> client_;
    duration now_{};
};

}  // namespace

TEST_CASE("a record that is another than in the handshake has the node greeted again") {
    client_of_three c = settled();
    SECTION("of a flushed node") { c.records[1] = {}; }
    SECTION("of one that another client declared new") { c.records[1].epoch = "f"; }
    SECTION("of a node that was given to another set") { c.records[1].list.set = "5:x"; }
    CHECK(c.look_answered(1, 1s) == "greet 1");
    // Until then the old one stands.
    CHECK(c.knows.votes().record_of(1).epoch == "e");
}

TEST_CASE("nodes that missed a change of the list are turned one after the other, and greeted no more") {
    client_of_three c = settled();
    c.records[0].list = {.number = 2, .history = {{1, "T"}, {0, ""}}};
    c.records[0].epoch = "f";
    CHECK(c.look_answered(0, 1s) == "turn 1");
    CHECK(c.knows.votes().record_of(0).epoch == "f");
    CHECK(c.knows.votes().objection(2, start + 1s) == errc::other_set);
    SECTION("when the one is done the next follows") {
        core::record_facts turned = c.records[0];
        turned.epoch = "g";
        c.knows.turned(1, turned, start + 1s, start + 1s);
        CHECK(c.orders().ends_with("turn 2"));
    }
    SECTION("one that failed is tried again by the next probe") {
        c.knows.failed(task::turn, 1, start + 1s);
        CHECK(c.orders() == "turn 2, report 1");
        c.knows.failed(task::turn, 2, start + 1s);
        CHECK(c.orders() == "report 2");
        c.probe(5s);
        c.knows.go_on(start + 5s);
        CHECK(c.orders() == "turn 1");
    }
}

// An acquire that waited for a record is sent at the instant at which it is read.
TEST_CASE("while the list changes a vote that fails right after a record was read is a step of the change") {
    client_of_three c = settled();
    c.records.fill(open_record());
    for (record_facts& r : c.records) r.list.announced = "T";
    for (std::size_t i = 0; i < 3; ++i) c.look_answered(i, 1s);
    const std::uint64_t before = c.knows.list_steps();
    SECTION("what was sent before tells nothing new") {
        c.knows.showed(1, {.is_amnesiac = true}, start + 1s - 1us, start + 2s);
        CHECK(c.knows.list_steps() == before);
        CHECK(c.orders().empty());
    }
    SECTION("what was sent then does") {
        c.knows.showed(1, {.is_amnesiac = true}, start + 1s, start + 2s);
        CHECK(c.knows.list_steps() == before + 1);
        CHECK_FALSE(c.knows.is_settled());
        CHECK(c.orders() == "look 1");
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

TEST_CASE("an order that was not sent is as good as failed and is not given again") {
    client_of_three c;
    SECTION("of a bootstrap: the node counts as gone") {
        for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
        REQUIRE(c.go_on(1ms) == "make 0, make 1, make 2");
        for (std::size_t i = 0; i < 3; ++i) {
            c.knows.failed(task::bootstrap, i, start + 1ms, false);
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
            c.knows.failed(task::write_clock, i, start + 1ms, false);
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
        c.knows.showed(0, {.is_late = true}, start, start);
        REQUIRE(c.orders() == "look 0");
        c.knows.failed(task::look, 0, start + 1s, false);
        CHECK(c.orders().empty());
    }
}

TEST_CASE("an order of the bootstrap that failed may have been carried out all the same") {
    client_of_three c;
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    REQUIRE(c.go_on(1ms) == "make 0, make 1, make 2");
    c.knows.failed(task::bootstrap, 1, start + 2ms);
    CHECK(c.orders().starts_with("greet 1"));
}

TEST_CASE("a look that tells nothing has failed and the next probe repeats it") {
    client_of_three c = settled();
    c.knows.showed(0, {.is_late = true}, start, start);
    REQUIRE(c.orders() == "look 0");
    c.knows.looked(0, {}, start + 1s, start + 1s);
    CHECK(c.orders().empty());
    CHECK(c.probe(5s).starts_with("look 0"));
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

// Each node takes the floor that is ordered, if its record says so.
std::string write_floors(client_of_three& c, duration at) {
    for (const auto& o : c.knows.take_orders()) {
        if (o.what != task::write_floor) continue;
        record_facts& r = c.records[o.node];
        const bool is_lifted = !r.floor.has_lift_of(o.floor);
        r.floor = o.floor;
        if (is_lifted) r.epoch += "+";
        r.made = true;
        c.read_clock(o.node, at);
        c.knows.floor_written(o.node, r, start + at, start + at);
        r.made = false;
    }
    return c.orders();
}

// Whose clocks went back by an hour since they were last used, at noon.
client_of_three gone_back(core::record_role role = core::record_role::keeps) {
    client_of_three c(guarded(), role);
    c.ahead.fill(-1h);
    c.records.fill(open_record());
    for (auto& r : c.records) {
        r.floor.highest_us = noon;
        r.offset->seen_us -= us(1h);
    }
    return c;
}

TEST_CASE("a client that draws a fence writes node time to the records, each five seconds") {
    client_of_three c = settled();
    const auto fence = c.knows.propose(0, start + 1s, {});
    CHECK(c.knows.has_orders());
    const auto orders = c.knows.take_orders();
    REQUIRE(orders.size() == 3);
    CHECK(orders[0].what == task::write_floor);
    CHECK(orders[0].floor == core::fence_floor{.highest_us = noon + us(1s)});
    CHECK(static_cast<std::int64_t>(*fence) == noon + us(1s));
    for (std::size_t i = 0; i < 3; ++i) {
        c.records[i].floor = orders[i].floor;
        c.read_clock(i, 1s);
        c.knows.floor_written(i, c.records[i], start + 1s, start + 1s);
    }
    CHECK(c.orders().empty());
    c.knows.propose(0, start + 6s - 1us, {});
    CHECK(c.orders().empty());
    c.knows.propose(0, start + 6s, {});
    CHECK(c.orders() == "floor 0, floor 1, floor 2");
    SECTION("once, until it is answered") {
        c.knows.propose(0, start + 6s, {});
        CHECK(c.orders().empty());
    }
    SECTION("not again before the next probe where a node refuses it") {
        for (std::size_t i = 0; i < 3; ++i) c.knows.failed(task::write_floor, i, start + 6s);
        c.knows.propose(0, start + 6s, {});
        CHECK(c.orders().find("floor") == std::string::npos);
        c.probe(7s);
        c.knows.propose(0, start + 7s, {});
        CHECK(c.orders() == "floor 0, floor 1, floor 2");
    }
}

TEST_CASE("a client that only looks, or has no guard, writes no node time") {
    client_options o = guarded();
    auto role = core::record_role::looks;
    SECTION("one that only looks") {}
    SECTION("one that has no guard") {
        o.guard = restart_guard::off;
        role = core::record_role::keeps;
    }
    client_of_three c(o, role);
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    c.go_on(1ms);
    c.knows.propose(0, start + 1s, {});
    CHECK(c.orders().find("floor") == std::string::npos);
}

TEST_CASE("no node votes after the clocks went back until its record has the lift") {
    client_of_three c = gone_back();
    for (std::size_t i = 0; i < 3; ++i) c.meet(i, 1ms);
    c.knows.go_on(start + 1ms);
    CHECK_FALSE(c.knows.is_settled());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(c.knows.votes().objection(i, start + 1ms) == errc::clock_skew);
    }
    CHECK(c.knows.least_step() == 1h - 1ms);
    CHECK(write_floors(c, 2ms).ends_with("settled"));
    for (std::size_t i = 0; i < 3; ++i) CHECK(c.knows.votes().votes_from(i) <= start + 2ms);
    CHECK(c.knows.limits_of_fences().lift == 1h + 20s - 1ms);
    const auto fence = static_cast<std::int64_t>(*c.knows.propose(0, start + 2ms, {}));
    CHECK(fence == noon + us(20s + 1ms));
    CHECK(fence <= static_cast<std::int64_t>(c.knows.highest_plausible_fence(start + 2ms)));
}

TEST_CASE("clocks that went back are reported once, by the client that writes it") {
    client_of_three c = gone_back();
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    CHECK(c.go_on(1ms) == "floor 0, lift, floor 1, floor 2");
    CHECK(c.last.what == task::write_floor);
    CHECK(c.go_on(2ms).empty());
}

TEST_CASE("one clock that is behind lifts nothing, and the last one that is read decides") {
    client_of_three c = gone_back();
    SECTION("one that is behind") {
        c.ahead = {-1h, 0s, 0s};
        for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
        CHECK(c.go_on(1ms).find("floor") == std::string::npos);
        CHECK_FALSE(c.knows.least_step());
    }
    SECTION("two that were read first") {
        c.ahead = {-20s, -20s, 0s};
        for (std::size_t i = 0; i < 2; ++i) c.greet(i, 1ms);
        CHECK(c.go_on(1ms).find("floor") == std::string::npos);
    }
}

TEST_CASE("a client that only looks judges as if the lift were written") {
    client_of_three c = gone_back(core::record_role::looks);
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    c.go_on(1ms);
    CHECK_FALSE(c.knows.votes().objection(0, start + 1ms));
    CHECK(c.knows.least_step());
    CHECK(c.knows.fence_time_us(start + 1ms) == noon + us(20s));
}

TEST_CASE("what is left of a lift when the clocks are right again is no step") {
    client_of_three c(guarded());
    for (auto& r : c.records) r.floor = {2, noon, us(5s)};
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 0s);
    c.go_on(0s);
    CHECK(c.knows.fence_time_us(start) == noon + us(5s));
    CHECK_FALSE(c.knows.least_step());
}

TEST_CASE("a client without the guard goes by the lift that others wrote, and by no other") {
    client_options o = guarded();
    o.guard = restart_guard::off;
    client_of_three c(o);
    const core::fence_floor lifted{1, noon, us(1h + 20s)};
    c.ahead.fill(-1h);
    for (auto& r : c.records) r.floor.highest_us = noon;
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 0s);
    CHECK(c.go_on(0s) == "settled, report 0, report 1, report 2");
    CHECK(c.knows.votes().objection(0, start) == errc::clock_skew);
    for (auto& r : c.records) r.floor = lifted;
    for (std::size_t i = 0; i < 3; ++i) c.look_answered(i, 1s);
    CHECK_FALSE(c.knows.votes().objection(0, start + 1s));
    CHECK(static_cast<std::int64_t>(*c.knows.propose(0, start + 1s, {})) == noon + us(21s));
}

TEST_CASE("where the clocks went back by less fences count from above the highest node time") {
    client_of_three c = gone_back();
    c.ahead.fill(-10s);
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 1ms);
    c.go_on(1ms);
    CHECK_FALSE(c.knows.least_step());
    CHECK(static_cast<std::int64_t>(*c.knows.propose(0, start + 1ms, {})) == noon + us(5s) + 1);
}

TEST_CASE("fences follow the clocks again where an operator lowered them") {
    client_of_three c = settled();
    const auto high = noon + us(10s);
    REQUIRE(c.knows.propose(static_cast<std::uint64_t>(high), start + 1s, {}));
    write_floors(c, 1s);
    c.ahead.fill(-1h);
    for (auto& r : c.records) r.floor = {.lifts = 1};
    for (std::size_t i = 0; i < 3; ++i) c.greet(i, 2s);
    c.go_on(2s);
    const auto fence = c.knows.propose(0, start + 2s, {});
    REQUIRE(fence);
    CHECK(static_cast<std::int64_t>(*fence) == noon + us(2s - 1h));
}

TEST_CASE("a fence lies near node time and none is drawn where that is in doubt") {
    client_of_three c = settled();
    const auto noon_fence = static_cast<std::uint64_t>(noon);
    const auto tolerance = static_cast<std::uint64_t>(us(15s));
    CHECK(c.knows.propose(0, start + 1ms, {}) >= noon_fence);
    CHECK_FALSE(c.knows.propose(noon_fence + 2 * tolerance, start + 1ms, {}).has_value());
    const auto highest = c.knows.highest_plausible_fence(start + 1ms);
    CHECK(c.knows.limits_of_fences().tolerance == 15s);
    CHECK(c.knows.limits_of_fences().lift == 0s);
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

TEST_CASE("a client without the guard that finds no record on any node orders none") {
    client_options options = guarded();
    options.fencing = false;
    client_of_three c(options);
    for (const std::size_t node : {0, 1, 2}) c.greet(node, 1ms);
    for (const std::size_t node : {0, 1, 2}) CHECK(c.look_answered(node, 5s).empty());
}

TEST_CASE("a client orders of its nodes what its stories say") {
    const auto stories =
        testing::traces_of(testing::project_folder() / "tests/unit/core/node/traces");
    CHECK(stories.size() >= 7);
    for (const auto& file : stories) {
        INFO(file.filename().string());
        const std::string written = testing::read_trace(file);
        node_story story;
        CHECK(testing::run_trace(file, [&](const trace_command& c) { return story.answer(c); }) ==
              written);
    }
}

}  // namespace node_knowledge_test

// When a release has to raise the fence: after breaks, unless the node forgot since.
namespace disruptions_test {

using namespace redlock;
using core::disruptions;
using core::traces;

namespace {

traces sent_now(const disruptions& d, std::uint64_t fence = 7) {
    traces t{.born = d.so_far()};
    t.note_sent(node_mask::first(3), fence);
    return t;
}

}  // namespace

TEST_CASE("on connections that hold nothing arrives late") {
    const disruptions d(3);
    CHECK_FALSE(d.may_arrive_late(0, sent_now(d)));
}

TEST_CASE("what was sent before a break may arrive late, on that node alone") {
    disruptions d(3);
    const traces before = sent_now(d);
    d.broke(1);
    CHECK(d.may_arrive_late(1, before));
    CHECK_FALSE(d.may_arrive_late(0, before));
    const traces after = sent_now(d);
    CHECK_FALSE(d.may_arrive_late(1, after));
}

TEST_CASE("a node that forgot after the break executes nothing that was sent earlier") {
    disruptions d(1);
    const traces before = sent_now(d);
    d.broke(0);
    d.forgot(0);
    CHECK_FALSE(d.may_arrive_late(0, before));
    d.broke(0);
    CHECK(d.may_arrive_late(0, before));
}

TEST_CASE("a node that forgot before the break may still execute") {
    disruptions d(1);
    const traces before = sent_now(d);
    d.forgot(0);
    d.broke(0);
    CHECK(d.may_arrive_late(0, before));
}

TEST_CASE("what another process sent may arrive late, whatever happened here") {
    const disruptions d(2);
    traces adopted = sent_now(d);
    adopted.began_elsewhere = true;
    CHECK(d.may_arrive_late(0, adopted));
    CHECK(d.may_arrive_late(1, adopted));
    adopted.highest_fence = 0;  // plain: there is no fence to raise
    CHECK_FALSE(d.may_arrive_late(0, adopted));
}

TEST_CASE("without a fence there is nothing to raise") {
    disruptions d(1);
    const traces plain = sent_now(d, 0);
    d.broke(0);
    CHECK_FALSE(d.may_arrive_late(0, plain));
}

TEST_CASE("traces keep every node and the highest fence") {
    traces t;
    t.note_sent(node_mask::only(0), 9);
    t.note_sent(node_mask::only(2), 5);
    CHECK(t.nodes == (node_mask::only(0) | node_mask::only(2)));
    CHECK(t.highest_fence == 9);
}

}  // namespace disruptions_test
