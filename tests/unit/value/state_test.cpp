// What is known of a resource, a leader, a node or a list, and when that is a change.
// SPDX-License-Identifier: MIT
#include "value/state.hpp"

#include "support/catch.hpp"

#include "tests/support/catch.hpp"

#include <redlock/resource_state.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

// What a node says about a resource, as text.
namespace resource_state_test {

using namespace redlock;

TEST_CASE("each state of a key has its name") {
    CHECK(to_string(key_state::free) == "free");
    CHECK(to_string(key_state::held) == "held");
    CHECK(to_string(key_state::shared) == "shared");
    CHECK(to_string(key_state::quarantine) == "quarantine");
    CHECK(to_string(key_state::refused) == "refused");
    CHECK(to_string(key_state::timed_out) == "timed_out");
    CHECK(to_string(key_state::unreachable) == "unreachable");
    CHECK(to_string(static_cast<key_state>(200)) == "unknown");
}

}  // namespace resource_state_test

// Tests which differences between two states of a resource are changes of its holder.
namespace holder_change_test {

using namespace redlock;
using namespace std::chrono_literals;
using redlock::detail::has_changed_hands;

namespace {

resource_state unheld() {
    resource_state out;
    out.decided = true;
    out.quorum = 2;
    out.nodes.resize(3);
    return out;
}
resource_state owned_by(const char* owner) {
    auto out = unheld();
    out.held = true;
    out.owner = owner;
    return out;
}
resource_state read_by(std::vector<std::string> readers) {
    auto out = unheld();
    out.held = true;
    for (auto& n : out.nodes) n.state = key_state::shared;
    out.readers = std::move(readers);
    return out;
}
resource_state sliced(std::vector<slot_state> slots) {
    auto out = unheld();
    out.slots = std::move(slots);
    return out;
}
slot_state slot_of(std::uint16_t number, const char* owner) {
    slot_state out;
    out.number = number;
    out.owner = owner;
    return out;
}

}  // namespace

TEST_CASE("a resource changes hands when another owner, or nobody, has it", "[holder_change]") {
    const auto a = owned_by("a");
    CHECK(has_changed_hands(unheld(), a));
    CHECK(has_changed_hands(a, unheld()));
    CHECK(has_changed_hands(a, owned_by("b")));
    CHECK_FALSE(has_changed_hands(a, owned_by("a")));
    CHECK_FALSE(has_changed_hands(unheld(), unheld()));
    auto kept = owned_by("a");
    kept.held = false;
    kept.kept = true;
    CHECK(has_changed_hands(a, kept));
    CHECK(has_changed_hands(kept, unheld()));
    CHECK(has_changed_hands(read_by({}), owned_by("")));  // an empty value of another program
}

TEST_CASE("any state is a change to a watcher that knows none", "[holder_change]") {
    CHECK(has_changed_hands({}, unheld()));
    auto undecided = owned_by("a");
    undecided.decided = false;
    CHECK(has_changed_hands(undecided, owned_by("a")));
}

TEST_CASE("an extension changes nothing", "[holder_change]") {
    auto first = owned_by("a");
    auto later = first;
    later.valid_for = 9s;
    later.held_for = 20s;
    later.fence = 12;  // all nodes were restarted, and took the key again
    later.waiting = 3;
    later.nodes[1].state = key_state::timed_out;
    CHECK_FALSE(has_changed_hands(first, later));
}

TEST_CASE("readers are compared, and not their order", "[holder_change]") {
    CHECK(has_changed_hands(unheld(), read_by({"a"})));
    CHECK(has_changed_hands(read_by({"a"}), read_by({"a", "b"})));
    CHECK(has_changed_hands(read_by({"a", "b"}), read_by({"a", "c"})));
    CHECK_FALSE(has_changed_hands(read_by({"a", "b"}), read_by({"b", "a"})));
}

TEST_CASE("slots are compared one by one", "[holder_change]") {
    const auto two = sliced({slot_of(0, "a"), slot_of(2, "b")});
    CHECK_FALSE(has_changed_hands(two, two));
    CHECK(has_changed_hands(two, sliced({slot_of(0, "a")})));
    CHECK(has_changed_hands(two, sliced({slot_of(0, "a"), slot_of(2, "c")})));
    CHECK(has_changed_hands(two, sliced({slot_of(1, "a"), slot_of(2, "b")})));
    auto kept = two;
    kept.slots[0].kept = true;
    CHECK(has_changed_hands(two, kept));
    auto extended = two;
    extended.slots[0].valid_for = 3s;
    extended.slots[0].fence = 7;
    CHECK_FALSE(has_changed_hands(two, extended));
}

TEST_CASE("another note of a holder, a reader or a slot is a change", "[holder_change]") {
    const auto owned = owned_by("a");
    auto noted = owned;
    noted.note = "n";
    CHECK(has_changed_hands(owned, noted));

    const auto shared = read_by({"a", "b"});
    auto shared_noted = shared;
    shared_noted.reader_notes = {"", "n"};
    CHECK(has_changed_hands(shared, shared_noted));
    auto other_order = read_by({"b", "a"});
    other_order.reader_notes = {"n"};  // those at the end have none
    CHECK_FALSE(has_changed_hands(shared_noted, other_order));
    other_order.reader_notes = {"", "n"};
    CHECK(has_changed_hands(shared_noted, other_order));

    auto slot = slot_of(1, "a");
    const auto sliced_alone = sliced({slot});
    slot.note = "n";
    CHECK(has_changed_hands(sliced_alone, sliced({slot})));
}

}  // namespace holder_change_test

// Which leader a resource's state shows, what counts as a change, and how often an observer looks.
namespace leadership_test {

using namespace redlock;
using namespace redlock::detail;
using namespace std::chrono_literals;

namespace {

resource_state held_by(const char* owner, std::uint64_t fence = 7) {
    resource_state s;
    s.decided = true;
    s.held = true;
    s.owner = owner;
    s.fence = fence;
    s.held_for = 3s;
    return s;
}

std::optional<leader_info> leader(const char* name, std::uint64_t fence) {
    leader_info out;
    out.name = name;
    out.fence = fence;
    return out;
}

}  // namespace

TEST_CASE("the leader is the client that holds the resource", "[leadership]") {
    const auto found = leader_of(held_by("AbCdEf...@host-1:4711"));
    REQUIRE(found.has_value());
    REQUIRE(*found);
    CHECK((*found)->name == "host-1:4711");
    CHECK((*found)->note.empty());
    CHECK((*found)->fence == 7);
    CHECK((*found)->since == 3s);
    // Behind an owner that the caller gave stands a random number.
    CHECK(leader_of(held_by("AbCdEf...@host-1:4711#0123456789abcdef")).value()->name ==
          "host-1:4711");
    CHECK(leader_of(held_by("another libra...", 0)).value()->name.empty());
    resource_state noted = held_by("AbCdEf...@host-1:4711");
    noted.note = "shard 7";
    CHECK(leader_of(noted).value()->note == "shard 7");
    auto fresh = held_by("AbCdEf...@p");
    fresh.held_for.reset();
    CHECK(leader_of(fresh).value()->since == 0ms);
}

TEST_CASE("nobody leads what is free, kept, or read", "[leadership]") {
    resource_state s;
    s.decided = true;
    s.fence = 9;
    CHECK_FALSE(leader_of(s).value());
    s.kept = true;
    s.owner = "AbCdEf...@p";
    CHECK_FALSE(leader_of(s).value());
    CHECK_FALSE(leader_of(held_by("")).value());  // readers have no one owner
}

TEST_CASE("too few answers name no leader and no vacancy", "[leadership]") {
    const auto found = leader_of(resource_state{});
    REQUIRE(found.has_error());
    CHECK(found.error() == errc::no_quorum);
}

TEST_CASE("a change is another leader, another term, or none", "[leadership]") {
    const auto a = leader("a", 1);
    CHECK_FALSE(is_change(a, a));
    CHECK_FALSE(is_change(std::nullopt, std::nullopt));
    CHECK(is_change(a, std::nullopt));
    CHECK(is_change(std::nullopt, a));
    CHECK(is_change(a, leader("a", 2)));
    CHECK(is_change(a, leader("b", 1)));
    auto later = a;
    later->since = 5s;
    CHECK_FALSE(is_change(a, later));
    auto noted = a;
    noted->note = "draining";
    CHECK(is_change(a, noted));
}

TEST_CASE("a campaign without a limit waits a year, for one holder alone", "[leadership]") {
    acquire_options how{.ttl = 4s, .mode = lock_mode::shared, .slots = 3, .permits = 2};
    const auto without_limit = candidacy(how);
    CHECK(without_limit.wait == std::chrono::hours(24 * 365));
    CHECK(without_limit.mode == lock_mode::exclusive);
    CHECK(without_limit.slots == 0);
    CHECK(without_limit.permits == 1);
    CHECK(without_limit.ttl == 4s);
    how.wait = 5ms;
    CHECK(candidacy(how).wait == 5ms);
}

}  // namespace leadership_test
