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
        CHECK(n.extend({{"K"}}, now_us, epoch, now) == "{1 0}");
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
                            "0", {to_acquire("K", fence)}};
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
    SECTION("another") { n.set("N", other_epoch + " run_id=x"); }
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
        CHECK(n.extend(leases, now_us) == "{1 0 {1 " + text(now_us - 1) + "} {4 " + text(now_us) +
                                              "} {4 " + text(now_us + 1) +
                                              "} {1 0} !FOREIGN !FOREIGN !FOREIGN}");
        CHECK(n.get("lower") == ours);
        CHECK(n.get("lower:F") == text(now_us));
        CHECK(n.lives("lower:F", 6 * 30s));  // for renewals to come
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
        CHECK(n.extend({{"K"}}, now_us - tolerance_us + 1) == "{1 0}");
        CHECK(n.get("F") == text(now_us - tolerance_us + 1));
    }
    SECTION("as far ahead as may be") {
        CHECK(n.extend({{"K"}}, now_us + tolerance_us) == "{1 0}");
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
        CHECK(n.extend({{"K"}}, highest_fence) == "{1 " + text(highest_fence - 1) + "}");
        CHECK(n.get("F") == text(highest_fence));
    }
    SECTION("under the smallest fences") {
        for (const std::string fence : {"1", "2"}) {
            n.set("F", fence);
            CHECK(n.extend({{"K"}}, std::stoll(fence)) == "{4 " + fence + "}");
            CHECK_FALSE(n.exists("K"));
        }
        CHECK(n.extend({{"K"}}, 3) == "{1 2}");
    }
    SECTION("two leases of one key: the first has it") {
        CHECK(n.extend({{"K"}, {"K", theirs}}, now_us) == "{{1 0} 0}");
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
    SECTION("another") { n.set("N", other_epoch + " run_id=x"); }
    SECTION("empty") { n.set("N", ""); }
    SECTION("a list") {
        n.del("N");
        n.make_list("N");
    }
    SECTION("not compared with the guard off") {
        n.del("N");
        from = "";
        expected = "{1 {1 0}}";
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
        const std::vector<std::string> answers{"1", "0", "{1 0}", "{4 " + text(now_us) + "}"};
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

TEST_CASE("a record is read, with the time, and replaced where it is what was read", "[scripts]") {
    scripted_node n;
    const std::string now = text(now_us);
    const std::string before = n.get("N").value_or("");
    n.reset_calls();
    CHECK(n.record() == "{" + now + " " + before + "}");
    CHECK(n.record({before + "x", before + " x=1", ""}) == "{" + now + " " + before + "}");
    CHECK(n.record({"", before + " x=1", ""}) == "{" + now + " " + before + "}");
    CHECK(n.calls("set") == 0);
    CHECK(n.record({before, before + " x=1", ""}) == "{" + now + " " + before + " x=1}");
    CHECK(n.get("N") == before + " x=1");
    CHECK(n.pttl("N") == -1ms);
    // A server that reads transactions with too few rights has forgotten the leases and this alike.
    CHECK(n.calls("set") == 2);
    CHECK(n.record({before + " x=1", "", ""}) == "{" + now + " nil}");
    CHECK_FALSE(n.exists("N"));
    CHECK(n.record() == "{" + now + " nil}");
    CHECK(n.record({before, before, ""}) == "{" + now + " nil}");
    CHECK(n.record({"", before, ""}) == "{" + now + " " + before + "}");
}

TEST_CASE("a record is replaced in time, and knows that time", "[scripts]") {
    scripted_node n;
    const std::string before = n.get("N").value_or("");
    CHECK(n.record({before, "", text(now_us - 1)}) == "{" + text(now_us) + " " + before + "}");
    CHECK(n.get("N") == before);
    const std::string next = epoch + " a=@now+0 b=@now-7 c=@now+2000000000000000 d=x@now-1 e=@now";
    CHECK(n.record({before, next, text(now_us)}).starts_with("{" + text(now_us) + " " + epoch));
    CHECK(n.get("N") == epoch + " a=" + text(now_us) + " b=" + text(now_us - 7) +
                            " c=3700000000000005 d=x@now-1 e=@now");
}

TEST_CASE("what is no string, or an empty one, is not replaced by a record", "[scripts]") {
    scripted_node n;
    n.set("N", "");
    CHECK(n.record({"", epoch, ""}) == "{" + text(now_us) + " }");
    CHECK(n.get("N") == "");
    n.del("N");
    n.make_list("N");
    CHECK(n.record() == "!WRONGTYPE");
    CHECK(n.record({"", epoch, ""}) == "!WRONGTYPE");
    CHECK(n.type("N") == "list");
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
        const auto standing = n.get("N").value_or("");
        n.run_out_of_memory();
        CHECK(n.record() == "{" + text(now_us) + " " + standing + "}");
        CHECK(n.record({standing, standing + " x=1", ""}).front() == '!');
        CHECK(n.get("N") == standing);
        CHECK(n.record({standing, "", ""}) == "{" + text(now_us) + " nil}");
        CHECK_FALSE(n.exists("N"));
    }
    n.config_set("maxmemory", "0");
}
