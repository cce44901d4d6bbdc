// Where one node is, and how a client connects to it.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/credentials.hpp>
#include <redlock/export.hpp>
#include <redlock/list_change.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace redlock {

/// TLS towards one node, 1.2 or later. The server's certificate has to be signed by a trusted root,
/// to be valid now, and to have the name of the node. A node that fails that has no connection, and
/// its votes say why. The session is resumed when the client connects again.
///
/// A file that has changed is read again at the next connection, so a rotation needs no restart:
/// the connections that exist go on, and new ones use the new files. Where one can't be used, as
/// where the certificate was replaced and its key was not yet, the client goes on with those that
/// it read before, and reports it as `event_kind::node_reported`.
struct tls_options {
    std::string ca_file{};      ///< PEM file of trusted roots; empty: the system's.
    std::string cert_file{};    ///< Client certificate (PEM), and its chain; empty: none.
    std::string key_file{};     ///< Its private key (PEM), without a passphrase.
    std::string server_name{};  ///< Name to verify and to send as SNI; empty: the host.
    bool verify = true;         ///< false accepts any certificate: for tests only.
};

/// One independent Redis (or Valkey) master: one vote.
struct node_options {
    std::string name{};                  ///< Shown in votes and events; default "host:port".
    std::string host = "127.0.0.1";      ///< Name or address; resolved at each connection.
    std::uint16_t port = 6379;           ///< TCP port.
    std::string unix_socket{};           ///< Path; if set, host and port are not used.
    std::string username{};              ///< ACL user; empty: the default user.
    std::string password{};              ///< Empty: no AUTH is sent.
    /// A file of up to 4096 bytes whose content, without the end of its last line, is the password.
    /// The client reads it at each connection, so a rotation needs no restart, on the thread that
    /// runs it: the file should be a local one, and it should be replaced by renaming another one
    /// to its name. Where it can't be read, the client uses the password that it read last, at
    /// first `password`, and reports it as `event_kind::node_reported`; where there is no such
    /// password, the constructors of the clients throw `std::invalid_argument`. Empty: none.
    std::string password_file{};
    /// A program and its arguments. The client runs it at each connection, when the node is
    /// reached; the first line of its standard output is the password. It runs without a shell, in
    /// a process group of its own, with this program's environment and folder, nothing to read, and
    /// no descriptor of this program (before glibc 2.34, and with another C library: none that is
    /// close-on-exec); the first word is looked for in PATH. It has
    /// `connect_timeout` to end with status 0, and is killed with its group after that, or when the
    /// client is closed. Where it gives no password the connection is `errc::no_credentials`, with
    /// the cause and the first line of its standard error. Empty: none.
    std::vector<std::string> password_command{};
    /// Called in place of that for each connection, on the client's internal strand: it must return
    /// quickly, and hand the request to whatever will answer it by `credentials_request::deadline`.
    /// If it throws, that is a failure with the exception's text. The client and the other nodes go
    /// on meanwhile. Of `password` with `password_file`, `password_command` and this one is given.
    std::function<void(credentials_request)> credentials{};
    std::uint16_t database = 0;          ///< SELECTed in the handshake.
    /// Empty: no TLS. Not for a UNIX socket. If a file of it can't be used, the constructors of the
    /// clients throw `std::invalid_argument`. In a build of the library without OpenSSL `validate`
    /// reports an error, and a configuration with "tls" or "rediss://" is `errc::config_invalid`.
    std::optional<tls_options> tls{};
    /// Whether the server has each write on disk before it answers. Empty: as CONFIG GET shows.
    /// true: also where the service forbids CONFIG, and there alone; never of a server that has
    /// replicas, or was one. If it is not so, a restart may let a second holder in, and nothing
    /// detects that. false: a restart costs it its vote for `ttl_max`, whatever it shows.
    std::optional<bool> durable{};
    list_change change = list_change::none;
};

/// The name that votes and events show for a node: `name`, or else "host:port" or the socket's
/// path.
REDLOCK_EXPORT std::string display_name(const node_options& node);

}  // namespace redlock
