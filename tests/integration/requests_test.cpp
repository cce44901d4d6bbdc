// Many requests in one call of a script, on a real server; knows nothing of clients and quorums.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/scripted_node.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

// What a node says and holds, with times to the next ten seconds: those run on while a test does. A
// reader's ttl ends with the ms in which it ends.
class rounding_node : public scripted_node {
public:
    std::string rounded() const { return rounded(last()); }
    std::vector<std::string> each_rounded() const {
        std::vector<std::string> out;
        for (const auto& one : last().items) out.push_back(rounded(one));
        return out;
    }
    std::string state() {
        auto names = keys();
        std::sort(names.begin(), names.end());
        std::string out;
        for (const auto& name : names) {
            const auto kind = type(name);
            out += name + " = ";
            if (kind == "string") out += get(name).value_or("");
            if (kind == "list") out += "a list";
            if (kind == "zset") {
                out += with_rounded_times(show(command({"ZRANGE", name, "0", "-1", "WITHSCORES"})));
            }
            out += " for " + text(rounded_up(pttl(name).count())) + "\n";
        }
        return out;
    }

private:
    /// Times of the node in ms, up to the next ten seconds: a reader that was a writer keeps what its
    /// key had left, and that depends on when the command came.
    static std::string with_rounded_times(std::string text) {
        constexpr std::size_t digits = 13;
        for (auto at = text.find(" 17"); at != text.npos; at = text.find(" 17", at + 1)) {
            const std::string number = text.substr(at + 1, digits);
            const bool is_time = number.size() == digits &&
                                 number.find_first_not_of("0123456789") == number.npos &&
                                 (at + 1 + digits >= text.size() ||
                                  text[at + 1 + digits] < '0' || text[at + 1 + digits] > '9');
            if (is_time) {
                const long long ms = rounded_up(std::stoll(number)) * 10'000;
                text.replace(at + 1, digits, std::to_string(ms));
            }
        }
        return text;
    }
    static long long rounded_up(long long ms) { return ms < 0 ? ms : (ms + 9'998) / 10'000; }
    static std::string rounded(reply r) {
        const bool tells_pttl = r.items.size() == 5 && r.items[0].number == 2;
        if (tells_pttl) r.items[1].number = rounded_up(r.items[1].number);
        return show(r);
    }
};

// The server's role, for as long as this lives. Its master is not there, and not needed.
class as_replica {
public:
    explicit as_replica(direct& of) : of_(&of) {
        REQUIRE(of_->command({"REPLICAOF", "127.0.0.1", "1"}).text == "OK");
    }
    ~as_replica() { of_->command({"REPLICAOF", "NO", "ONE"}); }
    as_replica(const as_replica&) = delete;
    as_replica& operator=(const as_replica&) = delete;

private:
    direct* of_;
};

/// A user that may do everything but that, until it goes.
class limited_user {
public:
    limited_user(scripted_node& on, const std::string& missing_right) : on_(&on) {
        on_->acl_setuser({"limited", "on", ">x", "~*", "+@all", missing_right});
        REQUIRE(way_.command({"AUTH", "limited", "x"}).text == "OK");
    }
    ~limited_user() { on_->command({"ACL", "DELUSER", "limited"}); }
    limited_user(const limited_user&) = delete;
    limited_user& operator=(const limited_user&) = delete;

    reply ask(const requests& call) {
        const auto keys = keys_of(call);
        std::vector<std::string> words{"EVAL", with_held_clock(resp::requests().text),
                                       std::to_string(keys.size())};
        for (const auto& part : {keys, arguments_of(call)}) {
            words.insert(words.end(), part.begin(), part.end());
        }
        return way_.command(words);
    }

private:
    scripted_node* on_;
    direct way_{scripted_node::server().port()};
};

// Of those that share the key, or of nobody any more.
void litter_readers(rounding_node& n, const std::string& key, std::mt19937& random,
                    const std::vector<std::string>& owners) {
    const auto any_of = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
    const std::string set = as_reader(to_release(key)).readers;
    const auto what = any_of(8);
    if (what == 0) n.make_list(set);
    if (what < 2 || what > 5) return;
    if (any_of(4) != 0 && !n.exists(key)) n.take(key, "redlock:shared", any_of(2) == 0 ? 20s : 60s);
    n.command({"ZADD", set, text(-now_us - any_of(3)), "base"});
    for (unsigned i = any_of(3); i < 3; ++i) {
        const long long left_ms = static_cast<long long>(any_of(3)) * 20'000;
        n.command({"ZADD", set, text(now_us / 1000 + left_ms), owners[i]});
    }
    n.command({"PEXPIRE", set, "60000"});
}

// Everything that may stand where a script looks, under the keys k0 to k3.
void litter(rounding_node& n, std::mt19937& random, const std::vector<std::string>& owners) {
    const auto any_of = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
    for (int i = 0; i < 4; ++i) {
        const std::string key = "k" + text(i);
        switch (any_of(8)) {
            case 0: n.make_list(key); break;
            case 1: n.set(key, owners[any_of(3)]); break;
            case 2: n.set(key, "foreign"); break;
            case 3:
            case 4: n.take(key, owners[any_of(3)], any_of(2) == 0 ? 20s : 60s); break;
            default: break;
        }
        switch (any_of(8)) {
            case 0: n.make_list(fence_of(key)); break;
            case 1: n.set(fence_of(key), "x"); break;
            case 2:
            case 3:
            case 4: n.set(fence_of(key), text(now_us + any_of(4))); break;
            default: break;
        }
        if (any_of(8) == 0) n.make_list(queue_of(key));
        litter_readers(n, key, random, owners);
    }
}

std::vector<asked> any_requests(std::mt19937& random, const std::vector<std::string>& owners) {
    const std::vector<std::string> waiters{"ann:1", "bob:r1", "ann:r2"};
    const auto any_of = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
    std::vector<asked> all;
    for (unsigned left = 2 + any_of(9); left > 0; --left) {
        const auto key = "k" + text(any_of(4));
        const auto& owner = owners[any_of(3)];
        const long long fence = any_of(10) == 0 ? now_us + 2 * tolerance_us : now_us + any_of(5);
        const auto place = any_of(3);
        const waiter who{waiters[place], 100LL + place, any_of(4) == 0 ? 0 : 9000};
        const long long ttl_ms = any_of(2) == 0 ? 30'000 : 50'000;
        switch (any_of(9)) {
            case 0: all.push_back(to_acquire(key, fence, owner, ttl_ms)); break;
            case 1: all.push_back(as_waiter(to_acquire(key, fence, owner, ttl_ms), who)); break;
            case 2: all.push_back(to_extend(key, fence, owner, ttl_ms)); break;
            case 3: all.push_back(to_release_for_good(key, fence, owner)); break;
            case 4: all.push_back(as_waiter(to_release(key, owner), who)); break;
            case 5: all.push_back(to_keep(key, ttl_ms, owner)); break;
            case 6: all.push_back(as_waiter(to_keep(key, ttl_ms, owner), who)); break;
            default: all.push_back(to_release(key, owner)); break;
        }
        if (any_of(2) == 0) all.back() = as_reader(all.back());
    }
    return all;
}

std::string words_of_all(const std::vector<asked>& all) {
    std::string out;
    for (const auto& one : all) {
        out += one.key + ":";
        for (const auto& word : words_of(one)) out += " " + word;
        out += "\n";
    }
    return out;
}

// Does the same once with a call for each request, and once with a call for all of them.
void compare_with_single_calls(unsigned seed, bool is_plain) {
    const std::vector<std::string> owners{ours, theirs, "CCCCCCCCCCCCCCCCCCCCCC@else:3"};
    std::vector<std::string> singly;
    std::string left_singly;
    std::string told_singly;
    for (const bool at_once : {false, true}) {
        rounding_node n;
        wake_listener ann("ann");
        std::mt19937 random(seed);
        litter(n, random, owners);
        auto all = any_requests(random, owners);
        if (is_plain) {
            std::erase_if(all, [](auto& one) { return one.what == ask::acquire; });
            for (auto& one : all) one.readers.clear();
        }
        if (all.size() < 2) return;
        CAPTURE(seed, words_of_all(all));
        const auto call = [&](const std::vector<asked>& some) {
            return is_plain ? n.request_plain(some) : n.request(some);
        };
        if (at_once) {
            call(all);
            CHECK(n.each_rounded() == singly);
            CHECK(n.state() == left_singly);
            CHECK(ann.heard() == told_singly);
            return;
        }
        for (const auto& one : all) {
            call({one});
            singly.push_back(n.rounded());
        }
        left_singly = n.state();
        told_singly = ann.heard();
    }
}

}  // namespace

TEST_CASE("requests of one call do and answer what they would one after the other", "[scripts]") {
    for (unsigned seed = 1; seed <= 400; ++seed) compare_with_single_calls(seed, false);
}

TEST_CASE("so do those for plain locks", "[scripts]") {
    for (unsigned seed = 1; seed <= 200; ++seed) compare_with_single_calls(seed, true);
}

TEST_CASE("each request of a call has an answer of its own, in their order", "[scripts]") {
    rounding_node n;
    n.set("held", theirs);
    n.set("stale:F", text(now_us));
    n.set("mine", ours);
    n.take("short", ours, 10s);
    n.set("owed:F", "100");
    n.request({to_acquire("free", now_us), to_acquire("held", now_us), to_acquire("stale", now_us),
               to_acquire("ahead", now_us + tolerance_us + 1), to_release("mine"),
               to_release("held"), to_release("none"), to_extend("short", now_us),
               to_extend("held", now_us), to_extend("gone", now_us),
               to_release_for_good("owed", 101),
               as_waiter(to_acquire("held", now_us), {"a:1", 1})});
    CHECK(n.each_rounded() ==
          std::vector<std::string>{"1", "{2 -1 " + theirs + " 0 0}", "{4 " + text(now_us) + "}",
                                   "{5 " + text(now_us) + "}", "1", "0", "-1", "1", "0", "{1 0}",
                                   "-1", "{2 -1 " + theirs + " 0 0}"});
    CHECK(n.get("free") == ours);
    CHECK(n.get("free:F") == text(now_us));
    CHECK(n.get("held") == theirs);
    CHECK_FALSE(n.exists("held:F"));
    CHECK(n.get("stale:F") == text(now_us));
    for (const char* key : {"stale", "ahead", "ahead:F", "mine", "mine:F", "none", "owed"}) {
        CHECK_FALSE(n.exists(key));
    }
    CHECK(n.pttl("short") > 20s);
    CHECK_FALSE(n.exists("short:F"));
    CHECK(n.get("gone") == ours);
    CHECK(n.get("gone:F") == text(now_us));
    CHECK(n.get("owed:F") == "101");
    CHECK(n.command({"ZCARD", "held:Q"}).number == 1);
}

TEST_CASE("what is not compared or too late is so for each request, and releases are neither",
          "[scripts]") {
    scripted_node n;
    n.set("b", ours);
    n.take("c", ours, 10s);
    const std::vector<asked> all{to_acquire("a", now_us), to_release("b"), to_extend("c", now_us),
                                 to_release_for_good("d", now_us)};
    SECTION("another epoch") {
        CHECK(n.request(all, {.from_epoch = other_epoch}) == "{+AMNESIAC 1 +AMNESIAC -1}");
        CHECK_FALSE(n.exists("d:F"));
    }
    SECTION("late") {
        CHECK(n.request(all, {.not_after = text(now_us - 1)}) == "{+LATE 1 +LATE -1}");
        CHECK(n.get("d:F") == text(now_us));
    }
    CHECK_FALSE(n.exists("a"));
    CHECK_FALSE(n.exists("a:F"));
    CHECK_FALSE(n.exists("b"));
    CHECK(n.lives("c", 10s));
}

TEST_CASE("a key goes from one to the next in one call", "[scripts]") {
    scripted_node n;
    n.take("K", ours, 300s);
    n.set("F", "100");
    const std::string next = GENERATE(ours, theirs);
    CHECK(n.request({to_release("K"), to_acquire("K", 101, next)}) == "{1 1}");
    CHECK(n.get("K") == next);
    CHECK(n.lives("K", 30s));
    CHECK(n.get("F") == "101");
    CHECK(n.lives("F", 30s));
}

TEST_CASE("a key that is given back goes to nobody whose fence is not above its own", "[scripts]") {
    scripted_node n;
    n.set("K", ours);
    n.set("F", "100");
    SECTION("as it was") {
        CHECK(n.request({to_release("K"), to_acquire("K", 100, theirs)}) == "{1 {4 100}}");
        CHECK(n.get("F") == "100");
    }
    SECTION("as it was raised in this call") {
        CHECK(n.request({to_release_for_good("K", 101), to_acquire("K", 101, theirs),
                         to_extend("K", 101)}) == "{1 {4 101} {4 101}}");
        CHECK(n.get("F") == "101");
    }
    CHECK_FALSE(n.exists("K"));
}

TEST_CASE("a key may be taken, given back and taken again in one call", "[scripts]") {
    scripted_node n;
    n.set("F", "100");
    SECTION("taken again") {
        CHECK(n.request({to_acquire("K", 101, ours, 60'000), to_release("K"),
                         to_acquire("K", 102, theirs)}) == "{1 1 1}");
        CHECK(n.get("K") == theirs);
        CHECK(n.lives("K", 30s));
        CHECK(n.get("F") == "102");
    }
    SECTION("not taken again, for its fence") {
        CHECK(n.request({to_acquire("K", 101), to_release("K"), to_acquire("K", 101, theirs)}) ==
              "{1 1 {4 101}}");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.get("F") == "101");
    }
    SECTION("and given back") {
        CHECK(n.request({to_acquire("K", 101), to_release("K"), to_acquire("K", 102),
                         to_release("K")}) == "{1 1 1 1}");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.get("F") == "102");
    }
    SECTION("not by another owner, which does not hold it") {
        const auto said = n.request({to_acquire("K", 101), to_release("K", theirs),
                                     to_acquire("K", 102, theirs)});
        CHECK(said.starts_with("{1 0 {2 "));
        CHECK(said.ends_with(" " + ours + " 101 0}}"));
        CHECK(n.get("K") == ours);
        CHECK(n.get("F") == "101");
    }
    SECTION("twice by the same, whose fence is raised") {
        CHECK(n.request({to_acquire("K", 101, ours, 60'000), to_acquire("K", 102)}) == "{1 1}");
        CHECK(n.lives("K", 60s));
        CHECK(n.get("F") == "102");
    }
}

TEST_CASE("a key is given back once", "[scripts]") {
    scripted_node n;
    n.set("K", ours);
    SECTION("by the same") { CHECK(n.request({to_release("K"), to_release("K")}) == "{1 -1}"); }
    SECTION("by another") {
        CHECK(n.request({to_release("K"), to_release("K", theirs)}) == "{1 -1}");
    }
    SECTION("after another") {
        CHECK(n.request({to_release("K", theirs), to_release("K")}) == "{0 1}");
    }
    SECTION("and again where it was taken again") {
        CHECK(n.request({to_release("K"), to_acquire("K", now_us, theirs), to_release("K"),
                         to_release("K", theirs)}) == "{1 1 0 1}");
    }
    CHECK_FALSE(n.exists("K"));
}

TEST_CASE("a key that has to be kept stays for so long, and no longer", "[scripts]") {
    scripted_node n;
    wake_listener listening("ann");
    const waiter ann{"ann:1", 100};
    n.set("F", "100");
    const auto ttl = GENERATE(10s, 300s);
    n.take("K", ours, ttl);
    n.request({as_waiter(to_acquire("K", 101, theirs), ann)});
    SECTION("and nobody is woken") { CHECK(n.request({to_keep("K", 30'000)}) == "1"); }
    SECTION("also beside others") {
        CHECK(n.request({to_release("a"), to_keep("K", 30'000), to_release("b")}) == "{-1 1 -1}");
    }
    SECTION("also where it is given back twice") {
        CHECK(n.request({to_keep("K", 30'000), to_keep("K", 50'000), to_release("K")}) == "{1 0 0}");
    }
    SECTION("no longer than it would live, where the program that acquired it knows better") {
        n.command({"PEXPIRE", "K", "30000"});
        CHECK(n.request({to_keep("K", -50'000)}) == "1");
    }
    SECTION("for so long at most, by a program that did not acquire it") {
        n.command({"PEXPIRE", "K", "50000"});
        CHECK(n.request({to_keep("K", -30'000)}) == "1");
    }
    SECTION("also where the fence is raised") {
        asked owed = to_keep("K", 30'000);
        owed.fence = "105";
        CHECK(n.request({owed}) == "1");
        CHECK(n.get("F") == "105");
    }
    SECTION("also where its waiter leaves the queue") {
        const auto bob = as_waiter(to_acquire("K", 101, theirs), {"bob:1", 200});
        CHECK(n.request({bob}).starts_with("{2 "));
        CHECK(n.request({as_waiter(to_keep("K", 30'000), {"bob:1", 200, 0})}) == "1");
        CHECK(n.command({"ZCARD", "Q"}).number == 1);
    }
    SECTION("also where a program of another library would find it") {
        CHECK(n.request({to_keep("K", 30'000)}) == "1");
        CHECK_FALSE(n.set_nx_px("K", "foreign", 10s));
    }
    CHECK(n.get("K") == ours + "#kept");
    CHECK(n.lives("K", 30s));
    CHECK(n.exists("Q"));
    CHECK(listening.heard().empty());
    // A waiter, or a new request, learns for how long: nobody else gets it.
    const auto said = n.request({as_waiter(to_acquire("K", 106, theirs), ann)});
    CHECK(said.starts_with("{2 "));
    CHECK(n.last().items[1].number > 20'000);
}

TEST_CASE("only a key that holds our value is kept, and only it", "[scripts]") {
    scripted_node n;
    n.make_list("list");
    n.take("other", theirs, 10s);
    CHECK(n.request({to_keep("none", 30'000)}) == "-1");
    CHECK(n.request({to_keep("other", 30'000)}) == "0");
    CHECK(n.request({to_keep("list", 30'000)}) == "!WRONGTYPE");
    CHECK(n.request({to_keep("none", 30'000), to_keep("other", 30'000), to_keep("list", 30'000)}) ==
          "{-1 0 !WRONGTYPE}");
    CHECK(n.request_plain({to_keep("none", 30'000), to_keep("other", 30'000),
                           to_keep("list", 30'000)}) == "{-1 0 !WRONGTYPE}");
    CHECK_FALSE(n.exists("none"));
    CHECK_FALSE(n.exists("none:F"));
    CHECK(n.lives("other", 10s));
    CHECK(n.get("other") == theirs);
    CHECK(n.pttl("list") < 0s);
}

TEST_CASE("what is kept by an owed release can't be taken again by what is late", "[scripts]") {
    scripted_node n;
    n.take("K", ours, 10s);
    asked owed = to_keep("K", 30'000);
    owed.fence = text(now_us);
    SECTION("in this epoch the fence is raised, and its value is not found") {
        CHECK(n.request({owed}) == "1");
        CHECK(n.get("F") == text(now_us));
        CHECK(n.request({to_extend("K", now_us - 1, ours, 60'000)}) == "0");
        CHECK(n.request({to_acquire("K", now_us - 1, ours, 60'000)}).starts_with("{2 "));
        CHECK(n.request({owed}) == "0");
    }
    SECTION("in another one it is not") {
        CHECK(n.request({owed}, {.from_epoch = other_epoch}) == "1");
        CHECK_FALSE(n.exists("F"));
    }
    SECTION("where memory has run out it is kept all the same") {
        n.run_out_of_memory();
        n.request({owed});
        n.config_set("maxmemory", "0");
    }
    SECTION("where the key is gone, too") {
        n.del("K");
        CHECK(n.request({owed}) == "-1");
        CHECK(n.get("F") == text(now_us));
        CHECK(n.request({to_acquire("K", now_us)}) == "{4 " + text(now_us) + "}");
        return;
    }
    CHECK(n.get("K") == ours + "#kept");
    CHECK(n.lives("K", 30s));
}

TEST_CASE("a key is kept where memory has run out, and not by a replica", "[scripts]") {
    scripted_node n;
    n.take("K", ours, 10s);
    const bool is_plain = GENERATE(false, true);
    const auto keep = [&] {
        const std::vector<asked> what{to_keep("K", 30'000)};
        return is_plain ? n.request_plain(what) : n.request(what);
    };
    {
        const as_replica replica(n);
        CHECK(keep() == "!READONLY");
    }
    CHECK(n.lives("K", 10s));
    n.run_out_of_memory();
    CHECK(keep() == "1");
    n.config_set("maxmemory", "0");
    CHECK(n.lives("K", 30s));
    CHECK(n.get("K") == ours + "#kept");
}

TEST_CASE("a value that another process released takes its key no more", "[scripts]") {
    scripted_node n;
    const auto released = [&](const std::string& note_ms) {
        asked out = to_release("K", ours);
        out.fence_key = "{K}:fence";
        out.note = note_ms;
        return out;
    };
    asked extension = to_extend("K", now_us + 1);
    extension.fence_key = "{K}:fence";
    n.take("K", ours, 30s);
    SECTION("where it held the key") { CHECK(n.request({released("60000")}) == "1"); }
    SECTION("where the key was gone") {
        n.del("K");
        CHECK(n.request({released("60000")}) == "-1");
    }
    SECTION("where memory has run out") {
        n.run_out_of_memory();
        CHECK(n.request({released("60000")}) == "1");
        n.config_set("maxmemory", "0");
    }
    SECTION("where a longer note stands there") {
        asked other = released("90000");
        other.value = theirs;
        n.request({other});
        CHECK(n.request({released("60000")}) == "1");
        CHECK(n.pttl("{K}:revoked") > 60s);
    }
    CHECK_FALSE(n.exists("K"));
    CHECK(n.pttl("{K}:revoked") > 30s);
    CHECK(n.request({extension}) == "-2");
    CHECK(n.request({extension}, {.clock_us = now_us + 59'999'000}) == "-2");
    CHECK_FALSE(n.exists("K"));
    extension.fence = text(now_us + 61'000'000);
    CHECK(n.request({extension}, {.clock_us = now_us + 60'000'000}) == "{1 0}");
}

TEST_CASE("each lease that is noted as released is forgotten by itself, while others follow",
          "[scripts]") {
    scripted_node n;
    for (int i = 0; i < 30; ++i) {  // one each 10 s
        asked out = to_release("K", text(i));
        out.fence_key = "{K}:fence";
        out.note = "60000";
        CHECK(n.request({out}, {.clock_us = now_us + i * 10'000'000LL}) == "-1");
    }
    CHECK(show(n.command({"ZRANGE", "{K}:revoked", "0", "-1"})) == "{24 25 26 27 28 29}");
    CHECK(n.lives("{K}:revoked", 60s));
}

TEST_CASE("where a release can't be noted the key stays", "[scripts]") {
    scripted_node n;
    n.take("K", ours, 30s);
    n.make_list("revoked");  // "F" has no name before "fence"
    asked out = to_release("K");
    out.fence_key = "fence";
    out.note = "60000";
    CHECK(n.request({out}) == "!WRONGTYPE");
    CHECK(n.get("K") == ours);
    asked extension = to_extend("gone", now_us);
    extension.fence_key = "fence";
    CHECK(n.request({extension}) == "!WRONGTYPE");
    CHECK_FALSE(n.exists("gone"));
}

TEST_CASE("a lease may begin, be prolonged and end in one call", "[scripts]") {
    scripted_node n;
    SECTION("begin and be prolonged") {
        CHECK(n.request({to_acquire("K", now_us, ours, 10'000), to_extend("K", now_us + 1)}) ==
              "{1 1}");
        CHECK(n.get("K") == ours);
        CHECK(n.pttl("K") > 20s);
        CHECK(n.get("F") == text(now_us));  // a lease's own fence does not change
    }
    SECTION("all three") {
        CHECK(n.request({to_acquire("K", now_us), to_extend("K", now_us + 1), to_release("K")}) ==
              "{1 1 1}");
        CHECK_FALSE(n.exists("K"));
        CHECK(n.get("F") == text(now_us));
    }
    SECTION("be prolonged after its end: it begins again under its fence") {
        n.take("K", ours, 300s);
        CHECK(n.request({to_release("K"), to_extend("K", now_us)}) == "{1 {1 0}}");
        CHECK(n.get("K") == ours);
        CHECK(n.lives("K", 30s));
        CHECK(n.get("F") == text(now_us));
    }
}

TEST_CASE("a key of another type spoils no other request of the call", "[scripts]") {
    scripted_node n;
    n.make_list("b");
    SECTION("acquires") {
        CHECK(n.request({to_acquire("a", now_us), to_acquire("b", now_us),
                         to_acquire("c", now_us)}) == "{1 !FOREIGN 1}");
        CHECK(n.get("a") == ours);
        CHECK(n.get("c") == ours);
    }
    SECTION("extensions") {
        n.take("a", ours, 10s);
        CHECK(n.request({to_extend("a", now_us), to_extend("b", now_us), to_extend("c", now_us)}) ==
              "{1 !FOREIGN {1 0}}");
        CHECK(n.pttl("a") > 20s);
        CHECK(n.get("c") == ours);
    }
    SECTION("releases") {
        n.set("a", ours);
        n.set("c", ours);
        CHECK(n.request({to_release("a"), to_release("b"), to_release("c")}) ==
              "{1 !WRONGTYPE 1}");
        CHECK_FALSE(n.exists("a"));
        CHECK_FALSE(n.exists("c"));
    }
    SECTION("each its own") {
        n.set("a", ours);
        CHECK(n.request({to_release("a"), to_acquire("b", now_us), to_release("b"),
                         to_extend("b", now_us), to_acquire("c", now_us)}) ==
              "{1 !FOREIGN !WRONGTYPE !FOREIGN 1}");
        CHECK_FALSE(n.exists("a"));
        CHECK(n.get("c") == ours);
    }
    CHECK(n.type("b") == "list");
    CHECK_FALSE(n.exists("b:F"));
}

TEST_CASE("a fence that is none spoils no other request of the call", "[scripts]") {
    scripted_node n;
    const bool is_text = GENERATE(false, true);
    const auto litter_fence = [&](const std::string& name) {
        if (is_text) {
            n.set(name, "x");
        } else {
            n.make_list(name);
        }
    };
    litter_fence("b:F");
    SECTION("of what is free") {
        CHECK(n.request({to_acquire("a", now_us), to_acquire("b", now_us),
                         to_extend("b", now_us), to_acquire("c", now_us)}) ==
              "{1 !FOREIGN !FOREIGN 1}");
    }
    SECTION("of what is given back first") {
        n.set("b", ours);
        CHECK(n.request({to_acquire("a", now_us), to_release("b"), to_acquire("b", now_us, theirs),
                         to_acquire("c", now_us)}) == "{1 1 !FOREIGN 1}");
    }
    SECTION("of what is given back for good") {
        n.set("b", ours);
        CHECK(n.request({to_acquire("a", now_us), to_release_for_good("b", now_us),
                         to_acquire("c", now_us)}) == "{1 1 1}");
    }
    CHECK_FALSE(n.exists("b"));
    CHECK(n.type("b:F") == (is_text ? "string" : "list"));
    CHECK(n.get("a") == ours);
    CHECK(n.get("c") == ours);
}

TEST_CASE("where memory has run out keys are given back, and each acquire is refused",
          "[scripts]") {
    scripted_node n;
    n.set("b", ours);
    n.set("d", ours);
    n.set("b:F", "100");
    n.set("d:F", "100");
    SECTION("keys apart") {
        n.run_out_of_memory();
        CHECK(n.request({to_acquire("a", now_us), to_release("b"), to_acquire("c", now_us),
                         to_release("d"), to_extend("e", now_us)}) == "{!OOM 1 !OOM 1 !OOM}");
    }
    SECTION("the same keys") {
        n.run_out_of_memory();
        CHECK(n.request({to_release("b"), to_acquire("b", now_us, theirs), to_release("d"),
                         to_acquire("d", now_us)}) == "{1 !OOM 1 !OOM}");
        CHECK(n.last().items[1].text.find("maxmemory") != std::string::npos);
    }
    n.config_set("maxmemory", "0");
    auto left = n.keys();
    std::sort(left.begin(), left.end());
    CHECK(left == std::vector<std::string>{"N", "b:F", "d:F"});
    CHECK(n.get("b:F") == "100");
}

TEST_CASE("where memory has run out leases are prolonged beside acquires", "[scripts]") {
    scripted_node n;
    n.take("b", ours, 10s);
    n.run_out_of_memory();
    CHECK(n.request({to_acquire("a", now_us), to_extend("b", now_us)}) == "{!OOM 1}");
    n.config_set("maxmemory", "0");
    CHECK(n.pttl("b") > 20s);
    CHECK_FALSE(n.exists("a"));
}

TEST_CASE("a replica answers each request with an error, and changes nothing", "[scripts]") {
    rounding_node n;
    n.take("a", ours, 20s);
    n.take("b", ours, 20s);
    n.take("c", ours, 20s);
    n.take("d", ours, 20s);
    n.set("b:F", "100");
    n.set("d:F", "100");
    const auto before = n.state();
    std::string said;
    std::string plain;
    {
        const as_replica replica(n);
        said = n.request({to_release("a"), to_acquire("b", 101), to_extend("c", 101),
                          to_acquire("e", now_us), to_release("d"),
                          to_acquire("d", 101, theirs), to_extend("f", now_us),
                          to_release_for_good("g", now_us), to_release_for_good("b", 101)});
        plain = n.request_plain({to_release("a"), to_extend("b", 0), to_release("c")});
    }
    CHECK(said == "{!READONLY !READONLY !READONLY !READONLY !READONLY !READONLY !READONLY "
                  "!READONLY !READONLY}");
    CHECK(plain == "{!READONLY !READONLY !READONLY}");
    CHECK(n.state() == before);
}

TEST_CASE("a waiter that enters a queue is seen by the requests behind it in the call",
          "[scripts]") {
    scripted_node n;
    wake_listener listening("ann");
    const waiter ann{"ann:1", 100};
    n.set("K", ours);
    SECTION("a release tells the waiter, and an acquire without a place stands behind it") {
        const auto said = n.request({as_waiter(to_acquire("K", now_us, theirs), ann),
                                     to_release("K"), to_acquire("K", now_us)});
        CHECK(said == "{{2 -1 " + ours + " 0 0} 1 {3 2000 0}}");
        CHECK(listening.heard() == "K");
    }
    SECTION("by a waiter behind it that gives the key back") {
        const auto said = n.request({as_waiter(to_acquire("K", now_us, theirs), ann),
                                     as_waiter(to_release("K"), {"bob:1", 200})});
        CHECK(said == "{{2 -1 " + ours + " 0 0} 1}");
        CHECK(listening.heard() == "K");
        CHECK(n.command({"ZCARD", "Q"}).number == 2);
    }
    SECTION("also one that gives the key back and waits on") {
        CHECK(n.request({as_waiter(to_release("K"), ann), to_acquire("K", now_us, theirs)}) ==
              "{1 {3 2000 0}}");
        CHECK(listening.heard().empty());
    }
    SECTION("until it leaves") {
        CHECK(n.request({as_waiter(to_release("K"), ann),
                         as_waiter(to_release("K", "nobody's"), {"ann:1", 100, 0}),
                         to_acquire("K", now_us, theirs)}) == "{1 -1 1}");
        CHECK(n.get("K") == theirs);
        CHECK_FALSE(n.exists("Q"));
        return;
    }
    SECTION("until it gets the key") {
        CHECK(n.request({as_waiter(to_release("K"), ann),
                         as_waiter(to_acquire("K", now_us, theirs), ann),
                         to_release("K", theirs), to_acquire("K", now_us + 1)}) == "{1 1 1 1}");
        CHECK(n.get("K") == ours);
        CHECK_FALSE(n.exists("Q"));
        return;
    }
    CHECK_FALSE(n.exists("K"));
    CHECK_FALSE(n.exists("F"));
    CHECK(n.command({"ZRANGE", "Q", "0", "0"}).items.at(0).text ==
          "ann:1:" + text(now_us / 1000 + 2000));
}

TEST_CASE("a queue of one key is not that of another of the call", "[scripts]") {
    scripted_node n;
    wake_listener listening("ann");
    n.set("a", theirs);
    n.set("b", ours);
    n.request({as_waiter(to_acquire("a", now_us), {"ann:1", 100}), to_release("b"),
               to_acquire("c", now_us)});
    CHECK(show(n.last().items.at(1)) == "1");
    CHECK(show(n.last().items.at(2)) == "1");
    CHECK(listening.heard().empty());
    CHECK(n.exists("a:Q"));
    CHECK_FALSE(n.exists("b:Q"));
}

TEST_CASE("as many requests as a client sends at once fit into one call", "[scripts]") {
    scripted_node n;
    std::vector<asked> all;
    std::string expected;
    for (int i = 0; i < 64; ++i) {
        const auto key = "k" + text(i);
        switch (i % 4) {
            case 0: all.push_back(to_acquire(key, now_us)); break;
            case 1:
                n.set(key, ours);
                all.push_back(to_release(key));
                break;
            case 2:
                n.take(key, ours, 10s);
                all.push_back(to_extend(key, now_us));
                break;
            default: all.push_back(as_waiter(to_release_for_good(key, now_us), {"a:1", 1})); break;
        }
        expected += (i == 0 ? "" : " ") + std::string(i % 4 == 3 ? "-1" : "1");
    }
    CHECK(n.request(all) == "{" + expected + "}");
    for (int i = 0; i < 64; ++i) {
        const auto key = "k" + text(i);
        CAPTURE(key);
        CHECK(n.exists(key) == (i % 4 == 0 || i % 4 == 2));
        CHECK((n.get(key + ":F") == text(now_us)) == (i % 4 == 0 || i % 4 == 3));
        CHECK(n.exists(key + ":Q") == (i % 4 == 3));
    }
    CHECK(n.pttl("k62") > 20s);
}

TEST_CASE("a thousand leases are extended in one call", "[scripts]") {
    scripted_node n;
    std::vector<asked> leases;
    std::string expected;
    for (int i = 0; i < 1'000; ++i) {
        const std::string key = "k" + text(i);
        leases.push_back(to_extend(key, now_us));
        if (i % 4 == 0) n.take(key, ours, 10s);
        if (i % 4 == 1) n.take(key, theirs, 10s);
        if (i % 4 == 3) n.set(key + ":F", text(now_us));
        const std::vector<std::string> answers{"1", "0", "{1 0}", "{4 " + text(now_us) + "}"};
        expected += (i == 0 ? "" : " ") + answers[static_cast<std::size_t>(i % 4)];
    }
    CHECK(n.request(leases) == "{" + expected + "}");
    CHECK(n.get("k998") == ours);
    CHECK(n.get("k998:F") == text(now_us));
    CHECK(n.pttl("k996") > 20s);
    CHECK(n.get("k997") == theirs);
}

TEST_CASE("sixty-four keys are taken at once", "[scripts]") {
    scripted_node n;
    const auto all = [](asked what) {
        for (int i = 0; i < 63; ++i) {
            const std::string key = "L" + text(i);
            what.others.push_back({key, fence_of(key), queue_of(key)});
        }
        return what;
    };
    CHECK(n.request({all(to_acquire("K", now_us))}) == "1");
    n.request({all(to_acquire("K", now_us + 1, theirs))});
    CHECK(n.last().items.at(5).text == std::string(8, '\xff'));
    CHECK(n.request({all(to_release("K"))}) == "1");
    CHECK(n.command({"DBSIZE"}).number == 1 + 64);  // the record, and the fences
}

TEST_CASE("as many as a client waits for at once fit into one command", "[scripts]") {
    scripted_node n;
    std::vector<std::string> keys;
    std::vector<std::string> args{"256"};
    for (int i = 0; i < 256; ++i) keys.push_back("k" + text(i));
    for (int i = 0; i < 256; ++i) keys.push_back("k" + text(i) + ":Q");
    for (int i = 0; i < 256; ++i) args.push_back("ann:" + text(i));
    for (int i = 0; i < 256; ++i) args.push_back(text(i));
    args.insert(args.end(), 256, "2000");
    args.insert(args.end(), 256, "0");
    n.eval(with_held_clock(resp::wait().text), keys, args);
    REQUIRE(n.last().items.size() == 256);
    for (const auto& item : n.last().items) CHECK(item.items.at(0).number == 0);
    for (const auto* q : {"k0:Q", "k255:Q"}) CHECK(n.command({"ZCARD", q}).number == 1);
}

TEST_CASE("without a right that every call needs, the whole call is refused", "[scripts]") {
    scripted_node n;
    n.set("b", ours);
    const std::string right = GENERATE("-exists", "-mget");
    limited_user limited(n, right);
    const requests call{"N",     epoch, {}, text(tolerance_us),
                        "0", {to_acquire("a", now_us), to_release("b")}};
    const auto said = limited.ask(call);
    CHECK(said.type == reply::kind::error);
    // In the words of an older server, or of a newer one.
    CHECK((said.text.find("can't run this command") != std::string::npos ||
           said.text.find("no permissions") != std::string::npos));
    CHECK_FALSE(n.exists("a"));
    CHECK(n.get("b") == ours);
}

TEST_CASE("a right that one request lacks leaves the others as they are", "[scripts]") {
    scripted_node n;
    n.set("mine", ours);
    n.take("held", theirs, 20s);
    limited_user limited(n, "-pttl");
    const requests call{"N",
                        epoch,
                        {},
                        text(tolerance_us),
                        "0",
                        {to_release("mine"), to_acquire("free", now_us), to_acquire("held", now_us),
                         to_acquire("other", now_us)}};
    const auto said = limited.ask(call);
    REQUIRE(said.items.size() == 4);
    CHECK(show(said.items[0]) == "1");
    CHECK(show(said.items[1]) == "1");
    CHECK(said.items[2].type == reply::kind::error);
    CHECK(show(said.items[3]) == "1");
    CHECK_FALSE(n.exists("mine"));
    CHECK(n.get("other") == ours);
}

TEST_CASE("a node that refuses a release wakes nobody", "[scripts]") {
    scripted_node n;
    // Of a client that does not listen: PUBLISH reaches nobody, and the entry can't be removed.
    for (const char* key : {"a", "b"}) {
        n.set(key, ours);
        n.command({"ZADD", std::string(key) + ":Q", "1", "gone:1:" + text(now_us / 1000 + 2'000)});
    }
    n.reset_calls();
    const as_replica meanwhile(n);
    CHECK(n.request({to_release("a"), to_release("b")}) == "{!READONLY !READONLY}");
    CHECK(n.calls("publish") == 0);
}

TEST_CASE("plain locks are given back and prolonged in one call", "[scripts]") {
    scripted_node n;
    n.set("a", ours);
    n.set("b", theirs);
    n.take("d", ours, 10s);
    n.take("e", ours, 60s);
    n.take("f", theirs, 10s);
    n.set("h", ours);
    CHECK(n.request_plain({to_release("a"), to_release("b"), to_release("c"), to_extend("d", 0),
                           to_extend("e", 0), to_extend("f", 0), to_extend("g", 0),
                           to_release("h")}) == "{1 0 -1 1 1 0 -1 1}");
    CHECK(n.pttl("d") > 20s);
    CHECK(n.lives("d", 30s));
    CHECK(n.lives("e", 60s));
    CHECK(n.lives("f", 10s));
    auto left = n.keys();
    std::sort(left.begin(), left.end());
    CHECK(left == std::vector<std::string>{"N", "b", "d", "e", "f"});
}

TEST_CASE("plain locks are given back one by one where many can't be read at once", "[scripts]") {
    scripted_node n;
    n.command({"ACL", "SETUSER", "default", "-mget"});
    n.set("a", ours);
    n.set("b", theirs);
    n.make_list("c");
    CHECK(n.request_plain({to_release("a"), to_release("b"), to_release("c"), to_release("d")}) ==
          "{1 0 !WRONGTYPE -1}");
    n.command({"ACL", "SETUSER", "default", "+mget"});
    CHECK_FALSE(n.exists("a"));
    CHECK(n.get("b") == theirs);
}

TEST_CASE("a call may carry two requests for one plain lock", "[scripts]") {
    scripted_node n;
    n.take("K", ours, 10s);
    SECTION("kept, and given back") {
        CHECK(n.request_plain({to_keep("K", 30'000), to_release("K")}) == "{1 0}");
        CHECK(n.get("K") == ours + "#kept");
        return;
    }
    SECTION("prolonged, and kept for less") {
        CHECK(n.request_plain({to_extend("K", 0, ours, 60'000), to_keep("K", 30'000)}) == "{1 1}");
        CHECK(n.lives("K", 30s));
    }
    SECTION("given back, and not kept any more") {
        CHECK(n.request_plain({to_release("K"), to_keep("K", 30'000)}) == "{1 -1}");
        CHECK_FALSE(n.exists("K"));
    }
    SECTION("given back twice") {
        CHECK(n.request_plain({to_release("K"), to_release("K")}) == "{1 -1}");
        CHECK_FALSE(n.exists("K"));
    }
    SECTION("given back, and not prolonged any more") {
        CHECK(n.request_plain({to_release("K"), to_extend("K", 0)}) == "{1 -1}");
        CHECK_FALSE(n.exists("K"));
    }
    SECTION("prolonged and given back") {
        CHECK(n.request_plain({to_extend("K", 0), to_release("K")}) == "{1 1}");
        CHECK_FALSE(n.exists("K"));
    }
    SECTION("prolonged twice") {
        CHECK(n.request_plain({to_extend("K", 0, ours, 40'000), to_extend("K", 0)}) == "{1 1}");
        CHECK(n.lives("K", 40s));
        CHECK(n.pttl("K") > 30s);
    }
    SECTION("by two") {
        CHECK(n.request_plain({to_release("K", theirs), to_extend("K", 0, theirs)}) == "{0 0}");
        CHECK(n.lives("K", 10s));
    }
}

TEST_CASE("a key of another type spoils no other plain lock", "[scripts]") {
    scripted_node n;
    n.set("a", ours);
    n.make_list("b");
    n.take("c", ours, 10s);
    CHECK(n.request_plain({to_release("b"), to_release("a"), to_extend("b", 0),
                           to_extend("c", 0)}) == "{!WRONGTYPE 1 !WRONGTYPE 1}");
    CHECK_FALSE(n.exists("a"));
    CHECK(n.type("b") == "list");
    CHECK(n.pttl("c") > 20s);
}

TEST_CASE("plain locks are given back and prolonged where memory has run out", "[scripts]") {
    scripted_node n;
    n.set("a", ours);
    n.take("b", ours, 10s);
    n.run_out_of_memory();
    CHECK(n.request_plain({to_release("a"), to_extend("b", 0), to_release("c")}) == "{1 1 -1}");
    n.config_set("maxmemory", "0");
    CHECK_FALSE(n.exists("a"));
    CHECK(n.pttl("b") > 20s);
}

TEST_CASE("as many plain requests as a client sends at once fit into one call", "[scripts]") {
    scripted_node n;
    std::vector<asked> all;
    std::string expected;
    for (int i = 0; i < 64; ++i) {
        const auto key = "k" + text(i);
        n.take(key, ours, 10s);
        all.push_back(i % 2 == 0 ? to_release(key) : to_extend(key, 0));
        expected += i == 0 ? "1" : " 1";
    }
    CHECK(n.request_plain(all) == "{" + expected + "}");
    CHECK(n.keys("k*").size() == 32);
    for (int i = 1; i < 64; i += 2) CHECK(n.pttl("k" + text(i)) > 20s);
}
