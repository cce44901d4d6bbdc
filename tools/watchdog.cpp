// The signs of life that CMD has to give.
// SPDX-License-Identifier: MIT
#include "tools/watchdog.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace redlock::tool {

namespace asio = boost::asio;

namespace {

void require(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
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

}  // namespace

sign_pipe::sign_pipe(bool wanted) {
    if (!wanted) return;
    int ends[2];
    require(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
    own_end_ = move_to(ends[0], F_DUPFD_CLOEXEC, first_with_two_digits);
    command_end_ = move_to(ends[1], F_DUPFD, STDERR_FILENO + 1);
    require(own_end_ >= 0 && command_end_ >= 0, "fcntl");
    ::fcntl(own_end_, F_SETFL, O_NONBLOCK);
}

sign_pipe::~sign_pipe() {
    shut(own_end_);
    shut(command_end_);
}

int sign_pipe::take_own_end() noexcept { return std::exchange(own_end_, -1); }
void sign_pipe::close_command_end() noexcept { shut(command_end_); }

watchdog::watchdog(asio::io_context& context, std::optional<std::chrono::milliseconds> limit)
    : limit_(limit), signs_(context), timer_(context) {}

environment watchdog::variables(const sign_pipe& signs) const {
    if (!limit_) return {};
    return {{"REDLOCK_WATCHDOG_FD", std::to_string(signs.command_end())}};
}

void watchdog::start(sign_pipe& signs, std::function<void()> on_silence) {
    if (!limit_) return;
    signs.close_command_end();
    on_silence_ = std::move(on_silence);
    signs_.assign(signs.take_own_end());
    start_again();
    await_sign();
    await_limit();
}

void watchdog::stop() {
    boost::system::error_code ignored;
    timer_.cancel();
    signs_.close(ignored);
}

void watchdog::await_sign() {
    signs_.async_wait(asio::posix::stream_descriptor::wait_read, [this](auto ec) {
        if (!ec && read_signs()) await_sign();
    });
}

// False once no process of CMD's has its end any more.
bool watchdog::read_signs() {
    std::array<char, 4096> signs;
    const auto size = ::read(signs_.native_handle(), signs.data(), signs.size());
    if (size > 0) start_again();
    return size != 0;
}

void watchdog::await_limit() {
    timer_.expires_at(last_ + *limit_);
    timer_.async_wait([this](auto ec) {
        if (ec) return;
        last_ + *limit_ <= std::chrono::steady_clock::now() ? on_silence_() : await_limit();
    });
}

}  // namespace redlock::tool
