// SIGTSTP and SIGCONT as the kernel keeps them, for redlock to stop and go on with its job; knows
// no lease and no child.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/signals.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>

namespace redlock::tool {

/// Blocks both signals while it exists, and reads them: of the two the kernel keeps only the later
/// pending. Handlers would queue both, in the order of their numbers. Redlock would then stop after
/// it was continued, and nobody would continue it again.
class job_control {
public:
    using handler = std::function<void(int signal)>;

    /// `on_signal` runs for each signal, except for those that `given` ignores.
    job_control(boost::asio::io_context& context, const inherited_signals& given,
                handler on_signal);

    /// Stops this process, or its whole process group, as SIGTSTP stops a program that does not
    /// handle it, and returns after SIGCONT. Returns at once if SIGCONT came already.
    void stop(bool whole_group) const noexcept;
    void close();

private:
    void await();

    const signals_blocked blocked_;
    handler on_signal_;
    boost::asio::posix::stream_descriptor pending_;
};

}  // namespace redlock::tool
