// What a ttl comes to under a client's options.
// SPDX-License-Identifier: MIT
#include "value/lease_terms.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;

TEST_CASE("without a ttl it is ten seconds, or ttl_max where that is less") {
    client_options o;
    CHECK((effective_ttl(o, 0ms) == 10s));
    CHECK((effective_ttl(o, 3s) == 3s));
    o.ttl_max = 4s;
    CHECK((effective_ttl(o, 0ms) == 4s));
}

TEST_CASE("the drift allowance is taken off the ttl") {
    client_options o;
    CHECK((longest_validity(o, 10s) == 9898ms));
    CHECK((longest_validity(o, 2ms) < 0ms));
}

TEST_CASE("a node keeps a key for as long as its clock may be behind, but not beyond ttl_max") {
    client_options o;
    CHECK((longest_stay(o, 0ms) == 0ms));
    CHECK((longest_stay(o, 50s) == 50'502ms));
    CHECK((longest_stay(o, 1ms) == 4ms));  // 3.01 ms: nodes count whole ones
    CHECK((longest_stay(o, 59'402ms) == 59'999ms));
    CHECK((longest_stay(o, 59'404ms) == 60s));
    CHECK((longest_stay(o, 60s) == 60s));
    CHECK((longest_stay(o, 50s, 100ms) == 50'603ms));
    CHECK((longest_stay(o, 59'402ms, 100ms) == 60s));
    CHECK((longest_stay(o, 0ms, 100ms) == 0ms));
}
