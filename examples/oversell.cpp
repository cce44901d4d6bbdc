// Several processes sell from one stock, read-modify-write under the lock; nothing is oversold.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/config.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int sellers = 6;
constexpr int stock_at_first = 20;

int read_number(const std::string& file) {
    int number = -1;
    std::ifstream(file) >> number;
    return number;
}

// Takes one piece from the stock in the plainest way: only a lock makes that right.
bool sell_one(const std::string& file) {
    const int stock = read_number(file);
    if (stock <= 0) return false;
    std::this_thread::sleep_for(2ms);  // time enough for somebody else to read the same number
    std::ofstream(file) << stock - 1;
    return true;
}

// Sells until nothing is left. The status of the process is how many it sold; 255 is a failure.
int sell(const std::string& config, const std::string& file) {
    redlock::blocking_client client(redlock::load_options(config).value());
    int sold = 0;
    for (;;) {
        auto lease = client.acquire("example:stock", {.ttl = 5s, .wait = 60s});
        if (!lease) {
            std::cerr << lease.error().message() << '\n';
            return 255;
        }
        const bool more = sell_one(file);
        if (!client.release(std::move(*lease))) return 255;
        if (!more) return sold;
        ++sold;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string config = example::config_file(argc, argv);
    const auto file = (std::filesystem::temp_directory_path() /
                       ("redlock-stock-" + std::to_string(::getpid())))
                          .string();
    std::ofstream(file) << stock_at_first;

    // A client owns a thread and sockets, so the processes are made before any client is.
    std::vector<pid_t> processes;
    for (int i = 0; i < sellers; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) ::_exit(sell(config, file));
        processes.push_back(pid);
    }
    int sold = 0;
    bool good = true;
    for (const pid_t pid : processes) {
        int status = 0;
        ::waitpid(pid, &status, 0);
        const bool failed = pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 255;
        good = good && !failed;
        if (!failed) sold += WEXITSTATUS(status);
    }
    const int left = read_number(file);
    std::filesystem::remove(file);
    std::cout << sellers << " processes sold " << sold << " of " << stock_at_first << ", " << left
              << " left\n";
    return example::check(good && sold == stock_at_first && left == 0, "nothing is oversold");
}
