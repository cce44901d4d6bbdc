// Tests the commands of the protocol as they stand on the wire; knows no answers.
// SPDX-License-Identifier: MIT
#include "component/support/fake_node.hpp"
#include "support/catch.hpp"
#include "wire/resp/scripts.hpp"

#include "wire/acquire.hpp"
#include "wire/extend.hpp"
#include "wire/fenced.hpp"
#include "wire/inspect.hpp"
#include "wire/lock_kind.hpp"
#include "wire/queue_entry.hpp"
#include "wire/release.hpp"
#include "wire/tail.hpp"
#include "wire/wait.hpp"

#include <string>

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

const wire::fence_terms terms{1'700'000'000'000'123, 15s, 120s, "p:", "p:redlock:node"};

std::string text(std::string_view of) { return std::string(of); }

// As the session completes it.
command completed(std::string wire, wire::tail end) {
    CHECK(end != wire::tail::none);
    wire += "$5\r\nEPOCH\r\n";
    if (end == wire::tail::epoch_and_limit) wire += "$5\r\nLIMIT\r\n";
    return only(wire);
}

}  // namespace

TEST_CASE("a plain lock is taken by the command that every Redlock uses") {
    std::string out;
    CHECK(wire::plain_lock.write_acquire(out, script_form::by_hash, {"k", "v", 1500ms}, nullptr,
                                         nullptr) == wire::tail::none);
    CHECK(only(out) == command{"SET", "k", "v", "NX", "PX", "1500"});
}

TEST_CASE("a fenced lock names its fence, the node record, the epoch and how long it is good") {
    std::string out;
    const auto form = GENERATE(script_form::by_hash, script_form::whole);
    const auto& script = resp::acquire();
    const auto end = wire::write_acquire(out, form, {"p:k", "v", 1500ms}, &terms);
    const bool whole = form == script_form::whole;
    CHECK(completed(out, end) ==
          command{whole ? "EVAL" : "EVALSHA", text(whole ? script.text : script.sha1), "4", "p:k",
                  "p:{p:k}:fence", "p:redlock:node", "p:{p:k}:queue", "v", "1500",
                  "1700000000000123", "15000000", "120000", "EPOCH", "LIMIT"});
}

TEST_CASE("one that waits names its place before the epoch") {
    std::string out;
    const wire::queue_entry entry{"client:7", 1'700'000'000'000'001, 2s};
    const auto end =
        wire::write_acquire(out, script_form::by_hash, {"k", "v", 1500ms}, &terms, &entry);
    CHECK(completed(out, end) ==
          command{"EVALSHA", text(resp::acquire().sha1), "4", "k", "p:{k}:fence", "p:redlock:node",
                  "p:{k}:queue", "v", "1500", "1700000000000123", "15000000", "120000", "client:7",
                  "1700000000000001", "2000", "EPOCH", "LIMIT"});
}

TEST_CASE("a release names the key alone, or who is to be woken, or raises the fence") {
    std::string out;
    const auto& script = resp::release();
    wire::release_request what{.key = "k", .value = "v"};
    SECTION("plain") {
        CHECK(wire::plain_lock.write_release(out, script_form::by_hash, what) == wire::tail::none);
        CHECK(only(out) == command{"EVALSHA", text(script.sha1), "1", "k", "v"});
    }
    what.key_prefix = "p:";
    SECTION("fenced") {
        CHECK(wire::write_release(out, script_form::by_hash, what) == wire::tail::none);
        CHECK(only(out) == command{"EVALSHA", text(script.sha1), "2", "k", "p:{k}:queue", "v", "p:",
                                   "", "0", "0"});
    }
    const wire::queue_entry entry{"client:7", 9, 2s};
    SECTION("of one that waits on") {
        what.entry = &entry;
        CHECK(wire::write_release(out, script_form::by_hash, what) == wire::tail::none);
        CHECK(only(out) == command{"EVALSHA", text(script.sha1), "2", "k", "p:{k}:queue", "v", "p:",
                                   "client:7", "9", "2000"});
    }
    SECTION("raising") {
        what.raise = &terms;
        const auto end = wire::write_release(out, script_form::whole, what);
        CHECK(completed(out, end) ==
              command{"EVAL", text(script.text), "4", "k", "p:{k}:queue", "p:{k}:fence",
                      "p:redlock:node", "v", "p:", "", "0", "0", "1700000000000123", "15000000",
                      "120000", "EPOCH"});
    }
}

TEST_CASE("one command asks for many waiters, and enters those that have an id") {
    std::string out;
    const wire::wait_request waiters[] = {{"p:k1", {"client:1", 11, 2s}}, {"p:k2", {"", 12, 0s}}};
    wire::write_wait(out, script_form::by_hash, waiters, "p:");
    CHECK(only(out) == command{"EVALSHA", text(resp::wait().sha1), "4", "p:k1", "p:k2",
                               "p:{p:k1}:queue", "p:{p:k2}:queue", "2", "client:1", "", "11", "12",
                               "2000", "0"});
}

TEST_CASE("one command prolongs many leases") {
    std::string out;
    const auto& script = resp::extend();
    const wire::lease_request leases[] = {{"k1", "v1", 24h}, {"k2", "v2", 1ms}};
    SECTION("plain") {
        CHECK(wire::write_extend(out, script_form::by_hash, leases, nullptr) == wire::tail::none);
        CHECK(only(out) == command{"EVALSHA", text(script.sha1), "2", "k1", "k2", "2", "v1", "v2",
                                   "86400000", "1"});
    }
    SECTION("fenced") {
        const auto end = wire::write_extend(out, script_form::whole, leases, &terms);
        CHECK(completed(out, end) ==
              command{"EVAL", text(script.text), "5", "k1", "k2", "p:{k1}:fence", "p:{k2}:fence",
                      "p:redlock:node", "2", "v1", "v2", "86400000", "1", "1700000000000123",
                      "15000000", "120000", "EPOCH", "LIMIT"});
    }
}

TEST_CASE("names may hold any bytes") {
    std::string out;
    const std::string odd("a\r\n\0$1 ", 7);
    wire::write_get_front(out, odd);
    CHECK(only(out) == command{"GETRANGE", odd, "0", "127"});
    out.clear();
    wire::write_pttl(out, odd);
    CHECK(only(out) == command{"PTTL", odd});
}
