// The least a quorum lock can do: write to all, read from all, on bare sockets; knows no library.
// SPDX-License-Identifier: MIT
#pragma once

#include "bare_socket.hpp"
#include "lock_commands.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

/// One blocking connection per node. Throws `std::system_error` or `std::runtime_error` on whatever
/// goes wrong, a refused lock included: nobody contends.
class floor {
public:
    /// How many nodes' answers are waited for.
    enum class wait_for : bool { all, quorum };

    /// With the commands of each node.
    floor(std::span<const redlock::node_options> nodes, std::vector<lock_commands> commands);

    /// With a fence above those before, where the commands have one.
    void acquire(wait_for whom, std::uint64_t fence = 0);
    /// The next acquire finds it free. Answers of earlier commands may still be due.
    void release(wait_for whom);
    /// Until nothing is due any more.
    void drain();

private:
    struct connection {
        bare_socket socket;
        lock_commands commands{};
        yes_counter answers{};
        std::size_t due = 0;  // answers

        void write(std::string_view command);
        void read();
    };

    void wait(wait_for whom);

    std::vector<connection> connections_;
};

}  // namespace bench
