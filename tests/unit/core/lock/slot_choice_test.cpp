// Which slot is asked for: by what nodes told, by what was freed, and by chance.
// SPDX-License-Identifier: MIT
#include "core/lock/slot_choice.hpp"

#include "tests/support/catch.hpp"

#include <cstdint>
#include <set>
#include <string>

using namespace redlock;
using core::slot_choice;

namespace {

/// The answer of a node on which these slots are free.
std::string free_are(std::initializer_list<unsigned> slots, std::size_t bytes = 1) {
    std::string out(bytes, '\0');
    for (const unsigned i : slots) out[i / 8] = static_cast<char>(out[i / 8] | 1 << i % 8);
    return out;
}

/// All that may be drawn.
std::set<std::uint16_t> drawn(const slot_choice& from) {
    std::set<std::uint16_t> out;
    for (std::uint64_t random = 0; random < 100; ++random) {
        slot_choice one = from;
        out.insert(one.draw(random));
    }
    return out;
}

}  // namespace

TEST_CASE("the first slot is left to chance") {
    CHECK(drawn(slot_choice(3, 4)) == std::set<std::uint16_t>{0, 1, 2, 3});
    CHECK(drawn(slot_choice(3, 1)) == std::set<std::uint16_t>{0});
}

TEST_CASE("a slot that was freed is drawn first, once") {
    slot_choice one(3, 4);
    one.suggest(2);
    CHECK(one.draw(1) == 2);
    CHECK(one.draw(1) == 1);
    one.suggest(4);  // there is none
    CHECK(one.draw(3) == 3);
}

TEST_CASE("a slot that was given back here goes before all that the nodes said") {
    slot_choice one(3, 4);
    one.draw(0);
    one.refused(0, free_are({1}), 4);
    one.suggest(2);
    CHECK(one.draw(0, 3) == 3);
    CHECK_FALSE(one.is_another_free());
    CHECK(one.draw(0, 4) == 0);  // by a lease of more slots
}

TEST_CASE("the next slot may be free on a quorum, and is taken on the fewest nodes") {
    slot_choice one(3, 4);
    one.draw(0);
    one.refused(0, free_are({1, 2}), 4);
    CHECK(one.is_another_free());  // by the two that have not said so
    one.refused(1, free_are({2, 3}), 4);
    CHECK(one.is_another_free());
    CHECK(drawn(one) == std::set<std::uint16_t>{2});
    one.refused(2, free_are({}), 4);
    CHECK(drawn(one) == std::set<std::uint16_t>{2});  // on one node it is taken
}

TEST_CASE("where no slot may be free on a quorum none is tried at once") {
    slot_choice one(3, 2);
    one.draw(0);
    CHECK_FALSE(one.is_another_free());  // nobody said anything
    one.refused(0, free_are({0}), 2);
    one.refused(1, free_are({}), 2);
    one.refused(2, free_are({1}), 2);
    CHECK_FALSE(one.is_another_free());
    CHECK(drawn(one) == std::set<std::uint16_t>{0, 1});  // when it tries again
}

TEST_CASE("the nodes' answers to one try do not count for the next") {
    slot_choice one(3, 2);
    one.draw(0);
    one.refused(0, free_are({1}), 2);
    CHECK(one.draw(0) == 1);
    CHECK_FALSE(one.is_another_free());
}

TEST_CASE("so many tries follow each other, until it rests") {
    slot_choice one(3, 8);
    for (unsigned i = 0; i < slot_choice::most_in_a_row; ++i) {
        if (i > 0) CHECK(one.is_another_free());
        one.draw(i);
        one.refused(0, free_are({0, 1, 2, 3, 4, 5, 6, 7}), 8);
    }
    CHECK_FALSE(one.is_another_free());
    one.rest();
    CHECK(one.is_another_free());
}

TEST_CASE("the smallest number of slots that any node names counts") {
    slot_choice one(3, 20);
    CHECK(one.counted() == 20);
    one.draw(0);
    one.refused(0, free_are({0, 1}, 1), 2);
    CHECK(one.counted() == 2);
    one.refused(1, free_are({0, 1, 2, 9, 19}, 3), 20);
    CHECK(one.counted() == 2);
    CHECK(drawn(one) == std::set<std::uint16_t>{0, 1});
    one.draw(0);
    CHECK(drawn(one) == std::set<std::uint16_t>{0, 1});
}

TEST_CASE("an answer that is too short or too long for its slots is no more than it says") {
    slot_choice one(1, 20);
    one.draw(0);
    one.refused(0, "", 20);
    CHECK_FALSE(one.is_another_free());
    one.draw(0);
    one.refused(0, std::string(200, '\xff'), 1'000);
    CHECK(one.is_another_free());
    CHECK(drawn(one).size() == 20);
}
