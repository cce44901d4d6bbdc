// A client where standard streams are closed, or no descriptor is left; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/error.hpp>

#include <boost/asio/steady_timer.hpp>

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

using namespace redlock;
using namespace redlock::testing;

namespace {

bool no_timers = false;

}  // namespace

// Replaces the system's, and fails at will: with no descriptor left the sanitizers would fail, too.
extern "C" int timerfd_create(int of, int flags) noexcept {
    static const auto real =
        reinterpret_cast<decltype(&::timerfd_create)>(::dlsym(RTLD_NEXT, "timerfd_create"));
    if (!no_timers) return real(of, flags);
    errno = EMFILE;
    return -1;
}

namespace {

// Runs `work` in a child, which has descriptors of its own; returns its status.
template <class Function>
int in_a_child(Function work) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        try {
            ::_exit(work());
        } catch (...) {
            ::_exit(100);
        }
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("no connection takes the number of a standard stream that is closed", "[descriptors]") {
    cluster nodes(3);
    const int open_streams = in_a_child([&] {
        asio::io_context context;
        const asio::steady_timer timer(context);  // the context takes its own descriptors now
        for (const int stream : {0, 1, 2}) ::close(stream);
        client user(context, nodes.options());
        error_code outcome = asio::error::would_block;
        lease held;
        user.async_acquire("r", {.ttl = 20s, .wait = 20s}, [&](error_code error, lease got) {
            outcome = error;
            held = std::move(got);
        });
        run_until(context, [&] { return outcome != asio::error::would_block; });
        if (outcome) return 50;
        int open = 0;
        for (const int stream : {0, 1, 2}) {
            struct stat what {};
            if (::fstat(stream, &what) == 0) ++open;
        }
        return open;
    });
    CHECK(open_streams == 0);
}

namespace {

// How many of the process's sockets lead to that port.
std::size_t connections_to(std::uint16_t port, bool (*is_so)(int)) {
    std::size_t found = 0;
    for (int descriptor = 0; descriptor < 1'000; ++descriptor) {
        sockaddr_in other{};
        socklen_t size = sizeof other;
        if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &size) != 0) continue;
        found += ntohs(other.sin_port) == port && is_so(descriptor) ? 1 : 0;
    }
    return found;
}

template <int level, int option>
bool has(int descriptor) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(descriptor, level, option, &value, &size) == 0 && value != 0;
}

}  // namespace

TEST_CASE("a connection sends at once, and finds out that the node's machine is gone", "[descriptors]") {
    cluster nodes(1);
    driver d(nodes.options());
    REQUIRE(d.acquire("r", {.ttl = 20s, .wait = 20s}).error() == error_code{});
    const auto port = nodes[0].port();
    const auto all = connections_to(port, [](int) { return true; });
    CHECK(all >= 1);
    CHECK(connections_to(port, has<IPPROTO_TCP, TCP_NODELAY>) == all);
    CHECK(connections_to(port, has<SOL_SOCKET, SO_KEEPALIVE>) == all);
}

TEST_CASE("a client that gets no descriptor says so when it is made", "[descriptors]") {
    asio::io_context context;
    const asio::steady_timer timer(context);  // the context takes its own descriptors now
    client_options options;
    options.nodes.resize(1);
    no_timers = true;
    error_code thrown;
    try {
        const client user(context, options);
    } catch (const std::system_error& e) {
        thrown = e.code();
    }
    no_timers = false;
    CHECK(thrown == boost::system::errc::too_many_files_open);
    context.run();  // returns: the client left nothing behind
}
