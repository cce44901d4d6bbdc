// What every example needs: the options from its configuration, and a verdict; takes no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace example {

/// `--config FILE`, else the environment's REDLOCK_CONFIG; without either the example ends.
inline std::string config_file(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--config") return argv[2];
    const char* const variable = std::getenv("REDLOCK_CONFIG");
    if (argc == 1 && variable != nullptr) return variable;
    std::cerr << "usage: " << argv[0] << " [--config FILE], or REDLOCK_CONFIG in the environment\n";
    std::exit(2);
}

/// The client's options from that file; when it can't be used, says why and ends the example.
inline redlock::client_options options(int argc, char** argv) {
    const std::string file = config_file(argc, argv);
    std::vector<redlock::config_issue> issues;
    auto loaded = redlock::load_options(file, issues);
    for (const auto& [severity, where, message] : issues) {
        std::cerr << file << ": " << where << (where.empty() ? "" : ": ") << message << '\n';
    }
    if (loaded) return *std::move(loaded);
    std::cerr << file << ": " << loaded.error().message() << '\n';
    std::exit(2);
}

/// The example's exit status: whether what it shows is so.
inline int check(bool is_so, std::string_view claim) {
    (is_so ? std::cout << "as it should be: " : std::cerr << "NOT SO: ") << claim << '\n';
    return is_so ? 0 : 1;
}

/// The exit status of an example that could not show anything.
inline int failed(const std::exception& why) {
    std::cerr << "failed: " << why.what() << '\n';
    return 1;
}

}  // namespace example
