// What readers ask of a node, rule by rule on a real server; knows nothing of clients and quorums.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/scripted_node.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string marker = "redlock:shared";
const std::string others = "CCCCCCCCCCCCCCCCCCCCCC@else:3";

// A full ms, so that a ttl ends at one.
constexpr long long begun_us = 1'700'000'000'000'000;

/// The clock of its scripts stands still until it is set. The key is K, and its readers are K:R.
class reader_node : public scripted_node {
public:
    long long clock_us = begun_us;
    std::string from_epoch = epoch;
    std::string not_after{};

    std::string ask(const std::vector<asked>& all) {
        return request(all, {from_epoch, not_after, "N", clock_us});
    }
    std::string share(const std::string& owner, long long fence, long long ttl_ms = 30'000) {
        return ask({as_reader(to_acquire("K", fence, owner, ttl_ms))});
    }
    std::string share(const std::string& owner, long long fence, const waiter& who) {
        return ask({as_waiter(as_reader(to_acquire("K", fence, owner)), who)});
    }
    std::string extend_share(const std::string& owner, long long fence, long long ttl_ms = 30'000) {
        return ask({as_reader(to_extend("K", fence, owner, ttl_ms))});
    }
    std::string leave(const std::string& owner) { return ask({as_reader(to_release("K", owner))}); }
    std::string leave_for_good(const std::string& owner, long long highest) {
        return ask({as_reader(to_release_for_good("K", highest, owner))});
    }
    std::string write(const std::string& owner, long long fence) {
        return ask({to_acquire("K", fence, owner)});
    }
    /// The first letter of each, and for how many ms it has the key: "base=100 A+30000".
    std::string readers() {
        std::string out;
        const auto all = command({"ZRANGE", "K:R", "0", "-1", "WITHSCORES"}).items;
        for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
            const long long score = std::stoll(all[i + 1].text);
            out += out.empty() ? "" : " ";
            if (all[i].text == "base") {
                out += "base=" + text(-score);
            } else {
                out += all[i].text.substr(0, 1) + "+" + text(score - clock_us / 1000);
            }
        }
        return out;
    }
    bool set_outlives_key() {
        return command({"EVAL", "return redis.call('PTTL', 'K:R') - redis.call('PTTL', 'K')", "0"})
                   .number >= 0 &&
               pttl("K:R") > 0ms;
    }
    std::vector<std::string> names() {
        auto out = keys();
        std::sort(out.begin(), out.end());
        return out;
    }
    /// That is shared by A and B, for 10 s and 20 s; base 100, fence 102.
    void be_shared() {
        set("F", "100");
        REQUIRE(share(ours, 101, 10'000) == "1");
        REQUIRE(share(theirs, 102, 20'000) == "1");
        REQUIRE(readers() == "base=100 A+10000 B+20000");
    }
};

const std::vector<std::string> nothing{"N"};

}  // namespace

TEST_CASE("the first reader takes a free key only above its fence", "[scripts]") {
    reader_node n;
    n.set("F", "100");
    SECTION("below") { CHECK(n.share(ours, 99) == "{4 100}"); }
    SECTION("equal") { CHECK(n.share(ours, 100) == "{4 100}"); }
    SECTION("one above") {
        CHECK(n.share(ours, 101) == "1");
        CHECK(n.get("K") == marker);
        CHECK(n.lives("K", 30s));
        CHECK(n.get("F") == "101");
        CHECK(n.lives("F", 30s));
        CHECK(n.readers() == "base=100 A+30000");
        CHECK(n.lives("K:R", 31s));
        CHECK(n.set_outlives_key());
        return;
    }
    CHECK(n.names() == std::vector<std::string>{"F", "N"});
    CHECK(n.get("F") == "100");
}

TEST_CASE("a ttl of a reader is never cut short by a part of a ms", "[scripts]") {
    reader_node n;
    n.clock_us += 1;
    CHECK(n.share(ours, n.clock_us, 10'000) == "1");
    CHECK(n.readers().ends_with("A+10001"));
    n.clock_us += 998;
    CHECK(n.extend_share(ours, n.clock_us, 20'000) == "1");
    CHECK(n.readers().ends_with("A+20001"));
    n.clock_us += 1;
    CHECK(n.extend_share(ours, n.clock_us, 20'000) == "1");
    CHECK(n.readers().ends_with("A+20000"));
}

TEST_CASE("for the first reader a missing fence is a time near the node's own", "[scripts]") {
    reader_node n;
    const long long oldest = begun_us - tolerance_us;
    SECTION("old") {
        CHECK(n.share(ours, oldest) == "{4 " + text(oldest) + "}");
        CHECK(n.names() == nothing);
    }
    SECTION("just above old") {
        CHECK(n.share(ours, oldest + 1) == "1");
        CHECK(n.get("F") == text(oldest + 1));
        CHECK(n.readers() == "base=" + text(oldest) + " A+30000");
    }
    SECTION("as far ahead as may be") {
        CHECK(n.share(ours, begun_us + tolerance_us) == "1");
        CHECK(n.get("F") == text(begun_us + tolerance_us));
    }
    SECTION("further ahead") {
        CHECK(n.share(ours, begun_us + tolerance_us + 1) == "{5 " + text(begun_us) + "}");
        CHECK(n.names() == nothing);
    }
}

TEST_CASE("another reader has to exceed the base, and not the fences of readers", "[scripts]") {
    reader_node n;
    n.set("F", "100");
    n.share(ours, 105);
    SECTION("the base itself") {
        CHECK(n.share(theirs, 100) == "{4 100}");
        CHECK(n.readers() == "base=100 A+30000");
        CHECK(n.get("F") == "105");
    }
    SECTION("above the base, below the others") {
        CHECK(n.share(theirs, 101) == "1");
        CHECK(n.readers() == "base=100 A+30000 B+30000");
        CHECK(n.get("F") == "105");
    }
    SECTION("above all") {
        CHECK(n.share(theirs, 110) == "1");
        CHECK(n.get("F") == "110");
        CHECK(n.lives("F", 30s));
        CHECK(n.share(others, 101) == "1");
        CHECK(n.get("F") == "110");
    }
    CHECK(n.get("K") == marker);
    // A writer has to exceed them all.
    const auto highest = n.get("F").value_or("");
    for (const auto& owner : {ours, theirs, others}) n.leave(owner);
    CHECK_FALSE(n.exists("K"));
    CHECK(n.write(ours, std::stoll(highest)) == "{4 " + highest + "}");
    CHECK(n.write(ours, std::stoll(highest) + 1) == "1");
}

TEST_CASE("a key that is shared lives as long as the last of its readers", "[scripts]") {
    reader_node n;
    n.be_shared();
    CHECK(n.lives("K", 20s));
    CHECK(n.share(others, 103, 15'000) == "1");  // shortens nothing
    CHECK(n.pttl("K") > 15s);
    CHECK(n.share(ours, 1, 40'000) == "1");
    CHECK(n.lives("K", 40s));
    CHECK(n.set_outlives_key());
    CHECK(n.readers() == "base=100 C+15000 B+20000 A+40000");
}

TEST_CASE("one that is among the readers is granted again, whatever its fence", "[scripts]") {
    reader_node n;
    n.be_shared();
    SECTION("below the base") {
        CHECK(n.share(ours, 1) == "1");
        CHECK(n.get("F") == "102");
    }
    SECTION("above all: the fence is raised") {
        CHECK(n.share(ours, 200) == "1");
        CHECK(n.get("F") == "200");
    }
    CHECK(n.readers() == "base=100 B+20000 A+30000");
    CHECK(n.share(ours, 1, 5'000) == "1");  // never shortened
    CHECK(n.readers() == "base=100 B+20000 A+30000");
}

TEST_CASE("where the fence of a key that is shared is missing, nobody old or too far ahead joins",
          "[scripts]") {
    reader_node n;
    n.be_shared();
    n.del("F");
    const long long oldest = begun_us - tolerance_us;
    SECTION("above the base, but old") {
        CHECK(n.share(others, oldest) == "{4 " + text(oldest) + "}");
        CHECK_FALSE(n.exists("F"));
        CHECK(n.readers() == "base=100 A+10000 B+20000");
    }
    SECTION("just above old") {
        CHECK(n.share(others, oldest + 1) == "1");
        CHECK(n.get("F") == text(oldest + 1));
    }
    SECTION("further ahead than may be") {
        CHECK(n.share(others, begun_us + tolerance_us + 1) == "{5 " + text(begun_us) + "}");
        CHECK_FALSE(n.exists("F"));
        CHECK(n.readers() == "base=100 A+10000 B+20000");
    }
    SECTION("as far as may be") {
        CHECK(n.share(others, begun_us + tolerance_us) == "1");
        CHECK(n.get("F") == text(begun_us + tolerance_us));
    }
    SECTION("one that has it already is granted again, and what is written is never old") {
        CHECK(n.share(ours, 101) == "1");
        CHECK_FALSE(n.exists("F"));
    }
}

TEST_CASE("where the set of the readers was lost, the fence is the base", "[scripts]") {
    reader_node n;
    n.be_shared();
    n.del("K:R");
    CHECK(n.share(others, 102) == "{4 102}");
    CHECK_FALSE(n.exists("K:R"));
    CHECK(n.share(others, 103) == "1");
    CHECK(n.readers() == "C+30000");
    CHECK(n.set_outlives_key());  // and does not stay
}

TEST_CASE("a writer and its key exclude readers, and readers exclude writers", "[scripts]") {
    reader_node n;
    SECTION("a writer of ours") {
        n.write(theirs, begun_us);
        n.command({"PERSIST", "K"});
        CHECK(n.share(ours, begun_us + 1) == "{2 -1 " + theirs + " " + text(begun_us) + " 0}");
        CHECK(n.get("K") == theirs);
        CHECK(n.get("F") == text(begun_us));
    }
    SECTION("one of another library, of whose value the front is answered") {
        n.set("K", std::string(1'000, 'x'));
        CHECK(n.share(ours, begun_us) == "{2 -1 " + std::string(400, 'x') + " 0 0}");
        CHECK_FALSE(n.exists("F"));
    }
    SECTION("a key of another type") {
        n.make_list("K");
        CHECK(n.share(ours, begun_us) == "!FOREIGN");
        CHECK(n.extend_share(ours, begun_us) == "!FOREIGN");
        CHECK(n.leave(ours) == "!WRONGTYPE");
        CHECK(n.type("K") == "list");
        CHECK_FALSE(n.exists("F"));
    }
    SECTION("a fence that is none") {
        n.set("F", "x");
        CHECK(n.share(ours, begun_us) == "!FOREIGN");
        CHECK(n.extend_share(ours, begun_us) == "!FOREIGN");
        CHECK_FALSE(n.exists("K"));
    }
    SECTION("a reader, before a writer") {
        n.share(theirs, begun_us);
        const auto said = n.write(ours, begun_us + 1);
        CHECK(said.starts_with("{2 "));
        CHECK(said.ends_with(" " + marker + " " + text(begun_us) + " 0}"));
        CHECK(n.ask({to_extend("K", begun_us + 1)}) == "0");
        CHECK(n.ask({to_release("K")}) == "0");
        CHECK_FALSE(n.set_nx_px("K", "another", 10s));
        CHECK(n.get("K") == marker);
        CHECK(n.readers().ends_with(" B+30000"));
        return;
    }
    CHECK_FALSE(n.exists("K:R"));
}

TEST_CASE("a key of another type in place of the readers is never written", "[scripts]") {
    reader_node n;
    const bool is_shared = GENERATE(false, true);
    const std::string kind = GENERATE("list", "string", "hash");
    n.set("F", "100");
    if (is_shared) n.take("K", marker, 20s);
    if (kind == "list") n.make_list("K:R");
    if (kind == "string") n.set("K:R", "x");
    if (kind == "hash") n.make_hash("K:R");
    CHECK(n.share(ours, 101) == "!WRONGTYPE");
    CHECK(n.extend_share(ours, 102) == "!WRONGTYPE");
    CHECK(n.leave(ours) == "!WRONGTYPE");
    CHECK(n.type("K:R") == kind);
    CHECK(n.pttl("K:R") == -1ms);
    CHECK(n.exists("K") == is_shared);
    CHECK(n.get("F") == "100");
    // A writer has nothing to do with it.
    if (!is_shared) CHECK(n.write(ours, 101) == "1");
}

TEST_CASE("a reader's lease is prolonged only where it has the key", "[scripts]") {
    reader_node n;
    SECTION("among the readers: for the ttl or longer, and the fence stays") {
        n.be_shared();
        CHECK(n.extend_share(ours, 500) == "1");
        CHECK(n.readers() == "base=100 B+20000 A+30000");
        CHECK(n.lives("K", 30s));
        CHECK(n.extend_share(ours, 501, 1'000) == "1");
        CHECK(n.readers() == "base=100 B+20000 A+30000");
        CHECK(n.lives("K", 30s));
        CHECK(n.get("F") == "102");
    }
    SECTION("not among them: it joins as any other") {
        n.be_shared();
        CHECK(n.extend_share(others, 100) == "{4 100}");
        CHECK(n.readers() == "base=100 A+10000 B+20000");
        CHECK(n.extend_share(others, 101) == "{1 100}");  // which all exceed
        CHECK(n.readers() == "base=100 A+10000 B+20000 C+30000");
        CHECK(n.get("F") == "102");
        CHECK(n.extend_share("DDDDDDDDDDDDDDDDDDDDDD@d", 103) == "{1 100}");
        CHECK(n.get("F") == "103");
    }
    SECTION("a writer's key, also where the set still names it") {
        n.be_shared();
        n.del("K");
        n.take("K", others, 10s);
        CHECK(n.extend_share(ours, 103) == "0");
        CHECK(n.get("K") == others);
        CHECK(n.lives("K", 10s));
        CHECK(n.readers() == "base=100 A+10000 B+20000");
    }
    SECTION("gone: taken again under its fence, and the old set counts for nothing") {
        n.be_shared();
        n.del("K");
        CHECK(n.extend_share(ours, 102) == "{4 102}");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.extend_share(ours, 103) == "{1 102}");
        CHECK(n.get("K") == marker);
        CHECK(n.get("F") == "103");
        CHECK(n.readers() == "base=102 A+30000");
    }
}

TEST_CASE("each reader has the key for its own time", "[scripts]") {
    reader_node n;
    n.be_shared();
    n.clock_us += 10'000'000 - 1'000;
    CHECK(n.share(ours, 1, 1) == "1");  // in its last ms
    CHECK(n.readers() == "base=100 A+1 B+10001");
    n.clock_us += 1'000;
    CHECK(n.share(ours, 100) == "{4 100}");  // it has to join again
    SECTION("the dead do not keep the key") {
        CHECK(n.leave(theirs) == "1");
        CHECK(n.names() == std::vector<std::string>{"F", "N"});
    }
    SECTION("the living do") {
        n.share(others, 103, 15'000);
        CHECK(n.leave(theirs) == "1");
        CHECK(n.readers() == "base=100 C+15000");
        CHECK(n.lives("K", 15s));
    }
    SECTION("and the dead go when others come") {
        CHECK(n.share(others, 103, 15'000) == "1");
        CHECK(n.readers() == "base=100 B+10000 C+15000");
    }
    SECTION("or stay") {
        CHECK(n.extend_share(theirs, 103, 15'000) == "1");
        CHECK(n.readers() == "base=100 B+15000");
    }
}

TEST_CASE("a key is kept exactly as long as the readers that are left have it", "[scripts]") {
    reader_node n;
    n.be_shared();
    SECTION("the longer goes") {
        CHECK(n.leave(theirs) == "1");
        CHECK(n.readers() == "base=100 A+10000");
        CHECK(n.lives("K", 10s));
        CHECK(n.set_outlives_key());
        CHECK(n.pttl("K:R") <= 10s);
    }
    SECTION("the shorter goes") {
        CHECK(n.leave(ours) == "1");
        CHECK(n.readers() == "base=100 B+20000");
        CHECK(n.lives("K", 20s));
    }
    SECTION("one that is not there") {
        CHECK(n.leave(others) == "0");
        CHECK(n.readers() == "base=100 A+10000 B+20000");
        CHECK(n.lives("K", 20s));
    }
    CHECK(n.get("F") == "102");
}

TEST_CASE("the last reader takes the key and the set with it", "[scripts]") {
    reader_node n;
    n.be_shared();
    CHECK(n.leave(ours) == "1");
    CHECK(n.leave(ours) == "0");
    CHECK(n.get("K") == marker);
    CHECK(n.leave(theirs) == "1");
    CHECK(n.names() == std::vector<std::string>{"F", "N"});
    CHECK(n.get("F") == "102");
    CHECK(n.leave(theirs) == "-1");
}

TEST_CASE("a reader's release never touches a writer's key", "[scripts]") {
    reader_node n;
    n.be_shared();
    n.del("K");
    n.take("K", others, 10s);
    const bool is_for_good = GENERATE(false, true);
    for (const auto& owner : {ours, theirs}) {
        CHECK((is_for_good ? n.leave_for_good(owner, 150) : n.leave(owner)) == "0");
    }
    CHECK(n.get("K") == others);
    CHECK(n.lives("K", 10s));
    CHECK(n.get("F") == (is_for_good ? "150" : "102"));
}

TEST_CASE("after a reader's last release none of its late commands takes the key", "[scripts]") {
    reader_node n;
    n.be_shared();
    SECTION("while others have it") {
        CHECK(n.leave_for_good(ours, 150) == "1");
        CHECK(n.readers() == "base=150 B+20000");
        CHECK(n.get("F") == "150");
        CHECK(n.share(ours, 150) == "{4 150}");
        CHECK(n.extend_share(ours, 150) == "{4 150}");
        CHECK(n.share(others, 151) == "1");
    }
    SECTION("though it never came") {
        CHECK(n.leave_for_good(others, 150) == "0");
        CHECK(n.share(others, 150) == "{4 150}");
    }
    SECTION("with the fence above it already") {
        n.share(others, 200);
        CHECK(n.leave_for_good(ours, 150) == "1");
        CHECK(n.readers() == "base=150 B+20000 C+30000");
        CHECK(n.get("F") == "200");
        CHECK(n.share(ours, 150) == "{4 150}");
    }
    SECTION("never down") {
        CHECK(n.leave_for_good(ours, 50) == "1");
        CHECK(n.readers() == "base=100 B+20000");
        CHECK(n.get("F") == "102");
    }
    SECTION("where it was the last") {
        n.leave(theirs);
        CHECK(n.leave_for_good(ours, 150) == "1");
        CHECK(n.names() == std::vector<std::string>{"F", "N"});
        CHECK(n.get("F") == "150");
        CHECK(n.share(ours, 150) == "{4 150}");
    }
    SECTION("where nobody has it any more") {
        n.del("K");
        n.del("K:R");
        CHECK(n.leave_for_good(ours, 150) == "-1");
        CHECK(n.share(ours, 150) == "{4 150}");
    }
    SECTION("of another epoch: none of them can, and nothing is raised") {
        n.from_epoch = other_epoch;
        CHECK(n.leave_for_good(ours, 150) == "1");
        CHECK(n.readers() == "base=100 B+20000");
        CHECK(n.get("F") == "102");
    }
}

TEST_CASE("where memory has run out readers are refused, prolonged and given back", "[scripts]") {
    reader_node n;
    SECTION("the first") {
        n.set("F", "100");
        n.run_out_of_memory();
        CHECK(n.share(ours, 101) == "!OOM");
        CHECK(n.extend_share(ours, 101) == "!OOM");
        CHECK(n.names() == std::vector<std::string>{"F", "N"});
        CHECK(n.get("F") == "100");
    }
    SECTION("another") {
        n.be_shared();
        n.run_out_of_memory();
        CHECK(n.share(others, 103) == "!OOM");
        CHECK(n.extend_share(others, 103) == "!OOM");
        CHECK(n.readers() == "base=100 A+10000 B+20000");
        CHECK(n.get("F") == "102");
        CHECK(n.lives("K", 20s));
    }
    SECTION("one that has it, also where the key lives longer for others") {
        n.be_shared();
        n.run_out_of_memory();
        CHECK(n.extend_share(ours, 103, 15'000) == "1");
        CHECK(n.readers() == "base=100 A+15000 B+20000");
        CHECK(n.extend_share(ours, 103, 30'000) == "1");
        CHECK(n.lives("K", 30s));
    }
    SECTION("a release, for good") {
        n.be_shared();
        n.run_out_of_memory();
        CHECK(n.leave_for_good(others, 150) == "0");
        CHECK(n.readers() == "base=150 A+10000 B+20000");
        CHECK(n.get("F") == "150");
        CHECK(n.leave(ours) == "1");
        CHECK(n.leave(theirs) == "1");
        CHECK_FALSE(n.exists("K"));
    }
    n.config_set("maxmemory", "0");
}

TEST_CASE("a replica refuses readers, and changes nothing", "[scripts]") {
    reader_node n;
    n.be_shared();
    REQUIRE(n.command({"REPLICAOF", "127.0.0.1", "1"}).text == "OK");
    CHECK(n.ask({as_reader(to_acquire("K", 103, others)), as_reader(to_extend("K", 103)),
                 as_reader(to_release("K")), as_reader(to_release_for_good("K", 150, theirs)),
                 as_reader(to_acquire("free", begun_us))}) ==
          "{!READONLY !READONLY !READONLY !READONLY !READONLY}");
    n.command({"REPLICAOF", "NO", "ONE"});
    CHECK(n.readers() == "base=100 A+10000 B+20000");
    CHECK(n.get("F") == "102");
    CHECK_FALSE(n.exists("free"));
}

TEST_CASE("readers of another epoch, and late ones, take and prolong nothing", "[scripts]") {
    reader_node n;
    n.be_shared();
    std::string refusal;
    SECTION("another epoch") {
        n.from_epoch = other_epoch;
        refusal = "+AMNESIAC";
    }
    SECTION("late") {
        n.not_after = text(begun_us - 1);
        refusal = "+LATE";
    }
    CHECK(n.share(others, 103) == refusal);
    CHECK(n.share(ours, 103) == refusal);
    CHECK(n.share(others, 103, waiter{"cid:r1", 100}) == refusal);
    CHECK(n.extend_share(ours, 103) == refusal);
    CHECK(n.readers() == "base=100 A+10000 B+20000");
    CHECK(n.get("F") == "102");
    CHECK_FALSE(n.exists("Q"));
    // What they refuse takes no other reader's keys: each has its own set.
    CHECK(n.ask({as_reader(to_acquire("a", begun_us)), as_reader(to_release("K")),
                 as_reader(to_extend("b", begun_us)), as_reader(to_release("K", theirs))}) ==
          "{" + refusal + " 1 " + refusal + " 1}");
    CHECK_FALSE(n.exists("K"));
    CHECK_FALSE(n.exists("K:R"));
}

TEST_CASE("readers and writers of several keys in one call have their own sets", "[scripts]") {
    reader_node n;
    CHECK(n.ask({as_reader(to_acquire("a", begun_us)), to_acquire("b", begun_us),
                 as_reader(to_acquire("c", begun_us)), as_reader(to_acquire("b", begun_us + 1)),
                 as_reader(to_acquire("a", begun_us + 1, theirs)),
                 to_acquire("c", begun_us + 1, theirs)})
              .starts_with("{1 1 1 {2 "));
    CHECK(show(n.last().items.at(4)) == "1");
    CHECK(show(n.last().items.at(5)).starts_with("{2 "));
    CHECK(n.command({"ZCARD", "a:R"}).number == 3);
    CHECK(n.command({"ZCARD", "c:R"}).number == 2);
    CHECK_FALSE(n.exists("b:R"));
}

TEST_CASE("a key goes from writers to readers and back in one call", "[scripts]") {
    reader_node n;
    n.set("F", "100");
    CHECK(n.ask({to_acquire("K", 101), to_release("K"), as_reader(to_acquire("K", 102, theirs)),
                 as_reader(to_acquire("K", 102, others))}) == "{1 1 1 1}");
    CHECK(n.readers() == "base=101 B+30000 C+30000");
    CHECK(n.ask({as_reader(to_release("K", theirs)), as_reader(to_release("K", others)),
                 to_acquire("K", 102), to_release("K"), to_acquire("K", 103)}) ==
          "{1 1 {4 102} -1 1}");
    CHECK(n.get("K") == ours);
    CHECK_FALSE(n.exists("K:R"));
}

TEST_CASE("a reader stands behind a writer that waits, and is entered there", "[scripts]") {
    reader_node n;
    n.be_shared();
    const wake_listener wim("wim");  // one that does not hear loses its place
    const wake_listener cid("cid");
    const waiter writer{"wim:1", 100};
    const waiter late{"cid:r1", 200};
    const waiter early{"eve:r1", 50};
    const auto queue = [&] {
        std::string out;
        for (const auto& r : n.command({"ZRANGE", "Q", "0", "-1"}).items) {
            out += (out.empty() ? "" : " ") + r.text.substr(0, r.text.rfind(':'));
        }
        return out;
    };
    CHECK(n.ask({as_waiter(to_acquire("K", 103, others), writer)}).starts_with("{2 "));
    CHECK(queue() == "wim:1");
    // Neither one that waits nor one that does not passes it.
    CHECK(n.share(others, 103, late) == "{3 2000 102}");
    CHECK(queue() == "wim:1 cid:r1");
    CHECK(n.share(others, 103) == "{3 2000 102}");
    SECTION("one that has the key is granted again") {
        CHECK(n.share(ours, 103) == "1");
        CHECK(n.extend_share(ours, 104) == "1");
    }
    SECTION("one that came before it joins") {
        CHECK(n.share(others, 103, early) == "1");
        CHECK(queue() == "wim:1 cid:r1");
    }
    SECTION("where it is not alive it keeps nobody back") {
        n.clock_us += 2'000'000;
        CHECK(n.share(others, 103) == "1");
    }
    SECTION("where the key is free") {
        n.leave(ours);
        n.leave(theirs);
        CHECK(n.share(others, 103, late) == "{3 2000 102}");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.ask({as_waiter(to_acquire("K", 103, others), writer)}) == "1");
        CHECK(queue() == "cid:r1");
        CHECK(n.ask({to_release("K", others)}) == "1");
        CHECK(n.share(others, 104, late) == "1");
        CHECK(queue().empty());
    }
    SECTION("readers that wait keep no reader back, and one writer that does not wait") {
        n.ask({as_waiter(to_release("K", "nobody's"), {writer.id, writer.ticket, 0})});
        CHECK(queue() == "cid:r1");
        CHECK(n.share(others, 103, waiter{"bob:r7", 300}) == "1");
        for (const auto& owner : {ours, theirs, others}) n.leave(owner);
        CHECK(n.write(ours, 104) == "{3 2000 103}");
        CHECK(n.ask({as_waiter(to_acquire("K", 104), {"zoe:1", 400})}) == "{3 2000 103}");
    }
}

TEST_CASE("an id is a reader's by the letter before its number", "[scripts]") {
    reader_node n;
    n.be_shared();
    const std::string id = GENERATE("a:1", "r:1", "rr1:2", "a-r:1");
    n.ask({as_waiter(to_acquire("K", 103, others), {id, 100})});
    CHECK(n.share(others, 103) == "{3 2000 102}");
}

TEST_CASE("a reader behind more readers than are looked at does not pass a writer", "[scripts]") {
    reader_node n;
    n.set("F", "100");
    const std::string until = ":" + text(n.clock_us / 1000 + 2'000);
    std::vector<std::string> words{"ZADD", "Q"};
    for (int i = 0; i < 200; ++i) {
        words.insert(words.end(), {text(i + 1), "ann:r" + text(i) + until});
    }
    n.command(words);
    CHECK(n.share(ours, 101, {"bob:r1", 1'000}) == "{3 2000 100}");
    n.command({"ZADD", "Q", "150", "dan:1" + until});
    CHECK(n.share(ours, 101, {"bob:r1", 1'000}) == "{3 2000 100}");
    CHECK(n.share(theirs, 101, {"cid:r1", 100}) == "1");  // not so far behind
}

TEST_CASE("readers that wait are woken together by one release, each client once", "[scripts]") {
    reader_node n;
    wake_listener ann("ann");
    wake_listener bob("bob");
    wake_listener cid("cid");
    wake_listener dan("dan");
    n.take("K", ours, 30s);
    n.set("F", "100");
    for (const waiter& who : {waiter{"ann:r1", 1}, {"bob:r1", 2}, {"ann:r2", 3}, {"gone:r1", 4},
                              {"cid:r1", 5}}) {
        n.share(theirs, 101, who);
    }
    n.ask({as_waiter(to_acquire("K", 101, theirs), {"dan:1", 6})});
    n.share(theirs, 101, waiter{"dan:r2", 7});
    SECTION("all in front of the first writer") {
        CHECK(n.ask({to_release("K")}) == "1");
        CHECK(ann.heard() == "K");
        CHECK(bob.heard() == "K");
        CHECK(cid.heard() == "K");
        CHECK(dan.heard().empty());
        CHECK(n.command({"ZCARD", "Q"}).number == 6);  // without the one that does not hear
    }
    SECTION("a writer in front is woken alone") {
        n.ask({as_waiter(to_acquire("K", 101, theirs), {"dan:0", 0})});
        CHECK(n.ask({to_release("K")}) == "1");
        CHECK(dan.heard() == "K");
        CHECK(ann.heard() + bob.heard() + cid.heard() == "");
    }
}

TEST_CASE("a writer that gives up wakes the readers behind it, and those alone", "[scripts]") {
    reader_node n;
    wake_listener ann("ann");
    wake_listener bob("bob");
    wake_listener wim("wim");
    n.be_shared();
    const waiter writer{"wim:1", 1};
    n.ask({as_waiter(to_acquire("K", 103, others), writer)});
    n.share(others, 103, waiter{"ann:r1", 2});
    n.share(others, 103, waiter{"bob:r1", 3});
    const auto gives_up = as_waiter(to_release("K", others), {writer.id, writer.ticket, 0});
    SECTION("while it is shared") {
        CHECK(n.ask({gives_up}) == "0");
        CHECK(ann.heard() == "K");
        CHECK(bob.heard() == "K");
    }
    SECTION("with another writer between them") {
        n.ask({as_waiter(to_acquire("K", 103, others), {"wim:2", 1})});
        CHECK(n.ask({gives_up}) == "0");
        CHECK(ann.heard() + bob.heard() == "");
        CHECK(wim.heard().empty());  // the key is not free
    }
    SECTION("in its own name too, where the last reader gives the key back") {
        n.leave(ours);
        n.leave(theirs);
        CHECK(wim.heard() == "K");
        CHECK(ann.heard() + bob.heard() == "");
        CHECK(n.ask({gives_up}) == "-1");
        CHECK(ann.heard() == "K");
        CHECK(bob.heard() == "K");
    }
    CHECK(wim.heard().empty());
}

TEST_CASE("a reader that gives up wakes the next, and one of several that leaves wakes nobody",
          "[scripts]") {
    reader_node n;
    wake_listener wim("wim");
    n.be_shared();
    n.ask({as_waiter(to_acquire("K", 103, others), {"wim:1", 10})});
    SECTION("others have the key still") {
        CHECK(n.leave(ours) == "1");
        CHECK(wim.heard().empty());
        CHECK(n.leave(theirs) == "1");
        CHECK(wim.heard() == "K");
    }
    SECTION("it stood before the writer, and the key is free") {
        n.leave(ours);
        n.leave(theirs);
        CHECK(wim.heard() == "K");
        n.command({"ZADD", "Q", "1", "ann:r1:" + text(begun_us / 1000 + 2'000)});
        CHECK(n.ask({as_waiter(as_reader(to_release("K", others)), {"ann:r1", 1, 0})}) == "-1");
        CHECK(wim.heard() == "K");
    }
    SECTION("it gives its votes back and waits on") {
        n.leave(theirs);
        CHECK(n.ask({as_waiter(as_reader(to_release("K")), {"ann:r1", 20})}) == "1");
        CHECK(wim.heard() == "K");
        CHECK(n.command({"ZCARD", "Q"}).number == 2);
    }
}

TEST_CASE("a reader that waits sees a key that is shared as a free one", "[scripts]") {
    reader_node n;
    n.be_shared();
    const auto wait = [&](const waiter& who) {
        return n.eval(with_held_clock(resp::wait().text, n.clock_us), {"K", "Q"},
                      {"1", who.id, text(who.ticket), text(who.life_ms), "0"});
    };
    CHECK(wait({"ann:r1", 1}) == "{{0 0 " + marker + "}}");
    CHECK(wait({"wim:1", 2}).starts_with("{{"));
    CHECK(n.last().items.at(0).items.at(0).number > 15'000);
    CHECK(wait({"bob:r1", 3}) == "{{2000 2000 " + marker + "}}");
}

TEST_CASE("a writer that goes on as a reader shares its key, under its own base", "[scripts]") {
    reader_node n;
    n.set("F", "100");
    REQUIRE(n.write(ours, 101) == "1");
    n.command({"ZADD", "K:R", "-5", "base", text(begun_us / 1000 + 60'000), theirs});  // left over
    SECTION("what the node had seen is the base, and its fence is raised") {
        CHECK(n.extend_share(ours, 150) == "1");
        CHECK(n.get("K") == marker);
        CHECK(n.lives("K", 30s));
        CHECK(n.get("F") == "150");
        CHECK(n.lives("F", 30s));
        CHECK(n.readers() == "base=101 A+30000");
        CHECK(n.set_outlives_key());
        CHECK(n.share(theirs, 101) == "{4 101}");
        CHECK(n.share(theirs, 102) == "1");
        CHECK(n.write(others, 151).starts_with("{2 "));
        // A writer after them has to exceed all.
        n.leave(ours);
        n.leave(theirs);
        CHECK(n.write(others, 150) == "{4 150}");
    }
    SECTION("under a fence that is not above the node's, too: the key is its own") {
        n.set("F", "200");
        CHECK(n.extend_share(ours, 150) == "1");
        CHECK(n.get("F") == "200");
        CHECK(n.readers() == "base=200 A+30000");
    }
    SECTION("where the fence is missing it counts as a time near the node's own") {
        n.del("F");
        CHECK(n.extend_share(ours, begun_us) == "1");
        CHECK(n.get("F") == text(begun_us));
        CHECK(n.readers() == "base=" + text(begun_us - tolerance_us) + " A+30000");
    }
    SECTION("again, as any reader") {
        CHECK(n.extend_share(ours, 150) == "1");
        CHECK(n.share(theirs, 102) == "1");
        CHECK(n.extend_share(ours, 160, 40'000) == "1");
        CHECK(n.readers() == "base=101 B+30000 A+40000");
        CHECK(n.get("F") == "150");
    }
}

TEST_CASE("to share a writer's key takes no time of it away", "[scripts]") {
    reader_node n;
    n.set("F", "100");
    REQUIRE(n.write(ours, 101) == "1");
    SECTION("a shorter ttl") {
        CHECK(n.extend_share(ours, 150, 10'000) == "1");
        CHECK(n.lives("K", 30s));
        CHECK(n.share(theirs, 150, 1'000) == "1");
        CHECK(n.leave(theirs) == "1");
        CHECK(n.lives("K", 30s));  // as long as this reader has it
    }
    SECTION("a longer one") {
        CHECK(n.extend_share(ours, 150, 50'000) == "1");
        CHECK(n.readers() == "base=101 A+50000");
        CHECK(n.lives("K", 50s));
    }
    SECTION("a key whose expiry was taken away gets the ttl") {
        n.command({"PERSIST", "K"});
        CHECK(n.extend_share(ours, 150, 10'000) == "1");
        CHECK(n.readers() == "base=101 A+10000");
        CHECK(n.lives("K", 10s));
    }
}

TEST_CASE("what a writer sent before it shared its key takes and prolongs nothing", "[scripts]") {
    reader_node n;
    n.set("F", "100");
    REQUIRE(n.write(ours, 101) == "1");
    SECTION("while readers have the key") {
        REQUIRE(n.extend_share(ours, 150, 10'000) == "1");
        CHECK(n.ask({to_extend("K", 140, ours, 300'000)}) == "0");
        CHECK(n.write(ours, 140).starts_with("{2 "));
        CHECK(n.ask({to_release("K")}) == "0");
        CHECK(n.get("K") == marker);
        CHECK(n.lives("K", 30s));
    }
    SECTION("when they are gone") {
        REQUIRE(n.extend_share(ours, 150) == "1");
        n.del("K");
        CHECK(n.ask({to_extend("K", 140)}) == "{4 150}");
        CHECK(n.write(ours, 140) == "{4 150}");
        CHECK_FALSE(n.exists("K"));
    }
    SECTION("nor does the request itself, after the release") {
        CHECK(n.leave_for_good(ours, 150) == "1");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.extend_share(ours, 150) == "{4 150}");
        CHECK_FALSE(n.exists("K"));
    }
    SECTION("nor another writer's key, or one that is kept") {
        const std::string held = GENERATE(false, true) ? theirs : ours + "#kept";
        n.del("K");
        n.take("K", held, 20s);
        CHECK(n.extend_share(ours, 150) == "0");
        CHECK(n.get("K") == held);
        CHECK(n.get("F") == "101");
        CHECK_FALSE(n.exists("K:R"));
    }
}

TEST_CASE("a reader's release also deletes the key that a node did not come to share",
          "[scripts]") {
    reader_node n;
    wake_listener wim("wim");
    n.set("F", "100");
    REQUIRE(n.write(ours, 101) == "1");
    n.ask({as_waiter(to_acquire("K", 103, others), {"wim:1", 1})});
    SECTION("and wakes the next") {
        CHECK(n.leave(ours) == "1");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.get("F") == "101");
    }
    SECTION("for good") {
        CHECK(n.leave_for_good(ours, 150) == "1");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.get("F") == "150");
        CHECK(n.ask({to_extend("K", 150)}) == "{4 150}");
    }
    SECTION("among others of one command") {
        n.ask({to_acquire("other", begun_us)});
        CHECK(n.ask({as_reader(to_release("K")), to_release("other")}) == "{1 1}");
        CHECK_FALSE(n.exists("K"));
        CHECK_FALSE(n.exists("other"));
    }
    CHECK(wim.heard() == "K");
}

TEST_CASE("a writer that shares its key wakes the readers in front of the first writer",
          "[scripts]") {
    reader_node n;
    wake_listener ann("ann");
    wake_listener bob("bob");
    wake_listener cid("cid");
    wake_listener wim("wim");
    n.set("F", "100");
    REQUIRE(n.write(ours, 101) == "1");
    n.share(theirs, 102, waiter{"ann:r1", 2});
    n.share(theirs, 102, waiter{"bob:r1", 3});
    n.ask({as_waiter(to_acquire("K", 103, others), {"wim:1", 4})});
    n.share(theirs, 102, waiter{"cid:r1", 5});
    SECTION("two, and neither the writer nor the reader behind it") {
        CHECK(n.extend_share(ours, 150) == "1");
        CHECK(ann.heard() == "K");
        CHECK(bob.heard() == "K");
        CHECK(n.share(theirs, 151, waiter{"ann:r1", 2}) == "1");
        CHECK(n.share(others, 151, waiter{"cid:r1", 5}).starts_with("{3 "));
        // Once: a renewal wakes nobody.
        CHECK(n.extend_share(ours, 160) == "1");
        CHECK(ann.heard() + bob.heard() == "");
    }
    SECTION("none, where a writer is first") {
        n.ask({as_waiter(to_acquire("K", 103, others), {"wim:0", 1})});
        CHECK(n.extend_share(ours, 150) == "1");
        CHECK(ann.heard() + bob.heard() == "");
    }
    CHECK(wim.heard() + cid.heard() == "");
}

TEST_CASE("where a node can't share a writer's key, the writer has it as before", "[scripts]") {
    reader_node n;
    n.set("F", "100");
    REQUIRE(n.write(ours, 101) == "1");
    const auto stays = [&] { return n.get("K") == ours && n.get("F") == "101"; };
    SECTION("another epoch") {
        n.from_epoch = other_epoch;
        CHECK(n.extend_share(ours, 150) == "+AMNESIAC");
        CHECK(stays());
    }
    SECTION("late") {
        n.not_after = text(begun_us - 1);
        CHECK(n.extend_share(ours, 150) == "+LATE");
        CHECK(stays());
    }
    SECTION("a fence that is none") {
        n.set("F", "x");
        CHECK(n.extend_share(ours, 150) == "!FOREIGN");
        CHECK(n.get("K") == ours);
    }
    SECTION("a replica") {
        REQUIRE(n.command({"REPLICAOF", "127.0.0.1", "1"}).text == "OK");
        CHECK(n.extend_share(ours, 150) == "!READONLY");
        n.command({"REPLICAOF", "NO", "ONE"});
        CHECK(stays());
    }
    SECTION("but without memory it can: it only changes what it has") {
        n.run_out_of_memory();
        CHECK(n.extend_share(ours, 150) == "1");
        CHECK(n.get("K") == marker);
        n.config_set("maxmemory", "0");
    }
    CHECK(n.exists("K:R") == (n.get("K") == marker));
}
