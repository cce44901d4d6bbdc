// What is due when: one ordered list of instants for the whole client; knows no clock.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace redlock::detail {

/// Something that wants to be woken. Embedded in its owner: arming it allocates nothing.
class timer {
public:
    timer() = default;
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;

    time_point when() const noexcept { return when_; }
    void cancel() noexcept {
        if (sorted_.is_linked()) sorted_.unlink();
        if (waiting_.is_linked()) waiting_.unlink();
    }

protected:
    ~timer() = default;

private:
    friend class timers;
    using unlinks = boost::intrusive::link_mode<boost::intrusive::auto_unlink>;
    virtual void on_due(time_point now) = 0;
    bool is_armed() const noexcept { return sorted_.is_linked() || waiting_.is_linked(); }

    boost::intrusive::set_member_hook<unlinks> sorted_;  // of one that is near, or far beyond
    boost::intrusive::list_member_hook<unlinks> waiting_;
    time_point when_{};
};

/// Timers that are near are sorted. Those of the next minute wait in lists, one for each eighth of
/// a second, and are sorted when their list comes to be near. So of a hundred thousand leases each
/// renewal touches few others: to sort all of them would touch a dozen for each that is armed, and
/// in so many none is in the processor's cache.
class timers {
public:
    /// (Re)arms; the end of time disarms.
    void set(timer& a, time_point when) noexcept {
        if (a.is_armed()) {
            if (a.when_ == when) return;
            a.cancel();
        }
        a.when_ = when;
        if (when != time_point::max()) place(a);
    }

    /// Wakes everything that is due, in order. What is armed meanwhile for `now` or before is woken
    /// in the same call.
    void on_time(time_point now) {
        while (deadline() <= now && !near_.empty()) {
            timer& a = *near_.begin();
            assert(a.when_ <= now);
            a.cancel();
            a.on_due(now);
        }
    }

    time_point deadline() noexcept {
        while (near_.empty() && approach()) {
        }
        return near_.empty() ? time_point::max() : near_.begin()->when_;
    }

private:
    static constexpr std::int64_t lists = 512;  // a power of two

    // Of 2^27 ns, which is an eighth of a second.
    static std::int64_t tick_of(const timer& a) noexcept {
        return duration(a.when_.time_since_epoch()).count() >> 27;
    }

    struct earlier {
        bool operator()(const timer& a, const timer& b) const noexcept { return a.when_ < b.when_; }
    };
    using sorted = boost::intrusive::multiset<
        timer, boost::intrusive::member_hook<timer, decltype(timer::sorted_), &timer::sorted_>,
        boost::intrusive::compare<earlier>, boost::intrusive::constant_time_size<false>>;
    using unsorted = boost::intrusive::list<
        timer, boost::intrusive::member_hook<timer, decltype(timer::waiting_), &timer::waiting_>,
        boost::intrusive::constant_time_size<false>>;

    unsorted& list_of(std::int64_t tick) noexcept {
        return waiting_[static_cast<std::size_t>(tick & (lists - 1))];
    }

    void place(timer& a) noexcept {
        assert(!a.is_armed());
        const std::int64_t tick = tick_of(a);
        if (tick < near_end_) {
            near_.insert(a);
        } else if (tick < near_end_ + lists) {
            list_of(tick).push_back(a);
        } else {
            beyond_.insert(a);
        }
    }

    /// Sorts the next list in which somebody waits. False where nobody does.
    bool approach() noexcept {
        std::int64_t tick = near_end_;
        while (tick < near_end_ + lists && list_of(tick).empty()) ++tick;
        if (tick == near_end_ + lists) {
            if (beyond_.empty()) return false;
            tick = tick_of(*beyond_.begin());
        }
        unsorted& next = list_of(tick);
        near_end_ = tick + 1;
        while (!next.empty()) {
            timer& a = next.front();
            assert(tick_of(a) == tick);
            next.pop_front();
            near_.insert(a);
        }
        while (!beyond_.empty() && tick_of(*beyond_.begin()) < near_end_ + lists) {
            timer& a = *beyond_.begin();
            a.cancel();
            place(a);
        }
        return true;
    }

    sorted near_;  // before that tick
    std::int64_t near_end_ = 0;
    std::array<unsorted, lists> waiting_;  // for the ticks from there on, each at its remainder
    sorted beyond_;                        // all later ones
};

}  // namespace redlock::detail
