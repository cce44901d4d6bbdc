// What lies between programs and nodes: delay, order, loss, cuts; knows no command and no machine.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"
#include "simulation/schedule.hpp"
#include "simulation/server.hpp"
#include "simulation/story.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::simulation {

class network;

/// The program's end of a connection: what comes out of it.
class receiver {
public:
    virtual void on_open() = 0;
    virtual void on_bytes(std::string bytes) = 0;
    virtual void on_down(bool was_refused) = 0;

protected:
    ~receiver() = default;
};

/// Bytes arrive in order and whole, or, once it broke, a part of them from the front. The receiver
/// hears of nothing after it has left.
class connection : public std::enable_shared_from_this<connection> {
public:
    connection(network& in, std::size_t program, std::size_t node, receiver& to,
               std::uint64_t number);

    void open();
    void send(std::string bytes);
    /// The program drops it; what it has sent may arrive for a long time.
    void leave();

private:
    friend class network;
    /// One way. A chunk that arrives while the way is blocked waits for it to open.
    struct lane {
        time_point last{};
        std::deque<std::string> held;
        std::deque<std::size_t> causes;  // of what is held, while the network holds everything
        bool is_dead = false;
    };
    void dial();
    void hand_over(bool to_node, std::string bytes);
    void carry(lane& on, bool to_node, std::string bytes);
    void arrive(lane& on, bool to_node, std::string bytes);
    void release(lane& on, bool to_node);
    void reply(std::string bytes) { carry(down_, false, std::move(bytes)); }
    void hang_up(bool is_cut_off);
    void ended_by_server();
    void break_off(duration when);
    void fall_silent() noexcept { up_.is_dead = down_.is_dead = true; }

    network* net_;
    std::size_t program_;
    std::size_t node_;
    std::uint64_t number_;
    receiver* to_;  // null once the program has left
    socket_ptr socket_;
    lane up_;    // to the node
    lane down_;  // to the program
    chance dice_;
    // While the network holds everything.
    bool is_dialling_ = false;
    bool is_hung_up_ = false;  // at the node's end, which the program hears behind all else
    std::size_t dialled_for_ = 0, hung_up_for_ = 0, left_for_ = 0;
};
using connection_ptr = std::shared_ptr<connection>;

/// What would arrive next on a way, while the network holds everything.
struct delivery {
    enum class kind : std::uint8_t { dial, to_node, to_program };
    kind what{};
    std::size_t program = 0;
    std::size_t node = 0;
    std::uint64_t number = 0;  ///< Of the connection among those between the two.
    std::size_t cause = 0;     ///< The number of the event that sent it.
    bool is_end = false;       ///< It is not words that arrive, but that the node is gone.
    std::size_t left_for = 0;  ///< That of the one for which the program has left; 0: it has not.

    bool is_same_way(const delivery& other) const noexcept {
        return what == other.what && program == other.program && node == other.node &&
               number == other.number;
    }
};

class network {
public:
    network(const plan& in, schedule& when, counters& counts,
            std::vector<std::unique_ptr<server>>& servers);

    /// The node of that place in the programs' lists.
    server& at(std::size_t node) noexcept;
    connection_ptr connect(std::size_t program, std::size_t node, receiver& to);
    /// One command and, unless it is lost, its reply, for callers that keep no connection.
    void ask(std::size_t node, fakes::command what,
             std::function<void(const fakes::model_reply&)> then);

    // Faults.
    void block(const fault& f);
    void unblock(const fault& f);
    void set_lag(std::uint32_t nodes, duration extra) noexcept;
    /// From now on no message takes much longer than usual.
    void calm() noexcept { is_calm_ = true; }
    void cut(std::uint32_t programs, std::uint32_t nodes);
    void fall_silent(std::uint32_t programs, std::uint32_t nodes);
    /// Connections that something is published to break, and no others.
    void deafen(std::uint32_t programs, std::uint32_t nodes);
    /// The server's process has died: programs that are connected notice.
    void server_died(std::size_t node);

    // Somebody else decides what arrives when: for a search through all orders.
    /// From now on nothing arrives by itself. Nothing is on its way yet.
    void hold();
    /// Everything arrives as it would have, the held first.
    void let_go();
    /// What is sent from now on is sent by this event.
    void set_cause(std::size_t event) noexcept { cause_ = event; }
    std::vector<delivery> held() const;
    void pass(const delivery& next);
    /// It and what is behind it never arrive.
    void lose(const delivery& next);
    /// The connection breaks, and the program hears of it before anything that was on its way to
    /// it.
    void break_at_once(std::size_t program, std::size_t node);

private:
    friend class connection;
    struct pair {
        int blocked_up = 0;
        int blocked_down = 0;
        std::uint64_t connections = 0;
        std::vector<std::weak_ptr<connection>> alive;
    };
    pair& between(std::size_t program, std::size_t node) {
        return pairs_[program * plan_->nodes.size() + node];
    }
    bool is_blocked(std::size_t program, std::size_t node, bool to_node) {
        const pair& p = between(program, node);
        return (to_node ? p.blocked_up : p.blocked_down) != 0;
    }
    duration delay(std::size_t node, chance& dice) const;
    connection& find(const delivery& of) const;
    template <class F>
    void each(std::uint32_t programs, std::uint32_t nodes, F&& what);

    const plan* plan_;
    schedule* when_;
    counters* counts_;
    std::vector<std::unique_ptr<server>>* servers_;
    std::vector<pair> pairs_;
    std::vector<duration> lag_;
    chance dice_;
    bool is_calm_ = false;
    bool is_holding_ = false;
    std::size_t cause_ = 0;
    std::vector<connection_ptr> kept_;  // of which something is or may be held
};

}  // namespace redlock::simulation
