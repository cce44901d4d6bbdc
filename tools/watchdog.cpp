// The signs of life that CMD has to give.
// SPDX-License-Identifier: MIT
#include "tools/watchdog.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace redlock::tool {

namespace asio = boost::asio;

using local = asio::local::datagram_protocol;
using std::chrono::steady_clock;

namespace {

void require(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
}

void shut(int& descriptor) noexcept {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
}

constexpr int first_with_two_digits = 10;

// Returns the lowest free number that is not below `least`; negative: there is none.
int move_to(int descriptor, int how, int least) noexcept {
    const int moved = ::fcntl(descriptor, how, least);
    const int why = errno;
    ::close(descriptor);
    errno = why;
    return moved;
}

// The kernel chooses a name that no other socket has, and that needs no file.
std::string bind_anywhere(int socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    require(::bind(socket, any, sizeof address.sun_family) == 0, "bind");
    socklen_t size = sizeof address;
    require(::getsockname(socket, any, &size) == 0, "getsockname");
    const std::size_t front = offsetof(sockaddr_un, sun_path) + 1;  // and the NUL
    return "@" + std::string(address.sun_path + 1, size - front);
}

// Leaves it closed where there is no other socket, or none that can be reached. It is connected, so
// that redlock learns when a socket that took nothing takes more.
void connect_outer(local::socket& socket) {
    const char* const name = std::getenv("NOTIFY_SOCKET");
    if (name == nullptr || (*name != '/' && *name != '@')) return;
    std::string path(name);
    if (path.size() >= sizeof(sockaddr_un::sun_path)) return;
    if (path.front() == '@') path.front() = '\0';
    boost::system::error_code failed;
    socket.connect(local::endpoint(path), failed);
    if (failed) socket.close(failed);
}

bool has_sign(std::string_view lines) {
    while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        if (lines.substr(0, end) == "WATCHDOG=1") return true;
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return false;
}

bool is_trusted(msghdr& message) {
    const cmsghdr* const part = CMSG_FIRSTHDR(&message);  // credentials come first, and fill it
    if (part == nullptr || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) {
        return false;
    }
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
    return sender.uid == 0 || sender.uid == ::geteuid();
}

}  // namespace

sign_channels::sign_channels(bool wanted) {
    if (!wanted) return;
    int ends[2];
    require(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
    bytes_end_ = move_to(ends[0], F_DUPFD_CLOEXEC, first_with_two_digits);
    command_end_ = move_to(ends[1], F_DUPFD, STDERR_FILENO + 1);
    require(bytes_end_ >= 0 && command_end_ >= 0, "fcntl");
    ::fcntl(bytes_end_, F_SETFL, O_NONBLOCK);
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    require(socket_ >= 0, "socket");
    const int on = 1;
    require(::setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0, "setsockopt");
    socket_name_ = bind_anywhere(socket_);
}

sign_channels::~sign_channels() {
    shut(bytes_end_);
    shut(command_end_);
    shut(socket_);
}

int sign_channels::take_bytes_end() noexcept { return std::exchange(bytes_end_, -1); }
int sign_channels::take_socket() noexcept { return std::exchange(socket_, -1); }
void sign_channels::close_command_end() noexcept { shut(command_end_); }

watchdog::watchdog(asio::io_context& context, std::optional<std::chrono::milliseconds> limit)
    : limit_(limit), bytes_(context), socket_(context), timer_(context), outer_(context) {}

environment watchdog::variables(const sign_channels& channels) const {
    if (!limit_) return {};
    const std::chrono::microseconds limit = *limit_;
    return {{"REDLOCK_WATCHDOG_FD", std::to_string(channels.command_end())},
            {"NOTIFY_SOCKET", channels.socket_name()},
            {"WATCHDOG_USEC", std::to_string(limit.count())},
            {"WATCHDOG_PID", std::nullopt}};  // a sign of any process of CMD's counts
}

void watchdog::start(sign_channels& channels, std::function<void()> on_silence) {
    if (!limit_) return;
    channels.close_command_end();
    on_silence_ = std::move(on_silence);
    connect_outer(outer_);
    bytes_.assign(channels.take_bytes_end());
    socket_.assign(local(), channels.take_socket());
    start_again();
    await_byte();
    await_datagram();
    await_limit();
}

void watchdog::stop() {
    boost::system::error_code ignored;
    timer_.cancel();
    bytes_.close(ignored);
    socket_.close(ignored);
    outer_.close(ignored);
}

void watchdog::await_byte() {
    bytes_.async_wait(asio::posix::stream_descriptor::wait_read, [this](auto ec) {
        if (!ec && read_bytes()) await_byte();
    });
}

// False once no process of CMD's has its end any more.
bool watchdog::read_bytes() {
    std::array<char, 4096> signs;
    const auto size = ::read(bytes_.native_handle(), signs.data(), signs.size());
    if (size > 0) start_again();
    return size != 0;
}

void watchdog::await_datagram() {
    socket_.async_wait(local::socket::wait_read, [this](auto ec) {
        if (!ec) pass_on(read_datagram());
    });
}

// Returns its size; 0 for none, and for one that does not go on.
std::size_t watchdog::read_datagram() {
    iovec into{datagram_.data(), datagram_.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
    msghdr message{};
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto size = ::recvmsg(socket_.native_handle(), &message, MSG_CMSG_CLOEXEC);
    if (size <= 0 || (message.msg_flags & MSG_TRUNC) != 0 || !is_trusted(message)) return 0;
    const auto taken = static_cast<std::size_t>(size);
    if (has_sign({datagram_.data(), taken})) start_again();
    return taken;
}

void watchdog::pass_on(std::size_t size) {
    if (size == 0 || !outer_.is_open()) return await_datagram();
    outer_.async_send(asio::buffer(datagram_.data(), size), [this](auto ec, std::size_t) {
        if (ec != asio::error::operation_aborted) await_datagram();
    });
}

void watchdog::await_limit() {
    timer_.expires_at(last_ + *limit_);
    timer_.async_wait([this](auto ec) {
        if (ec) return;
        last_ + *limit_ <= steady_clock::now() ? on_silence_() : await_limit();
    });
}

}  // namespace redlock::tool
