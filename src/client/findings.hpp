// What the facts of a node mean for locks: its worth as a vote, the finding, the text, the remedy.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/context.hpp"
#include "core/eligibility.hpp"
#include "core/node_clocks.hpp"
#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/event.hpp>
#include <redlock/node_report.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// What a server says of its memory and of its persistence. What it does not say stays empty.
struct server_settings {
    std::string eviction_policy{};      ///< maxmemory-policy
    std::uint64_t memory_limit = 0;     ///< maxmemory, in bytes; 0: none.
    std::uint64_t memory_used = 0;      ///< In bytes.
    std::optional<bool> has_log{};      ///< appendonly
    std::string fsync{};                ///< appendfsync
    bool skips_fsync = false;           ///< While the log is rewritten.
    bool has_failed_save = false;       ///< The last snapshot failed.
    bool has_failed_log = false;        ///< The last write to the log failed.
    std::string good_replicas{};        ///< Of those that a write needs, where it needs any.

    /// Whether each write is on disk before it is answered, also while the log is rewritten.
    bool syncs_always() const { return fsync == "always" && !skips_fsync; }
};

/// From the answer to INFO.
server_settings read_settings(std::string_view info);
/// Adds the answer to CONFIG GET *appendfsync*.
void add_fsync(server_settings& to, const resp::reply& config);

struct concern {
    enum class kind : std::uint8_t {
        evicts_locks,        ///< It deletes keys at its memory limit.
        may_evict_locks,     ///< It would, but has no limit yet.
        forgets_at_restart,  ///< A restart may lose data.
        memory_nearly_full,  ///< 90 % of the limit or more.
    };
    kind what{};
    redlock::severity severity{};
    std::string text{};  ///< What was found, what it does to locks, and what to do about it.
};

/// In the order of `concern::kind`; none for settings that are not known. `is_guarded`: the restart
/// guard is on, so a node that forgot has no vote for `ttl_max`; without it such a node votes at
/// once.
std::vector<concern> find_concerns(const server_settings& of, bool is_guarded,
                                   std::chrono::milliseconds ttl_max);

/// Why an answer of a node is no vote.
struct objection {
    wire::failure why;
    std::chrono::milliseconds left{0};  ///< Until the quarantine is over.
    /// It is the others' fault: too few of them answer to know the time of the cluster.
    bool lacks_quorum = false;
};

/// Every answer that is counted as a vote for or against a lease passes through here, after
/// `node_tracker::judge`:
/// - A node that may have forgotten a lease has no vote: it would grant the lock a second time.
/// - A fence further ahead than any client draws is not believed. One node that lies, or was
///   written to by hand, would raise the fence on all others, until no client could pass it.
struct judgement {
    std::optional<objection> against;
    std::uint64_t highest_fence = 0;  ///< That a client which goes by the rules can have drawn.

    bool is_vote() const noexcept { return !against; }
    bool believes(std::uint64_t fence) const noexcept { return fence <= highest_fence; }

    /// What is left of the answer. A refusal stays as it is: it names its own reason.
    wire::acquire_answer weigh(wire::acquire_answer answer) const;
    wire::compare_answer weigh(wire::compare_answer answer) const;
};

/// Words what the machines found, and emits it as `node_reported`. They have decided whether an
/// objection, a step or a ttl_max is news. What was reported of server settings, and of resources
/// without a fence, is kept here: each is one mistake, which every handshake and every acquire
/// would report again.
class node_reports {
public:
    /// `eligibility` and `clocks` outlive it. `set`: the one that this client names.
    node_reports(context& shared, const core::eligibility& eligibility,
                 const core::node_clocks& clocks, std::string set);

    /// Why the node has no vote. It has none.
    objection object(std::size_t node, time_point now) const;

    void report_objection(std::size_t node, time_point now) const;
    /// The node loses its vote: its clock stepped, or its data are not its last ones.
    void report_strike(std::size_t node, const core::clock_check& found) const;
    /// The record has another ttl_max than this client.
    void report_ttl_max(std::size_t node) const;
    std::string tell_of_ttl_max(std::size_t node) const;
    /// Reports each concern once per node, and again when it comes back after a handshake without
    /// it.
    void report_concerns(std::size_t node, const server_settings& settings);
    /// Reports a complaint about the node's files, where the last handshake had another one or none.
    void report_files(std::size_t node, const std::string& complaint);
    /// Reports this once per resource, for a bounded number of them.
    void report_without_fence(std::size_t node, std::string_view resource,
                              std::string_view holder);

private:
    void warn(std::size_t node, error_code why, std::string_view detail) const;
    bool lacks_quorum(std::size_t node, time_point now) const;
    std::string tell_of_skew(std::size_t node) const;
    std::string tell_of_change(std::size_t node) const;
    std::string tell_of_sets(std::size_t node) const;

    context* shared_;
    const core::eligibility* eligibility_;
    const core::node_clocks* clocks_;
    std::string set_;
    std::vector<unsigned> concerns_;          // a bit for each kind that the last handshake showed
    std::vector<std::string> files_;          // the complaint of each node's last handshake
    std::vector<std::string> without_fence_;  // the resources that were reported
};

/// What a probe found of one node, besides its report.
struct probed {
    std::optional<wire::failure> failure{};    ///< Why it does not answer.
    std::optional<objection> against{};        ///< Why it has no vote.
    std::optional<wire::failure> deafness{};   ///< Why it can't be listened to.
    std::string refused_write{};               ///< What it answered to a write of the probe's.
    server_settings settings{};
    std::string refused_config{};              ///< The error that it answered to CONFIG GET.
    std::string lateness{};                    ///< That its round trip is too long; see `session`.
    std::string of_ttl_max{};                  ///< That another client's differs.
};

/// Locks need it not, but to vote at once after a restart a node does.
inline constexpr std::string_view config_right = "config|get";

/// In the order of `node_problem`.
std::vector<node_finding> diagnose(const node_report& of, const probed& facts,
                                   const client_options& client);

}  // namespace redlock::detail
