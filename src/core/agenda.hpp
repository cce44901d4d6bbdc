// What is due when: one ordered list of instants for the whole client; knows no timer.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum.hpp"

#include <boost/intrusive/set.hpp>

namespace redlock::core {

/// Something that wants to be woken. Embedded in its owner: arming it allocates nothing.
class appointment {
public:
    appointment() = default;
    appointment(const appointment&) = delete;
    appointment& operator=(const appointment&) = delete;

    time_point when() const noexcept { return when_; }
    void cancel() noexcept {
        if (listed_.is_linked()) listed_.unlink();
    }

protected:
    ~appointment() = default;

private:
    friend class agenda;
    virtual void on_due(time_point now) = 0;

    boost::intrusive::set_member_hook<
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>
        listed_;
    time_point when_{};
};

class agenda {
public:
    /// (Re)arms; the end of time disarms.
    void set(appointment& a, time_point when) noexcept {
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
            appointment& a = *items_.begin();
            a.listed_.unlink();
            a.on_due(now);
        }
    }

    time_point deadline() const noexcept {
        return items_.empty() ? time_point::max() : items_.begin()->when_;
    }

private:
    struct earlier {
        bool operator()(const appointment& a, const appointment& b) const noexcept {
            return a.when_ < b.when_;
        }
    };
    boost::intrusive::multiset<
        appointment,
        boost::intrusive::member_hook<appointment, decltype(appointment::listed_),
                                      &appointment::listed_>,
        boost::intrusive::compare<earlier>, boost::intrusive::constant_time_size<false>>
        items_;
};

}  // namespace redlock::core
