// The requests to a node for several keys at once, rule by rule on a real server; knows nothing of
// clients and quorums.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/scripted_node.hpp"
#include "wire/resp/command.hpp"

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

const std::string strangers = "CCCCCCCCCCCCCCCCCCCCCC@else:3";
constexpr long long first_fence = now_us;

/// About K and those keys.
asked together_with(asked what, const std::vector<std::string>& keys) {
    for (const auto& key : keys) what.others.push_back({key, fence_of(key), queue_of(key)});
    return what;
}

class set_node : public scripted_node {
public:
    std::string ask(const asked& what) { return request({what}); }
    std::string take(const std::vector<std::string>& more, long long fence,
                     const std::string& owner = ours, long long ttl_ms = 30'000) {
        return ask(together_with(to_acquire("K", fence, owner, ttl_ms), more));
    }
    std::string take(const std::vector<std::string>& more, const std::string& owner,
                     const waiter& who, long long fence = first_fence) {
        return ask(together_with(as_waiter(to_acquire("K", fence, owner), who), more));
    }
    std::string give_back(const std::vector<std::string>& more, const std::string& owner = ours) {
        return ask(together_with(to_release("K", owner), more));
    }
    std::string leave(const std::vector<std::string>& more, const waiter& who,
                      const std::string& owner = ours) {
        return ask(together_with(as_waiter(to_release("K", owner), who), more));
    }
    /// The number that is said of the keys that can't be taken.
    unsigned blocked() const {
        const auto& items = last().items;
        const auto& map = items.at(items.at(0).number == 2 ? 5 : 3).text;
        return map.empty() ? 0 : static_cast<unsigned char>(map[0]);
    }
    long long which() const {
        const auto& items = last().items;
        return items.at(items.at(0).number == 2 ? 6 : 4).number;
    }
    bool is_held_for(std::chrono::milliseconds left, const std::string& by) const {
        const auto& items = last().items;
        const std::chrono::milliseconds told(items.at(1).number);
        return items.at(0).number == 2 && told <= left && told > left - 5s &&
               items.at(2).text == by && items.at(3).number == first_fence;
    }
    long long waiting(const std::string& key) { return command({"ZCARD", queue_of(key)}).number; }
};

}  // namespace

TEST_CASE("several keys are taken together, each with its fence", "[scripts]") {
    set_node n;
    CHECK(n.take({"L", "M"}, first_fence) == "1");
    for (const std::string key : {"K", "L", "M"}) {
        CHECK(n.get(key) == ours);
        CHECK(n.lives(key, 30s));
        CHECK(n.get(fence_of(key)) == text(first_fence));
    }
    CHECK(n.take({"L", "M"}, first_fence + 1, ours, 60'000) == "1");  // again
    for (const std::string key : {"K", "L", "M"}) {
        CHECK(n.lives(key, 60s));
        CHECK(n.get(fence_of(key)) == text(first_fence + 1));
    }
    CHECK(n.give_back({"L", "M"}) == "1");
    for (const std::string key : {"K", "L", "M"}) CHECK_FALSE(n.exists(key));
}

TEST_CASE("where one is held none is taken, and its holder is named", "[scripts]") {
    set_node n;
    n.ask(to_acquire("M", first_fence, theirs, 9'000));
    n.take({"L", "M"}, first_fence + 1);
    CHECK(n.is_held_for(9s, theirs));
    CHECK(n.blocked() == 4);
    CHECK(n.which() == 2);
    for (const std::string key : {"K", "L"}) {
        CHECK_FALSE(n.exists(key));
        CHECK_FALSE(n.exists(fence_of(key)));
    }
    // The longest of several; one without an end is longer than any.
    n.ask(to_acquire("L", first_fence, strangers, 20'000));
    n.take({"L", "M"}, first_fence + 1);
    CHECK(n.is_held_for(20s, strangers));
    CHECK(n.blocked() == 6);
    CHECK(n.which() == 1);
    CHECK(n.last().items.at(7).number == 0);
    n.command({"DEL", "L:F"});
    n.take({"L", "M"}, first_fence + 1);
    CHECK(n.last().items.at(7).number == 1);  // whose fence is missing
    n.command({"PERSIST", "M"});
    CHECK(n.take({"L", "M"}, first_fence + 1).starts_with("{2 -1 " + theirs));
    CHECK(n.which() == 2);
}

TEST_CASE("of a key that another library holds no wake-up will tell", "[scripts]") {
    set_node n;
    n.set("L", "foreign");
    n.ask(to_acquire("M", first_fence, theirs));
    CHECK(n.take({"L", "M"}, first_fence + 1).starts_with("{2 "));
    CHECK(n.blocked() == 4);
    CHECK(n.which() == 1);  // has no end
}

TEST_CASE("the fence has to be above those of all keys", "[scripts]") {
    set_node n;
    n.set("M:F", text(first_fence + 5));
    CHECK(n.take({"L", "M"}, first_fence + 5) == "{4 " + text(first_fence + 5) + "}");
    for (const std::string key : {"K", "L", "M"}) CHECK_FALSE(n.exists(key));
    CHECK(n.take({"L", "M"}, first_fence + 6) == "1");
    CHECK(n.get("F") == text(first_fence + 6));
}

TEST_CASE("a fence that is too far ahead takes none, where one of theirs is missing", "[scripts]") {
    set_node n;
    n.set("F", text(first_fence));
    CHECK(n.take({"L"}, now_us + tolerance_us + 1).starts_with("{5 "));
    CHECK_FALSE(n.exists("K"));
    n.set("L:F", text(first_fence));
    CHECK(n.take({"L"}, now_us + tolerance_us + 1) == "1");
}

TEST_CASE("a key that is no string, or has no fence of ours, has none taken", "[scripts]") {
    set_node n;
    n.make_list("M");
    CHECK(n.take({"L", "M"}, first_fence) == "!FOREIGN");
    CHECK_FALSE(n.exists("K"));
    CHECK_FALSE(n.exists("L"));
    n.command({"DEL", "M"});
    n.set("L:F", "abc");
    CHECK(n.take({"L", "M"}, first_fence + 1) == "!FOREIGN");
    for (const std::string key : {"K", "L", "M"}) CHECK_FALSE(n.exists(key));
}

TEST_CASE("a server without memory takes none", "[scripts]") {
    set_node n;
    n.run_out_of_memory();
    CHECK(n.take({"L", "M"}, first_fence) == "!OOM");
    n.config_set("maxmemory", "0");
    for (const std::string key : {"K", "L", "M"}) CHECK_FALSE(n.exists(key));
}

TEST_CASE("a waiter that is refused stands in the queues of all keys", "[scripts]") {
    set_node n;
    const wake_listener listens("early");  // or a release takes it for dead
    const waiter early{"early:1", 100};
    const waiter late{"late:1", 200};
    n.ask(to_acquire("M", first_fence, theirs));
    CHECK(n.take({"L", "M"}, ours, early).starts_with("{2 "));
    for (const std::string key : {"K", "L", "M"}) CHECK(n.waiting(key) == 1);
    // A request that comes later gets none of them, though two are free.
    CHECK(n.ask(to_acquire("L", first_fence + 1, strangers)).starts_with("{3 2000 "));
    CHECK(n.ask(as_waiter(to_acquire("K", first_fence + 1, strangers), late))
              .starts_with("{3 2000 "));
    // Nor several of which one is waited for.
    CHECK(n.ask(together_with(to_acquire("P", first_fence + 1, strangers), {"L"}))
              .starts_with("{3 2000 0 "));
    CHECK(n.blocked() == 2);
    CHECK(n.which() == 1);
    CHECK_FALSE(n.exists("P"));
    n.ask(to_release("M", theirs));
    CHECK(n.take({"L", "M"}, ours, early, first_fence + 2) == "1");
    for (const std::string key : {"L", "M"}) CHECK(n.waiting(key) == 0);
    CHECK(n.waiting("K") == 1);  // late
}

TEST_CASE("an earlier waiter for one of the keys stands before a waiter for several",
          "[scripts]") {
    set_node n;
    const wake_listener listens("early");  // or a release takes it for dead
    n.ask(to_acquire("L", first_fence, theirs));
    n.ask(as_waiter(to_acquire("L", first_fence, strangers), {"early:1", 100}));
    n.ask(to_release("L", theirs));
    CHECK(n.take({"L"}, ours, {"late:1", 200}, first_fence + 1).starts_with("{3 2000 "));
    CHECK(n.blocked() == 2);
    for (const std::string key : {"K", "L"}) CHECK_FALSE(n.exists(key));
    // It stands in both queues now, with one ticket.
    for (const std::string key : {"K", "L"}) {
        CHECK(n.command({"ZCOUNT", queue_of(key), "200", "200"}).number == 1);
    }
}

TEST_CASE("one that only asks, or waits no more, stands in no queue", "[scripts]") {
    set_node n;
    n.ask(to_acquire("M", first_fence, theirs));
    CHECK(n.take({"L", "M"}, ours, {"w:1", 100, 0}).starts_with("{2 "));
    for (const std::string key : {"K", "L", "M"}) CHECK(n.waiting(key) == 0);
    n.take({"L", "M"}, ours, {"w:1", 100});
    CHECK(n.leave({"L", "M"}, {"w:1", 100, 0}) == "0");  // M is somebody else's
    for (const std::string key : {"K", "L", "M"}) CHECK(n.waiting(key) == 0);
    CHECK(n.get("M") == theirs);
}

TEST_CASE("a release gives all of them back and wakes the first of each queue", "[scripts]") {
    set_node n;
    wake_listener one("one");
    wake_listener two("two");
    n.take({"L", "M"}, first_fence);
    n.ask(as_waiter(to_acquire("L", first_fence, theirs), {"one:1", 100}));
    n.ask(as_waiter(together_with(to_acquire("M", first_fence, strangers), {"K"}), {"two:1", 200}));
    CHECK(n.give_back({"L", "M"}) == "1");
    CHECK(one.heard() == "L");
    CHECK(two.heard() == "K M");
    for (const std::string key : {"K", "L", "M"}) CHECK_FALSE(n.exists(key));
}

TEST_CASE("a release of several touches what is not its own in no way", "[scripts]") {
    set_node n;
    n.take({"L", "M"}, first_fence);
    n.command({"DEL", "L"});
    CHECK(n.give_back({"L", "M"}) == "-1");
    n.take({"L", "M"}, first_fence + 1);
    n.set("M", theirs);
    CHECK(n.give_back({"L", "M"}) == "0");
    CHECK(n.get("M") == theirs);
    for (const std::string key : {"K", "L"}) CHECK_FALSE(n.exists(key));
}

TEST_CASE("an owed release of several raises the fences of all", "[scripts]") {
    set_node n;
    CHECK(n.ask(together_with(to_release_for_good("K", first_fence + 9), {"L", "M"})) == "-1");
    CHECK(n.take({"L", "M"}, first_fence + 9) == "{4 " + text(first_fence + 9) + "}");
    CHECK(n.ask(to_acquire("M", first_fence + 9)) == "{4 " + text(first_fence + 9) + "}");
}

TEST_CASE("keys that have to stay stay together", "[scripts]") {
    set_node n;
    n.take({"L"}, first_fence);
    CHECK(n.ask(together_with(to_keep("K", 4'000), {"L"})) == "1");
    for (const std::string key : {"K", "L"}) {
        CHECK(n.get(key) == ours + "#kept");
        CHECK(n.pttl(key) <= 4s);
    }
}

TEST_CASE("several are prolonged as one", "[scripts]") {
    set_node n;
    n.take({"L", "M"}, first_fence, ours, 5'000);
    CHECK(n.ask(together_with(to_extend("K", first_fence + 1), {"L", "M"})) == "1");
    for (const std::string key : {"K", "L", "M"}) CHECK(n.lives(key, 30s));
    // One that is gone is taken again, under a fence above those of all.
    n.command({"DEL", "L"});
    CHECK(n.ask(together_with(to_extend("K", first_fence, ours, 60'000), {"L", "M"})) ==
          "{4 " + text(first_fence) + "}");
    CHECK_FALSE(n.exists("L"));
    for (const std::string key : {"K", "M"}) CHECK(n.lives(key, 30s));  // refused: not prolonged
    CHECK(n.ask(together_with(to_extend("K", first_fence + 1, ours, 60'000), {"L", "M"})) ==
          "{1 " + text(first_fence) + "}");
    CHECK(n.get("L") == ours);
    // One that is somebody else's leaves the strangers as they are.
    n.set("M", theirs);
    CHECK(n.ask(together_with(to_extend("K", first_fence + 2, ours, 90'000), {"L", "M"})) == "0");
    CHECK(n.lives("K", 60s));
}

TEST_CASE("requests for one key and for several do each other no harm in one call", "[scripts]") {
    set_node n;
    n.request({to_acquire("A", first_fence), together_with(to_acquire("K", first_fence), {"L"}),
               to_acquire("B", first_fence), to_acquire("L", first_fence + 1, theirs)});
    CHECK(show(n.last()).starts_with("{1 1 1 {2 "));
    for (const std::string key : {"A", "B", "K", "L"}) CHECK(n.get(key) == ours);
    n.request({to_release("A"), together_with(to_release("K"), {"L"}), to_release("B"),
               to_acquire("L", first_fence + 2, theirs),
               together_with(to_acquire("A", first_fence + 2), {"L"}),
               together_with(to_acquire("A", first_fence + 3), {"B"})});
    CHECK(show(n.last()).starts_with("{1 1 1 1 {2 "));
    CHECK(show(n.last()).ends_with(" 1}"));
    CHECK(n.get("L") == theirs);
    for (const std::string key : {"A", "B"}) CHECK(n.get(key) == ours);
    CHECK_FALSE(n.exists("K"));
}

TEST_CASE("another epoch, or a late command, takes none of several", "[scripts]") {
    set_node n;
    const auto all = together_with(to_acquire("K", first_fence), {"L"});
    CHECK(n.request({all}, {other_epoch}) == "+AMNESIAC");
    CHECK(n.request({all}, {epoch, text(now_us - 1)}) == "+LATE");
    for (const std::string key : {"K", "L"}) CHECK_FALSE(n.exists(key));
    n.take({"L"}, first_fence);
    n.request({together_with(to_release("K"), {"L"}), to_acquire("M", first_fence)}, {other_epoch});
    CHECK(show(n.last()) == "{1 +AMNESIAC}");
}

TEST_CASE("sixty-four keys are taken at once", "[scripts]") {
    set_node n;
    std::vector<std::string> more;
    for (int i = 0; i < 63; ++i) more.push_back("L" + text(i));
    CHECK(n.take(more, first_fence) == "1");
    n.take(more, first_fence + 1, theirs);
    CHECK(n.last().items.at(5).text == std::string(8, '\xff'));
    CHECK(n.give_back(more) == "1");
    CHECK(n.command({"DBSIZE"}).number == 1 + 64);  // the record, and the fences
}

TEST_CASE("several plain keys are taken, prolonged and given back together", "[scripts]") {
    set_node n;
    const auto all = [](const std::string& what, const std::vector<std::string>& rest) {
        std::vector<std::string> words{what, "3"};
        words.insert(words.end(), rest.begin(), rest.end());
        return words;
    };
    const std::vector<std::string> keys{"K", "L", "M"};
    const auto call = [&](const std::vector<std::string>& words) {
        return n.eval(resp::plain().text, keys, words);
    };
    CHECK(call(all("acquire_all", {ours, "30000"})) == "1");
    for (const auto& key : keys) CHECK(n.get(key) == ours);
    CHECK(call(all("acquire_all", {theirs, "30000"})) == "{2 0 " + ours + " 0 0  0}");
    CHECK(call(all("extend_all", {ours, "60000"})) == "1");
    for (const auto& key : keys) CHECK(n.lives(key, 60s));
    n.command({"DEL", "L"});
    CHECK(call(all("extend_all", {ours, "90000"})) == "-1");
    CHECK(n.lives("K", 60s));
    n.set("L", theirs);
    CHECK(call(all("release_all", {ours})) == "0");
    CHECK(n.get("L") == theirs);
    CHECK(call(all("acquire_all", {ours, "30000"})) == "{2 0 " + theirs + " 0 0  1}");
    for (const std::string key : {"K", "M"}) CHECK_FALSE(n.exists(key));
    n.command({"DEL", "L"});
    n.make_list("M");
    CHECK(call(all("acquire_all", {ours, "30000"})) == "!WRONGTYPE");
    CHECK_FALSE(n.exists("K"));
    n.command({"DEL", "M"});
    call(all("acquire_all", {ours, "30000"}));
    CHECK(call(all("keep_all", {ours, "4000"})) == "1");
    for (const auto& key : keys) {
        CHECK(n.pttl(key) <= 4s);
        CHECK(n.get(key) == ours + "#kept");
        n.del(key);
    }
    call(all("acquire_all", {ours, "30000"}));
    n.run_out_of_memory();
    CHECK(call(all("release_all", {ours})) == "1");
    CHECK(call(all("acquire_all", {ours, "30000"})) == "!OOM");
    n.config_set("maxmemory", "0");
    for (const auto& key : keys) CHECK_FALSE(n.exists(key));
}

TEST_CASE("plain keys that are given back may be taken again by the same call", "[scripts]") {
    set_node n;
    for (const std::string key : {"K", "L"}) n.set(key, theirs);
    const auto call = [&](const std::vector<std::string>& keys,
                          const std::vector<std::string>& words) {
        return n.eval(resp::plain().text, keys, words);
    };
    CHECK(call({"K", "L", "K", "L"}, {"release", theirs, "release", theirs, "acquire_all", "2",
                                      ours, "30000"}) == "{1 1 1}");
    for (const std::string key : {"K", "L"}) CHECK(n.get(key) == ours);
    CHECK(call({"K", "L", "K", "L", "K"}, {"release_all", "2", ours, "acquire_all", "2", theirs,
                                           "30000", "release", theirs}) == "{1 1 1}");
    CHECK_FALSE(n.exists("K"));
    CHECK(n.get("L") == theirs);
    CHECK(call({"L", "K", "L"}, {"release", theirs, "extend_all", "2", theirs, "30000"}) ==
          "{1 -1}");
    CHECK_FALSE(n.exists("L"));
}
