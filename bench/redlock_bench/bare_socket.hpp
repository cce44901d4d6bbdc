// A blocking connection to one node and the form of a command; knows no lock and no library.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <span>
#include <string>
#include <string_view>

namespace bench {

/// Over TCP, or over the node's UNIX socket where it names one. Members throw `std::system_error`
/// or, when the node closes or does not answer in ten seconds, `std::runtime_error`.
class bare_socket {
public:
    explicit bare_socket(const redlock::node_options& node);
    ~bare_socket();
    bare_socket(bare_socket&& other) noexcept;
    bare_socket& operator=(bare_socket&&) = delete;

    int fd() const noexcept { return fd_; }
    /// All of it.
    void send(std::string_view bytes);
    /// What has come, of up to 64 KiB, until the next call; waits for something.
    std::string_view receive();

private:
    int fd_ = -1;
    std::string buffer_;
};

/// Of words, as a node reads it.
std::string command_of(std::span<const std::string> words);

}  // namespace bench
