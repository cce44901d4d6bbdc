// The node record and the name of the nodes' set, as a node keeps them.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/record.hpp"
#include "wire/failure.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/options.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::wire {

/// The epoch, and then words NAME=VALUE, each after a space: in any order, and none twice. What is
/// not known, or is as in most records, has no word. Words that this version does not know are kept
/// as they are. One whose name begins with "!" costs the vote of programs that do not know it: the
/// version that writes it gives the record a new epoch, so that these read it. docs/protocol.md
/// lists the words.
std::string text_of(const core::record_facts& record);

/// Takes the word up to the next space, and the space. A space at the end, or two of them, leave an
/// empty word.
std::string_view take_word(std::string_view& left) noexcept;

/// A record, or that there is none; or why it can't be read.
struct record_answer {
    std::optional<core::record_facts> record;
    failure why;
    core::ruled::said what = core::ruled::said::as_it_was;
    bool needs_later_version = false;  ///< It has a word that programs must know.
};
/// Of a text that no version of this library can have written the answer is `foreign_data`, as of
/// one that `needs_later_version`.
record_answer read_record_text(std::string_view text, std::int64_t time_us);
/// The answer of record.lua.
record_answer read_record(const resp::reply& reply);

/// Applies one rule to the record of one node: reads it, and replaces it where it is still what was
/// read; else the rule is applied to what was found, so often at most. Each `write` is one command.
class record_exchange {
public:
    static constexpr int most_tries = 8;

    /// `known`: the record as the client read it last, which saves reading it; null: it is read
    /// first.
    record_exchange(std::string key, core::record_terms terms, core::record_rule rule,
                    const core::record_facts* known = nullptr);

    void write(std::string& out, resp::script_form form) const;
    /// What the node has said of its server meanwhile: for the rule that is applied to a reply.
    void set_server(core::server_facts server) { terms_.server = std::move(server); }
    /// Takes the reply. Returns whether to `write` again.
    bool read(const resp::reply& reply) { return take(read_record(reply)); }
    /// The same of one that was read by another's `write`.
    bool take(record_answer read);
    /// At the end, as it counts for the client; and what the rule said.
    const record_answer& answer() const noexcept { return answer_; }

private:
    bool apply(const core::record_facts& found);

    std::string key_;
    core::record_terms terms_;
    core::record_rule rule_;
    record_answer answer_;
    std::string before_;               // the record that is to be replaced; empty: there is none
    std::optional<std::string> next_;  // what replaces it; nothing: it is only read
    std::string not_after_;
    core::ruled::said what_{};
    int tries_ = 0;
};

/// The number of nodes, of a joint list in the old one, ":" and a fingerprint: of
/// `client_options::cluster` where that is given, else of the sorted names of the nodes.
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
