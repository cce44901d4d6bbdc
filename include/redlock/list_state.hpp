// How a node stands in a change of the list of nodes, and the end of one; changes nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/options.hpp>
#include <redlock/vote.hpp>

#include <bitset>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace redlock {

/// What the record of a node says of the list that a client has.
enum class list_state : std::uint8_t {
    unknown,  ///< It was not read.
    empty,    ///< The node has no record.
    member,   ///< The node is of the list; of a joint list, of the old one.
    joining,  ///< The node is new, and becomes one of the new list.
    closed,   ///< The node takes only programs with the joint list for which it was closed.
    changed,  ///< The node is of the new list.
    behind,   ///< The node missed a change: a program that has met a later record turns it.
    other,    ///< The node is of another list.
};

/// The name of the enumerator, as it is used in texts.
REDLOCK_EXPORT std::string_view to_string(list_state what) noexcept;

struct list_standing {
    list_state state = list_state::unknown;
    /// How often the list was changed until the node's record was written.
    std::uint64_t number = 0;
    /// For so long yet programs with this list alone have no vote there: after a change that node
    /// waits until no lease by the earlier list can be alive.
    std::chrono::milliseconds settles_in{0};
    /// A joint list has been used there, and its change was neither committed nor given up.
    bool is_announced = false;
};

/// How a change of the list is ended. Trivially destructible: see `acquire_options`.
///
/// Before it closes a node it waits until a quorum of the new list votes, for a quarantine at
/// most: without one no program would get a lock. Where none will, it changes nothing.
struct commit_options {
    /// How long to wait until programs with another list are gone; 0: not at all.
    std::chrono::milliseconds wait{0};
    /// Goes on although programs with another list are connected, or a minority of the old list
    /// does not say which ones. Programs with the old list get no lock from then on. But one that
    /// looks at no record (`fencing` is off, or an earlier version) has to be stopped.
    bool despite_old_programs = false;
    /// Gives the change up: the old list stands. Where the nodes of it that answer, and are not
    /// closed for a new one, are no majority nothing is done.
    bool gives_up = false;
    /// An operator's word that these nodes (by their places in `client_options::nodes`) are gone
    /// for good, or lost their records, that no other change of the list was begun, and that no
    /// other list is in use. A node that has lost its record while the list changes gets it again
    /// then, although too few others answer; and a change waits for none of these to say which
    /// programs are connected. If the word is wrong, two programs can hold the same lock. With a
    /// list that does not change nothing else is done.
    std::bitset<max_nodes> gone{};
};
static_assert(std::is_trivially_destructible_v<commit_options>);

/// What an attempt to end a change did. One vote per node: granted where the node is of the list
/// that stands now; else why it is not.
struct commit_report {
    error_code error{};                  ///< Why the list that was wanted does not stand.
    std::vector<node_vote> votes{};
    std::vector<list_standing> nodes{};  ///< As each is now, in the order of the options.
    /// Programs with another list that are connected, or were when the node was closed: "name at
    /// address, on node".
    std::vector<std::string> old_programs{};
    /// The old list stands: this attempt gave the change up, or an earlier one did.
    bool is_given_up = false;
    /// All nodes are of the list that was wanted, but for those outside it that are gone or of a
    /// set of others, and no program with another list was connected to a node when it was closed.
    bool is_complete = false;
    std::string detail{};  ///< What else an operator should know: what can't be seen, or a risk.
};

}  // namespace redlock
