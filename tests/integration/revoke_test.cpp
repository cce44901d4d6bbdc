// Leases that an operator revokes, on real servers: each kind of lock, and what can go wrong.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "tool_call.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

outcome<revocation> revoke_with(driver& d, const resource_state& shown) {
    outcome<revocation> result;
    d.client().async_revoke(shown, result.handler());
    return d.finish(std::move(result));
}

outcome<revocation> revoke_all_of(driver& d, const std::string& resource) {
    return revoke_with(d, d.inspect(resource).value());
}

std::string brief_owner(const lease& held, const std::string& client_name) {
    return abbreviate_owner(held.owner().to_string() + "@" + client_name);
}

// The loss of which the holder learns when it renews.
error_code end_of(driver& holder, const lease& held, loss& why) {
    auto lost = holder.start_lost(held);
    lost = holder.finish(std::move(lost));
    why = lost.value();
    return lost.error();
}

client_options named(const cluster& nodes, const std::string& name, bool fencing = true) {
    auto options = nodes.options(fencing);
    options.client_name = name;
    return options;
}

bool all_granted(const revocation& done) {
    return std::all_of(done.votes.begin(), done.votes.end(),
                       [](const node_vote& v) { return v.answer == vote::granted; });
}

}  // namespace

TEST_CASE("a revoked holder loses its lease, and cannot take the key again", "[revoke][servers]") {
    founded_cluster nodes(3);
    driver holder(named(nodes, "till-7"));
    driver by(nodes.options());
    auto held = holder.acquire("r", {.ttl = 8s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(holder.until([&] { return nodes.holding("r") == 3; }));
    const auto done = revoke_all_of(by, "r");
    REQUIRE(done.error() == error_code{});
    CHECK(done.value().revoked == std::vector{brief_owner(held.value(), "till-7")});
    CHECK(done.value().holders.empty());
    CHECK(done.value().votes.size() == 3);
    CHECK(all_granted(done.value()));
    CHECK(nodes.holding("r") == 0);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(std::stoull(nodes.ask(i).get("{r}:fence").value()) > held.value().fence());
        CHECK(nodes.ask(i).pttl("{r}:revoked") > 30s);
    }
    loss why{};
    SECTION("while it is free") {
        CHECK(end_of(holder, held.value(), why) == error_code{});
        CHECK(why == loss::taken);
        CHECK(nodes.holding("r") == 0);
    }
    SECTION("while another holds it") {
        auto next = by.acquire("r", {.ttl = 20s});
        REQUIRE(next.error() == error_code{});
        CHECK(next.value().fence() > held.value().fence());
        CHECK(end_of(holder, held.value(), why) == error_code{});
        CHECK(why == loss::taken);
        CHECK(next.value());
        CHECK(nodes.holding("r") == 3);
    }
    SECTION("nor by its own extension") {
        CHECK(holder.extend(held.value(), 5s) != error_code{});
        CHECK(nodes.holding("r") == 0);
    }
    SECTION("nor with its token") {
        outcome<lease> adopted;
        by.client().async_adopt(held.value().token(), acquire_options{}, adopted.handler());
        CHECK(by.finish(std::move(adopted)).error() == errc::not_held);
        CHECK(nodes.holding("r") == 0);
    }
    SECTION("but the same program acquires it like any other") {
        CHECK(end_of(holder, held.value(), why) == error_code{});
        CHECK(holder.acquire("r").error() == error_code{});
    }
}

TEST_CASE("without a revocation the same lease takes its lost key again", "[revoke]") {
    cluster nodes(3);
    driver holder(nodes.options());
    auto held = holder.acquire("r", {.ttl = 30s, .renew = false});
    REQUIRE(held.error() == error_code{});
    REQUIRE(holder.until([&] { return nodes.holding("r") == 3; }));
    nodes.ask(0).del("r");
    CHECK(holder.extend(held.value(), 30s) == error_code{});
    CHECK(holder.until([&] { return nodes.holding("r") == 3; }));
}

TEST_CASE("a holder that came after the operator's inspect keeps the lock", "[revoke]") {
    founded_cluster nodes(3);
    driver holder(named(nodes, "old"));
    driver other(named(nodes, "new"));
    auto held = holder.acquire("r");
    REQUIRE(held.error() == error_code{});
    const auto shown = other.inspect("r").value();
    REQUIRE(holder.release(std::move(held.value())) == error_code{});
    auto next = other.acquire("r", {.ttl = 20s});
    REQUIRE(next.error() == error_code{});
    driver by(nodes.options());
    const auto done = revoke_with(by, shown);
    CHECK(done.error() == error_code{});
    CHECK(done.value().revoked.empty());
    CHECK(done.value().holders == std::vector{brief_owner(next.value(), "new")});
    CHECK(nodes.holding("r") == 3);
    CHECK(other.extend(next.value(), 20s) == error_code{});
    const auto nothing = revoke_all_of(by, "never held");
    CHECK(nothing.error() == error_code{});
    CHECK(nothing.value().revoked.empty());
    CHECK(nodes.ask(0).exists("{never held}:revoked") == false);
}

TEST_CASE("the next waiter gets what was taken at once", "[revoke][servers]") {
    cluster nodes(3);
    driver holder(nodes.options());
    driver waiter(nodes.options());
    auto held = holder.acquire("r", {.ttl = 30s, .renew = false});
    REQUIRE(held.error() == error_code{});
    auto waiting = waiter.start_acquire("r", {.wait = 20s});
    driver by(nodes.options());
    REQUIRE(waiter.until([&] { return by.inspect("r").value().waiting == 1; }));
    CHECK(revoke_all_of(by, "r").error() == error_code{});
    CHECK(waiter.finish(std::move(waiting)).error() == error_code{});
    CHECK(nodes.ask(0).pttl("r") < 25s);  // the waiter's, not the holder's
}

TEST_CASE("a revoke ends the leases of the readers that were shown, and of no others",
          "[revoke]") {
    cluster nodes(3);
    driver first(named(nodes, "first"));
    driver second(named(nodes, "second"));
    driver by(nodes.options());
    const acquire_options terms{.ttl = 8s, .mode = lock_mode::shared};
    auto one = first.acquire("r", terms);
    REQUIRE(one.error() == error_code{});
    const auto shown = by.inspect("r").value();
    REQUIRE(shown.readers.size() == 1);
    auto two = second.acquire("r", {.ttl = 30s, .mode = lock_mode::shared});
    REQUIRE(two.error() == error_code{});
    REQUIRE(second.until([&] { return by.inspect("r").value().readers.size() == 2; }));
    const auto done = revoke_with(by, shown);
    REQUIRE(done.error() == error_code{});
    CHECK(done.value().revoked == std::vector{brief_owner(one.value(), "first")});
    CHECK(done.value().holders == std::vector{brief_owner(two.value(), "second")});
    loss why{};
    CHECK(end_of(first, one.value(), why) == error_code{});
    CHECK(why == loss::taken);
    CHECK(by.inspect("r").value().readers.size() == 1);
    CHECK(second.extend(two.value(), 30s) == error_code{});
    // The last one goes with the key.
    CHECK(revoke_all_of(by, "r").error() == error_code{});
    CHECK(nodes.holding("r") == 0);
    CHECK(nodes.holding("{r}:readers") == 0);
    CHECK(by.acquire("r").error() == error_code{});
}

TEST_CASE("each slot that was shown is taken from its holder", "[revoke]") {
    cluster nodes(3);
    driver holder(named(nodes, "pool"));
    driver by(nodes.options());
    std::vector<lease> held;
    for (int i = 0; i < 3; ++i) {
        auto got = holder.acquire("r", {.ttl = 8s, .slots = 3});
        REQUIRE(got.error() == error_code{});
        held.push_back(std::move(got.value()));
    }
    REQUIRE(holder.until([&] { return by.inspect("r").value().slots.size() == 3; }));
    const auto done = revoke_all_of(by, "r");
    REQUIRE(done.error() == error_code{});
    CHECK(done.value().revoked.size() == 3);
    CHECK(by.inspect("r").value().slots.empty());
    for (const lease& one : held) {
        loss why{};
        CHECK(end_of(holder, one, why) == error_code{});
        CHECK(why == loss::taken);
    }
    for (int i = 0; i < 3; ++i) {
        auto got = by.acquire("r", {.ttl = 8s, .slots = 3});
        CHECK(got.error() == error_code{});
        held.push_back(std::move(got.value()));
    }
}

TEST_CASE("one slot is taken by the name of its key, and its next waiter gets it", "[revoke][tool]") {
    cluster nodes(3);
    driver holder(nodes.options());
    driver waits(nodes.options());
    auto first = holder.acquire("r", {.ttl = 30s, .slots = 2});
    auto second = holder.acquire("r", {.ttl = 30s, .slots = 2});
    REQUIRE(second.error() == error_code{});
    auto next = waits.start_acquire("r", {.ttl = 30s, .wait = patience, .slots = 2});
    REQUIRE(waits.until([&] { return waits.inspect("r").value().waiting == 1; }));
    tool_process revokes({"release", "--config", nodes.config(), "--force", "--yes",
                       "r#" + std::to_string(first.value().slot())});
    next = waits.finish(std::move(next));
    CHECK(revokes.wait() == 0);
    REQUIRE(next.error() == error_code{});
    CHECK(next.value().slot() == first.value().slot());
    CHECK(second.value());
}

TEST_CASE("a node that refuses to note a revoked lease keeps the lock", "[revoke]") {
    cluster nodes(3);
    driver holder(nodes.options());
    auto held = holder.acquire("r", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(holder.until([&] { return nodes.holding("r") == 3; }));
    for (std::size_t i = 0; i < 3; ++i) {
        nodes.ask(i).command({"ACL", "SETUSER", "operator", "on", ">pw", "~*", "&*", "+@all",
                              "-zadd"});
    }
    auto options = nodes.options();
    for (auto& node : options.nodes) node.username = "operator", node.password = "pw";
    driver by(options);
    const auto done = revoke_all_of(by, "r");
    CHECK(done.error() == errc::no_quorum);
    CHECK(done.value().revoked.empty());
    CHECK(nodes.holding("r") == 3);
}

TEST_CASE("a lease of several resources is lost with the first that is taken", "[revoke]") {
    cluster nodes(3);
    driver holder(nodes.options());
    driver by(nodes.options());
    outcome<lease> asked;
    holder.client().async_acquire_all({"a", "b", "c"}, {.ttl = 8s}, asked.handler());
    auto held = holder.finish(std::move(asked));
    REQUIRE(held.error() == error_code{});
    REQUIRE(holder.until([&] { return nodes.holding("b") == 3; }));
    CHECK(revoke_all_of(by, "b").error() == error_code{});
    loss why{};
    CHECK(end_of(holder, held.value(), why) == error_code{});
    CHECK(why == loss::taken);
    CHECK(nodes.holding("b") == 0);
    CHECK(holder.until([&] { return nodes.keys() == 0; }));
    for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).exists("{b}:revoked"));
}

TEST_CASE("locks without fences, and those of other libraries, are deleted", "[revoke]") {
    cluster nodes(3);
    SECTION("plain") {
        driver holder(named(nodes, "plain", false));
        driver by(named(nodes, "by", false));
        auto held = holder.acquire("r", {.ttl = 8s});
        REQUIRE(held.error() == error_code{});
        REQUIRE(holder.until([&] { return nodes.holding("r") == 3; }));
        const auto done = revoke_all_of(by, "r");
        CHECK(done.error() == error_code{});
        CHECK(done.value().revoked == std::vector{brief_owner(held.value(), "plain")});
        CHECK(nodes.keys() == 0);
        loss why{};
        CHECK(end_of(holder, held.value(), why) == error_code{});
        CHECK(why == loss::taken);
    }
    SECTION("another library's, with a value of any length") {
        driver by(nodes.options());
        const std::string value(GENERATE(20, 500), 'x');
        for (std::size_t i = 0; i < 3; ++i) {
            nodes.ask(i).command({"SET", "r", value, "PX", "60000"});
        }
        const auto done = revoke_all_of(by, "r");
        CHECK(done.error() == error_code{});
        CHECK(done.value().revoked == std::vector{abbreviate_owner(value)});
        CHECK(nodes.holding("r") == 0);
    }
    SECTION("what is no lock stays") {
        driver by(nodes.options());
        for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command({"RPUSH", "r", "x"});
        auto shown = by.inspect("r").value();
        shown.owner = "anybody";
        const auto done = revoke_with(by, shown);
        CHECK(done.error() == errc::no_quorum);
        CHECK(done.value().votes[0].error == errc::foreign_data);
        CHECK(nodes.holding("r") == 3);
    }
}

TEST_CASE("a revocation needs a quorum of nodes, and says which did not take part", "[revoke]") {
    cluster nodes(3);
    driver holder(nodes.options());
    driver by(nodes.options());
    auto held = holder.acquire("r", {.ttl = 6s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(holder.until([&] { return nodes.holding("r") == 3; }));
    const auto shown = by.inspect("r").value();
    nodes.kill(2);
    by.await_down("n2");
    SECTION("one is down") {
        const auto done = revoke_with(by, shown);
        CHECK(done.error() == error_code{});
        CHECK(done.value().votes[0].answer == vote::granted);
        CHECK(done.value().votes[2].answer == vote::unreachable);
        CHECK(done.value().votes[2].node == "n2");
        loss why{};
        CHECK(end_of(holder, held.value(), why) == error_code{});
        CHECK(why == loss::taken);
    }
    SECTION("two are down") {
        nodes.kill(1);
        by.await_down("n1");
        const auto done = revoke_with(by, shown);
        CHECK(done.error() == errc::no_quorum);
        CHECK(done.value().votes[0].answer == vote::granted);
    }
}

TEST_CASE("where too few nodes showed their holders, nobody was revoked", "[revoke]") {
    cluster nodes(3);
    driver holder(nodes.options());
    driver by(nodes.options());
    auto held = holder.acquire("r", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(holder.until([&] { return nodes.holding("r") == 3; }));
    nodes.ask(0).del("r");
    for (const std::size_t i : {1U, 2U}) {
        nodes.kill(i);
        by.await_down("n" + std::to_string(i));
    }
    const auto shown = by.inspect("r").value();
    REQUIRE_FALSE(shown.decided);
    const auto done = revoke_with(by, shown);
    CHECK(done.error() == errc::no_quorum);
    CHECK(done.value().revoked.empty());
    CHECK(done.value().votes[0].answer != vote::granted);
    CHECK(done.value().votes[1].answer == vote::unreachable);
    CHECK(done.value().votes[1].error);
    CHECK(revoke_with(by, {.resource = "r", .decided = true}).error() == error_code{});
}

TEST_CASE("a blocking client revokes, too, and a closed one does not", "[revoke]") {
    cluster nodes(3);
    blocking_client holder(nodes.options());
    blocking_client by(nodes.options());
    auto held = holder.acquire("r", {.ttl = 8s});
    REQUIRE(held.has_value());
    const auto shown = by.inspect("r");
    REQUIRE(shown.has_value());
    const auto done = by.revoke(shown.value());
    REQUIRE(done.has_value());
    CHECK(done.value().revoked.size() == 1);
    CHECK(by.acquire("r").has_value());
    REQUIRE(by.close().has_value());
    CHECK(by.revoke(shown.value()).error().code == errc::client_closed);
}

TEST_CASE("release --force names the holders that it revokes, and asks first", "[revoke][tool]") {
    cluster nodes(3);
    driver holder(named(nodes, "till-7"));
    auto held = holder.acquire("r", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(holder.until([&] { return nodes.holding("r") == 3; }));
    const auto run = [&](const call_words& words) {
        const auto got = outcome_on(nodes, words);
        return std::pair(got.status, got.out + got.err);
    };
    const std::string owner = brief_owner(held.value(), "till-7");
    {
        const auto [status, said] = run({"release", "--force", "r"});
        CHECK(status == 125);
        CHECK(said.find("there is no terminal to ask on") != said.npos);
        CHECK(nodes.holding("r") == 3);
    }
    {
        const auto [status, said] = run({"release", "--force", "--yes", "r"});
        INFO(said);
        CHECK(status == 0);
        CHECK(said == "'r' was taken from " + owner + "\n");
        CHECK(nodes.holding("r") == 0);
    }
    {
        const auto [status, said] = run({"release", "--json", "--force", "--yes", "r"});
        CHECK(status == 0);
        CHECK(said.find("\"revoked\":[]") != said.npos);
    }
    for (const auto& wrong : std::vector<std::vector<std::string>>{
             {"release", "r"}, {"release", "--yes"}, {"release", "--force"},
             {"release", "--force", "--token-file", "t", "r"}}) {
        const auto [status, said] = run(wrong);
        INFO(said);
        CHECK(status == 125);
        CHECK(said.find("--force") != said.npos);
    }
    nodes.kill(0);
    nodes.kill(1);
    const auto [status, said] = run({"release", "--force", "--yes", "r"});
    INFO(said);
    CHECK(status == 121);
}
