// Readers and writers of several clients on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"
#include "tool_process.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>

#include <csignal>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

constexpr acquire_options reading{.ttl = 20s, .mode = lock_mode::shared};

// How many share "r" on a node.
long long readers_on(cluster& nodes, std::size_t i) {
    auto node = nodes.ask(i);
    if (node.get("r") != "redlock:shared") return 0;
    return node.command({"ZCARD", "{r}:readers"}).number - 1;  // and the base
}

bool all_have_readers(cluster& nodes, long long count) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (readers_on(nodes, i) != count) return false;
    }
    return true;
}

bool has_litter(cluster& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes.ask(i).exists("r") || nodes.ask(i).exists("{r}:readers")) return true;
    }
    return false;
}

// Whether a writer stands in the queue of every node.
bool a_writer_waits(cluster& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto ids = queue_on(nodes, i);
        if (std::none_of(ids.begin(), ids.end(), [](const std::string& id) {
                return id.find(":r") == std::string::npos;
            })) {
            return false;
        }
    }
    return true;
}

// Three shells run a reader's program again and again, so that somebody always reads.
bool a_writer_is_in_within_two_sections() {
    constexpr std::chrono::milliseconds section = 2s;
    founded_cluster nodes(3);
    scratch folder;
    const std::string loop =
        "while [ ! -e \"$1\" ]; do $REDLOCK_TOOL --config \"$0\" run --shared --wait 60s r -- "
        "sleep 2 || exit 1; done";
    std::vector<std::unique_ptr<tool_process>> readers;
    for (long long i = 1; i <= 3; ++i) {
        readers.push_back(std::make_unique<tool_process>(
            tool_process::program{"/bin/sh"},
            std::vector<std::string>{"-c", loop, nodes.config(), folder / "stop"}));
        REQUIRE(eventually([&] { return readers_on(nodes, 0) >= std::min(i, 2LL); }));
        std::this_thread::sleep_for(section / 3);  // they are to come and go at different times
    }
    REQUIRE(eventually([&] { return readers_on(nodes, 0) >= 1; }));
    tool_process writer({"--config", nodes.config(), "run", "--wait", "60s", "r", "--", "sh", "-c",
                         "echo in >\"$0\"", folder / "in"});
    REQUIRE(eventually([&] { return a_writer_waits(nodes) || writer.has_ended(); }));
    const auto came = clock::now();
    REQUIRE(eventually([&] { return !read_file(folder / "in").empty(); }));
    const auto took = clock::now() - came;
    print_ms("from a writer's coming, under readers of 2 s, to its section", took);
    CHECK(writer.wait() == 0);
    std::ofstream(folder / "stop");
    for (auto& reader : readers) {
        const int status = reader->wait();
        INFO(reader->err());
        CHECK(status == 0);
    }
    return took < 2 * section;
}

}  // namespace

TEST_CASE("readers of several clients hold a lock together, and a writer does not",
          "[shared][servers]") {
    cluster nodes(3);
    driver a(nodes.options());
    driver b(nodes.options());
    driver writer(nodes.options());
    auto first = a.acquire("r", reading);
    REQUIRE(first.error() == error_code{});
    auto second = b.acquire("r", reading);
    REQUIRE(second.error() == error_code{});
    CHECK(b.until([&] { return all_have_readers(nodes, 2); }));
    CHECK(writer.acquire("r", {.ttl = 5s}).error() == errc::contended);
    CHECK(a.release(std::move(first.value())) == error_code{});
    CHECK(writer.acquire("r", {.ttl = 5s}).error() == errc::contended);
    CHECK(b.release(std::move(second.value())) == error_code{});
    REQUIRE(b.until([&] { return !has_litter(nodes); }));
    auto alone = writer.acquire("r", {.ttl = 5s});
    REQUIRE(alone.error() == error_code{});
    for (driver* d : {&a, &b}) CHECK(d->acquire("r", reading).error() == errc::contended);
    CHECK(writer.release(std::move(alone.value())) == error_code{});
    CHECK(writer.until([&] { return !has_litter(nodes); }));
}

TEST_CASE("readers and the locks of other libraries exclude each other", "[shared]") {
    cluster nodes(3);
    driver d(nodes.options());
    SECTION("theirs first") {
        for (std::size_t i = 0; i < 2; ++i) nodes.ask(i).set_nx_px("r", "foreign", 30s);
        CHECK(d.acquire("r", reading).error() == errc::contended);
        REQUIRE(d.until([&] { return !nodes.ask(2).exists("r"); }));
        for (std::size_t i = 0; i < 2; ++i) CHECK(nodes.ask(i).get("r") == "foreign");
    }
    SECTION("ours first") {
        auto got = d.acquire("r", reading);
        REQUIRE(got.error() == error_code{});
        REQUIRE(d.until([&] { return all_have_readers(nodes, 1); }));
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK_FALSE(nodes.ask(i).set_nx_px("r", "foreign", 30s));
        }
        CHECK(d.release(std::move(got.value())) == error_code{});
        REQUIRE(d.until([&] { return !has_litter(nodes); }));
        for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).set_nx_px("r", "foreign", 30s));
    }
}

TEST_CASE("a writer's fence exceeds all before it, and a reader's those of all writers",
          "[shared][servers]") {
    cluster nodes(3);
    driver a(nodes.options());
    driver b(nodes.options());
    std::uint64_t highest = 0;
    std::uint64_t last_writer = 0;
    for (int i = 0; i < 10; ++i) {
        auto writer = (i % 2 == 0 ? a : b).acquire("r", {.ttl = 5s, .wait = 5s});
        REQUIRE(writer.error() == error_code{});
        CHECK(writer.value().fence() > highest);
        highest = last_writer = writer.value().fence();
        CHECK((i % 2 == 0 ? a : b).release(std::move(writer.value())) == error_code{});
        std::vector<driver::granted> readers;
        for (driver* d : {&a, &b, &a}) {
            readers.push_back(d->acquire("r", {.ttl = 5s, .wait = 5s, .mode = lock_mode::shared}));
            REQUIRE(readers.back().error() == error_code{});
            CHECK(readers.back().value().fence() > last_writer);
            highest = std::max(highest, readers.back().value().fence());
        }
        for (std::size_t k = 0; k < readers.size(); ++k) {
            CHECK((k == 1 ? b : a).release(std::move(readers[k].value())) == error_code{});
        }
    }
}

TEST_CASE("a reader that is killed keeps a writer out for its ttl, and others not at all",
          "[shared]") {
    cluster nodes(3);
    driver other(nodes.options());
    tool_process killed({"--config", nodes.config(), "run", "--shared", "--ttl", "3s", "r", "--",
                         "sleep", "60"});
    REQUIRE(other.until([&] { return all_have_readers(nodes, 1); }));
    killed.send(SIGKILL);
    CHECK(killed.wait() == -SIGKILL);
    auto beside = other.acquire("r", reading);
    REQUIRE(beside.error() == error_code{});
    CHECK(other.acquire("r", {.ttl = 5s}).error() == errc::contended);
    // When the other gives it back, what is left of the dead one's time counts, and no more.
    CHECK(other.release(std::move(beside.value())) == error_code{});
    for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).pttl("r") <= 3s);
    auto writer = other.acquire("r", {.ttl = 5s, .wait = 20s});
    CHECK(writer.error() == error_code{});
}

TEST_CASE("a killed reader delays waiters by its own ttl, and no longer", "[shared]") {
    founded_cluster nodes(3);
    blocking_client other(nodes.options());
    tool_process killed({"--config", nodes.config(), "run", "--shared", "--ttl", "6s", "r", "--",
                         "sleep", "60"});
    REQUIRE(eventually([&] { return all_have_readers(nodes, 1); }));
    auto beside = other.acquire("r", {.ttl = 60s, .mode = lock_mode::shared});
    REQUIRE(beside.has_value());
    REQUIRE(eventually([&] { return all_have_readers(nodes, 2); }));
    waiting_client writer(nodes.options());
    REQUIRE(eventually([&] { return a_writer_waits(nodes); }));
    waiting_client behind(nodes.options(), {.ttl = 20s, .wait = 60s, .mode = lock_mode::shared});
    REQUIRE(eventually([&] { return all_know_of(nodes, 2); }));
    killed.send(SIGKILL);
    CHECK(killed.wait() == -SIGKILL);
    const auto died = clock::now();
    CHECK(other.release(std::move(*beside)).has_value());
    // By the ttl of the other one it would be a minute.
    REQUIRE(eventually([&] { return writer.done(); }));
    print_ms("from a reader's death, whose ttl was 6 s, to a writer's grant", writer.when() - died);
    REQUIRE(writer.granted());
    CHECK_FALSE(behind.done());
    CHECK(writer.release());
    CHECK(behind.granted());
    CHECK(behind.release());
    CHECK(eventually([&] { return !has_litter(nodes); }));
}

TEST_CASE("a writer does not wait for readers that come without end", "[shared][threads]") {
    cluster nodes(3);
    constexpr int readers = 3;
    std::atomic<bool> is_over = false;
    std::atomic<int> together = 0;
    std::atomic<int> most_together = 0;
    std::atomic<int> grants = 0;
    std::atomic<int> failures = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < readers; ++i) {
        threads.emplace_back([&] {
            blocking_client client(nodes.options());
            while (!is_over) {
                auto got =
                    client.acquire("r", {.ttl = 20s, .wait = 60s, .mode = lock_mode::shared});
                if (!got) {
                    ++failures;
                    return;
                }
                ++grants;
                const int now = ++together;
                if (now > most_together) most_together = now;
                std::this_thread::sleep_for(30ms);  // the work
                --together;
                if (!client.release(std::move(*got))) ++failures;
            }
        });
    }
    REQUIRE(eventually([&] { return grants > 5 * readers && most_together > 1; }));
    waiting_client writer(nodes.options());
    REQUIRE(eventually([&] { return writer.done() || a_writer_waits(nodes); }));
    const int before = grants;
    REQUIRE(writer.granted());
    const int after = grants;
    CHECK(together == 0);
    // Those that were on their way when it came, and none of the endless rest.
    CHECK(after - before <= 2 * readers);
    CHECK(writer.release());
    CHECK(eventually([&] { return grants > after + readers; }));
    is_over = true;
    threads.clear();
    CHECK(failures == 0);
    CHECK_FALSE(has_litter(nodes));
}

TEST_CASE("a writer's program is in within two sections of endless readers' programs",
          "[shared]") {
    CHECK(once_in_three(a_writer_is_in_within_two_sections));
}

TEST_CASE("no reader is ever beside a writer, and fences tell their order", "[shared][threads]") {
    cluster nodes(3);
    std::mutex mutex;
    int reading_now = 0;
    int writing_now = 0;
    int violations = 0;
    int read = 0;
    int written = 0;
    std::uint64_t highest = 0;
    std::uint64_t last_writer = 0;
    const auto end = std::chrono::steady_clock::now() + 2s;
    const auto goes_on = [&] {  // on a busy machine for longer, until both kinds were there
        const auto now = std::chrono::steady_clock::now();
        const std::lock_guard lock(mutex);
        return now < end || ((read <= 10 || written <= 3) && now < end + patience);
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 5; ++i) {
        threads.emplace_back([&, i] {
            blocking_client client(nodes.options());
            std::mt19937 random(i);
            while (goes_on()) {
                const bool writes = random() % 4 == 0;
                auto got = client.acquire("r", {.ttl = 20s,
                                                .wait = 60s,
                                                .mode = writes ? lock_mode::exclusive
                                                               : lock_mode::shared});
                if (!got) continue;
                {
                    const std::lock_guard lock(mutex);
                    ++(writes ? written : read);
                    ++(writes ? writing_now : reading_now);
                    const std::uint64_t fence = got->fence();
                    const bool is_good = writing_now == (writes ? 1 : 0) &&
                                         (!writes || reading_now == 0) &&
                                         fence > (writes ? highest : last_writer);
                    if (!is_good) ++violations;
                    highest = std::max(highest, fence);
                    if (writes) last_writer = fence;
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(random() % 5));
                {
                    const std::lock_guard lock(mutex);
                    --(writes ? writing_now : reading_now);
                }
                (void)client.release(std::move(*got));
            }
        });
    }
    threads.clear();
    CHECK(violations == 0);
    CHECK(read > 10);
    CHECK(written > 3);
    CHECK(eventually([&] { return !has_litter(nodes); }));
}

TEST_CASE("readers outlive nodes that restart, and a reader of a dead quorum is lost", "[shared]") {
    founded_cluster nodes(3);
    driver a(nodes.options());
    // The margin is longer than this machine may stall, and so is what is left for renewals.
    auto got = a.acquire("r", {.ttl = 9s, .loss_margin = 3s, .mode = lock_mode::shared});
    REQUIRE(got.error() == error_code{});
    REQUIRE(a.until([&] { return all_have_readers(nodes, 1); }));
    auto lost = a.start_lost(got.value());
    SECTION("a minority") {
        a.beside([&] { nodes.restart(0); });
        a.await_up(3);
        const auto renewed = a.client().stats().renewals;
        REQUIRE(a.until([&] { return a.client().stats().renewals >= renewed + 2; }));
        CHECK(got.value());
        CHECK_FALSE(lost.done());
        CHECK(a.until([&] { return readers_on(nodes, 1) == 1 && readers_on(nodes, 2) == 1; }));
    }
    SECTION("a majority") {
        nodes.kill(0);
        nodes.kill(1);
        REQUIRE(a.until([&] { return lost.done(); }));
        CHECK(lost.when() <= got.value().valid_until());
        CHECK_FALSE(got.value());
    }
}
