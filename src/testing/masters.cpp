// Masters in memory.
// SPDX-License-Identifier: MIT
#include "testing/masters.hpp"

#include <redlock/client.hpp>
#include <redlock/testing.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

namespace redlock::testing {

command_reader::command_reader() : reader_(::redisReaderCreate(), &::redisReaderFree) {
    if (!reader_) throw std::bad_alloc();
}

std::vector<fakes::command> command_reader::feed(std::string_view bytes) {
    ::redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
    std::vector<fakes::command> commands;
    for (;;) {
        void* found = nullptr;
        if (::redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
            throw std::runtime_error("a client sent what is no command");
        }
        if (found == nullptr) return commands;
        const std::unique_ptr<redisReply, void (*)(void*)> read(static_cast<redisReply*>(found),
                                                                &::freeReplyObject);
        auto& command = commands.emplace_back();
        for (std::size_t i = 0; i < read->elements; ++i) {
            command.emplace_back(read->element[i]->str, read->element[i]->len);
        }
    }
}

namespace asio = boost::asio;

namespace {

// Far from zero, where time points of other clocks are.
constexpr auto begin_of_time = std::chrono::hours(24 * 365);

constexpr std::string_view host_prefix = "node-";

// Clients find one network in the process.
std::atomic<bool> exists{false};

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
    explicit ticket(network& of)
        : of_(&of), at_(of.tickets_.insert(of.tickets_.end(), real_clock::now())) {}
    ticket(ticket&& other) noexcept : of_(std::exchange(other.of_, nullptr)), at_(other.at_) {}
    ~ticket() {
        if (of_ == nullptr) return;
        const std::lock_guard lock(of_->mutex_);
        of_->tickets_.erase(at_);
        if (!of_->tickets_.empty()) return;
        ++of_->idle_times_;
        of_->is_idle_.notify_all();
    }

private:
    network* of_;
    std::list<real_clock::time_point>::iterator at_;
};

// The way to the strand of one wire or alarm, from any thread. Its owner closes it before the
// context can end, and waits for what is being posted: nothing is posted to a context that is gone.
class network::closable_strand {
public:
    explicit closable_strand(detail::io_strand on) : strand_(std::move(on)) {}

    template <class F>
    void post(F what) {
        const std::lock_guard lock(mutex_);
        if (strand_) asio::post(*strand_, std::move(what));
    }
    void close() noexcept {
        const std::lock_guard lock(mutex_);
        strand_.reset();
    }

private:
    std::mutex mutex_;
    std::optional<detail::io_strand> strand_;
};

// What is to be posted. It does not own the client: a client ends on its strand or where the
// program drops it, since only there its context is sure to exist.
struct network::delayed_post {
    std::shared_ptr<closable_strand> by;
    std::weak_ptr<void> user;
    std::function<void()> what;
    ticket of;

    void go() {
        by->post([user = std::move(user), what = std::move(what), of = std::move(of)] {
            if (const auto keep = user.lock()) what();
        });
    }
};

// Holds the mutex, and posts what was to be posted after it has released it.
class network::section {
public:
    explicit section(network& of) : of_(&of), lock_(of.mutex_) {}
    ~section() {
        auto delayed = std::exchange(of_->delayed_, {});
        lock_.unlock();
        for (delayed_post& e : delayed) e.go();
    }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

private:
    network* of_;
    std::unique_lock<std::mutex> lock_;
};

class network::memory_wire final : public detail::wire_performer {
public:
    memory_wire(network& in, detail::io_strand on, std::size_t index, std::size_t node,
                detail::wire_owner& owner)
        : node(node),
          index(index),
          owner(&owner),
          in_(&in),
          strand_(std::make_shared<closable_strand>(std::move(on))) {}
    ~memory_wire() override {
        in_->forget(*this);
        strand_->close();
    }

    void open() override { in_->open(*this, owner->keep_alive()); }
    void drop() override { in_->drop(*this); }
    void flush() override { in_->flush(*this); }

    using event = std::function<void(detail::connection&)>;
    /// With the mutex held. Events happen in the order in which they are reported, in whatever
    /// order the threads that report them reach the strand.
    void report(event what) {
        events.push_back(std::move(what));
        in_->delayed_.push_back({strand_, keep, [this] { deliver(); }, ticket(*in_)});
    }
    void report_bytes(std::string bytes) {
        if (bytes.empty()) return;
        report([bytes = std::move(bytes)](detail::connection& to) {
            to.on_bytes(bytes, redlock::clock::now());
        });
    }

    const std::size_t node;
    const std::size_t index;
    detail::wire_owner* const owner;
    std::weak_ptr<void> keep;  // the owner
    std::shared_ptr<link> to;
    std::deque<event> events;  // of this connection, not of one before it

private:
    void deliver() {
        event next;
        {
            const section held(*in_);
            if (events.empty()) return;
            next = std::move(events.front());
            events.pop_front();
        }
        next(owner->user_of(index));
        owner->end_turn();
    }

    network* in_;
    std::shared_ptr<closable_strand> strand_;
};

class network::memory_alarm final : public detail::alarm_performer {
public:
    memory_alarm(network& in, detail::io_strand on)
        : in_(&in), strand_(std::make_shared<closable_strand>(std::move(on))) {
        const section held(in);
        in.alarms_.push_back(this);
    }
    ~memory_alarm() override {
        {
            const section held(*in_);
            std::erase(in_->alarms_, this);
        }
        strand_->close();
    }

    void start(std::shared_ptr<void> keep, std::function<void()> ring) override {
        {
            const section held(*in_);
            user_ = keep;
        }
        keep_ = std::move(keep);
        ring_ = std::move(ring);
    }
    void set(time_point when) noexcept override { in_->set(*this, when); }
    void stop() noexcept override {
        {
            const section held(*in_);
            due = time_point::max();
        }
        ring_ = nullptr;
        const auto last = std::exchange(keep_, nullptr);  // it may own this alarm
    }

    /// With the mutex held.
    void ring() {
        due = time_point::max();
        in_->delayed_.push_back({strand_, user_,
                                 [this] {
                                     const auto what = ring_;  // which may stop the alarm
                                     if (what) what();
                                 },
                                 ticket(*in_)});
    }

    time_point due = time_point::max();

private:
    network* in_;
    std::shared_ptr<closable_strand> strand_;
    std::weak_ptr<void> user_;
    // Only the strand uses these.
    std::shared_ptr<void> keep_;
    std::function<void()> ring_;
};

network::network(std::size_t nodes) : now_(std::chrono::nanoseconds(begin_of_time).count()) {
    for (std::size_t i = 0; i < nodes; ++i) nodes_.emplace_back(i);
    if (exists.exchange(true)) {
        throw std::logic_error("redlock::testing::masters: there is another object of this class");
    }
    detail::use_moved_clock(&now_);
    detail::use_performers(this);
}

// Not by `assert`: the programs of users link a library that was built without assertions, and
// would hang or crash later.
network::~network() {
    detail::use_performers(nullptr);
    detail::use_moved_clock(nullptr);
    {
        const std::lock_guard lock(mutex_);
        if (!wires_.empty() || !alarms_.empty() || !tickets_.empty()) {
            std::fputs(
                "redlock::testing::masters: destroyed before a client of it, or before the "
                "context on which one ran\n",
                stderr);
            std::abort();
        }
    }
    exists.store(false);
}

std::unique_ptr<detail::wire_performer> network::make_wire(const detail::io_strand& on,
                                                           std::size_t index,
                                                           const node_options& node,
                                                           detail::wire_owner& owner) {
    const std::size_t to = index_of(node.host, nodes_.size());
    auto made = std::make_unique<memory_wire>(*this, on, index, to, owner);
    const section held(*this);
    wires_.push_back(made.get());
    return made;
}

std::unique_ptr<detail::alarm_performer> network::make_alarm(const detail::io_strand& on) {
    return std::make_unique<memory_alarm>(*this, on);
}

void network::advance(duration by, const std::function<void()>& settle) {
    {
        const section held(*this);
        if (is_moving_) {
            throw std::logic_error(
                "redlock::testing::masters: advance was called while another call moves the clock");
        }
        is_moving_ = true;
    }
    const std::unique_ptr<network, void (*)(network*)> at_end(this, [](network* n) {
        const section held(*n);
        n->is_moving_ = false;
    });
    const time_point target = now() + by;
    settle();
    while (move_on(target)) settle();
    settle();
}

// To the first alarm by `limit`, and rings those that are due; or to `limit` where there is none,
// and returns false.
bool network::move_on(time_point limit) {
    const section held(*this);
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

// It suffices that nothing was left at one instant: clients in other threads may begin something at
// any time.
void network::await_idle(real_clock::duration limit) {
    std::unique_lock lock(mutex_);
    const auto began = real_clock::now();
    const std::uint64_t idle_times = idle_times_;
    while (!tickets_.empty() && idle_times_ == idle_times) {
        const auto until = std::max(began, tickets_.front()) + limit;
        if (real_clock::now() >= until) {
            throw std::runtime_error(
                "redlock::testing::masters: advance(by) waits for a client whose io_context no "
                "thread runs; move such clients by advance(context, by)");
        }
        is_idle_.wait_until(lock, until);
    }
}

void network::set_state(std::size_t node, state to) {
    const section held(*this);
    nodes_.at(node).is = to;
    if (to == state::down) return break_links(node);
    if (to == state::hung) return;
    for (const unread& u : std::exchange(nodes_[node].received, {})) {
        execute(node, *u.from, u.bytes);
    }
}

void network::restart(std::size_t node, fakes::redis_model::data what) {
    const section held(*this);
    nodes_.at(node).model.crash(what);
    nodes_.at(node).is = state::up;
    break_links(node);
}

void network::on_each(const std::function<void(fakes::redis_model&, time_point)>& what) {
    const section held(*this);
    for (node& n : nodes_) what(n.model, now());
}

void network::break_links(std::size_t node) {
    nodes_[node].received.clear();
    for (memory_wire* w : wires_) {
        if (w->node == node && w->to) end_by_server(*w);
    }
}

void network::end_by_server(memory_wire& what) {
    unlink(what);
    what.report([](detail::connection& user) {
        user.on_down(asio::error::connection_reset, redlock::clock::now());
    });
}

void network::unlink(memory_wire& what) noexcept {
    if (what.to) what.to->answers_to = nullptr;
    what.to.reset();
}

void network::execute(std::size_t node, link& from, const std::string& bytes) {
    std::string out;
    for (const auto& command : from.reader.feed(bytes)) {
        out += fakes::to_resp2(nodes_.at(node).model.execute(from, command, now()));
    }
    if (from.answers_to != nullptr) from.answers_to->report_bytes(std::move(out));
}

void network::open(memory_wire& what, const std::shared_ptr<void>& keep) {
    const section held(*this);
    what.keep = keep;
    what.events.clear();
    unlink(what);
    if (what.node >= nodes_.size() || nodes_[what.node].is == state::down) {
        return what.report([](detail::connection& user) {
            user.on_down(asio::error::connection_refused, redlock::clock::now());
        });
    }
    what.to = std::make_shared<link>();
    what.to->answers_to = &what;
    what.to->push = [from = what.to.get()](std::string message) {
        if (from->answers_to != nullptr) from->answers_to->report_bytes(std::move(message));
    };
    what.to->hang_up = [from = what.to.get()] {
        if (from->answers_to != nullptr) end_by_server(*from->answers_to);
    };
    what.report([](detail::connection& user) { user.on_open(redlock::clock::now()); });
}

// A node that hangs keeps what it was sent.
void network::drop(memory_wire& what) noexcept {
    const section held(*this);
    what.events.clear();
    unlink(what);
}

void network::forget(memory_wire& what) noexcept {
    const section held(*this);
    unlink(what);
    std::erase(wires_, &what);
}

void network::flush(memory_wire& what) {
    {
        const section held(*this);
        if (!what.to) return;
    }
    detail::connection& user = what.owner->user_of(what.index);
    const std::string bytes = std::exchange(user.outgoing(), {});
    if (bytes.empty()) return;
    user.on_written();
    const section held(*this);
    if (!what.to) return;  // the node ended meanwhile
    if (nodes_[what.node].is == state::hung) {
        nodes_[what.node].received.push_back({what.to, bytes});
    } else {
        execute(what.node, *what.to, bytes);
    }
}

void network::set(memory_alarm& what, time_point when) {
    const section held(*this);
    what.due = when;
    if (when <= now()) what.ring();
}

class masters::world final : public network {
public:
    using network::network;
};

masters::masters(std::size_t nodes) {
    if (nodes == 0 || nodes > max_nodes) {
        throw std::invalid_argument("redlock::testing::masters: 1 to " + std::to_string(max_nodes) +
                                    " nodes");
    }
    world_ = std::make_unique<world>(nodes);
    boost::asio::io_context context;
    client first(context, options());
    first.async_init([](error_code, const std::vector<node_vote>&) {});
    advance(context, std::chrono::seconds(1));
    first.close();
    advance(context, std::chrono::seconds(1));
}

masters::~masters() = default;

client_options masters::options() const {
    client_options all;
    for (std::size_t i = 0; i < world_->size(); ++i) {
        node_options node;
        node.host = "node-" + std::to_string(i);
        node.name = node.host;
        all.nodes.push_back(std::move(node));
    }
    all.client_name = "test";
    return all;
}

void masters::advance(boost::asio::io_context& context, clock::duration by) {
    world_->advance(by, [&] {
        context.restart();
        while (context.poll() > 0) {
        }
    });
}

void masters::advance(clock::duration by) {
    world_->advance(by, [&] { world_->await_idle(); });
}

void masters::shut_down(std::size_t node) { world_->set_state(node, network::state::down); }
void masters::hang(std::size_t node) { world_->set_state(node, network::state::hung); }
void masters::resume(std::size_t node) { world_->set_state(node, network::state::up); }

void masters::restart(std::size_t node, data what) {
    world_->restart(
        node, what == data::kept ? fakes::redis_model::data::kept : fakes::redis_model::data::lost);
}

void masters::occupy(const std::string& resource, std::chrono::milliseconds ttl) {
    world_->on_each([&](fakes::redis_model& node, time_point now) {
        node.database().put(resource, {"another program", node.wall.ms(now) + ttl.count()});
    });
}

void masters::vacate(const std::string& resource) {
    world_->on_each([&](fakes::redis_model& node, time_point now) {
        node.database().erase(resource, node.wall.ms(now));
    });
}

std::size_t masters::holding(const std::string& resource) const {
    std::size_t found = 0;
    world_->on_each([&](fakes::redis_model& node, time_point now) {
        if (node.database().find(resource, node.wall.ms(now)) != nullptr) ++found;
    });
    return found;
}

std::size_t masters::waiting(const std::string& resource) const {
    const std::string end = "{" + resource + "}:queue";
    std::size_t most = 0;
    world_->on_each([&](fakes::redis_model& node, time_point now) {
        node.database().sweep(node.wall.ms(now));
        for (const auto& [name, what] : node.database().all()) {
            const auto* const queue = std::get_if<fakes::sorted_set>(&what.value);
            if (queue != nullptr && name.ends_with(end)) most = std::max(most, queue->all().size());
        }
    });
    return most;
}

}  // namespace redlock::testing
