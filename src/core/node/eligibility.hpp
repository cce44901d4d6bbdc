// Which nodes may vote, and since when: replicas, doubles, skewed clocks, lost data; asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/list_facts.hpp"
#include "core/node/membership.hpp"
#include "core/node/node_clocks.hpp"
#include "value/time.hpp"
#include "value/validity.hpp"

#include <redlock/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::core {

/// What a server says of itself.
struct server_facts {
    std::string run_id{};  ///< Of the server process; empty: not known.
    std::string replid{};  ///< The replication id: another one after it was a replica.
    bool is_master = true;
    bool is_durable = false;  ///< Each write is on disk before it is answered.
    bool has_replicas = false;
};

/// What node.lua answered about the node record.
struct record_facts {
    bool exists = false;
    bool made = false;  ///< This call made the record, or wrote what clock.lua was to write.
    std::string epoch{};
    std::int64_t time_us = 0;   ///< The node's clock when it answered.
    std::int64_t since_us = 0;  ///< 0: no earlier lease can be alive.
    std::optional<std::int64_t> cluster_since_us{};  ///< The same in cluster time.
    std::chrono::milliseconds ttl_max{0};     ///< The longest lease; 0: none is known yet.
    std::chrono::milliseconds quarantine{0};  ///< How long the node waits for leases it may have lost.
    std::optional<std::int64_t> init_us{};  ///< When all nodes were last declared new, in cluster time.
    /// The record names an earlier process of the server, whose data may have survived. Nothing is
    /// written until cluster time shows how long ago that process was seen.
    bool is_of_earlier_process = false;
    /// The node may have forgotten leases, and no client that keeps records has noted it yet.
    bool is_void = false;
    std::string mark{};  ///< Of an unfinished bootstrap; empty: none.
    std::optional<recorded_offset> offset{};  ///< Of the node's clock.
    list_facts list{};  ///< The node's set, and what its record says of a change of the list.
    /// What the set makes of the node. Where it does not fit, the record counts as not there.
    membership::standing standing = membership::standing::fits;
    bool waits_for_earlier = false;  ///< See `membership`.

    bool is_misfit() const noexcept { return standing == membership::standing::misfit; }
    /// The node has a record that is not of the client's list, or not yet.
    bool is_away() const noexcept {
        return standing == membership::standing::closed || standing == membership::standing::behind ||
               standing == membership::standing::foreign;
    }
};

/// `init_us` of a record that was declared before cluster time was known.
inline constexpr std::int64_t init_pending = 0;

/// The restart guard: a node that may have forgotten a lease has no vote until none that was granted
/// before can be alive. It still receives the requests, and keeps the key.
///
/// A record holds two numbers. `ttl_max` is what a lease may ask for, `quarantine` what a node waits
/// for after it may have forgotten leases. A client with a larger ttl_max raises the quarantine
/// first, and ttl_max only when every node has that quarantine. With one number, raised node by
/// node, a long lease stood on two nodes; one of them lost its data, the third had never met the
/// larger number, and the two granted the lock again after the smaller one.
///
/// A vote counts where `votes_from(node)` is not after the instant at which its round was sent.
class eligibility {
public:
    eligibility(const node_lists& lists, bool is_on, std::chrono::milliseconds ttl_max,
                drift_policy drift);

    /// A handshake succeeded. The node has no vote until its clock is compared again.
    void met(std::size_t node, const server_facts& server, time_point now);
    /// What is on record on it, `now` being when the answer arrived.
    void read(std::size_t node, const record_facts& record, time_point now);
    /// From now on its record says that no earlier lease can be alive.
    void opened(std::size_t node, time_point now);
    /// Whether no node has a record and this client, which only looks, takes all for new.
    void presume_new(bool is_new) noexcept { is_presumed_new_ = is_new; }
    /// Its clock may have stepped, and keys may have expired early: no vote until it is compared.
    void doubt(std::size_t node) noexcept { nodes_[node].is_compared = false; }
    /// Its clock was compared with its record, and had not stepped.
    void compared(std::size_t node, const clock_check& clock, time_point now);
    void set_skewed(std::size_t node, bool is_skewed, time_point now);

    /// The end of time where it has none.
    time_point votes_from(std::size_t node) const noexcept;
    /// Why it has no vote: not_master, duplicate_node, clock_skew, other_set (for every node as
    /// soon as one belongs to another set; for one alone that is closed or has missed a change), or
    /// in_quarantine, the only one that ends by itself. No
    /// error where it has one.
    error_code objection(std::size_t node, time_point now) const noexcept;
    /// Whether it is worth asking: one in quarantine is.
    bool may_be_queried(std::size_t node) const noexcept { return !nodes_[node].unfit; }
    /// After a change of the list the client waits until no lease by an earlier list can be alive on
    /// the node: for so long yet. The node is in quarantine until then.
    duration settles_in(std::size_t node, time_point now) const noexcept;
    /// The same for programs with the new list alone, whichever this client has.
    duration member_wait_left(std::size_t node, time_point now) const noexcept;
    /// May be zero while its clock is still to be compared.
    duration quarantine_left(std::size_t node, time_point now) const noexcept;
    /// Its clock was compared with its record, which says how long a lease may be.
    bool is_compared(std::size_t node) const noexcept {
        const standing& s = nodes_[node];
        const bool takes_leases =
            !s.record.exists || s.record.ttl_max > std::chrono::milliseconds(0);
        return !is_on_ || is_presumed_new_ || (s.is_compared && takes_leases);
    }
    /// Whether its data are older than what this client read there: its record went back.
    bool went_back(std::size_t node) const noexcept { return nodes_[node].went_back; }
    /// Whether the data of an earlier process are the node's last ones. It was `seen_for` ago, in
    /// cluster time, when a client last saw that process.
    bool has_survived(std::size_t node, duration seen_for) const noexcept;
    /// Whether no lease that it may have forgotten can be alive, by the quarantine on its own record.
    bool has_outlived_leases(std::size_t node, time_point now) const noexcept;
    /// What its server said of itself in the last handshake.
    const server_facts& server_of(std::size_t node) const noexcept { return nodes_[node].server; }
    const record_facts& record_of(std::size_t node) const noexcept { return nodes_[node].record; }
    /// The node whose server it is, too; the node itself if it is no double.
    std::size_t first_of(std::size_t node) const noexcept;

    /// The largest on any record; this client's own where no record has one.
    std::chrono::milliseconds ttl_max() const noexcept;
    std::chrono::milliseconds quarantine() const noexcept;
    /// The smallest that a record or this client knows.
    std::chrono::milliseconds least_quarantine() const noexcept;
    /// With its drift allowance.
    duration whole_quarantine() const noexcept;
    /// The longest lease that a quorum of nodes takes; this client's ttl_max where that is unknown.
    std::chrono::milliseconds longest_lease() const noexcept;

    /// What a client that keeps records raises the numbers on them to.
    struct numbers {
        std::chrono::milliseconds quarantine{0};
        std::chrono::milliseconds ttl_max{0};
    };
    /// `on_record`: the nodes that have a record that was read on a connection that stands.
    numbers wanted(node_mask on_record) const noexcept;

private:
    struct standing {
        server_facts server;
        std::string run_id_before;  // another server's: the name led there last
        std::uint64_t met_as = 0;  // the order in which servers were met
        bool is_met = false;
        bool is_skewed = false;
        bool is_compared = false;
        error_code unfit;
        time_point fit_since = time_point::min();
        record_facts record;
        time_point remembers_since = time_point::max();
        time_point became_at = time_point::max();  // of the client's list; see `waits_for_earlier`
        bool went_back = false;
    };

    void refresh(time_point now);
    error_code unfitness(std::size_t node) const noexcept;
    bool has_changed_name(std::size_t node) const noexcept;
    bool is_among_other_sets() const noexcept;
    time_point quarantine_end(const standing& s) const noexcept;
    time_point settled_from(const standing& s) const noexcept;
    std::optional<std::int64_t> latest_init() const noexcept;
    template <class Number>
    std::chrono::milliseconds largest(Number number) const noexcept;

    node_lists lists_;
    bool is_on_;
    bool is_presumed_new_ = false;
    std::chrono::milliseconds ttl_max_;  // this client's own
    drift_policy drift_;
    std::vector<standing> nodes_;
    std::uint64_t meetings_ = 0;
};

}  // namespace redlock::core
