// What the parts of one client share: options, names, timers, events, counts, messages of other
// threads.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/connection.hpp"
#include "value/clock.hpp"
#include "value/metrics.hpp"
#include "value/nodes.hpp"
#include "value/options.hpp"
#include "wire/request.hpp"

#include <redlock/detail/recycling.hpp>
#include <redlock/error.hpp>
#include <redlock/event.hpp>
#include <redlock/options.hpp>
#include <redlock/owner_id.hpp>
#include <redlock/stats.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Written by one thread at a time (the strand), so an increment needs no locked instruction.
class counter {
public:
    void add(std::uint64_t n = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
    std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// A histogram that is written and read in the same way.
class duration_counter {
public:
    void add(duration d) noexcept {
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
            std::max(d, duration::zero()));
        const auto& bounds = histogram::bounds;
        const auto at = std::lower_bound(bounds.begin(), bounds.end(), us) - bounds.begin();
        counts_[static_cast<std::size_t>(at)].add();
        sum_us_.add(static_cast<std::uint64_t>(us.count()));
    }
    histogram get() const noexcept;

private:
    std::array<counter, histogram::bounds.size() + 1> counts_;
    counter sum_us_;
};

#define REDLOCK_COUNTER(member, metric, help) counter member;
#define REDLOCK_DURATIONS(member, metric, help) duration_counter member;

/// What became of the operations of one client.
struct outcome_counts {
    REDLOCK_OUTCOME_COUNTERS(REDLOCK_COUNTER)
    counter begun_leases, ended_leases, begun_waits, ended_waits;
    REDLOCK_HISTOGRAMS(REDLOCK_DURATIONS)

    /// An acquire or an adoption ended without a lease.
    void refused(error_code why) noexcept;
};

/// What the connections of one client did.
struct traffic {
    REDLOCK_TRAFFIC_COUNTERS(REDLOCK_COUNTER)

    // Not kept by the sessions, which end while any thread may read.
    struct node {
        duration_counter round_trip;
        counter owed_now;
        counter connected;
        std::atomic<time_point> votes_from{time_point::max()};
    };
    std::array<node, max_nodes> nodes;
};

#undef REDLOCK_COUNTER
#undef REDLOCK_DURATIONS

/// From any thread.
client_stats read_stats(const outcome_counts& outcomes, const traffic& connections,
                        const client_options& options, time_point now);

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

/// Calls a function of its owner.
template <class Owner>
class alarm final : public timer {
public:
    using action = void (Owner::*)(time_point);
    alarm(Owner& owner, action what) noexcept : owner_(&owner), what_(what) {}

private:
    void on_due(time_point now) override { (owner_->*what_)(now); }
    Owner* owner_;
    action what_;
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
    static constexpr std::int64_t lists = 512;
    static_assert((lists & (lists - 1)) == 0, "a tick's list is at its remainder");

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
        assert(near_.empty());
        std::int64_t tick = near_end_;
        while (tick < near_end_ + lists && list_of(tick).empty()) ++tick;
        if (tick == near_end_ + lists) {
            if (beyond_.empty()) return false;
            tick = tick_of(*beyond_.begin());
            assert(tick >= near_end_ + lists);
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
    std::int64_t near_end_ = 0;  // only ever rises
    std::array<unsorted, lists> waiting_;  // for the ticks from there on, each at its remainder
    sorted beyond_;                        // all later ones
};

/// Where random bits come from.
class random_source {
public:
    virtual std::uint64_t random_word() = 0;
    virtual owner_id fresh_owner() = 0;

protected:
    ~random_source() = default;
};

/// To which acquire or adoption an event belongs.
struct event_ids {
    std::uint64_t id = 0;      ///< `event::id`; of a client no two operations have the same.
    std::uint64_t parent = 0;  ///< `event::parent`
};

/// Not thread-safe, as the engine that owns it.
class context {
public:
    /// `options` are valid and their client_name is set. Both outlive the context.
    context(const client_options& options, random_source& random);
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    const client_options& options() const noexcept { return *options_; }
    drift_policy drift() const noexcept { return drift_of(*options_); }
    /// Which nodes make a quorum.
    const node_lists& lists() const noexcept { return lists_; }
    /// How many nodes there are.
    std::size_t size() const noexcept { return names_.size(); }
    const node_name& name(std::size_t node) const noexcept {
        assert(node < names_.size());
        return names_[node];
    }
    std::vector<std::string> names(node_mask of) const {
        std::vector<std::string> out;
        for (const std::size_t i : of) out.push_back(name(i).str());
        return out;
    }
    /// Whether the locks that this client takes have fences: all of them, or none.
    bool is_fenced() const noexcept { return options_->fencing; }
    /// The kind of lock that an acquire with these options takes; `several`: resources at once.
    const wire::lock_kind& kind(const acquire_options& how, bool several) const noexcept {
        if (!is_fenced()) return several ? wire::plain_set_lock : wire::plain_lock;
        if (several) return wire::set_lock;
        if (how.slots > 0) return wire::slot_lock;
        switch (how.mode) {
            case lock_mode::shared: return wire::shared_lock;
            case lock_mode::exclusive: break;
        }
        return wire::fenced_lock;
    }
    /// What others name to wake this client: drawn once, the last part of its channel's name.
    std::string_view client_id() const noexcept { return client_id_; }

    std::uint64_t random_word() const { return random_->random_word(); }
    owner_id fresh_owner() const { return random_->fresh_owner(); }

    /// (Re)arms; the end of time disarms.
    void arm(timer& what, time_point when) noexcept { timers_.set(what, when); }
    timers& all_timers() noexcept { return timers_; }
    /// How late they ring.
    core::own_delay& own_delay() noexcept { return own_delay_; }
    const core::own_delay& own_delay() const noexcept { return own_delay_; }

    /// Calls the caller's observer, if there is one. What it throws is dropped: an observer that
    /// fails must not take a lock down with it.
    void emit(const event& e) const;
    /// A timer of a lease was due at `due`, and rang so late that it puts leases in danger.
    void report_lag(time_point due, time_point now);
    /// For a new acquire or adoption, which the caller's `parent` began.
    event_ids fresh_ids(std::uint64_t parent) noexcept { return {++last_id_, parent}; }
    outcome_counts& counts() noexcept { return counts_; }
    const outcome_counts& counts() const noexcept { return counts_; }
    /// How many leases the client holds.
    std::uint64_t leases() const noexcept {
        assert(counts_.begun_leases.get() >= counts_.ended_leases.get());
        return counts_.begun_leases.get() - counts_.ended_leases.get();
    }

private:
    const client_options* options_;
    random_source* random_;
    node_lists lists_;
    std::vector<node_name> names_;
    std::string client_id_;
    timers timers_;
    core::own_delay own_delay_;
    outcome_counts counts_;
    std::uint64_t last_id_ = 0;  // of events: ids rise, and none is 0
    time_point next_lag_report_{};
};

/// A message. Embedded in the object that it is about, so that putting it allocates nothing. The
/// sender keeps it alive until `deliver` or `discard` was called.
class mail {
public:
    virtual void deliver() = 0;
    virtual void discard() noexcept = 0;

protected:
    ~mail() = default;

private:
    friend class mailbox;
    mail* next_ = nullptr;
};

/// Many threads put, one takes. Thread-safe.
class mailbox {
public:
    /// Calls `send_collector()` where nobody is on the way to collect; if that throws, the message
    /// waits for the next one's. False when the box is closed: nothing was kept then, and the
    /// message was neither delivered nor discarded. Once `close` has returned, no collector is
    /// sent.
    template <class F>
    bool put(mail& m, F&& send_collector) noexcept {
        const std::lock_guard lock(mutex_);
        if (closed_) return false;
        assert(tail_ != &m.next_ && *tail_ == nullptr);  // it is not in the box already
        m.next_ = nullptr;
        *tail_ = &m;
        tail_ = &m.next_;
        if (collector_sent_) return true;
        try {
            send_collector();
            collector_sent_ = true;
        } catch (...) {  // out of memory
        }
        return true;
    }

    /// Delivers the messages that are there, in order; those that arrive meanwhile, next time.
    void collect() {
        mail* m = take(false);
        while (m != nullptr) {
            mail* const next = m->next_;
            m->deliver();
            m = next;
        }
    }

    /// Refuses further messages, and discards those that are there.
    void close() noexcept {
        mail* m = take(true);
        while (m != nullptr) {
            mail* const next = m->next_;
            m->discard();
            m = next;
        }
    }

private:
    mail* take(bool close) noexcept {
        const std::lock_guard lock(mutex_);
        closed_ = closed_ || close;
        collector_sent_ = false;
        tail_ = &head_;
        return std::exchange(head_, nullptr);
    }

    std::mutex mutex_;
    mail* head_ = nullptr;
    mail** tail_ = &head_;         // the last `next_` of the list, or `head_`: it is null
    bool collector_sent_ = false;  // somebody is on the way to `collect`
    bool closed_ = false;
};

/// Owners that the client draws itself are unique, and not kept here.
class owner_claims {
    using key = std::pair<owner_id, std::string>;
    struct hash {
        std::size_t operator()(const key& k) const noexcept {
            const auto* const bytes = reinterpret_cast<const char*>(k.first.bytes.data());
            const std::hash<std::string_view> of;
            return of({bytes, k.first.bytes.size()}) * 31 + of(k.second);
        }
    };
    using set = std::unordered_set<key, hash>;

public:
    class uses {
    public:
        explicit uses(std::weak_ptr<set> all) noexcept : in_(std::move(all)) {}
        uses(const uses&) = delete;
        uses& operator=(const uses&) = delete;
        ~uses() {
            const auto all = in_.lock();
            if (!all) return;
            for (const key& one : keys_) all->erase(one);
        }

    private:
        friend class owner_claims;
        std::weak_ptr<set> in_;
        std::vector<key> keys_{};
    };
    /// The right to use an owner for some resources: of an acquire, and then of the lease that it
    /// was granted. Ends with its holder, which may outlive the client. Null for most leases.
    using claim = std::unique_ptr<uses>;

    /// For all of the resources; null where the owner is in use for one of them.
    claim begin(const owner_id& owner, std::span<const std::string> resources) {
        assert(!resources.empty());
        auto out = std::make_unique<uses>(in_use_);
        for (const std::string& one : resources) {
            if (!in_use_->emplace(owner, one).second) return nullptr;
            out->keys_.emplace_back(owner, one);
        }
        return out;
    }

private:
    std::shared_ptr<set> in_use_ = std::make_shared<set>();
};

/// Takes the memory of a pointer until it is changed for the first time.
template <class T>
class rare {
public:
    rare() = default;
    rare(const rare& other)
        : changed_(other.changed_ ? std::make_unique<changed>(*other) : nullptr) {}
    rare(rare&&) noexcept = default;
    rare& operator=(rare other) noexcept {
        changed_ = std::move(other.changed_);
        return *this;
    }

    const T& operator*() const noexcept { return changed_ ? changed_->value : unchanged; }
    const T* operator->() const noexcept { return &**this; }
    T& edit() {
        if (!changed_) changed_ = std::make_unique<changed>(T{});
        return changed_->value;
    }

private:
    struct changed : recycled {
        explicit changed(T first) : value(std::move(first)) {}
        T value;
    };

    inline static const T unchanged{};
    std::unique_ptr<changed> changed_{};
};

}  // namespace redlock::detail
