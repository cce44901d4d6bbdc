// What is due when: one ordered list of instants for the whole client; knows no timer.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"

#include <boost/intrusive/set.hpp>

namespace redlock::detail {

/// Something that wants to be woken. Embedded in its owner: arming it allocates nothing.
class timer {
public:
    timer() = default;
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;

    time_point when() const noexcept { return when_; }
    void cancel() noexcept {
        if (listed_.is_linked()) listed_.unlink();
    }

protected:
    ~timer() = default;

private:
    friend class timers;
    virtual void on_due(time_point now) = 0;

    boost::intrusive::set_member_hook<
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>
        listed_;
    time_point when_{};
};

class timers {
public:
    /// (Re)arms; the end of time disarms.
    void set(timer& a, time_point when) noexcept {
        if (a.listed_.is_linked()) {
            if (a.when_ == when) return;
            a.listed_.unlink();
        }
        a.when_ = when;
        if (when != time_point::max()) items_.insert(a);
    }

    /// Wakes everything that is due, in order. What is armed meanwhile for `now` or before is woken
    /// in the same call.
    void on_time(time_point now) {
        while (!items_.empty() && items_.begin()->when_ <= now) {
            timer& a = *items_.begin();
            a.listed_.unlink();
            a.on_due(now);
        }
    }

    time_point deadline() const noexcept {
        return items_.empty() ? time_point::max() : items_.begin()->when_;
    }

private:
    struct earlier {
        bool operator()(const timer& a, const timer& b) const noexcept {
            return a.when_ < b.when_;
        }
    };
    boost::intrusive::multiset<
        timer,
        boost::intrusive::member_hook<timer, decltype(timer::listed_),
                                      &timer::listed_>,
        boost::intrusive::compare<earlier>, boost::intrusive::constant_time_size<false>>
        items_;
};

}  // namespace redlock::detail
