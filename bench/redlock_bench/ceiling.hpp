// The most cycles of acquire and release that one thread gets out of the nodes, on bare sockets;
// knows no library.
// SPDX-License-Identifier: MIT
#pragma once

#include "bare_socket.hpp"
#include "lock_commands.hpp"
#include "setting.hpp"

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace bench {

/// As many cycles at once as there are workers, each with a resource of its own, one command for
/// each half of a cycle: the least that does what the library's requests do. As the library's, a
/// worker goes on when a quorum has answered; to wait for all would make the ceiling lower. All that can be left out is:
/// commands are formed beforehand, answers are matched by their order alone, none is looked into,
/// nothing can time out, and what is ready for a node leaves in one write per turn of the loop.
class ceiling {
public:
    ceiling(setting& on, std::size_t workers);

    /// Counts cycles, times, CPU, commands, writes and reads. Nothing is due when it returns.
    measured run(std::chrono::milliseconds duration);

private:
    struct step {
        std::uint32_t worker = 0;
        std::uint32_t number = 0;  // of the step of that worker
    };
    struct node {
        bare_socket socket;
        yes_counter answers{};
        std::deque<step> due{};
        std::string outgoing{};
    };
    struct worker {
        std::vector<lock_commands> commands;  // one for each node
        std::uint32_t step = 0;               // odd: acquires; even: releases, or is at rest
        std::size_t answers = 0;              // to this step
    };

    void begin_step(std::size_t which, measured& total);
    void end_step(std::size_t which, measured& total);
    void read_from(node& one, measured& total);
    void write_to(node& one, pollfd& events, measured& total);
    bool is_idle() const;

    least_commands commands_;
    std::vector<node> nodes_;
    std::vector<pollfd> events_;
    std::vector<worker> workers_;
    std::size_t quorum_;
    bool over_ = false;
};

}  // namespace bench
