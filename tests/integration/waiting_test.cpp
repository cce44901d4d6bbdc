// Waiting for a lock on real servers: the order, what it costs, which waiter is woken and when; no
// internals.
// SPDX-License-Identifier: MIT
#include "support/waiting.hpp"
#include "../support/catch.hpp"
#include "../support/has_text.hpp"
#include "support/founded.hpp"
#include "tool_process.hpp"

#include <redlock/error.hpp>

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

using words = std::vector<std::string>;

// How long `redlock run` is given to wait, here and there.
const std::string long_wait = "60s";

words run_on(cluster& nodes, const words& options, const words& command) {
    words all{"run", "--config", nodes.config()};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"r", "--"});
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

// How often each command was executed on a server, also from within scripts.
std::map<std::string, long long> commands_of(cluster& nodes, std::size_t i) {
    std::map<std::string, long long> found;
    std::istringstream lines(nodes.ask(i).command({"INFO", "commandstats"}).text);
    const std::string opening = "cmdstat_";
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(opening)) continue;
        const auto colon = line.find(':');
        found[line.substr(opening.size(), colon - opening.size())] =
            std::stoll(line.substr(line.find("calls=") + 6));
    }
    return found;
}

// Has time pass, and says in how many seconds of it the client was not kept from running: a client
// that does not run sends nothing, and makes up for nothing later.
double time_without_stalls(driver& d, std::chrono::milliseconds time) {
    constexpr auto slice = 50ms;
    clock::duration sum{};
    const auto end = clock::now() + time;
    for (auto begun = clock::now(); begun < end; begun = clock::now()) {
        d.pass(slice);
        sum += std::min<clock::duration>(clock::now() - begun, slice);
    }
    return std::chrono::duration<double>(sum).count();
}

bool is_seen_everywhere(blocking_client& by, key_state as) {
    const auto state = by.inspect("r");
    return state && std::all_of(state->nodes.begin(), state->nodes.end(),
                                [as](const auto& n) { return n.state == as; });
}

std::size_t count(std::span<const node_vote> votes, vote kind) {
    return static_cast<std::size_t>(std::count_if(
        votes.begin(), votes.end(), [kind](const node_vote& v) { return v.answer == kind; }));
}

using clients_in_line = std::vector<std::unique_ptr<waiting_client>>;

// Takes out of the line the waiter that has been granted the lock, or refused.
std::unique_ptr<waiting_client> next_of(clients_in_line& line) {
    auto next = line.end();
    const bool is_there = eventually(
        [&] {
            next = std::find_if(line.begin(), line.end(), [](auto& w) { return w->done(); });
            return next != line.end();
        },
        2 * patience);
    REQUIRE(is_there);
    auto found = std::move(*next);
    line.erase(next);
    return found;
}

// Whether they were served in the order in which they came. A waiter silent for 2 s loses its
// place: a stall of more than a second may cost one. That nobody is left out, that one holds at a
// time and that the fences rise does not hang on it.
bool ten_clients_are_served_in_order() {
    founded_cluster nodes(5);
    blocking_client holder(nodes.options());
    auto held = holder.acquire("r", {.ttl = 60s});
    REQUIRE(held.has_value());
    clients_in_line line;
    for (std::size_t i = 1; i <= 10; ++i) {
        line.push_back(std::make_unique<waiting_client>(nodes.options()));
        REQUIRE(eventually([&] { return all_know_of(nodes, i); }));
    }
    bool in_order = true;
    // The same order on every node.
    for (std::size_t i = 1; i < 5; ++i) {
        in_order = in_order && queue_on(nodes, i) == queue_on(nodes, 0);
    }
    auto freed = clock::now();
    CHECK(holder.release(std::move(*held)).has_value());
    clock::duration longest{};
    std::uint64_t last_fence = 0;
    clients_in_line served;
    while (!line.empty()) {
        CAPTURE(served.size());
        const auto* const first = line.front().get();
        const auto& waiter = served.emplace_back(next_of(line));
        in_order = in_order && waiter.get() == first;
        REQUIRE(waiter->granted());
        for (const auto& other : line) CHECK(!other->done());
        CHECK(waiter->fence() > last_fence);
        last_fence = waiter->fence();
        longest = std::max(longest, waiter->when() - freed);
        freed = clock::now();
        CHECK(waiter->release());
    }
    print_ms("the longest of ten hand-overs", longest);
    CHECK(eventually([&] { return all_know_of(nodes, 0) && nodes.holding("r") == 0; }));
    return in_order;
}

// The same of processes.
bool ten_processes_are_served_in_order() {
    founded_cluster nodes(5);
    scratch folder;
    blocking_client holder(nodes.options());
    auto held = holder.acquire("r", {.ttl = 60s});
    REQUIRE(held.has_value());
    std::vector<std::unique_ptr<tool_process>> line;
    std::vector<int> expected;
    for (int i = 1; i <= 10; ++i) {
        line.push_back(std::make_unique<tool_process>(run_on(
            nodes, {"--wait", long_wait},
            {"sh", "-c", "echo " + std::to_string(i) + " $REDLOCK_FENCE >>" + folder / "order"})));
        REQUIRE(eventually([&] { return all_know_of(nodes, static_cast<std::size_t>(i)); }));
        expected.push_back(i);
    }
    const auto freed = clock::now();
    CHECK(holder.release(std::move(*held)).has_value());
    for (auto& waiter : line) CHECK(waiter->wait() == 0);
    print_ms("ten processes, one after the other", clock::now() - freed);
    const auto text = read_file(folder / "order");
    INFO(text);
    std::vector<int> order;
    std::vector<std::uint64_t> fences;
    std::istringstream told(text);
    std::uint64_t fence = 0;
    for (int i = 0; told >> i >> fence;) {
        order.push_back(i);
        fences.push_back(fence);
    }
    CHECK(std::is_permutation(order.begin(), order.end(), expected.begin(), expected.end()));
    CHECK(std::adjacent_find(fences.begin(), fences.end(), std::greater_equal<>()) == fences.end());
    CHECK(eventually([&] { return all_know_of(nodes, 0) && all_are_heard_by(nodes, 0); }));
    return order == expected;
}

}  // namespace

TEST_CASE("ten clients get the lock in the order in which they came", "[waiting][servers]") {
    CHECK(once_in_three(ten_clients_are_served_in_order));
}

TEST_CASE("ten processes get the lock in the order in which they came", "[waiting]") {
    CHECK(once_in_three(ten_processes_are_served_in_order));
}

TEST_CASE("a client's waiters cost each node one command in 0.65 s, however many they are",
          "[waiting]") {
    cluster nodes(5);
    driver d(nodes.options());
    std::vector<driver::granted> waiters;
    std::size_t resources = 1;
    std::size_t on_each = 1;
    SECTION("one waiter") {}
    SECTION("fifty for one resource") { on_each = 50; }
    SECTION("fifty, each for its own") { resources = 50; }
    const auto name = [](std::size_t i) { return i == 0 ? "r" : "r" + std::to_string(i); };
    for (std::size_t i = 0; i < resources; ++i) lock_by_hand(nodes, name(i));
    for (std::size_t i = 0; i < resources * on_each; ++i) {
        waiters.push_back(d.start_acquire(name(i % resources), {.ttl = 5s, .wait = 60s}));
    }
    REQUIRE(d.until([&] {
        for (std::size_t i = 0; i < resources; ++i) {
            if (!all_know_of(nodes, 1, name(i))) return false;
        }
        return true;
    }));
    d.pass(100ms);  // what the nodes answer to that may still be on its way
    const bool asks_often = once_in_three([&] {
        const auto begun = clock::now();
        std::vector<std::map<std::string, long long>> before;
        for (std::size_t i = 0; i < 5; ++i) before.push_back(commands_of(nodes, i));
        const double watched = time_without_stalls(d, resources * on_each == 1 ? 5'000ms : 3'000ms);
        bool is_often = true;
        for (std::size_t i = 0; i < 5; ++i) {
            CAPTURE(i, resources, on_each);
            auto used = commands_of(nodes, i);
            const auto took = std::chrono::duration<double>(clock::now() - begun).count();
            for (const auto& [command, calls] : before[i]) used[command] -= calls;
            // Looks at clock and record, some of which are noted there: nothing else reads a key whole.
            const auto looks = std::exchange(used["get"], 0);
            const auto asked = std::exchange(used["evalsha"], 0) - looks;
            if (i == 0) std::printf("    %lld commands in %.1f s\n", asked, took);
            CHECK(static_cast<double>(asked) <= took / 0.65 + 1);
            is_often = is_often && static_cast<double>(asked) >= watched / 0.75 - 2;
            // What the script does, what an idle client does, and this test.
            const auto per_key = asked * static_cast<long long>(resources);
            for (const auto* c : {"zrangebyscore", "zrem", "zadd", "pexpire", "zrange"}) {
                CAPTURE(c);
                CHECK(std::exchange(used[c], 0) == per_key);
            }
            CHECK(std::exchange(used["pttl"], 0) == 2 * per_key);  // of the key and of its queue
            CHECK(std::exchange(used["time"], 0) <= asked + 4);
            CHECK(std::exchange(used["getrange"], 0) <= per_key);  // the holder
            CHECK(std::exchange(used["ping"], 0) <= 2);
            CHECK(looks <= 4);
            CHECK(std::exchange(used["set"], 0) <= looks);
            used.erase("info");
            for (const auto& [command, calls] : used) {
                CAPTURE(command);
                CHECK(calls == 0);
            }
        }
        return is_often;
    });
    CHECK(asks_often);
    for (auto& waiter : waiters) waiter.cancel();
    CHECK(d.until([&] {
        return std::all_of(waiters.begin(), waiters.end(), [](auto& w) { return w.done(); });
    }));
    for (std::size_t i = 0; i < resources; ++i) {
        CHECK(d.until([&] { return all_know_of(nodes, 0, name(i)); }));
    }
}

namespace {

// Whether the one behind it was served at once where it was killed, and no sooner than may be where
// it was stopped. A stall of more than a second makes it late, or ends the other's life in line.
bool next_is_served_in_time(bool is_killed) {
    founded_cluster nodes(5);
    blocking_client holder(nodes.options());
    auto held = holder.acquire("r", {.ttl = 60s});
    REQUIRE(held.has_value());
    tool_process first(run_on(nodes, {"--wait", long_wait}, {"true"}));
    REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    waiting_client second(nodes.options());
    REQUIRE(eventually([&] { return all_know_of(nodes, 2); }));
    if (is_killed) {
        first.send(SIGKILL);
        // Its entry is still there; its connections are not.
        REQUIRE(eventually([&] { return all_are_heard_by(nodes, 1); }));
    } else {
        first.send(SIGSTOP);
    }
    const auto freed = clock::now();
    CHECK(holder.release(std::move(*held)).has_value());
    bool is_kept_back = true;
    if (!is_killed) {
        // Nobody jumps while it may be alive.
        const auto hasty = holder.acquire("r");
        REQUIRE(hasty.has_error());
        CHECK((hasty.error() == errc::contended));
        is_kept_back = count(hasty.error().votes, vote::queued) >= 3;
    }
    REQUIRE(second.granted());
    const auto delay = second.when() - freed;
    print_ms(is_killed ? "behind a dead one" : "behind a stopped one", delay);
    if (!is_killed) {
        first.send(SIGCONT);
        CHECK(second.release());
        CHECK(first.wait() == 0);
        CHECK(delay < 10s);
        return is_kept_back;
    }
    return delay < 1s;  // its place would be kept for 1.25 s at least
}

}  // namespace

TEST_CASE("a waiter that dies in line costs the next one nothing, or a bounded time", "[waiting]") {
    const bool is_killed = GENERATE(true, false);
    CHECK(once_in_three([&] { return next_is_served_in_time(is_killed); }));
}

TEST_CASE("a holder that dies costs the waiters its ttl", "[waiting]") {
    founded_cluster nodes(5);
    tool_process holder(run_on(nodes, {"--ttl", "3s"}, {"sleep", "60"}));
    REQUIRE(eventually([&] { return nodes.holding("r") == 5; }));
    waiting_client waiter(nodes.options());
    REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    holder.send(SIGKILL);
    const auto died = clock::now();
    REQUIRE(waiter.granted());
    print_ms("after the death of a holder with a ttl of 3 s", waiter.when() - died);
    CHECK(waiter.when() - died < 20s);
}

TEST_CASE("another program's lock that goes early is noticed, too", "[waiting]") {
    founded_cluster nodes(5);
    lock_by_hand(nodes, "r");
    waiting_client waiter(nodes.options());
    REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    clock::time_point gone;
    SECTION("deleted, and nothing published") {
        gone = clock::now();
        unlock_by_hand(nodes, "r");
        REQUIRE(waiter.granted());
        print_ms("after a deletion", waiter.when() - gone);
    }
    SECTION("deleted together with every subscription and entry") {
        gone = clock::now();
        for (std::size_t i = 0; i < 5; ++i) {
            auto ask = nodes.ask(i);
            ask.command({"MULTI"});
            ask.command({"CLIENT", "KILL", "TYPE", "pubsub"});
            ask.command({"DEL", "r", "{r}:queue"});
            CHECK(ask.command({"EXEC"}).items.size() == 2);
        }
        REQUIRE(waiter.granted());
        print_ms("after a deletion that cut the subscriptions", waiter.when() - gone);
    }
    CHECK(waiter.when() - gone < 7'500ms);
}

TEST_CASE("a waiter sleeps until another program's lock expires, with 3 retries at most",
          "[waiting]") {
    cluster nodes(5);
    driver d(nodes.options());
    const auto set_after = clock::now();
    lock_by_hand(nodes, "r", 700ms);
    const auto set_before = clock::now();
    auto got = d.acquire("r", {.ttl = 5s, .wait = 20s});
    REQUIRE(got.value());
    print_ms("after the end of a foreign key", got.when() - (set_before + 700ms));
    CHECK(got.when() >= set_after + 700ms - 2ms);  // Redis reckons in whole ms
    CHECK(got.when() <= set_before + 7'000ms);
    CHECK(d.client().stats().retries <= 3);
}

TEST_CASE("a plain holder's release reaches a fenced waiter, and the other way round",
          "[waiting][servers]") {
    founded_cluster nodes(5);
    const bool is_holder_fenced = GENERATE(true, false);
    blocking_client holder(nodes.options(is_holder_fenced));
    auto held = holder.acquire("r", {.ttl = 60s});
    REQUIRE(held.has_value());
    waiting_client waiter(nodes.options(!is_holder_fenced));
    if (is_holder_fenced) {
        REQUIRE(eventually([&] { return waiter.client().stats().retries >= 2; }));
        CHECK(all_know_of(nodes, 0));
    } else {
        REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    }
    const auto freed = clock::now();
    CHECK(holder.release(std::move(*held)).has_value());
    REQUIRE(waiter.granted());
    CHECK((waiter.fence() > 0) == !is_holder_fenced);
    print_ms(is_holder_fenced ? "from fenced to plain" : "from plain to fenced",
             waiter.when() - freed);
    CHECK(waiter.when() - freed < 7'500ms);
}

namespace {

enum class fault { killed, stopped, emptied };

// Of five hand-overs, how many took less than 120 ms.
int prompt_hand_overs(fault f, std::size_t bad) {
    founded_cluster nodes(5);
    auto options = nodes.options();
    options.node_timeout = 2s;  // nobody may wait for it
    blocking_client holder(options);
    auto held = holder.acquire("r", {.ttl = 60s});
    REQUIRE(held.has_value());
    // Several, since for one of them the refresh may happen to come just then.
    clients_in_line line;
    for (std::size_t i = 1; i <= 5; ++i) {
        line.push_back(std::make_unique<waiting_client>(options));
        REQUIRE(eventually([&] { return all_know_of(nodes, i); }));
    }
    for (std::size_t i = 0; i < bad; ++i) {
        if (f == fault::killed) nodes.kill(i);
        if (f == fault::stopped) nodes.stop(i);
        if (f == fault::emptied) nodes.restart(i, redis_server::data::empty);
    }
    auto freed = clock::now();
    CHECK(holder.release(std::move(*held)).has_value());
    int prompt = 0;
    auto longest = clock::duration::zero();
    clients_in_line served;
    while (!line.empty()) {
        const auto& waiter = served.emplace_back(next_of(line));
        REQUIRE(waiter->granted());
        if (waiter->when() - freed < 120ms) ++prompt;
        longest = std::max(longest, waiter->when() - freed);
        freed = clock::now();
        CHECK(waiter->release());
    }
    const char* const names[] = {"killed", "stopped", "emptied"};
    const auto what = std::to_string(bad) + " " + names[static_cast<int>(f)];
    print_ms(what + ": the longest of five hand-overs", longest);
    for (std::size_t i = 0; i < bad; ++i) {
        if (f == fault::stopped) nodes.cont(i);
    }
    CHECK(eventually([&] { return nodes.holding("r") == 0; }));
    return prompt;
}

}  // namespace

TEST_CASE("a minority that fails while somebody waits delays no hand-over", "[waiting]") {
    const auto f = GENERATE(fault::killed, fault::stopped, fault::emptied);
    const auto bad = static_cast<std::size_t>(GENERATE(1, 2));
    CAPTURE(static_cast<int>(f), bad);
    // Without wake-ups they would take 340 ms on average; one may meet a stall of the machine.
    CHECK(once_in_three([&] { return prompt_hand_overs(f, bad) >= 4; }));
}

TEST_CASE("a place in line outlives what the nodes forget and which connections break",
          "[waiting][servers]") {
    founded_cluster nodes(5);
    std::string first;
    blocking_client holder(nodes.options());
    // A node that is connected after the acquire gets the lock at its first renewal, in 20 s.
    REQUIRE(eventually([&] { return is_seen_everywhere(holder, key_state::free); }));
    auto held = holder.acquire("r", {.ttl = 60s});
    REQUIRE(held.has_value());
    std::vector<std::unique_ptr<waiting_client>> line;
    for (std::size_t i = 1; i <= 2; ++i) {
        line.push_back(std::make_unique<waiting_client>(nodes.options()));
        REQUIRE(eventually([&] { return all_know_of(nodes, i); }));
        if (i == 1) first = queue_on(nodes, 0).front();
    }
    const auto order = queue_on(nodes, 0);
    // Each reckons cluster time by itself: on a busy machine the second may stand before the first.
    if (order[0] != first) std::swap(line[0], line[1]);
    const std::string what = GENERATE("scripts", "commands", "subscriptions", "both");
    CAPTURE(what);
    for (std::size_t i = 0; i < 5; ++i) {
        auto ask = nodes.ask(i);
        if (what == "scripts") ask.script_flush();
        if (what == "commands" || what == "both") ask.kill_other_clients();
        if (what == "subscriptions" || what == "both") {
            CHECK(ask.command({"CLIENT", "KILL", "TYPE", "pubsub"}).number == 2);
        }
        ask.del("{r}:queue");  // so that it is seen when they are back
    }
    for (std::size_t i = 0; i < 5; ++i) {
        const bool is_back = eventually([&] { return queue_on(nodes, i) == order; });
        INFO("they stood as " << order[0] << ' ' << order[1] << ", and now\n" << queues(nodes));
        REQUIRE(is_back);
    }
    for (auto& waiter : line) CHECK_FALSE(waiter->done());
    // It is connected again, too.
    CHECK(eventually([&] { return is_seen_everywhere(holder, key_state::held); }));
    const auto freed = clock::now();
    CHECK(holder.release(std::move(*held)).has_value());
    REQUIRE(line[0]->granted());
    CHECK_FALSE(line[1]->done());
    print_ms(what + " lost, and a hand-over after that", line[0]->when() - freed);
    CHECK(line[0]->release());
    REQUIRE(line[1]->granted());
}

TEST_CASE("a waiter that is stopped leaves the line at once", "[waiting][threads]") {
    cluster nodes(5);
    lock_by_hand(nodes, "r");
    blocking_client client(nodes.options());
    struct place {
        std::stop_source stop;
        std::atomic<bool> done = false;
        clock::time_point when;
        error_code error;
        std::jthread thread;
    };
    std::vector<std::unique_ptr<place>> line;
    for (int i = 0; i < 3; ++i) {
        line.push_back(std::make_unique<place>());
        line.back()->thread = std::jthread([&client, &p = *line.back()] {
            const auto got = client.acquire("r", {.wait = 60s}, p.stop.get_token());
            p.when = clock::now();
            p.error = got.has_error() ? got.error().code : error_code{};
            p.done = true;
        });
        if (i == 0) REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
    }
    const auto stop = [&](std::size_t i) {
        const auto begun = clock::now();
        line[i]->stop.request_stop();
        REQUIRE(eventually([&] { return line[i]->done.load(); }));
        CHECK(line[i]->error == asio::error::operation_aborted);
        CHECK(line[i]->when - begun < 10s);  // it would wait for a minute
        return line[i]->when - begun;
    };
    const auto id = queue_on(nodes, 0);
    REQUIRE(id.size() == 1);
    print_ms("stopping one that is not the first", stop(2));
    CHECK(all_know_of(nodes, 1));
    CHECK(queue_on(nodes, 0) == id);
    print_ms("stopping the first", stop(0));
    // The one behind it stands in its place.
    CHECK(eventually([&] { return all_know_of(nodes, 1) && queue_on(nodes, 0) != id; }));
    CHECK_FALSE(line[1]->done);
    print_ms("stopping the last", stop(1));
    CHECK(eventually([&] { return all_know_of(nodes, 0); }));
}

TEST_CASE("waiting ends when it is to end, not before and not much later", "[waiting]") {
    cluster nodes(5);
    lock_by_hand(nodes, "r");
    driver d(nodes.options(GENERATE(true, false)));
    for (const auto wait : {100ms, 300ms}) {
        const bool is_in_time = once_in_three([&] {
            const auto begun = clock::now();
            // What a timer of the same thread is late is not the client's doing.
            asio::steady_timer alarm(d.context(), wait);
            outcome<> rang;
            alarm.async_wait(rang.handler());
            auto got = d.acquire("r", {.wait = wait});
            d.finish(rang);
            CHECK(got.error() == errc::contended);
            CHECK(got.when() - begun >= wait);
            print_ms("later than the end of waiting", got.when() - begun - wait);
            CHECK(count(got.value().votes(), vote::held) >= 3);
            return got.when() < rang.when() + 9 * wait;
        });
        CHECK(is_in_time);
    }
    CHECK(d.until([&] { return all_know_of(nodes, 0); }));
}

TEST_CASE("redlock run waits as long as --wait says, or until a signal", "[waiting]") {
    founded_cluster nodes(5);
    lock_by_hand(nodes, "r");
    scratch folder;
    SECTION("too short") {
        const auto begun = clock::now();
        tool_process waiter(
            run_on(nodes, {"--verbose", "--wait", "700ms"}, {"touch", folder / "ran"}));
        CHECK(waiter.wait() == 120);
        CHECK(clock::now() - begun >= 700ms);
        CHECK(has_text(waiter.err(), "'r'"));
        CHECK(has_text(waiter.err(), "held"));
    }
    SECTION("until a signal") {
        const int signal = GENERATE(SIGINT, SIGTERM);
        tool_process waiter(run_on(nodes, {"--wait", long_wait}, {"touch", folder / "ran"}));
        REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
        const auto sent = clock::now();
        waiter.send(signal);
        // A shell's loop ends at ^C only where the command itself died of it.
        CHECK(waiter.wait() == (signal == SIGINT ? -signal : 128 + signal));
        print_ms("from a signal to the end", clock::now() - sent);
        CHECK(clock::now() - sent < 5s);
    }
    CHECK_FALSE(std::filesystem::exists(folder / "ran"));
    // Gone with it, and not only when they have run out.
    CHECK(all_know_of(nodes, 0));
    CHECK(eventually([&] { return all_are_heard_by(nodes, 0); }));
}

TEST_CASE("a client that may not subscribe reports it, and its waiter is granted all the same",
          "[waiting]") {
    founded_cluster nodes(5);
    auto options = nodes.options();
    for (std::size_t i = 0; i < 5; ++i) {
        nodes.ask(i).acl_setuser({"deaf", "on", ">pw", "~*", "+@all", "resetchannels"});
        options.nodes[i].username = "deaf";
        options.nodes[i].password = "pw";
    }
    event_log log;
    log.attach(options);
    blocking_client holder(nodes.options());
    auto held = holder.acquire("r", {.ttl = 60s});
    REQUIRE(held.has_value());
    waiting_client waiter(options);
    const auto refused_nodes = [&] {
        std::set<std::string> names;
        for (const auto& e : log.all()) {
            if (e.kind != event_kind::node_reported || e.error != errc::missing_right) continue;
            CHECK(e.severity == severity::warning);
            CHECK(has_text(e.text, "NOPERM"));
            CHECK(has_text(e.text, "listened"));
            names.insert(e.node);
        }
        return names.size();
    };
    REQUIRE(eventually([&] { return refused_nodes() == 5; }));
    CHECK(all_know_of(nodes, 0));  // nobody could wake it
    for (const auto& e : log.all()) {
        if (e.severity >= severity::warning && e.error != errc::missing_right) {
            std::printf("also reported: %s\n", e.text.c_str());
        }
    }
    const auto freed = clock::now();
    CHECK(holder.release(std::move(*held)).has_value());
    REQUIRE(waiter.granted());
    print_ms("to one that may not listen", waiter.when() - freed);
    CHECK(waiter.when() - freed < 7'500ms);
}

TEST_CASE("a waiter that went deaf is not held up by its own entry", "[waiting]") {
    founded_cluster nodes(5);
    auto options = nodes.options();
    for (std::size_t i = 0; i < 5; ++i) {
        nodes.ask(i).acl_setuser({"ann", "on", ">pw", "~*", "+@all"});
        options.nodes[i].username = "ann";
        options.nodes[i].password = "pw";
    }
    auto shortest = clock::duration::max();
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 5; ++i) nodes.ask(i).acl_setuser({"ann", "allchannels"});
        lock_by_hand(nodes, "r");
        waiting_client waiter(options);
        REQUIRE(eventually([&] { return all_know_of(nodes, 1); }));
        // That also ends the connections that listen.
        for (std::size_t i = 0; i < 5; ++i) nodes.ask(i).acl_setuser({"ann", "resetchannels"});
        REQUIRE(eventually([&] { return all_are_heard_by(nodes, 0); }));
        const auto gone = clock::now();
        unlock_by_hand(nodes, "r");
        REQUIRE(waiter.granted());
        print_ms("to one that went deaf", waiter.when() - gone);
        shortest = std::min(shortest, waiter.when() - gone);
        CHECK(waiter.release());
    }
    // It is requested every 0.75 s at least; its entry lives for 2 s.
    CHECK(shortest < 1'150ms);
}
