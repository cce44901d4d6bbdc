// A connection to one node without any library.
// SPDX-License-Identifier: MIT
#include "bare_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace bench {

namespace {

void check(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
}

int connect_by_tcp(int fd, std::uint16_t port) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

int connect_by_path(int fd, std::string_view path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

bare_socket::bare_socket(const redlock::node_options& node) : buffer_(65'536, '\0') {
    const bool by_path = !node.unix_socket.empty();
    fd_ = ::socket(by_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd_ >= 0, "socket");
    const timeval limit{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if ((by_path ? connect_by_path(fd_, node.unix_socket) : connect_by_tcp(fd_, node.port)) == 0) {
        return;
    }
    const int why = errno;
    ::close(fd_);
    throw std::system_error(why, std::generic_category(), "connect");
}

bare_socket::~bare_socket() {
    if (fd_ >= 0) ::close(fd_);
}

bare_socket::bare_socket(bare_socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}

void bare_socket::send(std::string_view bytes) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    check(sent == static_cast<ssize_t>(bytes.size()), "send");
}

std::string_view bare_socket::receive() {
    const auto got = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
    check(got >= 0, "recv");
    if (got == 0) throw std::runtime_error("a node closed a bare connection");
    return std::string_view(buffer_).substr(0, static_cast<std::size_t>(got));
}

std::string command_of(std::span<const std::string> words) {
    std::string out = '*' + std::to_string(words.size()) + "\r\n";
    for (const auto& word : words) {
        out += '$' + std::to_string(word.size()) + "\r\n";
        out += word + "\r\n";
    }
    return out;
}

}  // namespace bench
