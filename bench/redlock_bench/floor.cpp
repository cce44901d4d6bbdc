// The least a quorum lock can do.
// SPDX-License-Identifier: MIT
#include "floor.hpp"

#include <poll.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bench {

floor::floor(std::span<const redlock::node_options> nodes, std::vector<lock_commands> commands) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        connections_.push_back({bare_socket(nodes[i]), std::move(commands[i])});
    }
}

void floor::acquire(wait_for whom, std::uint64_t fence) {
    for (auto& c : connections_) {
        c.commands.set_fence(fence);
        c.write(c.commands.acquire);
    }
    wait(whom);
}

void floor::release(wait_for whom) {
    for (auto& c : connections_) c.write(c.commands.release);
    wait(whom);
}

void floor::drain() {
    for (auto& c : connections_) {
        while (c.due > 0) c.read();
    }
}

void floor::wait(wait_for whom) {
    if (whom == wait_for::all) return drain();
    const std::size_t quorum = redlock::quorum_of(connections_.size());
    std::vector<pollfd> fds;
    for (const auto& c : connections_) fds.push_back({c.socket.fd(), POLLIN, 0});
    const auto answered = [](const connection& c) { return c.due == 0; };
    while (static_cast<std::size_t>(
               std::count_if(connections_.begin(), connections_.end(), answered)) < quorum) {
        if (::poll(fds.data(), fds.size(), 10'000) <= 0) {
            throw std::runtime_error("too few nodes answer");
        }
        for (std::size_t i = 0; i < fds.size(); ++i) {
            if (fds[i].revents != 0) connections_[i].read();
        }
    }
}

void floor::connection::write(std::string_view command) {
    socket.send(command);
    ++due;
}

void floor::connection::read() { due -= answers.feed(socket.receive()); }

}  // namespace bench
