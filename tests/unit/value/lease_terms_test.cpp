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
