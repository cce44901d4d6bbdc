// Which nodes may vote, and since when: replicas, doubles, skewed clocks, lost data; asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/node_clocks.hpp"
#include "value/quorum.hpp"

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

/// What node.lua told of the node record.
struct record_facts {
    bool exists = false;
    bool made = false;  ///< This call made the record, or wrote what clock.lua was to write.
    std::string epoch{};
    std::int64_t time_us = 0;   ///< The node's clock when it answered.
    std::int64_t since_us = 0;  ///< 0: no earlier lease can be alive.
    std::optional<std::int64_t> cluster_since_us{};  ///< The same in cluster time.
    std::chrono::milliseconds ttl_max{0};
    std::string mark{};  ///< Of an unfinished bootstrap; empty: none.
    std::optional<recorded_offset> offset{};  ///< Of the node's clock.
    std::string other_set{};  ///< The node's set, where it is not ours; then all else is unknown.
};

/// The restart guard: a node that may have forgotten a lease has no vote until none that was granted
/// before can be alive. It is still asked, and keeps the key.
///
/// A vote counts where `votes_from(node)` is not after the instant at which its round was sent.
class eligibility {
public:
    eligibility(std::size_t nodes, bool is_on, std::chrono::milliseconds ttl_max,
                drift_policy drift);

    /// A handshake succeeded. The node has no vote until its clock is compared again.
    void met(std::size_t node, const server_facts& server, time_point now);
    /// What is on record on it, `now` being when the answer arrived.
    void read(std::size_t node, const record_facts& record, time_point now);
    /// From now on its record says that no earlier lease can be alive.
    void opened(std::size_t node, time_point now);
    /// Its clock may have stepped, and keys may have expired early: no vote until it is compared.
    void doubt(std::size_t node) noexcept { nodes_[node].is_compared = false; }
    /// Its clock was compared with its record, and had not stepped.
    void compared(std::size_t node, const clock_check& clock, time_point now);
    void set_skewed(std::size_t node, bool is_skewed, time_point now);

    /// The end of time where it has none.
    time_point votes_from(std::size_t node) const noexcept;
    /// Why it has no vote: not_master, duplicate_node, clock_skew, other_set (for every node as
    /// soon as one belongs to another set), or in_quarantine, the only one that ends by itself. No
    /// error where it has one.
    error_code objection(std::size_t node, time_point now) const noexcept;
    /// Whether it is worth asking: one in quarantine is.
    bool may_be_asked(std::size_t node) const noexcept { return !nodes_[node].unfit; }
    /// May be zero while its clock is still to be compared.
    duration quarantine_left(std::size_t node, time_point now) const noexcept;
    bool is_compared(std::size_t node) const noexcept {
        return !is_on_ || nodes_[node].is_compared;
    }
    /// The set that the node belongs to, where that is not ours.
    const std::string& other_set_of(std::size_t node) const noexcept {
        return nodes_[node].record.other_set;
    }
    /// What its server said of itself in the last handshake.
    const server_facts& server_of(std::size_t node) const noexcept { return nodes_[node].server; }
    const record_facts& record_of(std::size_t node) const noexcept { return nodes_[node].record; }
    /// The node whose server it is, too; the node itself if it is no double.
    std::size_t first_of(std::size_t node) const noexcept;
    /// The largest that this client or any node's record knows.
    std::chrono::milliseconds ttl_max() const noexcept { return ttl_max_; }

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
    };

    void refresh(time_point now);
    error_code unfitness(std::size_t node) const noexcept;
    bool has_changed_name(std::size_t node) const noexcept;
    bool is_among_other_sets() const noexcept;
    time_point quarantine_end(const standing& s) const noexcept;

    bool is_on_;
    std::chrono::milliseconds ttl_max_;
    drift_policy drift_;
    std::vector<standing> nodes_;
    std::uint64_t meetings_ = 0;
};

}  // namespace redlock::core
