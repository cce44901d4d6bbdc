// Has the sum of all tests tell what one could not do on this machine; knows no test.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <string>

namespace redlock::testing {

/// scripts/test-sum looks for lines that begin so.
inline void say_skipped(const std::string& why) {
    std::printf("skipped: %s\n", why.c_str());
    std::fflush(stdout);
}
inline void say_not_installed(const std::string& what) {
    say_skipped(what + " is not installed; scripts/install-deps installs it");
}

}  // namespace redlock::testing
