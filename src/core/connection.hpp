// The connection to one node: open, greet, serve, rest; commands in order, owed releases, round
// trips.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/nodes.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>

#include <boost/circular_buffer.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::core {

/// Facts in (opened, answered, greeted, down, time), actions out. Until a connection serves, the
/// node may be silent for `connect_timeout` at a time: to be resolved and reached, and before each
/// answer of the handshake; and all of that takes no longer than `longest_opening`. A connection
/// that ends is tried again at once if it had served for a while, after a jittered and growing rest
/// if it had not.
class reconnection {
public:
    /// TCP, TLS, the first answers, and the scripts or the node record.
    static constexpr duration longest_opening(duration connect_timeout) noexcept {
        return 4 * connect_timeout;
    }

    enum class phase : std::uint8_t { idle, connecting, greeting, ready, resting, closed };
    enum class action : std::uint8_t {
        none,
        open,     ///< Resolve and connect.
        give_up,  ///< Drop the connection, then say `down`: it took too long.
    };

    explicit reconnection(duration connect_timeout) noexcept : connect_timeout_(connect_timeout) {
        assert(connect_timeout > duration::zero());
    }

    action start(time_point now) noexcept;
    void opened(time_point now) noexcept;
    /// The node was reached, or answered, and is not done yet.
    void answered(time_point now) noexcept;
    void greeted(time_point now) noexcept;
    /// The connection failed or ended; `stalled`: it was given up because nothing was answered.
    /// `random` is the jitter.
    action down(time_point now, bool stalled, std::uint64_t random) noexcept;
    action on_time(time_point now) noexcept;
    /// No connection is wanted any more.
    void close() noexcept;

    phase state() const noexcept { return phase_; }
    bool is_ready() const noexcept { return phase_ == phase::ready; }
    /// On its way, and nothing has gone wrong since it last served: worth waiting for.
    bool is_hopeful() const noexcept {
        return failures_ == 0 && (phase_ == phase::connecting || phase_ == phase::greeting);
    }
    time_point deadline() const noexcept { return deadline_; }

private:
    action connect(time_point now) noexcept;

    duration connect_timeout_;
    phase phase_ = phase::idle;
    time_point deadline_ = time_point::max();  // never while idle, ready or closed
    time_point opening_since_{};               // of the latest connection
    time_point serving_since_{};               // of the latest that was ready
    std::uint32_t failures_ = 0;  // since it last served
};

/// Replies are matched to commands by order alone. A command whose time is over is only marked: it
/// keeps its place, so that its late reply is consumed and matched to nothing else. Each has its
/// own time, whatever the others have: one about a short lease may be due before one that was sent
/// before it.
template <class T>
class pipeline {
public:
    struct slot {
        T what{};
        time_point sent{};
        time_point deadline{};
        bool expired = false;
    };

    std::size_t size() const noexcept { return slots_.size(); }
    bool empty() const noexcept { return slots_.empty(); }

    void push(T what, time_point sent, time_point deadline) {
        if (slots_.full()) slots_.set_capacity(std::max<std::size_t>(64, slots_.capacity() * 2));
        due_.push_back({deadline, first_ + slots_.size()});
        std::push_heap(due_.begin(), due_.end(), std::greater<>());
        slots_.push_back(slot{std::move(what), sent, deadline, false});
    }

    /// The one that was pushed `n - 1` before the last. Precondition: so many are there.
    T& from_back(std::size_t n) {
        assert(n > 0 && n <= slots_.size());
        return slots_[slots_.size() - n].what;
    }
    /// That the next reply belongs to. Precondition: not empty.
    const T& front() const {
        assert(!empty());
        return slots_.front().what;
    }

    /// The next reply belongs to this. Precondition: not empty.
    slot pop() {
        assert(!empty());
        slot first = std::move(slots_.front());
        slots_.pop_front();
        ++first_;
        if (!due_.empty() && due_.front().number < first_) forget_first_due();
        return first;
    }

    /// Marks what is due at `now` and calls `each(T&)` for it, in the order of the deadlines; of
    /// those with the same the oldest first.
    template <class F>
    void expire(time_point now, F&& each) {
        while (deadline() <= now && !due_.empty()) {
            assert(due_.front().number - first_ < slots_.size());
            slot& next = slots_[static_cast<std::size_t>(due_.front().number - first_)];
            assert(!next.expired);
            forget_first_due();
            next.expired = true;
            each(next.what);
        }
    }

    /// When the next command's time is over.
    time_point deadline() const noexcept {
        return due_.empty() ? time_point::max() : due_.front().at;
    }

    /// When the oldest command without an answer was sent.
    time_point waiting_since() const noexcept {
        return slots_.empty() ? time_point::max() : slots_.front().sent;
    }

private:
    struct due {
        time_point at;
        std::uint64_t number;  // of all that were pushed
        auto operator<=>(const due&) const = default;
    };

    // And those behind it that were answered before they were due.
    void forget_first_due() {
        assert(!due_.empty());
        do {
            std::pop_heap(due_.begin(), due_.end(), std::greater<>());
            due_.pop_back();
        } while (!due_.empty() && due_.front().number < first_);
    }

    boost::circular_buffer<slot> slots_;
    std::uint64_t first_ = 0;  // the number of the first slot
    // A heap. The first has neither expired nor been answered; some of the others may have been.
    std::vector<due> due_;
};

/// Oldest first. Nothing is ever dropped: a node that was frozen may execute, when it thaws, what
/// lay in the connection that broke, and the key lives from then on. So neither the ttl nor a fixed
/// number bounds the debts; each lease that was in flight is owed one release.
///
/// If a node refuses a request for a state that passes (as out of memory), only one debt at a time
/// is sent to find out whether that is over: there may be thousands, all with the same answer.
template <class T>
class debts {
public:
    /// Between a refusal and the next try.
    static constexpr duration rest = std::chrono::seconds(1);

    bool empty() const noexcept { return owed_.empty(); }
    std::size_t size() const noexcept { return owed_.size(); }
    void clear() noexcept { owed_.clear(); }

    /// The connection that it was sent on broke, or there was none.
    void owe(T what) {
        owed_.push_back(std::move(what));
    }
    /// The node refused it for a state that passes.
    void refused(T what, time_point now) {
        owed_.push_back(std::move(what));
        due_ = std::min(due_, now + rest);
    }

    /// The node accepts requests: calls `send(T)` for what is owed, as long as `has_room()`.
    /// The first of the rest is due at once.
    template <class Room, class Send>
    void pay(time_point now, Room&& has_room, Send&& send) {
        due_ = time_point::max();
        while (!owed_.empty() && has_room()) {
            send(pop());
        }
        if (!owed_.empty()) due_ = now;
    }
    /// It is time to try: the debt that is sent first. When the node takes it, call `pay`.
    std::optional<T> take_first() {
        due_ = time_point::max();
        if (owed_.empty()) return std::nullopt;
        return pop();
    }
    /// There is no connection: the next one tries at once.
    void disconnected() noexcept { due_ = time_point::max(); }
    /// When to call `take_first`.
    time_point due() const noexcept { return due_; }

private:
    T pop() {
        assert(!owed_.empty());
        T first = std::move(owed_.front());
        owed_.pop_front();
        return first;
    }

    std::deque<T> owed_;                  // the oldest first
    time_point due_ = time_point::max();  // when the first is sent to try; as here: not yet
};

/// The errors of a state of the server that passes: the request itself may be fine.
inline constexpr std::array<std::string_view, 8> passing_errors{
    "BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN"};
/// The server says so where an operator ended the script.
inline constexpr std::string_view killed_script = "Script killed by user";

/// One request, when its answer came.
struct answered_request {
    bool is_connected = false;  ///< Still, to the node that answered.
    bool is_late = false;       ///< Its call has got its failure, after the time-out.
    bool is_owed = false;       ///< The node owes its execution: it is a release of its own key.
    bool is_wanted = false;     ///< Its call says that it is still worth sending.
    bool is_by_hash = false;    ///< It named the script by its hash alone.
    /// The answer is an error to a command of many requests, none of which was done.
    bool is_of_many = false;
};
enum class node_error : std::uint8_t {
    none,          ///< It was done, or refused by a rule of the protocol.
    other,
    passing,       ///< One of `passing_errors`, or the script was ended.
    lacks_script,
    lacks_right,   ///< This user may not do that.
};

/// Whether it is sent once more, at once. A request that is late is over for its caller, but for a
/// release: a node has to get that behind all other commands of its lease. A request that is no
/// longer wanted must not arrive behind its own release. Of many requests this user may lack the
/// right to the key of another one.
constexpr bool is_sent_again(const answered_request& what, node_error error) noexcept {
    const bool may_repeat = !what.is_late || what.is_owed;
    if (!what.is_connected || !may_repeat || !what.is_wanted) return false;
    if (error == node_error::lacks_script) return what.is_by_hash;
    return error == node_error::lacks_right && what.is_of_many;
}

/// What becomes of a release that is not sent again at once.
enum class owed_release : std::uint8_t {
    settled,        ///< Nothing is owed.
    to_connection,  ///< It is owed to the next connection.
    to_rest,        ///< It is sent again after a rest: it was not done, and has to be.
};
constexpr owed_release left_owed(const answered_request& what, node_error error) noexcept {
    if (!what.is_owed) return owed_release::settled;
    // The call of another request of its command ended the connection.
    if (what.is_of_many && !what.is_connected) return owed_release::to_connection;
    if (error == node_error::passing || what.is_of_many) return owed_release::to_rest;
    return owed_release::settled;
}

/// How long after it was sent a request may take a key: much longer than any operation waits for
/// the answer, so that a node which is merely slow does not refuse it.
constexpr duration good_for(duration node_timeout) noexcept {
    assert(node_timeout > duration::zero());
    return std::max<duration>(4 * node_timeout, std::chrono::seconds(1));
}

/// A node that stays away fails at each try, about once a second. Reported are the first failure of
/// each cause, and then, once a minute, that it goes on.
class outage {
public:
    static constexpr duration between_summaries = std::chrono::minutes(1);
    /// Further causes wait for the next summary.
    static constexpr std::size_t most_causes = 8;

    /// How many tries have failed since the last report, this one included, where this failure is
    /// to be reported; 0 where it is not.
    std::uint64_t failed(const error_code& why, time_point now) {
        ++tries_;
        assert(causes_.size() <= most_causes);
        const bool is_known = std::find(causes_.begin(), causes_.end(), why) != causes_.end();
        const bool is_news = !is_known && causes_.size() < most_causes;
        if (!is_news && now - reported_at_ < between_summaries) return 0;
        if (is_news) causes_.push_back(why);
        reported_at_ = now;
        return std::exchange(tries_, 0);
    }
    void ended() noexcept {
        causes_.clear();
        tries_ = 0;
    }

private:
    std::vector<error_code> causes_;  // that were reported: none twice, at most `most_causes`
    std::uint64_t tries_ = 0;  // since the last report
    time_point reported_at_{};
};

/// On a busy machine, in a process that was stopped, or behind a callback that takes long, a client
/// reads late what a node has answered in time. Its timers ring late then, too, and by how much
/// says for how long it did nothing at least. That much passed before the timer was due, perhaps,
/// and as much after it; so each node has twice that more time before it counts as silent.
class own_delay {
public:
    /// For so long a late timer counts.
    static constexpr duration memory = std::chrono::seconds(2);
    /// No more than this is ever added: a machine that is always late still gets a verdict.
    static constexpr duration longest = longest_measured_timeout;

    /// A turn of the loop ends. The first timer rings at `due()`, or at once if that is over.
    void awaits(const auto& due, time_point now) noexcept {
        if (now - late_at_ >= memory) late_ = duration::zero();
        now_ = now;
        const time_point next = due();
        if (next == due_) return;
        due_ = next;
        known_at_ = now;
    }
    /// The timers ring.
    void rang(time_point now) noexcept {
        now_ = now;
        const duration late = std::min(now - std::max(due_, known_at_), longest);
        if (late < late_) return;
        late_ = late;
        late_at_ = now;
    }
    /// How much longer than its time-out a node is waited for.
    duration extra() const noexcept {
        assert(late_ >= duration::zero() && late_ <= longest);
        return std::min(2 * late_, longest);
    }
    /// When the timer rings for a node that has until `deadline`: then, which shows how long the
    /// client slept, and once more when the node is given up.
    time_point extended(time_point deadline) const noexcept {
        return deadline > now_ ? deadline : deadline + extra();
    }

private:
    time_point now_{};  // of the latest turn
    time_point due_ = time_point::max();  // of the first timer, by the latest turn
    time_point known_at_{};               // since when
    duration late_{};                     // the longest, lately: 0 to `longest`
    time_point late_at_{};                // when that was
};

/// Between these lies what is measured.
inline constexpr duration shortest_node_timeout = std::chrono::milliseconds(50);
inline constexpr duration longest_node_timeout = longest_measured_timeout;

/// The least that a node has over one command about a lease of `ttl`. An fsync, the fork for a save
/// or a busy host stops nodes for a tenth of a second now and then, several at once, and that is no
/// outage. Of a short ttl it is a tenth: more would leave no time for another try.
constexpr duration least_node_timeout(duration ttl) noexcept {
    assert(ttl >= duration::zero());
    return std::clamp<duration>(ttl / 10, shortest_node_timeout, shortest_measured_timeout);
}
/// The ttl that is no reason to hurry.
inline constexpr duration any_ttl = duration::max();

/// The longest silence while a connection is made and greeted is three round trips, since TCP
/// begins slowly where scripts are loaded; and what was waited for in vain may take twice as long.
inline constexpr int round_trips_to_connect = 6;

/// What would do for a node that is so far away: four round trips, and no less than the least.
constexpr duration enough_for(duration round_trip, duration ttl = any_ttl) noexcept {
    assert(round_trip >= duration::zero());
    return std::max(least_node_timeout(ttl), 4 * round_trip);
}

/// What is given, where it is not zero; else what was measured.
constexpr duration node_timeout(duration given, duration round_trip,
                                duration ttl = any_ttl) noexcept {
    assert(given >= duration::zero());
    if (given > duration::zero()) return given;
    return std::min(enough_for(round_trip, ttl), longest_node_timeout);
}

/// The shortest that it is for any ttl. By this go the load that is put on a node, and when a
/// connection without an answer is opened again: short leases suffer from both.
constexpr duration shortest_timeout(duration given, duration round_trip) noexcept {
    return node_timeout(given, round_trip, duration::zero());
}

/// Measures the queries of a handshake, each from when it is sent to the first reply, and keeps
/// the shortest: neither connecting is in it, nor the commands that went out in the same write.
class round_trip {
public:
    /// Another handshake begins, and what was measured before it says nothing any more.
    void begin() noexcept { shortest_ = duration::max(); }
    void queried(time_point now) noexcept { queried_at_ = now; }
    void answered(time_point now) noexcept {
        if (queried_at_ == time_point::max()) return;
        shortest_ = std::min(shortest_, now - queried_at_);
        queried_at_ = time_point::max();
    }
    bool is_known() const noexcept { return shortest_ != duration::max(); }
    /// Zero where it is not known.
    duration get() const noexcept { return is_known() ? shortest_ : duration::zero(); }

private:
    duration shortest_ = duration::max();        // as here: none was measured
    time_point queried_at_ = time_point::max();  // as here: no answer is awaited
};

/// The scripts are known by their number. The node is queried which it has, and is sent the others.
/// It may be flushed between the two: then the script of the record goes with its text.
class script_search {
public:
    /// The node says of each script in order, whether it has it.
    void note(bool is_there) {
        assert(loaded_ == 0 && !sends_text_);
        if (!is_there) missing_.push_back(next_);
        ++next_;
    }
    bool lacks_any() const noexcept { return !missing_.empty(); }
    const std::vector<std::size_t>& missing() const noexcept { return missing_; }
    /// The node loaded the next of the missing ones: which it was.
    std::size_t loaded() {
        assert(loaded_ < missing_.size());
        return missing_[loaded_++];
    }
    /// The node does not know the script of the record, which it had or was sent. False where it
    /// was sent with its text: another try would end in the same way.
    bool lost() {
        missing_.clear();
        return !std::exchange(sends_text_, true);
    }
    /// Whether the script of the record goes with its text.
    bool sends_text() const noexcept { return sends_text_; }

private:
    std::vector<std::size_t> missing_;  // in rising order
    std::size_t next_ = 0;              // the script of which the node speaks next
    std::size_t loaded_ = 0;            // of the missing ones
    bool sends_text_ = false;
};

}  // namespace redlock::core
