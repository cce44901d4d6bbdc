// Requests that read a resource for people and observers, note a run under it, or revoke it.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"
#include "value/options.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/run_record.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

/// SCAN for strings whose key begins with `prefix`, from `cursor` on ("0": from the start).
void write_scan(std::string& out, std::string_view cursor, std::string_view prefix);

/// Valid as long as the answer is.
struct scanned {
    std::string_view cursor;  ///< For the next page; "0": there is none.
    resp::reply keys;         ///< An array of texts.
};
/// Nothing where it is no answer to SCAN.
std::optional<scanned> read_scan(const resp::reply& reply);

/// So many keys one command looks at: about a tenth of a millisecond of the node's time.
inline constexpr std::size_t most_looked_at = 64;

/// Whether any of these has changed: at most `most_looked_at` keys; see seldom/look.lua.
/// `has_companions`: of locks with fences.
void write_look(std::string& out, resp::script_form form, std::span<const std::string_view> keys,
                std::string_view key_prefix, bool has_companions);
/// The digest of what the node has of the i-th of `count` keys. Nothing where it is no answer.
std::optional<std::uint64_t> read_look(const resp::reply& reply, std::size_t i, std::size_t count);

/// Which of these strings have a value as locks of this library have; see seldom/look.lua.
void write_forms(std::string& out, resp::script_form form, std::span<const std::string> keys);
/// Of each of `count` keys '0' if it has none, else '1'. Nothing where it is no answer.
std::optional<std::string_view> read_forms(const resp::reply& reply, std::size_t count);

/// What a key holds, its time, and its fence: the server's answers.
struct key_view {
    resp::reply value;
    resp::reply ttl;
    resp::reply fence;  ///< Nil where locks have none; then the rest is empty, too.
};
/// A slot that is taken.
struct slot_view {
    std::uint16_t number = 0;
    key_view key;
};
/// All that a node has of one resource. Valid as long as the answer is.
struct resource_view {
    key_view key;
    std::int64_t time_ms = 0;  ///< Of the node's clock, where somebody waits.
    resp::reply waiting;       ///< Entries of the queue.
    std::vector<std::string> readers;  ///< The one whose time ends first comes first.
    std::uint16_t slot_count = 0;  ///< The smallest number that is named; 0: none is.
    std::vector<slot_view> slots;
};
void write_view(std::string& out, resp::script_form form, std::string_view key,
                std::string_view key_prefix, bool has_companions);
/// Nothing where it is no answer.
std::optional<resource_view> read_view(const resp::reply& reply);

struct queue_answer {
    std::size_t waiting = 0;           ///< How many entries are alive.
    std::optional<std::size_t> place;  ///< The client's first among them, from 1.
};
/// `now_ms`: of the node's clock.
queue_answer read_queue(const resp::reply& waiting, std::string_view client_id,
                        std::int64_t now_ms);

/// See seldom/runs.lua. Without `noted` the record is only read; with it, it is kept for `keep` at
/// least.
void write_runs(std::string& out, resp::script_form form, std::string_view key,
                std::string_view key_prefix, const std::optional<run_record>& noted,
                std::chrono::milliseconds keep);
/// In the order in which they were noted; what is no run is left out. Nothing where it is no
/// answer.
std::optional<std::vector<run_record>> read_runs(const resp::reply& reply);

/// One key of one node; see revoke.lua.
struct revocation_request {
    std::string_view key;
    std::string_view key_prefix;
    std::optional<std::uint16_t> slot{};     ///< Of which that is the key.
    bool is_fenced = true;                   ///< Otherwise the rest but `values` does not count.
    std::uint64_t fence = 0;                 ///< That it is raised to.
    duration lift{};                         ///< See `core::fence_limits`.
    duration revoked_life{};                 ///< For so long the values can't take the key again.
    const std::set<std::string>& values;     ///< To revoke.
};
void write_revocation(std::string& out, resp::script_form form, const revocation_request& what);

struct revocation_answer {
    std::vector<std::string> revoked;  ///< The values that held the key until now.
    std::vector<std::string> holders;  ///< The values that hold it.
};
/// Nothing where it is no such answer.
std::optional<revocation_answer> read_revocation(const resp::reply& reply);

}  // namespace redlock::wire
