// Tests the notes of leases of each kind, which stand in the values of their keys; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "wire/owner_value.hpp"

#include <redlock/refusal.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

/// The text of each note on a node, whichever string has it.
std::vector<std::string> notes_on(const world& w, std::size_t node) {
    std::vector<std::string> out;
    for (const auto& [name, key] : w.nodes[node].all_keys(w.now)) {
        if (const auto note = wire::note_of(key.value); !note.empty()) out.push_back(note);
    }
    return out;
}

/// On every node.
bool have_notes(const world& w, const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < w.nodes.size(); ++i) {
        if (notes_on(w, i) != texts) return false;
    }
    return true;
}

resource_state shown(world& w, const std::string& resource = "r") {
    const auto seen = w.inspect(resource);
    w.run_until_over(*seen);
    CHECK(seen->outcome() == error_code());
    return seen->state;
}

void put_elsewhere(world& w, const std::string& text) {
    for (auto& node : w.nodes) node.put("r", world::elsewhere + "#note=" + text + ".", w.now + 5s);
}

void carry_out(world& w, std::size_t node, const command& what) {
    connection from;
    w.nodes[node].execute(from, what, w.now);
}

void released(world& w, lease held) {
    const auto e = w.release(std::move(held));
    w.run_until_over(*e);
    CHECK(e->outcome() == error_code());
    w.run_for(10ms);
}

}  // namespace

TEST_CASE("a note stands with its lease until the release, with and without fences") {
    const bool is_fenced = GENERATE(true, false);
    connected_world w(is_fenced ? fenced_options_for(3) : options_for(3));
    std::string text = "nightly import";
    auto e = w.acquire("r", {.ttl = 2s, .note = text});
    text = "the caller's own again";
    REQUIRE(w.run_until_over(*e));
    REQUIRE(e->held);
    w.run_for(10ms);
    CHECK(have_notes(w, {"nightly import"}));
    const auto state = shown(w);
    CHECK(state.note == "nightly import");
    CHECK(state.nodes[1].note == "nightly import");
    CHECK(state.owner.find('#') == std::string::npos);
    SECTION("renewals prolong it") {
        w.run_for(7s);
        CHECK(have_notes(w, {"nightly import"}));
    }
    released(w, std::move(e->held));
    CHECK(have_notes(w, {}));
    CHECK(w.ours("r") == 0);
    CHECK(shown(w).note.empty());
}

TEST_CASE("a node that takes the key again has the note again") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 2s, .note = "shard 7"});
    carry_out(w, 1, {"DEL", "r"});
    REQUIRE(notes_on(w, 1).empty());
    w.run_for(1s);
    CHECK(have_notes(w, {"shard 7"}));
}

TEST_CASE("each slot, each of several keys and each reader has its note") {
    connected_world w(fenced_options_for(3));
    SECTION("slots") {
        auto a = w.granted("r", {.ttl = 9s, .note = "one", .slots = 2});
        const auto b = w.granted("r", {.ttl = 9s, .slots = 2});
        w.run_for(10ms);
        const auto state = shown(w);
        REQUIRE(state.slots.size() == 2);
        CHECK(state.slots[a->held.slot()].note == "one");
        CHECK(state.slots[b->held.slot()].note.empty());
        released(w, std::move(a->held));
    }
    SECTION("several keys") {
        const auto e = w.acquire_all({"r", "s"}, {.ttl = 9s, .note = "both"});
        REQUIRE(w.run_until_over(*e));
        w.run_for(10ms);
        CHECK(have_notes(w, {"both", "both"}));
        CHECK(shown(w, "s").note == "both");
        released(w, std::move(e->held));
    }
    SECTION("readers") {
        auto a = w.granted("r", {.ttl = 9s, .note = "one", .mode = lock_mode::shared});
        auto b = w.granted("r", {.ttl = 3s, .mode = lock_mode::shared});
        auto c = w.granted("r", {.ttl = 3s, .note = "three", .mode = lock_mode::shared});
        w.run_for(4s);  // renewals
        const auto state = shown(w);
        REQUIRE(state.readers.size() == 3);
        REQUIRE(state.reader_notes.size() == 3);
        CHECK(std::count(state.reader_notes.begin(), state.reader_notes.end(), "") == 1);
        CHECK(state.note.empty());
        released(w, std::move(a->held));
        auto left = shown(w).reader_notes;
        std::sort(left.begin(), left.end());
        CHECK(left == std::vector<std::string>{"", "three"});
        c->held.detach();
        w.run_for(3100ms);
        CHECK(shown(w).reader_notes.empty());
        released(w, std::move(b->held));
    }
    CHECK(have_notes(w, {}));
}

TEST_CASE("a key that is kept after its lease has no note") {
    const bool is_fenced = GENERATE(true, false);
    connected_world w(is_fenced ? fenced_options_for(3) : options_for(3));
    auto e = w.granted("r", {.ttl = 5s, .min_hold = 4s, .note = "job"});
    w.run_for(10ms);
    REQUIRE(have_notes(w, {"job"}));
    released(w, std::move(e->held));
    CHECK(have_notes(w, {}));
    const auto state = shown(w);
    CHECK(state.kept);
    CHECK(state.note.empty());
    CHECK(state.owner.find('#') == std::string::npos);
}

TEST_CASE("a refusal names the holder, since when, and the note") {
    connected_world w(fenced_options_for(3));
    w.run_for(1s);
    put_elsewhere(w, "deploy 4711\x1b[2J");
    for (auto& node : w.nodes) {
        node.put("{r}:fence", std::to_string(node.wall.us(w.now) - 3'000'000), w.now + 60s);
    }
    const auto e = w.acquire("r", {.ttl = 2s});
    REQUIRE(w.run_until_over(*e));
    REQUIRE(e->outcome() == errc::contended);
    const refusal why{e->outcome(), {e->held.votes().begin(), e->held.votes().end()}, {}};
    CHECK(why.votes[0].note == "deploy 4711\\x1b[2J");
    CHECK(why.votes[0].held_for >= 2900ms);
    CHECK(why.votes[0].held_for < 3200ms);
    CHECK(why.message().find("held by elsewhere for ") != std::string::npos);
    CHECK(why.message().find(" more, since 3.0 s, note \"deploy 4711") != std::string::npos);
    CHECK(format(why.votes[0]).find("deploy") == std::string::npos);
}

TEST_CASE("a note that ends as a kept key does is a lease's") {
    connected_world w(fenced_options_for(3));
    auto e = w.granted("r", {.ttl = 5s, .note = "nightly#kept"});
    w.run_for(10ms);
    const auto state = shown(w);
    CHECK(state.held);
    CHECK_FALSE(state.kept);
    CHECK(state.note == "nightly#kept");
    released(w, std::move(e->held));
    CHECK(shown(w).nodes[0].state == key_state::free);
}

TEST_CASE("the longest note is shown whole, also to one that is refused") {
    connected_world w(fenced_options_for(3));
    const std::string longest(max_note_bytes, 'x');
    const bool is_slot = GENERATE(false, true);
    const std::uint16_t slots = is_slot ? 1 : 0;
    auto held = w.granted("r", {.ttl = 5s, .note = longest, .slots = slots});
    w.run_for(10ms);
    const auto state = shown(w);
    CHECK((is_slot ? state.slots.at(0).note : state.note) == longest);
    const auto e = w.acquire("r", {.ttl = 2s, .slots = slots});
    REQUIRE(w.run_until_over(*e));
    CHECK(e->held.votes()[0].note == longest);
    released(w, std::move(held->held));
}

TEST_CASE("what a node calls a note is bounded") {
    connected_world w(fenced_options_for(3));
    put_elsewhere(w, std::string(100'000, 'x'));
    CHECK(shown(w).held);
    CHECK(shown(w).note.size() <= 260);
    put_elsewhere(w, std::string(300, 'x'));
    CHECK(shown(w).note.size() <= 260);
    const auto e = w.acquire("r", {.ttl = 2s});
    REQUIRE(w.run_until_over(*e));
    CHECK(e->held.votes()[0].note.size() <= 260);
}

TEST_CASE("an adopter has the note of its lease, and can't replace it") {
    const bool is_fenced = GENERATE(true, false);
    connected_world w(is_fenced ? fenced_options_for(3) : options_for(3));
    auto e = w.granted("r", {.ttl = 2s, .renew = false, .note = "step 1"});
    const std::string token = e->held.token();
    e->held.detach();
    const auto refused = w.adopt(token, {.ttl = 6s, .note = "step 2"});
    w.run_until_over(*refused);
    CHECK(refused->outcome() == errc::invalid_argument);
    CHECK(refused->held.why().find("note") != std::string::npos);
    const bool names_it = GENERATE(false, true);
    auto other = w.adopted(token, {.ttl = 6s, .note = names_it ? "step 1" : ""});
    REQUIRE(other->held);
    w.run_for(3s);
    CHECK(have_notes(w, {"step 1"}));
    CHECK(shown(w).note == "step 1");
    released(w, std::move(other->held));
    CHECK(have_notes(w, {}));
}

TEST_CASE("a lease that was acquired without a note can't be given one") {
    connected_world w(fenced_options_for(3));
    auto e = w.granted("r", {.ttl = 5s});
    const auto other = w.adopt(e->held.token(), {.ttl = 6s, .note = "late"});
    w.run_until_over(*other);
    CHECK(other->outcome() == errc::invalid_argument);
    CHECK(other->held.why().find("note") != std::string::npos);
}

TEST_CASE("a revoked lease loses its note, and a failed attempt leaves none") {
    connected_world w(fenced_options_for(3));
    SECTION("revoked") {
        const auto e = w.granted("r", {.ttl = 5s, .note = "robbed"});
        w.run_for(10ms);
        const auto done = w.revoke(shown(w));
        w.run_until_over(*done);
        CHECK(have_notes(w, {}));
        w.run_for(3s);
        CHECK_FALSE(e->held);
    }
    SECTION("a reader that was revoked") {
        const auto e = w.granted("r", {.ttl = 5s, .note = "robbed", .mode = lock_mode::shared});
        w.run_for(10ms);
        REQUIRE(shown(w).reader_notes == std::vector<std::string>{"robbed"});
        const auto done = w.revoke(shown(w));
        w.run_until_over(*done);
        CHECK(shown(w).readers.empty());
    }
    SECTION("failed") {
        w.nodes[0].put("r", world::foreign, w.now + 1h);
        w.nodes[1].put("r", world::foreign, w.now + 1h);
        const auto e = w.acquire("r", {.ttl = 5s, .note = "in vain"});
        REQUIRE(w.run_until_over(*e));
        w.run_for(100ms);
    }
    CHECK(have_notes(w, {}));
}

TEST_CASE("a release that was owed takes the note with it") {
    connected_world w(fenced_options_for(3));
    auto e = w.granted("r", {.ttl = 20s, .note = "owed"});
    w.run_for(10ms);
    w.set_mode(1, mode::refuses);
    released(w, std::move(e->held));
    REQUIRE(notes_on(w, 1).size() == 1);
    w.set_mode(1, mode::up);
    w.run_for(5s);
    CHECK(have_notes(w, {}));
}
