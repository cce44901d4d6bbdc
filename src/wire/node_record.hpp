// Requests about the record that each node keeps about itself, and their answers; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/bootstrap.hpp"
#include "core/node/eligibility.hpp"
#include "core/node/node_order.hpp"
#include "wire/failure.hpp"
#include "wire/resp/reply.hpp"
#include "wire/resp/scripts.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::wire {

struct record_request {
    std::string key{};
    std::string set{};    ///< `node_set` of this client.
    std::string names{};  ///< `set_names` of this client.
    std::string epoch{};  ///< For a record that is made or reset.
    std::string mark{};  ///< For one that is made to be opened.
    std::chrono::milliseconds quarantine{0};  ///< Of a record that is made or declared.
    std::chrono::milliseconds ttl_max{0};     ///< Likewise; 0: it gets one later.
    /// Only compares the set, and writes nothing: for a client without the restart guard.
    bool only_peeks = false;
    /// Writes nothing, and reads what the record would be worth: for a client that only looks.
    bool only_judges = false;
    /// Long after the handshake: how durable the node was then, and its replication id, are not
    /// written down again, since another client may know better by now.
    bool is_much_later = false;
};

/// Calls node.lua or bootstrap.lua.
void write_record_call(std::string& out, resp::script_form form, const record_request& r,
                       core::bootstrap::task what, const core::server_facts& server);
/// Calls bootstrap.lua: an operator says that no earlier lease can be alive. `clock`: what is known
/// of the node's.
void write_declaration(std::string& out, const record_request& r, const core::server_facts& server,
                       const std::optional<core::clock_check>& clock);
/// Calls clock.lua with what was found of a node's clock, and what follows. `known` is the record
/// that it was compared with.
void write_clock(std::string& out, resp::script_form form, const record_request& r,
                 const core::record_facts& known, const core::node_order& order,
                 const core::server_facts& server);

/// The answer of node.lua or clock.lua; or why there is none.
struct record_answer {
    std::optional<core::record_facts> record;
    failure why;
};
record_answer read_record(const resp::reply& reply);

}  // namespace redlock::wire
