// One program that contends for a handful of resources and tells of it; knows no fault.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace redlock::chaos {

/// What the command line of a worker says.
struct worker_options {
    std::string name;  ///< Also the client's: it stands in every key.
    std::filesystem::path history;
    std::uint64_t seed = 0;
    unsigned contenders = 0;
    unsigned threads = 0;  ///< The client's own; 0: it shares the one of the contenders.
    std::chrono::milliseconds ttl_max{0};
    std::chrono::milliseconds connect_timeout{0};
    std::vector<std::uint16_t> ports;
    std::filesystem::path list;  ///< In place of the ports: a file as `load_options` reads it.

    std::vector<std::string> words() const;
    static worker_options from(const std::vector<std::string>& words);
};

/// Contends until SIGTERM. From SIGUSR1 to SIGUSR2 it rests: every contender ends what it has,
/// takes and gives back one lease of the longest ttl, and when all have, the history says `quiet`.
int run_worker(const worker_options& options);

}  // namespace redlock::chaos
