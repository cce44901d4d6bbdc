// What every example needs: the options from its configuration, and a verdict; takes no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>

namespace example {

/// The configuration of `--config FILE`, else of the environment; when there is none that can be
/// used, says why and ends the example.
inline redlock::configuration configuration(int argc, char** argv) {
    if (argc != 1 && !(argc == 3 && std::string_view(argv[1]) == "--config")) {
        std::cerr << "usage: " << argv[0] << " [--config FILE]\n";
        std::exit(2);
    }
    auto read = argc == 3 ? redlock::load_configuration(argv[2])
                          : redlock::configuration_from_environment();
    if (read) return *std::move(read);
    std::cerr << read.error().message() << '\n';
    std::exit(2);
}

/// The client's options of that configuration.
inline redlock::client_options options(int argc, char** argv) {
    return configuration(argc, argv).client;
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
