// What every example needs: the configuration's path, and a verdict; knows no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace example {

/// `--config FILE`, else the environment's REDLOCK_CONFIG; without either the example ends.
inline std::string config_file(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--config") return argv[2];
    const char* const variable = std::getenv("REDLOCK_CONFIG");
    if (argc == 1 && variable != nullptr) return variable;
    std::cerr << "usage: " << argv[0] << " [--config FILE], or REDLOCK_CONFIG in the environment\n";
    std::exit(2);
}

/// The example's exit status: whether what it shows is so.
inline int check(bool is_so, std::string_view claim) {
    std::cout << (is_so ? "as it should be: " : "NOT SO: ") << claim << '\n';
    return is_so ? 0 : 1;
}

}  // namespace example
