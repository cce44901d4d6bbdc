// The test kit as users have it: clients over masters in memory, and a clock that the test moves.
// SPDX-License-Identifier: MIT
#include <redlock/testing.hpp>

#include "component/support/program.hpp"
#include "support/catch.hpp"
#include "testing/masters.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/client.hpp>
#include <redlock/mutex.hpp>

#include <boost/asio/post.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using redlock::testing::masters;
using redlock::testing::program;

namespace {

// Runs `round` twenty times in each of three threads, and moves the clock until all are over.
void in_threads(
    masters& nodes, const std::function<void()>& round,
    const std::function<void()>& meanwhile = [] {}) {
    std::atomic<int> running = 3;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) round();
            --running;
        });
    }
    while (running > 0) {
        nodes.advance(10ms);
        meanwhile();
    }
    for (auto& t : threads) t.join();
}

// What `body` writes to the standard error output of a child process, and the signal that ends it.
std::pair<std::string, int> last_words(const std::function<void()>& body) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::dup2(ends[1], STDERR_FILENO);
        std::signal(SIGABRT, SIG_DFL);
        body();
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    std::array<char, 256> some{};
    for (ssize_t n = 0; (n = ::read(ends[0], some.data(), some.size())) > 0;) {
        text.append(some.data(), static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return {text, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

}  // namespace

TEST_CASE("a lease is granted, renewed and released without real time", "[masters]") {
    masters nodes;
    boost::asio::io_context io;
    program p(nodes, io);
    const auto began = clock::now();
    auto [ec, held] = p.acquire("r", {.ttl = 10s});
    REQUIRE(ec == error_code{});
    CHECK(clock::now() == began);
    CHECK(held);
    CHECK(nodes.holding("r") == 3);
    CHECK(held.remaining() > 9s);
    p.pass(1h);  // renewed every third of its ttl
    CHECK(clock::now() == began + 1h);
    CHECK(held);
    CHECK(nodes.holding("r") == 3);
    CHECK(p.client.stats().renewals > 1'000);
    error_code released = errc::client_closed;
    p.client.async_release(std::move(held), [&](error_code why) { released = why; });
    p.pass(0s);
    CHECK(released == error_code{});
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("a second client is refused, or waits until the first one releases", "[masters]") {
    masters nodes;
    boost::asio::io_context io;
    program one(nodes, io);
    program two(nodes, io);
    auto [ec, held] = one.acquire("r");
    REQUIRE(ec == error_code{});
    CHECK(two.acquire("r").first == errc::contended);
    error_code waited = errc::client_closed;
    lease next;
    two.client.async_acquire("r", {.wait = 1min}, [&](error_code why, lease got) {
        waited = why;
        next = std::move(got);
    });
    two.pass(10s);
    CHECK(nodes.waiting("r") == 1);
    CHECK_FALSE(next);
    one.client.async_release(std::move(held), [](error_code) {});
    one.pass(0s);  // the other is woken at the same instant
    CHECK(waited == error_code{});
    CHECK(next);
    CHECK(nodes.waiting("r") == 0);
}

TEST_CASE("a wait ends when its time is over, and no earlier", "[masters]") {
    masters nodes;
    boost::asio::io_context io;
    program p(nodes, io);
    nodes.occupy("r", 1h);
    CHECK(nodes.holding("r") == 3);
    std::optional<error_code> ended;
    p.client.async_acquire("r", {.wait = 20s}, [&](error_code why, const lease&) { ended = why; });
    p.pass(19'999ms);
    CHECK_FALSE(ended);
    p.pass(1ms);
    CHECK(ended == errc::contended);
    nodes.vacate("r");
    CHECK(p.acquire("r").first == error_code{});
}

TEST_CASE("a lease is lost at the instant that the test chooses", "[masters]") {
    masters nodes;
    boost::asio::io_context io;
    program p(nodes, io);
    auto [ec, held] = p.acquire("r", {.ttl = 9s});
    REQUIRE(ec == error_code{});
    std::optional<loss> lost;
    p.client.async_lost(held, [&](error_code, loss why) { lost = why; });
    p.pass(1min);
    REQUIRE_FALSE(lost);
    SECTION("another program takes the key") {
        nodes.occupy("r", 1min);
        p.pass(3s);  // it learns of it by its next renewal
        CHECK(lost == loss::taken);
        CHECK_FALSE(held);
        CHECK(held.lost_token().stop_requested());
    }
    SECTION("a quorum of nodes is down") {
        nodes.shut_down(0);
        nodes.shut_down(1);
        const auto end = held.valid_until();
        p.pass(end - clock::now());
        CHECK(lost == loss::unreachable);
        CHECK_FALSE(held);
    }
    SECTION("a quorum of nodes hangs, but not for long enough") {
        nodes.hang(0);
        nodes.hang(1);
        p.pass(5s);
        nodes.resume(0);
        nodes.resume(1);
        p.pass(1min);
        CHECK_FALSE(lost);
        CHECK(held);
    }
    SECTION("one node is restarted after the other") {
        for (std::size_t i = 0; i < 3; ++i) {
            nodes.restart(i, masters::data::kept);
            p.pass(1min);
        }
        CHECK_FALSE(lost);
        CHECK(nodes.holding("r") == 3);
    }
}

TEST_CASE("without a quorum nothing is granted, until the nodes are back", "[masters]") {
    masters nodes(5);
    for (std::size_t i = 0; i < 3; ++i) nodes.shut_down(i);
    boost::asio::io_context io;
    program p(nodes, io);
    std::optional<error_code> ended;
    p.client.async_acquire("r", {}, [&](error_code why, const lease&) { ended = why; });
    p.pass(30s);
    CHECK(ended == errc::no_quorum);
    for (std::size_t i = 0; i < 3; ++i) nodes.resume(i);
    p.pass(30s);
    CHECK(p.acquire("r").first == error_code{});
}

TEST_CASE("a node that restarts without its data has no vote for ttl_max", "[masters]") {
    masters nodes;
    boost::asio::io_context io;
    program p(nodes, io);
    p.acquire("r");  // it is in use: otherwise no lease could be alive after two minutes
    p.pass(2min);
    nodes.restart(0, masters::data::lost);
    nodes.restart(1, masters::data::lost);
    p.pass(1s);
    std::optional<error_code> ended;
    p.client.async_acquire("r", {}, [&](error_code why, const lease&) { ended = why; });
    p.pass(10s);
    CHECK(ended == errc::no_quorum);
    p.pass(2min);
    CHECK(p.acquire("r").first == error_code{});
}

TEST_CASE("blocking clients run in their own threads, and the clock is the test's",
          "[masters][threads]") {
    masters nodes;
    auto options = nodes.options();
    blocking_client one(options);
    blocking_client two(options);
    auto held = one.acquire("r", {.ttl = 10s});
    REQUIRE(held.has_value());
    auto waiting = std::async(std::launch::async, [&] { return two.acquire("r", {.wait = 1h}); });
    while (nodes.waiting("r") == 0) nodes.advance(1ms);
    nodes.advance(10min);
    CHECK(held.value());
    CHECK(waiting.wait_for(0s) == std::future_status::timeout);
    REQUIRE(one.release(std::move(held.value())).has_value());
    CHECK(waiting.get().has_value());
    mutex guarded(one, "m");
    const std::lock_guard lock(guarded);
    CHECK(nodes.holding("m") == 3);
}

TEST_CASE("many clients and threads find the masters as real ones", "[masters][threads]") {
    masters nodes;
    blocking_client client(nodes.options());
    int inside = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            mutex m(client, "m");
            for (int i = 0; i < 25; ++i) {
                const std::lock_guard lock(m);
                ++inside;
            }
        });
    }
    for (auto& t : threads) t.join();
    CHECK(inside == 100);
}

TEST_CASE("masters are one to max_nodes, and addresses of others are refused", "[masters]") {
    CHECK_THROWS_AS(masters(0), std::invalid_argument);
    CHECK_THROWS_AS(masters(max_nodes + 1), std::invalid_argument);
    masters nodes(1);
    auto options = nodes.options();
    options.nodes[0].host = "192.0.2.1";
    boost::asio::io_context io;
    program p(nodes, io, options);
    std::optional<error_code> ended;
    p.client.async_acquire("r", {}, [&](error_code why, const lease&) { ended = why; });
    p.pass(30s);
    CHECK(ended == errc::no_quorum);
}

TEST_CASE("after the masters the clock is the machine's again", "[masters]") {
    const auto before = clock::now();
    {
        masters nodes;
        CHECK(clock::now() != before);
    }
    CHECK(clock::now() >= before);
}

TEST_CASE("a context that ends before its client leaves nothing behind", "[masters]") {
    masters nodes;
    auto io = std::make_unique<boost::asio::io_context>();
    redlock::client c(io->get_executor(), nodes.options());
    nodes.advance(*io, 0s);
    bool is_called = false;
    c.async_acquire("r", {}, [&](error_code, const lease&) { is_called = true; });
    io.reset();
    nodes.advance(1h);
    CHECK_FALSE(is_called);
}

TEST_CASE("the end of an event loop is reported to those that hold a lease", "[masters]") {
    masters nodes;
    auto io = std::make_unique<boost::asio::io_context>();
    auto user = std::make_unique<redlock::client>(io->get_executor(), nodes.options());
    lease held;
    lease released;
    user->async_acquire("r", {}, [&](error_code, lease got) { held = std::move(got); });
    user->async_acquire("s", {}, [&](error_code, lease got) { released = std::move(got); });
    nodes.advance(*io, 0s);
    REQUIRE(held);
    const std::stop_token lost = held.lost_token();
    const std::stop_token other = released.lost_token();
    released = lease();
    bool was_held = true;
    const std::stop_callback note(lost, [&] {
        was_held = static_cast<bool>(held);
        held = lease();  // of a client that is ending
    });
    SECTION("the context ends first") {
        io.reset();
        user.reset();
    }
    SECTION("the client ends first, and no thread runs the context any more") {
        user.reset();
        io.reset();
    }
    SECTION("the client is closed, and no thread runs the context any more") {
        user->close();
        io.reset();
    }
    CHECK(lost.stop_requested());
    CHECK_FALSE(was_held);
    CHECK_FALSE(other.stop_requested());
}

TEST_CASE("blocking clients begin and end in threads while the clock moves", "[masters][threads]") {
    masters nodes;
    SECTION("and all nodes answer") {}
    SECTION("and a node hangs, so that they end with their alarms set") { nodes.hang(2); }
    in_threads(nodes, [&] {
        blocking_client b(nodes.options());
        (void)b.acquire("r");
    });
    nodes.resume(2);
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("clients that end are woken by those that release", "[masters][threads]") {
    masters nodes;
    in_threads(nodes, [&] {
        blocking_client b(nodes.options());
        (void)b.acquire("r", {.wait = 50ms});
    });
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("clients end while nodes break their connections or answer late", "[masters][threads]") {
    masters nodes;
    std::size_t turn = 0;
    in_threads(
        nodes,
        [&] {
            blocking_client b(nodes.options());
            (void)b.acquire("r", {.wait = 50ms});
        },
        [&] {
            const std::size_t node = turn++ % nodes.options().nodes.size();
            nodes.restart(node);
            nodes.hang(node);
            nodes.advance(1ms);
            nodes.resume(node);
        });
    CHECK(turn > 0);
}

TEST_CASE("second masters are refused while the first ones exist", "[masters]") {
    auto first = std::make_unique<masters>();
    CHECK_THROWS_AS(masters(), std::logic_error);
    boost::asio::io_context io;
    {
        program p(*first, io);
        CHECK(p.acquire("r").first == error_code{});
    }
    io.restart();
    io.poll();
    first.reset();
    CHECK_NOTHROW(masters());
}

TEST_CASE("masters that end before their clients end the program, and say why", "[masters]") {
    auto nodes = std::make_unique<masters>();
    boost::asio::io_context io;
    const redlock::client c(io.get_executor(), nodes->options());
    nodes->advance(io, 0s);
    const auto [text, signal] = last_words([&] { nodes.reset(); });
    CHECK(signal == SIGABRT);
    CHECK(text.find("before a client") != std::string::npos);
}

TEST_CASE("the clock is not moved by a handler that a move of the clock runs", "[masters]") {
    masters nodes;
    boost::asio::io_context io;
    bool has_thrown = false;
    boost::asio::post(io, [&] {
        CHECK_THROWS_AS(nodes.advance(1s), std::logic_error);
        has_thrown = true;
    });
    nodes.advance(io, 0s);
    CHECK(has_thrown);
    nodes.advance(io, 1s);
}

TEST_CASE("a context that no thread runs is not waited for without end", "[masters]") {
    redlock::testing::network nodes(3);
    boost::asio::io_context io;
    client_options options;
    options.nodes.emplace_back().host = "node-0";
    const redlock::client c(io.get_executor(), options);
    io.run_one();  // the client opens its connections, and the answers wait in the context
    std::string why;
    try {
        nodes.await_idle(1ms);
    } catch (const std::runtime_error& e) {
        why = e.what();
    }
    CHECK(why.find("advance(context, ") != std::string::npos);
    io.poll();
    nodes.await_idle(1ms);
}

TEST_CASE("what a client sent to a node that hangs is carried out after the client's end",
          "[masters][threads]") {
    masters nodes;
    {
        blocking_client b(nodes.options());
        const auto held = b.acquire("r");
        REQUIRE(held.has_value());
        nodes.advance(0s);
        CHECK(nodes.holding("r") == 3);
        nodes.hang(0);
    }
    CHECK(nodes.holding("r") == 1);
    SECTION("when the node resumes") {
        nodes.resume(0);
        CHECK(nodes.holding("r") == 0);
    }
    SECTION("but not where its process ends first") {
        nodes.restart(0);
        CHECK(nodes.holding("r") == 1);
    }
    nodes.advance(1s);
}
