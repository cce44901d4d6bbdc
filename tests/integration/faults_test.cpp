// Nodes that fail in every way a server can, on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/beside.hpp"
#include "support/founded.hpp"
#include "support/hostile_server.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

enum class fault { refused, dead, hung, late, garbage };

const char* name_of(fault f) {
    switch (f) {
        case fault::refused: return "refused: nobody listened from the start";
        case fault::dead: return "dead: killed while connected";
        case fault::hung: return "hung: stopped while connected";
        case fault::late: return "late: answers long after node_timeout";
        case fault::garbage: return "garbage: answers with bytes that are no reply";
    }
    return "";
}

constexpr std::array all_faults{fault::refused, fault::dead, fault::hung, fault::late,
                                fault::garbage};

// So many nodes fail in one way.
struct failing {
    failing(fault f, std::size_t nodes)
        : what(std::to_string(nodes) + " " + name_of(f)), with(f), bad(nodes) {}
    std::string what;
    fault with;
    std::size_t bad;
};

constexpr std::size_t clusters_at_once = 4;  // each has servers of its own

// Five nodes of which the first `bad` fail in one way.
struct faulty_five {
    faulty_five(fault f, std::size_t bad_nodes) : bad(bad_nodes), nodes(5) {
        found(nodes);
        auto options = nodes.options();
        // Ten of these pass before the hung ones are given up. A quorum of good nodes is not to be
        // late, and ends each try; without one it is this that does.
        if ((f == fault::hung || f == fault::late) && bad > 2) options.node_timeout = 1s;
        for (std::size_t i = 0; i < bad; ++i) {
            if (f == fault::refused) nodes.kill(i);
            if (f == fault::late) replace(options, i, hostile::delays(3 * options.node_timeout));
            if (f == fault::garbage) replace(options, i, hostile::answers(hostile::garbage()));
        }
        d.emplace(options, f == fault::refused ? 5 - bad : 5);
        for (std::size_t i = 0; i < bad; ++i) {
            if (f == fault::dead) nodes.kill(i);
            if (f == fault::hung) nodes.stop(i);
        }
    }
    ~faulty_five() {
        for (const auto& server : hostiles) server->appease();
    }
    void replace(client_options& options, std::size_t i, misbehaviour script) {
        nodes.kill(i);
        hostiles.push_back(std::make_unique<hostile_server>(std::move(script)));
        options.nodes[i] = hostiles.back()->node("n" + std::to_string(i));
    }
    std::size_t bad;
    cluster nodes;
    std::vector<std::unique_ptr<hostile_server>> hostiles;
    std::optional<driver> d;
};

bool is_expected(fault f, const node_vote& v) {
    switch (f) {
        case fault::refused: return v.answer == vote::unreachable;
        // Its connection may still be on its way to being found broken.
        case fault::dead: return v.answer == vote::unreachable;
        case fault::hung:
        case fault::late: return v.answer == vote::timed_out;
        case fault::garbage:
            // The bytes end its connection, and the next one, too: the instant decides which shows.
            return (v.answer == vote::unreachable || v.answer == vote::refused) &&
                   (v.error == errc::protocol_error || v.error == errc::server_error ||
                    v.error == asio::error::connection_refused);
    }
    return false;
}

}  // namespace

TEST_CASE("any minority of nodes may fail in any way", "[faults]") {
    std::vector<failing> all;
    for (const auto f : all_faults) {
        for (const std::size_t bad : {1U, 2U}) all.push_back(failing(f, bad));
    }
    CHECK(failures(all, clusters_at_once, [](const failing& how, std::size_t) {
              faulty_five five(how.with, how.bad);
              driver& d = *five.d;
              for (int i = 0; i < 5; ++i) {
                  auto got = d.acquire("r", {.ttl = 20s});
                  if (got.error()) throw std::runtime_error(text_of(got.value()));
                  if (how.with == fault::hung && i == 0) {
                      // No acquire waits for a node that hangs.
                      MUST(got.value().votes()[0].answer == vote::pending);
                  }
                  MUST(d.extend(got.value(), 30s) == error_code{});
                  MUST(d.release(std::move(got.value())) == error_code{});
                  MUST(d.until([&] { return five.nodes.holding("r") == 0; }));
              }
              // The next holder is refused by the good ones, too, so exclusion stands.
              auto held = d.acquire("r", {.ttl = 20s});
              MUST(held.value());
              MUST(d.acquire("r").error() != error_code{});
              MUST(held.value());
          }) == "");
}

TEST_CASE("where a quorum fails, the votes name the nodes and the causes", "[faults]") {
    std::vector<failing> all;
    for (const auto f : all_faults) all.push_back(failing(f, 3));
    CHECK(failures(all, clusters_at_once, [](const failing& how, std::size_t) {
              faulty_five five(how.with, how.bad);
              driver& d = *five.d;
              for (int i = 0; i < 3; ++i) {
                  auto got = d.acquire("r", {.ttl = 20s});
                  MUST(got.error() == errc::no_quorum);
                  MUST(got.error() == condition::unreachable);
                  MUST(!got.value());
                  const auto votes = got.value().votes();
                  MUST(votes.size() == 5);
                  for (std::size_t n = 0; n < five.bad; ++n) {
                      MUST(votes[n].node.str() == "n" + std::to_string(n));
                      if (!is_expected(how.with, votes[n])) {
                          throw std::runtime_error(text_of(got.value()));
                      }
                      MUST(votes[n].error != error_code{});
                  }
                  MUST(d.until([&] { return five.nodes.holding("r") == 0; }));
              }
              if (how.with != fault::hung) return;
              // What the hung ones had in their buffers is given back as well.
              for (std::size_t n = 0; n < five.bad; ++n) five.nodes.cont(n);
              d.await_up(5);
              MUST(d.until([&] { return five.nodes.holding("r") == 0; }));
              MUST(d.acquire("r", {.ttl = 20s, .wait = 15s}).error() == error_code{});
          }) == "");
}

TEST_CASE("nodes out of memory refuse, and say so", "[faults][servers]") {
    cluster nodes(5);
    driver d(nodes.options());
    auto held = d.acquire("held", {.ttl = 20s});
    REQUIRE(held.value());
    REQUIRE(d.until([&] { return nodes.holding("held") == 5; }));
    const auto bad = static_cast<std::size_t>(GENERATE(2, 3));
    for (std::size_t i = 0; i < bad; ++i) {
        nodes.ask(i).config_set("maxmemory-policy", "noeviction");
        nodes.ask(i).config_set("maxmemory", "1");
    }
    auto got = d.acquire("r", {.ttl = 20s});
    INFO(text_of(got.value()));
    if (bad == 2) {
        CHECK(got.error() == error_code{});
        CHECK(d.release(std::move(got.value())) == error_code{});
    } else {
        CHECK(got.error() == errc::no_quorum);
        for (std::size_t i = 0; i < bad; ++i) {
            CHECK(got.value().votes()[i].answer == vote::refused);
            CHECK(got.value().votes()[i].error == errc::server_error);
            CHECK(got.value().votes()[i].detail.find("OOM") != std::string::npos);
        }
    }
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    // What was held before is prolonged and released as ever.
    CHECK(d.extend(held.value(), 30s) == error_code{});
    CHECK(d.release(std::move(held.value())) == error_code{});
    CHECK(d.until([&] { return nodes.holding("held") == 0; }));
    for (std::size_t i = 0; i < bad; ++i) nodes.ask(i).config_set("maxmemory", "0");
    CHECK(d.acquire("r", {.ttl = 20s}).error() == error_code{});
}

TEST_CASE("replicas do not vote", "[faults]") {
    cluster nodes(3);
    auto options = nodes.options();
    options.ttl_max = 2s;
    found(nodes, options);
    driver d(options);
    for (std::size_t i = 0; i < 2; ++i) {
        nodes.ask(i).command({"REPLICAOF", "127.0.0.1", std::to_string(nodes[2].port())});
    }
    REQUIRE(eventually([&] {
        return nodes.ask(0).info("master_link_status") == "up" &&
               nodes.ask(1).info("master_link_status") == "up";
    }));
    auto got = d.acquire("r", {.ttl = 2s, .wait = 3s});
    INFO(text_of(got.value()));
    CHECK(got.error() == errc::no_quorum);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(got.value().votes()[i].answer == vote::refused);
        CHECK(got.value().votes()[i].error == errc::not_master);
    }
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    for (std::size_t i = 0; i < 2; ++i) nodes.ask(i).command({"REPLICAOF", "NO", "ONE"});
    const auto promoted = clock::now();
    auto then = d.acquire("r", {.ttl = 2s, .wait = 15s});
    INFO(text_of(then.value()));
    CHECK(then.error() == error_code{});
    // What it holds came from elsewhere: as good as a restart without data.
    CHECK(then.when() - promoted >= 2s);
}

TEST_CASE("a wrong password is reported as auth_failed, and no password is shown", "[faults]") {
    server_options each;
    each.password = "right-one";
    cluster nodes(5, each);
    auto options = nodes.options();
    const auto bad = static_cast<std::size_t>(GENERATE(2, 3));
    const std::string given = GENERATE("wr0ng-s3cret", "");
    found(nodes);
    for (std::size_t i = 0; i < bad; ++i) options.nodes[i].password = given;
    driver d(options, 5 - bad);
    REQUIRE(d.until([&] { return d.log().count(event_kind::node_down) >= bad; }));
    auto got = d.acquire("r", {.ttl = 20s});
    INFO(text_of(got.value()));
    CHECK(got.error() == (bad == 2 ? error_code{} : make_error_code(errc::no_quorum)));
    if (bad == 3) {
        for (std::size_t i = 0; i < bad; ++i) {
            CHECK(got.value().votes()[i].answer == vote::refused);
            CHECK(got.value().votes()[i].error == errc::auth_failed);
            CHECK(got.value().votes()[i].error == condition::configuration);
        }
    }
    if (!given.empty()) {
        CHECK(text_of(got.value()).find(given) == std::string::npos);
        for (const auto& e : d.log().all()) CHECK(e.text.find(given) == std::string::npos);
    }
    CHECK(text_of(got.value()).find("right-one") == std::string::npos);
    got.value() = lease{};
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("a user without the right to run scripts is reported as script_rejected", "[faults]") {
    cluster nodes(1);
    nodes.ask(0).acl_setuser({"locker", "on", ">pw", "~*", "+@all", "-@scripting"});
    auto options = nodes.options();
    options.nodes[0].username = "locker";
    options.nodes[0].password = "pw";
    driver d(options, 0);
    REQUIRE(d.until([&] { return d.log().count(event_kind::node_down) > 0; }));
    auto got = d.acquire("r");
    CHECK(got.error() == errc::no_quorum);
    CHECK(got.value().votes()[0].error == errc::script_rejected);
}

TEST_CASE("a node that loads its data has no vote until it is ready", "[faults]") {
    cluster nodes(1);
    {
        auto ask = nodes.ask(0);
        for (int i = 0; i < 3'000; ++i) {
            ask.set("filler" + std::to_string(i), std::string(100, 'x'));
        }
        REQUIRE(ask.command({"SAVE"}).type == reply::kind::status);
    }
    auto& server = nodes[0];
    server.options().args = {"--key-load-delay", "10000",
                             "--loading-process-events-interval-bytes", "1024"};
    server.restart(redis_server::data::keep, redis_server::start::do_not_wait);
    REQUIRE(eventually([&] {
        try {
            return nodes.ask(0).info("loading") == "1";
        } catch (const std::exception&) {
            return false;
        }
    }));
    driver d(nodes.options(), 0);
    REQUIRE(d.until([&] { return d.log().count(event_kind::node_down) > 0; }));
    auto got = d.acquire("r", {.ttl = 20s});
    INFO(text_of(got.value()));
    CHECK(got.error() == errc::no_quorum);
    CHECK(text_of(got.value()).find("LOADING") != std::string::npos);
    CHECK(got.value().votes()[0].error == errc::server_error);
    nodes.ask(0).config_set("key-load-delay", "0");
    server.await_ready();
    d.await_up(1);
    CHECK(d.acquire("r", {.ttl = 20s}).error() == error_code{});
}

TEST_CASE("scripts may be flushed at any moment", "[faults][servers]") {
    cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    if (options.fencing) found(nodes);
    driver d(options);
    const auto before = nodes.ask(0).calls("eval");
    const auto looked_before = nodes.ask(0).calls("info");
    const auto flush = [&] {
        for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).script_flush();
    };
    const int moment = GENERATE(0, 1, 2);
    CAPTURE(moment, options.fencing);
    if (moment == 0) flush();
    auto got = d.acquire("r", {.ttl = 20s});
    REQUIRE(got.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    if (moment == 1) flush();
    CHECK(d.extend(got.value(), 40s) == error_code{});
    // A quorum suffices: what the third one lacks it gets from the next renewal.
    CHECK(d.until([&] {
        int prolonged = 0;
        for (std::size_t i = 0; i < 3; ++i) prolonged += nodes.ask(i).pttl("r") > 30s ? 1 : 0;
        return prolonged >= 2;
    }));
    if (moment == 2) flush();
    CHECK(d.release(std::move(got.value())) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    // Each is sent whole once at most, and from then on known again, by hash.
    const auto cycle = [&] {
        auto next = d.acquire("r", {.ttl = 20s});
        REQUIRE(next.value());
        CHECK(d.extend(next.value(), 30s) == error_code{});
        CHECK(d.release(std::move(next.value())) == error_code{});
        REQUIRE(d.until([&] { return nodes.holding("r") == 0; }));
    };
    // A node that is behind the quorum is not sent what it lacks until a later cycle.
    for (int i = 0; i < 10; ++i) cycle();
    // Beside the looks at the node, each of which comes with INFO and is noted once.
    const auto looks = 2 * (nodes.ask(0).calls("info") - looked_before);
    CHECK(nodes.ask(0).calls("eval") <= before + (options.fencing ? 3 : 2) + looks);
}

TEST_CASE("scripts flushed while a refused attempt is given back leave no key", "[faults]") {
    cluster nodes(5);
    auto options = nodes.options(GENERATE(true, false));
    driver d(options);
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(nodes.ask(i).set_nx_px("r", "foreign", 60s));
    for (int round = 0; round < 10; ++round) {
        for (std::size_t i = 0; i < 5; ++i) nodes.ask(i).script_flush();
        CHECK(d.acquire("r", {.ttl = 60s}).error() == errc::contended);
        REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    }
}

TEST_CASE("connections may be cut between any two calls", "[faults]") {
    cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    if (options.fencing) found(nodes);  // what breaks in between ends the birth of a cluster
    driver d(options);
    const auto cut = [&] {
        for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).kill_other_clients();
    };
    enum class moment { before_acquire, before_extend, before_release, long_before_extend };
    using enum moment;
    const moment at = GENERATE(before_acquire, before_extend, before_release, long_before_extend);
    CAPTURE(static_cast<int>(at));
    for (int round = 0; round < 5; ++round) {
        if (at == before_acquire) cut();
        auto got = d.acquire("r", {.ttl = 40s, .wait = 10s});
        INFO(text_of(got.value()));
        REQUIRE(got.error() == error_code{});
        if (at == before_extend) {
            cut();
            CHECK(d.extend(got.value(), 50s) == errc::no_quorum);
            CHECK(got.value());
        }
        if (at == long_before_extend) {
            const auto before = d.log().count(event_kind::node_down);
            cut();
            REQUIRE(d.until([&] { return d.log().count(event_kind::node_down) == before + 3; }));
            d.await_up(3);
            CHECK(d.extend(got.value(), 50s) == error_code{});
        }
        if (at == before_release) cut();
        // What is sent into a connection that was cut is not answered: the release is owed.
        const bool is_cut = at == before_extend || at == before_release;
        const error_code expected = is_cut ? error_code(errc::no_quorum) : error_code{};
        CHECK(d.release(std::move(got.value())) == expected);
        REQUIRE(d.until([&] { return nodes.holding("r") == 0; }, 10s));
        d.await_up(3);
    }
}

TEST_CASE("connections may be cut at any step of a call", "[faults]") {
    CHECK(failures(both_modes, both_modes.size(), [](const mode& of, std::size_t) {
              cluster nodes(3);
              if (of.fencing) found(nodes);
              driver d(nodes.options(of.fencing));
              std::vector<direct> ask;
              // Through connections that are not cut themselves: each spares its own.
              for (std::size_t i = 0; i < 3; ++i) ask.push_back(nodes.ask(i));
              for (int steps = 0; steps < 12; ++steps) {
                  auto trying = d.start_acquire("r", {.ttl = 40s});
                  for (int i = 0; i < steps; ++i) d.context().run_one_for(1ms);
                  for (auto& a : ask) a.kill_other_clients();
                  d.finish(trying);
                  // Whether a quorum had granted it before the cut, Asio's steps decide.
                  MUST((trying.error() == error_code{} || trying.error() == errc::no_quorum));
                  if (trying.value()) {
                      auto releasing = d.start_release(std::move(trying.value()));
                      for (int i = 0; i < steps; ++i) d.context().run_one_for(1ms);
                      for (auto& a : ask) a.kill_other_clients();
                      d.finish(releasing);
                  }
                  MUST(d.until([&] {
                      return std::none_of(ask.begin(), ask.end(),
                                          [](auto& a) { return a.exists("r"); });
                  }, 10s));
                  d.await_up(3);
              }
          }) == "");
}

TEST_CASE("restarted nodes are found again", "[faults]") {
    cluster nodes(5, durable);
    auto options = nodes.options();
    options.ttl_max = 6s;  // half of it is for the first client to declare the cluster new
    SECTION("guarded") {}
    SECTION("with the guard off") { options.guard = restart_guard::off; }
    SECTION("in the plain mode") { options.fencing = false; }
    const bool is_guarded = options.fencing && options.guard != restart_guard::off;
    if (is_guarded) found(nodes, options);
    driver d(options);
    REQUIRE(d.acquire("r").error() == error_code{});
    for (const auto what : {redis_server::data::keep, redis_server::data::empty}) {
        for (std::size_t i = 0; i < 5; ++i) nodes.kill(i);
        for (std::size_t i = 0; i < 5; ++i) d.await_down("n" + std::to_string(i));
        CHECK(d.acquire("r").error() == errc::no_quorum);
        const auto restarted = clock::now();
        for (std::size_t i = 0; i < 5; ++i) nodes.restart(i, what);
        d.await_up(5);
        auto got = d.acquire("r");
        INFO(text_of(got.value()));
        if (is_guarded && what == redis_server::data::empty) {
            // They may have forgotten a lease, so they sit one out.
            CHECK(got.error() == errc::no_quorum);
            CHECK(std::any_of(got.value().votes().begin(), got.value().votes().end(),
                              [](const auto& v) { return v.answer == vote::quarantine; }));
            REQUIRE(d.until([&] { return nodes.holding("r") == 0; }));
            got = d.acquire("r", {.wait = 15s});
            CHECK(got.when() - restarted >= 6s);
        }
        CHECK(got.error() == error_code{});
        CHECK(d.release(std::move(got.value())) == error_code{});
    }
}

TEST_CASE("a waiter outlasts an outage of all nodes", "[faults]") {
    founded_cluster nodes(3, durable);
    driver d(nodes.options());
    for (std::size_t i = 0; i < 3; ++i) nodes.kill(i);
    auto waiting = d.start_acquire("r", {.ttl = 20s, .wait = 15s});
    REQUIRE(d.until([&] { return d.client().stats().retries >= 3; }));
    for (std::size_t i = 0; i < 3; ++i) nodes.restart(i);
    CHECK(d.finish(waiting).error() == error_code{});
}

TEST_CASE("a grant that comes too late for its ttl is no grant", "[faults]") {
    cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    options.node_timeout = 10s;
    driver d(options);
    // Afterwards the client waits for nothing: what it asks for goes out at once.
    auto before = d.acquire("r");
    REQUIRE(d.release(std::move(before.value())) == error_code{});
    for (std::size_t i = 0; i < 3; ++i) nodes.stop(i);
    auto trying = d.start_acquire("r", {.ttl = 300ms});
    d.pass(500ms);
    CHECK_FALSE(trying.done());
    for (std::size_t i = 0; i < 3; ++i) nodes.cont(i);
    CHECK(d.finish(trying).error() == errc::validity_exhausted);
    CHECK_FALSE(trying.value());
    CHECK(d.client().stats().validity_exhausted == 1);
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("a killed node that kept its data is cleaned after a failed acquire", "[faults]") {
    cluster nodes(3, durable);
    auto options = nodes.options(GENERATE(true, false));
    options.node_timeout = 200ms;
    driver d(options);
    // A foreign minority and a hung node: refused, while the hung one takes the key later.
    REQUIRE(nodes.ask(0).set_nx_px("r", "foreign", 60s));
    nodes.stop(1);
    auto got = d.acquire("r", {.ttl = 60s});
    CHECK_FALSE(got.value());
    nodes.cont(1);
    REQUIRE(d.until([&] { return nodes.holding("r") == 1; }, 10s));
    nodes.restart(1);
    d.await_up("n1");
    CHECK(d.until([&] { return nodes.holding("r") == 1; }, 10s));
    CHECK(nodes.ask(0).get("r") == "foreign");
}
