// One engine, its nodes and the network between them in virtual time; knows no socket and no clock.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/acquire.hpp"
#include "client/adopt.hpp"
#include "client/commit.hpp"
#include "client/engine.hpp"
#include "client/extend.hpp"
#include "client/inspect.hpp"
#include "client/operator.hpp"
#include "client/release.hpp"
#include "client/watch.hpp"
#include "component/support/fake_node.hpp"
#include "support/catch.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/access.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

inline const auto& state_of(const lease& held) { return detail::access::state(held); }

}  // namespace redlock

namespace redlock::fakes {

using namespace std::chrono_literals;

/// How an operation ended: `outcomes` has one element when all is well.
struct ending {
    std::vector<error_code> outcomes{};
    int discards = 0;
    redlock::lease held{};       // of an acquire or an adoption
    loss lost_for{};             // of a wait for the loss
    resource_state state{};      // of an inspection, or of a watch
    revocation revoked{};        // of a revocation
    std::vector<node_vote> answers{};  // of a declaration
    commit_report change{};            // of a commit
    std::vector<std::string> names{};  // of a list
    detail::operation_ptr what{};

    bool is_over() const { return !outcomes.empty(); }
    error_code outcome() const { return outcomes.size() == 1 ? outcomes[0] : errc::client_closed; }
};
using ending_ptr = std::shared_ptr<ending>;

struct told {
    event_kind kind{};
    redlock::severity severity{};
    error_code error{};
    std::string resource{}, node{}, detail{};
    std::chrono::microseconds duration{};
};

template <class Base>
class recorded : public Base {
public:
    template <class... Args>
    explicit recorded(ending_ptr to, Args&&... args)
        : Base(std::forward<Args>(args)...), to_(std::move(to)) {}
    void discard() noexcept final { ++to_->discards; }

protected:
    ending& to() const { return *to_; }

private:
    ending_ptr to_;
};

/// Of what completes with nothing but its outcome.
template <class Operation>
struct recorded_end final : recorded<Operation> {
    using recorded<Operation>::recorded;
    void complete(error_code outcome) override { this->to().outcomes.push_back(outcome); }
};
using recorded_extend = recorded_end<detail::extend_operation>;
using recorded_downgrade = recorded_end<detail::downgrade_operation>;
using recorded_release = recorded_end<detail::release_operation>;
using recorded_close = recorded_end<detail::close_operation>;

template <class Operation>
struct recorded_grant final : recorded<Operation> {
    using recorded<Operation>::recorded;
    void complete(error_code outcome, std::shared_ptr<detail::lease_state> state) override {
        this->to().outcomes.push_back(outcome);
        this->to().held = detail::access::lease_of(std::move(state));
    }
};
using recorded_acquire = recorded_grant<detail::acquire_operation>;
using recorded_adopt = recorded_grant<detail::adopt_operation>;

/// Of what completes with a value, which `member` of the ending gets.
template <class Operation, class Value, Value ending::*member>
struct recorded_value final : recorded<Operation> {
    using recorded<Operation>::recorded;
    void complete(error_code outcome, Value value) override {
        this->to().outcomes.push_back(outcome);
        this->to().*member = std::move(value);
    }
};
using recorded_revoke = recorded_value<detail::revoke_operation, revocation, &ending::revoked>;
using recorded_lost = recorded_value<detail::lost_operation, loss, &ending::lost_for>;
using recorded_declare =
    recorded_value<detail::declare_operation, std::vector<node_vote>, &ending::answers>;
using recorded_commit = recorded_value<detail::commit_operation, commit_report, &ending::change>;
using recorded_inspect =
    recorded_value<detail::inspect_operation, resource_state, &ending::state>;
using recorded_list =
    recorded_value<detail::list_operation, std::vector<std::string>, &ending::names>;
using recorded_watch = recorded_value<detail::watch_operation, resource_state, &ending::state>;

enum class mode {
    up,
    refuses,  ///< No connection is taken, and there is none.
    mute,     ///< Connections are taken and bytes kept, as for a stopped process.
};

class world;

/// One of the ways to a node. Bytes that were sent arrive, also where the sender has hung up since.
class fake_wire final : public detail::transport {
public:
    fake_wire(world& in, std::size_t index, std::size_t node)
        : in_(&in), index_(index), node_(node) {}
    void open() override;
    void drop() override {
        ++generation_;
        to_.reset();
    }
    void flush();
    void arrive(std::shared_ptr<connection> at, std::uint64_t generation, const std::string& bytes);
    void resume();
    void break_off();
    /// What is sent on the present connection is lost, and nothing says so.
    void go_dead() { dead_generation_ = generation_; }
    void hear(std::uint64_t generation, std::string said, duration work = {});
    std::size_t node() const noexcept { return node_; }

private:
    world* in_;
    std::size_t index_;
    std::size_t node_;
    std::uint64_t generation_ = 0;
    std::uint64_t dead_generation_ = 0;
    std::shared_ptr<connection> to_;
    std::vector<std::function<void()>> kept_;  // by a mute node
    time_point busy_until_{};                  // the node, with what came this way
};

inline client_options options_for(std::size_t nodes) {
    client_options o;
    for (std::size_t i = 0; i < nodes; ++i) {
        node_options n;
        n.name = "n" + std::to_string(i);
        n.port = static_cast<std::uint16_t>(7000 + i);
        o.nodes.push_back(n);
    }
    o.client_name = "tester";
    o.node_timeout = 50ms;  // what tests reckon with
    o.fencing = false;
    return o;
}

/// As a client has them by default: with fences and the restart guard.
inline client_options fenced_options_for(std::size_t nodes) {
    client_options o = options_for(nodes);
    o.fencing = true;
    return o;
}
/// The same with a `ttl_max`, which is also how long a quarantine lasts.
inline client_options fenced_options_for(std::size_t nodes, std::chrono::milliseconds ttl_max) {
    client_options o = fenced_options_for(nodes);
    o.ttl_max = ttl_max;
    return o;
}
/// A test that has these runs with fences and without.
inline client_options either_options_for(std::size_t nodes) {
    return GENERATE(true, false) ? fenced_options_for(nodes) : options_for(nodes);
}

class world : private detail::engine_host {
public:
    explicit world(std::size_t size = 3) : world(options_for(size)) {}
    explicit world(client_options o)
        : options(std::move(o)), home_(std::make_shared<house>(*this)) {
        options.on_event = [this](const event& e) {
            events.push_back({e.kind, e.severity, e.error, std::string(e.resource),
                              std::string(e.node), std::string(e.detail), e.duration});
        };
        const std::size_t n = options.nodes.size();
        for (std::size_t i = 0; i < n; ++i) nodes.emplace_back(i);
        modes.resize(n, mode::up);
        latency.resize(n, 100us);
        for (std::size_t i = 0; i < detail::connections_per_node * n; ++i) {
            wires_.push_back(std::make_unique<fake_wire>(*this, i, i % n));
        }
        detail::engine_host& host = *this;
        engine = std::make_unique<detail::engine>(options, host, traffic);
    }
    virtual ~world() { home_->in = nullptr; }
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    client_options options;
    std::vector<fake_node> nodes;
    std::vector<mode> modes;
    std::vector<duration> latency;  ///< One way.
    duration service{};             ///< That a node takes for a command, one after the other,
    duration service_per_byte{};    ///< and for each byte of it.
    bool answers_one_by_one = false;  ///< And not what came together together.
    std::vector<told> events;
    detail::traffic traffic;
    /// Later than any machine's, by whose clock a lease says that it is live; and the same in every
    /// run, since renewals fall on instants that all leases have in common.
    time_point now{std::chrono::nanoseconds(std::int64_t{1} << 61)};
    std::unique_ptr<detail::engine> engine;

    void start() {
        engine->start(now);
        end_turn();
    }
    /// Starts as a client that keeps its nodes' records, and waits until the handshakes are over.
    world& connected() {
        take_role(core::record_role::keeps);
        start();
        run_for(20ms);
        return *this;
    }
    /// The same, as one that has acquired nothing yet.
    world& looking() {
        start();
        run_for(20ms);
        return *this;
    }
    void take_role(core::record_role role) {
        engine->parts().tracker.take_role(role, now);
        end_turn();
    }

    ending_ptr acquire(std::string resource, acquire_options how = {}) {
        return begin<recorded_acquire>(std::move(resource), how);
    }
    ending_ptr acquire_all(std::vector<std::string> resources, acquire_options how = {}) {
        return begin<recorded_acquire>(resource_list(std::move(resources)), how);
    }
    /// As another process would: the client knows nothing of the lease but the token.
    ending_ptr adopt(std::string token, acquire_options how = {}) {
        return begin<recorded_adopt>(std::move(token), how);
    }
    ending_ptr adopted(std::string token, acquire_options how = {}) {
        const auto e = adopt(std::move(token), how);
        run_until_over(*e);
        return e;
    }
    ending_ptr revoke(resource_state shown) { return begin<recorded_revoke>(std::move(shown)); }
    ending_ptr extend(const lease& held, std::chrono::milliseconds ttl) {
        return begin<recorded_extend>(detail::access::state(held), ttl);
    }
    ending_ptr downgrade(const lease& held) {
        return begin<recorded_downgrade>(detail::access::state(held));
    }
    ending_ptr release(lease held) {
        return begin<recorded_release>(detail::access::surrender(std::move(held)));
    }
    ending_ptr lost(const lease& held) { return begin<recorded_lost>(detail::access::state(held)); }
    ending_ptr inspect(std::string resource) {
        return begin<recorded_inspect>(std::move(resource));
    }
    ending_ptr list(list_query what = {}) { return begin<recorded_list>(std::move(what)); }
    ending_ptr watch(std::string resource, resource_state last = {}) {
        return begin<recorded_watch>(std::move(resource), std::move(last));
    }
    ending_ptr declare(const init_options& how = {}) { return begin<recorded_declare>(how); }
    ending_ptr commit(const commit_options& how = {}) { return begin<recorded_commit>(how); }
    void cancel(ending& e) {
        e.what->cancel(boost::asio::error::operation_aborted, now);
        end_turn();
    }
    void close() {
        engine->close(now);
        end_turn();
    }
    ending_ptr start_close() { return begin<recorded_close>(); }
    /// As when the execution context is destroyed.
    void discard() {
        engine->discard();
        for (const auto& w : wires_) w->drop();
        due_.clear();
    }

    void set_mode(std::size_t node, mode m) {
        const mode before = std::exchange(modes[node], m);
        for (const auto& w : wires_) {
            if (w->node() != node) continue;
            if (m == mode::refuses) w->break_off();
            if (before == mode::mute && m == mode::up) w->resume();
        }
        end_turn();
    }
    /// The server dies and another process of it takes its place.
    void crash(std::size_t node, redis_model::data what) {
        nodes[node].crash(what);
        cut(node);
    }
    void step_clock(std::size_t node, duration by) { nodes[node].step_clock(by, now); }
    /// Its connections break; the node does not.
    void cut(std::size_t node) {
        for (const auto& w : wires_) {
            if (w->node() == node) w->break_off();
        }
        end_turn();
    }

    /// A firewall forgets its connections: what is sent on them is lost.
    void forget_connections(std::size_t node) {
        for (const auto& w : wires_) {
            if (w->node() == node) w->go_dead();
        }
    }

    /// Only the connection on which the client listens.
    void cut_subscription(std::size_t node) {
        wires_[nodes.size() + node]->break_off();
        end_turn();
    }

    void after(duration delay, std::function<void()> what) {
        due_.emplace(now + delay, std::move(what));
    }
    /// What a turn of the client's loop ends with, after a test has called the engine by itself.
    void end_of_turn() { end_turn(); }
    /// One thing happens. False when nothing is due before `limit`.
    bool turn(time_point limit) {
        const time_point alarm = engine->deadline();
        const bool is_event = !due_.empty() && due_.begin()->first <= alarm;
        const time_point next = is_event ? due_.begin()->first : alarm;
        if (next > limit) return false;
        now = std::max(now, next);
        if (is_event) {
            const auto what = std::move(due_.extract(due_.begin()).mapped());
            what();
        } else {
            engine->on_time(now);
        }
        end_turn();
        return true;
    }
    bool turn() { return turn(time_point::max() - 1ns); }
    void run_for(duration span) {
        const time_point limit = now + span;
        while (turn(limit)) {
        }
        now = limit;
    }
    /// Runs until then, or for a minute at most.
    bool run_until_over(const ending& e) {
        const time_point limit = now + 60s;
        while (!e.is_over() && turn(limit)) {
        }
        return e.is_over();
    }
    ending_ptr granted(std::string resource, acquire_options how = {}) {
        const auto e = acquire(std::move(resource), how);
        run_until_over(*e);
        return e;
    }

    /// Nodes that hold a key of that name whose value is nobody else's.
    std::size_t ours(const std::string& name) const {
        std::size_t n = 0;
        for (const auto& node : nodes) {
            const auto keys = node.keys(now);
            const auto it = keys.find(name);
            if (it != keys.end() && it->second.value != elsewhere &&
                it->second.value != foreign) {
                ++n;
            }
        }
        return n;
    }
    void take_elsewhere(const std::string& name, std::size_t how_many, duration ttl = 1h,
                        const std::string& value = elsewhere) {
        for (std::size_t i = 0; i < how_many; ++i) nodes[i].put(name, value, now + ttl);
    }
    std::size_t count(event_kind kind, severity least = severity::debug) const {
        std::size_t n = 0;
        for (const told& e : events) n += e.kind == kind && e.severity >= least ? 1U : 0U;
        return n;
    }
    /// What the last event of that kind says of time.
    std::chrono::microseconds last_duration(event_kind kind) const {
        std::chrono::microseconds last{-1};
        for (const told& e : events) last = e.kind == kind ? e.duration : last;
        return last;
    }
    std::size_t count_sent(std::string_view verb) const {
        std::size_t n = 0;
        for (const auto& node : nodes) n += node.count(verb);
        return n;
    }

    /// Of another client of this library, and of another library.
    inline static const std::string elsewhere = "ElsewhereElsewhere1234@elsewhere";
    inline static const std::string foreign = "somebody-else";

private:
    friend class fake_wire;

    struct house final : detail::lease_home {
        explicit house(world& w) : in(&w) {}
        void part(std::shared_ptr<detail::lease_state> state,
                  detail::farewell::kind what) noexcept override {
            if (!state->part() || in == nullptr) return;
            in->after(0ns, [in = in, state, what] { in->home_->on_farewell(*state, what); });
        }
        void on_farewell(detail::lease_state& state, detail::farewell::kind what) override {
            if (what == detail::farewell::kind::give_back) {
                in->engine->give_back(state, in->now);
            } else {
                in->engine->let_go(state, in->now);
            }
        }
        world* in;
    };

    template <class Operation, class... Args>
    ending_ptr begin(Args&&... args) {
        auto e = std::make_shared<ending>();
        const detail::operation_ptr what(new Operation(e, std::forward<Args>(args)...));
        engine->begin(what, now);
        // Kept for cancelling; dropped when nobody looks at the ending any more.
        e->what = what;
        endings_.push_back(e);
        end_turn();
        return e;
    }

    void end_turn() {
        if (engine->size() == 0) return;  // discarded
        engine->end_turn(now);
        for (const auto& w : wires_) w->flush();
        engine->end_if_idle(now);
    }

    std::uint64_t random_word() override { return random_ = random_ * 6364136223846793005U + 1; }
    owner_id fresh_owner() override {
        owner_id id;
        const std::uint64_t n = ++owners_;
        for (std::size_t i = 0; i < 8; ++i) id.bytes[i] = static_cast<std::uint8_t>(n >> 8 * i);
        return id;
    }
    detail::transport& wire(std::size_t index) override { return *wires_[index]; }
    std::shared_ptr<detail::lease_home> home() override { return home_; }

    /// An operation refers to its ending and the ending to it: cut when the world ends.
    struct endings : std::vector<ending_ptr> {
        ~endings() {
            for (const auto& e : *this) e->what.reset();
        }
    };

    std::vector<std::unique_ptr<fake_wire>> wires_;
    std::multimap<time_point, std::function<void()>> due_;
    std::shared_ptr<house> home_;
    endings endings_;
    std::uint64_t random_ = 1;
    std::uint64_t owners_ = 0;
};

/// One that is `connected()` from the beginning, as most tests want it.
class connected_world final : public world {
public:
    explicit connected_world(std::size_t size = 3) : world(size) { connected(); }
    explicit connected_world(client_options o) : world(std::move(o)) { connected(); }
};

inline void fake_wire::open() {
    const auto generation = ++generation_;
    in_->after(in_->latency[node_], [this, generation] {
        if (generation != generation_) return;
        if (in_->modes[node_] == mode::refuses) {
            return in_->engine->connection_at(index_).on_down(
                boost::asio::error::connection_refused, in_->now);
        }
        to_ = std::make_shared<connection>();
        to_->push = [this, generation](std::string message) {
            hear(generation, std::move(message));
        };
        in_->engine->connection_at(index_).on_open(in_->now);
    });
}

inline void fake_wire::flush() {
    if (!to_) return;
    std::string& out = in_->engine->connection_at(index_).outgoing();
    if (out.empty()) return;
    in_->after(in_->latency[node_],
               [this, at = to_, generation = generation_, bytes = std::exchange(out, {})] {
                   arrive(at, generation, bytes);
               });
    in_->engine->connection_at(index_).on_written();
}

inline void fake_wire::arrive(std::shared_ptr<connection> at, std::uint64_t generation,
                              const std::string& bytes) {
    if (generation == dead_generation_) return;
    switch (in_->modes[node_]) {
        case mode::refuses: return;
        case mode::mute:
            kept_.push_back([this, at, generation, bytes] { arrive(at, generation, bytes); });
            return;
        case mode::up: break;
    }
    fake_node& node = in_->nodes[node_];
    if (in_->answers_one_by_one) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            hear(generation, node.answer(*at, std::string_view(bytes).substr(i, 1), in_->now),
                 in_->service);
        }
        return;
    }
    const auto before = node.seen.size();
    std::string said = node.answer(*at, bytes, in_->now);
    const auto commands = static_cast<duration::rep>(node.seen.size() - before);
    hear(generation, std::move(said),
         in_->service * commands +
             in_->service_per_byte * static_cast<duration::rep>(bytes.size()));
}

inline void fake_wire::hear(std::uint64_t generation, std::string said, duration work) {
    if (said.empty()) return;
    busy_until_ = std::max(busy_until_, in_->now) + work;
    in_->after(busy_until_ - in_->now + in_->latency[node_], [this, generation, said = std::move(said)] {
        if (generation == generation_) in_->engine->connection_at(index_).on_bytes(said, in_->now);
    });
}

inline void fake_wire::resume() {
    for (const auto& late : std::exchange(kept_, {})) late();
}

inline void fake_wire::break_off() {
    const auto generation = generation_;
    kept_.clear();
    if (!std::exchange(to_, nullptr)) return;
    in_->after(0ns, [this, generation] {
        if (generation == generation_) {
            in_->engine->connection_at(index_).on_down(boost::asio::error::connection_reset,
                                                       in_->now);
        }
    });
}

}  // namespace redlock::fakes
