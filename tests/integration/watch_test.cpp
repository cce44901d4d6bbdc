// Watching resources on real servers, by each client, and the script alone; knows no quorum.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
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
    std::vector<std::string> words{"EVAL", std::string(resp::look().text), "0", "",
                                   has_companions ? "1" : "0", "digests"};
    words.insert(words.end(), keys.begin(), keys.end());
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
    founded_cluster nodes(3);
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
    founded_cluster nodes(3);
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
    founded_cluster nodes(3);
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
    founded_cluster nodes(3);
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

namespace {

std::vector<std::string> view_of(const std::string& key, bool has_companions = true) {
    return {"EVAL", std::string(resp::look().text), "0", "", has_companions ? "1" : "0", "all", key};
}

std::vector<std::string> texts_of(const reply& list) {
    std::vector<std::string> out;
    for (const reply& one : list.items) {
        out.push_back(one.type == reply::kind::integer ? std::to_string(one.number) : one.text);
    }
    return out;
}

}  // namespace

TEST_CASE("a view has a key, its fence, readers, slots and waiters in one answer", "[watch]") {
    using words = std::vector<std::string>;
    cluster nodes(1);
    auto node = nodes.ask(0);
    const reply nothing = node.command(view_of("a"));
    REQUIRE(nothing.items.size() == 8);
    CHECK(nothing.items[0].text.empty());
    CHECK(nothing.items[1].number == -2);
    CHECK(node.command(view_of("a", false)).items.size() == 2);

    node.command({"SET", "a", std::string(1'000, 'v'), "PX", "60000"});
    node.command({"SET", "{a}:fence", "17"});
    node.command({"ZADD", "{a}:queue", "5", "c:1:9000000000000", "4", "c:2:1"});
    node.command({"ZADD", "{a}:readers", "9000000000000", "left over"});
    const reply held = node.command(view_of("a"));
    CHECK(held.items[0].text == std::string(400, 'v'));
    CHECK(held.items[1].number > 50'000);
    CHECK(held.items[2].text == "17");
    CHECK(held.items[3].number > 1'700'000'000'000);
    CHECK(texts_of(held.items[4]) == words{"c:2:1", "c:1:9000000000000"});
    CHECK(held.items[5].items.empty());

    node.command({"SET", "a", "redlock:shared"});
    node.command({"ZADD", "{a}:readers", "-7", "base", "1", "dead", "9000000000001", "longest"});
    CHECK(texts_of(node.command(view_of("a")).items[5]) == words{"longest", "left over"});

    node.command({"ZADD", "{a}:slots", "9000000000000", "3", "1", "4", "-9000000000000", "k:5",
                  "-9000000000000", "k:9", "-1", "k:2"});
    node.command({"SET", "a#3", "holder"});
    node.command({"SET", "{a#3}:fence", "19"});
    const reply slots = node.command(view_of("a"));
    CHECK(slots.items[6].number == 5);
    CHECK(texts_of(slots.items[7]) == words{"3", "holder", "-1", "19"});

    // What the server refuses to read is an error of its own, and hides nothing else.
    node.command({"DEL", "{a}:readers", "{a}:queue", "a#3"});
    for (const auto* key : {"{a}:readers", "{a}:queue", "a#3"}) node.command({"SADD", key, "x"});
    const reply odd = node.command(view_of("a"));
    CHECK(odd.items[0].text == "redlock:shared");
    CHECK(odd.items[4].items.empty());
    CHECK(odd.items[5].items.empty());
    REQUIRE(odd.items[7].items.size() == 4);
    CHECK(odd.items[7].items[1].type == reply::kind::error);
    CHECK(odd.items[7].items[3].text == "19");
}

TEST_CASE("the longest view is bounded, and a client reads it", "[watch]") {
    cluster nodes(1);
    auto node = nodes.ask(0);
    const std::string fill =
        "for i = 1, 1500 do redis.call('ZADD', '{a}:readers', 9000000000000 + i, "
        "string.rep('r', 390) .. i) redis.call('ZADD', '{a}:queue', i, 'c:' .. i .. ':9000000000000') "
        "redis.call('ZADD', '{a}:slots', 9000000000000, i - 1) "
        "redis.call('SET', 'a#' .. (i - 1), string.rep('s', 500)) "
        "redis.call('SET', '{a#' .. (i - 1) .. '}:fence', '9007199254740991') end "
        "redis.call('SET', 'a', 'redlock:shared')";
    REQUIRE(node.command({"EVAL", fill, "0"}).type != reply::kind::error);
    const reply all = node.command(view_of("a"));
    REQUIRE(all.items.size() == 8);
    CHECK(all.items[4].items.size() == 1'000);
    CHECK(all.items[5].items.size() == 1'000);
    CHECK(all.items[7].items.size() == 4'000);
    driver d(nodes.options());
    const auto seen = d.inspect("a");
    REQUIRE(seen.error() == error_code{});
    CHECK(seen.value().nodes[0].state == key_state::shared);
    CHECK(seen.value().nodes[0].readers.size() == 1'000);
}

TEST_CASE("a user with the right to read alone may look at the keys", "[watch]") {
    cluster nodes(1);
    auto node = nodes.ask(0);
    node.command({"SET", "a", "v"});
    const auto made = node.command({"ACL", "SETUSER", "eyes", "on", ">pw", "-@all", "%R~*", "+eval",
                                    "+getrange", "+pttl", "+zrange", "+time", "+exists"});
    if (made.type == reply::kind::error) return;  // servers before 7.0 know no such pattern
    direct eyes(nodes[0].port(), "pw", std::chrono::seconds(10), "eyes");
    CHECK(eyes.command(view_of("a")).items.at(0).text == "v");
    CHECK(eyes.command({"EVAL", std::string(resp::look().text), "0", "", "1", "digests", "a"})
              .text == looked_at(nodes, {"a"}));
    CHECK(eyes.command({"EVAL", "return redis.call('DEL', 'a')", "0"}).type == reply::kind::error);
    CHECK(node.get("a") == "v");
}
