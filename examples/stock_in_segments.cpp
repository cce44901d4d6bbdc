// One stock in 50 segments, each behind a slot: many sell at once, and nothing is oversold.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t segments = 50;
constexpr int pieces_in_each = 2;
constexpr int sellers = 6;
constexpr int failure = 255;  // of a process; any other status is how many pieces it sold

// A segment is a file: as a row of a database would be, that a seller reads and writes.
std::string file_of(const std::filesystem::path& folder, std::uint16_t segment) {
    return (folder / std::to_string(segment)).string();
}

int read_stock(const std::string& file) {
    int stock = -1;
    std::ifstream(file) >> stock;
    return stock;
}

// Only a look: nobody sells by it. What is empty stays so.
bool is_all_sold(const std::filesystem::path& folder) {
    for (std::uint16_t i = 0; i < segments; ++i) {
        if (read_stock(file_of(folder, i)) != 0) return false;
    }
    return true;
}

// With one lock for the whole stock each seller would wait for all others.
int sell(const redlock::client_options& options, const std::filesystem::path& folder) noexcept {
    redlock::blocking_client client(options);
    int sold = 0;
    while (!is_all_sold(folder)) {
        const auto lease =
            client.acquire("example:segments", {.ttl = 5s, .wait = 60s, .slots = segments});
        if (!lease) {
            std::cerr << lease.error().message() << '\n';
            return failure;
        }
        const std::string file = file_of(folder, lease->slot());
        const int stock = read_stock(file);
        if (stock == 0) continue;
        std::this_thread::sleep_for(2ms);  // time for another process to read the number
        if (stock < 0 || !*lease) return failure;
        std::ofstream(file) << stock - 1;
        ++sold;
    }  // each lease gives its slot back
    return sold;
}

}  // namespace

int main(int argc, char** argv) {
    const redlock::client_options options = example::options(argc, argv);
    const auto folder = std::filesystem::temp_directory_path() /
                        ("redlock-segments-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    for (std::uint16_t i = 0; i < segments; ++i) {
        std::ofstream(file_of(folder, i)) << pieces_in_each;
    }

    // A client owns a thread and sockets, which fork must not copy: each process creates its own.
    std::vector<pid_t> processes;
    for (int i = 0; i < sellers; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) ::_exit(sell(options, folder));
        if (pid > 0) processes.push_back(pid);
    }

    bool good = processes.size() == sellers;
    int sold = 0;
    for (const pid_t pid : processes) {
        int status = 0;
        ::waitpid(pid, &status, 0);
        const int pieces = WIFEXITED(status) ? WEXITSTATUS(status) : failure;
        good = good && pieces != failure;
        sold += pieces != failure ? pieces : 0;
    }
    good = good && is_all_sold(folder);
    std::filesystem::remove_all(folder);
    std::cout << processes.size() << " processes sold " << sold << " of "
              << segments * pieces_in_each << " pieces\n";
    return example::check(good && sold == segments * pieces_in_each,
                          "all is sold, nothing is oversold");
}
