// One node of a simulated world: a Redis master in memory, and its process; knows no client.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/lease_checker.hpp"
#include "simulation/node_checker.hpp"
#include "simulation/plan.hpp"
#include "simulation/schedule.hpp"
#include "simulation/story.hpp"
#include "testing/model.hpp"
#include "wire/resp/reply.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::simulation {

/// The server's end of a connection. What lies in it is executed also after the other end has left.
class socket {
public:
    /// `reply` is called with the bytes for the other end, `end` when the server ends it.
    socket(std::function<void(std::string)> reply, std::function<void()> end)
        : reply_(std::move(reply)), end_(std::move(end)) {}

    bool is_subscribed() const noexcept { return client_.subscriptions() > 0; }

private:
    friend class server;
    std::function<void(std::string)> reply_;
    std::function<void()> end_;
    fakes::client_state client_{};
    resp::parser parser_{};
    std::string unread_;
    std::uint64_t process_ = 0;  // which it was connected to
    time_point silent_until_{};
};
using socket_ptr = std::shared_ptr<socket>;

class server {
public:
    server(std::size_t index, const plan& in, schedule& when, story& log, counters& counts,
           lease_checker& judge);

    /// False where nobody listens.
    bool accept(const socket_ptr& from);
    /// Bytes have arrived. Nothing comes of them where the process is another by now.
    void receive(const socket_ptr& at, std::string_view bytes, const std::string& sender);
    /// Whether the process that accepted it still runs.
    bool serves(const socket& s) const noexcept { return is_up_ && s.process_ == process_; }

    void stop();  ///< Its process dies.
    void start(fault_kind how);
    void freeze();
    void thaw();
    /// From now on each command takes this long.
    void slow_down(duration per_command) noexcept { per_command_ = per_command; }
    /// From now on a list of its clients takes this long, and nothing else does.
    void slow_list(duration takes) noexcept { list_takes_ = takes; }
    /// Writes a snapshot, which is what it goes back to when it is rewound.
    void save() { model_.save(); }
    /// Its process dies, and is back with the other setting of `appendonly`.
    void swap_files();
    /// Writes a fence of the resource that is an hour ahead, or deletes it.
    void write_fence(std::size_t resource, bool deletes);
    void lose_data();
    /// Of each lock the key alone, as a server may that runs out of memory; or the fence, too.
    void lose_locks(bool and_fences);
    /// Whether this owner value has the key, and the server can say so.
    bool shows(const std::string& key, const std::string& value) const;
    /// Keys may run out early by it.
    void step_clock(duration by);
    /// Becomes a replica, with the data of the last snapshot; or a master again, with these.
    void set_copy(bool is);
    /// How often it has forgotten what it held.
    std::uint64_t losses() const noexcept { return losses_; }
    /// Whether a snapshot has brought this value back: nobody has to know of that.
    bool has_brought_back(const std::string& value) const { return brought_back_.contains(value); }
    /// `what` is called whenever a client takes the node's vote because of its clock.
    void on_strike(std::function<void()> what) { on_strike_ = std::move(what); }
    /// One command, from outside of all clients' connections.
    fakes::model_reply execute(const fakes::command& c);

    fakes::redis_model& model() noexcept { return model_; }
    bool is_up() const noexcept { return is_up_; }
    bool is_frozen() const noexcept { return freezes_ != 0; }

private:
    void slew(std::int64_t ppm, duration most);
    void read(const socket_ptr& at);
    void answer(std::int64_t commands, std::function<void()> what);
    void drain();
    void note_brought_back();

    std::size_t index_;
    schedule* when_;
    story* story_;
    counters* counts_;
    duration most_busy_;  // with what it reads at once: it is well soon after it was slow
    chance dice_;
    fakes::redis_model model_;
    node_checker checker_;
    fakes::client_state anonymous_{};
    std::function<void()> on_strike_;
    std::deque<std::pair<socket_ptr, std::string>>
        ready_;  // sockets with something to read, and whose
    std::vector<std::pair<std::weak_ptr<socket>, std::string>> pushed_;  // by what is carried out
    duration per_command_{};
    duration list_takes_{};
    time_point busy_until_{};
    int freezes_ = 0;
    bool is_up_ = true;
    bool is_durable_ = false;
    std::uint64_t process_ = 1;
    std::uint64_t losses_ = 0;
    std::set<std::string> brought_back_;
};

}  // namespace redlock::simulation
