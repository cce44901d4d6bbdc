// The alarm of a client where the system is not Linux: Asio's timer; tried on Linux alone.
// SPDX-License-Identifier: MIT
#include "asio/performers.hpp"

#include <boost/asio/basic_waitable_timer.hpp>

#include <utility>

namespace redlock::detail {

namespace {

// After the machine was suspended it may ring late. What asks the clock is not misled by that: a
// lease that is over by the clock is no lease.
class portable_alarm final : public alarm_performer {
public:
    explicit portable_alarm(const io_strand& on) : timer_(on, time_point::max()) {}

    void start(std::shared_ptr<void> keep, std::function<void()> ring) override {
        ring_ = std::move(ring);
        wait(std::move(keep));
    }

    // The wait that is under way ends, and another begins.
    void set(time_point when) noexcept override {
        if (!is_over_ && when < timer_.expiry()) timer_.expires_at(when);
    }

    void stop() noexcept override {
        is_over_ = true;
        timer_.cancel();
    }

    void abandon() noexcept override { is_over_ = true; }

private:
    void wait(std::shared_ptr<void> keep) {
        timer_.async_wait([this, keep = std::move(keep)](error_code put_forward) mutable {
            if (is_over_) return;
            if (put_forward) return wait(std::move(keep));
            timer_.expires_at(time_point::max());
            wait(keep);
            ring_();
        });
    }

    boost::asio::basic_waitable_timer<clock, boost::asio::wait_traits<clock>, io_strand> timer_;
    std::function<void()> ring_;
    bool is_over_ = false;
};

}  // namespace

std::unique_ptr<alarm_performer> make_system_alarm(const io_strand& on) {
    return std::make_unique<portable_alarm>(on);
}

}  // namespace redlock::detail
