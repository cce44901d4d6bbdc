// Tests the end of a client: how long it takes, what it gives up, what it reports; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/engine.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::mode;
using fakes::world;

namespace {

/// A client with the given number of leases on three nodes.
struct holder {
    explicit holder(std::size_t leases) {
        w.connected();
        for (std::size_t i = 0; i < leases; ++i) {
            held.push_back(w.granted("r" + std::to_string(i), {.ttl = 60s, .renew = false}));
        }
    }
    /// How long it takes until it is over.
    duration run() {
        const auto from = w.now;
        while (!w.engine->is_over() && w.turn(from + 10min)) {
        }
        return w.now - from;
    }
    std::vector<fakes::told> given_up() const {
        std::vector<fakes::told> out;
        for (const auto& e : w.events) {
            if (e.kind == event_kind::releases_given_up) out.push_back(e);
        }
        return out;
    }

    world w;
    std::vector<fakes::ending_ptr> held;
};

constexpr std::size_t many = 500;
constexpr std::size_t commands = 8;  // in which so many releases travel

}  // namespace

TEST_CASE("a node that was sent nothing is owed nothing, and delays no close") {
    world w;
    w.set_mode(2, mode::mute);
    w.start();
    const auto e = w.granted("r", {.ttl = 10s});
    REQUIRE(e->held);
    if (GENERATE(false, true)) w.release(std::move(e->held));
    const auto before = w.now;
    const auto done = w.start_close();
    w.run_until_over(*done);
    CHECK(done->outcome() == error_code());
    CHECK(w.now - before < 5ms);
    CHECK(w.count(event_kind::releases_given_up) == 0);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a close lasts for as long as the nodes answer") {
    holder h(many);
    h.w.answers_one_by_one = true;
    h.w.service = 45ms;
    const auto e = h.w.start_close();
    const auto took = h.run();
    CHECK(took > 5 * h.w.options.node_timeout);
    CHECK(took < 600ms);
    CHECK(h.given_up().empty());
    CHECK(e->outcome() == error_code());
    CHECK(e->outcomes.size() == 1);
}

TEST_CASE("a node that hangs does not hold a close up") {
    holder h(many);
    h.w.set_mode(1, mode::mute);
    SECTION("for longer than node_timeout, where the others are done by then") {
        h.w.close();
        CHECK(h.run() == h.w.options.node_timeout);
    }
    SECTION("at all, where the others take longer") {
        h.w.answers_one_by_one = true;
        h.w.service = 45ms;
        h.w.close();
        const auto took = h.run();
        CHECK(took >= commands * 45ms);
        CHECK(took < commands * 45ms + h.w.options.node_timeout / 2);
    }
    const auto told = h.given_up();
    REQUIRE(told.size() == 1);
    CHECK(told[0].node == "n1");
    CHECK(told[0].error == errc::timed_out);
    CHECK(told[0].detail.find("500 releases were not answered") != std::string::npos);
    CHECK(told[0].detail.find("ttl") != std::string::npos);
}

TEST_CASE("a node that goes on answering slowly is given up when every key has expired") {
    holder h(many);
    h.w.answers_one_by_one = true;
    h.w.service = h.w.options.node_timeout * 9 / 10;
    h.w.options.ttl_max = 200ms;
    h.w.close();
    const auto took = h.run();
    CHECK(took >= 200ms);
    CHECK(took <= 200ms + h.w.options.node_timeout);
    CHECK(h.given_up().size() == 3);
}

TEST_CASE("a node that hangs is given up when every key has expired, however patient the client") {
    holder h(many);
    h.w.set_mode(1, mode::mute);
    h.w.options.ttl_max = h.w.options.node_timeout / 4;
    h.w.close();
    CHECK(h.run() == h.w.options.ttl_max);
    CHECK(h.given_up().size() == 1);
}

TEST_CASE("a process that stood still reads the answers that arrived before it gives nodes up") {
    holder h(many);
    h.w.close();
    h.w.now += 10s;  // nothing of what is due has happened
    h.w.engine->on_time(h.w.now);
    h.w.engine->end_if_idle(h.w.now);
    CHECK_FALSE(h.w.engine->is_over());
    h.run();
    CHECK(h.given_up().empty());
}

TEST_CASE("async_close completes with the outcome of the last releases") {
    holder h(3);
    SECTION("a quorum answered") {
        h.w.set_mode(0, mode::mute);
        const auto e = h.w.start_close();
        CHECK_FALSE(e->is_over());
        h.run();
        CHECK(e->outcome() == error_code());
    }
    SECTION("too few did") {
        h.w.set_mode(0, mode::mute);
        h.w.set_mode(1, mode::refuses);
        const auto e = h.w.start_close();
        h.run();
        CHECK(e->outcome() == errc::no_quorum);
        const auto told = h.given_up();
        REQUIRE(told.size() == 2);
        CHECK(told[0].error == errc::timed_out);
        CHECK(told[1].error == boost::asio::error::connection_refused);
        CHECK(h.w.start_close()->outcome() == errc::no_quorum);
    }
    SECTION("nothing was to be answered") {
        for (auto& e : h.held) h.w.release(std::move(e->held));
        h.w.run_for(10ms);
        CHECK(h.w.start_close()->outcome() == error_code());
    }
}

TEST_CASE("several closes of one client complete once each") {
    holder h(3);
    h.w.set_mode(0, mode::mute);
    const auto first = h.w.start_close();
    const auto second = h.w.start_close();
    h.w.close();
    const auto third = h.w.start_close();
    CHECK(h.w.acquire("x")->outcome() == errc::client_closed);
    CHECK_FALSE(first->is_over());
    SECTION("one is cancelled") {
        h.w.cancel(*second);
        CHECK(second->outcome() == boost::asio::error::operation_aborted);
        CHECK_FALSE(h.w.engine->is_over());
        h.run();
        CHECK(second->outcomes.size() == 1);
    }
    SECTION("all go on to the end") {
        h.run();
        CHECK(second->outcome() == error_code());
        h.w.cancel(*second);
    }
    SECTION("all are discarded") {
        h.w.discard();
        for (const auto& e : {first, second, third}) {
            CHECK(e->discards == 1);
            CHECK(e->outcomes.empty());
        }
        return;
    }
    for (const auto& e : {first, second, third}) {
        CHECK(e->outcomes.size() == 1);
        CHECK(e->discards == 0);
    }
    CHECK(h.w.start_close()->outcome() == error_code());
}
