// How a node's record names the set of nodes of one list; knows no record.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::wire {

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
