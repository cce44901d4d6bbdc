// The life of a simulated program.
// SPDX-License-Identifier: MIT
#include "simulation/program.hpp"

#include "client/limit.hpp"
#include "client/operator.hpp"
#include "simulation/holders.hpp"
#include "simulation/visitor.hpp"
#include "simulation/watched.hpp"
#include "simulation/worker.hpp"
#include "wire/record.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>
#include <utility>

namespace redlock::simulation {

/// The program's end of one of the ways to a node.
class program::cable final : public detail::transport, private receiver {
public:
    cable(program& in, std::size_t index, std::size_t node)
        : in_(&in), index_(index), node_(node) {}

    void open() override {
        leave();
        to_ = in_->around_.net.connect(in_->index_, node_, *this);
    }
    void drop() override { leave(); }
    void flush() {
        if (!is_open_) return;
        detail::connection& words = in_->engine_->connection_at(index_);
        if (words.outgoing().empty()) return;
        to_->send(std::exchange(words.outgoing(), {}));
        words.on_written();
    }

private:
    void leave() {
        ++generation_;
        is_open_ = false;
        if (to_) std::exchange(to_, nullptr)->leave();
    }
    /// What comes of a connection that was left meanwhile is nobody's.
    template <class F>
    void tell(F what) {
        in_->deliver([this, what = std::move(what), generation = generation_] {
            if (generation == generation_) what(in_->engine_->connection_at(index_), clock::now());
        });
    }
    void on_open() override {
        tell([this](detail::connection& d, time_point now) {
            is_open_ = true;
            d.on_open(now);
        });
    }
    void on_bytes(std::string bytes) override {
        tell([bytes = std::move(bytes)](detail::connection& d, time_point now) {
            d.on_bytes(bytes, now);
        });
    }
    void on_down(bool was_refused) override {
        tell([was_refused](detail::connection& d, time_point now) {
            d.on_down(was_refused ? boost::asio::error::connection_refused
                                  : boost::asio::error::connection_reset,
                      now);
        });
    }

    program* in_;
    std::size_t index_;
    std::size_t node_;
    connection_ptr to_;
    std::uint64_t generation_ = 0;
    bool is_open_ = false;
};

struct program::house final : detail::lease_home {
    explicit house(program& p) : in(&p) {}
    void part(std::shared_ptr<detail::lease_state> state,
              detail::farewell::kind what) noexcept override {
        if (!state->part() || in == nullptr) return;
        in->around_.judge.ended(*state);
        in->after(duration(0), [in = in, state, what] { in->house_->on_farewell(*state, what); });
    }
    void on_farewell(detail::lease_state& state, detail::farewell::kind what) override {
        if (what == detail::farewell::kind::give_back) {
            in->engine_->give_back(state, clock::now());
        } else {
            in->engine_->let_go(state, clock::now());
        }
    }
    program* in;  // null once the process is gone
};

namespace {

client_options options_of(const plan& in, std::size_t index) {
    const program_plan& terms = in.programs[index];
    client_options o;
    for (const std::size_t i : in.nodes_of(index)) {
        node_options& n = o.nodes.emplace_back();
        n.name = "n" + std::to_string(i);
        n.port = static_cast<std::uint16_t>(7'000 + i);
        if (!terms.is_joint()) continue;
        const bool is_old = (terms.list >> i & 1U) != 0;
        const bool is_new = (terms.list_after >> i & 1U) != 0;
        n.change = is_old && is_new ? list_change::none
                   : is_old         ? list_change::leaving
                                    : list_change::joining;
    }
    o.node_timeout = in.node_timeout;
    o.connect_timeout = in.connect_timeout;
    o.ttl_max = terms.ttl_max > milliseconds(0) ? terms.ttl_max : in.ttl_max;
    o.drift_factor = in.drift_factor;
    o.drift_min = in.drift_min;
    o.client_name = in.are_twins ? "p" : "p" + std::to_string(index);
    o.fencing = terms.is_fenced;
    o.guard = terms.is_guarded ? restart_guard::automatic : restart_guard::off;
    return o;
}

}  // namespace

program::program(std::size_t index, const surroundings& around)
    : index_(index),
      around_(around),
      dice_(around.in.seed, stream::program, index),
      clock_(around.when.now(), time_point(std::chrono::hours(100 + 1'000 * index)),
             around.in.programs[index].drift_ppm),
      nodes_(around.in.nodes_of(index)),
      options_(options_of(around.in, index)) {
    options_.on_event = [this](const event& e) { on_event(e); };
}

program::~program() {
    if (is_running()) kill();
}

std::string program::name() const {
    return "p" + std::to_string(index_) +
           (incarnation_ > 1 ? "'" + std::to_string(incarnation_ - 1) : std::string());
}

// One server may have two names in a list that does not change.
bool program::is_quorum(std::uint32_t servers) const {
    const auto count = static_cast<std::size_t>(std::popcount(servers));
    if (!terms().is_joint()) return count >= quorum();
    const auto is_majority = [servers](std::uint32_t list) {
        return 2 * std::popcount(servers & list) > std::popcount(list);
    };
    return is_majority(terms().list) && is_majority(terms().list_after);
}

time_point program::quorum_keeps(const std::array<time_point, 8>& by_server) const {
    auto ends = by_server;
    std::sort(ends.begin(), ends.end(), std::greater<>());
    if (!terms().is_joint()) return ends.at(quorum() - 1);
    for (const time_point at : ends) {
        std::uint32_t longer = 0;
        for (std::size_t i = 0; i < by_server.size(); ++i) {
            if (by_server[i] >= at) longer |= 1U << i;
        }
        if (is_quorum(longer)) return at;
    }
    return time_point::min();
}

void program::start() {
    ++incarnation_;
    is_closed_ = false;
    started_at_ = around_.when.now();
    traffic_ = std::make_unique<detail::traffic>();
    house_ = std::make_shared<house>(*this);
    const std::size_t nodes = nodes_.size();
    for (std::size_t i = 0; i < detail::connections_per_node * nodes; ++i) {
        cables_.push_back(std::make_unique<cable>(*this, i, nodes_[i % nodes]));
    }
    detail::engine_host& host = *this;
    engine_ = std::make_unique<detail::engine>(options_, host, *traffic_);
    if (terms().calls > 0) {
        limiter_ = std::make_shared<detail::limiter>(std::string(limited_resource), around_.in.limit,
                                                     around_.in.period, options_);
    }
    for (std::size_t i = 0; i < terms().workers; ++i) {
        workers_.push_back(std::make_unique<worker>(
            *this, i, chance(around_.in.seed, stream::worker, index_ * 8 + i, incarnation_)));
    }
    if (terms().is_brief()) {
        visitor_ = std::make_unique<visitor>(
            *this, chance(around_.in.seed, stream::worker, index_ * 8, incarnation_));
    }
    around_.log.tell(around_.when.now(), [&] { return name() + " starts"; });
    deliver([this] {
        // Workers will acquire. The quarantine of a node begins with the first client that keeps
        // records. What is brief takes the role that its errand gives it.
        if (!terms().is_brief() && !terms().looks_first) {
            engine_->parts().tracker.take_role(core::record_role::keeps, clock::now());
        }
        engine_->start(clock::now());
        for (const auto& w : workers_) w->think();
        if (visitor_) visitor_->begin();
    });
}

void program::kill() {
    if (!is_running()) return;
    around_.log.tell(around_.when.now(), [&] { return name() + " dies"; });
    const auto stats = engine_->stats();
    around_.counts.second_rounds += stats.second_rounds;
    around_.counts.timeouts += stats.timeouts;
    around_.counts.late_replies += stats.late_replies;
    around_.counts.owed_releases += stats.owed_releases;
    house_->in = nullptr;
    for (const auto& w : workers_) w->vanish();
    if (visitor_) visitor_->vanish();
    engine_->discard();
    for (const auto& w : cables_) w->drop();
    engine_.reset();
    workers_.clear();
    visitor_.reset();
    cables_.clear();
    house_.reset();
    backlog_.clear();
    for (const auto& owner : owners_) around_.judge.died(owner);
    owners_.clear();
    running_out_.clear();
    is_misled_ = false;
    open_operations_ = 0;
    armed_for_ = time_point::max();
    ++alarms_;
}

void program::pause() {
    ++stops_;
    ++pauses_;
}

void program::resume() {
    if (--stops_ != 0 || !is_running()) return;
    resumed_at_ = local_now();
    // Whether the timer or the sockets come first is the kernel's to decide.
    const bool alarm_first = dice_.happens(0.5);
    if (alarm_first) ring(alarms_);
    for (auto& what : std::exchange(backlog_, {})) turn(what);
    if (!alarm_first) ring(alarms_);
}

void program::suspend() {
    pause();
    clock_.suspend(around_.when.now());
}

void program::wake() {
    clock_.wake(around_.when.now());
    resume();
}

void program::stall() {
    pause();
    clock_.stand_still(around_.when.now());
}

void program::go_on() {
    clock_.go_on(around_.when.now());
    is_misled_ = is_running();
    resume();
    if (!is_running()) return;
    armed_for_ = time_point::max();  // the alarm was set by a clock that goes on later now
    turn([] {});
    after(around_.in.until_stall_is_seen(), [this] {
        if (!std::exchange(is_misled_, false)) return;
        around_.judge.is_sure_again(*this);
    });
}

void program::deliver(std::function<void()> what) {
    if (!is_running()) return;
    if (stops_ != 0) {
        backlog_.push_back(std::move(what));
    } else {
        turn(what);
    }
}

void program::after(duration delay, std::function<void()> what) {
    around_.when.after(delay, [this, what = std::move(what), incarnation = incarnation_] {
        if (incarnation == incarnation_) deliver(what);
    });
}

void program::turn(const std::function<void()>& what) {
    const clock_in_use mine(clock_, around_.when.now());
    what();
    engine_->end_turn(clock::now());
    for (const auto& w : cables_) w->flush();
    engine_->end_if_idle(clock::now());
    arm();
    around_.judge.after_turn(*this, engine_->deadline());
}

void program::arm() {
    time_point next = engine_->is_over() ? time_point::max() : engine_->deadline();
    // A timer waits on the clock that the product reads, whichever that is.
    if (next != time_point::max()) next += local_now() - clock::now();
    if (next >= armed_for_) return;
    armed_for_ = next;
    around_.when.at(clock_.true_time(next), [this, number = ++alarms_] { ring(number); });
}

void program::ring(std::uint64_t number) {
    if (number != alarms_ || stops_ != 0 || armed_for_ > local_now()) return;
    armed_for_ = time_point::max();
    turn([this] {
        engine_->on_time(clock::now());
        around_.judge.after_alarm(*this);
    });
}

void program::begin(const detail::operation_ptr& what) {
    ++open_operations_;
    engine_->begin(what, clock::now());
}

void program::cancel(detail::operation& what) {
    what.cancel(boost::asio::error::operation_aborted, clock::now());
}

void program::prove_alive(milliseconds patience, duration in_time) {
    deliver([this, patience, in_time] {
        for (const auto& w : workers_) w->prove_alive(patience, in_time);
    });
}

bool program::is_done() const noexcept {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& w) { return w->is_done(); });
}

void program::close() {
    deliver([this] {
        is_closed_ = true;
        around_.judge.closes(*this);
        const time_point began = clock::now();
        engine_->close(began);
        around_.judge.require(open_operations_ == 0, "once", [&] {
            return name() + " is closed, and " + std::to_string(open_operations_) +
                   " operations have not ended";
        });
        check_closing(began);
    });
}

struct program::declaration final : watched<detail::declare_operation, program> {
    using watched::watched;
    void complete(error_code outcome, std::vector<node_vote>) override {
        program& by = ended();
        by.around_.judge.require(!outcome, "available", [&] {
            return by.name() + " could not declare its nodes new: " + outcome.message();
        });
        by.around_.judge.require(!by.is_displaced(), "available", [&] {
            return by.name() + " has declared its nodes new, and one belongs to another set";
        });
    }
};

void program::declare() {
    deliver([this] { begin(detail::operation_ptr(new declaration(*this, *this))); });
}

void program::leave() {
    after(duration(0), [this] { close(); });
    around_.when.after(duration(around_.in.longest_node_timeout()),
                       [this, incarnation = incarnation_] {
                           if (incarnation == incarnation_) kill();
                       });
}

// It waits for nodes that answer, and for no others.
void program::check_closing(time_point began) {
    const duration soon = duration(around_.in.longest_node_timeout()) * 104 / 100 + milliseconds(1);
    after(soon, [this, began, soon] {
        if (is_over() || was_stopped_since(began)) return;
        const time_point now = clock::now();
        bool is_answered = false;
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            const time_point last = engine_->node(n).last_answer();
            is_answered = is_answered || (awaits(n) && last + soon >= now);
        }
        const bool is_bounded = now - began <= duration(around_.in.ttl_max) + soon;
        around_.judge.require(is_answered && is_bounded, "bounded",
                              [&] { return name() + " was closed long ago and is not over"; });
        check_closing(began);
    });
}

std::size_t program::backlog() const {
    std::size_t out = 0;
    for (std::size_t n = 0; is_running() && n < nodes_.size(); ++n) {
        out += engine_->node(n).backlog();
    }
    return out;
}

bool program::has_left(std::string_view value) const {
    const auto owner = value.substr(0, identity_length);
    // What was given back a moment ago may be on its way.
    const auto in_time = 2 * duration(around_.in.longest_node_timeout());
    if (around_.when.now() - gave_back_at_ < in_time) return false;
    // Without fences a late command takes the key again: that is not promised there.
    return terms().is_fenced && is_done() && owners_.contains(owner) &&
           !running_out_.contains(owner);
}

// The words of the node record; none where there is none.
testing::record_words program::record_on(std::size_t node) const {
    const auto& all = around_.net.at(nodes_[node]).model().database().all();
    const auto at = all.find("redlock:node");
    if (at == all.end() || at->second.text() == nullptr) return {};
    return testing::record_words(*at->second.text());
}

bool program::is_displaced() const {
    if (!around_.in.has_lists()) return false;
    const std::string own = wire::node_set(options_);
    const std::string after = wire::node_set_after(options_);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        const testing::record_words words = record_on(n);
        const std::string set = words["set"];
        const std::string change = words["change"];
        if (!words.empty() && set != own && set != after) return true;
        if (change != "-" && change != after && change != "joining") return true;
    }
    return false;
}

bool program::is_young_in_cluster_time(std::size_t node) const {
    const testing::record_words words = record_on(node);
    if (words.empty() || words["since"] == "0") return false;
    if (words["cluster_since"] == "-" || words["offset"] == "-") return true;
    const auto later_us = std::stoll(words["cluster_since"]) + std::stoll(words["offset"]) -
                          std::stoll(words["since"]);
    return std::chrono::microseconds(later_us) > std::chrono::seconds(1);
}

void program::expect_gone(std::string resource, std::string owner_value) {
    gave_back_at_ = around_.when.now();
    if (!terms().is_fenced) return;  // a late command may take it again
    const duration soon = 2 * duration(around_.in.longest_node_timeout());
    after(soon, [this, resource = std::move(resource), value = std::move(owner_value), soon,
                 until = around_.when.now() + around_.in.ttl_max] {
        check_gone(resource, value, soon, until);
    });
}

// Now and then until it would have run out by itself.
void program::check_gone(const std::string& resource, const std::string& owner_value,
                         duration after_that, time_point until) {
    if (around_.judge.is_relied_on(owner_value)) return;
    for (const std::size_t n : nodes_) {
        if (!around_.well.is_well(index_, n, around_.when.now())) continue;
        const auto& model = around_.net.at(n).model();
        const auto now_ms = model.wall.ms(around_.when.now());
        const bool has_it =
            holders_of(model.database(), resource, now_ms).contains(owner_value);
        around_.judge.require(!has_it, "litter", [&] {
            return name() + " gave " + resource + " back, and n" + std::to_string(n) +
                   " still has it";
        });
    }
    if (around_.when.now() + after_that > until) return;
    after(after_that, [this, resource, owner_value, after_that, until] {
        check_gone(resource, owner_value, 2 * after_that, until);
    });
}

owner_id program::fresh_owner() {
    owner_id id;
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
        id.bytes[i] = static_cast<std::uint8_t>(dice_.word());
    }
    owners_.insert(id.to_string());
    return id;
}

detail::transport& program::wire(std::size_t index) { return *cables_[index]; }

std::shared_ptr<detail::lease_home> program::home() { return house_; }

void program::on_event(const event& e) {
    if (e.error == errc::in_quarantine && e.kind == event_kind::node_reported) {
        ++around_.counts.quarantines;
    }
    if (e.kind == event_kind::clock_gap) {
        found_gap_at_ = around_.when.now();
        is_misled_ = false;
        around_.judge.found_gap(*this);
    }
    around_.log.tell(around_.when.now(), [&] { return name() + "  tells: " + format(e); });
}

}  // namespace redlock::simulation
