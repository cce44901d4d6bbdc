// What performs a client's effects: its strand, its timer, its descriptors; the seam for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/connection.hpp"
#include "value/clock.hpp"

#include <redlock/export.hpp>
#include <redlock/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <thread>
#include <unistd.h>
#include <utility>

namespace redlock::detail {

/// The caller's executor. A strand asks its executor for each handler whether `execute` may block,
/// and `any_io_executor` allocates memory for the answer. So this class keeps the answer.
class io_executor {
public:
    /// No constructor: to learn whether this class can be copied, a compiler would then ask whether
    /// it is an executor, and to learn that, whether it can be copied.
    static io_executor over(const boost::asio::any_io_executor& inner) {
        return {inner, boost::asio::query(inner, boost::asio::execution::blocking)};
    }

    const boost::asio::any_io_executor& inner() const noexcept { return inner_; }

    // What Asio requires of an executor, and what a strand asks for.
    boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
        return boost::asio::query(inner_, boost::asio::execution::context);
    }
    boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
        return blocking_;
    }
    io_executor require(boost::asio::execution::blocking_t::never_t never) const {
        return {boost::asio::require(inner_, never), never};
    }
    io_executor prefer(boost::asio::execution::outstanding_work_t::tracked_t tracked) const {
        return {boost::asio::prefer(inner_, tracked), blocking_};
    }
    template <class F>
    void execute(F&& f) const { inner_.execute(std::forward<F>(f)); }
    friend bool operator==(const io_executor& a, const io_executor& b) noexcept {
        return a.inner_ == b.inner_;
    }

private:
    io_executor(boost::asio::any_io_executor inner, boost::asio::execution::blocking_t blocking)
        : inner_(std::move(inner)), blocking_(blocking) {}

    boost::asio::any_io_executor inner_;
    boost::asio::execution::blocking_t blocking_;
};

using io_strand = boost::asio::strand<io_executor>;

/// Carries the bytes of one connection.
class wire_performer : public transport {
public:
    virtual ~wire_performer() = default;
    /// Takes the connection's outgoing bytes, as far as they can leave now.
    virtual void flush() = 0;
    /// In a child process: lets go of the parent's connection, and says nothing on it.
    virtual void abandon() noexcept {}
};

/// Calls at a given time.
class alarm_performer {
public:
    virtual ~alarm_performer() = default;
    /// `ring` is called at each time that was set, until `stop`. `keep` lives as long.
    virtual void start(std::shared_ptr<void> keep, std::function<void()> ring) = 0;
    /// Rings at `when`, or earlier: an alarm that is due later is not put off.
    virtual void set(time_point when) noexcept = 0;
    virtual void stop() noexcept = 0;
    /// In a child process: stops without a change for the parent.
    virtual void abandon() noexcept { stop(); }
};

/// A message that does `what`, unless it is discarded, and ends itself.
template <class F>
class single_mail final : public mail {
public:
    explicit single_mail(F what) : what_(std::move(what)) {}
    void deliver() override {
        const std::unique_ptr<single_mail> self(this);
        what_();
    }
    void discard() noexcept override { delete this; }

private:
    F what_;
};

/// The owner of wires; it is called on the strand. What is under way on a wire keeps it alive.
class wire_owner {
public:
    /// Null once nothing may start any more, and nothing may be reported.
    virtual std::shared_ptr<wire_owner> keep_alive() noexcept = 0;
    /// The connection whose bytes the wire of that index carries. It must exist while the wire is
    /// open.
    virtual connection& user_of(std::size_t index) = 0;
    /// Called after the wire has reported to the connection all that happened at once.
    virtual void end_turn() = 0;
    /// From any thread. Discards the message when nothing is taken any more; a turn ends with it.
    virtual void put(mail& m) noexcept = 0;

protected:
    ~wire_owner() = default;
};

/// Makes both in place of sockets and timers.
class performer_source {
public:
    virtual std::unique_ptr<wire_performer> make_wire(const io_strand& on, std::size_t index,
                                                      const node_options& node,
                                                      wire_owner& owner) = 0;
    virtual std::unique_ptr<alarm_performer> make_alarm(const io_strand& on) = 0;

protected:
    ~performer_source() = default;
};

/// From now on clients are made with these performers, in the whole process; null: with sockets.
REDLOCK_EXPORT void use_performers(performer_source* from) noexcept;

/// The system's, on one strand. Throws `std::system_error` where that has no more descriptors.
std::unique_ptr<alarm_performer> make_system_alarm(const io_strand& on);

/// A thread that takes no signals: those of the program are for its own threads.
template <class F>
std::thread quiet_thread(F body) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread made(std::move(body));
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return made;
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

/// Moves `made` to a number that is no standard stream's: where standard error was closed when the
/// program started, the program's messages must not go to a node. Returns a negative `made` as it
/// is, and -1 with errno where no number is left.
inline int beside_standard_streams(int made) noexcept {
    if (made < 0 || made > STDERR_FILENO) return made;
    const int moved = ::fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int why = errno;
    ::close(made);
    errno = why;
    return moved;
}

}  // namespace redlock::detail
