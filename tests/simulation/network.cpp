// Connections and what befalls them.
// SPDX-License-Identifier: MIT
#include "simulation/network.hpp"

#include <algorithm>
#include <utility>

namespace redlock::simulation {

connection::connection(network& in, std::size_t program, std::size_t node, receiver& to,
                       std::uint64_t number)
    : net_(&in),
      program_(program),
      node_(node),
      number_(number),
      to_(&to),
      dice_(in.plan_->seed, stream::wire, program * 64 + node, number) {}

void connection::open() {
    socket_ = std::make_shared<socket>([weak = weak_from_this()](std::string bytes) {
        if (const auto self = weak.lock()) self->reply(std::move(bytes));
    }, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ended_by_server();
    });
    if (net_->is_holding_) {
        is_dialling_ = true;
        dialled_for_ = net_->cause_;
        return;
    }
    const duration round_trip = net_->delay(node_, dice_) + net_->delay(node_, dice_);
    net_->when_->after(round_trip, [self = shared_from_this()] { self->dial(); });
}

void connection::dial() {
    if (to_ == nullptr || net_->is_blocked(program_, node_, true) ||
        net_->is_blocked(program_, node_, false)) {
        return;  // it hangs until the program gives it up
    }
    if (net_->at(node_).accept(socket_)) return to_->on_open();
    to_->on_down(true);
}

void connection::send(std::string bytes) {
    // TCP keeps no boundaries: a write may arrive in pieces.
    if (bytes.size() > 1 && !net_->is_holding_ && dice_.happens(0.05)) {
        const std::size_t half = 1 + dice_.below(bytes.size() - 1);
        carry(up_, true, bytes.substr(0, half));
        bytes.erase(0, half);
    }
    carry(up_, true, std::move(bytes));
}

void connection::carry(lane& on, bool to_node, std::string bytes) {
    if (net_->is_holding_) {
        if (on.is_dead) return;
        on.held.push_back(std::move(bytes));
        on.causes.push_back(net_->cause_);
        return;
    }
    on.last = std::max(on.last + std::chrono::nanoseconds(1),
                       net_->when_->now() + net_->delay(node_, dice_));
    net_->when_->at(on.last, [self = shared_from_this(), &on, to_node,
                              bytes = std::move(bytes)]() mutable {
        self->arrive(on, to_node, std::move(bytes));
    });
}

void connection::arrive(lane& on, bool to_node, std::string bytes) {
    if (on.is_dead) return;
    if (!on.held.empty() || net_->is_blocked(program_, node_, to_node)) {
        on.held.push_back(std::move(bytes));
        return;
    }
    hand_over(to_node, std::move(bytes));
}

void connection::hand_over(bool to_node, std::string bytes) {
    if (!to_node) {
        if (to_ != nullptr) to_->on_bytes(std::move(bytes));
        return;
    }
    server& s = net_->at(node_);
    if (to_ == nullptr && s.serves(*socket_)) ++net_->counts_->late_deliveries;
    s.receive(socket_, bytes,
              "p" + std::to_string(program_) + (to_ == nullptr ? ", which has left" : ""));
}

void connection::release(lane& on, bool to_node) {
    // At once: what was sent since may be about to arrive, and stays behind.
    for (auto& bytes : std::exchange(on.held, {})) arrive(on, to_node, std::move(bytes));
}

void connection::leave() {
    to_ = nullptr;
    if (net_->is_holding_) {
        down_.is_dead = true;
        left_for_ = net_->cause_;
        return;
    }
    const bool is_cut_off = dice_.happens(0.25);
    if (socket_->is_subscribed()) hang_up(is_cut_off);
    // What is still to arrive is lost from some moment on.
    if (is_cut_off) break_off(net_->delay(node_, dice_) * dice_.between(0, 2));
}

// Until the server hears of it, it publishes to nobody. Where it can't hear of it, as when a machine
// has lost its power, it believes for long that somebody listens.
void connection::hang_up(bool is_cut_off) {
    const bool is_heard = !is_cut_off && !net_->is_blocked(program_, node_, true);
    const duration after = is_heard ? net_->delay(node_, dice_) : duration(std::chrono::minutes(5));
    net_->when_->after(after, [keep = socket_] {});
}

void connection::ended_by_server() {
    if (to_ == nullptr || down_.is_dead) return;
    if (net_->is_holding_) {
        // What it has said arrives, and the end of it after that.
        if (is_dialling_) return;
        up_.is_dead = is_hung_up_ = true;
        hung_up_for_ = net_->cause_;
        return;
    }
    fall_silent();
    // The other end hears of it where anything passes; otherwise it finds out.
    if (net_->is_blocked(program_, node_, false) || net_->is_blocked(program_, node_, true)) return;
    net_->when_->after(net_->delay(node_, dice_), [self = shared_from_this()] {
        if (self->to_ != nullptr) self->to_->on_down(false);
    });
}

void connection::break_off(duration when) {
    net_->when_->after(when, [self = shared_from_this()] {
        self->fall_silent();
        self->up_.held.clear();
    });
}

network::network(const plan& in, schedule& when, counters& counts,
                 std::vector<std::unique_ptr<server>>& servers)
    : plan_(&in),
      when_(&when),
      counts_(&counts),
      servers_(&servers),
      pairs_(in.programs.size() * in.nodes.size()),
      lag_(in.nodes.size()),
      dice_(in.seed, stream::network) {}

server& network::at(std::size_t node) noexcept {
    const bool is_double = plan_->double_of && node + 1 == plan_->nodes.size();
    return *(*servers_)[is_double ? *plan_->double_of : node];
}

connection_ptr network::connect(std::size_t program, std::size_t node, receiver& to) {
    pair& both = between(program, node);
    const auto made = std::make_shared<connection>(*this, program, node, to, ++both.connections);
    auto& alive = both.alive;
    std::erase_if(alive, [](const auto& weak) { return weak.expired(); });
    alive.push_back(made);
    if (is_holding_) kept_.push_back(made);
    made->open();
    return made;
}

void network::ask(std::size_t node, fakes::command what,
                  std::function<void(const fakes::model_reply&)> then) {
    when_->after(delay(node, dice_), [this, node, what = std::move(what), then = std::move(then)] {
        server& s = at(node);
        if (!s.is_up() || s.is_frozen()) return;
        const auto said = s.execute(what);
        when_->after(delay(node, dice_), [then, said] { then(said); });
    });
}

duration network::delay(std::size_t node, chance& dice) const {
    const duration best = plan_->nodes[node].latency;
    duration took = best + dice.between(duration(0), best) + lag_[node];
    if (!is_calm_ && plan_->tail > 0 && dice.happens(plan_->tail)) {
        took += dice.between(duration(0), plan_->tail_delay);
    }
    return took;
}

template <class F>
void network::each(std::uint32_t programs, std::uint32_t nodes, F&& what) {
    for (std::size_t p = 0; p < plan_->programs.size(); ++p) {
        for (std::size_t n = 0; n < plan_->nodes.size(); ++n) {
            if ((programs >> p & 1U) != 0 && (nodes >> n & 1U) != 0) what(between(p, n));
        }
    }
}

void network::block(const fault& f) {
    each(f.programs, f.nodes, [&](pair& p) {
        p.blocked_up += f.to_nodes ? 1 : 0;
        p.blocked_down += f.from_nodes ? 1 : 0;
    });
}

void network::unblock(const fault& f) {
    each(f.programs, f.nodes, [&](pair& p) {
        p.blocked_up -= f.to_nodes ? 1 : 0;
        p.blocked_down -= f.from_nodes ? 1 : 0;
        for (const auto& weak : p.alive) {
            const auto c = weak.lock();
            if (!c) continue;
            if (p.blocked_up == 0) c->release(c->up_, true);
            if (p.blocked_down == 0) c->release(c->down_, false);
        }
    });
}

void network::set_lag(std::uint32_t nodes, duration extra) noexcept {
    for (std::size_t n = 0; n < lag_.size(); ++n) {
        if ((nodes >> n & 1U) != 0) lag_[n] = extra;
    }
}

void network::cut(std::uint32_t programs, std::uint32_t nodes) {
    each(programs, nodes, [&](pair& p) {
        for (const auto& weak : p.alive) {
            const auto c = weak.lock();
            if (!c || c->to_ == nullptr) continue;
            c->down_.is_dead = true;
            // What has left the program may be lost from some moment on, or arrive, however late.
            if (c->dice_.happens(0.5)) {
                c->break_off(delay(c->node_, c->dice_) * c->dice_.between(0, 2));
            }
            when_->after(delay(c->node_, c->dice_), [c] {
                if (c->to_ != nullptr) c->to_->on_down(false);
            });
        }
    });
}

void network::deafen(std::uint32_t programs, std::uint32_t nodes) {
    each(programs, nodes, [&](pair& p) {
        for (const auto& weak : p.alive) {
            const auto c = weak.lock();
            if (!c || c->to_ == nullptr || !c->socket_->is_subscribed()) continue;
            c->fall_silent();
            when_->after(delay(c->node_, c->dice_), [c] {
                if (c->to_ != nullptr) c->to_->on_down(false);
            });
        }
    });
}

void network::fall_silent(std::uint32_t programs, std::uint32_t nodes) {
    each(programs, nodes, [&](pair& p) {
        for (const auto& weak : p.alive) {
            if (const auto c = weak.lock()) c->fall_silent();
        }
    });
}

void network::server_died(std::size_t node) {
    for (std::size_t n = 0; n < plan_->nodes.size(); ++n) {
        if (&at(n) != (*servers_)[node].get()) continue;
        for (std::size_t p = 0; p < plan_->programs.size(); ++p) {
            for (const auto& weak : between(p, n).alive) {
                const auto c = weak.lock();
                if (c) c->ended_by_server();
            }
        }
    }
}

connection& network::find(const delivery& of) const {
    return **std::find_if(kept_.begin(), kept_.end(), [&](const connection_ptr& c) {
        return c->program_ == of.program && c->node_ == of.node && c->number_ == of.number;
    });
}

void network::hold() {
    is_holding_ = true;
    for (const pair& p : pairs_) {
        for (const auto& weak : p.alive) {
            if (auto c = weak.lock()) kept_.push_back(std::move(c));
        }
    }
}

std::vector<delivery> network::held() const {
    using kind = delivery::kind;
    std::vector<delivery> out;
    for (const auto& c : kept_) {
        const auto add = [&](kind what, std::size_t cause, bool is_end = false) {
            out.push_back({what, c->program_, c->node_, c->number_, cause, is_end, c->left_for_});
        };
        const auto add_first = [&](kind what, const auto& lane) {
            if (!lane.is_dead && !lane.held.empty()) add(what, lane.causes.front());
        };
        if (c->is_dialling_ && c->to_ != nullptr) add(kind::dial, c->dialled_for_);
        add_first(kind::to_node, c->up_);
        add_first(kind::to_program, c->down_);
        const bool is_end_next = c->is_hung_up_ && !c->down_.is_dead && c->down_.held.empty();
        if (is_end_next) add(kind::to_program, c->hung_up_for_, true);
    }
    return out;
}

void network::pass(const delivery& next) {
    const auto c = find(next).shared_from_this();
    if (next.what == delivery::kind::dial) {
        c->is_dialling_ = false;
        return c->dial();
    }
    const bool to_node = next.what == delivery::kind::to_node;
    auto& lane = to_node ? c->up_ : c->down_;
    if (lane.held.empty()) {
        c->is_hung_up_ = false;
        return c->to_->on_down(false);
    }
    std::string bytes = std::move(lane.held.front());
    lane.held.pop_front();
    lane.causes.pop_front();
    c->hand_over(to_node, std::move(bytes));
}

void network::lose(const delivery& next) {
    connection& c = find(next);
    (next.what == delivery::kind::to_node ? c.up_ : c.down_).is_dead = true;
}

void network::break_at_once(std::size_t program, std::size_t node) {
    for (const connection_ptr& c : std::vector(kept_)) {
        if (c->program_ != program || c->node_ != node || c->to_ == nullptr) continue;
        c->down_.is_dead = true;
        c->to_->on_down(false);
        return;  // what it opens now is another
    }
}

void network::let_go() {
    is_holding_ = false;
    for (const connection_ptr& c : std::exchange(kept_, {})) {
        if (std::exchange(c->is_dialling_, false)) c->open();
        c->release(c->up_, true);
        c->release(c->down_, false);
        if (std::exchange(c->is_hung_up_, false) && c->to_ != nullptr) c->to_->on_down(false);
    }
}

}  // namespace redlock::simulation
