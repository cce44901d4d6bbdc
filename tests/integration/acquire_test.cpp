// Acquiring on real servers: grants, refusals, the wire form of a lock; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/project.hpp"
#include "support/founded.hpp"
#include "support/waiting.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

bool is_base64url(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    });
}

std::size_t count(const lease& held, vote kind) {
    const auto votes = held.votes();
    return static_cast<std::size_t>(std::count_if(
        votes.begin(), votes.end(), [kind](const node_vote& v) { return v.answer == kind; }));
}

// The words of the nth block of ACL rules in docs/nodes.md.
std::vector<std::string> documented_rights(std::size_t block) {
    std::ifstream file(redlock::testing::project_folder() / "docs" / "nodes.md");
    std::stringstream read;
    read << file.rdbuf();
    const std::string text = read.str();
    const std::string opening = "```acl\n";
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= block; ++i) begin = text.find(opening, begin) + opening.size();
    std::istringstream words(text.substr(begin, text.find("```", begin) - begin));
    return {std::istream_iterator<std::string>(words), {}};
}

// The commands, keys and channels that a node has refused to its users.
std::vector<std::string> denied_on(cluster& nodes, std::size_t i) {
    std::vector<std::string> found;
    for (const auto& entry : nodes.ask(i).command({"ACL", "LOG"}).items) {
        for (std::size_t field = 0; field + 1 < entry.items.size(); field += 2) {
            if (entry.items[field].text == "object") found.push_back(entry.items[field + 1].text);
        }
    }
    return found;
}

}  // namespace

TEST_CASE("a free resource is granted, for every number of nodes", "[acquire][servers]") {
    const auto size = static_cast<std::size_t>(GENERATE(1, 2, 3, 4, 5));
    const bool fencing = GENERATE(true, false);
    CAPTURE(size, fencing);
    cluster nodes(size);
    auto options = nodes.options();
    options.fencing = fencing;
    driver d(options);
    const auto before = clock::now();
    auto got = d.acquire("orders", {.ttl = 10s});
    INFO(text_of(got.value()));
    REQUIRE(got.error() == error_code{});
    lease& held = got.value();
    CHECK(held);
    CHECK(held.resource() == "orders");
    CHECK((held.fence() > 0) == fencing);
    CHECK_FALSE(held.owner().is_zero());
    CHECK_FALSE(held.lost_token().stop_requested());
    CHECK(held.votes().size() == size);
    CHECK(count(held, vote::granted) >= size / 2 + 1);
    CHECK(held.votes()[0].node == "n0");
    // 10 s less the drift allowance of 1 % and 2 ms.
    CHECK(held.valid_until() <= got.when() + 9'898ms);
    CHECK(held.valid_until() >= before + 9'898ms);

    REQUIRE(d.until([&] { return nodes.holding("orders") == size; }));
    for (std::size_t i = 0; i < size; ++i) {
        const auto value = nodes.ask(i).get("orders").value_or("");
        CHECK(value == held.owner().to_string() + "@test");
        CHECK(value.find('@') == 22);
        CHECK(is_base64url(value.substr(0, 22)));
        const auto left = nodes.ask(i).pttl("orders");
        CHECK(left > 0ms);
        CHECK(left <= 10s);
        const auto fence = nodes.ask(i).get("{orders}:fence");
        if (fencing) CHECK(fence == std::to_string(held.fence()));
        else CHECK_FALSE(fence);
    }
    CHECK(d.release(std::move(held)) == error_code{});
    CHECK(d.until([&] { return nodes.holding("orders") == 0; }));
}

TEST_CASE("another client's lease refuses an acquire, with one vote per node, and stays held",
          "[acquire]") {
    cluster nodes(3);
    found(nodes);  // else a node whose record the second has still to read is in quarantine for it
    auto named = nodes.options();
    named.client_name = "first";
    driver first(named);
    driver second(nodes.options());
    auto held = first.acquire("r", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(first.until([&] { return nodes.holding("r") == 3; }));

    auto refused = second.acquire("r", {.ttl = 30s});
    INFO(text_of(refused.value()));
    CHECK(refused.error() == errc::contended);
    CHECK(refused.error() == condition::retryable);
    CHECK_FALSE(refused.value());
    REQUIRE(refused.value().votes().size() == 3);
    CHECK(count(refused.value(), vote::held) >= 2);
    CHECK(count(refused.value(), vote::granted) == 0);

    // What the refused gave back was not the holder's.
    second.pass(50ms);
    CHECK(nodes.holding("r") == 3);
    CHECK(held.value());
    CHECK(first.release(std::move(held.value())) == error_code{});
    auto then = second.acquire("r", {.ttl = 30s, .wait = 5s});
    CHECK(then.error() == error_code{});
}

TEST_CASE("a client contends with itself as with anybody", "[acquire]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("r");
    REQUIRE(held.error() == error_code{});
    CHECK(d.acquire("r").error() == errc::contended);
    CHECK(d.acquire("other").error() == error_code{});
}

TEST_CASE("plain locks of other programs exclude us, and ours exclude them",
          "[acquire][servers]") {
    cluster nodes(5);
    driver d(nodes.options());
    const auto foreign = [&](std::size_t on) {
        for (std::size_t i = 0; i < on; ++i) {
            REQUIRE(nodes.ask(i).set_nx_px("r", "foreign", 60s));
        }
    };
    const auto foreign_left = [&] {
        std::size_t found = 0;
        for (std::size_t i = 0; i < 5; ++i) found += nodes.ask(i).get("r") == "foreign" ? 1U : 0U;
        return found;
    };
    SECTION("on a quorum") {
        foreign(3);
        auto got = d.acquire("r");
        CHECK(got.error() == errc::contended);
        CHECK(d.until([&] { return nodes.holding("r") == 3; }));
        CHECK(foreign_left() == 3);
    }
    SECTION("on a minority") {
        foreign(2);
        auto got = d.acquire("r");
        INFO(text_of(got.value()));
        REQUIRE(got.error() == error_code{});
        CHECK(foreign_left() == 2);
        CHECK(d.release(std::move(got.value())) == error_code{});
        CHECK(d.until([&] { return nodes.holding("r") == 2; }));
        CHECK(foreign_left() == 2);
    }
    SECTION("without expiry") {
        for (std::size_t i = 0; i < 5; ++i) nodes.ask(i).set("r", "foreign");
        CHECK(d.acquire("r", {.ttl = 1s, .wait = 200ms}).error() == errc::contended);
        CHECK(foreign_left() == 5);
        CHECK(nodes.ask(0).pttl("r") == -1ms);
    }
    SECTION("ours") {
        auto got = d.acquire("r", {.ttl = 30s});
        REQUIRE(got.error() == error_code{});
        REQUIRE(d.until([&] { return nodes.holding("r") == 5; }));
        for (std::size_t i = 0; i < 5; ++i) {
            CHECK_FALSE(nodes.ask(i).set_nx_px("r", "foreign", 1s));
        }
    }
}

TEST_CASE("a key that is no string costs that node's vote and is left alone", "[acquire]") {
    cluster nodes(3);
    driver d(nodes.options());
    nodes.ask(1).command({"RPUSH", "r", "an item"});
    auto got = d.acquire("r", {.ttl = 5s});
    REQUIRE(got.error() == error_code{});
    CHECK(d.release(std::move(got.value())) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 1; }));
    CHECK(nodes.ask(1).command({"LLEN", "r"}).number == 1);
}

TEST_CASE("keys carry the prefix and lie in the database of the options", "[acquire]") {
    cluster nodes(3);
    auto options = nodes.options(GENERATE(true, false));
    options.key_prefix = "locks:";
    for (auto& node : options.nodes) node.database = 3;
    CAPTURE(options.fencing);
    std::vector<std::string> companions;
    if (options.fencing) companions = {"locks:redlock:node", "locks:{locks:r}:fence"};
    auto with_lock = companions;
    with_lock.insert(with_lock.begin(), "locks:r");
    driver d(options);
    auto got = d.acquire("r");
    REQUIRE(got.error() == error_code{});
    auto ask = nodes.ask(0);
    CHECK(ask.keys().empty());
    ask.select(3);
    const auto keys = [&] {
        auto found = ask.keys();
        std::sort(found.begin(), found.end());
        return found;
    };
    CHECK(d.until([&] { return got.value() && keys() == with_lock; }));
    CHECK(d.release(std::move(got.value())) == error_code{});
    CHECK(d.until([&] { return keys() == companions; }));
}

TEST_CASE("the password and the ACL user of the options are used", "[acquire][servers]") {
    server_options each = durable;  // of which nothing is reported
    each.password = "s3cret word";
    cluster nodes(3, each);
    auto options = nodes.options();
    const auto become_locker = [&](std::size_t block) {
        std::vector<std::string> user{"locker", "on", ">p@ss:word/", "resetkeys",
                                      "resetchannels", "-@all"};
        const auto rights = documented_rights(block);
        REQUIRE(rights.size() > 5);
        user.insert(user.end(), rights.begin(), rights.end());
        for (std::size_t i = 0; i < 3; ++i) {
            nodes.ask(i).acl_setuser(user);
            options.nodes[i].username = "locker";
            options.nodes[i].password = "p@ss:word/";
        }
    };
    SECTION("requirepass") {}
    SECTION("a user with no more rights than fenced locks need") { become_locker(0); }
    SECTION("a user with no more rights than plain locks need") {
        options.fencing = false;
        become_locker(1);
    }
    options.key_prefix = "lock:";
    driver d(options);
    auto got = d.acquire("r", {.ttl = 5s});
    INFO(text_of(got.value()));
    REQUIRE(got.error() == error_code{});
    CHECK(d.extend(got.value(), 8s) == error_code{});
    CHECK(d.inspect("r").value().held);
    auto waits = options;
    event_log log;
    log.attach(waits);
    waiting_client next(waits);
    for (std::size_t i = 0; i < 3 && options.fencing; ++i) {
        REQUIRE(d.until([&] { return nodes.ask(i).exists("lock:{lock:r}:queue"); }));
    }
    CHECK(d.release(std::move(got.value())) == error_code{});
    REQUIRE(d.until([&] { return next.done(); }));
    REQUIRE(next.granted());
    CHECK(next.release());
    CHECK(log.count(event_kind::node_reported, severity::warning) == 0);
    CHECK(d.until([&] { return nodes.holding("lock:r") == 0; }));
    if (options.fencing) {
        auto a = d.acquire("r", {.ttl = 5s, .mode = lock_mode::shared});
        auto b = d.acquire("r", {.ttl = 5s, .wait = 5s, .mode = lock_mode::shared});
        REQUIRE(a.error() == error_code{});
        REQUIRE(b.error() == error_code{});
        CHECK(d.extend(a.value(), 8s) == error_code{});
        CHECK(d.inspect("r").value().readers.size() == 2);
        CHECK(d.release(std::move(a.value())) == error_code{});
        CHECK(d.release(std::move(b.value())) == error_code{});
        CHECK(d.until([&] { return nodes.holding("lock:r") == 0; }));
    }
    for (std::size_t i = 0; i < 3; ++i) {
        // It was woken, and nothing was refused.
        if (options.fencing) CHECK(nodes.ask(i).calls("publish") > 0);
        auto denied = denied_on(nodes, i);
        if (!options.fencing) std::erase(denied, "delifeq");  // only Valkey 9 knows that right
        CHECK(denied == std::vector<std::string>{});
    }
}

TEST_CASE("nodes are reached over unix sockets", "[acquire]") {
    server_options each;
    each.unix_socket = true;
    cluster nodes(3, each);
    auto options = nodes.options();
    for (std::size_t i = 0; i < 3; ++i) {
        options.nodes[i].unix_socket = nodes[i].unix_socket();
        options.nodes[i].port = 1;  // nobody is to look at it
        options.nodes[i].name.clear();
    }
    driver d(options);
    auto got = d.acquire("r");
    REQUIRE(got.error() == error_code{});
    CHECK(got.value().votes()[2].node.str().find(nodes[2].unix_socket()) != std::string::npos);
    CHECK(d.release(std::move(got.value())) == error_code{});
    CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    nodes.kill(0);
    nodes.kill(1);
    CHECK(d.acquire("r").error() == errc::no_quorum);
}

TEST_CASE("nodes are found by name, and named by host and port where they have none", "[acquire]") {
    cluster nodes(1);
    auto options = nodes.options();
    options.nodes[0].host = "localhost";
    options.nodes[0].name.clear();
    driver d(options);
    auto got = d.acquire("r");
    REQUIRE(got.error() == error_code{});
    CHECK(got.value().votes()[0].node.str() == "localhost:" + std::to_string(nodes[0].port()));
}

TEST_CASE("the client's name stands on its connections and in its keys", "[acquire]") {
    cluster nodes(1);
    auto options = nodes.options();
    options.client_name = "till-7";
    driver d(options);
    CHECK(nodes.ask(0).clients_named("till-7") == 1);
    auto got = d.acquire("r");
    REQUIRE(got.error() == error_code{});
    CHECK(nodes.ask(0).get("r") == got.value().owner().to_string() + "@till-7");
}

TEST_CASE("without a ttl it is ten seconds, or ttl_max where that is less", "[acquire]") {
    cluster nodes(1);
    found(nodes);  // of half a ttl_max a stall may leave too little
    auto options = nodes.options();
    const auto most = GENERATE(6'000ms, 60'000ms);
    options.ttl_max = most;
    driver d(options);
    auto got = d.acquire("r");
    REQUIRE(got.error() == error_code{});
    const auto expected = std::min<std::chrono::milliseconds>(most, 10s);
    const auto left = nodes.ask(0).pttl("r");
    CHECK(left <= expected);
    CHECK(left > expected - 4s);
}

TEST_CASE("an owner that is given is used, and not twice at once", "[acquire]") {
    cluster nodes(3);
    driver d(nodes.options());
    const auto me = owner_id::random();
    auto got = d.acquire("r", {.owner = me});
    REQUIRE(got.error() == error_code{});
    CHECK(got.value().owner() == me);
    CHECK(nodes.ask(0).get("r").value_or("").starts_with(me.to_string() + "@test#"));
    auto again = d.acquire("r", {.owner = me});
    CHECK_FALSE(again.value());
    CHECK(again.error() != error_code{});
    CHECK(nodes.holding("r") == 3);
    CHECK(d.release(std::move(got.value())) == error_code{});
    CHECK(d.acquire("r", {.owner = me}).error() == error_code{});
}

// As a container that was replaced: the new one has the host and the pid of the old one.
TEST_CASE("two processes of one name with one owner exclude each other", "[acquire]") {
    cluster nodes(3);
    found(nodes);  // else a node whose record the other has still to read has no vote for it
    driver d(nodes.options(GENERATE(true, false)));
    driver other(nodes.options(GENERATE(true, false)));
    const acquire_options how{.owner = owner_id::random()};
    auto held = d.acquire("r", how);
    REQUIRE(held.error() == error_code{});
    auto second = other.acquire("r", how);
    CHECK(second.error() == errc::contended);
    CHECK_FALSE(second.value());
    CHECK(d.release(std::move(held.value())) == error_code{});
    CHECK(other.acquire("r", how).error() == error_code{});
}

TEST_CASE("a waiter gets the resource when it is given back", "[acquire]") {
    cluster nodes(3);
    driver d(nodes.options());
    driver other(nodes.options());
    auto held = other.acquire("r", {.ttl = 60s});
    REQUIRE(held.error() == error_code{});
    auto waiting = d.start_acquire("r", {.ttl = 5s, .wait = 15s});
    d.pass(100ms);
    CHECK_FALSE(waiting.done());
    CHECK(other.release(std::move(held.value())) == error_code{});
    CHECK(d.finish(waiting).error() == error_code{});
    CHECK(waiting.value());
    CHECK(d.client().stats().retries >= 1);
}

TEST_CASE("clients that start on a new cluster together open it at once", "[acquire]") {
    cluster nodes(5);
    for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        for (std::size_t i = 0; i < 5; ++i) nodes.ask(i).command({"FLUSHALL"});
        asio::io_context context;
        std::vector<client> clients;
        std::vector<outcome<lease>> tries(4);
        for (std::size_t i = 0; i < tries.size(); ++i) {
            clients.emplace_back(context.get_executor(), nodes.options());
            clients.back().async_acquire(std::to_string(i), {.ttl = 20s}, tries[i].handler());
        }
        REQUIRE(run_until(context, [&] {
            return std::all_of(tries.begin(), tries.end(), [](auto& t) { return t.done(); });
        }));
        for (auto& t : tries) {
            INFO(text_of(t.value()));
            REQUIRE(t.error() == error_code{});
        }
        REQUIRE(run_until(context, [&] { return nodes.is_founded(); }));
        tries.clear();
        clients.clear();
        context.run_for(patience);
    }
}

TEST_CASE("of clients that try at the same time at most one is granted", "[acquire]") {
    founded_cluster nodes(5);
    asio::io_context context;
    std::vector<std::unique_ptr<event_log>> logs;
    std::vector<client> clients;
    for (int i = 0; i < 3; ++i) {
        auto options = nodes.options();
        logs.push_back(std::make_unique<event_log>());
        logs.back()->attach(options);
        clients.emplace_back(context.get_executor(), std::move(options));
    }
    REQUIRE(run_until(context, [&] {
        return std::all_of(logs.begin(), logs.end(), [](auto& l) { return l->nodes_up() == 5; });
    }));
    int granted = 0;
    for (int round = 0; round < 100; ++round) {
        std::vector<outcome<lease>> tries(clients.size());
        for (std::size_t i = 0; i < clients.size(); ++i) {
            clients[i].async_acquire("r", {.ttl = 30s}, tries[i].handler());
        }
        REQUIRE(run_until(context, [&] {
            return std::all_of(tries.begin(), tries.end(), [](auto& t) { return t.done(); });
        }));
        const auto won = std::count_if(tries.begin(), tries.end(),
                                       [](auto& t) { return static_cast<bool>(t.value()); });
        REQUIRE(won <= 1);
        granted += static_cast<int>(won);
        for (auto& t : tries) {
            INFO("round " << round << ": " << t.error().message() << "\n" << text_of(t.value()));
            // Chance decides which one gets it, and sometimes none does.
            REQUIRE((t.error() == errc::contended || t.value()));
        }
        for (std::size_t i = 0; i < clients.size(); ++i) {
            if (!tries[i].value()) continue;
            outcome<> released;
            clients[i].async_release(std::move(tries[i].value()), released.handler());
            REQUIRE(run_until(context, [&] { return released.done(); }));
        }
        // Votes of a failed round are given back, so the next round starts from nothing.
        REQUIRE(run_until(context, [&] { return nodes.holding("r") == 0; }));
    }
    CHECK(granted > 0);
}
