// The least a quorum lock can do.
// SPDX-License-Identifier: MIT
#include "floor.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <stdexcept>
#include <system_error>

namespace bench {

namespace {

void check(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
}

int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0, "socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
          "connect");
    const int on = 1;
    check(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "setsockopt");
    return fd;
}

void format(std::string& out, std::initializer_list<std::string_view> words) {
    out = '*';
    out += std::to_string(words.size());
    out += "\r\n";
    for (const auto word : words) {
        out += '$';
        out += std::to_string(word.size());
        out += "\r\n";
        out += word;
        out += "\r\n";
    }
}

}  // namespace

floor::floor(std::span<const std::uint16_t> ports) {
    for (const std::uint16_t port : ports) connections_.push_back({connect_to(port)});
}

floor::~floor() {
    for (const auto& c : connections_) ::close(c.fd);
}

void floor::acquire(std::string_view key, std::string_view value, wait_for whom) {
    format(wire_, {"SET", key, value, "NX", "PX", "10000"});
    write_all();
    wait(whom);
}

void floor::release(std::string_view key, wait_for whom) {
    format(wire_, {"DEL", key});
    write_all();
    wait(whom);
}

void floor::drain() {
    for (auto& c : connections_) {
        while (c.due > 0) read(c);
    }
}

void floor::write_all() {
    for (auto& c : connections_) {
        const auto sent = ::send(c.fd, wire_.data(), wire_.size(), MSG_NOSIGNAL);
        check(sent == static_cast<ssize_t>(wire_.size()), "send");
        ++c.due;
    }
}

void floor::wait(wait_for whom) {
    if (whom == wait_for::all) return drain();
    const std::size_t quorum = connections_.size() / 2 + 1;
    std::vector<pollfd> fds;
    for (const auto& c : connections_) fds.push_back({c.fd, POLLIN, 0});
    const auto answered = [](const connection& c) { return c.due == 0; };
    while (static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(),
                                                  answered)) < quorum) {
        check(::poll(fds.data(), fds.size(), 10'000) > 0, "poll");
        for (std::size_t i = 0; i < fds.size(); ++i) {
            if (fds[i].revents != 0) read(connections_[i]);
        }
    }
}

// Every answer that is expected here is one line: +OK or :1.
void floor::read(connection& from) {
    std::array<char, 4'096> buffer;
    const auto got = ::recv(from.fd, buffer.data(), buffer.size(), 0);
    check(got > 0, "recv");
    for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
        if (c == '-' || c == '$') throw std::runtime_error("a node refused what it was asked");
        if (c == '\n') --from.due;
    }
}

}  // namespace bench
