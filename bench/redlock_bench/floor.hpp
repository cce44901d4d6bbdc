// The least a quorum lock can do: write to all, read from all, on bare sockets; knows no library.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// One blocking TCP connection per node of loopback. Throws `std::system_error` or
/// `std::runtime_error` on whatever goes wrong, a refused lock included: nobody contends.
class floor {
public:
    /// How many nodes' answers are waited for.
    enum class wait_for : bool { all, quorum };

    explicit floor(std::span<const std::uint16_t> ports);
    ~floor();
    floor(const floor&) = delete;
    floor& operator=(const floor&) = delete;

    /// `SET key value NX PX ttl`, as the library asks for a lock.
    void acquire(std::string_view key, std::string_view value, wait_for whom);
    /// `DEL key`: the next acquire finds it free. Answers of earlier commands may still be due.
    void release(std::string_view key, wait_for whom);
    /// Until nothing is due any more.
    void drain();

private:
    struct connection {
        int fd = -1;
        std::size_t due = 0;  // answers
    };

    void write_all();
    void wait(wait_for whom);
    void read(connection& from);

    std::vector<connection> connections_;
    std::string wire_;
};

}  // namespace bench
