// One connection to a node, opened again whenever it ends, and what is said there before the first
// command.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "core/connection.hpp"
#include "core/record.hpp"
#include "wire/failure.hpp"
#include "wire/record.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/options.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// What a connection asks of the performer of its I/O. The performer reports back to the
/// connection, never from within these calls.
class transport {
public:
    virtual void open() = 0;
    /// Drops the connection at once; nothing more is reported of it.
    virtual void drop() = 0;

protected:
    ~transport() = default;
};

/// What a connection asks of its owner.
class connection_owner {
public:
    virtual std::uint64_t random_word() = 0;
    /// How late this client's timers ring, by which all time-outs are longer.
    virtual const core::own_delay& own_delay() const noexcept = 0;

protected:
    ~connection_owner() = default;
};

/// What a session and a listener have in common: the connection is opened, greeted by a node that
/// is never silent for `connect_timeout`, serves, and is opened again when it ended. What is said
/// on it, they add.
class connection {
public:
    // From the performer, on the strand of the client. It takes the bytes of `outgoing()` to the
    // socket once per turn of its loop, from the front, and reports what was written. The masters
    // in memory report, too, from a library of their own: a shared library shows what they call.

    /// The files of the node's password and certificates were read again, before anything is sent;
    /// `complaint` says which of them can't be used, why, and the remedy.
    void on_files(std::string complaint) { files_complaint_ = std::move(complaint); }
    /// The server is reached, and something of the program has to give the password: `whom`.
    void on_asking(std::string whom, time_point now);
    /// The server is reached, and TLS begins.
    void on_reached(time_point now);
    REDLOCK_EXPORT void on_open(time_point now);
    REDLOCK_EXPORT void on_bytes(std::string_view bytes, time_point now);
    REDLOCK_EXPORT void on_down(error_code why, time_point now);
    std::string& outgoing() noexcept { return outgoing_; }
    const std::string& outgoing() const noexcept { return outgoing_; }
    virtual void on_written() noexcept {}

    std::size_t index() const noexcept { return index_; }
    bool is_ready() const noexcept { return link_.is_ready(); }
    /// It has neither been reached nor failed to be.
    bool is_untried() const noexcept { return !was_ready_ && link_.is_hopeful(); }
    /// How long the node may take over one command about a lease of `ttl`: as given, or by its
    /// latest handshake. Before the first one it may take as long as that may, 1 s at most.
    duration node_timeout(duration ttl = core::any_ttl) const noexcept;
    /// From now on a reply may list all connections of a server.
    void expect_long_replies() { parser_.set_limit(longest_list_bytes); }
    /// The shortest that it is for any ttl.
    duration shortest_timeout() const noexcept;

protected:
    /// What is referred to outlives the connection.
    connection(std::size_t index, const client_options& options, transport& wire,
               connection_owner& owner, resp::parser_limits limits);
    ~connection() = default;

    using phase = core::reconnection::phase;

    /// Opens it, unless that was done already.
    void start(time_point now);
    /// A query of the greeting is on its way, besides the first one: it is measured.
    void queried(time_point now) noexcept { round_trip_.queried(now); }
    /// The greeting is over.
    void greeted(time_point now) noexcept;
    /// Ends the connection, calls `on_end`, and opens the next one, now or after a rest; `stalled`:
    /// it must rest.
    void give_up(wire::failure why, bool stalled, time_point now);
    /// What `on_files` said for this connection.
    const std::string& files_complaint() const noexcept { return files_complaint_; }
    /// When `on_link_time` has something to do.
    time_point link_deadline() const noexcept;
    /// Gives up what was not greeted in time, or ends the rest.
    void on_link_time(time_point now);
    /// Hangs up without `on_end`, until it is started again.
    void stop();
    void stop_for_good();

    const client_options& options() const noexcept { return *options_; }
    const core::reconnection& link() const noexcept { return link_; }
    /// How long the node took to answer in the latest greeting; zero where it is not known.
    duration round_trip() const noexcept { return round_trip_.get(); }
    /// How long an answer may be outstanding before the connection is given up. A connection that a
    /// firewall forgot has to be opened again before a short lease is lost.
    duration longest_silence() const noexcept;
    /// When the timer rings for a node that has until `deadline`.
    time_point extended(time_point deadline) const noexcept {
        return owner_->own_delay().extended(deadline);
    }
    /// When it last brought any bytes.
    time_point last_bytes() const noexcept { return last_bytes_; }

private:
    using action = core::reconnection::action;
    // 350 bytes of each of 40,000 connections.
    static constexpr std::size_t longest_list_bytes = std::size_t{1} << 24;

    /// It is open: writes the first questions of the greeting.
    virtual void greet(time_point now) = 0;
    virtual void on_greeting(const resp::reply& reply, time_point now) = 0;
    /// A reply after the greeting.
    virtual void on_reply(const resp::reply& reply, time_point now) = 0;
    /// It could not be made, or ended. From here, as from the other three, it may be stopped.
    virtual void on_end(const wire::failure& why, time_point now) = 0;

    void open(time_point now);
    void hang_up();
    void end_asking(time_point now) noexcept;
    wire::failure tell_of_silence(time_point now) const;
    std::string tell_of_bytes(std::string_view first) const;
    std::string tell_of_distance(time_point now) const;

    std::size_t index_;
    const client_options* options_;
    transport* wire_;
    connection_owner* owner_;
    core::reconnection link_;
    resp::parser parser_;
    core::round_trip round_trip_;
    time_point opening_since_{};  // of the latest connection
    duration connecting_took_{};  // zero as long as it is under way
    std::string outgoing_;
    std::string files_complaint_;
    std::string asked_;         // what has to give the password; empty: nothing is to
    time_point asked_at_{};
    time_point last_bytes_{};
    bool was_ready_ = false;    // any connection of it
    bool is_reached_ = false;   // TLS may still be negotiated
    bool has_bytes_ = false;    // of the latest connection
    bool opens_again_ = false;  // after `on_end`, unless it is stopped there
};

/// One for each node.
template <class T>
class one_per_node {
public:
    void add(std::unique_ptr<T> one) {
        assert(one && size() < max_nodes);
        all_.push_back(std::move(one));
    }
    void clear() noexcept { all_.clear(); }

    std::size_t size() const noexcept { return all_.size(); }
    T& operator[](std::size_t node) const noexcept {
        assert(node < size());
        return *all_[node];
    }
    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }

private:
    std::vector<std::unique_ptr<T>> all_;  // none is null
};

/// What a server says of its memory and of its persistence. What it does not say stays empty.
struct server_settings {
    std::string eviction_policy{};      ///< maxmemory-policy
    std::uint64_t memory_limit = 0;     ///< maxmemory, in bytes; 0: none.
    std::uint64_t memory_used = 0;      ///< In bytes.
    std::optional<bool> has_log{};      ///< appendonly
    std::string fsync{};                ///< appendfsync
    bool skips_fsync = false;           ///< While the log is rewritten.
    bool has_failed_save = false;       ///< The last snapshot failed.
    bool has_failed_log = false;        ///< The last write to the log failed.
    std::string good_replicas{};        ///< Of those that a write needs, where it needs any.

    /// Whether each write is on disk before it is answered, also while the log is rewritten.
    bool syncs_always() const { return fsync == "always" && !skips_fsync; }
};

/// From the answer to INFO.
server_settings read_settings(std::string_view info);
/// Adds the answer to CONFIG GET *appendfsync*.
void add_fsync(server_settings& to, const resp::reply& config);

/// What a node answered about itself in the handshake.
struct greeting {
    core::server_facts server;
    server_settings settings;
    std::optional<std::int64_t> time_us;
    bool has_delifeq = false;  ///< And this user may use it. Known where `fencing` is off.
    core::record_facts record;  ///< Of a master, where `fencing` is on.
    std::string files_complaint;  ///< See `connection::on_files`.
};

/// Reads `replid`, `is_master` and `has_replicas` from an answer to INFO.
void read_replication(std::string_view info, core::server_facts& to);

/// AUTH, SELECT, CLIENT SETNAME, INFO, CONFIG GET, TIME, SCRIPT EXISTS and, where `fencing` is on,
/// record.lua leave in one write and are answered in order. Mostly that is all. A second write has
/// what needs these answers: SCRIPT LOAD of the scripts that the node lacks; record.lua, where it
/// was one of these, or replaces the record of a master, as after a restart; where `fencing` is off
/// and the server is of Valkey 9 or newer, a DELIFEQ that deletes nothing.
class handshake {
public:
    enum class outcome : std::uint8_t {
        more,
        ask_more,  ///< Call `ask_more`.
        done,
        failed
    };

    handshake(const node_options& node, const client_options& client)
        : node_(&node), client_(&client) {}

    /// Starts again: appends the first commands to `out`.
    void begin(std::string& out, std::string_view files_complaint = {});
    /// Once the first answers are there, and again where the record is to be replaced, or the node
    /// lost its scripts meanwhile. Mostly there is no more, and it is done.
    outcome ask_more(std::string& out, const core::record_terms& known);
    outcome on_reply(const resp::reply& reply);
    /// Why it failed; secrets never appear.
    const wire::failure& why() const noexcept { return why_; }
    const greeting& result() const noexcept { return result_; }

private:
    enum class step : std::uint8_t {
        auth,
        select,
        set_name,
        info,
        durability,
        time,
        find,  // the scripts
        peek,  // at the record, before it is known that the script is there
        load,
        delifeq,
        record
    };

    static std::string_view command_of(step what) noexcept;
    void say(std::string& out, step what, std::initializer_list<std::string_view> words);
    outcome on_error(step at, const resp::reply& reply);
    outcome on_answer(step at, const resp::reply& reply);
    bool wants_record() const noexcept;
    bool wants_delifeq() const noexcept { return !client_->fencing && is_of_valkey_9_; }
    bool is_durable_by_word() const noexcept { return may_be_durable_ && node_->durable == true; }
    void note_missing(const resp::reply& found);
    outcome fail(wire::failure why);
    outcome fail(error_code error, std::string detail);
    outcome fail_of_record(const wire::failure& why, bool is_of_later_version = false);

    const node_options* node_;
    const client_options* client_;
    std::vector<step> said_;    // in this order it is answered
    std::size_t answered_ = 0;  // of these
    bool is_of_valkey_9_ = false;  // or newer
    bool may_be_durable_ = false;  // by INFO it neither has replicas nor was one
    core::script_search scripts_;
    wire::record_answer peeked_;
    std::optional<wire::record_exchange> record_;
    greeting result_;
    wire::failure why_;  // empty unless it failed
};

}  // namespace redlock::detail
