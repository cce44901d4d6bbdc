// The requests to a node for a slot, rule by rule on a real server; knows nothing of clients and
// quorums.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/scripted_node.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <bitset>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string others = "CCCCCCCCCCCCCCCCCCCCCC@else:3";
constexpr long long begun_us = 1'700'000'000'000'000;

/// The clock of its scripts stands still until it is set. The slots are those of K.
class slot_node : public scripted_node {
public:
    long long clock_us = begun_us;

    static asked of_slot(asked what, int slot, int slots) {
        what.fence_key = what.key + "#" + text(slot) + ":F";
        what.key += "#" + text(slot);
        what.slot = text(slot);
        what.slots = text(slots);
        what.slot_set = "K:S";
        return what;
    }
    std::string ask(const asked& what) { return request({what}, {epoch, {}, "N", clock_us}); }
    std::string take(int slot, int slots, const std::string& owner, long long fence,
                     long long ttl_ms = 30'000) {
        return ask(of_slot(to_acquire("K", fence, owner, ttl_ms), slot, slots));
    }
    /// Those at once.
    static asked of_all(asked what, const std::vector<int>& all, int slots) {
        what = of_slot(std::move(what), all.front(), slots);
        for (const int slot : std::vector<int>(all.begin() + 1, all.end())) {
            const std::string key = "K#" + text(slot);
            what.others.push_back({key, key + ":F", what.queue});
            what.slot += "," + text(slot);
        }
        return what;
    }
    std::string take_all(const std::vector<int>& all, int slots, const std::string& owner,
                         long long ttl_ms = 30'000) {
        return ask(of_all(to_acquire("K", ++clock_us, owner, ttl_ms), all, slots));
    }
    std::string take_all(const std::vector<int>& all, int slots, const std::string& owner,
                         const waiter& who) {
        return ask(of_all(as_waiter(to_acquire("K", ++clock_us, owner), who), all, slots));
    }
    std::string give_all_back(const std::vector<int>& all, int slots, const std::string& owner) {
        return ask(of_all(to_release("K", owner), all, slots));
    }
    long long wait(const waiter& who, int slots) {
        eval(with_held_clock(resp::wait().text, clock_us), {"K:S", "Q"},
             {"1", who.id, text(who.ticket), text(who.life_ms), text(slots)});
        return last().items.at(0).items.at(0).number;
    }
    std::string take(int slot, int slots, const std::string& owner, const waiter& who) {
        return ask(of_slot(as_waiter(to_acquire("K", ++clock_us, owner), who), slot, slots));
    }
    std::string give_back(int slot, int slots, const std::string& owner) {
        return ask(of_slot(to_release("K", owner), slot, slots));
    }
    std::string leave(int slot, int slots, const std::string& owner, const waiter& who) {
        return ask(of_slot(as_waiter(to_release("K", owner), who), slot, slots));
    }
    /// The last answer's map: slot 0 first.
    std::string free() const {
        std::string out;
        for (const char c : last().items.at(5).text) {
            const std::bitset<8> bits(static_cast<unsigned char>(c));
            for (std::size_t i = 0; i < 8; ++i) out += bits[i] ? '1' : '0';
        }
        return out.substr(0, static_cast<std::size_t>(last().items.at(6).number));
    }
    bool was_refused() const { return last().items.size() == 8 && last().items[0].number == 6; }
    long long left_ms() const { return last().items.at(1).number; }
};

}  // namespace

TEST_CASE("a slot is a lock with a key and a fence of its own", "[scripts]") {
    slot_node n;
    CHECK(n.take(1, 3, ours, begun_us) == "1");
    CHECK(n.get("K#1") == ours);
    CHECK(n.lives("K#1", 30s));
    CHECK(n.get("K#1:F") == text(begun_us));
    CHECK_FALSE(n.exists("K"));
    CHECK(n.take(2, 3, theirs, begun_us) == "1");
    CHECK(n.take(1, 3, ours, begun_us + 1, 60'000) == "1");  // again
    CHECK(n.lives("K#1", 60s));
    CHECK(n.get("K#1:F") == text(begun_us + 1));
    CHECK(n.give_back(1, 3, ours) == "1");
    CHECK_FALSE(n.exists("K#1"));
    CHECK(n.take(1, 3, others, begun_us + 1) == "{4 " + text(begun_us + 1) + "}");
    CHECK(n.take(1, 3, others, begun_us + 2) == "1");
}

TEST_CASE("a slot that is taken names its holder, the free ones and when one will be",
          "[scripts]") {
    slot_node n;
    n.take(0, 10, ours, begun_us, 30'000);
    n.take(8, 10, theirs, begun_us, 5'000);
    n.take(0, 10, others, begun_us);
    REQUIRE(n.was_refused());
    CHECK(n.left_ms() == 0);
    CHECK(n.last().items[2].text == ours);
    CHECK(n.free() == "0111111101");
    for (int i = 0; i < 10; ++i) n.take(i, 10, others, begun_us, 20'000);
    REQUIRE(n.was_refused() == false);
    n.take(3, 10, ours, begun_us);
    REQUIRE(n.was_refused());
    CHECK(n.free() == "0000000000");
    CHECK(n.left_ms() == 5'000);  // of slot 8
}

TEST_CASE("a slot that somebody else holds is not free, whatever the set says", "[scripts]") {
    slot_node n;
    n.set("K#0", "foreign");
    n.take(0, 2, ours, begun_us);
    REQUIRE(n.was_refused());
    CHECK(n.free() == "01");
    CHECK(n.get("K#0") == "foreign");
    n.make_list("K:S");
    CHECK(n.take(1, 2, ours, begun_us) == "!WRONGTYPE");  // there may be fewer than two
    CHECK_FALSE(n.exists("K#1"));
    CHECK(n.command({"TYPE", "K:S"}).text == "list");
}

TEST_CASE("of different numbers of slots the smallest counts, as long as a slot is taken by it",
          "[scripts]") {
    slot_node n;
    const long long ttl_ms = GENERATE(60'000, 15'000, 1'000);
    const long long counts_ms = std::max(ttl_ms, 15'000LL);  // so long programs can learn of it
    CHECK(n.take(0, 3, ours, begun_us, ttl_ms) == "1");
    n.take(4, 5, theirs, begun_us);
    REQUIRE(n.was_refused());
    CHECK(n.free() == "011");
    CHECK_FALSE(n.exists("K#4"));
    CHECK(n.take(2, 5, theirs, begun_us) == "1");
    n.clock_us += counts_ms * 1'000 - 1'000;
    n.take(4, 5, others, n.clock_us);
    CHECK(n.was_refused());
    n.clock_us += 2'000;
    CHECK(n.take(4, 5, others, n.clock_us) == "1");
}

TEST_CASE("no slot is taken for less than a period that somebody names, while that counts",
          "[scripts]") {
    slot_node n;
    const auto limited = [&](const std::string& slots, int slot, long long ttl_ms) {
        asked what = n.of_slot(to_acquire("K", n.clock_us, text(slot) + ours, ttl_ms), slot, 3);
        what.slots = slots;
        return n.ask(what);
    };
    CHECK(limited("3/1000", 0, 1'100) == "1");  // nobody has named more by now
    CHECK(limited("3/60000", 1, 61'000) == "1");
    CHECK(limited("3/1000", 2, 1'100) == "{7 60000}");
    CHECK(limited("3/1000", 1, 1'100) == "{7 60000}");  // also where it is taken
    CHECK(limited("3", 2, 59'999) == "{7 60000}");
    CHECK_FALSE(n.exists("K#2"));
    CHECK(limited("2/1000", 0, 60'000) == "1");
    n.take(2, 3, others, n.clock_us, 60'000);
    REQUIRE(n.was_refused());
    CHECK(n.free().size() == 2);  // their number counts as before
    n.clock_us += 61'001'000;
    CHECK(limited("3/1000", 2, 1'100) == "1");
}

TEST_CASE("a shorter lease does not shorten for how long a number of slots counts", "[scripts]") {
    slot_node n;
    CHECK(n.take(0, 3, ours, begun_us, 60'000) == "1");
    CHECK(n.take(1, 3, theirs, begun_us, 5'000) == "1");
    CHECK(n.lives("K:S", 60s));
    n.clock_us += 59'000'000;
    n.take(4, 5, others, n.clock_us);
    CHECK(n.was_refused());
}

TEST_CASE("a set that lost its expiry lives as long as the last of what is in it", "[scripts]") {
    slot_node n;
    CHECK(n.take(4, 5, ours, begun_us, 60'000) == "1");
    CHECK(n.take(0, 2, theirs, begun_us, 60'000) == "1");
    n.command({"PERSIST", "K:S"});
    CHECK(n.ask(slot_node::of_slot(to_extend("K", n.clock_us, ours, 5'000), 4, 5)) == "1");
    CHECK(n.lives("K:S", 60s));
    n.clock_us += 59'000'000;
    n.take(2, 5, others, n.clock_us);
    CHECK(n.was_refused());
}

TEST_CASE("what a long lease named counts no longer than others have a slot, once it is over",
          "[scripts]") {
    slot_node n;
    CHECK(n.take(0, 3, ours, begun_us, 60'000) == "1");
    CHECK(n.take(1, 3, theirs, begun_us, 40'000) == "1");
    asked first = slot_node::of_slot(to_release("K", ours), 0, 3);
    asked second = slot_node::of_slot(to_release("K", theirs), 1, 3);
    first.is_long = second.is_long = "1";
    CHECK(n.ask(first) == "1");
    CHECK(n.lives("K:S", 40s));
    n.take(3, 5, others, begun_us);
    CHECK(n.was_refused());
    CHECK(n.ask(second) == "1");
    CHECK(n.lives("K:S", 15s));
}

TEST_CASE("a number of slots counts for as long as one of them is kept", "[scripts]") {
    slot_node n;
    CHECK(n.take(0, 2, ours, begun_us, 10'000) == "1");
    CHECK(n.ask(slot_node::of_slot(to_keep("K", 50'000), 0, 2)) == "1");
    CHECK(n.lives("K:S", 50s));
    n.clock_us += 49'000'000;
    n.take(2, 3, theirs, n.clock_us);
    CHECK(n.was_refused());
    n.clock_us += 2'000'000;
    CHECK(n.take(2, 3, theirs, n.clock_us) == "1");
}

TEST_CASE("what is noted of slots ends one by one while others go on, and in the end as a whole",
          "[scripts]") {
    slot_node n;
    CHECK(n.take(0, 9, ours, begun_us, 20'000) == "1");
    for (int k = 1; k <= 8; ++k) {  // programs that name another number each, now and then
        CHECK(n.take(k, 9 + k, theirs, n.clock_us, 1'000) == "1");
        n.clock_us += 10'000'000;
        CHECK(n.ask(slot_node::of_slot(to_extend("K", n.clock_us, ours, 20'000), 0, 9)) == "1");
    }
    // The slot and the number of the holders that go on, and the number that was named 10 s ago.
    CHECK(n.command({"ZRANGE", "K:S", "0", "-1"}).items.size() == 3);
    CHECK(n.give_back(0, 9, ours) == "1");
    CHECK(n.pttl("K:S") <= 20s);
}

TEST_CASE("a number of slots counts while a holder that named it extends its lease", "[scripts]") {
    slot_node n;
    CHECK(n.take(0, 2, ours, begun_us) == "1");
    for (int i = 0; i < 4; ++i) {
        n.clock_us += 60'000'000;
        CHECK(n.ask(slot_node::of_slot(to_extend("K", n.clock_us, ours, 90'000), 0, 2)) == "1");
    }
    n.take(2, 3, theirs, n.clock_us);
    CHECK(n.was_refused());
    n.command({"DEL", "K:S"});  // a node that forgot learns of it again
    CHECK(n.ask(slot_node::of_slot(to_extend("K", n.clock_us, ours, 90'000), 0, 2)) == "1");
    n.take(2, 3, theirs, n.clock_us);
    CHECK(n.was_refused());
    CHECK(n.last().items.at(6).number == 2);
}

TEST_CASE("as many are let in as there are free slots, first come, first served", "[scripts]") {
    slot_node n;
    wake_listener a("ann");
    wake_listener b("bob");
    wake_listener c("cid");
    for (int i = 0; i < 3; ++i) n.take(i, 3, ours, begun_us);
    const waiter ann{"ann:1", 100};
    const waiter bob{"bob:1", 101};
    const waiter cid{"cid:1", 102};
    for (const auto* w : {&ann, &bob, &cid}) {
        n.take(0, 3, theirs, *w);
        REQUIRE(n.was_refused());
    }
    CHECK(n.command({"ZCARD", "Q"}).number == 3);
    n.give_back(1, 3, ours);
    n.take(1, 3, theirs, bob);
    CHECK(n.was_refused());  // behind ann
    n.give_back(2, 3, ours);
    n.take(2, 3, theirs, cid);
    CHECK(n.was_refused());  // behind both
    CHECK(n.take(2, 3, theirs, bob) == "1");
    CHECK(n.take(1, 3, others, ann) == "1");
    CHECK(n.command({"ZCARD", "Q"}).number == 1);
    n.clock_us += 1'000'000;
    n.take(0, 3, others, n.clock_us);  // would not wait, and must not pass
    CHECK(n.was_refused());
}

TEST_CASE("a slot that is given back wakes the first waiter, and a waiter that leaves the next",
          "[scripts]") {
    slot_node n;
    wake_listener ann("ann");
    wake_listener bob("bob");
    for (int i = 0; i < 2; ++i) n.take(i, 2, ours, begun_us);
    n.take(0, 2, theirs, {"ann:1", 100});
    n.take(0, 2, theirs, {"bob:1", 101});
    n.give_back(1, 2, ours);
    CHECK(ann.heard() == "K#1");
    CHECK(bob.heard().empty());
    CHECK(n.leave(1, 2, theirs, {"ann:1", 100, 0}) == "-1");
    CHECK(bob.heard() == "K#1");
}

TEST_CASE("a wait for a slot answers the time until one is free", "[scripts]") {
    slot_node n;
    const auto wait = [&](const waiter& who) { return n.wait(who, 2); };
    CHECK(wait({"ann:1", 100}) == 0);
    n.take(0, 2, ours, {"ann:1", 100});
    n.take(1, 2, ours, begun_us, 5'000);
    CHECK(wait({"ann:1", 101}) == 5'001);
    n.give_back(1, 2, ours);
    CHECK(wait({"ann:1", 101}) == 0);
    CHECK(wait({"bob:1", 102}) == 2'000);  // behind ann
}

TEST_CASE("a slot is prolonged, taken again and kept as a lock is", "[scripts]") {
    slot_node n;
    n.take(0, 2, ours, begun_us, 10'000);
    n.clock_us += 5'000'000;
    CHECK(n.ask(slot_node::of_slot(to_extend("K", n.clock_us, ours, 60'000), 0, 2)) == "1");
    CHECK(n.lives("K#0", 60s));
    n.take(1, 2, theirs, n.clock_us, 70'000);
    n.take(0, 2, others, n.clock_us);
    REQUIRE(n.was_refused());
    CHECK(n.left_ms() == 60'000);
    asked kept = slot_node::of_slot(to_release("K", ours), 0, 2);
    kept.keep = "20000";
    CHECK(n.ask(kept) == "1");
    CHECK(n.get("K#0") == ours + "#kept");
    CHECK(n.lives("K#0", 20s));
    n.take(0, 2, others, n.clock_us);
    CHECK(n.left_ms() == 20'000);
    CHECK(n.ask(slot_node::of_slot(to_extend("K", n.clock_us, ours), 1, 2)) == "0");
    n.command({"DEL", "K#1"});
    CHECK(n.ask(slot_node::of_slot(to_extend("K", n.clock_us, theirs), 1, 2)) ==
          "{4 " + text(n.clock_us) + "}");
    CHECK(n.ask(slot_node::of_slot(to_extend("K", n.clock_us + 1, theirs), 1, 2)) ==
          "{1 " + text(n.clock_us) + "}");
}

TEST_CASE("a slot that is kept for a time at most counts as taken until its key runs out", "[scripts]") {
    slot_node n;
    CHECK(n.take(0, 2, ours, begun_us, 5'000) == "1");
    CHECK(n.ask(slot_node::of_slot(to_keep("K", -50'000), 0, 2)) == "1");
    CHECK(n.lives("K#0", 5s));
    const auto until_ms = std::stoll(n.command({"ZSCORE", "K:S", "0"}).text);
    CHECK(until_ms <= n.clock_us / 1000 + 5'000);
}

TEST_CASE("a call for more slots than there are looks again when their number may be another",
          "[scripts]") {
    slot_node n;
    CHECK(n.take(0, 3, theirs, begun_us) == "1");
    CHECK(n.ask(slot_node::of_slot(to_release("K", theirs), 0, 3)) == "1");
    n.take_all({0, 1, 2, 3, 4}, 10, ours);
    REQUIRE(n.was_refused());
    CHECK(n.left_ms() == 15'000);
}

TEST_CASE("several slots are taken at once, or none", "[scripts]") {
    slot_node n;
    CHECK(n.take_all({1, 4, 9}, 10, ours) == "1");
    for (const char* key : {"K#1", "K#4", "K#9"}) {
        CHECK(n.get(key) == ours);
        CHECK(n.lives(key, 30s));
        CHECK(n.exists(std::string(key) + ":F"));
    }
    CHECK(n.take_all({1, 4, 9}, 10, ours, 60'000) == "1");  // again
    CHECK(n.lives("K#9", 60s));
    n.take_all({0, 9, 2}, 10, theirs);
    REQUIRE(n.was_refused());
    CHECK(n.free() == "1011011110");
    CHECK(n.last().items[2].text == ours);
    CHECK_FALSE(n.exists("K#0"));
    CHECK_FALSE(n.exists("K#2"));
    n.take_all({0, 10}, 11, theirs);  // there are ten
    REQUIRE(n.was_refused());
    CHECK_FALSE(n.exists("K#0"));
    CHECK(n.ask(n.of_all(to_release("K"), {1, 4, 9}, 10)) == "1");
    for (const char* key : {"K#1", "K#4", "K#9"}) CHECK_FALSE(n.exists(key));
    CHECK(n.take_all({0, 9, 2}, 10, theirs) == "1");
}

TEST_CASE("one that wants several slots waits until as many are free, and so do those behind it",
          "[scripts]") {
    slot_node n;
    wake_listener ann("ann");
    wake_listener bob("bob");
    const waiter first{"ann:1/3", 100};
    const waiter second{"bob:1", 101};
    for (int i = 0; i < 5; ++i) n.take(i, 5, ours, begun_us, 10'000 * (i + 1));
    n.take_all({0, 1, 2}, 5, theirs, first);
    REQUIRE(n.was_refused());
    CHECK(n.wait(first, 5) == 30'001);
    n.take(0, 5, others, second);
    REQUIRE(n.was_refused());
    n.give_back(0, 5, ours);
    n.give_back(1, 5, ours);
    CHECK(ann.heard().empty());
    CHECK(bob.heard().empty());
    n.take(0, 5, others, second);
    REQUIRE(n.was_refused());
    CHECK(n.last().items.at(4).number == 2'000);  // ms, for which another waits
    n.take(0, 5, others, ++n.clock_us);           // would not wait, and must not pass
    REQUIRE(n.was_refused());
    CHECK(n.wait(second, 5) == 2'000);
    n.give_back(2, 5, ours);
    CHECK(ann.heard() == "K#2");
    CHECK(bob.heard().empty());
    CHECK(n.wait(first, 5) == 0);
    n.take(0, 5, others, second);
    REQUIRE(n.was_refused());
    n.give_back(3, 5, ours);
    CHECK(bob.heard() == "K#3");  // there is room for both
    CHECK(n.take(3, 5, others, second) == "1");
    CHECK(n.take_all({0, 1, 2}, 5, theirs, first) == "1");
    CHECK_FALSE(n.exists("Q"));
}

TEST_CASE("a release of several slots wakes as many as they are enough for", "[scripts]") {
    slot_node n;
    wake_listener ann("ann");
    wake_listener bob("bob");
    wake_listener cid("cid");
    wake_listener dan("dan");
    n.take_all({0, 1, 2, 3}, 4, ours);
    n.take(0, 4, theirs, {"ann:1", 100});
    n.take_all({0, 1}, 4, theirs, {"bob:1/2", 101});
    n.take_all({0, 1}, 4, theirs, {"cid:1/2", 102});
    n.take(0, 4, theirs, {"dan:1", 103});
    CHECK(n.give_all_back({0, 1, 2, 3}, 4, ours) == "1");
    CHECK(ann.heard() == "K#0");
    CHECK(bob.heard() == "K#0");
    CHECK(cid.heard().empty());
    CHECK(dan.heard().empty());
    SECTION("where one of those leaves, the next is woken") {
        n.leave(0, 4, theirs, {"bob:1/2", 101, 0});
        CHECK(cid.heard() == "K#0");
        CHECK(dan.heard() == "K#0");
    }
}

TEST_CASE("the resource itself wakes one that waits for several of its slots", "[scripts]") {
    slot_node n;
    wake_listener ann("ann");
    wake_listener bob("bob");
    REQUIRE(n.ask(to_acquire("K", begun_us, ours)) == "1");
    n.take(0, 3, others, begun_us);
    n.take_all({0, 1, 2}, 3, theirs, {"ann:1/3", 100});
    n.ask(as_waiter(to_acquire("K", ++n.clock_us, theirs), {"bob:1", 101}));
    CHECK(n.ask(to_release("K", ours)) == "1");
    CHECK(ann.heard() == "K");
    CHECK(bob.heard().empty());
}

TEST_CASE("several slots are prolonged, taken again and kept together", "[scripts]") {
    slot_node n;
    const std::vector<int> all{1, 3, 4};
    const auto keys = {"K#1", "K#3", "K#4"};
    const auto extend = [&](long long ttl_ms) {
        return n.ask(n.of_all(to_extend("K", ++n.clock_us, ours, ttl_ms), all, 5));
    };
    CHECK(n.take_all(all, 5, ours, 10'000) == "1");
    CHECK(extend(60'000) == "1");
    for (const char* key : keys) CHECK(n.lives(key, 60s));
    n.command({"DEL", "K#3"});
    CHECK(extend(70'000).starts_with("{1 "));
    for (const char* key : keys) CHECK(n.lives(key, 70s));
    SECTION("not where somebody else has one of them") {
        n.set("K#3", theirs);
        n.command({"DEL", "K#1"});
        CHECK(extend(80'000) == "0");
        CHECK_FALSE(n.exists("K#1"));
        CHECK(n.lives("K#4", 70s));
        CHECK(n.give_all_back(all, 5, ours) == "0");
        CHECK_FALSE(n.exists("K#4"));
        CHECK(n.get("K#3") == theirs);
    }
    SECTION("kept") {
        asked kept = n.of_all(to_release("K", ours), all, 5);
        kept.keep = "20000";
        CHECK(n.ask(kept) == "1");
        for (const char* key : keys) {
            CHECK(n.get(key) == ours + "#kept");
            CHECK(n.lives(key, 20s));
        }
    }
    SECTION("noted as released, before they are given back") {
        asked noted = n.of_all(to_release("K", ours), all, 5);
        noted.note = "60000";
        CHECK(n.ask(noted) == "1");
        CHECK(extend(10'000) == "-2");
        for (const char* key : keys) CHECK_FALSE(n.exists(key));
    }
}

TEST_CASE("a refusal says when as many slots are free as it needs", "[scripts]") {
    slot_node n;
    for (int i = 0; i < 5; ++i) n.take(i, 6, others, begun_us, 10'000 * (5 - i));
    n.take_all({0, 1}, 6, ours);  // slot 5 is free, and slot 4 the next
    REQUIRE(n.was_refused());
    CHECK(n.left_ms() == 10'000);
    n.take_all({0, 1, 2, 3}, 6, ours);
    CHECK(n.left_ms() == 30'000);
    n.take_all({0, 1, 2, 3, 4, 5}, 6, ours);
    CHECK(n.left_ms() == 50'000);
}

TEST_CASE("several slots stand behind those that wait, and none of them is taken under a stale fence",
          "[scripts]") {
    slot_node n;
    for (int i = 0; i < 2; ++i) n.take(i, 4, others, begun_us);
    n.take(0, 4, theirs, {"ann:1", 100});
    n.take_all({2, 3}, 4, ours);
    REQUIRE(n.was_refused());
    CHECK(n.free() == "0011");
    CHECK(n.last().items.at(4).number == 2'000);  // ms, for which another waits
    CHECK(n.take(2, 4, theirs, {"ann:1", 100}) == "1");
    const std::string highest = text(n.clock_us + 50);
    n.set("K#3:F", highest);
    CHECK(n.give_back(1, 4, others) == "1");
    CHECK(n.take_all({1, 3}, 4, ours) == "{4 " + highest + "}");
    CHECK_FALSE(n.exists("K#1"));
}

TEST_CASE("the number of slots that was set last counts, up and down, and nobody's own",
          "[scripts]") {
    slot_node n;
    const auto named = [&](asked what, const std::string& slots) {
        what.slots = slots;
        return n.ask(what);
    };
    const auto set = [&](const std::string& slots, long long ttl_ms) {
        asked what = n.of_slot(to_acquire("K", 0, "-", ttl_ms), 0, 1);
        what.names = true;
        return named(what, slots);
    };
    const auto take = [&](int slot, const std::string& slots) {
        const std::string owner = text(slot) + ours;
        return named(n.of_slot(to_acquire("K", ++n.clock_us, owner), slot, 1), slots);
    };
    CHECK(take(0, "3/1000") == "1");
    CHECK(set("5/1000@100", 100'000) == "1");
    CHECK(n.lives("K:S", 100s));
    CHECK(take(4, "9/1000") == "1");
    take(5, "9/1000");
    REQUIRE(n.was_refused());
    CHECK(n.free() == "01110");
    CHECK(n.last().items.at(7).number == 100);
    CHECK(set("2/1000@200", 100'000) == "1");
    CHECK(set("7/1000@150", 100'000) == "1");  // it comes late
    take(3, "9/1000");
    REQUIRE(n.was_refused());
    CHECK(n.free() == "01");
    CHECK(n.last().items.at(7).number == 200);
    take(3, "5/1000@100");  // by a program that does not know the last one
    CHECK(n.was_refused());
    CHECK(take(3, "6/1000@300") == "1");  // by one that knows a later one
    CHECK(take(5, "3/1000") == "1");
    n.clock_us += 101'000'000;
    CHECK(take(8, "9/1000") == "1");
}

TEST_CASE("of the numbers that were set with one period the last one alone is kept", "[scripts]") {
    slot_node n;
    for (int i = 1; i <= 100; ++i) {
        asked what = n.of_slot(to_acquire("K", 0, "-", 86'400'000), 0, 1);
        what.names = true;
        what.slots = "5/1000@" + text(i);
        CHECK(n.ask(what) == "1");
    }
    CHECK(n.command({"ZRANGE", "K:S", "0", "-1"}).items.size() == 1);
}

TEST_CASE("a number of slots beyond the largest that there may be is none", "[scripts]") {
    slot_node n;
    const std::string until = text(-(n.clock_us / 1000 + 60'000));
    for (const char* sign : {"k:1001@99", "k:40000000@100", "k:0@101", "k:0"}) n.command({"ZADD", "K:S", until, sign});
    CHECK(n.take(0, 3, ours, ++n.clock_us) == "1");
    n.take(0, 3, theirs, ++n.clock_us);
    REQUIRE(n.was_refused());
    CHECK(n.free() == "011");
}
