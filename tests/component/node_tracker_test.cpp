// Which nodes vote, under which fences, as a whole client sees it in virtual time; no sockets.
// SPDX-License-Identifier: MIT
#include "client/node_tracker.hpp"

#include "component/support/records.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <optional>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::fenced_options_for;
using fakes::mode;
using fakes::put_record;
using fakes::record_on;
using fakes::world;

namespace {

client_options guarded(std::size_t nodes = 3) { return fenced_options_for(nodes, 2s); }

void restart_empty(world& w, std::size_t node) {
    w.crash(node, fakes::redis_model::data::lost);
    w.run_for(50ms);
}

std::string fence_on(world& w, std::size_t node, const std::string& resource) {
    const auto all = w.nodes[node].all_keys(w.now);
    const auto it = all.find("{" + resource + "}:fence");
    return it == all.end() ? "" : it->second.value;
}

/// A sound server but for what these lines of INFO say.
void describe(world& w, std::size_t node, const std::string& lines) {
    w.nodes[node].instead = [&w, node, lines](const fakes::command& c) {
        if (c.front() != "INFO") return std::optional<std::string>();
        return std::optional(fakes::bulk("run_id:" + w.nodes[node].run_id() +
                                         "\r\nrole:master\r\naof_enabled:1\r\n" + lines));
    };
}

std::vector<fakes::told> warnings(const world& w) {
    auto all = w.events;
    std::erase_if(all, [](const fakes::told& e) {
        return e.kind != event_kind::node_reported || e.severity < severity::warning;
    });
    return all;
}

const node_vote& vote_of(const fakes::ending& e, std::size_t node) {
    return e.held.votes()[node];
}

}  // namespace

TEST_CASE("an acquire that comes before the nodes are known waits for them") {
    world w(guarded());
    w.start();
    const auto e = w.acquire("r");
    CHECK_FALSE(e->is_over());
    REQUIRE(w.run_until_over(*e));
    CHECK(e->outcome() == error_code{});
    CHECK(e->held.fence() > 0);
}

TEST_CASE("nodes that do not answer are waited for no longer than connect_timeout") {
    world w(guarded());
    for (std::size_t i = 0; i < 3; ++i) w.modes[i] = mode::mute;
    w.start();
    const auto began = w.now;
    const auto e = w.acquire("r");
    SECTION("then it is refused") {
        REQUIRE(w.run_until_over(*e));
        CHECK(e->outcome() == errc::no_quorum);
        CHECK(w.now - began <= w.options.connect_timeout + w.options.node_timeout);
    }
    SECTION("cancelled, it ends at once and once") {
        w.run_for(10ms);
        w.cancel(*e);
        CHECK(e->outcome() == boost::asio::error::operation_aborted);
        w.run_for(2s);
        CHECK(e->outcomes.size() == 1);
    }
    SECTION("so it does when the client closes") {
        w.close();
        CHECK(e->outcome() == errc::client_closed);
        w.run_for(2s);
        CHECK(e->outcomes.size() == 1);
    }
    SECTION("and is dropped with the context") {
        w.discard();
        CHECK(e->discards == 1);
    }
}

TEST_CASE("a flushed node is amnesiac, greeted again, and votes when its quarantine is over") {
    connected_world w(guarded());
    w.set_mode(2, mode::refuses);
    w.run_for(20ms);
    w.nodes[1].flush();
    const auto refused = w.granted("r");
    REQUIRE(refused->outcome() == errc::no_quorum);
    CHECK(vote_of(*refused, 1).answer == vote::quarantine);
    CHECK(w.nodes[1].keys(w.now).empty());
    const auto e = w.granted("r", {.wait = 10s});
    CHECK(e->outcome() == error_code{});
    CHECK(w.ours("r") == 2);
}

TEST_CASE("an idle client sees a flush, and the node's quarantine begins then") {
    connected_world w(guarded());
    w.nodes[1].flush();
    w.run_for(5100ms);
    CHECK(w.count(event_kind::node_down) == 1);
    w.run_for(2500ms);
    w.set_mode(2, mode::refuses);
    CHECK(w.granted("r")->outcome() == error_code{});
    w.run_for(30s);
    CHECK(w.traffic.connects.get() == 4);
}

TEST_CASE("a look at a node brings no script along, but for one that lost its scripts") {
    connected_world w(guarded());
    const auto by_hash = w.nodes[1].count("EVALSHA");
    const auto whole = w.nodes[1].count("EVAL");
    w.run_for(6s);
    CHECK(w.nodes[1].count("EVALSHA") > by_hash);
    CHECK(w.nodes[1].count("EVAL") == whole);
    w.nodes[1].flush_scripts();
    w.run_for(20s);
    CHECK(w.nodes[1].count("EVAL") >= whole + 1);
    CHECK(w.nodes[1].count("EVAL") <= whole + 2);  // the look at the record, and what was found
    CHECK(w.traffic.disconnects.get() == 0);
    CHECK_FALSE(w.engine->parts().tracker.object(1, w.now, w.now));
}

TEST_CASE("a vote counts only where the quarantine was over when its round was sent") {
    connected_world w(guarded());
    w.set_mode(2, mode::refuses);
    restart_empty(w, 1);
    const auto began = w.now;
    // The answer arrives when the quarantine is over; the question left before that.
    w.latency[1] = 20ms;
    const auto over = 2s + 22ms;
    w.run_for(over - 80ms);
    const auto early = w.granted("r", {.ttl = 1s});
    CHECK(early->outcome() == errc::no_quorum);
    w.run_for(200ms - (w.now - began - (over - 80ms)));
    CHECK(w.granted("r", {.ttl = 1s})->outcome() == error_code{});
}

TEST_CASE("a quarantined node is sent the acquire, and keeps the key") {
    connected_world w(guarded());
    restart_empty(w, 1);
    const auto e = w.granted("r");
    CHECK(e->outcome() == error_code{});
    w.run_for(10ms);
    CHECK(w.ours("r") == 3);
}

TEST_CASE("extensions are counted by the same rule") {
    connected_world w(guarded());
    const auto e = w.granted("r", {.ttl = 2s, .renew = false});
    w.set_mode(2, mode::refuses);
    restart_empty(w, 1);
    const auto x = w.extend(e->held, 2s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcome() == errc::no_quorum);
    CHECK(w.ours("r") == 3);  // it took the key again all the same
}

TEST_CASE("a lease outlives a rolling restart of all nodes without their data") {
    connected_world w(guarded(5));
    const auto e = w.granted("r", {.ttl = 1s});
    const auto fence = e->held.fence();
    for (std::size_t i = 0; i < 5; ++i) {
        restart_empty(w, i);
        w.run_for(3s);
    }
    CHECK(state_of(e->held)->is_live());
    CHECK(e->held.valid_until() > w.now);
    CHECK(e->held.fence() == fence);
    CHECK(w.ours("r") == 5);
    CHECK(w.count(event_kind::lost) == 0);
}

TEST_CASE("a node that became a replica has no vote, and takes no key") {
    connected_world w(guarded());
    w.nodes[1].set_replica(true);
    w.cut(1);
    w.run_for(50ms);
    const auto e = w.granted("r");
    REQUIRE(e->outcome() == error_code{});
    CHECK(vote_of(*e, 1).error == errc::not_master);
    CHECK(w.nodes[1].keys(w.now).empty());
    w.release(std::move(e->held));
    SECTION("until it is a master again, which is looked for") {
        w.nodes[1].set_replica(false);
        w.run_for(20s);
        w.set_mode(2, mode::refuses);
        w.run_for(20ms);
        CHECK(w.granted("r")->outcome() == error_code{});
    }
}

TEST_CASE("a master that turned replica is found by its answer") {
    connected_world w(guarded());
    w.nodes[1].set_replica(true);
    const auto e = w.granted("r");
    CHECK(e->outcome() == error_code{});
    w.run_for(50ms);
    CHECK(vote_of(*w.granted("other"), 1).error == errc::not_master);
}

TEST_CASE("a clock that is off has no vote, one that jumps none for a while") {
    connected_world w(guarded());
    SECTION("off from the start of a connection") {
        w.step_clock(1, GENERATE(duration(1h), duration(-1h)));
        w.cut(1);
        w.run_for(50ms);
        const auto e = w.granted("r");
        REQUIRE(e->outcome() == error_code{});
        CHECK(vote_of(*e, 1).error == errc::clock_skew);
    }
    SECTION("a little, and seen by a probe") {
        w.step_clock(1, 300ms);
        w.set_mode(2, mode::refuses);
        w.run_for(600ms);
        CHECK(w.granted("r")->outcome() == errc::no_quorum);
        w.run_for(2400ms);
        CHECK(w.granted("r")->outcome() == error_code{});
    }
}

TEST_CASE("a stale majority gets a second round, under a fence above all") {
    connected_world w(guarded());
    const auto first = w.granted("r");
    const auto fence = first->held.fence();
    w.release(std::move(first->held));
    w.run_for(1ms);
    for (auto& n : w.nodes) n.put("{r}:fence", std::to_string(fence + 300'000), w.now + 1h);
    const auto e = w.granted("r");
    REQUIRE(e->outcome() == error_code{});
    CHECK(e->held.fence() == fence + 300'001);
    for (std::size_t i = 0; i < 3; ++i) {
        w.run_for(1ms);
        CHECK(fence_on(w, i, "r") == std::to_string(fence + 300'001));
    }
}

TEST_CASE("no fence is drawn by clocks that are far apart") {
    world w(guarded());
    w.set_mode(2, mode::refuses);
    w.step_clock(0, 100s);
    w.connected();
    const auto e = w.granted("r");
    REQUIRE(e->outcome() == errc::no_quorum);
    CHECK(vote_of(*e, 0).error == errc::clock_skew);
    CHECK(fence_on(w, 0, "r").empty());
    CHECK(fence_on(w, 1, "r").empty());
    w.step_clock(0, -100s);
    w.set_mode(2, mode::up);
    w.run_for(20s);
    CHECK(w.granted("r")->outcome() == error_code{});
}

TEST_CASE("a fence that ran too far ahead of the nodes' clocks is not followed") {
    connected_world w(guarded());
    const auto first = w.granted("r");
    const auto fence = first->held.fence();
    w.release(std::move(first->held));
    w.run_for(1ms);
    for (auto& n : w.nodes) n.put("{r}:fence", std::to_string(fence + 3'600'000'000), w.now + 9h);
    const auto e = w.granted("r");
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(vote_of(*e, 0).error == errc::clock_skew);
    w.run_for(10ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a release after a broken connection raises the fence above what lies in it") {
    connected_world w(guarded());
    w.release(std::move(w.granted("r")->held));  // the nodes know a fence
    w.run_for(1ms);
    w.set_mode(1, mode::mute);
    const auto e = w.granted("r", {.ttl = 300ms, .renew = GENERATE(true, false)});
    REQUIRE(e->outcome() == error_code{});
    const auto fence = e->held.fence();
    w.run_for(700ms);  // the connection is given up, another one is mute as well
    if (state_of(e->held)->is_live()) w.release(std::move(e->held));
    w.run_for(500ms);
    w.set_mode(1, mode::up);  // what it kept is executed first
    w.run_for(1s);
    CHECK(w.ours("r") == 0);
    CHECK(std::stoull(fence_on(w, 1, "r")) >= fence);
}

TEST_CASE("a release under another record raises nothing") {
    connected_world w(guarded());
    const auto e = w.granted("r", {.renew = false});
    w.run_for(1ms);
    restart_empty(w, 1);
    w.release(std::move(e->held));
    w.run_for(10ms);
    CHECK(fence_on(w, 1, "r") == "");
    CHECK(fence_on(w, 0, "r") != "");
}

// What a node holds of "r" once an extension that travels long has reached it, although the lease
// was given back on a new connection meanwhile.
std::string left_by_a_late_extension(world& w, std::size_t node, lease held) {
    w.latency[node] = 600ms;
    w.extend(held, 1500ms);
    w.run_for(60ms);
    w.latency[node] = 100us;
    w.cut(node);
    w.run_for(50ms);
    w.release(std::move(held));
    w.run_for(700ms);
    const auto keys = w.nodes[node].keys(w.now);
    const auto at = keys.find("r");
    return at == keys.end() ? "" : at->second.value;
}

TEST_CASE("a break hides what was sent since the node forgot, and the release raises above that") {
    connected_world w(guarded());
    const auto e = w.granted("r", {.ttl = 1500ms, .renew = false});
    w.run_for(1ms);
    restart_empty(w, 1);
    w.extend(e->held, 1500ms);
    w.run_for(5ms);
    REQUIRE(w.nodes[1].keys(w.now).contains("r"));
    CHECK(left_by_a_late_extension(w, 1, std::move(e->held)).empty());
}

TEST_CASE("a node that was greeted after the grant forgets no less") {
    connected_world w(guarded());
    world late(guarded());
    for (std::size_t i = 0; i < 3; ++i) {  // an existing cluster
        auto words = record_on(w, i);
        words[fakes::word::run_id] = late.nodes[i].run_id();
        put_record(late, i, words);
    }
    late.latency[2] = 1ms;
    late.start();
    const auto e = late.granted("r", {.ttl = 1500ms, .renew = false});
    REQUIRE(e->outcome() == error_code{});
    late.run_for(20ms);
    CHECK(left_by_a_late_extension(late, 2, std::move(e->held)).empty());
}

TEST_CASE("a release is not over where a replica could not raise the fence") {
    connected_world w(guarded());
    w.release(std::move(w.granted("r")->held));  // the nodes know a fence
    w.run_for(1ms);
    w.latency[1] = 600ms;
    const auto e = w.granted("r", {.renew = false});
    REQUIRE(e->outcome() == error_code{});
    w.run_for(60ms);
    w.nodes[1].set_replica(true);
    w.latency[1] = 100us;
    w.cut(1);
    w.run_for(50ms);
    w.release(std::move(e->held));
    w.run_for(300ms);
    w.nodes[1].set_replica(false);  // before what lies in the old connection arrives
    w.run_for(2s);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a replica is left in peace") {
    world w(guarded());
    w.nodes[1].set_replica(true);
    w.connected();
    w.run_for(60s);
    CHECK(w.traffic.connects.get() < 20);  // looked at again every five seconds
    CHECK(w.granted("r")->outcome() == error_code{});
}

TEST_CASE("renewals that are due together travel together") {
    connected_world w(guarded());
    std::vector<fakes::ending_ptr> held;
    for (int i = 0; i < 200; ++i) held.push_back(w.acquire("r" + std::to_string(i), {.ttl = 1s}));
    w.run_for(5ms);
    const auto before = w.count_sent("EVALSHA");
    w.run_for(1s);
    CHECK(w.engine->stats().renewals >= 200 * 2);
    constexpr int per_round = 4;  // of 64 leases each
    CHECK(w.count_sent("EVALSHA") - before <= 3 * 5 * per_round);
    SECTION("one that is given back does not touch the others") {
        w.release(std::move(held[7]->held));
        w.run_for(3s);
        CHECK(w.ours("r7") == 0);
        for (const auto& e : held) CHECK((e == held[7] || state_of(e->held)->is_live()));
    }
    SECTION("also where the scripts are flushed just then") {
        for (auto& n : w.nodes) n.flush_scripts();
        w.run_for(3s);
        for (const auto& e : held) CHECK(state_of(e->held)->is_live());
    }
    SECTION("and a key that was taken meanwhile loses its own lease alone") {
        for (auto& n : w.nodes) n.put("r7", "foreign", w.now + 1h);
        w.run_for(3s);
        for (const auto& e : held) CHECK(state_of(e->held)->is_live() == (e != held[7]));
        CHECK(state_of(held[7]->held)->lost_for() == loss::taken);
    }
}

TEST_CASE("init with a node missing succeeds, and the nodes that it reached vote") {
    world w(guarded());
    w.modes[2] = mode::refuses;
    const auto began = w.now;
    w.connected();
    const auto refused = w.granted("r");
    CHECK(refused->outcome() == errc::no_quorum);
    CHECK(format(vote_of(*refused, 0)).find("in quarantine, ") != std::string::npos);
    SECTION("without it they are waited for") {
        CHECK(w.granted("r", {.wait = 10s})->outcome() == error_code{});
        CHECK(w.now - began >= 2s);
        return;
    }
    SECTION("of fewer than a quorum it fails") {
        w.set_mode(1, mode::refuses);
        const auto alone = w.declare();
        REQUIRE(w.run_until_over(*alone));
        CHECK(alone->outcome() == errc::no_quorum);
        CHECK(alone->answers[0].answer == vote::granted);
        return;
    }
    const auto half = w.declare();
    REQUIRE(w.run_until_over(*half));
    CHECK(half->outcome() == error_code{});
    CHECK(half->answers[0].answer == vote::granted);
    CHECK(half->answers[2].answer != vote::granted);
    w.run_for(50ms);
    // Two of three are enough for a quorum: they vote at once.
    CHECK(w.granted("r")->outcome() == error_code{});
    w.set_mode(2, mode::up);
    w.run_for(1s);
    const auto whole = w.declare();
    REQUIRE(w.run_until_over(*whole));
    CHECK(whole->outcome() == error_code{});
    for (const auto& v : whole->answers) CHECK(v.answer == vote::granted);
    for (std::size_t i = 0; i < 3; ++i) CHECK(record_on(w, i)[fakes::word::since] == "0");
}

TEST_CASE("clients that are connected learn of a longer quarantine before anything counts") {
    connected_world w(guarded());
    // Another client raises it.
    for (std::size_t i = 0; i < 3; ++i) {
        auto words = record_on(w, i);
        words[fakes::word::epoch] = "0123456789012345678901";
        words[fakes::word::quarantine] = "3600000";
        put_record(w, i, words);
    }
    restart_empty(w, 1);
    w.granted("another");  // whatever the client sends
    w.run_for(3s);
    w.set_mode(2, mode::refuses);
    const auto e = w.granted("r");
    REQUIRE(e->outcome() == errc::no_quorum);
    CHECK(vote_of(*e, 1).retry_in > 50min);
}

TEST_CASE("a smaller ttl_max on record is reported, too") {
    connected_world small(guarded());
    world w(fenced_options_for(3, 1h));
    w.now = small.now;
    for (std::size_t i = 0; i < 3; ++i) {
        auto words = record_on(small, i);
        words[fakes::word::run_id] = w.nodes[i].run_id();
        put_record(w, i, words);
    }
    w.connected();
    CHECK(w.count(event_kind::node_reported, severity::warning) == 1);
}

TEST_CASE("different values of ttl_max on the records are reported once each") {
    connected_world w(guarded());
    w.run_for(6s);
    for (std::size_t i = 0; i < 3; ++i) {
        auto words = record_on(w, i);
        REQUIRE(words[fakes::word::ttl_max] == "2000");
        words[fakes::word::ttl_max] = i == 0 ? "20000" : "30000";
        put_record(w, i, words);
    }
    w.run_for(60s);
    std::size_t reported = 0;
    for (const auto& e : w.events) reported += e.detail.find("ttl_max on its record") != e.detail.npos;
    CHECK(reported == 2);
}

TEST_CASE("a larger ttl_max on record is reported and counts") {
    connected_world large(fenced_options_for(3, 1h));
    world w(guarded());
    w.now = large.now;
    for (std::size_t i = 0; i < 3; ++i) {
        // As the other client would have left it, on the same process.
        auto words = record_on(large, i);
        words[fakes::word::run_id] = w.nodes[i].run_id();
        put_record(w, i, words);
    }
    w.connected();
    CHECK(w.count(event_kind::node_reported, severity::warning) >= 1);
    w.set_mode(2, mode::refuses);
    restart_empty(w, 1);
    const auto e = w.granted("r");
    REQUIRE(e->outcome() == errc::no_quorum);
    INFO(format(vote_of(*e, 1)));
    CHECK(vote_of(*e, 1).retry_in > 50min);
}

TEST_CASE("what endangers locks on a node is reported once, and again when it is new") {
    auto options = guarded();
    if (GENERATE(false, true)) options.fencing = false;
    world w(options);
    const std::string limited = "maxmemory:1000\r\nused_memory:10\r\n";
    const std::string evicting = limited + "maxmemory_policy:allkeys-lru\r\n";
    const std::string keeping = limited + "maxmemory_policy:noeviction\r\n";
    const std::string full = "maxmemory:1000\r\nused_memory:950\r\nmaxmemory_policy:noeviction\r\n";
    for (std::size_t i : {0U, 2U}) describe(w, i, keeping);
    const auto after = [&](const std::string& lines) {
        describe(w, 1, lines);
        w.cut(1);
        w.run_for(1s);
        REQUIRE(w.engine->node(1).is_ready());
        return warnings(w).size();
    };
    describe(w, 1, evicting);
    w.connected();
    const auto first = warnings(w);
    REQUIRE(first.size() == 1);
    CHECK(first[0].node == "n1");
    CHECK(first[0].error == error_code{});
    CHECK(first[0].detail.find("allkeys-lru") != std::string::npos);
    CHECK(first[0].detail.find("noeviction") != std::string::npos);
    CHECK(w.granted("r")->held);  // it takes no vote
    CHECK(after(evicting) == 1);
    CHECK(after(keeping) == 1);
    CHECK(after(evicting) == 2);
    CHECK(after(full) == 3);
    CHECK(warnings(w)[2].detail.find("95 %") != std::string::npos);
    CHECK(after(full) == 3);
}

TEST_CASE("persistence that is not durable is reported once, as info") {
    connected_world w(guarded());
    CHECK(warnings(w).empty());
    REQUIRE(w.count(event_kind::node_reported, severity::info) == 3);
    for (const auto& e : w.events) {
        if (e.kind != event_kind::node_reported) continue;
        CHECK(e.detail.find("ttl_max (2.0 s)") != std::string::npos);
    }
    w.cut(1);
    w.run_for(1s);
    CHECK(w.count(event_kind::node_reported, severity::info) == 3);
}

TEST_CASE("a replica's settings are not reported: it has no vote") {
    world w(guarded());
    w.nodes[1].set_replica(true);
    w.connected();
    for (const auto& e : w.events) {
        const bool is_a_concern = e.detail.find("appendonly") != std::string::npos;
        CHECK_FALSE((e.node == "n1" && is_a_concern));
    }
    CHECK(w.count(event_kind::node_reported, severity::info) >= 2);
}

TEST_CASE("a holder of our form without our fence beside it is reported once for its resource") {
    const std::string id = "ABCDEFGHIJKLMNOPQRST_-";
    connected_world w(guarded());
    const auto hold = [&](const std::string& resource, const std::string& value) {
        for (auto& node : w.nodes) node.put(resource, value, w.now + 1h);
        const auto e = w.granted(resource);
        CHECK(e->outcome() == errc::contended);
        return warnings(w).size();
    };
    SECTION("another key_prefix, or fencing off, and the text names both") {
        REQUIRE(hold("app:r", id + "@other:1") == 1);
        const auto said = warnings(w)[0];
        CHECK(said.resource == "app:r");
        CHECK(said.node == "n0");
        for (const auto* word : {"other:1", "key_prefix", "fencing", "give all clients one"}) {
            INFO(word);
            CHECK(said.detail.find(word) != std::string::npos);
        }
        CHECK(said.detail.find(id) == std::string::npos);
        CHECK(hold("app:r", id + "@other:1") == 1);
        CHECK(hold("app:s", id + "@other:1#12345") == 2);
    }
    SECTION("with a fence it is one of ours") {
        for (auto& node : w.nodes) node.put("{r}:fence", "123", w.now + 1h);
        CHECK(hold("r", id + "@other:1") == 0);
    }
    SECTION("another library's value is not reported") {
        const auto* foreign = GENERATE("somebody-else", "@", "ABCDEFGHIJKLMNOPQRST_-",
                                       "ABCDEFGHIJKLMNOPQRST+/@name",
                                       "ABCDEFGHIJKLMNOPQRST_-.name");
        INFO(foreign);
        CHECK(hold("r", foreign) == 0);
    }
    SECTION("only so many resources are reported") {
        for (int i = 0; i < 40; ++i) hold("r" + std::to_string(i), id + "@other:1");
        CHECK(warnings(w).size() == 16);
    }
}

TEST_CASE("the same key under two prefixes is reported by the second client") {
    auto with_prefix = guarded();
    with_prefix.key_prefix = "app:";
    with_prefix.client_name = "other";
    connected_world first(with_prefix);
    const auto held = first.granted("r");
    REQUIRE(held->held);
    world second(guarded());
    for (std::size_t i = 0; i < 3; ++i) {  // the same servers
        for (const auto& [name, k] : first.nodes[i].all_keys(first.now)) {
            second.nodes[i].put(name, k.value, k.expires);
        }
    }
    second.connected();
    CHECK(second.granted("app:r")->outcome() == errc::contended);
    REQUIRE(warnings(second).size() == 1);
    CHECK(warnings(second)[0].resource == "app:r");
}
