// What a node's record is worth, and which clients may write it, as whole clients see it in virtual
// time; no sockets.
// SPDX-License-Identifier: MIT
#include "component/support/records.hpp"
#include "component/support/stranger.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "support/requests.hpp"
#include "testing/keyspace.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::record_role;
using fakes::connected_world;
using fakes::fenced_options_for;
using fakes::has_vote;
using fakes::latecomer;
using fakes::mode;
using fakes::newcomer;
using fakes::put_record;
using fakes::record_on;
using fakes::redis_model;
using fakes::world;
using namespace fakes::word;

namespace {

client_options with_limit(std::chrono::milliseconds limit = 10s, std::size_t nodes = 3) {
    return fenced_options_for(nodes, limit);
}

void set_durable(world& w) {
    for (auto& n : w.nodes) n.set_durable(true);
}

/// The server is started without its append-only file, and with none of its data.
void begin_other_life(world& w, std::size_t node) {
    w.nodes[node].save();  // the files of the first life
    w.nodes[node].set_durable(false);
    w.crash(node, redis_model::data::lost);
    w.run_for(50ms);
}

/// It is started with the files of its first life.
void return_to_first_life(world& w, std::size_t node) {
    w.nodes[node].set_durable(true);
    w.crash(node, redis_model::data::saved);
}

std::size_t voters(world& w) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) n += has_vote(w, i) ? 1U : 0U;
    return n;
}

/// What another client, which reaches the last two nodes only, gets of the resource.
fakes::ending_ptr tried_beside(world& w, const std::string& resource) {
    w.set_mode(0, mode::refuses);
    w.set_mode(2, mode::up);
    const auto other = newcomer(w, w.options);
    auto e = other->granted(resource, {.ttl = 1s});
    const auto result = std::make_shared<fakes::ending>();
    result->outcomes = e->outcomes;
    return result;
}

/// All processes end, and time passes. Then the servers are started again with the data that they
/// had, as a server has that writes them when it is shut down.
void restart_after(world& w, duration time) {
    w.close();
    w.run_for(1s);
    w.now += time;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) w.nodes[i].crash(redis_model::data::kept);
}

std::vector<std::string> words_of(const world& w, std::string_view what) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) all.push_back(record_on(w, i)[what]);
    return all;
}

std::vector<std::string> three(const std::string& of) { return {of, of, of}; }

/// The lowest ticket in the queue of a resource, in us.
double first_ticket(const world& w, std::size_t node, const std::string& resource) {
    const auto& all = w.nodes[node].database().all();
    const auto at = all.find("{" + resource + "}:queue");
    REQUIRE(at != all.end());
    const auto& queue = std::get<fakes::sorted_set>(at->second.value);
    REQUIRE_FALSE(queue.all().empty());
    return queue.all().begin()->first;
}

}  // namespace

TEST_CASE("a server with the files of an earlier life does not vote for the one between") {
    world w(with_limit());
    set_durable(w);
    w.connected();
    w.run_for(20s);
    begin_other_life(w, 1);
    SECTION("whose votes counted after a quarantine") { w.run_for(12s); }
    SECTION("whose votes counted at once, since an operator declared it new") {
        w.run_for(1s);
        const auto done = w.declare();
        REQUIRE(w.run_until_over(*done));
        REQUIRE(done->outcome() == error_code{});
        w.run_for(50ms);
    }
    w.set_mode(2, mode::refuses);
    const auto held = w.granted("r", {.ttl = 8s, .renew = false});
    REQUIRE(held->outcome() == error_code{});
    return_to_first_life(w, 1);
    const auto other = tried_beside(w, "r");
    CHECK(held->held.valid_until() > w.now + 1s);
    CHECK(other->outcome() == errc::no_quorum);
}

TEST_CASE("a durable server that was away for less than a quarantine votes at once") {
    world w(with_limit());
    set_durable(w);
    w.connected();
    w.run_for(20s);
    const auto before = record_on(w, 1);
    w.set_mode(1, mode::refuses);
    SECTION("but not one that was away for longer") {
        w.run_for(11s);
        w.nodes[1].crash(redis_model::data::kept);
        w.set_mode(1, mode::up);
        w.run_for(2s);
        CHECK_FALSE(has_vote(w, 1));
        CHECK(record_on(w, 1)[epoch] != before[epoch]);
        w.run_for(11s);
    }
    SECTION("and its record names the process") {
        w.run_for(5s);
        w.nodes[1].crash(redis_model::data::kept);
        w.set_mode(1, mode::up);
        w.run_for(2s);
        CHECK(record_on(w, 1)[epoch] == before[epoch]);
    }
    CHECK(has_vote(w, 1));
    CHECK(record_on(w, 1)[run_id] == w.nodes[1].run_id());
}

TEST_CASE("a durable server that restarted has no vote until cluster time is known") {
    world w(with_limit());
    set_durable(w);
    w.connected();
    w.run_for(20s);
    const auto before = record_on(w, 1);
    w.set_mode(0, mode::refuses);
    w.set_mode(2, mode::refuses);
    w.run_for(2s);
    const auto other = latecomer(w, w.options);
    other->nodes[1].crash(redis_model::data::kept);
    other->connected();
    other->run_for(3s);
    CHECK_FALSE(has_vote(*other, 1));
    CHECK(record_on(*other, 1)[run_id] != other->nodes[1].run_id());
    CHECK(record_on(*other, 1)[epoch] == before[epoch]);
    other->set_mode(0, mode::up);
    other->run_for(2s);
    CHECK(has_vote(*other, 1));
    CHECK(record_on(*other, 1)[run_id] == other->nodes[1].run_id());
}

TEST_CASE("a program that comes when a majority has forgotten is granted nothing beside a lease") {
    connected_world w(fenced_options_for(5, 4s));
    const auto held = w.granted("r", {.ttl = 4s, .renew = false});
    REQUIRE(held->held);
    const auto end = held->held.valid_until();
    w.run_for(1ms);
    for (const std::size_t i : {0U, 1U, 2U}) w.nodes[i].flush();
    const auto other = latecomer(w, w.options);
    other->connected();
    REQUIRE(other->now < end);
    while (other->now < end) {
        const auto e = other->granted("r", {.ttl = 500ms, .renew = false});
        if (other->now < end) CHECK_FALSE(e->held);
        other->run_for(10ms);
    }
    CHECK(other->granted("r", {.ttl = 500ms, .wait = 10s})->held);
}

TEST_CASE("older data wait until the other nodes were read, since one may tell of a change") {
    connected_world w(with_limit());
    w.run_for(2s);
    const auto later = latecomer(w, w.options);
    later->nodes[2].crash(redis_model::data::kept);
    later->latency[1] = 5ms;  // so node 2 is greeted first
    const auto before = record_on(*later, 2);
    bool is_announced = false;
    SECTION("where it does, until these are enough") {
        is_announced = true;
        auto words = record_on(*later, 1);
        words["announced"] = "next";
        put_record(*later, 1, words);
        later->set_mode(0, mode::refuses);
    }
    SECTION("where none does, no longer") {}
    later->connected();
    later->run_for(2s);
    CHECK_FALSE(has_vote(*later, 2));
    CHECK((record_on(*later, 2)[run_id] == before[run_id]) == is_announced);
    later->set_mode(0, mode::up);
    later->run_for(13s);
    CHECK(has_vote(*later, 2));
    CHECK(record_on(*later, 2)[run_id] == later->nodes[2].run_id());
}

TEST_CASE("a record that goes back on a living connection strikes the node") {
    connected_world w(with_limit());
    w.run_for(7s);
    w.nodes[1].save();
    const auto saved = record_on(w, 1);
    SECTION("under the same epoch, as after DEBUG RELOAD NOSAVE") { w.run_for(6s); }
    SECTION("under an earlier one, as after SWAPDB there and back") {
        w.nodes[1].flush();
        w.run_for(13s);
        REQUIRE(record_on(w, 1)[epoch] != saved[epoch]);
        REQUIRE(has_vote(w, 1));
    }
    w.nodes[1].load_saved();
    w.run_for(6s);
    CHECK(record_on(w, 1)[epoch] != saved[epoch]);
    CHECK_FALSE(has_vote(w, 1));
    w.run_for(10s);
    CHECK(has_vote(w, 1));
}

TEST_CASE("a client that only looks at new nodes finds them free, and writes nothing") {
    world w(with_limit());
    w.looking();
    const auto seen_by_it = w.inspect("r");
    REQUIRE(w.run_until_over(*seen_by_it));
    CHECK_FALSE(seen_by_it->state.held);
    for (const auto& n : seen_by_it->state.nodes) CHECK(n.state == key_state::free);
    w.run_for(20s);
    for (std::size_t i = 0; i < 3; ++i) CHECK(record_on(w, i).empty());
    SECTION("until it acquires") {
        const auto e = w.granted("r");
        for (const auto& v : e->held.votes()) UNSCOPED_INFO(format(v));
        CHECK(e->outcome() == error_code{});
        CHECK(words_of(w, since) == three("0"));
    }
}

TEST_CASE("a client that looked before the bootstrap reads all records before it acquires") {
    world w(with_limit());
    w.looking();
    const auto founder = newcomer(w, w.options);
    for (std::size_t i = 0; i < 3; ++i) {
        auto words = record_on(*founder, i);
        REQUIRE(words[since] == "0");
        words[run_id] = w.nodes[i].run_id();
        words[replid] = "-";
        put_record(w, i, words);
    }
    w.take_elsewhere("r", 1);  // the votes of both others are needed
    SECTION("of a node that is slower than a quorum, too") {
        w.latency[2] = 150us;
        CHECK(w.granted("r")->outcome() == error_code{});
        // At once: not by a second try, after one that n2 refused.
        CHECK(calls_of(w, testing::ask::acquire, 1) == 1);
    }
    SECTION("but does not wait for one that hangs") {
        w.set_mode(0, mode::mute);
        const auto began = w.now;
        CHECK(w.granted("r")->outcome() == error_code{});
        CHECK(w.now - began < 5ms);
    }
}

TEST_CASE("a new cluster's clocks go by one median, however badly one of them was read at first") {
    world w(with_limit());
    // The answer to its handshake is 60 ms late.
    w.after(150us, [&] { w.latency[0] = 60ms; });
    w.after(250us, [&] { w.latency[0] = 100us; });
    w.start();
    w.run_for(70ms);
    w.latency[1] = w.latency[2] = 2ms;  // so the first one's commands are answered before theirs
    CHECK(w.granted("r")->outcome() == error_code{});
    w.run_for(50ms);
    CHECK(words_of(w, since) == three("0"));
    CHECK(voters(w) == 3);
    const auto other = newcomer(w, w.options);
    CHECK(voters(*other) == 3);
    for (const auto& e : other->events) CHECK(e.error != errc::clock_skew);
}

TEST_CASE("a client that only looks at one node that restarted empty names no set of one") {
    connected_world w(with_limit());
    w.nodes[0].flush();
    const auto one = latecomer(w, with_limit(10s, 1));
    one->looking();
    const auto seen_by_it = one->inspect("r");
    REQUIRE(one->run_until_over(*seen_by_it));
    one->run_for(20s);
    CHECK(record_on(*one, 0).empty());
}

TEST_CASE("a client that only looks raises no ttl_max on record, and revives no lost vote") {
    connected_world w(with_limit());
    w.run_for(20s);
    const auto other = latecomer(w, with_limit(1h));
    const auto before = record_on(*other, 0);
    other->nodes[1].crash(redis_model::data::kept);  // it is not durable
    other->looking();
    other->run_for(20s);
    CHECK(has_vote(*other, 0));
    CHECK_FALSE(has_vote(*other, 1));
    CHECK(record_on(*other, 0) == before);
    CHECK(record_on(*other, 1)[run_id] != other->nodes[1].run_id());
    SECTION("which the first that acquires notes") {
        CHECK(other->granted("r")->outcome() == error_code{});
        other->run_for(50ms);
        CHECK(record_on(*other, 1)[run_id] == other->nodes[1].run_id());
        CHECK_FALSE(has_vote(*other, 1));
    }
}

TEST_CASE("a client that takes over a lease writes that it saw the nodes, and makes no record") {
    connected_world w(with_limit());
    w.run_for(20s);
    const auto before = record_on(w, 0);
    w.now += 6s;  // nobody was there
    const auto other = latecomer(w, with_limit(1h));
    other->nodes[2].flush();
    other->take_role(record_role::tends);
    other->looking();
    CHECK(std::stoll(record_on(*other, 0)[seen]) > std::stoll(before[seen]) + 5'000'000);
    CHECK(record_on(*other, 0)[quarantine] == before[quarantine]);
    CHECK(record_on(*other, 2).empty());
}

TEST_CASE("a longer ttl_max counts when every node has its quarantine, and takes no vote") {
    connected_world w(with_limit(3s));
    w.nodes[1].flush();
    w.run_for(10s);
    REQUIRE(record_on(w, 1)[since] != "0");  // it has voted since, by its age
    const auto other = newcomer(w, with_limit(1min));
    CHECK(words_of(*other, ttl_max) == three("60000"));
    CHECK(words_of(*other, quarantine) == three("60000"));
    CHECK(voters(*other) == 3);
    const auto e = other->granted("r", {.ttl = 40s, .renew = false});
    REQUIRE(e->outcome() == error_code{});
    CHECK(e->held.valid_until() > other->now + 39s);
}

TEST_CASE("while a node is in quarantine no longer one is raised, which it would wait for") {
    connected_world w(with_limit(3s));
    w.nodes[1].flush();
    SECTION("that began before") {
        w.run_for(1500ms);
        REQUIRE_FALSE(has_vote(w, 1));
    }
    SECTION("that begins when the program which asks for an hour finds the node empty") {}
    const auto other = newcomer(w, with_limit(1h));
    CHECK(words_of(*other, quarantine) == three("3000"));
    CHECK(voters(*other) == 2);
    other->run_for(5s);
    CHECK(voters(*other) == 3);
    CHECK(words_of(*other, ttl_max) == three("3600000"));
}

TEST_CASE("the first acquire that asks for more than the records allow waits until they do") {
    connected_world w(with_limit(3s));
    const auto other = latecomer(w, with_limit(1min));
    other->latency = {100us, 300us, 400us};
    SECTION("all nodes answer") {
        other->start();
        other->run_for(GENERATE(0us, 1300us, 1600us, 10ms));  // as one that only looks
        const auto e = other->granted("r", {.ttl = 40s, .min_hold = 30s});
        REQUIRE(e->outcome() == error_code{});
        CHECK(words_of(*other, ttl_max) == three("60000"));
    }
    SECTION("where one hangs it does not wait, and is refused") {
        other->set_mode(2, mode::mute);
        other->start();
        const auto before = other->now;
        const auto e = other->granted("r", {.ttl = 40s, .min_hold = 30s});
        CHECK(e->outcome() == errc::no_quorum);
        CHECK(other->now - before < 20ms);
    }
}

TEST_CASE("where a node is away leases keep to the ttl_max that it knows") {
    connected_world w(with_limit(3s));
    w.set_mode(2, mode::refuses);
    w.run_for(1s);
    const auto other = newcomer(w, with_limit(1min));
    const auto e = other->granted("r", {.ttl = 40s, .renew = false});
    REQUIRE(e->outcome() == error_code{});
    CHECK(e->held.valid_until() < other->now + 3s);
    CHECK(record_on(*other, 0)[ttl_max] == "3000");
    CHECK(record_on(*other, 0)[quarantine] == "3000");
    CHECK(other->count(event_kind::node_reported, severity::warning) >= 1);
    SECTION("so that one which it does not know of is over when a node that forgot it votes") {
        other->nodes[1].flush();
        other->set_mode(0, mode::refuses);
        other->set_mode(2, mode::up);
        const auto small = newcomer(*other, with_limit(3s));
        const auto next = small->granted("r", {.ttl = 1s, .wait = 10s});
        REQUIRE(next->outcome() == error_code{});
        CHECK(small->now > e->held.valid_until());
    }
    SECTION("until it is back") {
        other->set_mode(2, mode::up);
        other->run_for(5s);
        CHECK(words_of(*other, ttl_max) == three("60000"));
    }
}

TEST_CASE("an extension sends no node a longer ttl than its record allows") {
    connected_world w(with_limit(1min));
    const auto held = w.granted("r", {.ttl = 40s, .renew = false});
    REQUIRE(held->held);
    auto words = record_on(w, 2);
    words[ttl_max] = "3000";
    words[quarantine] = "60000";
    put_record(w, 2, words);
    // It has no memory left to raise that.
    w.nodes[2].instead = [](const fakes::command& c) -> std::optional<std::string> {
        if (fakes::writes_clock(c)) return "-OOM command not allowed\r\n";
        return std::nullopt;
    };
    w.cut(2);
    w.run_for(1s);
    w.nodes[2].remove("r");
    const auto x = w.extend(held->held, 40s);
    REQUIRE(w.run_until_over(*x));
    CHECK(x->outcome() == error_code{});
    w.run_for(50ms);
    CHECK(record_on(w, 2)[ttl_max] == "3000");
    CHECK(w.ours("r") == 2);
}

TEST_CASE("a declaration sets both numbers, down, too") {
    connected_world w(with_limit(1h));
    w.run_for(1s);
    const auto other = latecomer(w, with_limit(3s));
    other->looking();
    const auto done = other->declare();
    REQUIRE(other->run_until_over(*done));
    CHECK(done->outcome() == error_code{});
    CHECK(words_of(*other, ttl_max) == three("3000"));
    CHECK(words_of(*other, quarantine) == three("3000"));
    CHECK(words_of(*other, since) == three("0"));
    CHECK(words_of(*other, init) == three(record_on(*other, 0)[init]));
    CHECK(std::stoll(record_on(*other, 0)[init]) > std::stoll(record_on(w, 0)[init]));
    other->nodes[1].flush();
    other->run_for(5s);
    CHECK(other->granted("r")->outcome() == error_code{});
    CHECK(words_of(*other, ttl_max) == three("3000"));
}

TEST_CASE("fences and clocks may be 15 s from the others, however long ttl_max is") {
    world w(with_limit(1h));
    const duration ahead = GENERATE(duration(14s), duration(16s));
    w.nodes[1].wall.set_offset(ahead);
    w.connected();
    CHECK(has_vote(w, 1) == (ahead < 15s));
    CHECK(w.granted("r")->outcome() == error_code{});
    std::string allowed;
    for (const auto& c : w.nodes[0].seen) {
        if (const auto all = testing::requests_of(c)) allowed = all->tolerance_us;
    }
    CHECK(allowed == "15000000");
}

TEST_CASE("the first try beside a hung node waits until the clocks are compared") {
    connected_world w(with_limit());
    w.run_for(1s);
    for (std::size_t i = 0; i < 3; ++i) {  // as an operator that declared them new has left them
        auto words = record_on(w, i);
        words[since] = words[cluster_since] = "0";
        for (const auto what : {offset, error, seen}) words[what] = "-";
        put_record(w, i, words);
    }
    w.set_mode(2, mode::mute);
    const auto first = latecomer(w, w.options);
    first->start();
    CHECK(first->granted("r")->outcome() == error_code{});
}

TEST_CASE("a ticket is cluster time, whichever clocks the client follows") {
    connected_world w(with_limit());
    w.nodes[0].wall.set_offset(2s);
    w.nodes[1].wall.set_offset(2s);
    for (std::size_t i = 0; i < 3; ++i) {  // by which cluster time is the third one's
        auto words = record_on(w, i);
        words[offset] = i == 2 ? "0" : "2000000";
        words[error] = "1000";
        words[seen] = std::to_string(w.nodes[i].wall.us(w.now));
        put_record(w, i, words);
    }
    w.take_elsewhere("r", 3);
    const std::size_t away = GENERATE(0U, 2U);
    w.set_mode(away, mode::refuses);
    const auto other = newcomer(w, w.options);
    const auto began = other->nodes[2].wall.us(other->now);
    const auto e = other->acquire("r", {.wait = 5s});
    other->run_for(1s);
    REQUIRE_FALSE(e->is_over());
    CHECK(std::abs(first_ticket(*other, 1, "r") - static_cast<double>(began)) < 100'000);
}

TEST_CASE("nodes that no client saw for longer than a quarantine vote at once when they are back") {
    connected_world w(with_limit());
    w.run_for(20s);
    const bool is_one_empty = GENERATE(false, true);
    const duration time = GENERATE(duration(20s), duration(1h));
    restart_after(w, time);
    const auto next = latecomer(w, w.options);
    // The client draws what the one before it drew.
    for (std::size_t i = 0; i < 3; ++i) {
        auto words = record_on(*next, i);
        words[epoch] = std::string(22, 'x');
        put_record(*next, i, words);
    }
    if (is_one_empty) next->nodes[1].flush();
    SECTION("where all answer, near or far") {
        next->latency[1] = next->latency[2] = GENERATE(100us, 3000us);
        next->start();
        const auto e = next->granted("r");
        CHECK((e->outcome() == error_code{}) == (time == 1h));
        next->run_for(50ms);
        CHECK(voters(*next) == (time == 1h ? 3 : 0));
    }
    SECTION("but not where one does not") {
        next->set_mode(2, mode::refuses);
        next->start();
        CHECK(next->granted("r")->outcome() == errc::no_quorum);
    }
}

TEST_CASE("a node that restarted unseen hangs on all others until a lock is taken") {
    world w(with_limit());
    set_durable(w);
    w.connected();
    w.run_for(20s);
    w.close();
    w.run_for(1s);
    w.now += 1h;
    w.nodes[1].crash(GENERATE(redis_model::data::kept, redis_model::data::lost));
    const auto hanging = [](world& of) {
        std::vector<bool> all;
        for (std::size_t i = 0; i < 3; ++i) {
            all.push_back(of.engine->parts().tracker.known().hangs_on_all(i, of.now));
        }
        return all;
    };
    const auto doctor = latecomer(w, w.options);
    SECTION("a program that only looks finds it, and leaves it so") {
        doctor->looking();
        CHECK(voters(*doctor) == 3);
        CHECK(hanging(*doctor) == std::vector{false, true, false});
        doctor->run_for(10s);
        CHECK(hanging(*doctor) == std::vector{false, true, false});
    }
    SECTION("where another node is away it has no vote") {
        doctor->set_mode(2, mode::refuses);
        doctor->looking();
        CHECK_FALSE(has_vote(*doctor, 1));
        CHECK(hanging(*doctor) == std::vector{false, false, false});
    }
    SECTION("any lock once taken ends it") {
        doctor->start();
        REQUIRE(doctor->granted("r")->held);
        doctor->run_for(50ms);
        const auto next = latecomer(*doctor, w.options);
        next->set_mode(2, mode::refuses);
        next->looking();
        CHECK(has_vote(*next, 1));
        CHECK(hanging(*next) == std::vector{false, false, false});
    }
}

TEST_CASE("a program that only looks has no node vote whose record waits for other nodes") {
    connected_world before(with_limit());
    before.run_for(5s);
    auto joint = with_limit(10s, 4);
    joint.nodes[2].change = list_change::leaving;
    joint.nodes[3].change = list_change::joining;
    const auto w = newcomer(before, joint);
    set_durable(*w);
    w->run_for(20s);
    w->close();
    w->run_for(1s);
    w->now += 1h;
    w->nodes[0].crash(redis_model::data::lost);
    const auto doctor = latecomer(*w, joint);
    doctor->looking();
    CHECK_FALSE(has_vote(*doctor, 0));
    CHECK_FALSE(doctor->engine->parts().tracker.known().hangs_on_all(0, doctor->now));
}

TEST_CASE("a node that forgets after it was found unused is in quarantine") {
    connected_world w(with_limit());
    w.run_for(20s);
    restart_after(w, 1h);
    const auto next = newcomer(w, w.options);
    REQUIRE(voters(*next) == 3);
    next->crash(1, redis_model::data::lost);
    next->run_for(1s);
    CHECK(voters(*next) == 2);
}

TEST_CASE("the clocks on record are as fresh as a short ttl_max needs") {
    connected_world w(with_limit(2s));
    w.run_for(20s);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto ago = w.nodes[i].wall.us(w.now) - std::stoll(record_on(w, i)[seen]);
        CHECK(ago < 1'000'000);
    }
}
