// Watching resources on real servers, by each client, and the script alone; knows no quorum.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"
#include "wire/resp/command.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/client.hpp>
#include <redlock/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <future>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

namespace asio = boost::asio;

// What a node tells of keys, by the script as it is.
std::string looked_at(cluster& nodes, std::vector<std::string> keys, bool has_companions = true) {
    std::vector<std::string> words{"EVAL", std::string(resp::look().text),
                                   std::to_string(keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), {"", has_companions ? "1" : "0"});
    return nodes.ask(0).command(words).text;
}

// Each form in which a state may stand in a co_await expression.
asio::awaitable<std::vector<std::string>> see_three(client& by) {
    std::vector<std::string> owners;
    resource_state known = co_await by.async_watch("r", asio::use_awaitable);
    owners.push_back(known.owner);
    known = co_await by.async_watch("r", known, asio::use_awaitable);
    owners.push_back(known.owner);
    const resource_state& same = known;
    auto last = co_await by.async_watch("r", same, asio::use_awaitable);
    owners.push_back(last.owner);
    co_return owners;
}

}  // namespace

TEST_CASE("a coroutine sees a resource taken and free", "[watch]") {
    cluster nodes(3);
    found(nodes);
    driver watches(nodes.options());
    driver holder(nodes.options());
    std::vector<std::string> owners;
    bool is_over = false;
    asio::co_spawn(watches.client().get_executor(), see_three(watches.client()),
                   [&](const std::exception_ptr& e, std::vector<std::string> seen) {
                       CHECK_FALSE(e);
                       owners = std::move(seen);
                       is_over = true;
                   });
    watches.pass(300ms);
    auto held = holder.acquire("r", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    const auto name = abbreviate_owner(held.value().owner().to_string() + "@test");
    watches.pass(600ms);
    CHECK_FALSE(is_over);
    CHECK(holder.release(std::move(held.value())) == error_code{});
    REQUIRE(watches.until([&] { return is_over; }));
    CHECK(owners == std::vector<std::string>{"", name, ""});
}

TEST_CASE("a blocked thread is woken by a change, and by a stop", "[watch][threads]") {
    cluster nodes(3);
    found(nodes);
    blocking_client here(nodes.options());
    blocking_client elsewhere(nodes.options());
    const auto first = elsewhere.watch("r", {});
    REQUIRE(first.has_value());
    CHECK_FALSE(first->held);
    auto taken = std::async(std::launch::async, [&] { return elsewhere.watch("r", *first); });
    auto held = here.acquire("r", {.ttl = 30s});
    REQUIRE(held.has_value());
    const auto began = clock::now();
    const auto now = taken.get();
    REQUIRE(now.has_value());
    print_ms("from a grant to the end of a watch", clock::now() - began);
    CHECK(now->held);
    CHECK(now->fence == held->fence());
    // What happened since is not missed.
    CHECK(here.release(std::move(*held)).has_value());
    CHECK_FALSE(elsewhere.watch("r", *now).value().held);
    std::stop_source stop;
    auto waiting = std::async(std::launch::async,
                              [&] { return elsewhere.watch("r", *first, stop.get_token()); });
    stop.request_stop();
    CHECK(waiting.get().error() == asio::error::operation_aborted);
    CHECK(elsewhere.watch("", {}).error() == errc::invalid_argument);
    auto closed = std::async(std::launch::async, [&] { return elsewhere.watch("r", *first); });
    CHECK(elsewhere.close().has_value());
    CHECK(closed.get().error() == errc::client_closed);
}

TEST_CASE("a dead holder's key that runs out ends a watch, also with a node down", "[watch]") {
    cluster nodes(3);
    found(nodes);
    blocking_client client(nodes.options());
    nodes.kill(2);
    auto state = client.watch("r", {}).value();
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(nodes.ask(i).set_nx_px("r", "another library's", 1'500ms));
    }
    state = client.watch("r", state).value();
    CHECK(state.held);
    CHECK(state.owner == abbreviate_owner("another library's"));
    state = client.watch("r", state).value();
    CHECK_FALSE(state.held);
}

TEST_CASE("readers and slots are watched on real servers", "[watch]") {
    cluster nodes(3);
    found(nodes);
    blocking_client holder(nodes.options());
    blocking_client client(nodes.options());
    auto state = client.watch("r", {}).value();
    auto reader = holder.acquire("r", {.ttl = 20s, .mode = lock_mode::shared}).value();
    state = client.watch("r", state).value();
    CHECK(state.readers.size() == 1);
    auto other = holder.acquire("r", {.ttl = 20s, .mode = lock_mode::shared}).value();
    state = client.watch("r", state).value();
    CHECK(state.readers.size() == 2);
    REQUIRE(holder.release(std::move(reader)).has_value());
    state = client.watch("r", state).value();
    CHECK(state.readers.size() == 1);

    auto slots = client.watch("s", {}).value();
    auto first = holder.acquire("s", {.ttl = 20s, .slots = 2}).value();
    slots = client.watch("s", slots).value();
    CHECK(slots.slots.size() == 1);
    REQUIRE(holder.release(std::move(first)).has_value());
    CHECK(client.watch("s", slots).value().slots.empty());
}

TEST_CASE("a look tells of values, readers and slots, and not of extensions", "[watch]") {
    cluster nodes(1);
    auto node = nodes.ask(0);
    const std::string nothing(16, '0');
    CHECK(looked_at(nodes, {"a", "b"}) == nothing + nothing);
    node.command({"SET", "a", "v", "PX", "60000"});
    const auto held = looked_at(nodes, {"a", "b"});
    CHECK(held.substr(0, 16) != nothing);
    CHECK(held.substr(16) == nothing);
    node.command({"PEXPIRE", "a", "90000"});
    CHECK(looked_at(nodes, {"a", "b"}) == held);
    CHECK(looked_at(nodes, {"a", "b"}, false) == held);
    node.command({"SET", "a", ""});
    CHECK(looked_at(nodes, {"a"}) != nothing);
    node.command({"DEL", "a"});
    node.command({"LPUSH", "a", "of another type"});
    CHECK(looked_at(nodes, {"a"}) != nothing);
    node.command({"DEL", "a"});

    // Readers count while they are alive, in whatever order they run out.
    node.command({"SET", "a", "redlock:shared"});
    const std::string readers = "{a}:readers";
    node.command({"ZADD", readers, "9000000000000", "x", "9000000000001", "y", "1", "dead", "-7",
               "base"});
    const auto both = looked_at(nodes, {"a"});
    node.command({"ZADD", readers, "9000000000002", "x"});
    CHECK(looked_at(nodes, {"a"}) == both);
    CHECK(looked_at(nodes, {"a"}, false) != both);
    node.command({"ZREM", readers, "dead"});
    CHECK(looked_at(nodes, {"a"}) == both);
    node.command({"ZREM", readers, "y"});
    CHECK(looked_at(nodes, {"a"}) != both);
    node.command({"DEL", "a", readers});

    node.command({"ZADD", "{b}:slots", "9000000000000", "3", "-9000000000000", "k:5", "1", "4"});
    const auto taken = looked_at(nodes, {"a", "b"});
    CHECK(taken.substr(0, 16) == nothing);
    CHECK(taken.substr(16) != nothing);
    node.command({"SET", "b#3", "v"});
    const auto by_v = looked_at(nodes, {"a", "b"});
    CHECK(by_v != taken);
    node.command({"ZADD", "{b}:slots", "9000000000009", "3"});
    CHECK(looked_at(nodes, {"a", "b"}) == by_v);
    node.command({"SET", "b#3", "w"});
    CHECK(looked_at(nodes, {"a", "b"}) != by_v);
}
