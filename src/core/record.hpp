// What the record of a node says, and the rules by which it changes; asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/change.hpp"
#include "core/fence_floor.hpp"
#include "core/node_clocks.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace redlock::core {

/// What a server says of itself.
struct server_facts {
    std::string run_id{};  ///< Of the server process; empty: not known.
    std::string replid{};  ///< The replication id: another one after it was a replica.
    bool is_master = true;
    bool is_durable = false;  ///< Each write is on disk before it is answered.
    bool has_replicas = false;
};

/// In a record that is to be written: the node's clock at that instant. Of an instant in cluster
/// time: that less the offset in the same record.
inline constexpr std::int64_t at_writing = std::numeric_limits<std::int64_t>::min();
/// `init_us` of a record that was declared before cluster time was known.
inline constexpr std::int64_t init_pending = 0;

/// The record of a node, or that it has none, as the client read it, and what that is worth to it.
struct record_facts {
    bool exists = false;
    bool made = false;  ///< This client has just made it, or made it again.
    std::string epoch{};  ///< New whenever earlier votes of the node must not count any more.
    std::int64_t time_us = 0;   ///< The node's clock when it answered.
    std::int64_t since_us = 0;  ///< It remembers its leases from then on; 0: all.
    std::optional<std::int64_t> cluster_since_us{};  ///< The same in cluster time.
    std::chrono::milliseconds ttl_max{0};     ///< The longest lease; 0: none is known yet.
    std::chrono::milliseconds quarantine{0};  ///< What the node waits for lost leases.
    std::optional<std::int64_t> init_us{};  ///< When all were declared new, in cluster time.
    /// The record names an earlier process of the server, whose data may have survived. Nothing is
    /// written until cluster time shows how long ago that process was seen.
    bool is_of_earlier_process = false;
    /// The node may have forgotten leases, and no client that keeps records has noted it yet.
    bool is_void = false;
    /// It is void, and its data may be from before steps of a change of the list: what it says of
    /// that counts no more than if it had no record.
    bool may_lack_steps = false;
    std::string mark{};  ///< Of an unfinished bootstrap; empty: none.
    std::optional<recorded_offset> offset{};  ///< Of the node's clock.
    fence_floor floor{};
    list_facts list{};  ///< The node's set, and what its record says of a change of the list.
    /// What the set makes of the node. Where it does not fit, the record counts as not there.
    membership::standing standing = membership::standing::fits;
    bool waits_for_earlier = false;  ///< See `membership`.
    std::string run_id{};     ///< Of the server process.
    std::string replid{};     ///< Of that server; empty: not known.
    bool is_durable = false;  ///< Each write was on disk before it was answered.
    std::int64_t created_us = 0;  ///< When the record was made, by the node's clock.
    std::string unknown{};    ///< Words of a later version, each with a space before it.
    std::string text{};       ///< What was read.

    bool is_misfit() const noexcept { return standing == membership::standing::misfit; }
    /// The node has a record that is not of the client's list, or not yet.
    bool is_away() const noexcept {
        using enum membership::standing;
        return standing == closed || standing == behind || standing == foreign;
    }
};

/// What a client knows that the rules go by.
struct record_terms {
    server_facts server{};  ///< Of the handshake.
    std::string set{};      ///< `node_set` of this client.
    std::string after{};    ///< Of a joint list, the set of the new one; else empty.
    std::string names{};    ///< `set_names` of this client.
    /// A record is made where there is none, or where it may lack steps.
    bool makes = false;
    /// Of a record that is made: its set, and what it says of a change.
    std::optional<list_facts> made{};
    std::uint64_t number = 0;  ///< Of one that is declared: how often the list was changed.
    fence_floor floor{};       ///< By all records that the client has met, and its own reckoning.
    std::string epoch{};  ///< Of a record that is made, or that gets a new one.
    std::string mark{};   ///< Of one that is made to be opened.
    std::chrono::milliseconds quarantine{0};  ///< Of a record that is made or declared.
    std::chrono::milliseconds ttl_max{0};     ///< Likewise; 0: it gets one later.
    /// An announcement that no program has repeated since, in cluster time, is forgotten.
    std::optional<std::int64_t> forgets_announced_before_us{};
    bool is_list_changing = false;  ///< By what was read of all nodes.
    /// Only compares the set, and writes nothing: for a client without the restart guard.
    bool only_peeks = false;
    /// Writes nothing, and reads what the record would be worth: for a client that only looks.
    bool only_judges = false;
    /// Long after the handshake: how durable the node was then, and its replication id, are not
    /// written down again, since another client may know better by now.
    bool is_much_later = false;
};

/// What a rule makes of a record.
struct ruled {
    using said = rule_outcome;
    said what = said::as_it_was;
    /// What replaces it; where that does not `exist` the record is deleted. Nothing: it stays.
    std::optional<record_facts> next{};
    /// The node's clock after which it must not be replaced any more: the client may stand still
    /// between reading and writing.
    std::optional<std::int64_t> not_after_us{};
};

/// A rule is applied to what was read, and again to what is found where another client was faster.
using record_rule = std::function<ruled(const record_facts& found, const record_terms&)>;

/// At a handshake, and whenever the record is looked at. A record is made where there is none and
/// `makes` says so. `since` stays for the same process with the same replication id. Another
/// process whose data was and is durable may have all leases of the earlier one, or be started with
/// files that lack the leases of a life between the two: nothing is written until cluster time is
/// known, and then by `amended`. `since` becomes now, under a new epoch, after any other start;
/// where the process has another replication id, since it was a replica meanwhile and has another
/// server's data; and where the clock went back beyond `since`. Where the list changes a record
/// with other data than the process before had stays until one is to be made: it may lack steps
/// of the change, which the others know. The record of another set stays as it is.
ruled greeted(const record_facts& found, const record_terms& t);
/// The whole cluster is new: no earlier lease can be alive, where the record bears the mark.
ruled opened(const record_facts& found, const record_terms& t);
/// Another client's bootstrap goes first: the record goes where it bears the mark, and is so young
/// that no client can rely on it. (Without an older one the node would look as if it had
/// forgotten.)
ruled withdrawn(const record_facts& found, const record_terms& t);
/// An operator says that no earlier lease can be alive. From now on the node has the client's set,
/// quarantine and ttl_max, whether or not there was a record. `clock`: what is known of the node's.
/// Fences go on above all earlier ones, unless `lowers_fences`: from then on they are drawn by the
/// nodes' clocks as they are.
ruled declared(const record_facts& found, const record_terms& t,
               const std::optional<clock_check>& clock, bool lowers_fences);

/// What is written to a record together with the clock's offset.
struct amendment {
    enum class kind : std::uint8_t {
        keep,    ///< The node remembers its leases.
        strike,  ///< It may have forgotten leases: its quarantine begins again.
        open,    ///< No earlier lease can be alive.
    };
    kind what = kind::keep;
    /// The record names an earlier process: from now on it names the present one.
    bool names_process = false;
    std::chrono::milliseconds quarantine{0};  ///< Raised to that; a larger one stands.
    std::chrono::milliseconds ttl_max{0};
};
/// Writes how far the clock is from cluster time, and what follows for the node's memory. With it
/// goes the highest node time that the client has reckoned. Where the
/// record has another epoch or `seen` than `known`, which the clock was compared with, nothing is
/// written: so what followed for an unused or an aged node still does, however late it is written.
ruled amended(const record_facts& found, const record_terms& t, const record_facts& known,
              const clock_check& clock, const amendment& changes);

/// Writes up to which time fences are drawn, and their lift. Where that changes nothing is written
/// unless the record says what is `known` of it; and a fresh time is not written again.
ruled floored(const record_facts& found, const record_terms& t, const fence_floor& known,
              const fence_floor& to);

/// One step of a change of the list, on the record of one node.
struct list_step {
    enum class kind : std::uint8_t {
        read,     ///< Nothing is written.
        promise,  ///< From now on only that ballot or a higher one may close the node.
        close,    ///< Where it has that promise still: it takes only programs with the joint list.
        become,   ///< The node is a member of the set that follows.
    };
    /// What a node that becomes a member of the next set knows of leases.
    enum class memory : std::uint8_t {
        lost,         ///< It may have missed some: its quarantine begins again.
        kept,         ///< Programs with the new list alone wait for those of the earlier one.
        undisturbed,  ///< The same list goes on, and nobody waits.
    };
    kind what = kind::read;
    list_facts from{};        ///< Where the node has another set or number, nothing is done.
    std::string epoch{};      ///< Likewise; empty: any.
    list_facts to{};          ///< close, become: the set that follows.
    std::string ballot{};     ///< promise, close.
    std::int64_t settle_us = 0;  ///< promise, close: so old has to be a member of a changed list.
    std::chrono::milliseconds quarantine{0};  ///< become: at least.
    std::chrono::milliseconds ttl_max{0};     ///< Likewise.
    memory leases = memory::kept;
};
ruled stepped(const record_facts& found, const record_terms& t, const list_step& step);

/// Whether the node became a member of its list by a change less than `settle_us` ago, by its own
/// clock or in cluster time.
bool is_young_member(const record_facts& r, std::int64_t settle_us) noexcept;

/// The record as it counts for the client: whether it names an earlier process or is void. Without
/// the restart guard it counts only where its set is another or the list changes.
record_facts as_seen(record_facts found, const record_terms& t);

}  // namespace redlock::core
