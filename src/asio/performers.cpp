// What performs a client's effects.
// SPDX-License-Identifier: MIT
#include "asio/performers.hpp"

#include <boost/asio/buffer.hpp>
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
    if (fd < 0) {
        throw std::system_error(errno, std::system_category(), "timerfd_create");
    }
    return fd;
}

}  // namespace

asio_timer::asio_timer(io_strand on) : timer_(on, make_timer()) {}

void asio_timer::start(std::shared_ptr<void> keep, std::function<void()> ring) {
    ring_ = std::move(ring);
    wait(std::move(keep));
}

void asio_timer::wait(std::shared_ptr<void> keep) {
    timer_.async_wait(timer_.wait_read, [this, keep = std::move(keep)](error_code ec) mutable {
        if (ec || !timer_.is_open()) return;
        std::uint64_t rings = 0;
        timer_.read_some(boost::asio::buffer(&rings, sizeof rings), ec);
        armed_for_ = time_point::max();
        wait(keep);
        ring_();
    });
}

void asio_timer::set(time_point when) noexcept {
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

// See `asio_transport::abandon`.
void asio_timer::abandon() noexcept {
    if (!timer_.is_open()) return;
    try {
        ::close(timer_.release());
    } catch (const boost::system::system_error&) {
        // It stays open, and nobody waits for it.
    }
}

void asio_timer::stop() noexcept {
    error_code ignored;
    timer_.close(ignored);
}

}  // namespace redlock::detail
