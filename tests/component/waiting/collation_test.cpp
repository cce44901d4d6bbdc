// Tests the queue on a server whose locale does not order letters by their bytes.
// SPDX-License-Identifier: MIT
#include "component/support/stranger.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <cstring>
#include <string>
#include <strings.h>

namespace {

bool is_foreign_language = false;

}  // namespace

// Lua compares strings by it, and Redis takes the locale of its environment. Here it replaces the C
// library's, since no other locale may be installed.
extern "C" __attribute__((visibility("default"))) int strcoll(const char* a, const char* b) {
    return is_foreign_language ? strcasecmp(a, b) : std::strcmp(a, b);
}

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

TEST_CASE("of two waiters with one ticket the same is first in every locale of the server") {
    const bool is_foreign = GENERATE(true, false);
    connected_world w(fenced_options_for(1));
    stranger small(w, "ann");
    stranger capital(w, "Bob");
    is_foreign_language = is_foreign;
    small.enter(0, "r", 7);
    capital.enter(0, "r", 7);
    CHECK(queue_of(w, 0, "r").front().id == "Bob:1");  // by bytes
    const auto before_small = small.enter(0, "r", 7);
    const auto before_capital = capital.enter(0, "r", 7);
    is_foreign_language = false;
    CHECK(before_small > 0);
    CHECK(before_capital == 0);
}
