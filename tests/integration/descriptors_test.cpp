// A client where standard streams are closed, or no descriptor is left; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/error.hpp>

#include <boost/asio/steady_timer.hpp>

#include <dlfcn.h>
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
