// What the environment says of the runs around this one, and what of it is believed.
// SPDX-License-Identifier: MIT
#include "tools/nesting.hpp"

#include "tests/support/catch.hpp"

#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>

#include <random>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::tool;

namespace {

const std::string ann = "AAAAAAAAAAAAAAAAAAAAAA@ann:7";
const std::string bob = "BBBBBBBBBBBBBBBBBBBBBB@bob:8";

resource_state held_alone_by(const std::string& owner) {
    resource_state state;
    state.resource = "r";
    state.decided = state.held = true;
    state.owner = abbreviate_owner(owner);
    return state;
}

resource_state shared_by(const std::vector<std::string>& owners) {
    resource_state state;
    state.resource = "r";
    state.decided = state.held = true;
    for (const auto& owner : owners) state.readers.push_back(abbreviate_owner(owner));
    return state;
}

resource_state slot_of(const std::string& owner, std::uint16_t number) {
    resource_state state;
    state.resource = "r";
    state.decided = true;
    slot_state slot;
    slot.number = number;
    slot.owner = abbreviate_owner(owner);
    state.slots.push_back(slot);
    return state;
}

using ground = footing::kind;

}  // namespace

TEST_CASE("what is written is read again, with any bytes in its names") {
    std::string odd;
    for (int c = 1; c < 256; ++c) odd += static_cast<char>(c);
    const std::vector<held_lock> held{{"r", ann, 7}, {"a b,c%d", bob, 0}, {odd, ann, ~0ULL}};
    const auto text = write_held(held);
    const auto again = read_held(text.c_str(), nullptr, nullptr, nullptr);
    REQUIRE(again.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(again[i].resource == held[i].resource);
        CHECK(again[i].owner == held[i].owner);
        CHECK(again[i].fence == held[i].fence);
    }
    for (const char c : text) CHECK((c >= ' ' && c < 127));
}

TEST_CASE("the variables of one run count, too, and what is known twice counts once") {
    CHECK(read_held(nullptr, nullptr, nullptr, nullptr).empty());
    CHECK(read_held(nullptr, "r", ann.c_str(), nullptr).empty());
    const auto one = read_held(nullptr, "r", ann.c_str(), "7");
    REQUIRE(one.size() == 1);
    CHECK(one[0].resource == "r");
    CHECK(one[0].owner == ann);
    CHECK(one[0].fence == 7);
    CHECK(read_held(write_held(one).c_str(), "r", ann.c_str(), "7").size() == 1);
    const auto two = read_held(write_held(one).c_str(), "s", bob.c_str(), "8");
    REQUIRE(two.size() == 2);
    CHECK(two[1].resource == "s");
}

TEST_CASE("what is not of the form is left out, and the rest is read") {
    const std::string good = "r,7," + ann;
    for (const std::string& bad : std::vector<std::string>{
          "", "r", "r,7", ",7,", "r,x," + ann, "r,-1," + ann, "r,7,ann", "r,7,@ann",
          "r,99999999999999999999," + ann, "%,7," + ann, "%4,7," + ann, "%zz,7," + ann,
          "r\x01,7," + ann, "r,7," + ann + "=", std::string(",7,") + ann,
          std::string(513, 'r') + ",7," + ann, "r,7," + ann + std::string(200, 'x')}) {
        INFO(bad);
        CHECK(read_held(bad.c_str(), nullptr, nullptr, nullptr).empty());
        CHECK(read_held((bad + " " + good).c_str(), nullptr, nullptr, nullptr).size() == 1);
        CHECK(read_held((good + " " + bad).c_str(), nullptr, nullptr, nullptr).size() == 1);
    }
    CHECK(read_held(std::string(most_held_bytes + 1, 'r').c_str(), nullptr, nullptr, nullptr)
              .empty());
    CHECK(read_held(nullptr, "", ann.c_str(), "7").empty());
    CHECK(read_held(nullptr, "r", "", "7").empty());
    CHECK(read_held(nullptr, "r", ann.c_str(), "7 ").empty());
}

TEST_CASE("any text is read without harm") {
    std::mt19937 random(7);
    const std::string letters = "r,7%4@A \xff\x01" + ann;
    for (int i = 0; i < 20'000; ++i) {
        std::string text;
        for (auto n = random() % 80; n > 0; --n) text += letters[random() % letters.size()];
        for (const auto& h : read_held(text.c_str(), text.c_str(), text.c_str(), text.c_str())) {
            CHECK_FALSE(h.resource.empty());
            CHECK(h.owner.find('@') == 22);
        }
    }
}

TEST_CASE("of a variable that names without end not all is read") {
    std::string lines;
    for (int i = 0; i < 10'000; ++i) lines += std::to_string(i) + '\n';
    CHECK(read_held(nullptr, lines.c_str(), ann.c_str(), "7").size() <= 2 * most_held);
}

TEST_CASE("of too many runs the innermost are kept") {
    std::vector<held_lock> held;
    for (std::uint64_t i = 0; i < most_held + 20; ++i) {
        held.push_back({"r" + std::to_string(i), ann, i});
    }
    auto again = read_held(write_held(held).c_str(), nullptr, nullptr, nullptr);
    REQUIRE(again.size() == most_held);
    CHECK(again.back().resource == held.back().resource);
    for (auto& h : held) h.resource = std::string(max_resource_bytes, '\n');
    for (std::size_t i = 0; i < held.size(); ++i) {
        held[i].owner[0] = static_cast<char>('A' + i % 26);
        held[i].owner[1] = static_cast<char>('A' + i / 26);
    }
    const auto text = write_held(held);
    CHECK(text.size() <= most_held_bytes);
    again = read_held(text.c_str(), nullptr, nullptr, nullptr);
    REQUIRE_FALSE(again.empty());
    CHECK(again.back().owner == held.back().owner);
}

TEST_CASE("a run stands on what the nodes say that a run around it holds") {
    const std::vector<held_lock> around{{"s", bob, 1}, {"r", ann, 7}};
    const auto footing_of = [&](kind_of_lock wanted, const resource_state& state) {
        return find_footing(around, wanted, state).what;
    };
    using enum kind_of_lock;
    CHECK(find_footing(around, exclusive, held_alone_by(ann)).under.owner == ann);
    resource_state noted = held_alone_by(ann);
    noted.note = "outer";
    CHECK(find_footing(around, shared, noted).note == "outer");
    noted = shared_by({bob, ann});
    CHECK(find_footing(around, shared, noted).note.empty());
    noted.reader_notes = {"not this", "this"};
    CHECK(find_footing(around, shared, noted).note == "this");
    CHECK(footing_of(exclusive, held_alone_by(ann)) == ground::outer);
    CHECK(footing_of(shared, held_alone_by(ann)) == ground::outer);
    CHECK(footing_of(shared, shared_by({bob, ann})) == ground::outer);
    CHECK(footing_of(exclusive, shared_by({bob, ann})) == ground::deadlock);
    CHECK(footing_of(slot, slot_of(ann, 3)) == ground::outer);
    CHECK(find_footing(around, slot, slot_of(ann, 3)).slots == std::vector<std::uint16_t>{3});
    SECTION("several slots, where the run around it has as many") {
        resource_state state = slot_of(ann, 3);
        CHECK(find_footing(around, slot, state, 2).what == ground::own);
        state.slots.push_back(state.slots.front());
        state.slots.back().number = 5;
        CHECK(find_footing(around, slot, state, 2).slots == std::vector<std::uint16_t>{3, 5});
        CHECK(find_footing(around, slot, state, 1).what == ground::outer);
        CHECK(find_footing(around, slot, state, 3).what == ground::own);
        CHECK(find_footing(around, slot, state, 5, 6).what == ground::crowded);
        CHECK(find_footing(around, slot, state, 4, 6).what == ground::own);
        CHECK(find_footing(around, slot, state, 3, 3).what == ground::own);  // 3 and 5 are beyond
        state.slot_count = 3;  // for as long as a program names that
        CHECK(find_footing(around, slot, state, 4, 6).what == ground::own);
    }
    SECTION("several outer runs have some slots each") {
        resource_state state = slot_of(ann, 3);
        state.slots.push_back(slot_of(bob, 4).slots.front());
        const std::vector<held_lock> both{{"r", bob, 1}, {"r", ann, 7}};
        CHECK(find_footing(both, slot, state, 6, 8).what == ground::own);
        CHECK(find_footing(both, slot, state, 7, 8).what == ground::crowded);
    }
    SECTION("the slots are another lock than the resource") {
        CHECK(footing_of(slot, held_alone_by(ann)) == ground::own);
        CHECK(footing_of(slot, shared_by({ann})) == ground::own);
        CHECK(footing_of(exclusive, slot_of(ann, 3)) == ground::own);
        CHECK(footing_of(shared, slot_of(ann, 3)) == ground::own);
    }
    SECTION("whatever the environment says, the nodes do not") {
        for (const auto wanted : {exclusive, shared, slot}) {
            CHECK(footing_of(wanted, held_alone_by(bob)) == ground::own);
            CHECK(footing_of(wanted, shared_by({bob})) == ground::own);
            CHECK(footing_of(wanted, slot_of(bob, 3)) == ground::own);
            resource_state unknown;
            unknown.resource = "r";
            CHECK(footing_of(wanted, unknown) == ground::own);
            CHECK(find_footing({}, wanted, held_alone_by(ann)).what == ground::own);
        }
    }
}

TEST_CASE("of several resources the variables name one a line") {
    const auto held = read_held(nullptr, "a\nb", ann.c_str(), "7");
    REQUIRE(held.size() == 2);
    CHECK(held[0].resource == "a");
    CHECK(held[1].resource == "b");
    CHECK(held[1].owner == ann);
}

TEST_CASE("an inner run of several resources stands on one outer run that has them all") {
    const footing own{};
    const footing by_ann{footing::kind::outer, {"a", ann, 7}, {}};
    const footing too{footing::kind::outer, {"b", ann, 7}, {}};
    const footing by_bob{footing::kind::outer, {"b", bob, 8}, {}};
    const footing shared{footing::kind::deadlock, {"b", bob, 8}, {}};
    CHECK(together({own, own}).what == footing::kind::own);
    CHECK(together({by_ann, too}).what == footing::kind::outer);
    CHECK(together({by_ann, too}).under.owner == ann);
    CHECK(together({own, by_bob}).what == footing::kind::partly);
    CHECK(together({own, by_bob}).under.resource == "b");
    CHECK(together({by_ann, by_bob}).what == footing::kind::partly);
    CHECK(together({own, shared}).what == footing::kind::deadlock);
}

TEST_CASE("a lock that is kept after the outer run is nobody's") {
    const std::vector<held_lock> around{{"r", ann, 7}};
    resource_state state;
    state.resource = "r";
    SECTION("the resource") {
        state.owner = abbreviate_owner(ann);
        state.held = true;
        REQUIRE(find_footing(around, kind_of_lock::exclusive, state).what == footing::kind::outer);
        state.held = false;
        state.kept = true;
        CHECK(find_footing(around, kind_of_lock::exclusive, state).what == footing::kind::own);
    }
    SECTION("one of its slots") {
        slot_state slot;
        slot.number = 3;
        slot.owner = abbreviate_owner(ann);
        state.slots.push_back(slot);
        REQUIRE(find_footing(around, kind_of_lock::slot, state).what == footing::kind::outer);
        state.slots[0].kept = true;
        CHECK(find_footing(around, kind_of_lock::slot, state).what == footing::kind::own);
    }
}
