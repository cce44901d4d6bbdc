// What a fuzzer does where a promise is broken; knows no promise.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>

namespace redlock::fuzz {

/// Ends the program where `holds` is false: libFuzzer then keeps the input.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

}  // namespace redlock::fuzz
