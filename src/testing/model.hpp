// A server in memory: its commands on strings, sorted sets and channels.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/keyspace.hpp"
#include "testing/script_host.hpp"
#include "value/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::fakes {

struct client_state;

/// The connections of one process of a server that said anything, and the channels to which they
/// are subscribed. It ends with the process.
struct client_registry {
    std::map<std::uint64_t, client_state*> by_id{};
    /// Those of a channel are in the order in which they subscribed.
    std::map<std::string, std::vector<client_state*>> by_channel{};

    bool is_subscribed(const client_state* client, const std::string& channel) const noexcept;
    void unsubscribe(const client_state* client, const std::string& channel) noexcept;
};

/// What the server keeps of one connection, which it knows by its address. The two may end in any
/// order.
struct client_state {
    client_state() = default;
    ~client_state() { leave(); }
    client_state(const client_state&) = delete;
    client_state& operator=(const client_state&) = delete;

    /// The process knows nothing of it any more.
    void leave() noexcept;
    /// Those that the process it talks to knows of: none after a crash.
    std::size_t subscriptions() const noexcept { return known_to.expired() ? 0 : channels.size(); }

    bool is_authenticated = false;
    std::size_t database = 0;
    std::string name{};  ///< By CLIENT SETNAME.
    /// Takes each message, as bytes in RESP2, while the command that publishes it is carried out.
    /// Messages for which there is none are lost, and yet count as received. Throws nothing and
    /// has the server execute nothing; it may end connections, this one too.
    std::function<void(std::string)> push{};
    /// The server ends the connection. It is called while a command is carried out.
    std::function<void()> hang_up{};
    std::uint64_t id = 0;
    std::weak_ptr<client_registry> known_to{};
    std::set<std::string> channels{};  ///< Outdated where that is gone.
};

class redis_model {
public:
    enum class data {
        kept,
        lost,
        saved,   ///< As they were at the last `save`.
        /// As they were when it was last run with its other files; at first there are none.
        others,
    };

    /// Every seed makes other run_ids.
    explicit redis_model(std::uint64_t seed = 0);

    /// Carries out one command, which has at least one word.
    model_reply execute(client_state& from, const command& c, time_point now);

    std::string username = "default";
    std::string password{};  ///< Empty: the server needs none.
    wall_clock wall{};

    // Faults and roles. A server starts as a master that is durable in nothing.
    void set_loading(bool is) noexcept { is_loading_ = is; }
    void set_out_of_memory(bool is) noexcept { is_out_of_memory_ = is; }
    /// Of another server, whose replication id it has from then on; or a master again, with one of
    /// its own. What becomes of its data is the caller's to say.
    void set_replica(bool is);
    /// The first that ever attaches to the process changes its replication id.
    void set_attached_replicas(std::size_t n);
    void set_durable(bool is) noexcept { is_durable_ = is; }
    bool is_durable() const noexcept { return is_durable_; }
    /// By its name in upper case, as "GET" or "SCRIPT|LOAD".
    void forbid(std::string name) { forbidden_.insert(std::move(name)); }
    void permit(std::string_view name) { forbidden_.erase(std::string(name)); }
    /// Another process of the server, to which nobody is subscribed: connections to the old one are
    /// the caller's to break.
    void crash(data what);
    /// A snapshot, as a server writes it now and then.
    void save() { saved_ = databases_; }
    /// Takes the data of the last `save` without a restart, as a replica takes its master's.
    void load_saved() { databases_ = saved_; }
    void flush() noexcept;
    void flush_scripts() noexcept { cached_.clear(); }
    /// The clock jumps. What had run out by then stays gone, even where the clock goes back.
    void step_clock(duration by, time_point now);

    const std::string& run_id() const noexcept { return run_id_; }
    const std::string& replid() const noexcept { return replid_; }
    keyspace& database(std::size_t i = 0) { return databases_.at(i); }
    const keyspace& database(std::size_t i = 0) const { return databases_.at(i); }

private:
    class script_run;
    struct server_commands;
    struct known_command;

    static const known_command* look_up(const command& c);
    std::optional<model_reply> refuse(const client_state& from, const known_command& what) const;
    model_reply carry_out(client_state& from, const known_command& what, const command& c,
                          time_point now);
    void start_process();
    std::string next_replid();

    std::array<keyspace, 16> databases_{};
    std::array<keyspace, 16> saved_{};
    std::array<keyspace, 16> others_{};
    std::shared_ptr<client_registry> clients_{};  // of this process
    std::uint64_t clients_so_far_ = 0;
    std::map<std::string, std::string> cached_;  // the scripts that this process knows, by SHA1
    std::set<std::string, std::less<>> forbidden_;
    std::string run_id_;
    std::string replid_;
    std::string replid2_;  // that it had as a replica
    std::uint64_t seed_;
    std::uint64_t starts_ = 0;
    std::uint64_t replids_ = 0;
    std::size_t attached_replicas_ = 0;
    bool has_backlog_ = false;  // of what it wrote, for replicas
    bool is_loading_ = false;
    bool is_out_of_memory_ = false;
    bool is_replica_ = false;
    bool is_durable_ = false;
};

}  // namespace redlock::fakes
