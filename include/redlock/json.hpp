// What the library reports as JSON (RFC 8259), for logs, scripts and other languages; reads none,
// and shows no JSON type.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>
#include <redlock/export.hpp>
#include <redlock/list_state.hpp>
#include <redlock/node_report.hpp>
#include <redlock/refusal.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/stats.hpp>

#include <string>
#include <vector>

namespace redlock {

/// Each of these functions returns one value on one line, without a line break, without secrets and
/// without whole owner ids. What is no valid UTF-8 becomes U+FFFD; control characters, and those
/// that have no width or reverse the text, are escaped. Later versions may add members.
///
/// **Thread safety.** Any thread may call them.

/// As `redlock inspect --json` prints it: "resource", "held", "owner", "fence", "valid_ms",
/// "since_ms" (null: not known), "quorum", with a joint list "quorum_after", "nodes", "slot_count",
/// "slots", "waiting", "readers", "kept", "decided"; with notes "reader_notes" and "note".
REDLOCK_EXPORT std::string to_json(const resource_state& state);

/// As one of "nodes" that `redlock doctor --json` prints, and "findings": a list of objects with
/// "severity", "problem" and "text".
REDLOCK_EXPORT std::string to_json(const node_report& report);

/// "state", "number", "settles_ms", "announced".
REDLOCK_EXPORT std::string to_json(const list_standing& of);

/// A list of them.
REDLOCK_EXPORT std::string to_json(const std::vector<node_report>& reports);

/// "error" with "category", "value" and "message"; "message", the sentence of `refusal::message()`;
/// "detail"; and "votes", one object per node as in `to_json(const event&)`.
REDLOCK_EXPORT std::string to_json(const refusal& why);

/// "revoked", "freed" and "holders", the owners by the names of the members; "held": whether there
/// are holders; and "votes" as of a refusal.
REDLOCK_EXPORT std::string to_json(const revocation& done);

/// "error" and "message" as of a refusal; "source"; and "issues", a list of objects with
/// "severity", "where" (a JSON pointer) and "message".
REDLOCK_EXPORT std::string to_json(const config_error& why);

/// The counters by the names of the members of `client_stats`; each histogram as an object with
/// "count", "sum_us", and "buckets": pairs of a bound in us (null: above all) and a count.
REDLOCK_EXPORT std::string to_json(const client_stats& stats);

/// A list of texts.
REDLOCK_EXPORT std::string to_json(const std::vector<std::string>& texts);

}  // namespace redlock
