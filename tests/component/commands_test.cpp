// Tests the commands of the protocol as they stand on the wire; knows no answers.
// SPDX-License-Identifier: MIT
#include "component/support/fake_node.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include "wire/lock.hpp"
#include "wire/questions.hpp"
#include "wire/request.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using resp::script_form;
using fakes::command;

namespace {

command only(const std::string& wire) {
    resp::parser p;
    const auto all = fakes::decode(p, wire);
    REQUIRE(all.size() == 1);
    return all.front();
}

const wire::fence_terms terms{1'700'000'000'000'123, "p:"};
const core::fence_limits limits{15s, 1h};

std::string word(std::string_view of) { return std::string(of); }

// As one command, which holds that request alone.
command alone(const wire::request& what, const std::string& record_key = "p:redlock:node",
              script_form form = script_form::by_hash) {
    REQUIRE_FALSE(what.is_command());
    wire::batch all(record_key);
    all.add(what);
    std::string out;
    all.write(out, form, {"EPOCH", 77}, limits);
    CHECK(all.empty());
    return only(out);
}

}  // namespace

TEST_CASE("a plain lock is taken by the command that every Redlock uses") {
    wire::request out;
    wire::write_acquire(wire::plain_lock, out, {"k", "v", 1500ms}, nullptr, nullptr);
    CHECK(out.is_command());
    CHECK(only(out.words) == command{"SET", "k", "v", "NX", "PX", "1500"});
}

TEST_CASE("a fenced lock names its fence, the node record, the epoch and how long it is good") {
    wire::request out;
    const auto form = GENERATE(script_form::by_hash, script_form::whole);
    const auto& script = resp::requests();
    wire::write_acquire(wire::fenced_lock, out, {"p:k", "v", 1500ms}, &terms);
    const bool whole = form == script_form::whole;
    CHECK(alone(out, "p:redlock:node", form) ==
          command{whole ? "EVAL" : "EVALSHA", word(whole ? script.text : script.sha1), "4",
                  "p:redlock:node", "p:k", "p:{p:k}:fence", "p:{p:k}:queue", "EPOCH", "77",
                  "15000000", "3600000000", "1", "acquire", "v", "1500", "1700000000000123"});
}

TEST_CASE("where the node's clock is not known a command has no time limit") {
    wire::request what;
    wire::write_acquire(wire::fenced_lock, what, {"k", "v", 1500ms}, &terms);
    wire::batch all("N");
    all.add(what);
    std::string out;
    all.write(out, script_form::by_hash, {"", std::nullopt}, limits);
    const command c = only(out);
    CHECK(c[7] == "");
    CHECK(c[8] == "");
}

TEST_CASE("one that waits names its place") {
    wire::request out;
    const wire::queue_entry entry{"client:7", 1'700'000'000'000'001, 2s};
    wire::write_acquire(wire::fenced_lock, out, {"k", "v", 1500ms}, &terms, &entry);
    CHECK(alone(out) ==
          command{"EVALSHA", word(resp::requests().sha1), "4", "p:redlock:node", "k", "p:{k}:fence",
                  "p:{k}:queue", "EPOCH", "77", "15000000", "3600000000", "1", "await", "v", "1500",
                  "1700000000000123", "client:7", "1700000000000001", "2000"});
}

TEST_CASE("a release names the key, and where needed its waiter's entry or the fence to raise") {
    wire::request out;
    const auto fenced = [&](const command& words) {
        command all{"EVALSHA", word(resp::requests().sha1), "4", "p:redlock:node", "k",
                    "p:{k}:fence", "p:{k}:queue", "EPOCH", "77", "15000000", "3600000000", "1"};
        all.insert(all.end(), words.begin(), words.end());
        CHECK(alone(out) == all);
    };
    wire::release_request what{.key = "k", .value = "v"};
    SECTION("plain") {
        wire::write_release(wire::plain_lock, out, what);
        CHECK(alone(out, "") ==
              command{"EVALSHA", word(resp::plain().sha1), "1", "k", "release", "v"});
    }
    what.key_prefix = "p:";
    SECTION("fenced") {
        wire::write_release(wire::fenced_lock, out, what);
        fenced({"release", "v"});
    }
    const wire::queue_entry entry{"client:7", 9, 2s};
    SECTION("of one that waits on") {
        what.entry = &entry;
        wire::write_release(wire::fenced_lock, out, what);
        fenced({"leave", "v", "", "client:7", "9", "2000", "", "", ""});
    }
    SECTION("raising") {
        what.raise = &terms;
        wire::write_release(wire::fenced_lock, out, what);
        fenced({"leave", "v", "1700000000000123", "", "0", "0", "", "", ""});
    }
}

TEST_CASE("many requests are one command, in their order") {
    std::vector<wire::request> each(3);
    wire::write_release(wire::fenced_lock, each[0], {.key = "k", .value = "old", .key_prefix = "p:"});
    wire::write_acquire(wire::fenced_lock, each[1], {"k", "new", 1500ms}, &terms);
    wire::write_extend(wire::fenced_lock, each[2], {"other", "v", 24h}, &terms);
    wire::batch all("p:redlock:node");
    for (const auto& one : each) all.add(one);
    CHECK(all.size() == 3);
    std::string out;
    all.write(out, script_form::by_hash, {"EPOCH", 77}, limits);
    CHECK(all.empty());
    CHECK(all.bytes() == 0);
    CHECK(only(out) ==
          command{"EVALSHA", word(resp::requests().sha1), "10", "p:redlock:node", "k",
                  "p:{k}:fence", "k", "p:{k}:fence", "other", "p:{other}:fence", "p:{k}:queue",
                  "p:{k}:queue", "p:{other}:queue", "EPOCH", "77", "15000000", "3600000000", "3", "release",
                  "old", "acquire", "new", "1500", "1700000000000123", "extend", "v", "86400000",
                  "1700000000000123"});
}

TEST_CASE("one command asks for many waiters, and enters those that have an id") {
    std::string out;
    const wire::wait_request waiters[] = {{"p:k1", {"client:1", 11, 2s}}, {"p:k2", {"", 12, 0s}}};
    wire::write_wait(out, script_form::by_hash, waiters, "p:");
    CHECK(only(out) == command{"EVALSHA", word(resp::wait().sha1), "4", "p:k1", "p:k2",
                               "p:{p:k1}:queue", "p:{p:k2}:queue", "2", "client:1", "", "11", "12",
                               "2000", "0", "0", "0"});
}

TEST_CASE("plain leases are prolonged, and given back, by their keys alone") {
    wire::batch all("");
    wire::request first;
    wire::request second;
    wire::write_extend(wire::plain_lock, first, {"k1", "v1", 24h}, nullptr);
    wire::write_release(wire::plain_lock, second, {.key = "k2", .value = "v2"});
    all.add(first);
    all.add(second);
    std::string out;
    all.write(out, script_form::whole, {}, {});
    CHECK(only(out) == command{"EVAL", word(resp::plain().text), "2", "k1", "k2", "extend", "v1",
                               "86400000", "release", "v2"});
}

TEST_CASE("names may hold any bytes") {
    std::string out;
    const std::string odd("a\r\n\0$1 ", 7);
    wire::write_view(out, script_form::by_hash, odd, "p:", true);
    CHECK(only(out) == command{"EVALSHA", word(resp::look().sha1), "0", "p:", "1", "all", odd});
}
