// A user's program, as small as it gets: acquires a lock where no server is, and prints why not.
// SPDX-License-Identifier: MIT
#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/version.hpp>

#include <cstdint>
#include <iostream>

int main() {
    redlock::client_options options;
    if (redlock::validate(options).empty()) {
        std::cerr << "options without a node passed\n";
        return 1;
    }
    for (const std::uint16_t port : {1, 2, 3}) {
        options.nodes.emplace_back().port = port;
    }
    if (!redlock::validate(options).empty()) {
        std::cerr << "good options did not pass\n";
        return 1;
    }
    redlock::blocking_client client(options);
    const auto lease = client.acquire("consumer");
    if (lease || lease.error() != redlock::errc::no_quorum) {
        std::cerr << "expected no_quorum\n";
        return 1;
    }
    std::cout << "redlock " << REDLOCK_VERSION << ": " << lease.error().message() << '\n';
    return 0;
}
