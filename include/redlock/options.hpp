// What a client and an acquisition can be told; knows no file format and no socket.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>
#include <redlock/owner_id.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace redlock {

struct event;

/// TLS towards one node.
struct tls_options {
    std::string ca_file{};      ///< PEM file of trusted roots; empty: the system's.
    std::string cert_file{};    ///< Client certificate (PEM); empty: none.
    std::string key_file{};     ///< Its private key (PEM).
    std::string server_name{};  ///< Name to verify and to send as SNI; empty: the host.
    bool verify = true;         ///< false accepts any certificate: for tests only.
};

/// One independent Redis (or Valkey) master: one vote.
struct node_options {
    std::string name{};                  ///< For people; default "host:port".
    std::string host = "127.0.0.1";      ///< Name or address; resolved at each connection.
    std::uint16_t port = 6379;           ///< TCP port.
    std::string unix_socket{};           ///< Path; when set, host and port are not used.
    std::string username{};              ///< ACL user; empty: the default user.
    std::string password{};              ///< Empty: no AUTH is sent.
    std::uint16_t database = 0;          ///< SELECTed in the handshake.
    std::optional<tls_options> tls{};    ///< Set: TLS.
};

/// How the client treats a node that restarted and may have lost its data. Only fenced locks are
/// guarded: a plain one asks no node what it remembers.
enum class restart_guard : std::uint8_t {
    automatic,  ///< Quarantine; a set of nodes that are all new is recognised and votes at once.
    strict,     ///< Quarantine; only a person (`redlock init`) declares nodes new.
    off,        ///< None: a restarted empty node votes at once, and two holders become possible.
};

/// What a client is made of. `validate()` lists everything that is wrong with it.
struct client_options {
    std::vector<node_options> nodes{};              ///< 1 to 32; an odd number is best.
    /// One command on one node. 0: by measurement, for each node four times the round trip that its
    /// handshake took, at least 50 ms and at most `longest_measured_timeout`.
    std::chrono::milliseconds node_timeout{0};
    std::chrono::milliseconds connect_timeout{500}; ///< Resolve, connect and handshake together.
    std::chrono::milliseconds ttl_max{60'000};      ///< Longest ttl accepted; also the quarantine.
    double drift_factor = 0.01;                     ///< Clock drift allowed, as a share of the ttl.
    std::chrono::milliseconds drift_min{2};         ///< Added to it.
    /// Stands before the resource in the key; empty: the key is the resource name. Must be the same
    /// for all clients of a resource: prefix "app:" with "r" and an empty prefix with "app:r" are
    /// one key, so the two exclude each other, but they have two fences and two node records.
    std::string key_prefix{};
    std::string client_name{};                      ///< Empty: "host:pid"; shown to who asks.
    /// Names the set of nodes, for clients that spell the same nodes differently. Empty: the names
    /// of the nodes identify the set. Every node's record names its set; where one belongs to
    /// another set, this client is granted nothing (`errc::other_set`).
    std::string cluster{};
    bool fencing = true;  ///< false: plain SET NX PX, no fence and no restart guard.
    restart_guard guard = restart_guard::automatic;
    /// Called for each event on the client's internal strand: return quickly, do not throw.
    std::function<void(const event&)> on_event{};
};

enum class lock_mode : std::uint8_t { exclusive, shared };

/// How one acquisition is to go. Trivially destructible on purpose: temporaries of it are safe in a
/// `co_await` expression with g++ 12.
struct acquire_options {
    std::chrono::milliseconds ttl{0};          ///< 0: the smaller of 10 s and ttl_max.
    std::chrono::milliseconds wait{0};         ///< 0: one attempt, soon. Else in line, for so long.
    bool renew = true;                         ///< Keep the lease alive until released or lost.
    std::chrono::milliseconds max_hold{0};     ///< 0: no cap; else from the grant on.
    std::chrono::milliseconds loss_margin{0};  ///< Report a loss this long before the end.
    lock_mode mode = lock_mode::exclusive;     ///< `shared` is not built yet: invalid_argument.
    /// Zero: a fresh random one. A value of the caller's own, to be known by on the nodes, may be
    /// used by one lease of a resource at a time. On the nodes "#" and a random number stand behind
    /// it: two processes that use the same value exclude each other, and a late release of an
    /// earlier lease cannot end a later one.
    owner_id owner{};
};
static_assert(std::is_trivially_destructible_v<acquire_options>);

/// One thing that is wrong, or doubtful, in a configuration.
struct config_issue {
    enum class level : std::uint8_t { error, warning };
    level severity = level::error;
    std::string where{};    ///< JSON pointer, such as "/nodes/2/port".
    std::string message{};  ///< What is wrong and what would be right; never a secret.
};

/// Every problem of the options at once; empty when they are good. What is allowed and doubtful, as
/// an even number of nodes, is a warning. Thread-safe.
REDLOCK_EXPORT std::vector<config_issue> validate(const client_options& options);

/// Every problem of an acquisition's options for a client with `client` options, which are good;
/// empty when there is none. Thread-safe.
REDLOCK_EXPORT std::vector<config_issue> validate(const acquire_options& options,
                                                  const client_options& client);

/// Why `resource` can't name a lock under these options, or an empty text when it can.
REDLOCK_EXPORT std::string validate_resource(const client_options& options,
                                             std::string_view resource);

/// The most time that a node is given for one command where that is measured.
inline constexpr std::chrono::milliseconds longest_measured_timeout{1'000};
/// The most nodes a client takes.
inline constexpr std::size_t max_nodes = 32;
/// The longest resource name, in bytes.
inline constexpr std::size_t max_resource_bytes = 512;
/// The longest name of a set of nodes, in bytes.
inline constexpr std::size_t max_cluster_bytes = 255;
/// The longest client name, in characters.
inline constexpr std::size_t max_client_name = 64;

/// The client_name that stands for an empty one: "host:pid" of this process.
REDLOCK_EXPORT std::string default_client_name();

/// The name by which a node goes: its own, or else "host:port" or the socket's path.
REDLOCK_EXPORT std::string display_name(const node_options& node);

}  // namespace redlock
