// Gives processes that a test starts another wall clock (libfaketime); knows no server.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace redlock::testing {

/// The library that does it; empty where it is not installed.
inline std::string wall_clock_library() {
    for (const std::string folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                     "/usr/lib64", "/usr/lib"}) {
        const std::string library = folder + "/faketime/libfaketimeMT.so.1";
        if (std::filesystem::exists(library)) return library;
    }
    return {};
}

/// While it lives, what the test starts has its wall clock off by `offset` ("+1d", "-3600s"); its
/// other clocks run true.
class wall_clock_offset {
public:
    wall_clock_offset(const std::string& library, const std::string& offset) {
        ::setenv("FAKETIME", offset.c_str(), 1);
        ::setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
        ::setenv("LD_PRELOAD", library.c_str(), 1);
        // The address sanitizer would rather come first; this library takes no memory from it.
        if (const char* given = std::getenv("ASAN_OPTIONS")) asan_options_ = given;
        ::setenv("ASAN_OPTIONS", (asan_options_ + ":verify_asan_link_order=0").c_str(), 1);
    }
    ~wall_clock_offset() {
        ::setenv("ASAN_OPTIONS", asan_options_.c_str(), 1);
        ::unsetenv("LD_PRELOAD");
        ::unsetenv("FAKETIME_DONT_FAKE_MONOTONIC");
        ::unsetenv("FAKETIME");
    }
    wall_clock_offset(const wall_clock_offset&) = delete;
    wall_clock_offset& operator=(const wall_clock_offset&) = delete;

private:
    std::string asan_options_;
};

}  // namespace redlock::testing
