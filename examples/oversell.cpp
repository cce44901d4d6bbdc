// Several processes sell from one stock, read-modify-write under the lock; nothing is oversold.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int sellers = 6;
constexpr int stock_at_first = 20;
constexpr int failure = 255;  // of a process; any other status is how many pieces it sold

int read_stock(const std::string& file) {
    int stock = -1;
    std::ifstream(file) >> stock;
    return stock;
}

// Sells until nothing is left, in the plainest way: read, think, write. The lock makes it right.
int sell(const redlock::client_options& options, const std::string& file) noexcept {
    redlock::blocking_client client(options);
    for (int sold = 0;; ++sold) {
        const auto lease = client.acquire("example:stock", {.ttl = 5s, .wait = 60s});
        if (!lease) {
            std::cerr << lease.error().message() << '\n';
            return failure;
        }
        const int stock = read_stock(file);
        if (stock == 0) return sold;
        std::this_thread::sleep_for(2ms);  // time for another process to read the number
        // The test reads the clock here: after a long pause the lease may have ended.
        if (stock < 0 || !*lease) return failure;
        std::ofstream(file) << stock - 1;
    }  // the lease gives the lock back
}

}  // namespace

int main(int argc, char** argv) {
    const redlock::client_options options = example::options(argc, argv);
    const std::string file =
        std::filesystem::temp_directory_path() / ("redlock-stock-" + std::to_string(::getpid()));
    std::ofstream(file) << stock_at_first;

    // A client owns a thread and sockets, which fork must not copy: each process creates its own.
    std::vector<pid_t> processes;
    for (int i = 0; i < sellers; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) ::_exit(sell(options, file));
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
    const int left = read_stock(file);
    std::filesystem::remove(file);
    std::cout << processes.size() << " processes sold " << sold << " of " << stock_at_first << ", "
              << left << " left\n";
    return example::check(good && sold == stock_at_first && left == 0,
                          "all is sold, nothing is oversold");
}
