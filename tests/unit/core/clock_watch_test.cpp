// Looks, strikes and corrections of the nodes' clocks, each rule with the sequence that needs it.
// SPDX-License-Identifier: MIT
#include "core/clock_watch.hpp"

#include "tests/support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

using namespace redlock;
using namespace std::chrono_literals;
using core::clock_watch;
using core::eligibility;
using core::node_orders;
using core::record_facts;
using task = core::node_order::task;

namespace {

constexpr time_point start = time_point(72h);
constexpr std::int64_t noon = 1'700'000'000'000'000;  // of a true clock at `start`

std::int64_t us(duration d) { return std::chrono::floor<std::chrono::microseconds>(d).count(); }

/// Three nodes whose true clocks are on record. Times are counted from `start`.
struct three_nodes {
    /// `step`: of node 0, before this client met any. `met`: how many it has.
    explicit three_nodes(duration step = 0s, std::size_t met = 3, bool is_guarded = true,
                         core::record_role role = core::record_role::keeps)
        : votes(node_lists(3), is_guarded, 60s, {}), watch(node_lists(3), is_guarded, 15s, {}) {
        watch.set_role(role);
        for (std::size_t i = 0; i < 3; ++i) write(i, 0s);
        ahead[0] = step;
        for (std::size_t i = 0; i < met; ++i) greet(i, 0s);
        for (std::size_t i = met; i < 3; ++i) link(i, false, true);
    }

    /// Some client writes the node's clock to its record; a strike begins the quarantine, too.
    void write(std::size_t node, duration at, bool strikes = false) {
        record_facts& r = records[node];
        if (!r.exists) r.ttl_max = r.quarantine = 60s;
        r.exists = true;
        if (strikes) r.epoch += "'";
        if (strikes) r.since_us = noon + us(at + ahead[node]);
        if (strikes) r.cluster_since_us = noon + us(at);
        if (!r.cluster_since_us) r.cluster_since_us = 0;
        r.offset = {us(ahead[node]), 1000, noon + us(at + ahead[node])};
    }
    void link(std::size_t node, bool is_ready, bool is_untried = false) {
        watch.set_link(node, {is_ready, is_untried, 50ms});
    }
    bool read_clock(std::size_t node, duration at, duration took = 0s) {
        const std::int64_t time_us = noon + us(at + ahead[node]);
        return watch.read(node, {time_us, start + at - took, start + at}, votes, start + at, out);
    }
    void read_record(std::size_t node, duration at) {
        votes.read(node, records[node], start + at);
        watch.take_record(node, votes, start + at);
    }
    void greet(std::size_t node, duration at, bool is_master = true) {
        link(node, true);
        watch.greeted(node);
        votes.met(node, {.run_id = std::to_string(node), .is_master = is_master}, start + at);
        read_clock(node, at);
        read_record(node, at);
    }
    bool answer_look(std::size_t node, duration at, duration took = 0s) {
        watch.looked(node);
        const bool has_jumped = read_clock(node, at, took);
        read_record(node, at);
        return has_jumped;
    }
    void answer_looks(duration at) {
        for (std::size_t i = 0; i < 3; ++i) answer_look(i, at);
    }
    /// The answer to an order to write, by which our client was the first.
    void answer_write(std::size_t node, duration at, bool strikes) {
        write(node, at, strikes);
        watch.clock_written(node, true);
        read_record(node, at);
    }

    /// The orders since the last ones as text: "look 0, strike 1"; those to use something left out.
    std::string orders() {
        using kind = core::amendment::kind;
        static const std::map<kind, std::string> verbs{
            {kind::keep, "write"}, {kind::strike, "strike"}, {kind::open, "open"}};
        std::string text;
        for (const auto& o : std::exchange(out, {})) {
            std::string word;
            if (o.what == task::write_clock) last = o;
            if (o.what == task::look) word = "look " + std::to_string(o.node);
            if (o.what == task::clock_gap) word = "gap";
            if (o.what == task::write_clock) {
                word = verbs.at(o.changes.what) + " " + std::to_string(o.node);
            }
            if (!word.empty()) text += (text.empty() ? "" : ", ") + word;
        }
        return text;
    }
    std::string compare(duration at) {
        has_started_over = watch.compare(votes, start + at, out);
        return orders();
    }
    bool has_vote(std::size_t node, duration at) const {
        return votes.votes_from(node) <= start + at;
    }

    eligibility votes;
    clock_watch watch;
    std::array<duration, 3> ahead{};
    std::array<record_facts, 3> records;
    node_orders out;
    core::node_order last;  // to write
    bool has_started_over = false;
};

}  // namespace

TEST_CASE("a clock that agrees with its record gives the node its vote and is left alone") {
    three_nodes n;
    CHECK_FALSE(n.has_vote(0, 1ms));
    CHECK(n.compare(1ms).empty());
    for (std::size_t i = 0; i < 3; ++i) CHECK(n.has_vote(i, 1ms));
}

TEST_CASE("a client that only looks compares, and writes nothing") {
    three_nodes n(0s, 3, true, core::record_role::looks);
    n.records[1].offset.reset();
    n.read_record(1, 0s);
    CHECK(n.compare(1ms).empty());
    for (std::size_t i = 0; i < 3; ++i) CHECK(n.has_vote(i, 1ms));
    n.records[0].is_void = true;
    n.read_record(0, 2ms);
    n.answer_looks(1h);
    CHECK(n.compare(1h).find("write") == std::string::npos);
    CHECK_FALSE(n.has_vote(0, 1h));
}

TEST_CASE("the data of an earlier process are believed or struck when all clocks are read") {
    three_nodes n(0s, 0);
    const duration seen_before = GENERATE(duration(10s), duration(61s));
    n.records[1].is_of_earlier_process = true;
    n.records[1].offset->seen_us -= us(seen_before);
    for (std::size_t i = 0; i < 2; ++i) n.greet(i, 0s);
    CHECK(n.compare(1ms).empty());
    CHECK_FALSE(n.has_vote(1, 1ms));
    n.greet(2, 2ms);
    CHECK(n.compare(2ms) == (seen_before < 60s ? "write 1" : "strike 1"));
    CHECK_FALSE(n.has_vote(1, 2ms));
}

TEST_CASE("a longer quarantine waits for all nodes, and opens them: it takes no vote") {
    three_nodes n;
    for (std::size_t i = 0; i < 3; ++i) {
        record_facts& r = n.records[i];
        r.quarantine = r.ttl_max = 3s;
        r.since_us = noon - us(i == 0 ? 2s : 10s);
        r.cluster_since_us = r.since_us;
        n.read_record(i, 0s);
    }
    CHECK(n.compare(1ms) == "");
    CHECK(n.compare(2s) == "open 0, open 1, open 2");
    for (std::size_t i = 0; i < 3; ++i) {
        n.records[i].quarantine = 60s;
        n.answer_write(i, 2002ms, false);
    }
    SECTION("and then every node gets the longer ttl_max, at once") {
        CHECK(n.compare(2003ms) == "write 0, write 1, write 2");
        CHECK(n.last.changes.ttl_max == 60s);
    }
}

TEST_CASE("nor is it raised by records that were read before a node began to remember") {
    three_nodes n;
    for (std::size_t i = 0; i < 3; ++i) {
        record_facts& r = n.records[i];
        r.quarantine = r.ttl_max = 3s;
        r.since_us = i == 0 ? noon + us(1s) : 0;
        r.cluster_since_us = r.since_us;
        n.read_clock(i, i == 0 ? 1s : 0s);
        n.read_record(i, i == 0 ? 1s : 0s);
    }
    CHECK(n.compare(6s) == "write 0, write 1, write 2");  // that they were seen
    CHECK(n.last.changes.quarantine == 0s);
    for (std::size_t i = 0; i < 3; ++i) n.answer_write(i, 6s, false);
    n.answer_look(1, 6s);
    CHECK(n.compare(6s) == "");
    n.answer_look(2, 6s);
    CHECK(n.compare(6s) == "open 0, write 1, write 2");
}

TEST_CASE("a larger quarantine that is on record already goes on every node at once") {
    three_nodes n;
    for (std::size_t i = 0; i < 3; ++i) {
        record_facts& r = n.records[i];
        r.ttl_max = 3s;
        r.quarantine = i == 2 ? 60s : 3s;
        r.since_us = i == 0 ? noon - us(2s) : 0;
        r.cluster_since_us = r.since_us;
        n.read_record(i, 0s);
    }
    CHECK(n.compare(1ms) == "write 0, write 1");
    CHECK(n.last.changes.quarantine == 60s);
}

TEST_CASE("nodes that were not seen for longer than a quarantine are opened, all or none") {
    three_nodes n(0s, 0);
    const bool are_long_unseen = GENERATE(true, false);
    const duration unseen = are_long_unseen ? 92s : 90s;
    for (std::size_t i = 0; i < 3; ++i) {
        record_facts& r = n.records[i];
        r.offset->seen_us -= us(unseen);
        r.epoch = "reset";
        r.since_us = noon;
        r.cluster_since_us.reset();
    }
    for (std::size_t i = 0; i < 2; ++i) n.greet(i, 0s);
    SECTION("all have answered") {
        n.greet(2, 1ms);
        CHECK(n.compare(1ms) == (are_long_unseen ? "open 0, open 1, open 2"
                                                 : "write 0, write 1, write 2"));
    }
    SECTION("one can't be reached") {
        n.link(2, false);
        CHECK(n.compare(1ms) == "write 0, write 1");
    }
    SECTION("one lost its record, and is opened when this client has made another") {
        n.records[2] = {};
        n.greet(2, 1ms);
        CHECK(n.compare(1ms) == (are_long_unseen ? "open 0, open 1" : "write 0, write 1"));
        for (std::size_t i = 0; i < 2; ++i) {
            if (are_long_unseen) n.records[i].since_us = 0;
            n.answer_write(i, 2ms, false);
        }
        record_facts& made = n.records[2];
        made = {.exists = true, .epoch = "made", .since_us = noon, .ttl_max = 60s,
                .quarantine = 60s};
        made.made = GENERATE(true, false);
        n.read_record(2, 3ms);
        CHECK(n.compare(3ms) == (are_long_unseen && made.made ? "open 2" : "write 2"));
    }
}

TEST_CASE("an offset is written again when it is nearly as old as the time between two probes") {
    three_nodes n;
    n.answer_looks(3900ms);
    CHECK(n.compare(3900ms).empty());
    n.answer_looks(4100ms);
    CHECK(n.compare(4100ms) == "write 0, write 1, write 2");
    CHECK(n.watch.is_writing());
    SECTION("once") { CHECK(n.compare(4101ms).empty()); }
    SECTION("after which the next look may find it old again") {
        for (std::size_t i = 0; i < 3; ++i) n.answer_write(i, 4102ms, false);
        CHECK_FALSE(n.watch.is_writing());
        n.answer_looks(9s);
        CHECK(n.compare(9s) == "write 0, write 1, write 2");
    }
    SECTION("and where the node refuses it, by the next probe") {
        n.watch.write_failed(0);
        n.answer_look(0, 4200ms);
        CHECK(n.compare(4200ms).empty());
        n.watch.probe(0, n.out);
        CHECK(n.orders() == "look 0");
        n.answer_look(0, 4300ms);
        CHECK(n.compare(4300ms) == "write 0");
    }
    SECTION("and where another client was first, its record is what counts") {
        n.write(0, 4101ms);
        n.watch.clock_written(0, false);
        n.read_record(0, 4102ms);
        CHECK(n.compare(4102ms).empty());
    }
}

TEST_CASE("no offset is written while a reading is under way") {
    three_nodes n;
    n.orders();
    n.watch.look(2, n.out);
    REQUIRE(n.orders() == "look 2");
    n.answer_look(0, 4100ms);
    n.answer_look(1, 4100ms);
    // Two clocks are a quorum, but their median may differ from that of all.
    CHECK(n.compare(4100ms).empty());
    n.answer_look(2, 4101ms);
    CHECK(n.compare(4101ms) == "write 0, write 1, write 2");
}

TEST_CASE("a record without an offset gets one and the node votes when it has it") {
    three_nodes n;
    for (auto& r : n.records) r.offset.reset();
    for (std::size_t i = 0; i < 3; ++i) n.greet(i, 1s);
    CHECK(n.compare(1s) == "write 0, write 1, write 2");
    CHECK_FALSE(n.has_vote(0, 1s));
    n.answer_write(0, 1s, false);
    CHECK(n.compare(1s).empty());
    CHECK(n.has_vote(0, 1s));
}

TEST_CASE("a clock that differs from its record is read again and struck then") {
    three_nodes n(1s);
    CHECK(n.compare(1ms) == "look 0, look 1, look 2");
    CHECK(n.has_started_over);
    CHECK_FALSE(n.has_vote(0, 1ms));
    // Two are enough for cluster time, but the third may decide which of them is wrong.
    n.answer_look(0, 2ms);
    n.answer_look(1, 2ms);
    CHECK(n.compare(2ms).empty());
    n.answer_look(2, 3ms);
    CHECK(n.compare(3ms) == "strike 0");
    CHECK_FALSE(n.has_started_over);
    CHECK_FALSE(n.has_vote(0, 3ms));
    CHECK(n.has_vote(1, 3ms));
    n.answer_write(0, 4ms, true);
    CHECK(n.compare(4ms).empty());
    CHECK_FALSE(n.has_vote(0, 4ms));
    CHECK(n.has_vote(0, 61s));
}

TEST_CASE("no node is struck before each has answered or failed") {
    three_nodes n(1s, 2);
    CHECK(n.watch.is_looking());
    CHECK(n.compare(1ms).empty());
    n.link(2, false);
    CHECK_FALSE(n.watch.is_looking());
    CHECK(n.compare(2ms) == "look 0, look 1");
    n.answer_look(0, 3ms);
    n.answer_look(1, 3ms);
    // Two clocks of three disagree: the one that differs from its record is no more wrong than the
    // other one. Both lose their votes.
    CHECK(n.compare(3ms) == "strike 0, strike 1");
}

TEST_CASE("what another client has corrected in the meantime is not struck") {
    three_nodes n(1s);
    REQUIRE(n.compare(1ms) == "look 0, look 1, look 2");
    n.write(0, 2ms, true);
    n.answer_looks(3ms);
    CHECK(n.compare(3ms).empty());
}

TEST_CASE("where everything was read again there is no third reading") {
    three_nodes n(1s);
    REQUIRE(n.compare(1ms) == "look 0, look 1, look 2");
    for (std::size_t i = 0; i < 3; ++i) n.watch.look_failed(i);
    CHECK(n.compare(2ms).empty());
    CHECK_FALSE(n.watch.is_looking());
}

TEST_CASE("a jump is forgiven where another client has struck the node since") {
    three_nodes n;
    REQUIRE(n.compare(1ms).empty());
    n.ahead[0] = 1s;
    CHECK(n.answer_look(0, 2s));
    CHECK_FALSE(n.has_vote(0, 2s));
    const auto strike_by_another = [&](duration at) { n.write(0, at, true); };
    SECTION("which covers the jump, too") {
        strike_by_another(1900ms);
        n.answer_looks(2500ms);
        CHECK(n.compare(2500ms) == "");
    }
    SECTION("but not where it did so before our last reading that ran true") {
        n.ahead[0] = 0s;
        strike_by_another(-1s);
        n.ahead[0] = 1s;
        n.records[0].offset = {us(1s), 1000, noon + us(2s)};
        n.answer_looks(2500ms);
        CHECK(n.compare(2500ms) == "strike 0");
    }
    SECTION("nor where its quarantine is half over, in which a second step could hide") {
        strike_by_another(1900ms);
        for (std::size_t i = 0; i < 3; ++i) n.records[i].offset->seen_us += us(30s);
        n.answer_looks(33s);
        CHECK(n.compare(33s) == "strike 0");
    }
    SECTION("nor where nobody has") {
        n.records[0].offset = {us(1s), 1000, noon + us(2s)};
        n.answer_looks(2500ms);
        CHECK(n.compare(2500ms) == "strike 0");
    }
}

TEST_CASE("a jump that a quorum shares is a gap of our own clock") {
    three_nodes n;
    REQUIRE(n.compare(1ms).empty());
    n.ahead = {10s, 10s, 10s};
    CHECK(n.answer_look(0, 1s));
    // By one clock alone it could be that node's step: the others are read, and nobody is struck.
    CHECK(n.compare(1s) == "look 1, look 2");
    CHECK(n.answer_look(1, 1s + 1ms));
    CHECK(n.compare(1s + 1ms) == "gap, look 0");
    n.answer_look(2, 1s + 2ms);
    n.answer_look(0, 1s + 2ms);
    const std::string rest = n.compare(1s + 2ms);
    CHECK(rest.find("strike") == std::string::npos);
    CHECK(rest.find("gap") == std::string::npos);
}

TEST_CASE("a node whose time is another one at each reading is struck, and read no further") {
    three_nodes n;
    REQUIRE(n.compare(1ms).empty());
    n.answer_look(0, 1s);
    std::string orders;
    int rounds = 0;
    for (; orders.find("strike 0") == std::string::npos && rounds < 100; ++rounds) {
        const duration at = 1s + rounds * 1ms;
        // As far as an answer can name it: a sum of a thousand would be beyond all numbers.
        n.ahead[0] = rounds % 2 == 0 ? 24h * 365 * 100 : 0h;
        for (std::size_t i = 0; i < 3; ++i) {
            if (rounds == 0 || orders.find("look " + std::to_string(i)) != std::string::npos) {
                n.answer_look(i, at, 100us);
            }
        }
        orders = n.compare(at);
    }
    CHECK(rounds > 1);
    CHECK(rounds <= 12);
    CHECK(n.compare(1s + 200ms).find("look") == std::string::npos);
    CHECK_FALSE(n.has_vote(0, 1s + 200ms));
    CHECK(n.has_vote(1, 1s + 200ms));
}

TEST_CASE("a look is ordered once and one that failed is repeated by the next probe") {
    three_nodes n;
    n.orders();
    n.watch.look(0, n.out);
    n.watch.look(0, n.out);
    CHECK(n.orders() == "look 0");
    CHECK(n.watch.is_looking());
    n.watch.look_failed(0);
    CHECK_FALSE(n.watch.is_looking());
    CHECK(n.compare(1ms).empty());
    n.watch.probe(0, n.out);
    CHECK(n.orders() == "look 0");
    SECTION("a handshake answers it") {
        n.greet(0, 1s);
        n.watch.look(0, n.out);
        CHECK(n.orders() == "look 0");
    }
    SECTION("and nothing is sent to a node that is out of reach") {
        n.link(1, false);
        n.watch.probe(1, n.out);
        CHECK(n.orders().empty());
    }
}

TEST_CASE("replicas and doubles and nodes without a record are not compared") {
    three_nodes n;
    n.ahead[0] = 1s;
    SECTION("a replica") { n.greet(0, 0s, false); }
    SECTION("a node whose record is gone") {
        n.records[0].exists = false;
        n.greet(0, 0s);
    }
    SECTION("a node out of reach") {
        n.greet(0, 0s);
        n.link(0, false);
    }
    SECTION("a double") {
        n.greet(0, 0s);
        n.votes.met(0, {.run_id = "1"}, start);
    }
    CHECK(n.compare(1ms).find('0') == std::string::npos);
}

TEST_CASE("a clock far from the median takes the vote without a strike") {
    three_nodes n;
    n.ahead[0] = 16s;
    n.write(0, 0s);
    n.greet(0, 0s);
    CHECK(n.votes.objection(0, start) == errc::clock_skew);
    n.ahead[0] = 14s;
    n.write(0, 0s);
    n.greet(0, 1ms);
    CHECK_FALSE(n.votes.objection(0, start) == errc::clock_skew);
}

TEST_CASE("without the guard clocks are followed and not compared") {
    three_nodes n(0s, 3, false);
    n.ahead[0] = 1s;
    CHECK_FALSE(n.answer_look(0, 1s));
    n.orders();
    CHECK(n.compare(1s).empty());
    CHECK(n.has_vote(0, 1s));
    CHECK(n.watch.clocks().ahead_us(0).has_value());
}
