// What is said to a node before the first command; knows no connection and no time.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/call.hpp"
#include "client/node/concerns.hpp"
#include "core/node/eligibility.hpp"
#include "core/node/script_search.hpp"
#include "wire/node_record.hpp"
#include "wire/resp/reply.hpp"
#include "wire/resp/scripts.hpp"

#include <redlock/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// What a node answered about itself in the handshake.
struct greeting {
    core::server_facts server;
    server_settings settings;
    std::optional<std::int64_t> time_us;
    core::record_facts record;  ///< Of a master, where `fencing` is on.
};

/// Reads `replid`, `is_master` and `has_replicas` from an answer to INFO.
void read_replication(std::string_view info, core::server_facts& to);

/// AUTH, SELECT, CLIENT SETNAME, INFO, CONFIG GET, TIME and SCRIPT EXISTS leave in one write and are
/// answered in order. A second write has what needs these answers: SCRIPT LOAD of the scripts that
/// the node lacks, and, on a master and where `fencing` is on, node.lua.
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
    void begin(std::string& out);
    /// Once the first answers are there, and again where the node lost its scripts meanwhile.
    void ask_more(std::string& out, const wire::record_request& r);
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
        load,
        record
    };

    static std::string_view command_of(step what) noexcept;
    void say(std::string& out, step what, std::initializer_list<std::string_view> words);
    outcome on_error(step at, const resp::reply& reply);
    outcome on_answer(step at, const resp::reply& reply);
    bool wants_record() const noexcept;
    void note_missing(const resp::reply& found);
    bool is_flushed(const resp::reply& reply);
    outcome fail(wire::failure why);
    outcome fail(error_code error, std::string detail);

    const node_options* node_;
    const client_options* client_;
    std::vector<step> said_;
    std::size_t answered_ = 0;
    core::script_search scripts_;
    greeting result_;
    wire::failure why_;
};

}  // namespace redlock::detail
