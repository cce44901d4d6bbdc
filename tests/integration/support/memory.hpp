// How much memory the test program takes; knows nothing of what takes it.
// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <fstream>

namespace redlock::testing {

inline long resident_kib() {
    std::ifstream file("/proc/self/statm");
    long pages = 0;
    long resident = 0;
    file >> pages >> resident;
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace redlock::testing
