// The alarm of a client on Linux, which counts the time in which the machine is suspended.
// SPDX-License-Identifier: MIT
#include "asio/performers.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <sys/timerfd.h>
#include <unistd.h>
#include <system_error>
#include <utility>

namespace redlock::detail {

namespace {

int make_timer() {
    const int fd = beside_standard_streams(
        ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC));
    if (fd < 0) throw std::system_error(errno, std::system_category(), "timerfd_create");
    return fd;
}

// Asio's own timers stand still while the machine is suspended, and would report a loss too late
// by as much; this is a timerfd on CLOCK_BOOTTIME (timerfd_create(2)).
class linux_alarm final : public alarm_performer {
public:
    explicit linux_alarm(const io_strand& on) : timer_(on, make_timer()) {}

    void start(std::shared_ptr<void> keep, std::function<void()> ring) override {
        ring_ = std::move(ring);
        wait(std::move(keep));
    }

    void set(time_point when) noexcept override {
        if (when >= armed_for_ || !timer_.is_open()) return;
        armed_for_ = when;
        using namespace std::chrono;
        // Zero would disarm it.
        const auto since = std::max<nanoseconds>(when.time_since_epoch(), 1ns);
        const auto whole = duration_cast<seconds>(since);
        itimerspec at{};
        at.it_value.tv_sec = static_cast<time_t>(whole.count());
        at.it_value.tv_nsec = static_cast<long>((since - whole).count());
        ::timerfd_settime(timer_.native_handle(), TFD_TIMER_ABSTIME, &at, nullptr);
    }

    void stop() noexcept override {
        error_code ignored;
        timer_.close(ignored);
    }

    // See `asio_transport::abandon`.
    void abandon() noexcept override {
        if (!timer_.is_open()) return;
        try {
            ::close(timer_.release());
        } catch (const boost::system::system_error&) {
            // It stays open, and nobody waits for it.
        }
    }

private:
    void wait(std::shared_ptr<void> keep) {
        timer_.async_wait(timer_.wait_read, [this, keep = std::move(keep)](error_code ec) mutable {
            if (ec || !timer_.is_open()) return;
            std::uint64_t rings = 0;
            timer_.read_some(boost::asio::buffer(&rings, sizeof rings), ec);
            armed_for_ = time_point::max();
            wait(keep);
            ring_();
        });
    }

    boost::asio::posix::basic_stream_descriptor<io_strand> timer_;
    std::function<void()> ring_;
    time_point armed_for_ = time_point::max();
};

}  // namespace

std::unique_ptr<alarm_performer> make_system_alarm(const io_strand& on) {
    return std::make_unique<linux_alarm>(on);
}

}  // namespace redlock::detail
