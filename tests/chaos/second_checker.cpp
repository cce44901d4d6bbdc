// Runs the other judge and takes its status for its verdict.
// SPDX-License-Identifier: MIT
#include "second_checker.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <stdexcept>
#include <string>

namespace redlock::chaos {

bool ask_second_checker(const std::filesystem::path& program,
                        const std::filesystem::path& directory) {
    std::cout << std::flush;  // it writes to the same place
    const std::string name = program.string();
    const std::string where = directory.string();
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {
        ::execl(name.c_str(), name.c_str(), where.c_str(), nullptr);
        ::_exit(127);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const int verdict = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (verdict != 0 && verdict != 1) throw std::runtime_error(name + " came to no verdict");
    return verdict == 0;
}

}  // namespace redlock::chaos
