// The queues that the scripts keep, on a real server; knows nothing of clients and quorums.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/scripted_node.hpp"
#include "wire/resp/command.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr long long now_ms = now_us / 1000;
constexpr long long far_fence = now_us;

const waiter ann{"ann:1", 100};
const waiter bob{"bob:1", 200};
const waiter cid{"cid:1", 300};

using ear = wake_listener;

/// The clock of its scripts stands still until it is set; key and queue are K and Q.
class queue_node : public scripted_node {
public:
    long long clock_ms = now_ms;
    std::string prefix{};

    std::string run(std::string_view script, const std::vector<std::string>& keys,
                    const std::vector<std::string>& args) {
        return eval(with_held_clock(script, clock_ms * 1000), keys, args);
    }
    terms here() const {
        return {.record = prefix.empty() ? "N" : prefix + "redlock:node",
                .clock_us = clock_ms * 1000};
    }
    /// The key has the prefix, and its companions are F and Q all the same.
    asked of_k(asked what) const {
        what.key = prefix + what.key;
        return what;
    }
    std::string acquire(const std::string& owner, const waiter* who = nullptr,
                        long long fence = far_fence) {
        const asked what = of_k(to_acquire("K", fence, owner));
        return request({who != nullptr ? as_waiter(what, *who) : what}, here());
    }
    std::string release(const std::string& owner) {
        return request({of_k(to_release("K", owner))}, here());
    }
    std::string release(const std::string& owner, const waiter& who) {
        return request({as_waiter(of_k(to_release("K", owner)), who)}, here());
    }
    std::string leave(const waiter& who, const std::string& owner = "nobody's") {
        return release(owner, {who.id, who.ticket, 0});
    }
    std::string wait(const waiter& who) {
        return run(resp::wait().text, {prefix + "K", "Q"},
                   {"1", who.id, text(who.ticket), text(who.life_ms), "0"});
    }
    /// In their order, each with the ms that its entry has to live.
    std::string queue() {
        std::string out;
        for (const auto& r : command({"ZRANGE", "Q", "0", "-1"}).items) {
            const auto colon = r.text.rfind(':');
            out += (out.empty() ? "" : " ") + r.text.substr(0, colon) + "+" +
                   text(std::stoll(r.text.substr(colon + 1)) - clock_ms);
        }
        return out;
    }
    long long length() { return command({"ZCARD", "Q"}).number; }
    /// So many with small tickets, of clients of their own.
    void fill(long long count, long long until_ms) {
        command({"EVAL",
                 "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], 0, "
                 "'x' .. i .. ':1:' .. ARGV[2]) end",
                 "1", "Q", text(count), text(until_ms)});
    }
};

// The answer to a waiter of a key that is free, and before which nobody stands.
const std::string free_at_once = "{{0 0 }}";
const std::string their_id = theirs.substr(0, 23);

}  // namespace

TEST_CASE("a waiter that is refused is entered, in the order of the tickets", "[scripts]") {
    queue_node n;
    n.set("K", theirs);
    CHECK(n.acquire(ours, &cid) == "{2 -1 " + theirs + " 0 0}");
    CHECK(n.acquire(ours, &bob) == "{2 -1 " + theirs + " 0 0}");
    CHECK(n.acquire(ours, &ann) == "{2 -1 " + theirs + " 0 0}");
    CHECK(n.queue() == "ann:1+2000 bob:1+2000 cid:1+2000");
    n.clock_ms += 500;
    // What the first had left at that command.
    CHECK(n.acquire(ours, &cid) == "{2 -1 " + theirs + " 0 1500}");
    CHECK(n.queue() == "ann:1+1500 bob:1+1500 cid:1+2000");
    // All stand before one that does not wait.
    CHECK(n.acquire(ours) == "{2 -1 " + theirs + " 0 1500}");
    CHECK(n.length() == 3);
}

TEST_CASE("a free key is granted in turn, and the queue is left with it", "[scripts]") {
    queue_node n;
    n.wait(cid);
    n.wait(bob);
    n.wait(ann);
    CHECK(n.acquire(ours, &cid) == "{3 2000 0}");
    CHECK(n.acquire(ours, &bob) == "{3 2000 0}");
    CHECK(n.acquire(ours) == "{3 2000 0}");
    CHECK_FALSE(n.exists("K"));
    CHECK_FALSE(n.exists("F"));
    SECTION("to the first") { CHECK(n.acquire(ours, &ann) == "1"); }
    SECTION("to a waiter that is not in the queue and has an earlier ticket") {
        const waiter old{"old:1", 50};
        CHECK(n.acquire(ours, &old) == "1");
        CHECK(n.queue() == "ann:1+2000 bob:1+2000 cid:1+2000");
        return;
    }
    CHECK(n.get("K") == ours);
    CHECK(n.queue() == "bob:1+2000 cid:1+2000");
}

TEST_CASE("one that waits and comes later is entered behind", "[scripts]") {
    queue_node n;
    n.wait(bob);
    CHECK(n.acquire(ours, &cid) == "{3 2000 0}");
    CHECK(n.queue() == "bob:1+2000 cid:1+2000");
    n.set("F", "77");
    CHECK(n.acquire(ours, &cid) == "{3 2000 77}");
}

TEST_CASE("of two with one ticket the smaller id is first", "[scripts]") {
    queue_node n;
    const waiter a{"aaa:1", 100};
    const waiter b{"aab:1", 100};
    n.wait(b);
    n.wait(a);
    CHECK(n.queue() == "aaa:1+2000 aab:1+2000");
    CHECK(n.acquire(ours, &b) == "{3 2000 0}");
    CHECK(n.acquire(ours, &a) == "1");
    n.del("K");
    CHECK(n.acquire(ours, &b) == "{4 " + text(far_fence) + "}");
    CHECK(n.acquire(ours, &b, far_fence + 1) == "1");
    CHECK(n.length() == 0);
}

TEST_CASE("the largest tickets are distinguished", "[scripts]") {
    queue_node n;
    const waiter one{"z:1", highest_fence - 1};
    const waiter two{"a:1", highest_fence};
    n.wait(two);
    n.wait(one);
    CHECK(n.queue() == "z:1+2000 a:1+2000");
    CHECK(n.acquire(ours, &two) == "{3 2000 0}");
    n.set("K", theirs);
    n.leave(two);
    CHECK(n.queue() == "z:1+2000");
}

TEST_CASE("an entry counts until its last ms, and goes when somebody looks", "[scripts]") {
    queue_node n;
    n.wait(ann);
    n.clock_ms += 1999;
    CHECK(n.acquire(ours, &bob) == "{3 1 0}");
    n.clock_ms += 1;
    CHECK(n.acquire(ours, &bob) == "1");
    CHECK(n.queue().empty());
}

TEST_CASE("a waiter that is refreshed lives on in its place", "[scripts]") {
    queue_node n;
    n.wait(ann);
    n.wait(bob);
    n.clock_ms += 1500;
    CHECK(n.wait(ann) == free_at_once);
    CHECK(n.queue() == "ann:1+2000 bob:1+500");
    n.clock_ms += 600;
    CHECK(n.wait(bob) == "{{1400 1400 }}");
    CHECK(n.queue() == "ann:1+1400 bob:1+2000");
    // One of another number, or a longer name, is another.
    n.leave({"ann:11", 100});
    n.leave({"an", 100});
    n.leave({"ann:1", 101});
    CHECK(n.queue() == "ann:1+1400 bob:1+2000");
}

TEST_CASE("the queue of a key runs out twice as late as its last entry", "[scripts]") {
    queue_node n;
    n.wait(ann);
    CHECK(n.pttl("Q") <= 4s);
    CHECK(n.pttl("Q") > 2s);
    n.wait({"bob:1", 200, 60'000});
    CHECK(n.pttl("Q") > 60s);
    CHECK(n.pttl("Q") <= 120s);
}

TEST_CASE("the dead go a bounded number at a time", "[scripts]") {
    queue_node n;
    n.fill(1'500, now_ms);
    n.set("F", "100");
    CHECK(n.acquire(ours, &ann, 101) == "{3 1 100}");  // perhaps somebody is left behind them
    CHECK(n.length() == 1'500 - 1'024 + 1);
    n.wait(bob);
    CHECK(n.queue() == "ann:1+2000 bob:1+2000");
}

TEST_CASE("a full queue takes no new waiter, and keeps those that are in it", "[scripts]") {
    queue_node n;
    n.fill(65'535, now_ms + 2000);
    n.set("K", theirs);
    n.wait(ann);
    CHECK(n.length() == 65'536);
    CHECK(n.wait(bob) == "{{-1 2000 " + their_id + "}}");
    CHECK(n.acquire(ours, &bob) == "{2 -1 " + theirs + " 0 2000}");
    n.release("nobody's", bob);
    CHECK(n.length() == 65'536);
    n.clock_ms += 100;
    n.wait(ann);
    CHECK(n.length() == 65'536);
    CHECK(n.command({"ZSCORE", "Q", "ann:1:" + text(n.clock_ms + 2000)}).text == "100");
}

TEST_CASE("a queue that is none is left alone, and hinders those alone that may have to stand in it",
          "[scripts]") {
    queue_node n;
    std::string kind;
    SECTION("a string") {
        n.set("Q", "x");
        kind = "string";
    }
    SECTION("a list") {
        n.make_list("Q");
        kind = "list";
    }
    CHECK(n.wait(ann).front() == '{');
    CHECK(n.acquire(ours) == "!WRONGTYPE");
    CHECK(n.acquire(ours, &ann, far_fence + 1) == "!WRONGTYPE");
    CHECK_FALSE(n.exists("K"));
    n.set("K", ours);
    CHECK(n.acquire(theirs, &ann).substr(0, 3) == "{2 ");
    CHECK(n.release("nobody's", bob) == "0");
    CHECK(n.release(ours) == "1");
    CHECK(n.leave(ann) == "-1");
    n.set("K", ours);
    CHECK(n.release(ours, {"ann:1", 100, 0}) == "1");
    CHECK(n.type("Q") == kind);
    CHECK(n.pttl("Q") == -1ms);
}

TEST_CASE("entries of another make count as dead", "[scripts]") {
    queue_node n;
    n.command({"ZADD", "Q", "-inf", "x", "1", "::", "2", "y:z:1e99", "3", "", "inf", "a:1:inf"});
    SECTION("for an acquire") { CHECK(n.acquire(ours) == "1"); }
    SECTION("for one that waits") { CHECK(n.acquire(ours, &ann) == "1"); }
    SECTION("for a refresh") { CHECK(n.wait(ann) == free_at_once); }
    SECTION("for a release") {
        ear a("ann");
        n.set("K", ours);
        n.wait(ann);
        CHECK(n.release(ours) == "1");
        CHECK(a.heard() == "K");
    }
    CHECK(n.length() <= 2);
}

TEST_CASE("a release tells the first in the queue, and nobody else", "[scripts]") {
    queue_node n;
    n.prefix = GENERATE("", "app:");
    const bool is_for_good = GENERATE(false, true);
    ear a("ann", n.prefix);
    ear b("bob", n.prefix);
    n.set(n.prefix + "K", ours);
    n.wait(bob);
    n.wait(ann);
    CHECK(n.release(theirs) == "0");
    CHECK(a.heard().empty());
    const asked last = is_for_good ? to_release_for_good("K", far_fence) : to_release("K");
    CHECK(n.request({n.of_k(last)}, n.here()) == "1");
    CHECK(a.heard() == "K");
    CHECK(b.heard().empty());
    CHECK(n.queue() == "ann:1+2000 bob:1+2000");
    // It is free already: no waiter gets a second message.
    CHECK(n.release(ours) == "-1");
    CHECK(a.heard().empty());
}

TEST_CASE("a release passes over waiters that don't listen, and over dead ones", "[scripts]") {
    queue_node n;
    ear a("ann");
    ear c("cid");
    n.set("K", ours);
    n.wait({"ann:1", 100, 100});
    n.wait(bob);
    n.wait(cid);
    n.clock_ms += 100;
    CHECK(n.release(ours) == "1");
    CHECK(a.heard().empty());
    CHECK(c.heard() == "K");
    CHECK(n.queue() == "cid:1+1900");
}

TEST_CASE("a release passes over a bounded number of waiters that don't listen", "[scripts]") {
    queue_node n;
    ear a("ann");
    n.fill(1'100, now_ms + 2000);
    n.wait(ann);
    n.set("K", ours);
    CHECK(n.release(ours) == "1");
    CHECK(n.length() == 1'101 - 1'024);
    CHECK(a.heard().empty());
}

TEST_CASE("one that gives its votes back and waits on stays, and is not woken by that",
          "[scripts]") {
    queue_node n;
    ear a("ann");
    ear b("bob");
    n.set("K", ours);
    SECTION("first") {
        n.wait(bob);
        CHECK(n.release(ours, ann) == "1");
        CHECK(n.queue() == "ann:1+2000 bob:1+2000");
        CHECK(b.heard().empty());
    }
    SECTION("behind another, which hears of it") {
        n.wait(ann);
        CHECK(n.release(ours, bob) == "1");
        CHECK(n.queue() == "ann:1+2000 bob:1+2000");
        CHECK(a.heard() == "K");
        CHECK(b.heard().empty());
        return;
    }
    SECTION("where it had no vote") {
        n.set("K", theirs);
        CHECK(n.release(ours, ann) == "0");
        CHECK(n.queue() == "ann:1+2000");
    }
    CHECK(a.heard().empty());
}

TEST_CASE("a waiter that leaves wakes the next one where the key is free", "[scripts]") {
    queue_node n;
    ear a("ann");
    ear b("bob");
    n.wait(bob);
    n.wait(ann);
    SECTION("free") {
        CHECK(n.leave(ann) == "-1");
        CHECK(b.heard() == "K");
    }
    SECTION("its own") {
        n.set("K", ours);
        CHECK(n.leave(ann, ours) == "1");
        CHECK(b.heard() == "K");
        CHECK_FALSE(n.exists("K"));
    }
    SECTION("held by somebody else") {
        n.set("K", theirs);
        CHECK(n.leave(ann) == "0");
        CHECK(b.heard().empty());
    }
    SECTION("of another type") {
        n.make_list("K");
        CHECK(n.leave(ann) == "!WRONGTYPE");
        CHECK(b.heard().empty());
    }
    CHECK(a.heard().empty());
    CHECK(n.queue() == "bob:1+2000");
    // It was not there: nothing has changed.
    n.del("K");
    CHECK(n.leave(ann) == "-1");
    CHECK(b.heard().empty());
}

TEST_CASE("one that has the key already is granted again, and leaves the queue", "[scripts]") {
    queue_node n;
    n.set("K", ours);
    n.wait(bob);
    n.wait(ann);
    CHECK(n.acquire(ours, &bob) == "1");
    CHECK(n.queue() == "ann:1+2000");
}

TEST_CASE("what is not granted for its fence keeps its place", "[scripts]") {
    queue_node n;
    n.set("F", "100");
    n.wait(ann);
    CHECK(n.acquire(ours, &ann, 100) == "{4 100}");
    CHECK(n.queue() == "ann:1+2000");
    n.set("N", other_epoch);
    CHECK(n.acquire(ours, &ann, 101) == "+AMNESIAC");
    CHECK(n.acquire(ours, &bob, 101) == "+AMNESIAC");
    CHECK(n.queue() == "ann:1+2000");
}

TEST_CASE("a wait for many keys at once is answered in their order", "[scripts]") {
    queue_node n;
    n.set("endless", theirs);
    n.take("held", theirs, 60s);
    n.run(resp::wait().text, {"taken", "taken:Q"}, {"1", "ann:1", "100", "2000", "0"});
    n.clock_ms += 500;
    const auto said = n.run(resp::wait().text,
                            {"free", "endless", "held", "taken", "asks", "free:Q", "endless:Q",
                             "held:Q", "taken:Q", "taken:Q"},
                            {"5", "bob:1", "bob:2", "bob:3", "bob:4", "", "11", "12", "13", "200",
                             "0", "2000", "2000", "2000", "2000", "0", "0", "0", "0", "0", "0"});
    REQUIRE(n.last().items.size() == 5);
    CHECK(n.last().items[0].items.at(0).number == 0);
    CHECK(n.last().items[1].items.at(0).number == -1);
    CHECK(n.last().items[2].items.at(0).number > 50'000);
    CHECK(n.last().items[2].items.at(0).number <= 60'001);
    CHECK(n.last().items[3].items.at(0).number == 1500);
    CHECK(n.last().items[4].items.at(0).number == 1500);
    for (const auto* q : {"free:Q", "endless:Q", "held:Q"}) {
        CHECK(n.command({"ZCARD", q}).number == 1);
    }
    CHECK(n.command({"ZCARD", "taken:Q"}).number == 2);
}

TEST_CASE("a wait answers the first 23 characters of the value, by which a foreign one is known",
          "[scripts]") {
    queue_node n;
    n.wait(bob);
    n.set("K", std::string(300, 'x'));
    CHECK(n.wait(ann) == "{{-1 0 " + std::string(23, 'x') + "}}");
    n.clock_ms += 500;
    CHECK(n.wait(cid) == "{{-1 1500 " + std::string(23, 'x') + "}}");
    n.command({"DEL", "K"});
    n.make_list("K");
    CHECK(n.wait(ann) == "{{-1 0 }}");
}

TEST_CASE("as many as a client asks for at once fit into one command", "[scripts]") {
    queue_node n;
    std::vector<std::string> keys;
    std::vector<std::string> args{"256"};
    for (int i = 0; i < 256; ++i) keys.push_back("k" + text(i));
    for (int i = 0; i < 256; ++i) keys.push_back("k" + text(i) + ":Q");
    for (int i = 0; i < 256; ++i) args.push_back("ann:" + text(i));
    for (int i = 0; i < 256; ++i) args.push_back(text(i));
    args.insert(args.end(), 256, "2000");
    args.insert(args.end(), 256, "0");
    n.run(resp::wait().text, keys, args);
    REQUIRE(n.last().items.size() == 256);
    for (const auto& item : n.last().items) CHECK(item.items.at(0).number == 0);
    for (const auto* q : {"k0:Q", "k255:Q"}) CHECK(n.command({"ZCARD", q}).number == 1);
}

TEST_CASE("where memory has run out nobody new stands in line, and votes are as before",
          "[scripts]") {
    queue_node n;
    ear b("bob");
    n.set("F", "100");
    n.set("K", theirs);
    n.wait(bob);
    n.run_out_of_memory();
    CHECK(n.acquire(ours, &ann) == "{2 -1 " + theirs + " 100 0}");
    CHECK(n.queue() == "bob:1+2000");
    CHECK(n.wait(ann) == "{{-1 0 " + their_id + "}}");
    n.clock_ms += 500;
    n.wait(bob);
    CHECK(n.queue() == "bob:1+2000");
    CHECK(n.release(theirs, {"ann:1", 100, 0}) == "1");
    CHECK(b.heard() == "K");
    CHECK(n.leave(bob) == "-1");
    CHECK(n.length() == 0);
    n.config_set("maxmemory", "0");
}

TEST_CASE("without the right to publish the answers are the same", "[scripts]") {
    queue_node n;
    ear a("ann");
    n.set("K", ours);
    n.wait(ann);
    n.acl_setuser({"silent", "on", ">x", "~*", "+@all", "resetchannels"});
    direct silent(scripted_node::server().port());
    REQUIRE(silent.command({"AUTH", "silent", "x"}).text == "OK");
    const auto said = silent.command({"EVAL", with_held_clock(resp::requests().text), "4", "N", "K",
                                      "F", "Q", epoch, "", text(tolerance_us), "0", "1",
                                      "release", ours});
    CHECK(show(said) == "1");
    CHECK_FALSE(n.exists("K"));
    CHECK(a.heard().empty());
    CHECK(n.queue() == "ann:1+2000");
    n.command({"ACL", "DELUSER", "silent"});
}

TEST_CASE("one that has no entry stands at its ticket all the same", "[scripts]") {
    queue_node n;
    n.set("F", "100");
    n.wait(bob);
    const waiter earlier{"ann:1", bob.ticket - 1, 0};
    const waiter later{"cid:1", bob.ticket + 1, 0};
    CHECK(n.wait(earlier) == free_at_once);
    CHECK(n.wait(later) == "{{2000 2000 }}");
    CHECK(n.acquire(ours, &later, 101) == "{3 2000 100}");
    CHECK(n.queue() == "bob:1+2000");
    CHECK(n.acquire(ours, &earlier, 101) == "1");
    CHECK(n.queue() == "bob:1+2000");
}

TEST_CASE("a queue lives for as long as its longest entry", "[scripts]") {
    queue_node n;
    n.wait({"bob:1", 200, 30'000});
    n.wait(ann);
    CHECK(n.pttl("Q") > 30s);
}
