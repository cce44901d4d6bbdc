// Nodes in memory, and the wires and alarms of their clients.
// SPDX-License-Identifier: MIT
#include "testing/network.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace redlock::testing {

namespace asio = boost::asio;

namespace {

// Far from zero, where time points of other clocks are.
constexpr auto begin_of_time = std::chrono::hours(24 * 365);

constexpr std::string_view host_prefix = "node-";

// The node of that host, or `none`.
std::size_t index_of(std::string_view host, std::size_t none) {
    std::size_t i = none;
    if (!host.starts_with(host_prefix)) return none;
    host.remove_prefix(host_prefix.size());
    const auto end = host.data() + host.size();
    return std::from_chars(host.data(), end, i).ptr == end ? std::min(i, none) : none;
}

}  // namespace

class network::ticket {
public:
    // With the mutex held.
    explicit ticket(network& of) : of_(&of) { ++of.tickets_; }
    ticket(ticket&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    ~ticket() {
        if (of_ == nullptr) return;
        const std::lock_guard lock(of_->mutex_);
        if (--of_->tickets_ == 0) of_->is_idle_.notify_all();
    }

private:
    network* of_;
};

class network::memory_wire final : public detail::wire_performer {
public:
    memory_wire(network& in, detail::io_strand on, std::size_t index, std::size_t node,
                detail::wire_user& user)
        : node(node), index(index), user(&user), in_(&in), strand_(std::move(on)) {}
    ~memory_wire() override { in_->forget(*this); }

    void open() override { in_->open(*this); }
    void drop() override { in_->drop(*this); }
    void flush() override { in_->carry(*this); }

    /// With the mutex held.
    template <class F>
    void report(F what) {
        auto keep = user->keep_user();
        if (!keep) return;
        asio::post(strand_, [this, keep = std::move(keep), of = ticket(*in_),
                             generation = generation, what = std::move(what)]() mutable {
            if (generation != this->generation) return;  // only the strand itself changes it
            what(*user);
            user->end_turn();
        });
    }
    void report_bytes(std::string bytes) {
        if (bytes.empty()) return;
        report([this, bytes = std::move(bytes)](detail::wire_user& to) {
            to.on_wire_bytes(index, bytes);
        });
    }

    const std::size_t node;
    const std::size_t index;
    detail::wire_user* const user;
    std::uint64_t generation = 0;
    std::shared_ptr<link> to;

private:
    network* in_;
    detail::io_strand strand_;
};

class network::memory_alarm final : public detail::alarm_performer {
public:
    memory_alarm(network& in, detail::io_strand on) : in_(&in), strand_(std::move(on)) {
        const std::lock_guard lock(in.mutex_);
        in.alarms_.insert(this);
    }
    ~memory_alarm() override {
        const std::lock_guard lock(in_->mutex_);
        in_->alarms_.erase(this);
    }

    void start(std::shared_ptr<void> keep, std::function<void()> ring) override {
        const std::lock_guard lock(in_->mutex_);
        keep_ = std::move(keep);
        ring_ = std::move(ring);
    }
    void set(time_point when) noexcept override { in_->set(*this, when); }
    void stop() noexcept override {
        std::shared_ptr<void> last;  // it may be the client's, which ends without the mutex
        const std::lock_guard lock(in_->mutex_);
        due = time_point::max();
        last = std::exchange(keep_, nullptr);
        ring_ = nullptr;
    }

    /// With the mutex held.
    void ring() {
        due = time_point::max();
        asio::post(strand_, [this, keep = keep_, of = ticket(*in_)] {
            const auto what = ring_;
            if (what) what();
        });
    }

    time_point due = time_point::max();

private:
    network* in_;
    detail::io_strand strand_;
    std::shared_ptr<void> keep_;
    std::function<void()> ring_;
};

network::network(std::size_t nodes) : now_(std::chrono::nanoseconds(begin_of_time).count()) {
    for (std::size_t i = 0; i < nodes; ++i) nodes_.emplace_back(i);
    detail::use_moved_clock(&now_);
    detail::use_performers(this);
}

network::~network() {
    detail::use_performers(nullptr);
    detail::use_moved_clock(nullptr);
}

std::unique_ptr<detail::wire_performer> network::make_wire(const detail::io_strand& on,
                                                           std::size_t index,
                                                           const node_options& node,
                                                           detail::wire_user& user) {
    const std::size_t to = index_of(node.host, nodes_.size());
    auto made = std::make_unique<memory_wire>(*this, on, index, to, user);
    const std::lock_guard lock(mutex_);
    wires_.insert(made.get());
    return made;
}

std::unique_ptr<detail::alarm_performer> network::make_alarm(const detail::io_strand& on) {
    return std::make_unique<memory_alarm>(*this, on);
}

void network::advance(duration by, const std::function<void()>& settle) {
    const time_point target = now() + by;
    settle();
    while (move_on(target)) settle();
    settle();
}

// To the first alarm by `limit`, and rings those that are due; or to `limit` where there is none,
// and returns false.
bool network::move_on(time_point limit) {
    const std::lock_guard lock(mutex_);
    time_point next = time_point::max();
    for (const memory_alarm* a : alarms_) next = std::min(next, a->due);
    const bool is_due = next <= limit;
    const time_point to = std::max(now(), is_due ? next : limit);
    now_.store(std::chrono::nanoseconds(to.time_since_epoch()).count());
    for (memory_alarm* a : alarms_) {
        if (a->due <= to) a->ring();
    }
    return is_due;
}

void network::await_idle() {
    std::unique_lock lock(mutex_);
    is_idle_.wait(lock, [this] { return tickets_ == 0; });
}

void network::set_state(std::size_t node, state to) {
    const std::lock_guard lock(mutex_);
    nodes_.at(node).is = to;
    if (to == state::down) return break_links(node);
    if (to == state::hung) return;
    for (memory_wire* w : wires_) {
        if (w->node != node || !w->to) continue;
        w->report_bytes(execute(node, *w->to, std::exchange(w->to->kept, {})));
    }
}

void network::restart(std::size_t node, fakes::redis_model::data what) {
    const std::lock_guard lock(mutex_);
    nodes_.at(node).model.crash(what);
    nodes_.at(node).is = state::up;
    break_links(node);
}

void network::on_each(const std::function<void(fakes::redis_model&, time_point)>& what) {
    const std::lock_guard lock(mutex_);
    for (node& n : nodes_) what(n.model, now());
}

void network::break_links(std::size_t node) {
    for (memory_wire* w : wires_) {
        if (w->node != node || !w->to) continue;
        w->to.reset();
        w->report([i = w->index](detail::wire_user& user) {
            user.on_wire_down(i, asio::error::connection_reset);
        });
    }
}

std::string network::execute(std::size_t node, link& from, const std::string& bytes) {
    std::string out;
    for (const auto& command : from.reader.feed(bytes)) {
        out += fakes::to_resp2(nodes_.at(node).model.execute(from, command, now()));
    }
    return out;
}

void network::open(memory_wire& what) {
    const std::lock_guard lock(mutex_);
    ++what.generation;
    what.to.reset();
    if (what.node >= nodes_.size() || nodes_[what.node].is == state::down) {
        return what.report([i = what.index](detail::wire_user& user) {
            user.on_wire_down(i, asio::error::connection_refused);
        });
    }
    what.to = std::make_shared<link>();
    what.to->push = [&what](std::string message) { what.report_bytes(std::move(message)); };
    what.report([i = what.index](detail::wire_user& user) { user.on_wire_open(i); });
}

void network::drop(memory_wire& what) noexcept {
    const std::lock_guard lock(mutex_);
    ++what.generation;
    what.to.reset();
}

void network::forget(memory_wire& what) noexcept {
    const std::lock_guard lock(mutex_);
    what.to.reset();
    wires_.erase(&what);
}

void network::carry(memory_wire& what) {
    const std::lock_guard lock(mutex_);
    if (!what.to) return;
    const std::string bytes = what.user->take_outgoing(what.index);
    if (bytes.empty()) return;
    if (nodes_[what.node].is == state::hung) {
        what.to->kept += bytes;
    } else {
        what.report_bytes(execute(what.node, *what.to, bytes));
    }
}

void network::set(memory_alarm& what, time_point when) {
    const std::lock_guard lock(mutex_);
    what.due = when;
    if (when <= now()) what.ring();
}

}  // namespace redlock::testing
