// A timer on the clock that counts suspended time; knows nothing of what it wakes.
// SPDX-License-Identifier: MIT
#pragma once

#include "asio/performers.hpp"
#include "value/time.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <functional>
#include <memory>

namespace redlock::detail {

/// Asio's own timers stand still while the machine is suspended, and would report a loss too late
/// by as much; this is a timerfd on CLOCK_BOOTTIME (timerfd_create(2)). Runs on one strand.
class asio_timer final : public alarm_performer {
public:
    /// Throws `boost::system::system_error` where the system has no more descriptors.
    explicit asio_timer(io_strand on);

    void start(std::shared_ptr<void> keep, std::function<void()> ring) override;
    void set(time_point when) noexcept override;
    void stop() noexcept override;
    void abandon() noexcept override;

private:
    void wait(std::shared_ptr<void> keep);

    boost::asio::posix::basic_stream_descriptor<io_strand> timer_;
    std::function<void()> ring_;
    time_point armed_for_ = time_point::max();
};

}  // namespace redlock::detail
