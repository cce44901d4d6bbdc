// The node record and the name of the nodes' set, as a node keeps them.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/change.hpp"
#include "core/clock_watch.hpp"
#include "core/eligibility.hpp"
#include "wire/failure.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::wire {

struct record_request {
    std::string key{};
    std::string set{};    ///< `node_set` of this client.
    std::string after{};  ///< Of a joint list, the set of the new one; else empty.
    std::string names{};  ///< `set_names` of this client.
    /// Of a record that is made: its set, and what it says of a change.
    std::optional<core::list_facts> made{};
    std::uint64_t number = 0;  ///< Of one that is declared: how often the list was changed.
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

/// One step of a change of the list, on the record of one node: see lua/seldom/change.lua.
struct list_step {
    enum class kind : std::uint8_t { read, promise, close, become };
    /// What a node that becomes a member of the next set knows of leases.
    enum class memory : std::uint8_t {
        lost,         ///< It may have missed some: its quarantine begins again.
        kept,         ///< Programs with the new list alone wait for those of the earlier one.
        undisturbed,  ///< The same list goes on, and nobody waits.
    };
    kind what = kind::read;
    core::list_facts from{};  ///< Where the node has another set or number, nothing is done.
    std::string epoch{};      ///< Likewise; empty: any.
    core::list_facts to{};    ///< close, become: the set that follows.
    std::string ballot{};     ///< promise, close.
    std::int64_t settle_us = 0;  ///< promise, close: so old has to be a member of a changed list.
    std::chrono::milliseconds quarantine{0};  ///< become: at least.
    std::chrono::milliseconds ttl_max{0};     ///< Likewise.
    memory leases = memory::kept;
};
/// `r`: with a fresh epoch.
void write_list_step(std::string& out, resp::script_form form, const record_request& r,
                     const list_step& step);

/// The answer of node.lua, clock.lua or change.lua; or why there is none.
struct record_answer {
    /// As `tell_record` in lua/shared/record.lua has it.
    enum class said : std::uint8_t { as_it_was, done, earlier_process, is_void, other_set, too_young,
                                     outbid };
    std::optional<core::record_facts> record;
    failure why;
    said what = said::as_it_was;
};
record_answer read_record(const resp::reply& reply);

/// The number of nodes, of a joint list in the old one, ":" and a fingerprint: of `client_options::cluster` where that is given,
/// else of the sorted names of the nodes.
std::string node_set(const client_options& options);
/// The same of the list that follows, where the list is a joint one; else that of the list.
std::string node_set_after(const client_options& options);

/// The longest word of `set_names`, in bytes.
inline constexpr std::size_t max_set_names = 512;

/// What `node_set` makes the fingerprint of, as one word of a record: the sorted names of the nodes
/// with commas between them, or "=" and the cluster. Percent-encoded, and a longer one is cut, with
/// "..." at its end. For people only: nothing is decided by it.
std::string set_names(const client_options& options);
std::string set_names_after(const client_options& options);

/// Two such words as people compare them, what differs first and nothing else of two lists:
/// "the set {a:1, ...}", "the cluster "c"".
struct set_difference {
    std::string theirs;
    std::string ours;
};
/// Both empty where the words show no difference, or say nothing.
set_difference compare_set_names(std::string_view theirs, std::string_view ours);

}  // namespace redlock::wire
