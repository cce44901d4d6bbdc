// AUTH and SELECT, and the names of connected clients.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/failure.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::wire {

/// AUTH, if there is a password for the node. Returns whether there is.
bool append_auth(std::string& out, const node_options& node);
/// CLIENT SETNAME: a courtesy, which an ACL may forbid.
void append_name(std::string& out, const client_options& client);

/// Why AUTH failed, or why a command without it was refused; secrets never appear.
failure read_auth_refusal(const resp::reply& error);
/// What a server says before it has read anything, and hangs up; nothing where it is not that.
std::optional<failure> read_turned_away(const resp::reply& error);

/// What follows the client's name in that of its connections: whether it reads node records
/// ("~record"; "~none" with `fencing` off), "#", the sets that its list names (">" between the two
/// of a joint one), and where there is a key prefix, "#" and its fingerprint.
std::string mark_of_connection(const client_options& client);

/// A connection of a client whose list is another.
struct connected {
    std::string id{};    ///< For CLIENT KILL ID.
    std::string name{};  ///< Of the client, for people.
    std::string address{};
    /// It looks at the set of the node when it connects, at least. False of earlier versions, too,
    /// which do not say so.
    bool reads_record = false;
    std::string sets{};  ///< That its list names, as in the mark.
};
/// The connections to one database.
struct connections {
    /// Under the same key prefix, of clients that name other sets than the joint list does.
    std::vector<connected> others;
    /// So many have no name of this library: other programs', or clients' that may not say it.
    std::size_t unnamed = 0;
};
/// What CLIENT LIST answered; the joint list is that from the old set of `client` to `after`.
connections read_connected(const resp::reply& list, const client_options& client,
                           std::uint16_t database, const std::string& after);

void write_connected_query(std::string& out);
void write_disconnection(std::string& out, const connected& which);

}  // namespace redlock::wire
