// Tests the queue on a server that runs in a language whose order of letters is not that of bytes.
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

// Lua compares texts by it, and Redis takes the language of its environment. In this program it
// stands for the C library's, whose other languages need not be installed.
extern "C" __attribute__((visibility("default"))) int strcoll(const char* a, const char* b) {
    return is_foreign_language ? strcasecmp(a, b) : std::strcmp(a, b);
}

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

TEST_CASE("of two with one ticket the same is first in whatever language the server runs") {
    const bool is_foreign = GENERATE(true, false);
    world w(fenced_options_for(1));
    w.connected();
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
