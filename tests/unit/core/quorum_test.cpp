// The count of one round: which nodes said yes, no, or cannot vote, and what their keys say
// together.
// SPDX-License-Identifier: MIT
#include "core/quorum.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// The count of one round, against every completion of every vote vector.
namespace tally_test {

using namespace redlock;
using core::choice;
using core::tally;
using core::testing::oracle;
using core::testing::plain_count;

namespace {

const std::vector<choice> all_choices{choice::yes, choice::no, choice::unable};

struct counting {
    explicit counting(std::size_t nodes) : machine(node_lists(nodes)) {}
    tally machine;
    plain_count expected;
};

void count(plain_count& t, choice b) {
    if (b == choice::yes) ++t.yes;
    if (b == choice::no) ++t.no;
    if (b == choice::unable) ++t.unable;
}

bool agrees(const tally& p, const plain_count& t, oracle& o) {
    const auto& view = o.at(t);
    return p.has_won() == view.won && p.has_lost() == !view.can_win &&
           p.is_undecidable() == !view.can_answer;
}

// A step that checks the count after each choice, and that no second one of the node counts.
auto checked_step(oracle& o) {
    return [&o](counting& c, std::size_t node, choice b) {
        bool good = c.machine.cast(node, b);
        count(c.expected, b);
        good = good && agrees(c.machine, c.expected, o);
        for (const choice again : all_choices) good = good && !c.machine.cast(node, again);
        if (good && agrees(c.machine, c.expected, o)) return;
        INFO("yes " << c.expected.yes << ", no " << c.expected.no << ", unable "
                    << c.expected.unable << " of " << c.machine.lists().size());
        REQUIRE(false);
    };
}

}  // namespace

TEST_CASE("a tally counts every vector in every order as the brute force does") {
    const std::vector<std::size_t> sequences{0, 3, 18, 162, 1944, 29160};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(agrees(tally(node_lists(nodes)), {}, o));
        CHECK(core::testing::every_order(nodes, all_choices, counting(nodes), checked_step(o)) ==
              sequences[nodes]);
    }
}

TEST_CASE("a tally counts every vector of six to nine nodes as the brute force does") {
    const std::vector<std::size_t> vectors{729, 2187, 6561, 19683};
    for (std::size_t nodes = 6; nodes <= 9; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, all_choices, false, counting(nodes),
                                            checked_step(o)) == vectors[nodes - 6]);
    }
}

TEST_CASE("a node that does not exist has no choice") {
    for (std::size_t nodes = 1; nodes <= max_nodes; ++nodes) {
        tally p{node_lists(nodes)};
        for (const std::size_t node :
             {nodes, nodes + 1, max_nodes, std::numeric_limits<std::size_t>::max()}) {
            CHECK_FALSE(p.cast(node, choice::yes));
        }
        CHECK(p.cast(nodes - 1, choice::yes));
        CHECK_FALSE(p.cast(nodes - 1, choice::no));
    }
}

TEST_CASE("a pending choice is none, and leaves the node its own") {
    tally p(node_lists(3));
    CHECK_FALSE(p.cast(1, choice::pending));
    CHECK(p.cast(1, choice::no));
    CHECK_FALSE(p.cast(1, choice::pending));
    CHECK(p.cast(0, choice::no));
    CHECK(p.is_denied());
}

TEST_CASE("the most nodes a client takes are counted to the last") {
    tally carried{node_lists(max_nodes)};
    for (std::size_t node = 0; node < 16; ++node) carried.cast(node, choice::yes);
    CHECK_FALSE(carried.has_won());
    CHECK_FALSE(carried.has_lost());
    carried.cast(31, choice::yes);
    CHECK(carried.has_won());

    tally undecidable{node_lists(max_nodes)};
    for (std::size_t node = 0; node < 15; ++node) undecidable.cast(31 - node, choice::unable);
    CHECK_FALSE(undecidable.is_undecidable());
    CHECK_FALSE(undecidable.has_lost());
    undecidable.cast(0, choice::unable);
    CHECK(undecidable.is_undecidable());
    CHECK(undecidable.has_lost());
}

}  // namespace tally_test

// What the nodes' keys together say about a resource, against a plain count.
namespace read_quorum_test {

using namespace redlock;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

// The nodes' keys, one by one.
class nodes {
public:
    nodes& held(std::string value, milliseconds ttl) {
        other(key_state::held).state_.nodes.back().ttl = ttl;
        state_.nodes.back().owner = value.substr(0, 3) + "...";
        values_.back() = std::move(value);
        return *this;
    }
    nodes& shared(milliseconds ttl) {
        other(key_state::shared).state_.nodes.back().ttl = ttl;
        values_.back() = "redlock:shared";
        return *this;
    }
    nodes& other(key_state s) {
        state_.nodes.emplace_back().state = s;
        values_.emplace_back();
        return *this;
    }
    // The last one reported its value, and then no more.
    nodes& then(key_state s) {
        state_.nodes.back().state = s;
        return *this;
    }
    nodes& fence(std::uint64_t f) {
        state_.nodes.back().fence = f;
        return *this;
    }
    nodes& readers(std::vector<std::string> names) {
        state_.nodes.back().readers = std::move(names);
        return *this;
    }
    resource_state take() {
        core::read_quorum(state_, values_, node_lists(values_.size()));
        return std::move(state_);
    }
    bool are_conclusive() {
        core::read_quorum(state_, values_, node_lists(values_.size()));
        return core::is_conclusive(state_, values_, node_lists(values_.size()));
    }

private:
    resource_state state_;
    std::vector<std::string> values_;
};

}  // namespace

TEST_CASE("a quorum with the key of one owner is held by that owner") {
    const auto s =
        nodes().held("abcdef", 900ms).held("abcdef", 700ms).other(key_state::free).take();
    CHECK(s.held);
    CHECK(s.owner == "abc...");
    CHECK(s.decided);
    CHECK(s.quorum == 2);
    CHECK(s.valid_for == 700ms);
}

TEST_CASE("a hold lasts until too few keys are left for a quorum") {
    CHECK(nodes().held("a", 5ms).held("a", 3ms).held("a", 4ms).take().valid_for == 4ms);
    CHECK(nodes().held("a", 3ms).held("a", 3ms).held("a", 9ms).take().valid_for == 3ms);
    CHECK(nodes().held("a", 1ms).held("a", 2ms).held("a", 3ms).held("a", 4ms).take().valid_for ==
          2ms);
    CHECK(nodes().held("a", 7ms).take().valid_for == 7ms);
    CHECK(nodes().held("a", 0ms).take().valid_for == 0ms);
}

TEST_CASE("keys without expiry count as the longest, and a quorum of them has no limit") {
    CHECK(nodes().held("a", -1ms).held("a", 3ms).held("a", 4ms).take().valid_for == 4ms);
    CHECK(nodes().held("a", -1ms).held("a", -1ms).held("a", 4ms).take().valid_for == -1ms);
}

TEST_CASE("half of an even number of nodes is no quorum") {
    const auto s = nodes().held("a", 1s).held("a", 1s).other(key_state::free).other(
        key_state::unreachable).take();
    CHECK_FALSE(s.held);
    CHECK(s.owner.empty());
    CHECK(s.valid_for == 0ms);
    CHECK(s.decided);
    CHECK(s.quorum == 3);
}

TEST_CASE("keys that only look the same in their abbreviation do not add up") {
    const auto s = nodes().held("abcdef", 1s).held("abcxyz", 1s).other(key_state::free).take();
    CHECK_FALSE(s.held);
    CHECK(s.owner.empty());
}

TEST_CASE("a node that failed after it answered its value does not count") {
    const auto s = nodes().held("a", 1s).held("a", 1s).then(key_state::refused).other(
        key_state::free).take();
    CHECK_FALSE(s.held);
    CHECK(s.decided);
}

TEST_CASE("an empty value is a key like any other") {
    CHECK(nodes().held("", 1s).held("", 2s).other(key_state::free).take().held);
}

TEST_CASE("readers that share a quorum hold it without an owner's name") {
    const auto s = nodes().shared(2s).other(key_state::timed_out).shared(1s).take();
    CHECK(s.held);
    CHECK(s.owner.empty());
    CHECK(s.valid_for == 1s);
}

TEST_CASE("of readers the highest fence counts, that a writer has to exceed") {
    const auto s = nodes().shared(2s).fence(5).shared(1s).fence(9).other(key_state::free).fence(12)
                       .shared(1s).fence(0).take();
    CHECK(s.held);
    CHECK(s.fence == 9);
}

TEST_CASE("the fence of a lease is the lowest that its nodes have") {
    // One took the key again under a fence of its own, and what others know is not the lease's.
    const auto s = nodes().held("a", 1s).fence(9).held("a", 1s).fence(4).held("a", 1s).fence(0)
                       .other(key_state::free).fence(2).held("b", 1s).fence(3).take();
    CHECK(s.held);
    CHECK(s.fence == 4);
}

TEST_CASE("where nobody holds it the highest fence counts, wherever it is") {
    const auto s =
        nodes().other(key_state::free).fence(4).held("a", 1s).fence(9).other(key_state::quarantine)
            .fence(7).take();
    CHECK(s.fence == 9);
    CHECK(nodes().other(key_state::free).take().fence == 0);
}

TEST_CASE("a key that a quorum keeps for a lease that was released is held by nobody") {
    const auto s = nodes()
                       .held("abcdef#kept", 900ms).then(key_state::kept).fence(7)
                       .held("abcdef#kept", 700ms).then(key_state::kept).fence(9)
                       .held("abcdef", 2s).fence(5)
                       .take();
    CHECK(s.decided);
    CHECK_FALSE(s.held);
    CHECK(s.kept);
    CHECK(s.owner == "abc...");
    CHECK(s.valid_for == 700ms);
    CHECK(s.fence == 7);
    const auto one = nodes().held("a#kept", 1s).then(key_state::kept).held("a", 1s).other(
        key_state::free).take();
    CHECK_FALSE(one.kept);
    CHECK_FALSE(one.held);
}

TEST_CASE("only free, held, shared and kept are answers") {
    for (const key_state s :
         {key_state::free, key_state::held, key_state::shared, key_state::kept}) {
        CHECK(nodes().other(s).take().decided);
    }
    for (const key_state s : {key_state::quarantine, key_state::refused, key_state::timed_out,
                              key_state::unreachable}) {
        CHECK_FALSE(nodes().other(s).take().decided);
    }
}

TEST_CASE("every combination of keys on one to five nodes is counted as the brute force does") {
    // 0 and 1: two owners; 2: shared; 3: free; then those that are no answer.
    const std::vector<key_state> kinds{key_state::held,      key_state::held, key_state::shared,
                                       key_state::free,      key_state::quarantine,
                                       key_state::timed_out, key_state::unreachable};
    for (std::size_t count = 1; count <= 5; ++count) {
        std::vector<std::size_t> chosen(count, 0);
        for (;;) {
            nodes n;
            std::vector<std::vector<milliseconds>> keys(3);
            std::size_t answers = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const auto ttl = milliseconds((i * 7 + 3) % 5);  // differ, and not in order
                if (chosen[i] < 3) keys[chosen[i]].push_back(ttl);
                if (chosen[i] < 4) ++answers;
                if (chosen[i] < 2) n.held(chosen[i] == 0 ? "one" : "two", ttl);
                else if (chosen[i] == 2) n.shared(ttl);
                else n.other(kinds[chosen[i]]);
            }
            const auto s = n.take();
            bool held = false;
            std::string owner;
            milliseconds left{0};
            for (std::size_t k = 0; k < 3; ++k) {
                if (2 * keys[k].size() <= count) continue;
                held = true;
                owner = k == 0 ? "one..." : k == 1 ? "two..." : "";
                // The first instant at which the keys that are left are no quorum.
                const auto alive_after = [&](milliseconds t) {
                    return static_cast<std::size_t>(std::count_if(
                        keys[k].begin(), keys[k].end(), [&](milliseconds e) { return e > t; }));
                };
                while (2 * alive_after(left) > count) ++left;
            }
            if (s.held != held || s.owner != owner || s.valid_for != left ||
                s.decided != (2 * answers > count)) {
                CHECK(s.held == held);
                CHECK(s.owner == owner);
                CHECK(s.valid_for == left);
                REQUIRE(s.decided == (2 * answers > count));
                REQUIRE(false);
            }
            std::size_t digit = 0;
            while (digit < count && ++chosen[digit] == kinds.size()) chosen[digit++] = 0;
            if (digit == count) break;
        }
    }
    SUCCEED();
}

TEST_CASE("answers are conclusive where those that are missing could not change the holder") {
    using enum key_state;
    CHECK(nodes().held("a", 1s).held("a", 1s).other(timed_out).are_conclusive());
    CHECK(nodes().other(free).other(free).other(timed_out).are_conclusive());
    CHECK(nodes().other(free).other(free).held("a", 1s).are_conclusive());
    CHECK(nodes().other(free).held("b", 1s).held("a", 1s).are_conclusive());
    // The third may have it for the same one.
    CHECK_FALSE(nodes().other(free).held("a", 1s).other(timed_out).are_conclusive());
    CHECK_FALSE(nodes().other(free).held("a", 1s).other(quarantine).are_conclusive());
    CHECK_FALSE(nodes().held("b", 1s).held("a", 1s).other(refused).are_conclusive());
    CHECK_FALSE(nodes().other(free).other(unreachable).other(unreachable).are_conclusive());
    // Of four, three are a quorum.
    CHECK_FALSE(
        nodes().other(free).other(free).other(timed_out).other(timed_out).are_conclusive());
}

TEST_CASE("answers leave a reader open that one more node would make one") {
    using enum key_state;
    const auto with_third = [](key_state third) {
        return nodes().shared(1s).readers({"a", "b"}).shared(1s).readers({"a"}).other(third);
    };
    CHECK(with_third(free).are_conclusive());
    CHECK_FALSE(with_third(timed_out).are_conclusive());
}

}  // namespace read_quorum_test
