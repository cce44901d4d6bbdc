// A process of ours and lines to and from it; knows nothing of what it does.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// A process said nothing for long.
class silence : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Its standard input and output are a socket. Killed with the object. Throws `std::system_error`,
/// `silence` or, when it ends, `std::runtime_error`.
class talking_process {
public:
    explicit talking_process(const std::vector<std::string>& command);
    ~talking_process();
    talking_process(const talking_process&) = delete;
    talking_process& operator=(const talking_process&) = delete;

    void say(const std::string& line);
    std::string next_line();

private:
    int spawn(const std::vector<std::string>& command, int its_end);

    pid_t pid_ = -1;
    int fd_ = -1;
    std::string name_;
    std::string read_;
    std::size_t begin_ = 0;  // of the next line in what was read
};

}  // namespace bench
