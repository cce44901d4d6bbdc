// What the facts of a node mean for locks: its worth as a vote, the finding, the text, the remedy.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/connection.hpp"
#include "client/context.hpp"
#include "core/node_knowledge.hpp"
#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/error.hpp>
#include <redlock/event.hpp>
#include <redlock/node_report.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// What a vote, an event and `redlock doctor` say of a problem.
struct problem_facts {
    node_problem problem{};
    errc error{};                  ///< Of the vote or the event; 0: none.
    redlock::severity severity{};  ///< Of the finding, where its case does not change it.
    std::string_view remedy{};     ///< Ends the text; empty where what was found names it.
};

/// In the order of `node_problem`. docs/nodes.md and docs/errors.md have the same.
inline constexpr problem_facts problems[] = {
    {node_problem::unreachable, {}, severity::error, ": start the server, or correct its address"},
    {node_problem::auth_failed, errc::auth_failed, severity::error,
     ": correct the user and the password of this node"},
    {node_problem::missing_right, errc::missing_right, severity::error, ""},
    {node_problem::not_master, errc::not_master, severity::error, ": name a master in its place"},
    {node_problem::duplicate_node, errc::duplicate_node, severity::error,
     ": it counts once; give each node a server of its own"},
    {node_problem::clock_skew, errc::clock_skew, severity::error,
     ": run NTP on it, which slews the clock"},
    {node_problem::other_set, errc::other_set, severity::error, ""},
    {node_problem::in_quarantine, errc::in_quarantine, severity::warning,
     ": wait, or say redlock init if no program can hold a lock"},
    {node_problem::slow, errc::timed_out, severity::warning, ""},
    {node_problem::other_ttl_max, errc::config_invalid, severity::warning, ""},
    {node_problem::evicts_locks, {}, severity::warning, "; set maxmemory-policy noeviction"},
    {node_problem::forgets_at_restart, {}, severity::warning, ""},
    {node_problem::memory_nearly_full, {}, severity::warning,
     "; raise maxmemory, or keep other data elsewhere"},
    {node_problem::has_replicas, {}, severity::warning, "; detach them"},
    {node_problem::no_hash_tag, {}, severity::error,
     ": give all clients a key_prefix with a hash tag, such as {lock}:"},
    {node_problem::no_vote, {}, severity::error, ""},
    {node_problem::refuses_writes, {}, severity::error, ": correct what the server says"},
    {node_problem::save_failed, {}, severity::warning, ": make room on its disk and say BGSAVE"},
    {node_problem::list_changes, {}, severity::warning, ""},
    {node_problem::clocks_went_back, {}, severity::warning, ""},
    {node_problem::hangs_on_all, {}, severity::warning,
     ": take any lock once, as by redlock run NAME -- true"},
    {node_problem::durable_by_word, {}, severity::info, ""},
};

constexpr const problem_facts& facts_of(node_problem what) noexcept {
    return problems[static_cast<std::size_t>(what)];
}
/// With its usual severity and remedy.
node_finding finding_of(node_problem what, std::string found);
/// None where the table has none.
error_code error_of(node_problem what) noexcept;

/// None for settings that are not known. The severity is that of an event: info where no lock is in
/// danger, as where there is no memory limit yet. `is_guarded`: the restart guard is on, so a node
/// that forgot has no vote for `ttl_max`; without it such a node votes at once.
std::vector<node_finding> find_concerns(const server_settings& of, bool is_guarded,
                                        std::chrono::milliseconds ttl_max);

/// Why an answer of a node is no vote.
struct objection {
    wire::failure why;
    std::chrono::milliseconds left{0};  ///< Until the quarantine is over.
    /// It is the others' fault: too few of them answer to know the time of the cluster.
    bool lacks_quorum = false;
    /// It is a member of the list since a change, and leases by the list before it may be alive.
    bool is_settling = false;
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
/// objection, a step or a ttl_max is news. What else was reported is kept here: each is one
/// mistake, which every handshake and every acquire would report again.
class node_reports {
public:
    /// What is referred to outlives it.
    node_reports(context& shared, const core::node_knowledge& known)
        : shared_(&shared), known_(&known), words_(shared.size()) {}

    /// Why the node has no vote. It has none.
    objection object(std::size_t node, time_point now) const;
    /// The same of what is known to be in its way.
    objection explain(std::size_t node, error_code why, time_point now) const;

    void report_objection(std::size_t node, time_point now) const;
    /// The node loses its vote: its clock stepped, or its data are not its last ones.
    void report_strike(std::size_t node, const core::clock_check& found) const;
    /// The record has another ttl_max than this client.
    void report_ttl_max(std::size_t node) const;
    /// The clocks of all nodes went back, by so much at least.
    void report_lift(duration least) const;
    /// The same, where fences go on above those drawn before; and what to do.
    static std::string tell_of_lift(duration least);
    std::string tell_of_ttl_max(std::size_t node) const;
    /// Of a node whose record is of a set that has nothing to do with this list.
    std::string tell_of_foreign(std::string_view set) const;
    /// What a handshake showed: each problem once per node, and again when it comes back after a
    /// handshake without it; `lateness` (see `session`) only once.
    void report_greeting(std::size_t node, const greeting& facts, const std::string& lateness);
    /// That the node can't be listened to, or can again: null. Once until then.
    void report_deafness(std::size_t node, const wire::failure* why);
    /// Reports this once per resource, for a bounded number of them.
    void report_without_fence(std::size_t node, std::string_view resource,
                              std::string_view holder);

private:
    /// As an event.
    void report(std::size_t node, error_code why, std::string_view detail,
                severity how = severity::warning) const;
    /// Whether this is another word on the topic than the last one of that node; empty: it is over.
    bool is_news(std::size_t node, std::string_view topic, std::string_view word);
    bool lacks_quorum(std::size_t node, time_point now) const;
    std::string tell_of_missing(std::size_t node) const;
    std::string tell_of_skew(std::size_t node) const;
    std::string tell_of_change(std::size_t node) const;
    std::string tell_of_sets(std::size_t node) const;

    context* shared_;
    const core::node_knowledge* known_;
    std::vector<std::map<std::string_view, std::string>> words_;  // of each node, by topic
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
    std::string of_lift{};                     ///< That the clocks of all nodes went back.
    bool hangs_on_all = false;                 ///< It votes only while all nodes answer.
    bool is_durable_by_word = false;           ///< As the configuration says.
};

/// Locks need it not, but to vote at once after a restart a node does.
inline constexpr std::string_view config_right = "config|get";

/// In the order of `node_problem`.
std::vector<node_finding> diagnose(const node_report& of, const probed& facts,
                                   const client_options& client);

}  // namespace redlock::detail
