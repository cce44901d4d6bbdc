// SIGTSTP and SIGCONT as the kernel keeps them.
// SPDX-License-Identifier: MIT
#include "tools/job_control.hpp"

#include <boost/asio/error.hpp>

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace redlock::tool {

namespace {

sigset_t those_of(const inherited_signals& given) {
    sigset_t out;
    sigemptyset(&out);
    for (const int s : {SIGTSTP, SIGCONT}) {
        if (!given.ignores(s)) sigaddset(&out, s);
    }
    return out;
}

int open_pending(const sigset_t& signals) {
    const int descriptor = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
    return descriptor;
}

}  // namespace

job_control::job_control(boost::asio::io_context& context, const inherited_signals& given,
                         handler on_signal)
    : blocked_(those_of(given)),
      on_signal_(std::move(on_signal)),
      pending_(context, open_pending(those_of(given))) {
    await();
}

// Reads only when the handler runs: until then `stop` sees a SIGCONT.
void job_control::await() {
    pending_.async_wait(pending_.wait_read, [this](boost::system::error_code ec) {
        if (ec) return;
        signalfd_siginfo next{};
        const bool is_one = ::read(pending_.native_handle(), &next, sizeof next) == sizeof next;
        if (is_one) on_signal_(static_cast<int>(next.ssi_signo));
        if (pending_.is_open()) await();
    });
}

void job_control::stop(bool whole_group) const noexcept {
    sigset_t pending;
    ::sigpending(&pending);
    if (sigismember(&pending, SIGCONT) == 1) return;
    struct sigaction plain {};
    struct sigaction before {};
    plain.sa_handler = SIG_DFL;
    ::sigaction(SIGTSTP, &plain, &before);
    ::kill(whole_group ? 0 : ::getpid(), SIGTSTP);
    take_pending(SIGTSTP);
    ::sigaction(SIGTSTP, &before, nullptr);
}

void job_control::close() { pending_.close(); }

}  // namespace redlock::tool
