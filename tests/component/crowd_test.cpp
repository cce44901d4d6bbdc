// Tests what becomes of more acquires and renewals than the nodes can answer in time; knows no
// socket.
// SPDX-License-Identifier: MIT
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::mode;
using fakes::world;

namespace {

std::vector<fakes::ending_ptr> acquire_many(world& w, std::size_t n, acquire_options how = {}) {
    std::vector<fakes::ending_ptr> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(w.acquire("r" + std::to_string(i), how));
    return all;
}

std::size_t count(const std::vector<fakes::ending_ptr>& all, error_code outcome) {
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& e) {
        return e->is_over() && e->outcome() == outcome;
    }));
}

constexpr acquire_options quiet{.ttl = 60s, .renew = false};

}  // namespace

TEST_CASE("more acquires than nodes answer in node_timeout are all granted without a timeout") {
    connected_world w(fakes::either_options_for(3));
    w.run_for(10s);  // fenced nodes are new: a bootstrap
    w.service = 100us;
    const auto all = acquire_many(w, 1'000, quiet);
    w.run_for(490ms);
    CHECK(count(all, {}) == 1'000);
    CHECK(w.engine->stats().timeouts == 0);
}

TEST_CASE("an acquire held up beyond connect_timeout fails with backlog votes and leaves no key") {
    connected_world w;
    w.service = 1ms;
    const auto all = acquire_many(w, 1'000, quiet);
    w.run_for(700ms);
    const auto granted = count(all, {});
    CHECK(granted > 400);
    CHECK(granted + count(all, errc::no_quorum) == 1'000);
    const auto votes = all.back()->held.votes();
    CHECK(all.back()->outcome() == errc::no_quorum);
    CHECK(votes[0].error == errc::backlog);
    CHECK(votes[0].detail == "this client asks the nodes for too much else");
    w.run_for(5s);
    for (const auto& node : w.nodes) CHECK(node.keys(w.now).size() == granted);
}

TEST_CASE("an acquire with an owner costs about what others do, however many there are") {
    const auto processor_time = [](const acquire_options& how) {
        connected_world w;
        const std::clock_t before = std::clock();
        const auto all = acquire_many(w, 10'000, how);
        return std::clock() - before;
    };
    acquire_options with_owner = quiet;
    with_owner.owner.bytes[0] = 7;
    const auto usual = processor_time(quiet);
    // One that looks at all others takes a hundred times as long.
    CHECK(processor_time(with_owner) < 10 * usual);
}

TEST_CASE("a mute quorum fails all acquires within about connect_timeout, a mute minority none") {
    connected_world w;
    w.set_mode(0, mode::mute);
    w.set_mode(1, mode::mute);
    const auto all = acquire_many(w, 1'000, quiet);
    w.run_for(51ms);
    CHECK(count(all, errc::no_quorum) == 32);  // all that were sent at once
    w.run_for(500ms);
    CHECK(count(all, errc::no_quorum) == 1'000);
    // Where only one is, it does not count.
    w.set_mode(0, mode::up);
    w.run_for(1s);
    const auto others = acquire_many(w, 1'000, quiet);
    w.run_for(490ms);
    CHECK(count(others, {}) == 1'000);
}

TEST_CASE("a quorum that is mute for a moment costs fewer than 400 of a thousand acquires") {
    connected_world w;
    w.service = 100us;
    const auto all = acquire_many(w, 1'000, quiet);
    w.run_for(20ms);
    w.set_mode(0, mode::mute);
    w.set_mode(1, mode::mute);
    w.run_for(GENERATE(45ms, 60ms, 80ms));
    w.set_mode(0, mode::up);
    w.set_mode(1, mode::up);
    w.run_for(450ms);
    CHECK(count(all, {}) > 600);
}

TEST_CASE("a client that stood still asks for no more at once when it goes on") {
    connected_world w;
    w.service = 100us;
    const auto all = acquire_many(w, 1'000, quiet);
    w.run_for(20ms);
    w.now += 60ms;
    w.run_for(450ms);
    CHECK(count(all, {}) > 600);
}

TEST_CASE("what a silent minority leaves undecided hinders nobody else") {
    connected_world w;
    w.set_mode(2, mode::mute);
    w.take_elsewhere("split", 1, 1h);
    for (int i = 0; i < 20; ++i) {
        // One votes for it, one against it, and one not at all.
        for (int k = 0; k < 10; ++k) w.acquire("split", quiet);
        const auto before = w.now;
        const auto e = w.acquire("free" + std::to_string(i), quiet);
        w.run_until_over(*e);
        REQUIRE(e->held);
        CHECK(w.now - before < 1ms);
        w.run_for(5ms);
    }
}

TEST_CASE("whatever becomes of those inside, the window has room again") {
    connected_world w(fakes::either_options_for(3));
    w.run_for(10s);
    w.take_elsewhere("taken", 3);
    for (int i = 0; i < 100; ++i) {
        const auto name = "r" + std::to_string(i);
        w.cancel(*w.acquire(name, quiet));  // inside
        const auto refused = w.acquire(name, {.ttl = -1ms});
        REQUIRE(refused->outcome() == errc::invalid_argument);
        w.acquire("taken", quiet);  // contended
        const auto waiter = w.acquire("taken", {.ttl = 60s, .wait = 100ms});
        w.acquire("taken", quiet);  // behind the waiter
        w.acquire(name, quiet);     // granted
        w.run_for(5ms);
        w.cancel(*waiter);
        w.set_mode(0, mode::mute);
        w.set_mode(1, mode::mute);
        w.acquire(name + "-silent", quiet);  // timed out
        w.run_for(60ms);
        w.set_mode(0, mode::up);
        w.set_mode(1, mode::up);
        w.run_for(20ms);
    }
    std::vector<fakes::ending_ptr> all;
    for (int i = 0; i < 16; ++i) all.push_back(w.acquire("last" + std::to_string(i), quiet));
    w.run_for(1ms);
    CHECK(count(all, {}) == 16);
}

TEST_CASE("an acquire that is held up can be cancelled, and sends nothing to any node") {
    connected_world w;
    const auto all = acquire_many(w, 1'000, quiet);
    w.cancel(*all.back());
    CHECK(all.back()->outcome() == boost::asio::error::operation_aborted);
    w.run_for(490ms);
    CHECK(count(all, {}) == 999);
    CHECK(w.ours("r999") == 0);
    CHECK(w.count_sent("SET") == 3 * 999);
}

TEST_CASE("a client that closes ends the acquires that are held up with client_closed") {
    connected_world w;
    const auto all = acquire_many(w, 1'000, quiet);
    w.close();
    CHECK(count(all, errc::client_closed) == 1'000);
}

TEST_CASE("a context that ends drops the acquires that are held up") {
    connected_world w;
    const auto all = acquire_many(w, 1'000, quiet);
    w.discard();
    for (const auto& e : all) REQUIRE(e->discards == 1);
}

TEST_CASE("an acquire that was held up does not pass a waiter that joined the queue meanwhile") {
    connected_world w;
    w.take_elsewhere("r999", 3, 1s);
    const auto all = acquire_many(w, 1'000, quiet);
    const auto waiting = w.acquire("r999", {.ttl = 60s, .wait = 10s});
    w.run_for(490ms);
    CHECK(all.back()->outcome() == errc::contended);
    CHECK(all.back()->held.votes()[0].answer == vote::queued);
    w.run_for(2s);
    CHECK(waiting->held);
}

TEST_CASE("renewals pass the acquires that are held up") {
    connected_world w(fakes::fenced_options_for(3));
    w.run_for(10s);
    const auto held = w.granted("kept", {.ttl = 1s});
    REQUIRE(held->held);
    w.service = 200us;
    for (int i = 0; i < 8; ++i) {
        const auto all = acquire_many(w, 1'000, {.ttl = 100ms, .renew = false});
        w.run_for(200ms);
        REQUIRE(held->held);
    }
    CHECK(w.engine->stats().renewal_failures == 0);
}

TEST_CASE("thousands of leases are renewed bit by bit, and none is lost") {
    connected_world w(fakes::either_options_for(3));
    w.run_for(10s);
    constexpr std::size_t leases = 4'000;
    const auto all = acquire_many(w, leases, {.ttl = 10s});
    w.run_for(500ms);
    REQUIRE(count(all, {}) == leases);
    // A renewal of all of them at once would keep a node busy for 100 ms: half of them would be
    // too late.
    w.service_per_byte = 200ns;
    const auto before = w.engine->stats();
    w.run_for(10s);
    const auto after = w.engine->stats();
    CHECK(after.renewal_failures == 0);
    CHECK(after.timeouts == before.timeouts);
    CHECK(after.lost == 0);
    const auto renewals = after.renewals - before.renewals;
    CHECK(renewals >= 2 * leases);
    // They still travel together.
    CHECK(3 * renewals > 50 * (after.commands - before.commands));
}

TEST_CASE("leases are renewed after their nodes were silent, all of them") {
    connected_world w;
    constexpr std::size_t leases = 3'000;
    const auto all = acquire_many(w, leases, {.ttl = 10s});
    w.run_for(500ms);
    REQUIRE(count(all, {}) == leases);
    w.service_per_byte = 400ns;
    w.run_for(2s);
    w.set_mode(0, mode::mute);
    w.set_mode(1, mode::mute);
    w.run_for(3s);
    CHECK(w.engine->stats().renewal_failures > leases);
    w.set_mode(0, mode::up);
    w.set_mode(1, mode::up);
    w.run_for(5s);
    CHECK(w.engine->stats().lost == 0);
    const auto failures = w.engine->stats().renewal_failures;
    w.run_for(20s);
    CHECK(w.engine->stats().lost == 0);
    CHECK(w.engine->stats().renewal_failures == failures);
    // What failed together was tried again together, and still is.
    const auto before = w.engine->stats();
    w.run_for(20s);
    const auto after = w.engine->stats();
    CHECK(3 * (after.renewals - before.renewals) > 50 * (after.commands - before.commands));
}

TEST_CASE("a lease with little time is renewed before thousands that have more") {
    world w;
    w.latency.assign(3, 20ms);
    w.connected();
    w.run_for(200ms);
    const auto herd = acquire_many(w, 6'000, {.ttl = 10s});
    w.run_for(900ms);
    const auto all = count(herd, {});
    CHECK(all > 1'000);
    const auto hasty = w.granted("hasty", {.ttl = 300ms});
    REQUIRE(hasty->held);
    w.run_for(10s);
    CHECK(hasty->held);
    CHECK(w.engine->stats().lost == 0);
    CHECK(w.engine->stats().renewal_failures == 0);
}

TEST_CASE("renewals go on whatever becomes of the leases of those that are under way") {
    connected_world w;
    auto kept = w.granted("kept", {.ttl = 3s});
    for (int i = 0; i < 20; ++i) {
        auto all = acquire_many(w, 4, {.ttl = 300ms});
        w.run_for(20ms);
        w.set_mode(0, mode::mute);
        w.set_mode(1, mode::mute);
        w.run_for(100ms);  // their renewals are under way
        w.release(std::move(all[0]->held));
        all[1]->held = lease();
        w.run_for(300ms);  // the others are lost
        w.set_mode(0, mode::up);
        w.set_mode(1, mode::up);
        w.run_for(400ms);
        REQUIRE(kept->held);
    }
}

TEST_CASE("a lease that is given back before its renewal had its turn says nothing of the nodes") {
    auto o = fakes::options_for(3);
    o.node_timeout = 4s;
    o.connect_timeout = 8s;
    world w(o);
    w.latency.assign(3, 700ms);
    w.connected();
    w.run_for(10s);
    std::vector<fakes::ending_ptr> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(w.acquire("r" + std::to_string(i), {.ttl = 10s}));
        w.run_for(540ms);  // so that each is due at an instant of its own
    }
    w.run_for(2s + 50ms * GENERATE(range(0, 50)));
    REQUIRE(all[2]->held);
    all[2]->held = lease();
    w.run_for(5s);
    CHECK(w.engine->renewal_window().size() == 2);
    CHECK(all[0]->held);
}
