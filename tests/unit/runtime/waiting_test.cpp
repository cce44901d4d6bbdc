// Tests waiting: in line within a client, and in the nodes' queues; knows no socket and no clock.
// SPDX-License-Identifier: MIT
#include "resp/scripts.hpp"
#include "runtime/acquire.hpp"
#include "support/catch.hpp"
#include "unit/runtime/support/stranger.hpp"
#include "unit/runtime/support/world.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::calls_of;
using fakes::ending_ptr;
using fakes::fenced_options_for;
using fakes::mode;
using fakes::queue_of;
using fakes::queued_in_all;
using fakes::stranger;
using fakes::world;

namespace {

constexpr auto latency = 100us;  // one way, as worlds have it
constexpr auto trip = 2 * latency;
// From one refresh to the next, at most.
constexpr auto refresh = 750ms;

/// Notes when a node got what.
struct log_line {
    core::time_point when{};
    fakes::command what{};
};

std::shared_ptr<std::vector<log_line>> log_of(world& w, std::size_t node) {
    auto log = std::make_shared<std::vector<log_line>>();
    w.nodes[node].instead = [&w, log](const fakes::command& c) -> std::optional<std::string> {
        log->push_back({w.now, c});
        return std::nullopt;
    };
    return log;
}

bool is_call(const fakes::command& c, const resp::script& what) {
    return c.size() > 1 && c[0] == "EVALSHA" && c[1] == what.sha1;
}

std::size_t calls_in_all(const world& w, const resp::script& what) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) n += calls_of(w, what, i);
    return n;
}

std::size_t sent_in_all(const world& w) {
    return calls_in_all(w, resp::acquire()) + calls_in_all(w, resp::release()) +
           calls_in_all(w, resp::wait());
}

/// Waits for what it does not get, entered on every node.
ending_ptr asleep(world& w, const std::string& resource, acquire_options how = {.wait = 30s}) {
    const auto e = w.acquire(resource, how);
    w.run_for(20ms);
    REQUIRE_FALSE(e->is_over());
    for (std::size_t i = 0; i < w.nodes.size(); ++i) {
        REQUIRE(queue_of(w, i, resource).size() == 1);
    }
    return e;
}

/// The only one who waits is alive in every queue.
void check_place_on_all(world& w, const std::string& resource) {
    for (std::size_t i = 0; i < w.nodes.size(); ++i) {
        const auto entries = queue_of(w, i, resource);
        REQUIRE(entries.size() == 1);
        CHECK(entries[0].until_ms > w.nodes[i].wall.ms(w.now));
    }
}

/// The same numbers for the same seed, below what is asked for.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U) {}
    std::uint64_t operator()(std::uint64_t n) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return (state_ >> 33U) % n;
    }

private:
    std::uint64_t state_;
};

/// How long it takes from now on.
core::duration time_until_over(world& w, const fakes::ending& e) {
    const auto before = w.now;
    REQUIRE(w.run_until_over(e));
    return w.now - before;
}

// Whatever happens, it happens at every moment: `then` is given a world in which somebody has begun
// to wait for "r", which is held elsewhere, one turn ago, two turns ago, and so on.
template <class F>
void at_every_turn(core::duration until, F&& then) {
    for (std::size_t k = 0;; ++k) {
        world w(fenced_options_for(3));
        w.connected();
        w.run_for(1s);  // a connection that breaks is made again at once
        w.take_elsewhere("r", 3);
        const auto began = w.now;
        const auto e = w.acquire("r", {.wait = 60s});
        for (std::size_t i = 0; i < k; ++i) w.turn();
        if (w.now - began > until) {
            CHECK(k > 20);
            return;
        }
        INFO("after " << k << " turns, at " << (w.now - began) / 1us << " us");
        then(w, *e);
    }
}

}  // namespace

TEST_CASE("in one client the waiters are granted in their order, and only the first asks") {
    world w(fenced_options_for(3));
    w.connected();
    std::vector<ending_ptr> waiters;
    for (int i = 0; i < 100; ++i) waiters.push_back(w.acquire("r", {.wait = 60s}));
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        CHECK(time_until_over(w, *waiters[i]) == trip);
        REQUIRE(waiters[i]->held);
        w.run_for(5ms);
        const auto granted = std::count_if(waiters.begin(), waiters.end(),
                                           [](const auto& e) { return e->is_over(); });
        CHECK(granted == static_cast<std::ptrdiff_t>(i) + 1);
        for (std::size_t node = 0; node < 3; ++node) {
            CHECK(calls_of(w, resp::acquire(), node) == i + 1);
            CHECK(calls_of(w, resp::release(), node) == i);
        }
        w.release(std::move(waiters[i]->held));
    }
    CHECK(calls_in_all(w, resp::wait()) == 0);
    CHECK(w.count_sent("SUBSCRIBE") == 0);
}

TEST_CASE("while one who had waited holds it here, the others send nothing") {
    world w(fenced_options_for(3));
    w.connected();
    auto holder = w.granted("r", {.wait = 1s});
    REQUIRE(holder->held);
    w.run_for(5ms);
    const auto sent = sent_in_all(w);
    std::vector<ending_ptr> waiters;
    for (int i = 0; i < 10; ++i) waiters.push_back(w.acquire("r", {.wait = 60s}));
    w.run_for(40s);
    CHECK(sent_in_all(w) == sent);
    CHECK(w.count_sent("SUBSCRIBE") == 0);
    CHECK(holder->held);
}

TEST_CASE("the next acquire leaves with what frees the resource") {
    const bool had_waited = GENERATE(true, false);
    world w(fenced_options_for(3));
    w.connected();
    acquire_options how{.ttl = 2s, .renew = false};
    if (had_waited) how.wait = 1s;
    auto holder = w.granted("r", how);
    const auto next = w.acquire("r", {.wait = 60s});
    w.run_for(100ms);
    const auto log = log_of(w, 1);
    auto freed = w.now;
    SECTION("a release") { w.release(std::move(holder->held)); }
    SECTION("a lease that is dropped") { holder->held = {}; }
    SECTION("the end of the validity") { freed = holder->held.valid_until(); }
    REQUIRE(w.run_until_over(*next));
    CHECK(next->held);
    CHECK(w.now - freed == trip);
    const auto released = std::find_if(
        log->begin(), log->end(), [](const auto& l) { return is_call(l.what, resp::release()); });
    REQUIRE(log->end() - released >= 2);
    CHECK(released->when == freed + latency);
    CHECK(released[1].when == freed + latency);
    CHECK(is_call(released[1].what, resp::acquire()));
}

TEST_CASE("who waits for a lease that was detached here gets the resource when its keys run out") {
    world w(fenced_options_for(3));
    w.connected();
    auto holder = w.granted("r", {.ttl = 2s, .wait = 1s, .renew = false});
    const auto began = w.now;
    const auto next = w.acquire("r", {.wait = 60s});
    w.run_for(100ms);
    const auto before = calls_in_all(w, resp::acquire());
    holder->held.detach();
    w.run_for(1ms);
    CHECK(calls_in_all(w, resp::acquire()) == before + 3);
    REQUIRE(w.run_until_over(*next));
    CHECK(next->held);
    CHECK(w.now - began <= 2s + 2ms + 2 * trip);
    CHECK(calls_in_all(w, resp::acquire()) == before + 6);
}

TEST_CASE("a waiter leaves at once, whatever its place, and the others keep theirs") {
    const bool is_held_here = GENERATE(true, false);
    const std::size_t place = GENERATE(0U, 1U, 2U);
    const bool is_cancelled = GENERATE(true, false);
    world w(fenced_options_for(3));
    w.connected();
    ending_ptr holder;
    if (is_held_here) {
        holder = w.granted("r", {.wait = 1s});
    } else {
        w.take_elsewhere("r", 3);
    }
    std::vector<ending_ptr> waiters;
    const auto began = w.now;
    for (std::size_t i = 0; i < 3; ++i) {
        const bool is_short = i == place && !is_cancelled;
        waiters.push_back(w.acquire("r", {.wait = is_short ? 777ms : 60'000ms}));
    }
    if (is_cancelled) {
        w.run_for(123ms);
        w.cancel(*waiters[place]);
        CHECK(waiters[place]->outcomes ==
              std::vector<error_code>{boost::asio::error::operation_aborted});
    } else {
        REQUIRE(w.run_until_over(*waiters[place]));
        CHECK(w.now - began == 777ms);
        CHECK(waiters[place]->outcomes == std::vector<error_code>{errc::contended});
    }
    w.run_for(3s);
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < 3; ++i) {
        if (i != place) others.push_back(i);
    }
    CHECK_FALSE(waiters[others[0]]->is_over());
    if (is_held_here) {
        w.release(std::move(holder->held));
    } else {
        stranger(w).release_all("r");
    }
    CHECK(time_until_over(w, *waiters[others[0]]) <= 2 * trip);
    CHECK(waiters[others[0]]->held);
    CHECK_FALSE(waiters[others[1]]->is_over());
}

TEST_CASE("who would not wait is contended at once where others wait here, and sends nothing") {
    world w(fenced_options_for(3));
    w.connected();
    auto holder = w.granted("r", {.wait = 1s});
    const auto waiter = w.acquire("r", {.wait = 60s});
    w.run_for(1ms);
    const auto sent = sent_in_all(w);
    const auto hasty = w.acquire("r");
    CHECK(hasty->outcomes == std::vector<error_code>{errc::contended});
    REQUIRE(hasty->held.votes().size() == 3);
    CHECK(hasty->held.votes()[2].answer == vote::queued);
    w.run_for(10ms);
    CHECK(sent_in_all(w) == sent);
}

TEST_CASE("who would not wait takes nothing where somebody waits on the nodes") {
    world w(fenced_options_for(3));
    w.connected();
    stranger other(w);
    other.enter_all("r", 1);
    const auto hasty = w.granted("r");
    CHECK(hasty->outcome() == errc::contended);
    const auto votes = hasty->held.votes();
    CHECK(std::count_if(votes.begin(), votes.end(),
                        [](const auto& v) { return v.answer == vote::queued; }) >= 2);
    w.run_for(5ms);
    CHECK(w.ours("r") == 0);
    CHECK(queued_in_all(w, "r") == 3);
    // As soon as that one is dead, it counts no more.
    w.run_for(2s);
    CHECK(w.granted("r")->held);
}

TEST_CASE("a waiter sends a bounded number of commands until a key runs out, and has it then") {
    // Asked for when the subscription stands, and then from refresh to refresh.
    const auto [ttl, questions] =
        GENERATE(table<std::chrono::milliseconds, std::size_t>({{500ms, 1}, {3s, 5}, {9s, 13}}));
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3, ttl);
    const auto gone = w.now + ttl;
    const auto e = w.acquire("r", {.wait = 60s});
    REQUIRE(w.run_until_over(*e));
    REQUIRE(e->held);
    // Its time is told in whole ms, and one is added since a key in its last one is still there.
    CHECK(w.now - gone <= 2ms + latency + trip);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(calls_of(w, resp::acquire(), i) == 2);
        CHECK(calls_of(w, resp::release(), i) == 1);
        const auto asked = calls_of(w, resp::wait(), i);
        // Each refresh may come up to 100 ms late.
        CHECK(asked <= 1 + static_cast<std::size_t>(ttl / 650ms));
        CHECK(asked >= 1 + static_cast<std::size_t>(ttl / 750ms));
        if (ttl < 5s) CHECK(asked == questions);
    }
}

TEST_CASE("a waiter is entered with its first ticket, and only where it listens") {
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3);
    const auto log = log_of(w, 0);
    const auto e = w.acquire("r", {.wait = 60s});
    while (w.turn(w.now + 20ms)) {
        for (std::size_t i = 0; i < 3; ++i) {
            if (!queue_of(w, i, "r").empty()) CHECK(w.engine->is_listening(i));
        }
    }
    std::string ticket;
    for (const auto& l : *log) {
        if (is_call(l.what, resp::acquire()) && ticket.empty()) ticket = l.what[9];
    }
    for (std::size_t i = 0; i < 3; ++i) {
        const auto all = queue_of(w, i, "r");
        REQUIRE(all.size() == 1);
        CHECK(all[0].id == std::string(w.engine->client_id()) + ":1");
        CHECK(all[0].ticket == std::stod(ticket));
    }
    // Also after another try, which has another fence.
    w.nodes[0].remove("r");
    w.nodes[1].remove("r");
    w.nodes[0].put("r", world::foreign, w.now + 1s);
    w.nodes[1].put("r", world::foreign, w.now + 1h);
    w.nodes[2].put("r", world::foreign, w.now + 1s);
    w.nodes[0].seen.clear();
    w.run_for(1500ms);
    REQUIRE(e->is_over());
    CHECK(e->held.fence() > std::stoull(ticket));
    const auto left = queue_of(w, 1, "r");
    REQUIRE(left.size() == 1);
    CHECK(left[0].ticket == std::stod(ticket));
}

TEST_CASE("a release by another client is followed by the grant within two round trips") {
    const std::size_t n = GENERATE(1U, 3U, 5U);
    auto o = fenced_options_for(n);
    o.key_prefix = GENERATE("", "app:");
    world w(o);
    w.connected();
    w.take_elsewhere(o.key_prefix + "r", n);
    const auto e = asleep(w, "r");
    w.run_for(GENERATE(0ms, 640ms, 5s));
    const auto before = calls_of(w, resp::acquire(), 0);
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *e) == latency + trip);
    CHECK(e->held);
    CHECK(calls_of(w, resp::acquire(), 0) == before + 1);
}

TEST_CASE("a release at any moment is followed by the grant, and not only by the refresh") {
    const core::duration apart = GENERATE(0us, 1us, 60us, 150us, 310us);
    at_every_turn(1s, [&](world& w, fakes::ending& e) {
        stranger other(w);
        for (std::size_t i = 0; i < 3; ++i) w.after(i * apart, [&, i] { other.release(i, "r"); });
        // Connecting, greeting, asking, trying.
        CHECK(time_until_over(w, e) <= 2 * apart + 5 * trip);
        CHECK(e.held);
    });
}

TEST_CASE("a subscription that breaks at any moment costs one refresh at most") {
    const std::size_t later = GENERATE(0U, 1U, 2U, 4U);
    at_every_turn(2s, [&](world& w, fakes::ending& e) {
        for (std::size_t i = 0; i < 3; ++i) w.cut_subscription(i);
        for (std::size_t i = 0; i < later; ++i) w.turn();
        stranger(w).release_all("r");
        CHECK(time_until_over(w, e) <= refresh + 4 * trip);
        CHECK(e.held);
    });
}

TEST_CASE("a foreign key that is deleted early is found at the next refresh") {
    for (auto when = 0ms; when < 1500ms; when += 50ms) {
        world w(fenced_options_for(3));
        w.connected();
        w.take_elsewhere("r", 3);
        const auto e = asleep(w, "r");
        w.run_for(when);
        for (auto& node : w.nodes) node.remove("r");
        CHECK(time_until_over(w, *e) <= refresh + 2 * trip);
        CHECK(e->held);
    }
}

TEST_CASE("less than a quorum of nodes that are free has a waiter do nothing") {
    world w(fenced_options_for(5));
    w.connected();
    w.take_elsewhere("r", 5);
    const auto e = asleep(w, "r");
    stranger other(w);
    const auto before = calls_in_all(w, resp::acquire());
    other.release(1, "r");
    other.release(4, "r");
    w.run_for(5s);
    CHECK(calls_in_all(w, resp::acquire()) == before);
    other.release(0, "r");
    CHECK(time_until_over(w, *e) == latency + trip);
    CHECK(e->held);
}

TEST_CASE("a dead waiter in front costs at most what its entry had left to live") {
    const auto left = GENERATE(2000ms, 700ms, 100ms, 1ms);
    world w(fenced_options_for(3));
    w.connected();
    stranger dead(w);
    SECTION("that nobody hears for") {}
    SECTION("that hears, and does nothing") { dead.listen(); }
    dead.enter_all("r", 1, left);
    const auto e = w.acquire("r", {.wait = 60s});
    const auto took = time_until_over(w, *e);
    CHECK(e->held);
    CHECK(took >= left - 1ms);
    CHECK(took <= left + 1ms + 2 * trip);
    CHECK(calls_of(w, resp::acquire(), 0) <= 2);
}

TEST_CASE("a dead waiter in front costs nothing where the key is released") {
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r");
    stranger dead(w);
    dead.enter_all("r", 1);
    w.run_for(GENERATE(0ms, 1s));
    stranger(w, "holder").release_all("r");
    CHECK(time_until_over(w, *e) == latency + trip);
    CHECK(e->held);
}

TEST_CASE("a waiter in front that hears and does nothing costs what its entry had left") {
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r");
    stranger stuck(w);
    stuck.listen();
    stuck.enter_all("r", 1);
    w.run_for(GENERATE(0ms, 500ms, 1900ms));
    const auto left = queue_of(w, 0, "r").at(0).until_ms - w.nodes[0].wall.ms(w.now);
    stranger(w, "holder").release_all("r");
    const auto took = time_until_over(w, *e);
    CHECK(e->held);
    CHECK(took >= (left - 1) * 1ms);
    // Nobody tells us that it is our turn: a refresh does.
    CHECK(took <= std::max<core::duration>((left + 2) * 1ms, refresh) + 2 * trip);
}

TEST_CASE("a waiter that goes when it was woken has the next one told") {
    const bool by_deadline = GENERATE(true, false);
    std::size_t granted = 0;
    for (auto at = 0us; at <= 1000us; at += 25us) {
        world w(fenced_options_for(3));
        w.connected();
        w.take_elsewhere("r", 3);
        const auto deadline = w.now + 300ms;
        const auto e = asleep(w, "r", {.wait = by_deadline ? 300ms : 60'000ms});
        stranger next(w);
        next.listen();
        next.enter_all("r", 8'000'000'000'000'000);
        w.run_for(by_deadline ? deadline - at - w.now : 100ms);
        stranger(w, "holder").release_all("r");
        CHECK(next.nodes_heard() == 0);
        if (by_deadline) {
            REQUIRE(w.run_until_over(*e));
            CHECK(w.now <= deadline);
        } else {
            w.run_for(at);
            w.cancel(*e);
        }
        INFO("at " << at / 1us << " us");
        CHECK(e->outcomes.size() == 1);
        w.run_for(2 * trip);
        if (e->held) {
            ++granted;
            CHECK(next.nodes_heard() == 0);
            w.release(std::move(e->held));
            w.run_for(trip);
        }
        CHECK(next.nodes_heard() == 3);
        CHECK(w.ours("r") == 0);
        CHECK(queued_in_all(w, "r") == 3);
    }
    CHECK(granted > 0);
    CHECK(granted < 41);
}

TEST_CASE("no entry stays behind when waiting ends") {
    const std::size_t n = GENERATE(3U, 5U);
    world w(fenced_options_for(n));
    w.connected();
    w.take_elsewhere("r", n);
    const auto began = w.now;
    const auto e = asleep(w, "r", {.wait = 2s});
    SECTION("granted and released") {
        const bool is_everywhere = GENERATE(true, false);
        stranger other(w);
        for (std::size_t i = is_everywhere ? 0 : 1; i < n; ++i) other.release(i, "r");
        REQUIRE(w.run_until_over(*e));
        REQUIRE(e->held);
        w.run_for(latency);
        CHECK(queued_in_all(w, "r") == (is_everywhere ? 0 : 1));
        w.release(std::move(e->held));
    }
    SECTION("cancelled") { w.cancel(*e); }
    SECTION("too late") {
        REQUIRE(w.run_until_over(*e));
        CHECK(w.now - began == 2s);
        CHECK(e->outcome() == errc::contended);
    }
    SECTION("closed") {
        w.close();
        CHECK(e->outcome() == errc::client_closed);
    }
    w.run_for(latency);
    CHECK(queued_in_all(w, "r") == 0);
    CHECK(w.ours("r") == 0);
    w.run_for(3s);
    CHECK(queued_in_all(w, "r") == 0);
}

TEST_CASE("the entries of all who sleep live on by few commands") {
    world w(fenced_options_for(3));
    w.connected();
    std::vector<ending_ptr> all;
    for (int i = 0; i < 300; ++i) {
        const auto name = "r" + std::to_string(i);
        w.take_elsewhere(name, 3);
        all.push_back(w.acquire(name, {.wait = 600s}));
    }
    w.run_for(100ms);
    const auto log = log_of(w, 2);
    std::vector<std::pair<core::time_point, std::size_t>> refreshed;
    for (int i = 0; i < 100; ++i) {
        w.run_for(100ms);
        for (const auto* name : {"r0", "r63", "r64", "r299"}) {
            const auto entries = queue_of(w, 2, name);
            REQUIRE(entries.size() == 1);
            CHECK(entries[0].until_ms > w.nodes[2].wall.ms(w.now) + (i < 20 ? 850 : 1200));
            CHECK(entries[0].until_ms <= w.nodes[2].wall.ms(w.now) + 2000);
        }
    }
    for (const auto& l : *log) {
        CHECK_FALSE(is_call(l.what, resp::acquire()));
        CHECK_FALSE(is_call(l.what, resp::release()));
        if (is_call(l.what, resp::wait())) {
            refreshed.emplace_back(l.when, std::stoul(l.what[2]) / 2);
        }
    }
    // 10 s of rounds, of five batches each.
    CHECK(refreshed.size() >= 13 * 5 - 5);
    CHECK(refreshed.size() <= 16 * 5 + 5);
    std::optional<core::time_point> last;
    for (const auto& [when, size] : refreshed) {
        CHECK(size <= 64);
        if (last) CHECK(when - *last >= 20ms);
        last = when;
    }
}

TEST_CASE("however long the nodes were away, who sleeps again has its place and keeps no turn") {
    const auto away = GENERATE(mode::mute, mode::refuses);
    for (core::duration how_long = 0ms; how_long < 1s; how_long += 5ms) {
        INFO("for " << how_long / 1ms << " ms");
        world w(fenced_options_for(3));
        w.connected();
        w.take_elsewhere("r", 3);
        const auto e = asleep(w, "r", {.wait = 60s});
        w.run_for(600ms);  // before it is asked for
        w.set_mode(0, away);
        w.set_mode(1, away);
        w.run_for(how_long);
        w.set_mode(0, mode::up);
        w.run_for(3s);
        CHECK_FALSE(e->is_over());
        REQUIRE(w.engine->room().lines().resting() == 0);
        // Else nobody would wake it.
        REQUIRE(queue_of(w, 0, "r").size() == 1);
        REQUIRE(queue_of(w, 2, "r").size() == 1);
    }
}

TEST_CASE("who waits for what holds something foreign keeps nobody from a turn") {
    world w(fenced_options_for(3));
    w.connected();
    std::vector<ending_ptr> all;
    for (std::size_t i = 0; i < 2 * core::lines::most_turns; ++i) {
        const auto name = "r" + std::to_string(i);
        for (auto& node : w.nodes) {
            node.put(w.options.key_prefix + "{" + name + "}:fence", "none", w.now + 1h);
        }
        all.push_back(w.acquire(name, {.wait = 60s}));
    }
    w.run_for(1s);
    const auto e = w.acquire("free", {.wait = 1s});
    CHECK(time_until_over(w, *e) <= 20ms);
    CHECK(e->held);
}

TEST_CASE("whoever had no turn in its time, since the client asks for so much else, is told that") {
    world w(fenced_options_for(3));
    w.connected();
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
    std::vector<ending_ptr> all;
    for (std::size_t i = 0; i < core::lines::most_turns; ++i) {
        all.push_back(w.acquire("r" + std::to_string(i), {.wait = 60s}));
    }
    const auto e = w.acquire("late", {.wait = 20ms});
    CHECK(time_until_over(w, *e) == 50ms);  // the time that one try may take
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(e->held.votes()[1].error == errc::backlog);
}

TEST_CASE("however many others got theirs, a key that is deleted early is found as soon") {
    world w(fenced_options_for(3));
    w.connected();
    std::vector<ending_ptr> all;
    for (int i = 0; i < 1'000; ++i) {
        const auto name = "r" + std::to_string(i);
        w.take_elsewhere(name, 3);
        all.push_back(w.acquire(name, {.wait = 600s}));
    }
    w.run_for(3s);
    for (int i = 0; i < 1'000; ++i) {
        for (auto& node : w.nodes) node.remove("r" + std::to_string(i));
    }
    w.run_for(refresh + 20ms);
    for (const auto& e : all) REQUIRE(e->is_over());
}

TEST_CASE("a client that waits for thousands of resources asks for few of them at a time") {
    constexpr std::size_t resources = 3'000;
    world w(fenced_options_for(3));
    w.connected();
    const auto log = log_of(w, 2);
    std::vector<ending_ptr> all;
    for (std::size_t i = 0; i < resources; ++i) {
        w.take_elsewhere("r" + std::to_string(i), 3);
        all.push_back(w.acquire("r" + std::to_string(i), {.wait = 600s}));
    }
    w.run_for(100ms);
    std::map<core::time_point, std::size_t> asked;
    for (const auto& l : *log) asked[l.when] += is_call(l.what, resp::acquire()) ? 1 : 0;
    std::size_t sum = 0;
    for (const auto& [when, many] : asked) {
        CHECK(many <= core::lines::most_turns);  // they all are answered at once, too
        sum += many;
    }
    CHECK(sum == resources);
    CHECK(w.engine->stats().retries == 0);
    for (const auto& e : all) w.cancel(*e);
}

TEST_CASE("thousands that can reach no quorum try some 5,000 times a second, and recover") {
    constexpr std::size_t resources = 5'000;
    world w(fenced_options_for(3));
    w.connected();
    w.set_mode(0, mode::refuses);
    w.set_mode(1, mode::refuses);
    std::vector<ending_ptr> all;
    for (std::size_t i = 0; i < resources; ++i) {
        all.push_back(w.acquire("r" + std::to_string(i), {.wait = 600s}));
    }
    w.run_for(5s);
    CHECK(calls_of(w, resp::acquire(), 2) < 5 * 6'000);
    w.set_mode(0, mode::up);
    w.run_for(5s);
    for (const auto& e : all) {
        REQUIRE(e->is_over());
        CHECK(e->held);
    }
}

TEST_CASE("the nodes are listened to for half a minute after the last waiter") {
    world w(fenced_options_for(3));
    w.connected();
    stranger ear(w);
    const auto listening = [&] {
        std::int64_t n = 0;
        for (std::size_t i = 0; i < 3; ++i) n += ear.audience(i, w.engine->client_id());
        return n;
    };
    CHECK(listening() == 0);
    w.take_elsewhere("r", 3);
    const auto first = asleep(w, "r", {.wait = 100s});
    CHECK(listening() == 3);
    w.run_for(80s);
    CHECK(listening() == 3);
    w.cancel(*first);
    w.run_for(29s);
    CHECK(listening() == 3);
    CHECK(w.count_sent("SUBSCRIBE") == 3);
    w.run_for(2s);
    CHECK(listening() == 0);
    const auto asked = calls_in_all(w, resp::wait());
    w.run_for(60s);
    CHECK(calls_in_all(w, resp::wait()) == asked);
    const auto second = asleep(w, "r");
    CHECK(listening() == 3);
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *second) == latency + trip);
    w.close();
    w.run_for(1ms);
    CHECK(listening() == 0);
}

TEST_CASE("a minority of nodes that fail costs a waiter nothing") {
    const int fault = GENERATE(0, 1, 2, 3, 4);
    const bool is_late = GENERATE(true, false);
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3);
    ending_ptr e;
    if (is_late) e = asleep(w, "r");
    if (fault == 0) w.set_mode(0, mode::mute);
    if (fault == 1) w.set_mode(0, mode::refuses);
    if (fault == 2) w.nodes[0].forbid("SUBSCRIBE");
    if (fault == 3) w.nodes[0].forbid("PUBLISH");
    if (fault == 4) w.nodes[0].forbid("ZADD");
    if (!e) e = w.acquire("r", {.wait = 60s});
    INFO("fault " << fault << (is_late ? ", while it slept" : ", before it began"));
    w.run_for(5s);
    CHECK_FALSE(e->is_over());
    CHECK(calls_of(w, resp::acquire(), 1) == 1);
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *e) <= latency + trip);
    CHECK(e->held);
}

TEST_CASE("where no node lets a waiter be woken it finds out at the next refresh") {
    const std::string what = GENERATE("SUBSCRIBE", "PUBLISH", "ZADD");
    for (auto when = 0ms; when < 800ms; when += 100ms) {
        world w(fenced_options_for(3));
        w.connected();
        for (auto& node : w.nodes) node.forbid(what);
        w.take_elsewhere("r", 3);
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(20ms + when);
        CHECK(calls_of(w, resp::acquire(), 0) == 1);
        stranger(w).release_all("r");
        INFO(what);
        CHECK(time_until_over(w, *e) <= refresh + 2 * trip);
        CHECK(e->held);
    }
}

TEST_CASE("scripts that are flushed at any moment cost a waiter at most a refresh") {
    const std::size_t later = GENERATE(0U, 1U, 3U);
    std::size_t slow = 0;
    at_every_turn(1s, [&](world& w, fakes::ending& e) {
        for (auto& node : w.nodes) node.flush_scripts();
        for (std::size_t i = 0; i < later; ++i) w.turn();
        stranger(w).release_all("r");
        const auto took = time_until_over(w, e);
        slow += took > 8 * trip ? 1U : 0U;
        CHECK(took <= refresh + 4 * trip);
        REQUIRE(e.held);
        for (auto& node : w.nodes) node.flush_scripts();
        w.release(std::move(e.held));
        w.run_for(5 * trip);
        CHECK(w.ours("r") == 0);
        CHECK(queued_in_all(w, "r") == 0);
    });
    CHECK(slow == 0);
}

TEST_CASE("a client that ends at any moment tells each waiter once, or not at all") {
    const bool is_closed = GENERATE(true, false);
    for (std::size_t k = 0;; ++k) {
        world w(fenced_options_for(3));
        w.connected();
        w.take_elsewhere("r", 3);
        const auto began = w.now;
        w.after(300ms, [&] { stranger(w).release_all("r"); });
        std::vector<ending_ptr> all;
        for (int i = 0; i < 3; ++i) all.push_back(w.acquire("r", {.wait = 2s}));
        const auto other = w.acquire("s", {.wait = 2s});
        all.push_back(other);
        for (std::size_t i = 0; i < k; ++i) w.turn();
        if (w.now - began > 1s) {
            CHECK(k > 20);
            break;
        }
        if (is_closed) {
            w.close();
            for (const auto& e : all) CHECK(e->outcomes.size() == 1);
            w.run_for(10 * trip);
            CHECK(w.ours("r") == 0);
            CHECK(w.ours("s") == 0);
            CHECK(queued_in_all(w, "r") == 0);
            w.run_for(3s);
            for (const auto& e : all) CHECK(e->outcomes.size() == 1);
        } else {
            std::vector<std::size_t> before;
            for (const auto& e : all) before.push_back(e->outcomes.size());
            w.discard();
            for (std::size_t i = 0; i < all.size(); ++i) {
                CHECK(all[i]->outcomes.size() == before[i]);
                CHECK(all[i]->discards == (before[i] == 0 ? 1 : 0));
            }
        }
    }
}

TEST_CASE("without fences waiters stand in line here, and no node hears of them") {
    world w(3);
    w.connected();
    w.take_elsewhere("r", 3, 1s);
    std::vector<ending_ptr> all;
    for (int i = 0; i < 3; ++i) all.push_back(w.acquire("r", {.wait = 60s}));
    const auto began = w.now;
    REQUIRE(w.run_until_over(*all[0]));
    REQUIRE(all[0]->held);
    CHECK(w.now - began >= 1s);
    CHECK(w.now - began <= 1s + 100ms + 2 * trip);
    for (std::size_t i = 1; i < 3; ++i) {
        w.run_for(1s);
        CHECK_FALSE(all[i]->is_over());
        const auto sets = w.count_sent("SET");
        w.release(std::move(all[i - 1]->held));
        CHECK(time_until_over(w, *all[i]) == trip);
        CHECK(w.count_sent("SET") <= sets + 3);
    }
    CHECK(w.count_sent("SUBSCRIBE") == 0);
    CHECK(calls_in_all(w, resp::wait()) == 0);
    for (std::size_t i = 0; i < 3; ++i) CHECK(queue_of(w, i, "r").empty());
}

TEST_CASE("a subscription to one node that breaks at any moment costs nothing") {
    const std::size_t later = GENERATE(0U, 1U, 2U, 4U);
    at_every_turn(2s, [&](world& w, fakes::ending& e) {
        w.cut_subscription(1);
        for (std::size_t i = 0; i < later; ++i) w.turn();
        stranger(w).release_all("r");
        CHECK(time_until_over(w, e) <= 5 * trip);
        CHECK(e.held);
    });
}

TEST_CASE("connections that break at any moment cost what it takes to make them again") {
    const std::size_t later = GENERATE(0U, 1U, 4U);
    at_every_turn(2s, [&](world& w, fakes::ending& e) {
        for (std::size_t i = 0; i < 3; ++i) w.cut(i);
        for (std::size_t i = 0; i < later; ++i) w.turn();
        stranger(w).release_all("r");
        const auto took = time_until_over(w, e);
        CHECK(took <= 10ms);
        REQUIRE(e.held);
        w.run_for(20ms);
        // A node that did not have the answer in time may keep the entry until then.
        w.release(std::move(e.held));
        w.run_for(20ms);
        CHECK(w.ours("r") == 0);
        CHECK(queued_in_all(w, "r") == 0);
    });
}

TEST_CASE("whenever connections break, and break again, a waiter has its place afterwards") {
    const std::size_t later = GENERATE(range(0U, 24U, 3U));
    at_every_turn(2s, [&](world& w, fakes::ending& e) {
        for (std::size_t i = 0; i < 3; ++i) w.cut(i);
        for (std::size_t i = 0; i < later; ++i) w.turn();
        for (std::size_t i = 0; i < 3; ++i) w.cut(i);
        w.run_for(3s);
        CHECK_FALSE(e.is_over());
        check_place_on_all(w, "r");
    });
}

TEST_CASE("those who come to sleep do not put off the refresh of the others") {
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r", {.wait = 60s});
    std::vector<ending_ptr> others;
    for (int i = 0; i < 40; ++i) {
        const auto name = "s" + std::to_string(i);
        w.take_elsewhere(name, 3);
        others.push_back(w.acquire(name, {.wait = 60s}));
        w.run_for(100ms);
        const auto entries = queue_of(w, 0, "r");
        REQUIRE(entries.size() == 1);
        CHECK(entries[0].until_ms > w.nodes[0].wall.ms(w.now) + 1200);
    }
    CHECK_FALSE(e->is_over());
}

TEST_CASE("whatever happened, waiters have a free resource within seconds, and leave nothing") {
    const std::uint64_t seed = GENERATE(range(1, 61));
    dice draw(seed);
    INFO("seed " << seed);
    const std::size_t n = draw(2) == 0 ? 3 : 5;
    world w(fenced_options_for(n));
    w.connected();
    stranger other(w);
    other.listen();
    const std::string names[] = {"a", "b"};
    for (const auto& name : names) w.take_elsewhere(name, n);
    std::vector<ending_ptr> all;
    for (int i = 0; i < 60; ++i) {
        const auto& name = names[draw(2)];
        const std::size_t node = draw(n);
        switch (draw(14)) {
            case 0:
            case 1:
            case 2: all.push_back(w.acquire(name, {.wait = 1ms * (1 + draw(4000))})); break;
            case 3:
                if (!all.empty()) w.cancel(*all[draw(all.size())]);
                break;
            case 4: other.release(node, name); break;
            case 5: other.release_all(name); break;
            case 6:
                if (w.ours(name) == 0) w.take_elsewhere(name, n, 1ms * (1 + draw(3000)));
                break;
            case 7: w.cut_subscription(node); break;
            case 8: w.cut(node); break;
            case 9: w.nodes[node].flush_scripts(); break;
            case 10: w.set_mode(0, mode::mute); break;
            case 11: w.set_mode(0, mode::up); break;
            case 12: other.enter(node, name, draw(2) == 0 ? 1 : 8'000'000'000'000'000); break;
            default:
                for (const auto& e : all) e->held = {};
                break;
        }
        if (draw(3) == 0) {
            w.run_for(1ms * draw(900));
        } else {
            for (std::uint64_t k = draw(12); k != 0; --k) w.turn();
        }
    }
    w.set_mode(0, mode::up);
    for (const auto& name : names) {
        w.take_elsewhere(name, n);  // whoever had it
        const auto last = w.acquire(name, {.wait = 60s});
        w.run_for(50ms);
        // Nobody tells of it.
        for (auto& node : w.nodes) {
            const auto keys = node.keys(w.now);
            const auto at = keys.find(name);
            if (at != keys.end() && at->second.value == world::foreign) node.remove(name);
        }
        const auto began = w.now;
        while (!last->is_over() && w.now - began < 30s) {
            for (const auto& e : all) e->held = {};
            w.run_for(1ms);
        }
        INFO(name << " took " << (w.now - began) / 1ms << " ms");
        CHECK(last->held);
        // Those before it, the dead with their two seconds, and what was not told.
        CHECK(w.now - began <= 4s);
        w.release(std::move(last->held));
    }
    for (const auto& e : all) {
        w.cancel(*e);
        CHECK(e->outcomes.size() == 1);
        e->held = {};
    }
    w.run_for(5s);
    for (const auto& name : names) {
        CHECK(w.ours(name) == 0);
        CHECK(queued_in_all(w, name) == 0);
    }
    CHECK(w.engine->stats().leases == 0);
}

TEST_CASE("whatever became of the nodes, who waits has its place once they are back") {
    const std::uint64_t seed = GENERATE(range(1, 151));
    dice draw(seed);
    INFO("seed " << seed);
    const std::size_t n = 1 + draw(5);
    auto options = fenced_options_for(n);
    options.ttl_max = 5s;
    world w(options);
    w.connected();
    if (draw(2) == 0) w.run_for(1s);  // a connection that breaks is made again at once
    constexpr auto slowest = 10 * latency;
    for (auto& one_way : w.latency) {
        if (draw(3) == 0) one_way = slowest;
    }
    w.take_elsewhere("r", n);
    const auto e = w.acquire("r", {.wait = 60s});
    for (int i = 0; i < 30; ++i) {
        const std::size_t node = draw(n);
        switch (draw(8)) {
            case 0: w.cut_subscription(node); break;
            case 1: w.cut(node); break;
            case 2: w.nodes[node].flush_scripts(); break;
            case 3: w.set_mode(node, mode::mute); break;
            case 4: w.set_mode(node, mode::refuses); break;
            case 5: w.step_clock(node, 100ms); break;
            default: w.set_mode(node, mode::up); break;
        }
        if (draw(2) == 0) {
            w.run_for(1ms * draw(200));
        } else {
            for (std::uint64_t k = draw(14); k != 0; --k) w.turn();
        }
    }
    for (std::size_t i = 0; i < n; ++i) w.set_mode(i, mode::up);
    // A jump of a clock is seen within 5 s, and has the node without a vote for ttl_max.
    const auto sent = sent_in_all(w);
    w.run_for(5s + options.ttl_max + 2s);
    REQUIRE_FALSE(e->is_over());
    CHECK(sent_in_all(w) - sent <= 100 * n);  // 19 refreshes, and some tries with their releases
    CHECK(w.engine->room().lines().resting() == 0);
    check_place_on_all(w, "r");
    stranger(w).release_all("r");
    CHECK(time_until_over(w, *e) <= 3 * 2 * slowest);
    CHECK(e->held);
}

TEST_CASE("one that begins while the subscriptions are made is woken by a release at any moment") {
    // Another waiter has the client listen: the nodes begin to be heard while this one tries.
    const core::duration released = GENERATE(150us, 250us, 1000us, 100'000us, 500'000us);
    for (std::size_t ahead = 0; ahead < 12; ++ahead) {
        world w(fenced_options_for(3));
        w.connected();
        w.take_elsewhere("r", 3);
        w.take_elsewhere("s", 3);
        const auto first = w.acquire("s", {.wait = 60s});
        for (std::size_t i = 0; i < ahead; ++i) w.turn();
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(released);
        stranger(w).release_all("r");
        INFO("begun after " << ahead << " turns, released after " << released / 1us << " us");
        CHECK(time_until_over(w, *e) <= 5 * trip);
        CHECK(e->held);
    }
}

TEST_CASE("one that begins while the subscriptions are made waits for a refresh at most") {
    for (std::size_t ahead = 0; ahead < 12; ++ahead) {
        for (std::size_t k = 0; k < 40; ++k) {
            world w(fenced_options_for(3));
            w.connected();
            w.take_elsewhere("r", 3);
            w.take_elsewhere("s", 3);
            const auto first = w.acquire("s", {.wait = 60s});
            for (std::size_t i = 0; i < ahead; ++i) w.turn();
            const auto e = w.acquire("r", {.wait = 60s});
            for (std::size_t i = 0; i < k; ++i) w.turn();
            stranger(w).release_all("r");
            INFO("begun after " << ahead << " turns, released after " << k << " more");
            CHECK(time_until_over(w, *e) <= refresh + 2 * trip);
            CHECK(e->held);
        }
    }
}

TEST_CASE("a client's next waiter stands behind those who waited on the nodes before it") {
    world w(fenced_options_for(3));
    w.connected();
    auto holder = w.granted("r", {.wait = 1s});
    const auto next = w.acquire("r", {.wait = 60s});
    w.run_for(1ms);
    stranger other(w);
    other.listen();
    other.enter_all("r", 1, 60s);
    w.release(std::move(holder->held));
    w.run_for(20ms);
    CHECK(other.nodes_heard() == 3);
    CHECK_FALSE(next->is_over());
    CHECK(w.ours("r") == 0);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto all = queue_of(w, i, "r");
        REQUIRE(all.size() == 2);
        CHECK(all[0].ticket == 1);
    }
    w.take_elsewhere("r", 3);
    w.run_for(3s);
    CHECK(calls_of(w, resp::acquire(), 0) == 2);
    for (std::size_t i = 0; i < 3; ++i) other.leave(i, "r", 1);
    w.run_for(20ms);
    CHECK_FALSE(next->is_over());
    stranger(w, "holder").release_all("r");
    CHECK(time_until_over(w, *next) == latency + trip);
    CHECK(next->held);
}

TEST_CASE("a waiter does not try again as long as the holder elsewhere renews") {
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3, 6s);
    const auto e = w.acquire("r", {.wait = 600s});
    for (int i = 0; i < 30; ++i) {
        w.run_for(2s);
        w.take_elsewhere("r", 3, 6s);
    }
    CHECK_FALSE(e->is_over());
    for (std::size_t i = 0; i < 3; ++i) CHECK(calls_of(w, resp::acquire(), i) == 1);
}

TEST_CASE("waiting ends at its deadline also where the nodes have not answered by then") {
    const auto way = GENERATE(4ms, 6ms, 20ms);
    world w(fenced_options_for(3));
    w.latency = {way, way, way};
    w.start();
    w.run_for(500ms);
    w.take_elsewhere("r", 3);
    const auto began = w.now;
    const auto e = w.acquire("r", {.wait = 1s});
    w.run_for(990ms - 1us);
    REQUIRE_FALSE(e->is_over());
    const auto tried = calls_of(w, resp::acquire(), 0);
    w.after(way, [&] {
        for (auto& node : w.nodes) node.remove("r");
    });
    REQUIRE(w.run_until_over(*e));
    if (way < 5ms) {
        CHECK(e->held);
        CHECK(w.now - began == 990ms + 2 * way);
    } else {
        CHECK(e->outcome() == errc::contended);
        CHECK(w.now - began == 1s);
        // The last try had no answer: what explains the outcome is what the one before it heard.
        const auto votes = e->held.votes();
        CHECK(std::count_if(votes.begin(), votes.end(),
                            [](const auto& v) { return v.answer == vote::held; }) >= 2);
    }
    w.run_for(3 * way);
    CHECK(calls_of(w, resp::acquire(), 0) == tried + 1);
    CHECK(w.ours("r") == (way < 5ms ? 3 : 0));
    CHECK(queued_in_all(w, "r") == 0);
}

TEST_CASE("where no quorum can answer a waiter tries at most every few milliseconds") {
    world w(fenced_options_for(3));
    w.connected();
    w.set_mode(0, mode::mute);
    w.set_mode(1, mode::refuses);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(10s);
    CHECK_FALSE(e->is_over());
    // Each try takes its 50 ms, and rests for 50 on average.
    CHECK(calls_of(w, resp::acquire(), 2) < 200);
    w.set_mode(1, mode::up);
    CHECK(time_until_over(w, *e) < 2s);
    CHECK(e->held);
}

// What is said of the votes of a try where the nodes are all new and one is missing.
TEST_CASE("one that would not wait before the nodes are known hears that they can't vote yet") {
    world w(fenced_options_for(3));
    w.modes[0] = mode::mute;
    w.start();
    const auto e = w.granted("r");
    CHECK(e->outcome() == errc::no_quorum);
}

// The alarm that settles who may vote is followed, in the same turn, by that of a waiter whose time
// has passed meanwhile.
TEST_CASE("a waiter whose time is over before the nodes are known has one try all the same") {
    const auto wait = GENERATE(1ms, 100ms, 499ms, 500ms);
    world w(fenced_options_for(3));
    w.modes[0] = mode::mute;
    w.start();
    const auto e = w.acquire("r", {.wait = wait});
    REQUIRE(w.run_until_over(*e));
    CHECK(e->outcome() == errc::no_quorum);
    CHECK(e->held.votes()[1].answer == vote::quarantine);
}

TEST_CASE("the only waiter for what is held here is not told that others wait before it") {
    world w(fenced_options_for(3));
    w.connected();
    const auto holder = w.granted("r", {.wait = 1s});
    REQUIRE(holder->held);
    const auto e = w.granted("r", {.wait = 1s});
    REQUIRE(e->outcome() == errc::contended);
    CHECK(e->held.votes()[0].detail == "this client holds it");
}

TEST_CASE(
    "so many who sleep are asked for more seldom, and are believed alive for as much longer") {
    world w(fenced_options_for(1));
    w.connected();
    std::vector<ending_ptr> all;
    constexpr std::size_t crowd = 2'300;  // 36 batches
    for (std::size_t i = 0; i < crowd; ++i) {
        const auto name = "r" + std::to_string(i);
        w.take_elsewhere(name, 1);
        all.push_back(w.acquire(name, {.wait = 600s}));
    }
    w.run_for(5s);
    const auto log = log_of(w, 0);
    w.run_for(2s);
    std::size_t questions = 0;
    std::optional<core::time_point> last;
    for (const auto& l : *log) {
        if (!is_call(l.what, resp::wait())) continue;
        ++questions;
        CHECK(std::stoul(l.what[2]) / 2 <= 64);
        if (last) CHECK(l.when - *last >= 20ms);
        last = l.when;
    }
    CHECK(questions >= 95);
    std::size_t alive = 0;
    for (std::size_t i = 0; i < crowd; i += 100) {
        const auto entries = queue_of(w, 0, "r" + std::to_string(i));
        alive += entries.size() == 1 && entries[0].until_ms > w.nodes[0].wall.ms(w.now) ? 1 : 0;
    }
    CHECK(alive == crowd / 100);
    w.close();
}

// Else two could each be first on some nodes, and neither ever get a quorum.
TEST_CASE("where it is not listened to a waiter stands at its ticket all the same") {
    world w(fenced_options_for(3));
    w.nodes[1].forbid("SUBSCRIBE");
    w.connected();
    w.set_mode(2, mode::refuses);
    w.run_for(1s);
    w.take_elsewhere("r", 2, 3s);
    const auto until = w.now + 3s;
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(10ms);
    stranger later(w);
    for (int i = 0; i < 29; ++i) {
        for (const std::size_t node : {0U, 1U}) {
            later.enter(node, "r", std::uint64_t{1} << 52);  // after everybody
        }
        w.run_for(100ms);
    }
    REQUIRE(w.run_until_over(*e));
    CHECK_FALSE(e->outcome());
    CHECK(w.now - until <= 50ms);
}

// Others may reach one, and would wait for it in vain.
TEST_CASE("who can reach no quorum is in no queue, and comes back at its ticket") {
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(10ms);
    REQUIRE(queued_in_all(w, "r") == 3);
    const auto ticket = queue_of(w, 0, "r")[0].ticket;
    w.set_mode(1, mode::refuses);
    w.set_mode(2, mode::refuses);
    w.nodes[0].remove("r");
    w.run_for(1s);
    CHECK(queue_of(w, 0, "r").empty());
    CHECK_FALSE(e->is_over());
    w.take_elsewhere("r", 3);
    w.set_mode(1, mode::up);
    w.set_mode(2, mode::up);
    w.run_for(2s);
    const auto again = queue_of(w, 0, "r");
    REQUIRE(again.size() == 1);
    CHECK(again[0].ticket == ticket);
}

TEST_CASE("a ticket is a time also of who began when no node could be reached") {
    auto options = fenced_options_for(3);
    options.guard = restart_guard::off;
    world w(options);
    for (std::size_t i = 0; i < 3; ++i) w.modes[i] = mode::refuses;
    w.start();
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(2s);
    w.take_elsewhere("r", 3);
    for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::up);
    bool was_entered = false;
    for (int i = 0; i < 2000; ++i) {
        w.run_for(1ms);
        for (const auto& entry : queue_of(w, 0, "r")) {
            was_entered = true;
            CHECK(entry.ticket > 1'600'000'000'000'000);
        }
    }
    CHECK(was_entered);
}

TEST_CASE("who began when no node could be reached has its place once they can be") {
    std::string records[3];
    {
        world before(fenced_options_for(3));
        before.connected();
        for (std::size_t i = 0; i < 3; ++i) {
            records[i] = before.nodes[i].all_keys(before.now).at("redlock:node").value;
        }
    }
    const std::size_t n = GENERATE(1U, 3U);
    // Among these are those where the answers to a question were there before another try.
    for (auto away = 995ms; away < 1060ms; away += 1ms) {
        INFO(n << " nodes, mute for " << away / 1ms << " ms");
        world w(fenced_options_for(n));
        for (std::size_t i = 0; i < n; ++i) {
            w.nodes[i].put("redlock:node", records[i], core::time_point::max());
            w.modes[i] = mode::mute;
        }
        w.start();
        w.take_elsewhere("r", n);
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(away);
        for (std::size_t i = 0; i < n; ++i) w.set_mode(i, mode::up);
        w.run_for(3s);
        REQUIRE_FALSE(e->is_over());
        REQUIRE(queued_in_all(w, "r") == n);
        stranger(w).release_all("r");
        CHECK(time_until_over(w, *e) == latency + trip);
    }
}

TEST_CASE("who knows that a quorum has no vote for long is in nobody's way meanwhile") {
    const bool runs_out = GENERATE(true, false);
    world w(fenced_options_for(3));
    w.connected();
    w.run_for(1s);
    w.take_elsewhere("r", 3, runs_out ? 8s : 1h);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(20ms);
    REQUIRE(queued_in_all(w, "r") == 3);
    w.step_clock(0, 100ms);
    w.step_clock(1, 100ms);
    w.run_for(8s);
    for (auto& node : w.nodes) node.remove("r");
    w.run_for(1s);
    for (int i = 0; i < 100; ++i) {
        w.run_for(100ms);
        REQUIRE_FALSE(e->is_over());  // two of three may not vote for ttl_max
        REQUIRE(queued_in_all(w, "r") == 0);
    }
}

TEST_CASE("half of the nodes are no quorum that gives a place back") {
    world w(fenced_options_for(4));
    w.connected();
    w.take_elsewhere("r", 4);
    w.set_mode(0, mode::refuses);
    w.set_mode(1, mode::refuses);
    const auto e = w.acquire("r", {.wait = 60s});
    w.run_for(5s);
    CHECK(queued_in_all(w, "r") == 0);
    w.set_mode(0, mode::up);
    w.run_for(3s);
    CHECK(queued_in_all(w, "r") == 3);
}

TEST_CASE("a place that a question gave back when the scripts had gone is left, too") {
    for (auto k = 200'000us; k < 320'000us; k += 500us) {
        world w(fenced_options_for(3));
        w.connected();
        w.run_for(1s);
        w.latency[2] = 4ms;
        w.take_elsewhere("r", 3);
        const auto e = w.acquire("r", {.wait = 60s});
        w.run_for(600ms);
        REQUIRE(queued_in_all(w, "r") == 3);
        w.set_mode(0, mode::mute);
        w.set_mode(1, mode::mute);
        w.nodes[2].remove("r");
        w.run_for(k);
        w.nodes[2].flush_scripts();
        w.set_mode(0, mode::up);
        w.set_mode(1, mode::up);
        w.run_for(14ms);
        w.cancel(*e);
        w.run_for(40ms);
        INFO("after " << k / 1us << " us");
        CHECK(queued_in_all(w, "r") == 0);
    }
}

TEST_CASE("who hears errors from so many that there is no quorum is in nobody's way") {
    world w(fenced_options_for(3));
    w.connected();
    w.take_elsewhere("r", 3);
    const auto e = asleep(w, "r", {.wait = 60s});
    for (const std::size_t i : {0U, 1U}) {
        w.nodes[i].instead = [](const fakes::command& c) -> std::optional<std::string> {
            if (c[0] != "EVALSHA") return std::nullopt;
            return "-BUSY Redis is busy running a script\r\n";
        };
    }
    for (auto& node : w.nodes) node.remove("r");
    w.run_for(refresh + 20ms);
    for (int i = 0; i < 100; ++i) {
        w.run_for(50ms);
        REQUIRE(queue_of(w, 2, "r").empty());
    }
    for (const std::size_t i : {0U, 1U}) w.nodes[i].instead = {};
    CHECK(time_until_over(w, *e) <= 2s);
    CHECK(e->held);
}
