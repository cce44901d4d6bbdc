// What every system can do of that for which Linux has a way of its own; tried on Linux alone.
// SPDX-License-Identifier: MIT
#include "value/platform.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <system_error>

namespace redlock::detail {

namespace {

#ifdef CLOCK_MONOTONIC_RAW  // it counts suspended time on macOS, where the other one does not
constexpr clockid_t steady = CLOCK_MONOTONIC_RAW;
#else
constexpr clockid_t steady = CLOCK_MONOTONIC;
#endif

// A program that another thread executes just before inherits it all the same.
void close_on_exec(int number) noexcept { ::fcntl(number, F_SETFD, FD_CLOEXEC); }

void prepare(platform::event what) noexcept {
    for (const int end : {what.number, what.raised_by}) {
        close_on_exec(end);
        ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
}

void move_to(int from, int to) noexcept {
    if (from == to) return;
    ::dup2(from, to);
    ::close(from);
}

}  // namespace

std::chrono::nanoseconds platform::steady_time() noexcept {
    timespec t{};
    [[maybe_unused]] const int failed = ::clock_gettime(steady, &t);
    assert(failed == 0);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

int platform::new_socket(int family, int type, int protocol) noexcept {
    const int made = ::socket(family, type, protocol);
    if (made < 0) return made;
    close_on_exec(made);
#ifdef SO_NOSIGPIPE  // as Asio sets it on sockets that it makes itself
    const int yes = 1;
    ::setsockopt(made, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
#endif
    return made;
}

bool platform::make_pipe(std::array<int, 2>& ends) noexcept {
    if (::pipe(ends.data()) != 0) return false;
    for (const int end : ends) close_on_exec(end);
    return true;
}

platform::event platform::make_event() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    const event made{ends[0], ends[1]};
    prepare(made);
    return made;
}

// A pipe that is full is readable.
void platform::raise(event what) noexcept { static_cast<void>(!::write(what.raised_by, "", 1)); }

void platform::lower(event what) noexcept {
    std::array<char, 64> raises;
    while (::read(what.number, raises.data(), raises.size()) > 0) {
    }
}

void platform::close(event what) noexcept {
    ::close(what.number);
    ::close(what.raised_by);
}

// They are closed first: the process may have no others left. A pipe takes the lowest free numbers,
// that to read from first: so both ends stay or move up, the last one first.
void platform::replace(event parents) noexcept {
    close(parents);
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return;
    move_to(ends[1], parents.raised_by);
    move_to(ends[0], parents.number);
    prepare(parents);
    raise(parents);
}

}  // namespace redlock::detail
