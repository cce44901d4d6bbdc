// When each node's clock is read, compared with its record and corrected there.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/change.hpp"
#include "core/eligibility.hpp"
#include "core/node_clocks.hpp"
#include "core/record.hpp"
#include "value/clock.hpp"
#include "value/options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::core {

struct node_order {
    enum class task : std::uint8_t {
        // To be sent to the node.
        bootstrap,         ///< `step`, on its record.
        look,              ///< Read its clock and, where the guard is on, its record.
        write_clock,       ///< Write what was `found` of its clock, and `changes`, to its record.
        write_floor,       ///< Write `floor` to its record.
        turn,              ///< Turn its record into that of another list: `turned`.
        read_replication,  ///< Read its role and its replication ids.
        greet_again,       ///< Run the handshake again, on a new connection.

        // To be used for what is sent to the node from now on.
        use_record,
        use_clock,

        // To be reported.
        clock_gap,         ///< Our own clock stood still, for `gap` at most.
        settled,           ///< Acquires need not wait any longer.
        report_objection,  ///< The node has no vote.
        report_ttl_max,    ///< Its record has a ttl_max that no report named yet.
        report_lift,       ///< The clocks of all nodes went back, by `gap` at least.
    };

    task what{};
    std::size_t node = 0;
    bootstrap::task step{};
    clock_check found{};
    amendment changes{};
    duration gap{};
    fence_floor floor{};
    std::optional<membership::turn> turned{};
};

using node_orders = std::vector<node_order>;

/// How often the nodes' clocks and records are read, at least. This also finds connections that
/// died silently.
inline constexpr duration longest_between_probes = std::chrono::seconds(5);

/// How the connection to a node stands.
struct link_facts {
    bool is_ready = false;
    bool is_untried = false;  ///< It has neither been reached nor failed to be.
    duration node_timeout{};     ///< How long it may take over one command.
};

/// What a client does with the records of its nodes.
enum class record_role : std::uint8_t {
    looks,  ///< It writes nothing.
    tends,  ///< It prolongs leases of others: it writes that it saw the nodes.
    keeps,  ///< It acquires, or holds a lease: it writes all that is to be written.
};

/// Each node's record keeps how far its clock is ahead of cluster time. A clock that has moved away
/// from that stepped, and keys may have run out early: the node is *struck*, which begins its
/// quarantine again, for all clients. A clock that has not moved has its offset written again now
/// and then, so that drift does not add up to a step.
///
/// A strike costs the node's vote for a whole ttl_max, and every client may give one. So:
/// - While a reading is under way no node is struck. After a pause of our own machine the first
///   clock that is read again disagrees with the other two, and is right.
/// - No node is struck by what was read before another client corrected the records. That would
///   undo its correction, it would undo ours, and so on. So all is read again first, once.
/// - A jump for which another client has struck the node already is forgiven. Otherwise each of ten
///   clients strikes the node once, and after each strike the other nine greet it again.
/// - A jump that a quorum of clocks shares is our own clock's: it is reported as a gap.
///
/// The records of a new cluster get their first offsets together, when all have been made, by the
/// median of all clocks. Of records that are written one after the other the first ones decide what
/// cluster time is for the rest: they may have been read badly, which only they say. The next
/// client would strike a node whose clock runs true.
///
/// With the clock other things are written to the record, since each needs cluster time:
/// - whether the data of an earlier process are the node's last ones (`eligibility::has_survived`);
/// - a larger quarantine, and then a larger ttl_max, where all nodes answer: longer leases need all
///   of them. A node whose age has reached the smaller quarantine is opened: no longer lease can be
///   alive. The others wait until each node has, so that a program which asks for longer leases
///   takes no vote from any;
/// - that no lease can be alive, where all nodes answer and no client saw any of them for longer
///   than a quarantine. A quorum that granted a lease has a node that kept its record, and its
///   holder would have seen that node. So a job that runs once a day votes at once, though all
///   nodes were restarted overnight.
///
/// What a client writes of this is its `record_role`. It judges as if it had written all of it.
///
/// Without the restart guard clocks are followed, for fences and for skew, and never compared.
class clock_watch {
public:
    clock_watch(const node_lists& nodes, bool is_guarded, duration tolerance, drift_policy drift);

    const node_clocks& clocks() const noexcept { return clocks_; }

    void set_role(record_role role) noexcept { role_ = role; }
    /// Whether records are being made: the first offsets wait until that is over.
    void set_making(bool is_making) noexcept { is_making_ = is_making; }
    /// How long after a probe the next one is due. Clients tell by `seen` whether a node's data are
    /// its last ones, so it is written several times within a quarantine.
    static duration between_probes(const eligibility& votes) noexcept;

    void set_link(std::size_t node, const link_facts& link) { nodes_[node].link = link; }
    const link_facts& link(std::size_t node) const noexcept { return nodes_[node].link; }
    /// Queries on the connection before will not be answered any more.
    void greeted(std::size_t node) noexcept;
    /// The node's clock was read. Whether it jumped, and so has to be compared again before the
    /// node votes.
    bool read(std::size_t node, const clock_reading& reading, eligibility& votes, time_point now,
              node_orders& out);
    /// Its record was read, and is known to `votes`.
    void take_record(std::size_t node, eligibility& votes, time_point now);

    /// Orders a look, unless one is under way or the node is not connected.
    void look(std::size_t node, node_orders& out);
    /// A look was answered. Its content is passed to `read` and `take_record`.
    void looked(std::size_t node) noexcept;
    /// A look came to nothing. It is repeated by the next probe.
    void look_failed(std::size_t node) noexcept { nodes_[node].look = looking::failed; }
    /// The order to write was answered. `was_first`: false where another client had written, and
    /// nothing was; its record is what the clock is compared with next.
    void clock_written(std::size_t node, bool was_first) noexcept;
    /// The order to write failed: the node may be out of memory. The next probe tries again.
    void write_failed(std::size_t node) noexcept { nodes_[node].write = writing::refused; }
    /// A probe: what the node refused may be written again.
    void probe(std::size_t node, node_orders& out);

    /// Compares the clocks with the records, tells `votes` what is known of them, and orders what
    /// is to be read or written. Whether it reads everything again: then nodes may soon get their
    /// vote back.
    bool compare(eligibility& votes, time_point now, node_orders& out);

    /// Whether the node, which restarted, votes only because all nodes answer, and no client has
    /// seen any of them for a quarantine: until a client that keeps records has written that down.
    bool hangs_on_all(std::size_t node, const eligibility& votes, time_point now) const;

    /// Whether this client only looks, and the node has no record, but was unused: one that is made
    /// would be open.
    bool is_unmade(std::size_t node, const eligibility& votes) const noexcept;

    /// Whether a look has no answer yet, or a connection has neither been made nor failed.
    bool is_looking() const noexcept;
    bool is_writing() const noexcept;

private:
    enum class looking : std::uint8_t { idle, ordered, failed };
    // Refused: until the next probe. Done: until the next look.
    enum class writing : std::uint8_t { idle, ordered, refused, done };
    struct node_state {
        link_facts link;
        looking look = looking::idle;   // at its clock and its record
        writing write = writing::idle;  // of its clock's offset, to its record
        // No lease was alive when its record had this epoch; empty: when it had no record.
        std::optional<std::string> unused_since;
    };

    void judge_skew(eligibility& votes, time_point now) const;
    void start_over(time_point now);
    void forgive_jump(std::size_t node, const eligibility& votes, time_point now);
    bool has_on_record(std::size_t node, const eligibility& votes) const noexcept;
    bool has_any_stepped(const eligibility& votes, time_point now) const;
    void compare(std::size_t node, bool is_last, eligibility& votes, time_point now,
                 node_orders& out);
    void keep(std::size_t node, const clock_check& found, bool is_last, eligibility& votes,
              time_point now, node_orders& out);
    void write(std::size_t node, const clock_check& found, const amendment& changes,
               node_orders& out);
    amendment changes_due(std::size_t node, const eligibility& votes, time_point now) const;
    bool has_outlived_leases(std::size_t node, const eligibility& votes, time_point now) const;
    bool may_raise(const eligibility& votes, time_point now) const;
    node_mask on_record(const eligibility& votes) const noexcept;
    void note_disuse(const eligibility& votes, time_point now);
    bool is_long_unseen(std::size_t node, const eligibility& votes, time_point now) const;
    bool is_unused(std::size_t node, const eligibility& votes) const noexcept;

    bool is_guarded_;
    record_role role_ = record_role::looks;
    bool is_making_ = false;
    node_clocks clocks_;
    std::vector<node_state> nodes_;
    /// In a row: for a node whose time is another one at each reading it would go on without end.
    static constexpr int most_restarts = 8;
    int restarts_ = 0;  // of reading all clocks and records again, since all were read
};

}  // namespace redlock::core
