// `redlock list` and `redlock watch` on real servers; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "tool_call.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

tool_outcome listed(cluster& nodes, call_words options = {}) {
    options.insert(options.begin(), "list");
    return outcome_on(nodes, std::move(options));
}

std::size_t line_count(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("list shows what is held, and nothing else", "[list]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto got = listed(nodes);
    CHECK(got.status == 0);
    CHECK(got.out.empty());
    auto a = d.acquire("job:a", {.ttl = 30s});
    auto b = d.acquire("job:b[1]*", {.ttl = 30s});
    auto other = d.acquire("other", {.ttl = 30s});
    auto slot = d.acquire("pool", {.ttl = 30s, .slots = 3});
    auto no_slot = d.acquire("other#1", {.ttl = 30s});
    auto reader = d.acquire("book", {.ttl = 30s, .mode = lock_mode::shared});
    auto gone = d.acquire("gone", {.ttl = 30s});
    REQUIRE(d.release(std::move(gone.value())) == error_code{});
    // What another program keeps under a name is in the way of its lock; a key on a minority
    // is not.
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("job:settings", "{}");
    nodes.ask(0).set_nx_px("job:stray", "x", 30s);
    REQUIRE(d.until([&] { return nodes.holding("gone") == 0; }));
    got = listed(nodes, {"--all"});
    CHECK(line_count(got.out) == 7);
    CHECK(has_text(got.out, "'job:settings' held by {}, without expiry\n"));
    got = listed(nodes);
    INFO(got.out << got.err);
    CHECK(got.status == 0);
    CHECK(line_count(got.out) == 6);
    for (const std::string name : {"'job:a' held by", "'job:b[1]*' held by", "'other' held by", "'other#1' held by",
                                   "'pool' 1 of 3 slots are held", "'book' shared by"}) {
        INFO(name);
        CHECK(has_text(got.out, name));
    }
    got = listed(nodes, {"job:"});
    CHECK(line_count(got.out) == 2);
    got = listed(nodes, {"job:b["});
    CHECK(line_count(got.out) == 1);
    got = listed(nodes, {"--json", "job:a"});
    CHECK(got.out.starts_with("{\"resource\":\"job:a\",\"held\":true,"));
}

TEST_CASE("list goes through more names than one page has", "[list]") {
    cluster nodes(3);
    driver d(nodes.options());
    constexpr std::size_t many = 300;
    for (std::size_t i = 0; i < 3; ++i) {
        auto node = nodes.ask(i);
        for (int n = 0; n < 5'000; ++n) node.set("filler" + std::to_string(n), "x");
    }
    std::vector<outcome<lease>> held(many);
    for (std::size_t i = 0; i < many; ++i) {
        d.client().async_acquire("r" + std::to_string(i), {.ttl = 50s}, held[i].handler());
    }
    for (auto& one : held) REQUIRE(d.finish(one).value());
    const auto got = listed(nodes, {"r"});
    CHECK(got.status == 0);
    CHECK(line_count(got.out) == many);
}

TEST_CASE("list looks at no string of another program by itself", "[list]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("mine", {.ttl = 50s});
    auto slot = d.acquire("pool", {.ttl = 50s, .slots = 3});
    auto reader = d.acquire("book", {.ttl = 50s, .mode = lock_mode::shared});
    const std::string id = "0123456789abcdefghij-_";
    for (std::size_t i = 0; i < 3; ++i) {
        auto node = nodes.ask(i);
        for (int n = 0; n < 3'000; ++n) node.set("cached:" + std::to_string(n), "a value");
        node.set("odd:lease", id + "@host:1");
        node.set("odd:no name", id);
        node.set("odd:no base64url", "0123456789abcdefghij+/@host:1");
        node.set("odd:short", id.substr(1) + "@host:1");
        node.set("odd:long", std::string(1'000'000, 'x'));
        node.set("odd:behind a line", "\n" + id + "@host:1");
    }
    const auto calls = [&] {
        long long sum = 0;
        for (std::size_t i = 0; i < 3; ++i) sum += nodes.ask(i).calls("evalsha");
        return sum;
    };
    const auto before = calls();
    auto got = listed(nodes);
    INFO(got.out << got.err);
    CHECK(got.status == 0);
    CHECK(line_count(got.out) == 4);
    for (const auto* name : {"'mine' held", "'pool' 1 of 3", "'book' shared", "'odd:lease' held"}) {
        CHECK(has_text(got.out, name));
    }
    CHECK(calls() - before < 300);  // one for each page, and for each of the four
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command({"SCRIPT", "FLUSH"});
    CHECK(line_count(listed(nodes).out) == 4);
    got = listed(nodes, {"--all"});
    CHECK(line_count(got.out) == 3'009);
}

TEST_CASE("list reads as many nodes as hold a lock, and others in place of those that fail",
          "[list]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("r", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    const auto is_read = [&](std::size_t i) { return nodes.ask(i).calls("scan") > 0; };
    CHECK(line_count(listed(nodes).out) == 1);
    CHECK(is_read(0));
    CHECK(is_read(1));
    CHECK_FALSE(is_read(2));
    const bool hangs = GENERATE(true, false);
    hangs ? nodes.stop(1) : nodes.kill(1);
    const auto got = listed(nodes);
    INFO(got.err);
    CHECK(got.status == 0);
    CHECK(line_count(got.out) == 1);
    CHECK(is_read(2));
    if (hangs) nodes.cont(1);
}

TEST_CASE("list says that too few nodes answer", "[list]") {
    founded_cluster nodes(3);
    nodes.kill(0);
    CHECK(listed(nodes).status == 0);
    nodes.kill(1);
    const auto got = listed(nodes);
    CHECK(got.status == 121);
    CHECK(has_text(got.err, "redlock doctor"));
}

TEST_CASE("list says that too few nodes tell of one of the resources", "[list]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("held", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    const std::string owner = "0123456789abcdefghij-_@host:1";
    nodes.ask(0).set("odd", owner);
    nodes.ask(1).set("odd", owner);
    nodes.ask(1).command({"PEXPIRE", "odd", "30000"});
    nodes.ask(2).command({"RPUSH", "odd", "x"});
    CHECK(listed(nodes, {"odd"}).status == 0);  // two of three know its holder
    nodes.ask(1).command({"DEL", "odd"});
    nodes.ask(1).command({"RPUSH", "odd", "x"});
    const auto got = listed(nodes);
    INFO(got.out << got.err);
    CHECK(got.status == 121);
    CHECK(has_text(got.out, "'held' held by"));
}

TEST_CASE("watch tells when too few nodes are left to know", "[list]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("r", {.ttl = 50s});
    REQUIRE(held.error() == error_code{});
    tool_process watching({"watch", "--config", nodes.config(), "r"});
    REQUIRE(d.until([&] { return has_text(watching.out(), "'r' held by"); }));
    nodes.kill(0);
    nodes.kill(1);
    CHECK(d.until([&] { return has_text(watching.out(), "'r' unknown: too few nodes answered"); }));
}

TEST_CASE("watch goes on where one node of three is down", "[list]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto held = d.acquire("r", {.ttl = 50s});
    REQUIRE(held.error() == error_code{});
    tool_process watching({"watch", "--config", nodes.config(), "r"});
    REQUIRE(d.until([&] { return has_text(watching.out(), "'r' held by"); }));
    nodes.kill(0);
    d.pass(600ms);  // it notices that at once, and looks several times
    CHECK(line_count(watching.out()) == 1);
    CHECK(d.release(std::move(held.value())) == error_code{});
    CHECK(d.until([&] { return has_text(watching.out(), "'r' free"); }));
    CHECK(line_count(watching.out()) == 2);
}

TEST_CASE("watch prints a line at each change of holder", "[list]") {
    cluster nodes(3);
    driver d(nodes.options());
    const bool json = GENERATE(false, true);
    std::vector<std::string> words{"watch", "--config", nodes.config(), "a", "b"};
    if (json) words.insert(words.begin() + 1, "--json");
    tool_process watching(words);
    const auto sees = [&](const std::string& text, std::size_t lines) {
        REQUIRE(d.until([&] { return line_count(watching.out()) >= lines; }));
        INFO(watching.out());
        CHECK(has_text(watching.out(), text));
        CHECK(line_count(watching.out()) == lines);
    };
    sees(json ? "\"resource\":\"a\",\"state\":\"free\"" : "'a' free", 2);
    auto held = d.acquire("a", {.ttl = 30s});
    REQUIRE(held.error() == error_code{});
    sees(json ? "\"resource\":\"a\",\"state\":\"taken\"" : "'a' held by", 3);
    const auto fence = std::to_string(held.value().fence());
    CHECK(has_text(watching.out(), fence));
    CHECK(d.release(std::move(held.value())) == error_code{});
    sees("free", 4);
    d.pass(600ms);  // two looks: nothing changes, and nothing is said
    CHECK(line_count(watching.out()) == 4);
    auto reader = d.acquire("b", {.ttl = 30s, .mode = lock_mode::shared});
    REQUIRE(reader.error() == error_code{});
    const auto brief = abbreviate_owner(reader.value().owner().to_string() + "@test");
    sees(json ? "\"readers\":[\"" + brief + "\"]" : "'b' shared by " + brief, 5);
    auto slot = d.acquire("a", {.ttl = 30s, .slots = 2});
    REQUIRE(slot.error() == error_code{});
    sees(json ? "\"slots\":[{\"slot\":" : "1 of 2 slots are held", 6);
    watching.send(SIGTERM);
    CHECK(watching.wait() == -SIGTERM);
}
