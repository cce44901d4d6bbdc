// Tests which differences between two states of a resource are changes of its holder.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "value/holder_change.hpp"

#include <chrono>

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
