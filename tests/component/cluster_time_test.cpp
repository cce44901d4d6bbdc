// Clocks that step, clocks that stand still, and the sets of nodes, as whole clients see them in
// virtual time; no sockets.
// SPDX-License-Identifier: MIT
#include "component/support/records.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::fenced_options_for;
using fakes::has_vote;
using fakes::mode;
using fakes::newcomer;
using fakes::put_record;
using fakes::record_on;
using fakes::redis_model;
using fakes::world;
using namespace fakes::word;

namespace {

client_options guarded(std::size_t nodes = 3) { return fenced_options_for(nodes, 10s); }

std::size_t voters(world& w) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) {
        n += w.engine->parts().tracker.object(i, w.now, w.now) ? 0U : 1U;
    }
    const auto e = w.granted("voters", {.ttl = 1s, .renew = false});
    CHECK((e->outcome() == error_code{}) == (n > w.nodes.size() / 2));
    if (e->held) w.release(std::move(e->held));
    return n;
}

bool keeps_clock(const fakes::command& c) {
    return fakes::writes_clock(c) && !fakes::strikes_node(c);
}

std::size_t strikes(const world& w) {
    std::size_t n = 0;
    for (const auto& e : w.events) n += e.detail.find("its clock stepped") != e.detail.npos;
    return n;
}

}  // namespace

TEST_CASE("a node that restarted empty with a wrong clock does not grow old when it is set right") {
    connected_world w(guarded());
    w.run_for(1s);
    w.step_clock(0, -10min);
    w.crash(0, redis_model::data::lost);
    w.run_for(1s);
    w.step_clock(0, 10min);
    SECTION("seen by a client that was there") { w.run_for(6s); }
    SECTION("seen by no client") {}
    const auto y = newcomer(w, guarded());
    y->set_mode(2, mode::refuses);
    y->run_for(50ms);
    const auto e = y->granted("r");
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(e->held.votes()[0].answer == vote::quarantine);
}

TEST_CASE("a durable node that booted ahead and is set back is struck each time") {
    world w(guarded());
    for (auto& n : w.nodes) n.set_durable(true);
    w.connected();
    w.run_for(20s);
    const auto before = record_on(w, 0);
    w.step_clock(0, 1h);
    w.crash(0, redis_model::data::kept);
    w.run_for(1s);
    const auto ahead = record_on(w, 0);
    CHECK(ahead[epoch] != before[epoch]);
    CHECK(std::abs(std::stoll(ahead[offset]) - 3'600'000'000) < 100'000);
    w.step_clock(0, -1h);
    w.run_for(6s);
    const auto back = record_on(w, 0);
    CHECK(back[epoch] != ahead[epoch]);
    CHECK(std::abs(std::stoll(back[offset])) < 100'000);
    const auto y = newcomer(w, guarded());
    y->set_mode(2, mode::refuses);
    CHECK_FALSE(has_vote(*y, 0));
    y->run_for(11s);
    CHECK(has_vote(*y, 0));
}

TEST_CASE("a node that is steadily ahead votes at once after a durable restart") {
    auto o = guarded();
    o.ttl_max = 20s;
    world w(o);
    for (auto& n : w.nodes) n.set_durable(true);
    w.nodes[0].wall.set_offset(2s);
    w.connected();
    CHECK(voters(w) == 3);
    w.run_for(7s);
    w.crash(0, redis_model::data::kept);
    w.run_for(50ms);
    CHECK(voters(w) == 3);
    CHECK(strikes(w) == 0);
}

TEST_CASE("a step of a running node's clock is known to every client, newcomers too") {
    const auto by = GENERATE(duration(2s), duration(-2s), duration(300ms));
    connected_world w(guarded());
    w.run_for(GENERATE(1s, 7s));
    const auto before = record_on(w, 0);
    w.step_clock(0, by);
    SECTION("the newcomer is the first that sees it") {
        const auto y = newcomer(w, guarded());
        CHECK(record_on(*y, 0)[since] != before[since]);
        CHECK(strikes(*y) == 1);
        y->set_mode(2, mode::refuses);
        CHECK_FALSE(has_vote(*y, 0));
    }
    SECTION("or finds it on the record") {
        w.run_for(6s);
        CHECK(record_on(w, 0)[epoch] != before[epoch]);
        CHECK(strikes(w) == 1);
        const auto y = newcomer(w, guarded());
        CHECK(strikes(*y) == 0);
        y->set_mode(2, mode::refuses);
        CHECK_FALSE(has_vote(*y, 0));
        CHECK(has_vote(*y, 1));
        w.run_for(12s);
        CHECK(voters(w) == 3);
        CHECK(strikes(w) == 1);
    }
    SECTION("where the third node is down the others lose their vote: either may be wrong") {
        w.set_mode(2, mode::refuses);
        w.run_for(8s);
        CHECK(strikes(w) >= 1);
        CHECK(w.granted("r")->outcome() == errc::no_quorum);
        w.run_for(12s);
        CHECK(w.granted("r")->outcome() == error_code{});
    }
}

TEST_CASE("a step for which another client has struck the node is not struck again") {
    connected_world w(guarded());
    w.run_for(1s);
    w.step_clock(0, 2s);
    const auto put = [&w](const testing::record_words& words) { put_record(w, 0, words); };
    const auto y = newcomer(w, guarded());
    REQUIRE(strikes(*y) == 1);
    auto struck = record_on(*y, 0);
    struck[run_id] = w.nodes[0].run_id();
    struck[replid] = "-";
    SECTION("where all of it came before the strike") {
        put(struck);
        w.run_for(6s);
        CHECK(strikes(w) == 0);
        CHECK(record_on(w, 0)[epoch] == struck[epoch]);
        CHECK_FALSE(has_vote(w, 0));
        w.run_for(6s);
        CHECK(has_vote(w, 0));
    }
    SECTION("but a further step is") {
        put(struck);
        SECTION("which the record tells") {
            w.step_clock(0, 2s);
            w.run_for(6s);
        }
        SECTION("which only our own clock tells") {
            w.run_for(4500ms);
            REQUIRE(strikes(w) == 0);
            w.step_clock(0, 90ms);
            w.run_for(6s);
        }
        CHECK(strikes(w) == 1);
        CHECK(record_on(w, 0)[epoch] != struck[epoch]);
    }
    SECTION("but one that came to light long after the strike is") {
        w.set_mode(0, mode::refuses);
        w.run_for(6s);
        put(struck);
        w.set_mode(0, mode::up);
        w.run_for(6s);
        CHECK(strikes(w) == 1);
    }
}

TEST_CASE("a strike is written again where another client refreshed the record just then") {
    connected_world w(guarded());
    w.run_for(1s);
    const auto before = record_on(w, 0);
    int refreshed = 0;
    w.nodes[0].instead = [&](const fakes::command& c) {
        if (fakes::strikes_node(c) && refreshed++ == 0) {
            auto words = record_on(w, 0);
            words[seen] = std::to_string(std::stoll(words[seen]) + 1);
            put_record(w, 0, words);
        }
        return std::optional<std::string>();
    };
    w.step_clock(0, 90ms);  // too little for the record to tell
    w.run_for(6s);
    CHECK(refreshed == 2);
    CHECK(record_on(w, 0)[epoch] != before[epoch]);
    w.run_for(12s);
    CHECK(voters(w) == 3);
    CHECK(refreshed == 2);
}

TEST_CASE("a clock that steps while its offset is on its way is written down once, and struck") {
    auto o = guarded();
    const auto by = GENERATE(-9s, 9s);
    world w(o);
    w.latency[1] = 20ms;
    w.connected();
    w.run_for(6s);
    std::size_t kept = 0;
    w.nodes[1].instead = [&](const fakes::command& c) -> std::optional<std::string> {
        if (keeps_clock(c) && kept++ == 0) w.step_clock(1, by);
        return std::nullopt;
    };
    while (kept == 0) REQUIRE(w.turn());
    w.run_for(1s);
    CHECK(kept <= 2);
    CHECK(strikes(w) == 1);
    CHECK_FALSE(has_vote(w, 1));
    const auto e = w.granted("r");
    CHECK(e->outcome() == error_code{});
}

TEST_CASE("clocks that run within the drift are never struck") {
    world w(guarded());
    w.nodes[0].wall.set_offset(500ms);
    w.nodes[1].wall.set_offset(-500ms);
    w.nodes[0].wall.set_drift_ppm(4'900, w.now);
    w.nodes[2].wall.set_drift_ppm(-4'900, w.now);
    w.latency = {100us, 5ms, 20ms};
    w.start();
    w.run_for(1s);
    for (int i = 0; i < 40; ++i) {
        const auto y = newcomer(w, guarded());  // with readings and a median of its own
        if (i % 3 == 0) w.set_mode(static_cast<std::size_t>(i) % 2, mode::refuses);
        y->run_for(300ms);
        CHECK(strikes(*y) == 0);
        w.run_for(3s);
        for (std::size_t n = 0; n < 3; ++n) w.set_mode(n, mode::up);
        w.run_for(1s);
    }
    CHECK(strikes(w) == 0);
    CHECK(voters(w) == 3);
}

TEST_CASE("an offset is refreshed when it is older than five seconds, by one client") {
    connected_world w(fenced_options_for(3, 1min));
    const auto written = [&] {
        std::size_t n = 0;
        for (const auto& c : w.nodes[0].seen) n += keeps_clock(c) ? 1U : 0U;
        return n;
    };
    CHECK(written() == 1);  // with when the nodes were opened, in cluster time
    w.run_for(3900ms);
    CHECK(written() == 1);
    w.run_for(60s);
    CHECK(written() >= 6);
    CHECK(written() <= 14);
}

TEST_CASE("where our own clock stood still leases are shortened and no node is struck") {
    auto o = guarded();
    o.ttl_max = 60s;
    connected_world w(o);
    const auto step_all = [&](duration by) {
        for (std::size_t i = 0; i < 3; ++i) w.step_clock(i, by);
    };
    const auto kept = w.granted("r", {.ttl = 50s, .renew = false});
    REQUIRE(kept->held);
    const auto until = kept->held.valid_until();
    SECTION("for a moment") {
        step_all(300ms);
        w.run_for(6s);
        CHECK(w.count(event_kind::clock_gap, severity::warning) == 1);
        CHECK(kept->held.valid_until() <= until - 300ms);
        CHECK(kept->held.valid_until() > until - 600ms);
        CHECK(voters(w) == 3);
    }
    SECTION("and what is left of min_hold with them") {
        const auto began = w.now;
        auto job = w.granted("job", {.ttl = 20s, .min_hold = 20s});
        step_all(5s);
        w.run_for(6s);
        REQUIRE(job->held);
        REQUIRE(w.run_until_over(*w.release(std::move(job->held))));
        w.run_for(1ms);
        CHECK(w.nodes[0].keys(w.now).at("job").expires <= began + longest_stay(o, 20s) - 5s + 1ms);
    }
    SECTION("for so long that the lease is over: it is lost at once") {
        const auto renewed = w.granted("renewed", {.ttl = 10s});
        step_all(55s);
        w.run_for(6s);
        CHECK_FALSE(state_of(kept->held)->is_live());
        CHECK_FALSE(state_of(renewed->held)->is_live());
        CHECK(w.count(event_kind::lost) == 2);
        CHECK(w.granted("r")->outcome() == error_code{});
    }
    SECTION("a holder's sign of life before that comes earlier, too") {
        const auto watched = w.granted("watched", {.ttl = 50s, .watchdog = 20s});
        w.run_for(1s);
        const auto touched = w.now;
        state_of(watched->held)->touch(touched);
        const auto lost = w.lost(watched->held);
        step_all(10s);
        REQUIRE(w.run_until_over(*lost));
        CHECK(lost->lost_for == loss::stalled);
        CHECK(w.now <= touched + 10s);
        CHECK(w.now > touched + 9s);
    }
    SECTION("an attempt under way is shortened, too") {
        w.latency = {100us, 2s, 2s};
        w.options.node_timeout = 20s;
        const auto e = w.acquire("slow", {.ttl = 20s, .renew = false});
        w.run_for(1s);
        step_all(15s);
        w.cut(0);  // which shows the first
        w.latency = {100us, 100us, 100us};
        w.cut(1);
        w.run_for(100ms);
        CHECK(w.count(event_kind::clock_gap) == 1);
        w.run_until_over(*e);
        if (e->held) CHECK(e->held.valid_until() < w.now + 5s);
    }
    CHECK(strikes(w) == 0);
}

TEST_CASE("one node's clock that jumps ahead is struck, and is no gap of our clock") {
    connected_world w(guarded());
    w.step_clock(0, 20s);
    w.run_for(6s);
    CHECK(w.count(event_kind::clock_gap) == 0);
    CHECK(strikes(w) == 1);
}

TEST_CASE("a master that was a replica has another server's data") {
    world w(guarded());
    for (auto& n : w.nodes) n.set_durable(true);
    w.connected();
    const auto before = record_on(w, 1);
    const std::string run_id = w.nodes[1].run_id();
    w.nodes[1].set_replica(true);
    w.nodes[1].set_replica(false);  // and its record came along
    w.run_for(6s);
    REQUIRE(w.nodes[1].run_id() == run_id);
    CHECK(record_on(w, 1)[epoch] != before[epoch]);
    w.set_mode(2, mode::refuses);
    CHECK_FALSE(has_vote(w, 1));
    w.run_for(12s);
    CHECK(has_vote(w, 1));
}

TEST_CASE("a first replica costs one quarantine, however many clients learn of it") {
    connected_world w(guarded());
    w.run_for(1s);
    const auto before = record_on(w, 1);
    w.nodes[1].set_attached_replicas(1);
    auto words = before;
    SECTION("where this client is the first") {
        w.run_for(6s);
        words = record_on(w, 1);
        CHECK(words[epoch] != before[epoch]);
        CHECK(words[replid] == w.nodes[1].replid());
    }
    SECTION("where another client was") {
        words[epoch] = std::string(22, 'x');
        words[since] = std::to_string(w.nodes[1].wall.us(w.now));
        words[replid] = w.nodes[1].replid();
        put_record(w, 1, words);
    }
    w.run_for(20s);
    CHECK(record_on(w, 1)[epoch] == words[epoch]);
    CHECK(record_on(w, 1)[since] == words[since]);
    CHECK(has_vote(w, 1));
}

TEST_CASE("a promoted replica, or a server with replicas, does not count as durable") {
    world w(guarded());
    for (auto& n : w.nodes) n.set_durable(true);
    if (GENERATE(true, false)) {
        w.nodes[1].set_attached_replicas(1);
        w.connected();
        w.run_for(1s);
        const auto before = record_on(w, 1);
        w.nodes[1].set_attached_replicas(0);
        w.crash(1, redis_model::data::kept);
        w.run_for(1s);
        CHECK(record_on(w, 1)[epoch] != before[epoch]);
        return;
    }
    w.connected();
    const auto before = record_on(w, 1);
    w.crash(1, redis_model::data::kept);  // another process, with the record
    w.nodes[1].set_replica(true);
    w.nodes[1].set_replica(false);
    w.run_for(1s);
    CHECK(record_on(w, 1)[epoch] != before[epoch]);
}

TEST_CASE("of two clients with different lists of nodes the second is granted nothing") {
    connected_world a(guarded());
    const auto held = a.granted("r");
    REQUIRE(held->held);
    auto other = guarded(5);  // the same three, and two that are new
    auto b = newcomer(a, other);
    b->run_for(1s);
    const auto e = b->granted("r");
    CHECK(e->outcome() == errc::no_quorum);
    std::size_t refusals = 0;
    for (const node_vote& v : e->held.votes()) refusals += v.error == errc::other_set ? 1U : 0U;
    CHECK(refusals >= 3);
    const std::string why = e->held.votes()[0].detail;
    INFO(why);
    for (const auto* part : {"the set {...} of 3 nodes", "the set {n3, ...} of 5 nodes",
                             "name the nodes alike", "redlock init", "cluster"}) {
        CHECK(why.find(part) != std::string::npos);
    }
    CHECK(record_on(*b, 3).empty());  // it must not be given to the wrong set
    CHECK(record_on(*b, 4).empty());
    CHECK(b->count(event_kind::node_reported, severity::warning) >= 1);
    CHECK(b->ours("r") == 3);
    SECTION("and takes nothing from the holder, which would go on on its other nodes") {
        const auto seen = b->inspect("r");
        REQUIRE(b->run_until_over(*seen));
        const auto done = b->revoke(seen->state);
        REQUIRE(b->run_until_over(*done));
        CHECK(done->outcome() == errc::no_quorum);
        CHECK(done->revoked.revoked.empty());
        CHECK(done->revoked.votes[0].error == errc::other_set);
        CHECK(b->ours("r") == 3);
    }
    SECTION("until an operator moves the nodes") {
        const auto done = b->declare();
        REQUIRE(b->run_until_over(*done));
        CHECK(done->outcome() == error_code{});
        b->run_for(1s);
        CHECK(voters(*b) == 5);
        const auto back = newcomer(*b, guarded(3));
        back->run_for(1s);
        CHECK(back->granted("x")->outcome() == errc::no_quorum);
    }
    SECTION("or the lists go by one name") {
        auto named = guarded(3);
        named.cluster = "all of them";
        connected_world first(named);
        for (auto& n : named.nodes) n.name += ".example.org";
        std::swap(named.nodes[0].name, named.nodes[2].name);
        auto second = newcomer(first, named);
        CHECK(second->granted("r")->outcome() == error_code{});
    }
}

TEST_CASE("a revocation reaches a node that missed a change, too") {
    connected_world before(guarded());
    before.run_for(2s);
    auto joint = guarded(4);
    joint.nodes[2].change = list_change::leaving;
    joint.nodes[3].change = list_change::joining;
    const auto w = newcomer(before, joint);
    w->run_for(30s);
    const auto late = record_on(*w, 1);
    const auto over = w->commit({});
    REQUIRE(w->run_until_over(*over));
    REQUIRE_FALSE(over->outcome());
    put_record(*w, 1, late);
    auto after = guarded(4);
    after.nodes.erase(after.nodes.begin() + 2);
    const auto by = latecomer(*w, after);
    auto last = record_on(*w, 3);
    last[run_id] = by->nodes[2].run_id();
    last[replid] = "-";
    put_record(*by, 2, last);
    for (auto& node : by->nodes) node.put("r", "stuck", time_point::max());
    by->looking();
    using core::membership;
    REQUIRE(by->engine->parts().tracker.known().lists().of(1) == membership::standing::behind);
    const auto seen = by->inspect("r");
    REQUIRE(by->run_until_over(*seen));
    const auto done = by->revoke(seen->state);
    REQUIRE(by->run_until_over(*done));
    for (const auto& node : by->nodes) CHECK_FALSE(node.keys(by->now).contains("r"));
}

TEST_CASE("a client beside a node of another set keeps its connections") {
    connected_world a(guarded());
    const auto b = newcomer(a, guarded(5));
    b->run_for(1min);
    CHECK(b->count(event_kind::node_down) == 0);
    CHECK(b->granted("r")->outcome() == errc::no_quorum);
}

TEST_CASE("the order of a list does not matter, and sets are compared without the guard, too") {
    auto o = guarded();
    connected_world a(o);
    if (GENERATE(true, false)) o.guard = restart_guard::off;
    SECTION("the same names in another order") {
        std::swap(o.nodes[0].name, o.nodes[1].name);
        CHECK(newcomer(a, o)->granted("r")->outcome() == error_code{});
    }
    SECTION("other names") {
        o.nodes[0].name = "x";
        const auto e = newcomer(a, o)->granted("r");
        CHECK(e->outcome() == errc::no_quorum);
        CHECK(e->held.votes()[1].error == errc::other_set);
    }
}

TEST_CASE("a record of a later version counts, and keeps what this version does not know") {
    connected_world w(guarded());
    world later(guarded());
    for (std::size_t i = 0; i < 3; ++i) {
        later.nodes[i].database() = w.nodes[i].database();
        auto words = record_on(w, i);
        words["later"] = std::to_string(i);
        put_record(later, i, words);
    }
    later.connected();
    CHECK(voters(later) == 3);
    later.run_for(20s);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(record_on(later, i)[run_id] == later.nodes[i].run_id());
        CHECK(record_on(later, i)["later"] == std::to_string(i));
    }
    SECTION("but where it must be known") {
        auto words = record_on(later, 0);
        words["!later"] = "1";
        put_record(later, 0, words);
        auto next = newcomer(later, guarded());
        CHECK(voters(*next) == 2);
        const auto e = next->granted("r");
        REQUIRE(e->outcome() == error_code{});
        CHECK(e->held.votes()[0].error == errc::foreign_data);
        CHECK(record_on(*next, 0)["!later"] == "1");
    }
}

TEST_CASE("our own clock stood still, and the nodes are back one after the other") {
    auto o = guarded();
    o.ttl_max = 60s;
    connected_world w(o);
    const auto kept = w.granted("r", {.ttl = 50s, .renew = false});
    REQUIRE(kept->held);
    const auto until = kept->held.valid_until();
    for (std::size_t i = 0; i < 3; ++i) w.step_clock(i, 20s);
    w.set_mode(1, mode::refuses);  // the connections did not outlive the pause
    w.set_mode(2, mode::refuses);
    w.run_for(6s);
    w.set_mode(1, mode::up);
    w.run_for(6s);
    CHECK(w.count(event_kind::clock_gap, severity::warning) == 1);
    CHECK(kept->held.valid_until() <= until - 20s);
    w.set_mode(2, mode::up);
    w.run_for(6s);
    CHECK(w.count(event_kind::clock_gap, severity::warning) == 1);
    CHECK(strikes(w) == 0);
    CHECK(voters(w) == 3);
}

TEST_CASE("clocks that all go back together are not struck: ours went ahead") {
    connected_world w(guarded());
    const auto kept = w.granted("r", {.ttl = 8s});
    for (std::size_t i = 0; i < 3; ++i) w.step_clock(i, -1s);
    w.run_for(6s);
    CHECK(w.count(event_kind::clock_gap) == 0);
    CHECK(strikes(w) == 0);
    CHECK(voters(w) == 3);
    w.run_for(20s);
    CHECK(state_of(kept->held)->is_live());
}

TEST_CASE("a look does not undo what a later handshake found of a node's durability") {
    world w(guarded());
    for (auto& n : w.nodes) n.set_durable(true);
    w.connected();
    REQUIRE(record_on(w, 0)[durable] == "1");
    w.nodes[0].set_durable(false);  // CONFIG SET appendfsync everysec
    auto words = record_on(w, 0);
    words[durable] = "0";  // which a client saw that connected after that
    put_record(w, 0, words);
    w.run_for(11s);
    CHECK(record_on(w, 0)[durable] == "0");
}

TEST_CASE("a client without the guard sees, too, that its nodes were moved to its set") {
    auto o = guarded();
    connected_world a(o);
    o.guard = restart_guard::off;
    o.nodes[0].name = "x";
    const auto b = newcomer(a, o);
    REQUIRE(b->granted("r")->outcome() == errc::no_quorum);
    auto fit = guarded();
    fit.nodes[0].name = "x";
    const auto c = newcomer(*b, fit);
    const auto done = c->declare();
    REQUIRE(c->run_until_over(*done));
    for (std::size_t i = 0; i < 3; ++i) b->nodes[i].database() = c->nodes[i].database();
    b->run_for(30s);
    CHECK(b->granted("r")->outcome() == error_code{});
}
