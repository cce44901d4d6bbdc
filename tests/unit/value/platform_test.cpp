// What systems do each in their own way.
// SPDX-License-Identifier: MIT
#include "value/platform.hpp"

#include "tests/support/catch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace platform = redlock::detail::platform;

namespace {

bool is_readable(platform::event one) {
    pollfd asked{one.number, POLLIN, 0};
    return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLIN) != 0;
}

bool is_inherited_by_programs(int number) { return (::fcntl(number, F_GETFD) & FD_CLOEXEC) == 0; }

}  // namespace

TEST_CASE("an event is readable from raise to lower, however often it was raised") {
    const platform::event one = platform::make_event();
    CHECK_FALSE(is_readable(one));
    for (int i = 0; i < 200; ++i) platform::raise(one);
    CHECK(is_readable(one));
    platform::lower(one);
    CHECK_FALSE(is_readable(one));
    platform::lower(one);  // does not wait
    CHECK_FALSE(is_inherited_by_programs(one.number));
    CHECK_FALSE(is_inherited_by_programs(one.raised_by));
    platform::close(one);
    CHECK(::fcntl(one.number, F_GETFD) == -1);
    CHECK(::fcntl(one.raised_by, F_GETFD) == -1);
}

TEST_CASE("a child process has a raised event in place of its parent's") {
    // A lower number is free, and a higher one.
    const int below = ::dup(STDERR_FILENO);
    const platform::event one = platform::make_event();
    ::close(below);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        platform::replace(one);
        const bool is_raised = is_readable(one);
        platform::lower(one);
        const bool is_lowered = !is_readable(one);
        platform::raise(one);
        const bool is_own = is_readable(one) && !is_inherited_by_programs(one.number) &&
                            !is_inherited_by_programs(one.raised_by) &&
                            ::fcntl(below, F_GETFD) == -1;
        ::_exit(is_raised && is_lowered && is_own ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK_FALSE(is_readable(one));
    platform::close(one);
}

TEST_CASE("a new socket is not inherited by executed programs") {
    const int made = platform::new_socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(made >= 0);
    CHECK_FALSE(is_inherited_by_programs(made));
    ::close(made);
    CHECK(platform::new_socket(-1, SOCK_STREAM, 0) == -1);
}
