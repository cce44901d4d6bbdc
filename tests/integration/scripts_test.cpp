// The scripts by themselves on a real server, rule by rule; knows nothing of clients and quorums.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/scripted_node.hpp"
#include "wire/resp/command.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

TEST_CASE("acquire takes a free key only above its fence", "[scripts]") {
    scripted_node n;
    n.set("F", "100");
    SECTION("below") { CHECK(n.acquire(99) == "{4 100}"); }
    SECTION("equal") { CHECK(n.acquire(100) == "{4 100}"); }
    SECTION("zero") { CHECK(n.acquire(0) == "{4 100}"); }
    SECTION("one above") {
        CHECK(n.acquire(101) == "1");
        CHECK(n.get("K") == ours);
        CHECK(n.lives("K", 30s));
        CHECK(n.get("F") == "101");
        CHECK(n.lives("F", 30s));
        return;
    }
    CHECK_FALSE(n.exists("K"));
    CHECK(n.get("F") == "100");
    CHECK(n.pttl("F") == -1ms);
}

TEST_CASE("acquire keeps the largest fences to the last digit", "[scripts]") {
    scripted_node n;
    n.set("F", text(highest_fence - 1));
    CHECK(n.acquire(highest_fence - 1) == "{4 9007199254740990}");
    CHECK(n.acquire(highest_fence) == "1");
    CHECK(n.get("F") == "9007199254740991");
    n.set("K", ours);
    CHECK(n.acquire(highest_fence, {theirs}) == "{2 -1 " + ours + " 9007199254740991 0}");
}

TEST_CASE("acquire takes a missing fence for a time near the node's own", "[scripts]") {
    scripted_node n;
    SECTION("old") {
        CHECK(n.acquire(now_us - tolerance_us) == "{4 " + text(now_us - tolerance_us) + "}");
        CHECK(n.keys() == std::vector<std::string>{"N"});
    }
    SECTION("just above old") {
        CHECK(n.acquire(now_us - tolerance_us + 1) == "1");
        CHECK(n.get("F") == text(now_us - tolerance_us + 1));
        CHECK(n.lives("F", 30s));
    }
    SECTION("as far ahead as may be") {
        CHECK(n.acquire(now_us + tolerance_us) == "1");
        CHECK(n.get("K") == ours);
        CHECK(n.get("F") == text(now_us + tolerance_us));
    }
    SECTION("further ahead") {
        CHECK(n.acquire(now_us + tolerance_us + 1) == "{5 " + text(now_us) + "}");
        CHECK(n.keys() == std::vector<std::string>{"N"});
    }
    SECTION("a fence that is there is all that counts") {
        n.set("F", "0");
        CHECK(n.acquire(1) == "1");
        CHECK(n.del("K"));
        CHECK(n.acquire(now_us + 2 * tolerance_us) == "1");
    }
}

TEST_CASE("a command that comes too late takes nothing, raises nothing and prolongs nothing",
          "[scripts]") {
    scripted_node n;
    const std::string now = text(now_us);
    const std::string before = text(now_us - 1);
    const acquisition in_time{.not_after = now};
    const acquisition late{.not_after = before};
    SECTION("an acquire of a free key") {
        CHECK(n.acquire(now_us, late) == "+LATE");
        CHECK(n.keys() == std::vector<std::string>{"N"});
        CHECK(n.acquire(now_us, in_time) == "1");
    }
    SECTION("an acquire of our own") {
        n.take("K", ours, 10s);
        n.set("F", "100");
        CHECK(n.acquire(101, late) == "+LATE");
        CHECK(n.get("F") == "100");
        CHECK(n.pttl("K") <= 10s);
        CHECK(n.acquire(101, in_time) == "1");
        CHECK(n.get("F") == "101");
    }
    SECTION("an acquire of somebody else's") {
        n.take("K", theirs, 10s);
        CHECK(n.acquire(now_us, late) == "+LATE");
    }
    SECTION("a renewal of a key that is gone") {
        CHECK(n.extend({{"K"}}, now_us, epoch, before) == "+LATE");
        CHECK(n.keys() == std::vector<std::string>{"N"});
        CHECK(n.extend({{"K"}}, now_us, epoch, now) == "1");
    }
    SECTION("a renewal of a key that is there") {
        n.take("K", ours, 10s);
        CHECK(n.extend({{"K"}}, now_us, epoch, before) == "+LATE");
        CHECK(n.pttl("K") <= 10s);
        CHECK(n.extend({{"K"}}, now_us, epoch, now) == "1");
        CHECK(n.pttl("K") > 10s);
    }
    SECTION("the epoch comes first: the handshake is run again") {
        CHECK(n.acquire(now_us, {.from_epoch = other_epoch, .not_after = before}) ==
              "+AMNESIAC");
        CHECK(n.extend({{"K"}}, now_us, other_epoch, before) == "+AMNESIAC");
    }
}

TEST_CASE("the scripts read the server's clock", "[scripts]") {
    scripted_node n;
    const auto time = n.command({"TIME"});
    const long long real_us = std::stoll(time.items[0].text) * 1'000'000 +
                              std::stoll(time.items[1].text);
    const auto acquire = [&](long long fence) {
        const requests call{"N",     epoch, {}, text(tolerance_us),
                            life_ms, {to_acquire("K", fence)}};
        return n.eval(resp::requests().text, keys_of(call), arguments_of(call));
    };
    acquire(real_us + 10 * tolerance_us);
    REQUIRE(show(n.last().items[0]) == "5");
    CHECK(n.last().items[1].number >= real_us);
    CHECK(n.last().items[1].number < real_us + tolerance_us);
    acquire(real_us - 10 * tolerance_us);
    REQUIRE(show(n.last().items[0]) == "4");
    CHECK(n.last().items[1].number >= real_us - tolerance_us);
    CHECK(acquire(real_us) == "1");
}

TEST_CASE("acquire of our own key raises the fence and never lowers it", "[scripts]") {
    scripted_node n;
    n.take("K", ours, 60s);
    SECTION("above") {
        n.set("F", "100");
        CHECK(n.acquire(101) == "1");
        CHECK(n.get("F") == "101");
        CHECK(n.lives("F", 30s));
    }
    SECTION("equal") {
        n.set("F", "100");
        CHECK(n.acquire(100) == "1");
        CHECK(n.get("F") == "100");
        CHECK(n.pttl("F") == -1ms);
    }
    SECTION("below") {
        n.set("F", "100");
        CHECK(n.acquire(99) == "1");
        CHECK(n.get("F") == "100");
    }
    SECTION("missing and old: to write it would lower it") {
        CHECK(n.acquire(now_us - tolerance_us) == "1");
        CHECK_FALSE(n.exists("F"));
    }
    SECTION("missing and just above old") {
        CHECK(n.acquire(now_us - tolerance_us + 1) == "1");
        CHECK(n.get("F") == text(now_us - tolerance_us + 1));
    }
    SECTION("missing and far ahead: ours comes before ahead") {
        CHECK(n.acquire(now_us + tolerance_us + 1) == "1");
        CHECK(n.get("F") == text(now_us + tolerance_us + 1));
    }
    CHECK(n.get("K") == ours);
    CHECK(n.lives("K", 60s));
}

TEST_CASE("acquire of our own key prolongs it and never shortens it", "[scripts]") {
    scripted_node n;
    n.set("F", "100");
    SECTION("shorter") {
        n.take("K", ours, 10s);
        CHECK(n.acquire(101) == "1");
        CHECK(n.lives("K", 30s));
        CHECK(n.pttl("K") > 20s);
    }
    SECTION("longer") {
        n.take("K", ours, 60s);
        CHECK(n.acquire(101) == "1");
        CHECK(n.lives("K", 60s));
    }
    SECTION("without expiry, which somebody took away") {
        n.set("K", ours);
        CHECK(n.acquire(101) == "1");
        CHECK(n.lives("K", 30s));
    }
}

TEST_CASE("acquire answers the holder of a key before it compares fences", "[scripts]") {
    scripted_node n;
    n.set("K", theirs);
    SECTION("above the fence") {
        n.set("F", "100");
        CHECK(n.acquire(101) == "{2 -1 " + theirs + " 100 0}");
        CHECK(n.get("F") == "100");
    }
    SECTION("stale") {
        n.set("F", "100");
        CHECK(n.acquire(100) == "{2 -1 " + theirs + " 100 0}");
    }
    SECTION("old or ahead where the fence is missing") {
        CHECK(n.acquire(1) == "{2 -1 " + theirs + " 0 0}");
        CHECK(n.acquire(highest_fence) == "{2 -1 " + theirs + " 0 0}");
        CHECK_FALSE(n.exists("F"));
    }
    SECTION("with the time that is left") {
        n.del("K");
        n.take("K", theirs, 60s);
        n.acquire(now_us);
        CHECK(n.last().items[1].number <= 60'000);
        CHECK(n.last().items[1].number > 55'000);
        CHECK(n.lives("K", 60s));
    }
    SECTION("an empty value is a holder, too") {
        n.set("K", "");
        CHECK(n.acquire(now_us) == "{2 -1  0 0}");
        n.set("K", ours.substr(0, ours.size() - 1));
        CHECK(n.acquire(now_us) == "{2 -1 " + ours.substr(0, ours.size() - 1) + " 0 0}");
        return;
    }
    CHECK(n.get("K") == theirs);
}

TEST_CASE("acquire compares the epoch before anything else", "[scripts]") {
    scripted_node n;
    std::string expected = "+AMNESIAC";
    std::string from = epoch;
    SECTION("missing") { n.del("N"); }
    SECTION("another") { n.set("N", record(other_epoch, run_id, 0, "0")); }
    SECTION("empty") { n.set("N", ""); }
    SECTION("its beginning") { n.set("N", epoch.substr(0, 21)); }
    SECTION("a list") {
        n.del("N");
        n.make_list("N");
    }
    SECTION("not compared with the guard off") {
        n.del("N");
        from = "";
        expected = "";
    }
    const auto answer = [&](const std::string& otherwise) {
        return expected.empty() ? otherwise : expected;
    };
    n.set("F", "100");
    CHECK(n.acquire(100, {ours, 30'000, from}) == answer("{4 100}"));
    CHECK(n.acquire(101, {ours, 30'000, from}) == answer("1"));
    CHECK(n.exists("K") == expected.empty());
    CHECK(n.get("F") == answer("101").replace(0, expected.size(), expected.empty() ? "" : "100"));
    n.command({"SET", "K", ours, "PX", "10000"});
    CHECK(n.acquire(102, {ours, 30'000, from}) == answer("1"));
    CHECK((n.pttl("K") > 20s) == expected.empty());
    CHECK((n.get("F") == "100") == !expected.empty());
    n.set("K", theirs);
    n.set("F", "x");
    CHECK(n.acquire(103, {ours, 30'000, from}) == answer("!FOREIGN"));
}

TEST_CASE("acquire refuses a fence that is none and leaves it", "[scripts]") {
    scripted_node n;
    for (const auto& fence : foreign_fences) {
        INFO("fence '" << fence << "'");
        n.set("F", fence);
        n.del("K");
        CHECK(n.acquire(highest_fence) == "!FOREIGN");
        CHECK_FALSE(n.exists("K"));
        n.take("K", ours, 10s);
        CHECK(n.acquire(highest_fence) == "!FOREIGN");
        CHECK(n.get("K") == ours);
        CHECK(n.lives("K", 10s));
        CHECK(n.get("F") == fence);
    }
    n.set("F", "007");
    n.del("K");
    CHECK(n.acquire(7) == "{4 7}");
    CHECK(n.acquire(8) == "1");
}

TEST_CASE("acquire never overwrites a key of another type", "[scripts]") {
    scripted_node n;
    SECTION("a list where the key should be") {
        n.make_list("K");
        n.set("F", "100");
        CHECK(n.acquire(101) == "!FOREIGN");
        CHECK(n.get("F") == "100");
        CHECK(n.type("K") == "list");
    }
    SECTION("a hash where the key should be and no fence") {
        n.make_hash("K");
        CHECK(n.acquire(now_us) == "!FOREIGN");
        CHECK_FALSE(n.exists("F"));
        CHECK(n.type("K") == "hash");
    }
    SECTION("a list where the fence should be") {
        n.make_list("F");
        CHECK(n.acquire(now_us) == "!FOREIGN");
        CHECK_FALSE(n.exists("K"));
        n.take("K", ours, 10s);
        CHECK(n.acquire(now_us) == "!FOREIGN");
        CHECK(n.lives("K", 10s));
        CHECK(n.type("F") == "list");
    }
}

TEST_CASE("extend answers for each lease by itself", "[scripts]") {
    scripted_node n;
    n.take("held", ours, 10s);
    n.take("taken", theirs, 10s);
    n.set("lower:F", text(now_us - 1));
    n.set("equal:F", text(now_us));
    n.set("higher:F", text(now_us + 1));
    n.set("odd:F", "odd");
    n.make_list("list");
    n.make_hash("odder:F");
    const std::vector<extension> leases{{"held"},  {"taken"}, {"lower"}, {"equal"}, {"higher"},
                                        {"fresh"}, {"odd"},   {"list"},  {"odder"}};
    SECTION("with fences") {
        CHECK(n.extend(leases, now_us) == "{1 0 1 {4 " + text(now_us) + "} {4 " +
                                              text(now_us + 1) +
                                              "} 1 !FOREIGN !FOREIGN !FOREIGN}");
        CHECK(n.get("lower") == ours);
        CHECK(n.get("lower:F") == text(now_us));
        CHECK(n.lives("lower:F", 30s));
        CHECK(n.get("fresh") == ours);
        CHECK(n.lives("fresh", 30s));
        CHECK(n.get("fresh:F") == text(now_us));
    }
    SECTION("without") {
        CHECK(n.extend(leases) == "{1 0 -1 -1 -1 -1 -1 !WRONGTYPE -1}");
        CHECK_FALSE(n.exists("lower"));
        CHECK(n.get("lower:F") == text(now_us - 1));
        CHECK_FALSE(n.exists("fresh"));
    }
    CHECK(n.lives("held", 30s));
    CHECK(n.pttl("held") > 20s);
    CHECK_FALSE(n.exists("held:F"));  // a lease's own fence does not change
    CHECK(n.get("taken") == theirs);
    CHECK(n.lives("taken", 10s));
    CHECK(n.get("equal:F") == text(now_us));
    CHECK(n.get("higher:F") == text(now_us + 1));
    CHECK(n.get("odd:F") == "odd");
    CHECK(n.type("list") == "list");
    CHECK_FALSE(n.exists("list:F"));
    CHECK(n.type("odder:F") == "hash");
    for (const char* key : {"equal", "higher", "odd", "odder"}) CHECK_FALSE(n.exists(key));
}

TEST_CASE("extend prolongs and never shortens", "[scripts]") {
    const long long fence = GENERATE(0LL, now_us);
    scripted_node n;
    n.take("a", ours, 10s);
    n.take("b", ours, 60s);
    n.set("c", ours);
    n.take("d", ours, 10s);
    CHECK(n.extend({{"a"}, {"b"}, {"c"}, {"d", ours, 20'000}}, fence) == "{1 1 1 1}");
    CHECK(n.pttl("a") > 20s);
    CHECK(n.lives("b", 60s));
    CHECK(n.lives("c", 30s));  // whose expiry somebody took away
    CHECK(n.lives("d", 20s));
    CHECK(n.pttl("d") > 15s);
}

TEST_CASE("extend goes by the rules of acquire where the key is gone", "[scripts]") {
    scripted_node n;
    const auto ended = [&] { return !n.exists("K") && !n.exists("F"); };
    SECTION("old") {
        CHECK(n.extend({{"K"}}, now_us - tolerance_us) ==
              "{4 " + text(now_us - tolerance_us) + "}");
        CHECK(ended());
    }
    SECTION("just above old") {
        CHECK(n.extend({{"K"}}, now_us - tolerance_us + 1) == "1");
        CHECK(n.get("F") == text(now_us - tolerance_us + 1));
    }
    SECTION("as far ahead as may be") {
        CHECK(n.extend({{"K"}}, now_us + tolerance_us) == "1");
        CHECK(n.get("K") == ours);
    }
    SECTION("further ahead") {
        CHECK(n.extend({{"K"}}, now_us + tolerance_us + 1) == "{5 " + text(now_us) + "}");
        CHECK(ended());
    }
    SECTION("under its fence") {
        n.set("F", text(highest_fence - 1));
        CHECK(n.extend({{"K"}}, highest_fence - 1) == "{4 " + text(highest_fence - 1) + "}");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.extend({{"K"}}, highest_fence) == "1");
        CHECK(n.get("F") == text(highest_fence));
    }
    SECTION("under the smallest fences") {
        for (const std::string fence : {"1", "2"}) {
            n.set("F", fence);
            CHECK(n.extend({{"K"}}, std::stoll(fence)) == "{4 " + fence + "}");
            CHECK_FALSE(n.exists("K"));
        }
        CHECK(n.extend({{"K"}}, 3) == "1");
    }
    SECTION("two leases of one key: the first has it") {
        CHECK(n.extend({{"K"}, {"K", theirs}}, now_us) == "{1 0}");
        CHECK(n.get("K") == ours);
        CHECK(n.get("F") == text(now_us));
    }
    SECTION("a fence that is none") {
        for (const auto& fence : foreign_fences) {
            INFO("fence '" << fence << "'");
            n.set("F", fence);
            CHECK(n.extend({{"K"}}, highest_fence) == "!FOREIGN");
            CHECK(n.get("F") == fence);
            CHECK_FALSE(n.exists("K"));
        }
    }
}

TEST_CASE("extend does nothing under another epoch", "[scripts]") {
    scripted_node n;
    n.take("a", ours, 10s);
    std::string from = epoch;
    std::string expected = "{+AMNESIAC +AMNESIAC}";
    SECTION("missing") { n.del("N"); }
    SECTION("another") { n.set("N", record(other_epoch, run_id, 0, "0")); }
    SECTION("empty") { n.set("N", ""); }
    SECTION("a list") {
        n.del("N");
        n.make_list("N");
    }
    SECTION("not compared with the guard off") {
        n.del("N");
        from = "";
        expected = "{1 1}";
    }
    CHECK(n.extend({{"a"}, {"b"}}, now_us, from) == expected);
    CHECK((n.pttl("a") > 20s) == from.empty());
    CHECK(n.exists("b") == from.empty());
    CHECK(n.exists("b:F") == from.empty());
}

TEST_CASE("extend answers for a thousand leases in one call", "[scripts]") {
    scripted_node n;
    std::vector<extension> leases;
    std::string expected;
    for (int i = 0; i < 1'000; ++i) {
        const std::string key = "k" + std::to_string(i);
        leases.push_back({key});
        if (i % 4 == 0) n.take(key, ours, 10s);
        if (i % 4 == 1) n.take(key, theirs, 10s);
        if (i % 4 == 3) n.set(key + ":F", text(now_us));
        const std::vector<std::string> answers{"1", "0", "1", "{4 " + text(now_us) + "}"};
        expected += (i == 0 ? "" : " ") + answers[static_cast<std::size_t>(i % 4)];
    }
    CHECK(n.extend(leases, now_us) == "{" + expected + "}");
    CHECK(n.get("k998") == ours);
    CHECK(n.get("k998:F") == text(now_us));
    CHECK(n.pttl("k996") > 20s);
    CHECK(n.get("k997") == theirs);
}

TEST_CASE("release deletes our own key and no other", "[scripts]") {
    const std::string kind = GENERATE("fenced", "fenced, for good", "plain");
    const bool raises = kind == "fenced, for good";
    scripted_node n;
    const auto release = [&] {
        if (raises) return n.release(now_us);
        return kind == "plain" ? n.release_plain() : n.release();
    };
    CHECK(release() == "-1");
    n.set("K", theirs);
    CHECK(release() == "0");
    CHECK(n.get("K") == theirs);
    n.set("K", "");
    CHECK(release() == "0");
    CHECK(n.get("K") == "");
    n.set("K", ours);
    CHECK(release() == "1");
    CHECK_FALSE(n.exists("K"));
    n.make_list("K");
    CHECK(release() == "!WRONGTYPE");
    CHECK(n.type("K") == "list");
    CHECK(n.exists("F") == raises);
}

TEST_CASE("an owed release raises the fence whatever the key holds", "[scripts]") {
    scripted_node n;
    std::string answer = "-1";
    SECTION("no key") {}
    SECTION("ours") {
        n.set("K", ours);
        answer = "1";
    }
    SECTION("theirs") {
        n.set("K", theirs);
        answer = "0";
    }
    SECTION("a list") {
        n.make_list("K");
        answer = "!WRONGTYPE";
    }
    n.set("F", "100");
    CHECK(n.release(101) == answer);
    CHECK(n.get("F") == "101");
    CHECK(n.lives("F", 16s));
}

TEST_CASE("an owed release never lowers a fence", "[scripts]") {
    scripted_node n;
    SECTION("equal") {
        n.set("F", "100");
        CHECK(n.release(100) == "-1");
        CHECK(n.get("F") == "100");
        CHECK(n.pttl("F") == -1ms);
    }
    SECTION("higher") {
        n.set("F", text(highest_fence));
        CHECK(n.release(highest_fence - 1) == "-1");
        CHECK(n.get("F") == text(highest_fence));
    }
    SECTION("missing and old") {
        CHECK(n.release(now_us - tolerance_us) == "-1");
        CHECK_FALSE(n.exists("F"));
    }
    SECTION("missing and just above old") {
        CHECK(n.release(now_us - tolerance_us + 1) == "-1");
        CHECK(n.get("F") == text(now_us - tolerance_us + 1));
        CHECK(n.lives("F", 16s));
        CHECK(n.acquire(now_us - tolerance_us + 1) ==
              "{4 " + text(now_us - tolerance_us + 1) + "}");
    }
    SECTION("what is no fence stays") {
        n.set("K", ours);
        for (const auto& fence : foreign_fences) {
            INFO("fence '" << fence << "'");
            n.set("F", fence);
            n.set("K", ours);
            CHECK(n.release(highest_fence) == "1");
            CHECK(n.get("F") == fence);
        }
        n.del("F");
        n.make_list("F");
        n.set("K", ours);
        CHECK(n.release(highest_fence) == "1");
        CHECK(n.type("F") == "list");
    }
}

TEST_CASE("an owed release raises nothing under another epoch", "[scripts]") {
    scripted_node n;
    n.set("K", ours);
    n.set("F", "100");
    std::string from = epoch;
    SECTION("missing") { n.del("N"); }
    SECTION("another") { from = other_epoch; }
    SECTION("not compared with the guard off") {
        n.del("N");
        from = "";
    }
    SECTION("not compared where the handshake reported none") { from = "-"; }
    CHECK(n.release(101, from) == "1");
    CHECK_FALSE(n.exists("K"));
    CHECK(n.get("F") == (from.size() < 22 ? "101" : "100"));
}

TEST_CASE("node makes a record where there is none unless it only looks", "[scripts]") {
    scripted_node n;
    n.del("N");
    CHECK(n.greet(run_id, "1", GENERATE("judge", "look")) == "{" + text(now_us) + "}");
    CHECK_FALSE(n.exists("N"));
    const std::string mark = GENERATE("-", "mark");
    CHECK(n.greet(run_id, "1", mark, 60'000, replid, "3:set", 50'000) ==
          "{" + text(now_us) + " " + other_epoch + " " + text(now_us) + " 50000 " + mark + " 1}");
    CHECK(n.get("N") == other_epoch + " " + run_id + " " + text(now_us) + " " + text(now_us) +
                            " 50000 1 " + mark + " " + replid + " - 3:set - - - - 60000 -");
    CHECK(n.pttl("N") == -1ms);
    // The next one finds it.
    const std::string what = GENERATE("judge", "look", "-", "other");
    CHECK(n.greet(run_id, "1", what) == "{" + text(now_us) + " " + other_epoch + " " +
                                            text(now_us) + " 50000 " + mark + " 0}");
}

TEST_CASE("node keeps since for the same process, and leaves open what another has of it",
          "[scripts]") {
    scripted_node n;
    const std::string before = GENERATE("0", "1");
    const std::string now = GENERATE("0", "1");
    const std::string what = GENERATE("judge", "look");
    const bool is_same_process = GENERATE(false, true);
    const std::string standing = record(epoch, run_id, 7, before, "mark");
    n.set("N", standing);
    const std::string& process = is_same_process ? run_id : other_run_id;
    const bool is_open = !is_same_process && before == "1" && now == "1";
    const bool is_reset = !is_same_process && !is_open;
    const bool only_looks = what == "judge";
    const std::string facts = is_reset && !only_looks
                                  ? other_epoch + " " + text(now_us) + " 60000 -"
                                  : epoch + " 7 60000 mark";
    const std::string kind = is_open ? "2" : is_reset && only_looks ? "3" : "0";
    CHECK(n.greet(process, now, what) == "{" + text(now_us) + " " + facts + " " + kind + "}");
    if (only_looks || is_open) {
        CHECK(n.get("N") == standing);
    } else {
        CHECK(n.get("N") == (is_reset ? record(other_epoch, process, now_us, now)
                                      : record(epoch, process, 7, now, "mark")));
    }
}

TEST_CASE("node makes a new epoch and since where the clock went back beyond since", "[scripts]") {
    scripted_node n;
    n.set("N", record(epoch, run_id, now_us, "1", "mark"));
    CHECK(n.greet(run_id, "1") == "{" + text(now_us) + " " + epoch + " " + text(now_us) +
                                      " 60000 mark 0}");
    n.set("N", record(epoch, run_id, now_us + 1, "1", "mark"));
    CHECK(n.greet(run_id, "1") == "{" + text(now_us) + " " + other_epoch + " " + text(now_us) +
                                      " 60000 - 0}");
    CHECK(n.get("N") == record(other_epoch, run_id, now_us, "1"));
}

TEST_CASE("node leaves the numbers of a record that stands", "[scripts]") {
    scripted_node n;
    n.set("N", record(epoch, run_id, 7, "1"));
    n.reset_calls();
    for (const long long ms : {5'000, 60'000, 3'600'000}) {
        CHECK(n.greet(run_id, "1", "-", ms, replid, "3:set", ms) ==
              "{" + text(now_us) + " " + epoch + " 7 60000 - 0}");
    }
    CHECK(n.calls("set") == 0);
}

TEST_CASE("a process with another replication id has another server's data", "[scripts]") {
    scripted_node n;
    const std::string durable = GENERATE("0", "1");
    n.set("N", record(epoch, run_id, 7, durable, "mark"));
    CHECK(n.greet(run_id, durable) == "{" + text(now_us) + " " + epoch + " 7 60000 mark 0}");
    CHECK(n.greet(run_id, durable, "-", 60'000, std::string(40, 'e')) ==
          "{" + text(now_us) + " " + other_epoch + " " + text(now_us) + " 60000 - 0}");
    const std::string record = n.get("N").value_or("");
    CHECK(record.find(std::string(40, 'e')) != std::string::npos);
    CHECK(record.find(replid) == std::string::npos);
}

TEST_CASE("a look long after the handshake leaves durability and replication id", "[scripts]") {
    scripted_node n;
    n.set("N", record(epoch, run_id, 7, "1"));
    const std::string before = n.get("N").value_or("");
    CHECK(n.greet(run_id, "", "look", 60'000, std::string(40, 'e')) ==
          "{" + text(now_us) + " " + epoch + " 7 60000 - 0}");
    CHECK(n.get("N") == before);
    CHECK(n.greet(other_run_id, "", "look", 60'000, std::string(40, 'e')) ==
          "{" + text(now_us) + " " + other_epoch + " " + text(now_us) + " 60000 - 0}");
    CHECK(n.get("N").value_or("").find(std::string(40, 'e')) != std::string::npos);
}

TEST_CASE("the record of another set's node is not written", "[scripts]") {
    scripted_node n;
    n.set("N", record(epoch, run_id, 7, "1"));
    const std::string before = n.get("N").value_or("");
    const std::string what = GENERATE("look", "-", "mark", "peek");
    CHECK(n.greet(other_run_id, "0", what, 3'600'000, replid, "5:other") ==
          "{" + text(now_us) + " " + std::string(epoch) +
              " 7 60000 - 4     60000  3:set - 0 - - - - 0  -}");
    CHECK(n.get("N") == before);
}

TEST_CASE("a record keeps what the client that named its set calls the nodes", "[scripts]") {
    scripted_node n;
    n.set("N", record(epoch, run_id, 7, "1"));
    const std::string without = n.get("N").value_or("");
    const std::string named = without.substr(0, without.size() - 1) + "a:1,b%20c/d";
    // Also the record of an earlier version, which has no such word.
    if (GENERATE(true, false)) n.set("N", without.substr(0, without.size() - 2));
    const auto greet = [&](const std::string& what, const std::string& set) {
        return n.greet(run_id, "1", what, 60'000, replid, set, 60'000, "a:1,b%20c/d");
    };
    greet("judge", "3:set");
    CHECK(n.get("N") != named);
    CHECK(greet("look", "3:set") == "{" + text(now_us) + " " + epoch + " 7 60000 - 0}");
    CHECK(n.get("N") == named);
    n.note_clock("keep", 0, "");
    CHECK(n.get("N").value_or("").ends_with(" 60000 a:1,b%20c/d"));
    CHECK(greet("look", "3:other") ==
          "{" + text(now_us) + " " + std::string(epoch) + " 7 60000 - 4 " + text(now_us) +
              " 0 7 " + text(now_us) + " 60000  3:set a:1,b%20c/d 0 - - - - 0  -}");
}

TEST_CASE("peek compares the set and writes nothing", "[scripts]") {
    scripted_node n;
    n.set("N", record(epoch, run_id, 7, "1"));
    const std::string before = n.get("N").value_or("");
    CHECK(n.greet(other_run_id, "0", "peek", 3'600'000) == "{" + text(now_us) + "}");
    CHECK(n.get("N") == before);
    n.del("N");
    CHECK(n.greet(run_id, "1", "peek") == "{" + text(now_us) + "}");
    CHECK_FALSE(n.exists("N"));
}

TEST_CASE("a record of an earlier version is read and keeps what it says", "[scripts]") {
    scripted_node n;
    n.set("N", epoch + " " + run_id + " 7 5 60000 1 mark");
    CHECK(n.greet(run_id, "1") == "{" + text(now_us) + " " + epoch + " 7 60000 mark 0}");
    CHECK(n.get("N") == record(epoch, run_id, 7, "1", "mark"));
}

TEST_CASE("clock keeps an offset, and `since` in cluster time where there was none", "[scripts]") {
    scripted_node n;
    n.set("N", record(epoch, run_id, 7, "1"));
    const std::string now = text(now_us);
    const auto told = [&](const char* done, long long since, long long ahead, long long seen) {
        return "{" + now + " " + epoch + " 7 60000 - " + done + " " + text(since) + " " +
               text(ahead) + " 7 " + text(seen) + "}";
    };
    CHECK(n.note_clock("keep", -2000, "") == told("1", now_us + 2000, -2000, now_us));
    CHECK(n.get("N") == epoch + " " + run_id + " 7 5 60000 1 - " + replid + " " +
                            text(now_us + 2000) + " 3:set -2000 7 " + now + " - 60000 -");
    SECTION("a client that has not read it does not overwrite it") {
        CHECK(n.note_clock("keep", 5, "") == told("0", now_us + 2000, -2000, now_us));
        CHECK(n.note_clock("strike", 5, text(now_us - 1)) ==
              told("0", now_us + 2000, -2000, now_us));
        CHECK(n.note_clock("keep", 5, now, other_epoch) ==
              told("0", now_us + 2000, -2000, now_us));
    }
    SECTION("a client that has read it does") {
        CHECK(n.note_clock("keep", 5, now) == told("1", now_us + 2000, 5, now_us));
    }
    SECTION("a strike forgets everything, in both clocks") {
        CHECK(n.note_clock("strike", 10'000'000, now) ==
              "{" + now + " " + other_epoch + " " + now + " 60000 - 1 " +
                  text(now_us - 10'000'000) + " 10000000 7 " + now + "}");
    }
}

TEST_CASE("clock opens a record, raises its numbers and names the process", "[scripts]") {
    scripted_node n;
    const std::string now = text(now_us);
    n.set("N", record(epoch, other_run_id, 7, "1", "-", GENERATE("0", "42")));
    const std::string init = n.get("N").value_or("").find(" 42 ") == std::string::npos ? "99" : "42";
    const auto left = [&](const std::string& of, const std::string& process,
                          const std::string& since, const std::string& numbers) {
        return of + " " + process + " " + since + " 5 " + numbers.substr(0, numbers.find(' ')) +
               " 1 - " + replid + " " + (since == "0" ? "0" : now) + " 3:set 0 7 " + now + " " +
               init + " " + numbers.substr(numbers.find(' ') + 1) + " -";
    };
    SECTION("an instant of a declaration that was not known is cluster time now") {
        n.note_clock("keep", 0, "");
        CHECK(n.get("N") == left(epoch, other_run_id, "7", "60000 60000"));
    }
    SECTION("no lease can be alive") {
        n.note_clock("open", 0, "", epoch, {.durable = "1"});
        CHECK(n.get("N") == left(epoch, run_id, "0", "60000 60000"));
    }
    SECTION("a longer quarantine, under another epoch") {
        n.note_clock("keep", 0, "", epoch, {.quarantine_ms = 90'000});
        CHECK(n.get("N") == left(other_epoch, other_run_id, "7", "60000 90000"));
    }
    SECTION("a longer ttl_max, under another epoch") {
        n.note_clock("keep", 0, "", epoch, {.ttl_max_ms = 90'000});
        CHECK(n.get("N") == left(other_epoch, other_run_id, "7", "90000 60000"));
    }
    SECTION("shorter ones change nothing") {
        n.note_clock("keep", 0, "", epoch, {.quarantine_ms = 5, .ttl_max_ms = 5});
        CHECK(n.get("N") == left(epoch, other_run_id, "7", "60000 60000"));
    }
    SECTION("a client that comes too late gets what the record is worth, and writes nothing") {
        const std::string before = n.get("N").value_or("");
        const auto what = n.note_clock("open", 0, "", other_epoch, {.durable = "1"});
        CHECK(what.find(" 60000 - 2 ") != std::string::npos);
        CHECK(n.get("N") == before);
    }
}

TEST_CASE("a node without a ttl_max gets its first one under the same epoch", "[scripts]") {
    scripted_node n;
    n.del("N");
    n.greet(run_id, "1", "-", 60'000, replid, "3:set", 0);
    n.note_clock("keep", 0, "", other_epoch, {.ttl_max_ms = 60'000});
    CHECK(n.get("N") == other_epoch + " " + run_id + " " + text(now_us) + " " + text(now_us) +
                            " 60000 1 - " + replid + " " + text(now_us) + " 3:set 0 7 " +
                            text(now_us) + " - 60000 -");
}

TEST_CASE("clock keeps an open record open, and writes no other key", "[scripts]") {
    scripted_node n;
    SECTION("an open record stays open") {
        CHECK(n.note_clock("keep", 5, "") == "{" + text(now_us) + " " + epoch +
                                                 " 0 60000 - 1 0 5 7 " + text(now_us) + "}");
    }
    SECTION("no record") {
        n.del("N");
        CHECK(n.note_clock("keep", 5, "") == "{" + text(now_us) + "}");
        CHECK_FALSE(n.exists("N"));
    }
    SECTION("something else") {
        n.set("N", "text");
        CHECK(n.note_clock("strike", 5, "") == "!FOREIGN");
        CHECK(n.get("N") == "text");
    }
}

TEST_CASE("node leaves what is no record alone", "[scripts]") {
    scripted_node n;
    const std::string beyond = "9007199254740992";
    const std::string what = GENERATE("look", "-", "mark");
    for (const auto& content :
         {std::string(), std::string("text"), epoch, epoch + " " + run_id + " 0 5 60000 2 -",
          "short " + run_id + " 0 5 60000 0 -", epoch + " " + run_id + " -1 5 60000 0 -",
          epoch + " " + run_id + " 0 5 60000 0 - ", epoch + " " + run_id + " 0 5 60000 0",
          epoch + " " + run_id + " " + beyond + " 5 60000 0 -",
          epoch + " " + run_id + " 0 " + beyond + " 60000 0 -",
          epoch + " " + run_id + " 0 5 " + std::string(400, '9') + " 0 -",
          epoch + " " + run_id + " 0 5 00 0 -",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3:set - -",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3:set - - - -",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3:set " + beyond + " 1 1",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3:set 1 1 x",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3 set - - -",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3:set - - - - 0",
          epoch + " " + run_id + " 0 5 0 0 - " + replid + " 0 3:set - - - - -",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3:set - - - " + beyond + " 1",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3:set - - - - 60000 a b",
          epoch + " " + run_id + " 0 5 60000 0 - " + replid + " 0 3:set - - - - 60000 \x1b"}) {
        INFO(content);
        n.set("N", content);
        CHECK(n.greet(other_run_id, "0", what) == "!FOREIGN");
        CHECK(n.get("N") == content);
    }
    n.del("N");
    n.make_list("N");
    CHECK(n.greet(run_id, "1", what) == "!WRONGTYPE");
    CHECK(n.type("N") == "list");
}

TEST_CASE("bootstrap opens and withdraws only where the mark is its own", "[scripts]") {
    scripted_node n;
    const auto young = record(epoch, run_id, now_us - 30'000'000, "0", "mark");
    n.set("N", young);
    CHECK(n.bootstrap("open", "other") == "0");
    CHECK(n.bootstrap("withdraw", "other") == "0");
    CHECK(n.get("N") == young);
    SECTION("opened") {
        CHECK(n.bootstrap("open", "mark") == "1");
        CHECK(n.get("N") == record(epoch, run_id, 0, "0", "-", "0"));
        CHECK(n.bootstrap("withdraw", "mark") == "0");
        CHECK(n.bootstrap("open", "mark") == "0");
        CHECK(n.greet(run_id, "0") == "{" + text(now_us) + " " + epoch + " 0 60000 - 0}");
    }
    SECTION("withdrawn") {
        CHECK(n.bootstrap("withdraw", "mark") == "1");
        CHECK_FALSE(n.exists("N"));
        CHECK(n.bootstrap("withdraw", "mark") == "0");
        CHECK(n.bootstrap("open", "mark") == "0");
        CHECK_FALSE(n.exists("N"));
    }
    SECTION("withdrawn too late") {
        const auto old = record(epoch, run_id, now_us - 30'000'001, "0", "mark");
        n.set("N", old);
        CHECK(n.bootstrap("withdraw", "mark") == "0");
        CHECK(n.get("N") == old);
    }
    SECTION("something else") {
        n.set("N", "mark");
        CHECK(n.bootstrap("open", "mark") == "!FOREIGN");
        CHECK(n.bootstrap("withdraw", "mark") == "!FOREIGN");
        CHECK(n.bootstrap("declare", other_epoch) == "!FOREIGN");
        CHECK(n.get("N") == "mark");
    }
}

TEST_CASE("bootstrap declares a node new under a new epoch", "[scripts]") {
    scripted_node n;
    SECTION("whatever mark it bears") {
        const std::string mark = GENERATE("mark", "-");
        n.set("N", record(epoch, run_id, 7, "0", mark));
        CHECK(n.bootstrap("declare", other_epoch) == "1");
        CHECK(n.get("N") == record(other_epoch, run_id, 0, "1", "-", "0"));
        CHECK(n.greet(run_id, "0") == "{" + text(now_us) + " " + other_epoch + " 0 60000 - 0}");
    }
    SECTION("also where there is no record") {
        n.del("N");
        CHECK(n.bootstrap("declare", other_epoch) == "1");
        CHECK(n.get("N") == other_epoch + " " + run_id + " 0 " + text(now_us) + " 60000 1 - " +
                                replid + " 0 3:set - - - 0 60000 -");
    }
    SECTION("with longer numbers, which become the client's, and the clock where that is known") {
        n.set("N", epoch + " " + run_id + " 7 5 90000 1 - " + replid + " 9 3:set 1 2 3 4 95000");
        CHECK(n.bootstrap("declare", other_epoch, {"42", "-8", "9"}) == "1");
        CHECK(n.get("N") == other_epoch + " " + run_id + " 0 5 60000 1 - " + replid +
                                " 0 3:set -8 9 " + text(now_us) + " 42 60000 -");
    }
    SECTION("and gives it to the set of the list") {
        n.set("N", epoch + " " + run_id + " 7 5 60000 1 - " + replid + " 9 5:other 11 12 13");
        CHECK(n.bootstrap("declare", other_epoch) == "1");
        CHECK(n.get("N") == other_epoch + " " + run_id + " 0 5 60000 1 - " + replid +
                                " 0 3:set 11 12 13 0 60000 -");
    }
    SECTION("which is a string") {
        n.del("N");
        n.make_list("N");
        CHECK(n.bootstrap("declare", other_epoch) == "!WRONGTYPE");
        CHECK(n.bootstrap("open", "mark") == "!WRONGTYPE");
        CHECK(n.bootstrap("withdraw", "mark") == "!WRONGTYPE");
        CHECK(n.type("N") == "list");
    }
}

TEST_CASE("acquire is refused whole where memory has run out", "[scripts]") {
    scripted_node n;
    const auto is_refused = [&](const std::string& answer) {
        return answer.front() == '!' && n.last().text.find("OOM") != std::string::npos;
    };
    SECTION("free") {
        n.set("F", "100");
        n.run_out_of_memory();
        CHECK(is_refused(n.acquire(101)));
        CHECK(n.acquire(100) == "{4 100}");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.get("F") == "100");
    }
    SECTION("free without a fence") {
        n.run_out_of_memory();
        CHECK(is_refused(n.acquire(now_us)));
        CHECK(n.keys() == std::vector<std::string>{"N"});
    }
    SECTION("ours") {
        n.set("F", "100");
        n.take("K", ours, 10s);
        n.run_out_of_memory();
        CHECK(is_refused(n.acquire(101)));
        CHECK(n.lives("K", 10s));
        CHECK(n.get("F") == "100");
        CHECK(n.acquire(100) == "1");
        CHECK(n.pttl("K") > 20s);
    }
    n.config_set("maxmemory", "0");
}

TEST_CASE("leases live on and end where memory has run out", "[scripts]") {
    scripted_node n;
    n.set("F", "100");
    SECTION("extend, whatever stands first") {
        n.take("held", ours, 10s);
        n.run_out_of_memory();
        n.extend({{"gone"}, {"held"}, {"gone as well"}}, now_us);
        CHECK(show(n.last().items.at(0)) == "!OOM");
        CHECK(show(n.last().items.at(1)) == "1");
        CHECK(n.pttl("held") > 20s);
        CHECK_FALSE(n.exists("gone"));
    }
    SECTION("extend of nothing but what is gone") {
        n.run_out_of_memory();
        CHECK(n.extend({{"gone"}}, now_us).front() == '!');
        CHECK(n.last().text.find("OOM") != std::string::npos);
        CHECK_FALSE(n.exists("gone"));
        CHECK_FALSE(n.exists("gone:F"));
    }
    SECTION("release of ours") {
        n.set("K", ours);
        n.run_out_of_memory();
        CHECK(n.release(101) == "1");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.get("F") == "101");
    }
    SECTION("release that can't raise the fence says so") {
        n.run_out_of_memory();
        CHECK(n.release(101).front() == '!');
        CHECK(n.last().text.find("OOM") != std::string::npos);
        CHECK(n.get("F") == "100");
    }
    SECTION("a record that stands is read and withdrawn, not changed") {
        const auto standing = record(epoch, run_id, now_us - 1, "0", "mark");
        n.set("N", standing);
        n.run_out_of_memory();
        CHECK(n.greet(run_id, "0") ==
              "{" + text(now_us) + " " + epoch + " " + text(now_us - 1) + " 60000 mark 0}");
        CHECK(n.bootstrap("open", "mark").front() == '!');
        CHECK(n.get("N") == standing);
        CHECK(n.bootstrap("withdraw", "mark") == "1");
    }
    n.config_set("maxmemory", "0");
}
