// The options of a client and of an acquire; knows no file format and no socket.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>
#include <redlock/node_options.hpp>
#include <redlock/note_text.hpp>
#include <redlock/owner_id.hpp>
#include <redlock/resource_list.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace redlock {

struct event;

/// How the client treats a node that restarted and may have lost its data. Applies to fenced locks
/// only: for plain locks (`fencing` off) the client reads no node records.
enum class restart_guard : std::uint8_t {
    automatic,  ///< Quarantine. If all nodes are new, the client detects it; they vote at once.
    strict,     ///< Quarantine. Only an operator (`redlock init`) declares nodes new.
    off,        ///< None: a node that restarted empty votes at once; two holders are possible.
};

/// The options of a client. `validate()` lists everything that is wrong with them.
struct client_options {
    std::vector<node_options> nodes{};              ///< 1 to 32; an odd number is best.
    /// How long a node may take to answer one command. 0: measured for each node as four times the
    /// round trip of its handshake, at least 250 ms (for a ttl below 2.5 s a tenth of it, and at
    /// least 50 ms) and at most `longest_measured_timeout`. If this client's own timers are late,
    /// because its machine is busy or a callback takes long, each node has up to
    /// `longest_measured_timeout` more.
    std::chrono::milliseconds node_timeout{0};
    /// How long a node may be silent until a connection to it serves: to be resolved and reached,
    /// for the TLS handshake, and before each of its answers in ours; four times that in all. So
    /// 500 ms reach across an ocean.
    std::chrono::milliseconds connect_timeout{500};
    /// The longest ttl that is accepted, and the length of the quarantine. Should be the same for
    /// all clients of these nodes. The largest counts, as soon as a client that has it has reached
    /// every node; until then its leases last for no longer than the one on the nodes' records.
    std::chrono::milliseconds ttl_max{60'000};
    double drift_factor = 0.01;                     ///< Drift allowance, as a share of the ttl.
    std::chrono::milliseconds drift_min{2};         ///< Added to the drift allowance.
    /// Put before the resource to form the key; empty: the key is the resource name. Must be the
    /// same for all clients of a resource: prefix "app:" with "r" and an empty prefix with "app:r"
    /// form the same key, so the two exclude each other, but each has its own fences and node
    /// records.
    std::string key_prefix{};
    std::string client_name{};  ///< Shown by inspect; without "#"; empty: "host:pid".
    /// Names the set of nodes, for clients that spell the same nodes differently. Empty: the names
    /// of the nodes identify the set. Every node records its set; if one node belongs to another
    /// set, no node grants this client anything (`errc::other_set`).
    std::string cluster{};
    /// Of a joint list with `cluster`: what the set of the new list is called. Another name.
    std::string cluster_after{};
    bool fencing = true;  ///< false: plain SET NX PX, no fence and no restart guard.
    restart_guard guard = restart_guard::automatic;
    /// Called for each event, on the client's internal strand. It must return quickly and
    /// must not throw.
    std::function<void(const event&)> on_event{};
};

/// `exclusive`: nobody else holds the resource. `shared`: others may hold it at the same time, all
/// of them shared: readers. A reader's fence exceeds those of all exclusive leases before it, and
/// an exclusive one those of all leases before it; the fences of two readers say nothing of each
/// other.
enum class lock_mode : std::uint8_t { exclusive, shared };

/// The options of one acquire. The struct is trivially destructible so that temporaries of it are
/// safe in a `co_await` expression with g++ 12.
struct acquire_options {
    std::chrono::milliseconds ttl{0};          ///< 0: the smaller of 10 s and ttl_max.
    /// How long to queue for the lock; 0: one attempt, and others for 100 ms or 16 round trips at
    /// most where votes are split: callers that try at once each have some nodes, and none a
    /// quorum. More than a year: a year, as if there were no limit.
    std::chrono::milliseconds wait{0};
    bool renew = true;                         ///< Renew the lease until it is released or lost.
    std::chrono::milliseconds max_hold{0};     ///< Limit of the validity, from the grant; 0: none.
    /// The nodes keep the resource for at least so long after the grant, also when it is released
    /// sooner: nobody else is granted it before that, and it then runs out. For what is to be done
    /// once per period. A holder that dies keeps it for the longer of the ttl, and this plus twice
    /// `node_timeout`. At most `longest_min_hold`; 0: a release frees it at once. A grant that
    /// comes so late that the keys could run out before is `validity_exhausted`. Not for
    /// `lock_mode::shared`.
    std::chrono::milliseconds min_hold{0};
    /// How long before `valid_until()` a loss is reported; at least the smaller of 5 ms and a
    /// twentieth of the ttl.
    std::chrono::milliseconds loss_margin{0};
    /// The lease is renewed only as long as its holder calls `lease::touch()`, or that of the
    /// mutex, election or other object that holds it, at least so often; the grant counts as the
    /// first call. Where it was not called for so long, the client reports the loss at that
    /// instant, as `loss::stalled`. So a program that hangs does not keep its lock, although the
    /// client's thread goes on: the keys stay until `valid_until()`, as after each loss, and no
    /// longer. Needs `renew`. At most 366 days; 0: the lease is renewed whatever its holder does.
    std::chrono::milliseconds watchdog{0};
    /// A line for people, which the nodes keep as long as the lease: `resource_state::note`, the
    /// votes and the refusals of others, `redlock inspect`, `list` and `watch` show it. Up to
    /// `max_note_bytes` of UTF-8 without control characters and without characters that have no
    /// width or reverse the text; of any text, which is copied. It is no secret: it stands in the
    /// value of the lease's keys. Empty: none.
    note_text note{};
    lock_mode mode = lock_mode::exclusive;     ///< `shared` needs `client_options::fencing`.
    /// So many leases of the resource may be held at once, by all programs: each has one of as many
    /// slots (`lease::slot()`). Where programs name different numbers the smallest counts. 1 to
    /// `max_slots`; needs `client_options::fencing` and the exclusive mode. 0: the resource itself,
    /// which is another lock than its slots. Slot 3 of "r" has the key of the resource "r#3".
    std::uint16_t slots = 0;
    /// So many of the slots this lease takes at once, all or none: `lease::slots()`. 1 to `slots`,
    /// and `max_permits` at most; 1 without `slots`. It waits in line until as many are free, and
    /// those behind it wait, too.
    std::uint16_t permits = 1;
    /// Zero: the client draws a random one. With a value of its own the caller can recognise the
    /// lease on the nodes; one lease of a resource at a time may use it. On the nodes "#" and a
    /// random number follow the value: two processes that use the same value exclude each other,
    /// and a late release of an earlier lease cannot end a later one.
    owner_id owner{};
    /// The caller's own number of what the call is a part of, as a span of its tracer: the
    /// `event::parent` of all events of the call, and of its lease.
    std::uint64_t parent = 0;
};
static_assert(std::is_trivially_destructible_v<acquire_options>);

/// One error or warning about a configuration.
/// How nodes are declared new. Trivially destructible: see `acquire_options`.
struct init_options {
    /// After the clocks of all nodes went back, fences follow them again: later holders have lower
    /// ones than earlier holders had. A store that remembers those refuses the later holders.
    bool lowers_fences = false;
};
static_assert(std::is_trivially_destructible_v<init_options>);

struct config_issue {
    enum class level : std::uint8_t { error, warning };
    level severity = level::error;
    std::string where{};    ///< JSON pointer, such as "/nodes/2/port".
    std::string message{};  ///< What is wrong and what to do; contains no secret.
};

/// Every problem of the options at once; empty if there is none. What is allowed but doubtful,
/// such as an even number of nodes, is a warning.
///
/// **Thread safety.** Any thread may call this and the functions below.
REDLOCK_EXPORT std::vector<config_issue> validate(const client_options& options);

/// Every problem of the options of an acquire; empty if there is none.
///
/// **Preconditions.** `client` has no errors.
REDLOCK_EXPORT std::vector<config_issue> validate(const acquire_options& options,
                                                  const client_options& client);

/// Why `resource` can't name a lock under these options; empty if it can. It has 1 to 512 bytes,
/// and no form that is reserved for the library's own keys.
REDLOCK_EXPORT std::string validate_resource(const client_options& options,
                                             std::string_view resource);

/// The ttl of a lease whose options name none: 10 s, or `ttl_max` where that is shorter.
inline std::chrono::milliseconds default_ttl(const client_options& options) {
    constexpr std::chrono::milliseconds usual = std::chrono::seconds(10);
    return options.ttl_max < usual ? options.ttl_max : usual;
}

/// Why `note` can't be an `acquire_options::note`; empty if it can.
REDLOCK_EXPORT std::string validate_note(std::string_view note);

/// Why these can't be acquired at once; empty if they can. They are 1 to 64, all different.
REDLOCK_EXPORT std::string validate_resources(const client_options& options,
                                              const resource_list& resources);

/// The bounds of a `node_timeout` that is measured; the lower one is less for short ttls.
inline constexpr std::chrono::milliseconds shortest_measured_timeout{250};
inline constexpr std::chrono::milliseconds longest_measured_timeout{1'000};
/// The most nodes that a client accepts.
inline constexpr std::size_t max_nodes = 32;
/// The longest resource name, in bytes.
inline constexpr std::size_t max_resource_bytes = 512;
/// The most slots of a resource.
inline constexpr std::uint16_t max_slots = 1'000;
/// The most slots that one lease takes, or one call of a rate limiter. Each is a key of one
/// request, and a server does nothing else meanwhile.
inline constexpr std::uint16_t max_permits = 64;
/// The longest name of a set of nodes, in bytes.
inline constexpr std::size_t max_cluster_bytes = 255;
/// The longest client name, in characters. They are printable ASCII, without "#".
inline constexpr std::size_t max_client_name = 64;

/// The longest `acquire_options::min_hold`: ttl_max, less the drift allowance and what may pass
/// between asking the nodes and the grant.
REDLOCK_EXPORT std::chrono::milliseconds longest_min_hold(const client_options& client);

/// The value that an empty client_name stands for: "host:pid" of this process.
REDLOCK_EXPORT std::string default_client_name();

}  // namespace redlock
