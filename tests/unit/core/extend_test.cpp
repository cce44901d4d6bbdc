// Prolonging leases: the rounds, their votes, and the fence that refused one; sends nothing.
// SPDX-License-Identifier: MIT
#include "core/extend.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/core/rounds.hpp"

#include <limits>
#include <vector>

// A round to prolong a lease: every vector against the brute force, and both validities.
namespace extension_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::choice;
using core::extension;
using core::testing::oracle;
using core::testing::plain_count;
using verdict = core::extension::verdict;

namespace {

constexpr time_point sent = time_point(72h);
constexpr time_point new_end = sent + 97ms;  // 100 ms less 1 % and 2 ms
constexpr time_point old_end = sent + 50ms;

const std::vector<choice> all_choices{choice::yes, choice::no, choice::unable};

enum class answer { yes, no, unable, stale };
const std::vector<answer> all_answers{answer::yes, answer::no, answer::unable, answer::stale};

extension fresh(std::size_t nodes) { return extension(node_lists(nodes), sent, 100ms, {}); }
extension first_of_two(std::size_t nodes) { return extension(node_lists(nodes), sent, 100ms, {}, false); }

struct trying {
    explicit trying(std::size_t nodes) : machine(fresh(nodes)) {}
    trying(std::size_t nodes, bool last)
        : machine(last ? fresh(nodes) : first_of_two(nodes)), is_last(last) {}
    extension machine;
    bool is_last = true;
    plain_count votes;
    std::size_t stale = 0;  // they are among the no
    verdict expected = verdict::open;
    error_code reason;
};

void fail(trying& t, errc why) {
    t.expected = verdict::failed;
    t.reason = why;
}

// Whether the round would win if the stale nodes had taken the key again.
bool would_win(const trying& t, oracle& o) {
    return o.at({t.votes.yes + t.stale, t.votes.no - t.stale, t.votes.unable}).won;
}

void foresee(trying& t, choice c, oracle& o) {
    if (t.expected != verdict::open) return;
    if (c == choice::yes) ++t.votes.yes;
    if (c == choice::no) ++t.votes.no;
    if (c == choice::unable) ++t.votes.unable;
    const auto& view = o.at(t.votes);
    if (view.won) t.expected = verdict::extended;
    else if (view.denied) fail(t, errc::not_held);
    else if (!t.is_last && would_win(t, o) && !view.can_be_denied) t.expected = verdict::again;
    else if (!view.can_win && !view.can_be_denied) fail(t, errc::no_quorum);
}

auto checked_step(oracle& o) {
    return [&o](trying& t, std::size_t node, choice c) {
        foresee(t, c, o);
        const verdict said = t.machine.cast(node, c, sent + 1ms, old_end);
        if (said == t.expected && t.machine.state() == said && t.machine.reason() == t.reason) {
            return;
        }
        INFO("yes " << t.votes.yes << ", no " << t.votes.no << ", unable " << t.votes.unable);
        CHECK(said == t.expected);
        REQUIRE(t.machine.reason() == t.reason);
        REQUIRE(false);
    };
}

choice as_choice(answer a) {
    if (a == answer::yes) return choice::yes;
    return a == answer::unable ? choice::unable : choice::no;
}

auto checked_answer(oracle& o) {
    return [&o](trying& t, std::size_t node, answer a) {
        const bool is_stale = a == answer::stale;
        if (t.expected == verdict::open) t.stale += is_stale ? 1U : 0U;
        foresee(t, as_choice(a), o);
        const verdict said = t.machine.cast(
            node, is_stale ? choice::stale : as_choice(a), sent + 1ms, old_end);
        if (said == t.expected && t.machine.state() == said && t.machine.reason() == t.reason) {
            return;
        }
        INFO("yes " << t.votes.yes << ", no " << t.votes.no << ", stale " << t.stale);
        CHECK(said == t.expected);
        REQUIRE(t.machine.reason() == t.reason);
        REQUIRE(false);
    };
}

}  // namespace

TEST_CASE("an extension decides every vector in every order as the brute force does") {
    const std::vector<std::size_t> sequences{0, 3, 18, 162, 1944, 29160};
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::every_order(nodes, all_choices, trying(nodes), checked_step(o)) ==
              sequences[nodes]);
    }
}

TEST_CASE("an extension decides every vector of six to nine nodes as the brute force does") {
    for (std::size_t nodes = 6; nodes <= 9; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::several_orders(nodes, all_choices, false, trying(nodes),
                                            checked_step(o)) >= 729);
    }
}

TEST_CASE("a quorum must deny the lease before it is not held") {
    extension one = fresh(5);
    one.cast(0, choice::no, sent, old_end);
    one.cast(1, choice::no, sent, old_end);
    CHECK(one.state() == verdict::open);
    SECTION("a third no denies it") {
        CHECK(one.cast(2, choice::no, sent, old_end) == verdict::failed);
        CHECK(one.reason() == errc::not_held);
    }
    SECTION("with one node out, the other two are worth waiting for") {
        CHECK(one.cast(2, choice::unable, sent, old_end) == verdict::open);
        CHECK(one.cast(3, choice::unable, sent, old_end) == verdict::open);
        CHECK(one.cast(4, choice::no, sent, old_end) == verdict::failed);
        CHECK(one.reason() == errc::not_held);
    }
    SECTION("when it can be neither denied nor prolonged, it ends") {
        CHECK(one.cast(2, choice::unable, sent, old_end) == verdict::open);
        CHECK(one.cast(3, choice::yes, sent, old_end) == verdict::open);
        CHECK(one.cast(4, choice::unable, sent, old_end) == verdict::failed);
        CHECK(one.reason() == errc::no_quorum);
    }
}

TEST_CASE("an even vote neither prolongs a lease nor denies it") {
    extension split = fresh(4);
    split.cast(0, choice::yes, sent, old_end);
    split.cast(1, choice::no, sent, old_end);
    split.cast(2, choice::yes, sent, old_end);
    CHECK(split.state() == verdict::open);
    CHECK(split.cast(3, choice::no, sent, old_end) == verdict::failed);
    CHECK(split.reason() == errc::no_quorum);
}

namespace {

core::adoption adopting(const node_lists& nodes) { return {nodes, sent, 100ms, {}}; }

node_mask first_three() { return node_mask::first(3); }

// Nodes 0 to 2 are the old list, 2 to 4 the new one.
node_lists joint() {
    node_mask after = node_mask::only(2);
    after.insert(3);
    after.insert(4);
    return {first_three(), after};
}

}  // namespace

TEST_CASE("a lease is taken over once a quorum prolonged it, and gone once one denies it") {
    using said = core::adoption::verdict;
    core::adoption held = adopting(node_lists(3));
    CHECK(held.cast(0, choice::yes, sent) == said::open);
    CHECK(held.cast(1, choice::yes, sent) == said::held);
    core::adoption gone = adopting(node_lists(3));
    CHECK(gone.cast(0, choice::no, sent) == said::open);
    CHECK(gone.cast(1, choice::stale, sent) == said::gone);
    core::adoption unknown = adopting(node_lists(3));
    CHECK(unknown.cast(0, choice::unable, sent) == said::open);
    CHECK(unknown.cast(1, choice::unable, sent) == said::failed);
    CHECK(unknown.reason() == errc::no_quorum);
}

TEST_CASE("with a joint list a lease is held by a quorum of both, and gone where both deny it") {
    using said = core::adoption::verdict;
    core::adoption held = adopting(joint());
    CHECK(held.cast(0, choice::yes, sent) == said::open);
    CHECK(held.cast(1, choice::yes, sent) == said::open);
    CHECK(held.cast(2, choice::yes, sent) == said::open);
    CHECK(held.cast(3, choice::yes, sent) == said::held);

    core::adoption one_list = adopting(joint());
    CHECK(one_list.cast(3, choice::no, sent) == said::open);
    CHECK(one_list.cast(4, choice::stale, sent) == said::open);  // the old list may hold it
    CHECK(one_list.cast(0, choice::yes, sent) == said::open);
    SECTION("the old list denies it, too") {
        CHECK(one_list.cast(1, choice::no, sent) == said::open);
        CHECK(one_list.cast(2, choice::no, sent) == said::gone);
    }
    SECTION("the old list has it, or does not say") {
        CHECK(one_list.cast(1, choice::unable, sent) == said::open);
        CHECK(one_list.cast(2, choice::no, sent) == said::failed);
        CHECK(one_list.reason() == errc::no_quorum);
    }
}

TEST_CASE("an extension counts to the last nanosecond of the old validity") {
    for (std::size_t nodes = 1; nodes <= max_nodes; ++nodes) {
        const std::size_t quorum = nodes / 2 + 1;
        extension in_time = fresh(nodes);
        CHECK(in_time.sent() == sent);
        CHECK(in_time.valid_until() == new_end);
        for (std::size_t node = 0; node + 1 < quorum; ++node) {
            REQUIRE(in_time.cast(node, choice::yes, sent, old_end) == verdict::open);
        }
        extension late = in_time;
        CHECK(in_time.cast(quorum - 1, choice::yes, old_end - 1ns, old_end) == verdict::extended);
        CHECK_FALSE(in_time.reason());
        CHECK(late.cast(quorum - 1, choice::yes, old_end, old_end) == verdict::failed);
        CHECK(late.reason() == errc::lost);
    }
}

TEST_CASE("once the old validity is over any answer says that the lease is lost") {
    for (const choice c : all_choices) {
        extension e = fresh(5);
        CHECK(e.cast(0, c, old_end, old_end) == verdict::failed);
        CHECK(e.reason() == errc::lost);
        CHECK(e.cast(1, choice::yes, sent, old_end) == verdict::failed);
        CHECK(e.reason() == errc::lost);
    }
}

TEST_CASE("an extension whose own validity is over prolongs nothing") {
    const time_point far = new_end + 1h;
    extension in_time = fresh(1);
    CHECK(in_time.cast(0, choice::yes, new_end - 1ns, far) == verdict::extended);
    extension late = fresh(1);
    CHECK(late.cast(0, choice::yes, new_end, far) == verdict::failed);
    CHECK(late.reason() == errc::validity_exhausted);
}

TEST_CASE("an extension heeds the old validity that stands at each answer") {
    extension e = fresh(3);
    CHECK(e.cast(0, choice::yes, old_end - 1ns, old_end) == verdict::open);
    CHECK(e.cast(1, choice::yes, old_end, old_end + 10ms) == verdict::extended);
}

TEST_CASE("a second choice of a node, a pending one and one of no node prolong nothing") {
    extension e = fresh(2);
    e.cast(0, choice::yes, sent, old_end);
    for (const choice c : all_choices) {
        CHECK(e.cast(0, c, sent, old_end) == verdict::open);
        CHECK(e.cast(2, c, sent, old_end) == verdict::open);
        CHECK(e.cast(std::numeric_limits<std::size_t>::max(), c, sent, old_end) == verdict::open);
    }
    CHECK(e.cast(1, choice::pending, sent, old_end) == verdict::open);
    CHECK(e.cast(1, choice::yes, sent, old_end) == verdict::extended);
}

TEST_CASE("a fence that was refused begins another round as the brute force says, once") {
    const std::vector<std::size_t> sequences{0, 4, 32, 384, 6144, 122880};
    const bool is_last = GENERATE(false, true);
    for (std::size_t nodes = 1; nodes <= 5; ++nodes) {
        oracle o(nodes);
        CHECK(core::testing::every_order(nodes, all_answers, trying(nodes, is_last),
                                         checked_answer(o)) == sequences[nodes]);
    }
}

TEST_CASE("another round begins when it can win and no quorum can deny the lease any more") {
    extension one = first_of_two(3);
    CHECK(one.cast(0, choice::stale, sent, old_end) == verdict::open);
    SECTION("it can win") {
        CHECK(one.cast(1, choice::yes, sent, old_end) == verdict::open);
        CHECK(one.cast(2, choice::unable, sent, old_end) == verdict::again);
        CHECK_FALSE(one.reason());
    }
    SECTION("a quorum says yes to this one") {
        CHECK(one.cast(1, choice::yes, sent, old_end) == verdict::open);
        CHECK(one.cast(2, choice::yes, sent, old_end) == verdict::extended);
    }
    SECTION("the node that was silent may have been another's, too") {
        CHECK(one.cast(1, choice::yes, sent, old_end) == verdict::open);
        CHECK(one.cast(2, choice::stale, sent, old_end) == verdict::failed);
        CHECK(one.reason() == errc::not_held);
    }
    SECTION("another client may have held the lock meanwhile") {
        CHECK(one.cast(1, choice::stale, sent, old_end) == verdict::failed);
        CHECK(one.reason() == errc::not_held);
    }
    SECTION("too few answer") {
        CHECK(one.cast(1, choice::unable, sent, old_end) == verdict::open);
        CHECK(one.cast(2, choice::unable, sent, old_end) == verdict::failed);
        CHECK(one.reason() == errc::no_quorum);
    }
    SECTION("the old validity is over") {
        CHECK(one.cast(1, choice::yes, old_end, old_end) == verdict::failed);
        CHECK(one.reason() == errc::lost);
    }
}

TEST_CASE("one node that says that the lease was revoked ends it") {
    extension one = first_of_two(3);
    SECTION("before any other answer") {}
    SECTION("beside another that said yes") { one.cast(1, choice::yes, sent, old_end); }
    SECTION("while another round follows") {
        one.cast(0, choice::stale, sent, old_end);
        one.cast(1, choice::yes, sent, old_end);
        REQUIRE(one.cast(2, choice::unable, sent, old_end) == verdict::again);
    }
    CHECK(one.revoke() == verdict::failed);
    CHECK(one.reason() == errc::not_held);
    CHECK(one.cast(2, choice::yes, sent, old_end) == verdict::failed);
}

TEST_CASE("an extension that has won is not revoked by an answer that comes later") {
    extension one = first_of_two(3);
    one.cast(0, choice::yes, sent, old_end);
    REQUIRE(one.cast(1, choice::yes, sent, old_end) == verdict::extended);
    CHECK(one.revoke() == verdict::extended);
}

namespace {

using core::key_finding;

/// What a node may say of the key.
struct sight {
    choice said;
    key_finding found;
};
constexpr sight kept{choice::yes, key_finding::kept};
constexpr sight taken_again{choice::yes, key_finding::gone};
constexpr sight passed_on{choice::yes, key_finding::passed_on};
constexpr sight in_quarantine{choice::unable, key_finding::kept};
constexpr sight anothers{choice::no, key_finding::gone};
constexpr sight silent{choice::unable, key_finding::unknown};

verdict cast(extension& e, std::size_t node, const sight& s) {
    return e.cast(node, s.said, sent + 1ms, old_end, s.found);
}

verdict answered(const std::vector<sight>& all) {
    extension e = fresh(all.size());
    for (std::size_t node = 0; node < all.size(); ++node) cast(e, node, all[node]);
    if (e.state() == verdict::failed) CHECK(e.reason() == errc::not_held);
    return e.state();
}

/// A round whose nodes are counted by trying each quorum that a rival may have had.
struct rivalry {
    explicit rivalry(std::size_t nodes) : machine(fresh(nodes)), all(node_mask::first(nodes)) {}
    extension machine;
    node_mask all;
    node_mask seen{};
    node_mask kept{};
    node_mask gone{};
    bool has_evidence = false;
    plain_count votes{};
    verdict expected = verdict::open;
    error_code reason{};

    bool may_be_quorum(node_mask of) const {
        for (std::uint32_t bits = 0; bits < std::uint32_t{1} << all.size(); ++bits) {
            node_mask one;
            for (const std::size_t i : all) one.set(i, (bits >> i & 1U) != 0);
            if ((one - of).empty() && 2 * one.size() > all.size()) return true;
        }
        return false;
    }
};

void foresee(rivalry& r, std::size_t node, const sight& s, oracle& o) {
    if (r.expected != verdict::open) return;
    const auto fails = [&r](errc why) {
        r.expected = verdict::failed;
        r.reason = why;
    };
    r.seen.insert(node);
    if (s.found == key_finding::kept) r.kept.insert(node);
    if (s.found == key_finding::gone || s.found == key_finding::passed_on) r.gone.insert(node);
    r.has_evidence = r.has_evidence || s.found == key_finding::passed_on;
    if (s.said == choice::yes) ++r.votes.yes;
    if (s.said == choice::no) ++r.votes.no;
    if (s.said == choice::unable) ++r.votes.unable;
    const auto& view = o.at(r.votes);
    if (r.may_be_quorum(r.gone)) return fails(errc::not_held);
    if (r.has_evidence && r.may_be_quorum(r.seen - r.kept)) return fails(errc::not_held);
    const bool may_change = !r.gone.empty() && r.seen != r.all;
    if (view.won && may_change && r.may_be_quorum(r.all - r.kept)) return;
    if (view.won) r.expected = verdict::extended;
    else if (!view.can_win && !view.can_be_denied) fails(errc::no_quorum);
}

}  // namespace

TEST_CASE("an extension heeds every quorum that a rival may have had, in every order") {
    const std::vector<sight> sights{kept, taken_again, passed_on, in_quarantine, anothers, silent};
    const std::vector<std::size_t> sequences{0, 6, 72, 1296, 31104};
    for (std::size_t nodes = 1; nodes <= 4; ++nodes) {
        oracle o(nodes);
        const auto step = [&o](rivalry& r, std::size_t node, const sight& s) {
            foresee(r, node, s, o);
            const verdict said = cast(r.machine, node, s);
            INFO("kept " << r.kept.size() << ", gone " << r.gone.size() << ", evidence "
                         << r.has_evidence << ", yes " << r.votes.yes);
            if (said != r.expected) CHECK(said == r.expected);
            REQUIRE((said == r.expected && r.machine.reason() == r.reason));
        };
        CHECK(core::testing::every_order(nodes, sights, rivalry(nodes), step) == sequences[nodes]);
    }
}

TEST_CASE("an extension of five nodes heeds every quorum that a rival may have had") {
    const std::vector<sight> sights{kept, taken_again, passed_on, in_quarantine, anothers, silent};
    oracle o(5);
    const auto step = [&o](rivalry& r, std::size_t node, const sight& s) {
        foresee(r, node, s, o);
        const verdict said = cast(r.machine, node, s);
        REQUIRE((said == r.expected && r.machine.reason() == r.reason));
    };
    CHECK(core::testing::several_orders(5, sights, false, rivalry(5), step) == 7776);
}

TEST_CASE("a lease whose key is gone on a quorum is not held, whatever the fences") {
    CHECK(answered({taken_again, taken_again, kept}) == verdict::failed);
    CHECK(answered({taken_again, anothers, kept}) == verdict::failed);
    CHECK(answered({taken_again, kept, kept}) == verdict::extended);
    CHECK(answered({taken_again}) == verdict::failed);
}

TEST_CASE("a node where another client was ends a lease unless enough others kept the key") {
    CHECK(answered({passed_on, kept, kept}) == verdict::extended);
    CHECK(answered({passed_on, in_quarantine, kept, kept}) == verdict::extended);
    CHECK(answered({passed_on, kept, silent}) == verdict::failed);
    CHECK(answered({passed_on, kept}) == verdict::extended);  // a rival needs both
    CHECK(answered({passed_on, passed_on, kept, kept, kept}) == verdict::extended);
    CHECK(answered({passed_on, kept, kept, silent, silent}) == verdict::failed);
}

TEST_CASE("a node in quarantine has granted the key to nobody") {
    // Of five nodes one was emptied by hand, and two restarted without their data.
    CHECK(answered({passed_on, in_quarantine, in_quarantine, kept, kept}) == verdict::extended);
    CHECK(answered({passed_on, silent, in_quarantine, kept, kept}) == verdict::extended);
    CHECK(answered({passed_on, silent, silent, kept, kept}) == verdict::failed);
}

TEST_CASE("where a node took the key again the nodes that are silent yet are waited for") {
    const bool has_evidence = GENERATE(true, false);
    extension e = fresh(3);
    CHECK(cast(e, 0, has_evidence ? passed_on : taken_again) == verdict::open);
    CHECK(cast(e, 1, kept) == verdict::open);  // though two said yes
    SECTION("the third kept the key") { CHECK(cast(e, 2, kept) == verdict::extended); }
    SECTION("the third is in quarantine") {
        CHECK(cast(e, 2, in_quarantine) == verdict::extended);
    }
    SECTION("the third lost it, too") {
        CHECK(cast(e, 2, taken_again) == verdict::failed);
        CHECK(e.reason() == errc::not_held);
    }
    SECTION("the third does not answer") {
        CHECK(cast(e, 2, silent) == (has_evidence ? verdict::failed : verdict::extended));
    }
}

TEST_CASE("of a joint list no rival may have had a quorum of either list") {
    // The nodes 0 to 2 are the old list, 2 to 4 the new one.
    const node_lists joint(node_mask::first(3), node_mask::first(5) - node_mask::first(2));
    const auto after = [&](const std::vector<sight>& all) {
        extension e(joint, sent, 100ms, {});
        for (std::size_t node = 0; node < all.size(); ++node) cast(e, node, all[node]);
        return e.state();
    };
    CHECK(after({kept, kept, taken_again, kept, kept}) == verdict::extended);
    CHECK(after({kept, kept, kept, taken_again, taken_again}) == verdict::failed);
    CHECK(after({taken_again, taken_again, kept, kept, kept}) == verdict::failed);
    CHECK(after({kept, silent, passed_on, kept, kept}) == verdict::failed);
}

namespace {

// Of nodes that took the key under the fence 700, by a request at `sent`.
class history {
public:
    explicit history(std::size_t nodes) : keys(node_mask::first(nodes), 700, sent + 130ms) {}

    key_finding free(std::size_t node, std::uint64_t fence, duration at = 1ms) {
        return keys.find(node, choice::yes, true, fence, since, sent + at);
    }
    key_finding has(std::size_t node, duration at = 1ms) {
        keys.note_answer(node, sent + at);
        const auto found = keys.find(node, choice::yes, false, 0, since, sent + at);
        keys.note_holder(node);
        return found;
    }
    void taken(std::size_t node, std::uint64_t fence, duration at = 1ms) {
        keys.note_taken(node, fence, sent + at);
        keys.note_holder(node);
    }
    // By a round that was sent at `at`, so far by `holders`; their keys live for 130 ms.
    void extended(node_mask holders, duration at, bool is_acquitted = true) {
        keys.note_extended(holders, since, sent + at + 130ms, is_acquitted);
        since = sent + at;
    }

    core::key_history keys;
    time_point since = sent;
};

}  // namespace

TEST_CASE("a node shows that another client was there by its fence") {
    history h(2);
    SECTION("not where it has the key") {
        CHECK(h.has(0) == key_finding::kept);
        CHECK(h.keys.found(0) == key_finding::unknown);
    }
    SECTION("not yet where another client holds it") {
        CHECK(h.keys.find(0, choice::no, false, 0, sent, sent) == key_finding::gone);
    }
    SECTION("its fence is that of the lease") { CHECK(h.free(0, 700) == key_finding::gone); }
    SECTION("its fence is another one") { CHECK(h.free(0, 701) == key_finding::passed_on); }
    SECTION("it refuses with another one") {
        CHECK(h.keys.find(0, choice::no, true, 701, sent, sent) == key_finding::passed_on);
    }
    SECTION("its fence is gone") { CHECK(h.free(0, 0) == key_finding::passed_on); }
    SECTION("also where the try before found another client's key there") {
        CHECK(h.keys.find(0, choice::no, false, 0, sent, sent) == key_finding::gone);
        CHECK(h.free(0, 701) == key_finding::passed_on);
    }
    SECTION("also where that client raises no fences") {
        CHECK(h.keys.find(0, choice::no, false, 0, sent, sent) == key_finding::gone);
        CHECK(h.free(0, 700) == key_finding::passed_on);
    }
    SECTION("not a node that never said that it has the key: others' tries raised its fence") {
        CHECK(h.free(2, 701) == key_finding::gone);
    }
    SECTION("but one that said so without a vote") {
        h.keys.note_holder(2);
        CHECK(h.free(2, 701) == key_finding::passed_on);
    }
    SECTION("not by a fence under which this node took the key again") {
        h.taken(0, 705);
        CHECK(h.free(0, 705) == key_finding::gone);
        CHECK(h.free(1, 703) == key_finding::passed_on);
    }
}

TEST_CASE("a node that was late when the lease was prolonged has its key for a while") {
    history h(2);
    h.extended(node_mask::only(1), 30ms);
    const bool is_late_again = GENERATE(false, true);
    if (is_late_again) h.extended(node_mask::only(1), 60ms);
    const duration gap = GENERATE(0ms, 20ms);  // of our own clock
    h.keys.shorten(gap);
    const duration end = 130ms - gap;
    SECTION("within") { CHECK(h.free(0, 701, end - 1ns) == key_finding::passed_on); }
    SECTION("after it") { CHECK(h.free(0, 701, end) == key_finding::gone); }
    SECTION("not where it was found gone meanwhile") {
        h.keys.find(0, choice::no, false, 0, h.since, sent + 70ms);
        h.extended(node_mask::only(1), 75ms);
        CHECK(h.free(0, 701, 80ms) == key_finding::gone);
    }
    SECTION("for longer where it has answered") {
        CHECK(h.has(0) == key_finding::kept);
        CHECK(h.free(0, 701, end + 29ms) == key_finding::passed_on);
    }
}

TEST_CASE("a node that had lost its key when the lease was prolonged shows nothing") {
    history h(2);
    CHECK(h.free(0, 700) == key_finding::gone);
    SECTION("but where it had got it again") {
        h.taken(0, 705);
        h.extended(node_mask::only(1), 30ms);
        CHECK(h.free(0, 706, 50ms) == key_finding::passed_on);
    }
    h.extended(node_mask::only(1), 30ms);
    CHECK(h.free(0, 701, 50ms) == key_finding::gone);
}

TEST_CASE("what a try found out counts until a round acquitted it") {
    history h(2);
    CHECK(h.free(0, 701) == key_finding::passed_on);
    h.taken(0, 705);
    CHECK(h.has(0) == key_finding::passed_on);
    CHECK(h.keys.found(0) == key_finding::passed_on);
    const bool is_acquitted = GENERATE(false, true);
    h.extended(node_mask::first(2), 30ms, is_acquitted);
    CHECK(h.keys.found(0) == (is_acquitted ? key_finding::unknown : key_finding::passed_on));
}

TEST_CASE("a node acquits nobody where its key may have been gone since others had theirs last") {
    history h(3);
    SECTION("a try without an answer may have taken it again") {
        h.keys.note_silent(0);
        CHECK(h.has(0) == key_finding::unsure);
    }
    SECTION("not where the answers came late") {
        h.keys.note_silent(0);
        h.keys.note_silent(0);
        h.keys.note_late_answer(0);
        SECTION("but for one") { CHECK(h.has(0) == key_finding::unsure); }
        h.keys.note_late_answer(0);
        SECTION("all of them") { CHECK(h.has(0) == key_finding::kept); }
    }
    SECTION("it took it again itself, and the lease was prolonged") {
        CHECK(h.free(0, 700, 31ms) == key_finding::gone);
        h.taken(0, 705, 31ms);
        h.extended(node_mask::first(3), 30ms);
        CHECK(h.has(0, 61ms) == key_finding::unsure);
        SECTION("until all have said yes to a later round") {
            h.extended(node_mask::first(3), 60ms);
            CHECK(h.has(0, 91ms) == key_finding::kept);
        }
        SECTION("or the key of the one that did not is over") {
            h.extended(node_mask::first(2), 60ms);
            CHECK(h.has(0, 159ms) == key_finding::unsure);
            CHECK(h.has(0, 160ms) == key_finding::kept);
        }
        SECTION("and as long as what another one shows is not acquitted") {
            h.extended(node_mask::first(2), 60ms);
            CHECK(h.free(2, 701, 61ms) == key_finding::passed_on);
            h.taken(2, 706, 61ms);
            h.extended(node_mask::first(3), 90ms, false);
            CHECK(h.has(0, 121ms) == key_finding::unsure);
            h.extended(node_mask::first(3), 120ms, true);
            CHECK(h.has(0, 151ms) == key_finding::kept);
        }
    }
}

}  // namespace extension_test

// The rounds of an extension: which leases go out once more, above which fence, and with which
// ttl.
namespace extension_rounds_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::choice;
using core::extension_rounds;
using next = core::extension_rounds::next;
using verdict = core::extension::verdict;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point old_end = start + 50ms;
constexpr duration quorum_time = 10ms;

std::uint64_t us(duration d) {
    return static_cast<std::uint64_t>(std::chrono::microseconds(d / 1us).count());
}

struct rounds {
    extension_rounds machine;

    extension_rounds::fence_bounds begin(time_point now) {
        return machine.begin(node_lists(3), {}, now, quorum_time);
    }
    verdict cast(std::size_t lease, std::size_t node, choice c, std::uint64_t seen_fence = 0,
                 time_point now = start + 1ms) {
        return machine.cast(lease, node, c, core::key_finding::unknown, seen_fence, now, old_end);
    }
    // Node 0 has it, node 1 lost it and refuses the fence, node 2 does not answer.
    verdict refuse_by_fence(std::size_t lease, std::uint64_t seen_fence) {
        cast(lease, 0, choice::yes);
        cast(lease, 1, choice::no, seen_fence);
        return cast(lease, 2, choice::unable);
    }
};

}  // namespace

TEST_CASE("an extension is over when every lease of it has ended") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(200ms, false);
    r.begin(start);
    CHECK(r.machine.open() == 2);
    CHECK(r.cast(a, 0, choice::yes) == verdict::open);
    CHECK(r.cast(a, 1, choice::yes) == verdict::extended);
    CHECK(r.machine.valid_until(a) == start + 97ms);
    CHECK(r.machine.end(a));
    CHECK(r.machine.what_next() == next::wait);
    CHECK(r.machine.end(b));
    CHECK(r.machine.what_next() == next::finished);
}

TEST_CASE("a lease ends once") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    CHECK(r.machine.end(a));  // also before anything was sent
    CHECK_FALSE(r.machine.end(a));
    CHECK(r.machine.what_next() == next::finished);
}

TEST_CASE("the first round has no fence to pass") {
    rounds r;
    r.machine.add(100ms, false);
    const auto fence = r.begin(start);
    CHECK(fence.seen == 0);
    CHECK(fence.raised == 0);
}

TEST_CASE("leases that a fence refused go out once more, above all fences that were named") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(100ms, false);
    const auto done = r.machine.add(100ms, false);
    r.begin(start);
    CHECK(r.refuse_by_fence(a, 700) == verdict::again);
    CHECK(r.machine.what_next() == next::wait);  // for the others: all go together
    CHECK(r.refuse_by_fence(b, 900) == verdict::again);
    r.cast(done, 0, choice::yes);
    CHECK(r.cast(done, 1, choice::yes) == verdict::extended);
    r.machine.end(done);
    REQUIRE(r.machine.what_next() == next::begin);
    const auto fence = r.begin(start + 4ms);
    CHECK(fence.seen == 900);
    CHECK(fence.raised == 900 + us(4ms + quorum_time));
    CHECK(r.machine.round() == 2);
    CHECK(r.machine.open() == 2);
    CHECK_FALSE(r.machine.is_open(done));
    CHECK(r.machine.sent() == start + 4ms);
}

TEST_CASE("a fence that is named after the lease was decided counts for the next round") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(100ms, false);
    r.begin(start);
    r.cast(a, 0, choice::yes);
    r.cast(a, 1, choice::unable);
    CHECK(r.cast(a, 2, choice::no, 700) == verdict::again);
    CHECK(r.cast(a, 1, choice::no, 900) == verdict::open);
    r.machine.end(b);
    REQUIRE(r.machine.what_next() == next::begin);
    CHECK(r.begin(start + 1ms).seen == 900);
}

TEST_CASE("the next extension passes a fence that refused the lease, also where a quorum had it") {
    core::refused_fence known;
    known.note(700, start);
    rounds r;
    r.machine.add(100ms, false, &known);
    const auto fence = r.begin(start + 30ms);
    CHECK(fence.raised == 700 + us(30ms + quorum_time));  // a rival went on raising it
    CHECK(fence.seen == 0);  // one that has run too far ahead does not stop the renewal
}

TEST_CASE("leases that are prolonged together pass the fence that is raised furthest") {
    core::refused_fence earlier;
    earlier.note(4'000, start);
    core::refused_fence later;
    later.note(9'000, start + 20ms);
    rounds r;
    r.machine.add(100ms, false, &earlier);
    r.machine.add(100ms, false, &later);
    r.machine.add(100ms, false);
    CHECK(r.begin(start + 30ms).raised == 4'000 + us(30ms + quorum_time));
}

TEST_CASE("a refusal is remembered for as long as the ttl") {
    core::refused_fence known;
    known.note(700, start);
    for (const duration age : {100ms, 101ms}) {
        rounds r;
        r.machine.add(100ms, false, &known);
        CHECK((r.begin(start + age).raised != 0) == (age == 100ms));
    }
}

TEST_CASE("there is no third round") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    r.begin(start);
    REQUIRE(r.refuse_by_fence(a, 700) == verdict::again);
    r.begin(start + 1ms);
    CHECK(r.refuse_by_fence(a, 900) == verdict::failed);
    CHECK(r.machine.reason(a) == errc::no_quorum);
}

TEST_CASE("without further rounds leases that wait for one are to be ended") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(100ms, false);
    r.begin(start);
    REQUIRE(r.refuse_by_fence(a, 700) == verdict::again);
    r.machine.end_rounds();
    CHECK(r.machine.what_next() == next::wait);
    r.machine.end(a);
    r.machine.end(b);
    CHECK(r.machine.what_next() == next::finished);
}

TEST_CASE("only the holder's own extension sets the ttl of later renewals") {
    extension_rounds machine;
    const auto renewal = machine.add(100ms, false);
    const auto own = machine.add(200ms, true);
    CHECK(machine.new_ttl(renewal) == std::nullopt);
    CHECK(machine.new_ttl(own) == duration(200ms));
    CHECK(machine.ttl(renewal) == 100ms);
}

TEST_CASE("a gap of our clock shortens what is on its way") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    r.begin(start);
    r.machine.shorten(30ms);
    CHECK(r.machine.valid_until(a) == start + 67ms);
}

TEST_CASE("an answer of nobody's fence is no refusal by the fence") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    r.begin(start);
    r.cast(a, 0, choice::yes);
    r.cast(a, 1, choice::unable, 700);  // it named a fence, but has no vote
    CHECK(r.cast(a, 2, choice::unable) == verdict::failed);
    CHECK(r.machine.reason(a) == errc::no_quorum);
}

TEST_CASE("a lease that one node says was revoked fails alone") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    const auto b = r.machine.add(100ms, false);
    r.begin(start);
    SECTION("in its round") {}
    SECTION("while it waits for another") {
        REQUIRE(r.refuse_by_fence(a, 700) == verdict::again);
    }
    CHECK(r.machine.revoke(a) == verdict::failed);
    CHECK(r.machine.reason(a) == errc::not_held);
    CHECK(r.machine.end(a));
    CHECK(r.machine.revoke(a) == verdict::open);  // that is known
    CHECK(r.cast(b, 0, choice::yes) == verdict::open);
    CHECK(r.cast(b, 1, choice::yes) == verdict::extended);
    r.machine.end(b);
    CHECK(r.machine.what_next() == next::finished);
}

TEST_CASE("while our clock stood still a rival went on raising the fence that refused the lease") {
    rounds r;
    const auto a = r.machine.add(100ms, false);
    r.begin(start);
    REQUIRE(r.refuse_by_fence(a, 700) == verdict::again);
    r.machine.shorten(30ms);
    CHECK(r.begin(start + 1ms).raised == 700 + us(1ms + 30ms + quorum_time));
}

TEST_CASE("a lease remembers the fence that a node refused, past the extension and its outcome") {
    core::refused_fence memory;
    {
        rounds r;
        const auto a = r.machine.add(100ms, false, &memory);
        r.begin(start);
        r.cast(a, 0, choice::yes);
        r.cast(a, 1, choice::yes);
        r.cast(a, 2, choice::no, 900);  // it was extended by then
    }
    rounds next;
    next.machine.add(100ms, false, &memory);
    CHECK(next.begin(start + 30ms).raised == 900 + us(30ms + quorum_time));
}

}  // namespace extension_rounds_test

// What a lease remembers of nodes that refused it for their fences.
namespace refused_fence_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::refused_fence;

namespace {

constexpr time_point start = time_point(72h);

}  // namespace

TEST_CASE("nothing is raised where nobody refused") {
    CHECK(refused_fence().raised(start, 1s, 1h) == 0);
    CHECK(refused_fence().raised(time_point(1ms), 1s, 1h) == 0);
}

TEST_CASE("a fence that refused a lease is raised as fast as time goes by") {
    refused_fence r;
    r.note(900, start);
    CHECK(r.raised(start, 0ms, 1s) == 900);
    CHECK(r.raised(start + 3ms, 2ms, 1s) == 900 + 5'000);
}

TEST_CASE("of the answers to one round the highest fence counts") {
    refused_fence r;
    r.note(900, start);
    r.note(700, start);
    CHECK(r.raised(start, 0ms, 1s) == 900);
    r.note(950, start);
    CHECK(r.raised(start, 0ms, 1s) == 950);
}

TEST_CASE("the answers to a later round count for more than those to an earlier one") {
    refused_fence r;
    r.note(900, start);
    r.note(700, start + 1s);
    CHECK(r.raised(start + 1s, 0ms, 1s) == 700);
    r.note(600, start);  // it came late
    CHECK(r.raised(start + 1s, 0ms, 1s) == 700);
}

TEST_CASE("a gap of our own clock makes a refusal older by it") {
    core::refused_fence refused;
    const time_point sent = time_point(72h);
    refused.shorten(1s);  // of nothing
    CHECK(refused.raised(sent, 10ms, 1min) == 0);
    refused.note(700, sent);
    refused.shorten(2s);
    CHECK(refused.raised(sent, 10ms, 1min) == 700 + 2'010'000);
    refused.shorten(1min);
    CHECK(refused.raised(sent, 10ms, 1min) == 0);
}

}  // namespace refused_fence_test
