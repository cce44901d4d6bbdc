// The scripts that a node is sent in a handshake.
// SPDX-License-Identifier: MIT
#include "core/node/script_search.hpp"

#include "tests/support/catch.hpp"

using redlock::core::script_search;

TEST_CASE("a node is sent the scripts that it lacks, and no other") {
    script_search search;
    for (const bool is_there : {true, false, true, false}) search.note(is_there);
    CHECK(search.lacks_any());
    CHECK(search.missing() == std::vector<std::size_t>{1, 3});
    CHECK(search.loaded() == 1);
    CHECK(search.loaded() == 3);
    CHECK_FALSE(search.sends_text());
}

TEST_CASE("a node that has all scripts is sent none") {
    script_search search;
    search.note(true);
    CHECK_FALSE(search.lacks_any());
}

TEST_CASE("a node that lost its scripts gets that of the record with its text, once") {
    script_search search;
    search.note(false);
    CHECK(search.lost());
    CHECK(search.sends_text());
    CHECK_FALSE(search.lacks_any());
    CHECK_FALSE(search.lost());
}
