// What the facts of a node mean for locks.
// SPDX-License-Identifier: MIT
#include "client/findings.hpp"

#include "value/nodes.hpp"
#include "value/options.hpp"
#include "value/text.hpp"
#include "wire/record.hpp"
#include "wire/request.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace redlock::detail {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t nearly_full_percent = 90;

// Further resources are not reported: it is the same mistake, and memory is bounded.
constexpr std::size_t most_without_fence = 16;
constexpr std::string_view give_first_list =
    "give the old list alone to redlock init, and begin the change after it; or, if its nodes are "
    "gone, the new list, once no program runs";

bool evicts(const server_settings& s) {
    return !s.eviction_policy.empty() && s.eviction_policy != "noeviction";
}

// Computed in a double and capped: the server may answer any number.
std::uint64_t percent_used(const server_settings& s) {
    if (s.memory_limit == 0) return 0;
    const double share =
        static_cast<double>(s.memory_used) / static_cast<double>(s.memory_limit);
    return static_cast<std::uint64_t>(100.0 * std::min(share, 1'000.0));
}

// The first setting by which a restart may lose data; empty where there is none, or where the
// settings are not known.
std::string forgetful_setting(const server_settings& s) {
    if (s.has_log == false) return "appendonly is no";
    if (!s.has_log || s.fsync.empty() || s.syncs_always()) return {};
    if (s.fsync != "always") return "appendfsync is " + text::printable(s.fsync);
    return "no-appendfsync-on-rewrite is yes";
}

std::string about_eviction(const server_settings& s) {
    const std::string found = "maxmemory-policy is " + text::printable(s.eviction_policy);
    if (s.memory_limit == 0) {
        return found + ": once the server has a maxmemory it deletes keys there, locks among them";
    }
    return found + ": at maxmemory (" + std::to_string(s.memory_limit) +
           " bytes) the server deletes keys, and a lock among them is free for others while its "
           "holder still relies on it";
}

std::string about_restart(const std::string& setting, bool is_guarded,
                          std::chrono::milliseconds ttl_max) {
    const std::string remedy =
        "set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no";
    if (is_guarded) {
        return setting + ": each restart costs this node its vote for ttl_max (" +
               text::brief(ttl_max) + "), since it may have forgotten locks; to have it vote at "
                                      "once, " +
               remedy;
    }
    return setting + ": a restart may forget locks, and without the restart guard this node then "
                     "grants them again at once; turn on fencing and restart_guard, or " +
           remedy;
}

std::string about_memory(const server_settings& s) {
    return "used_memory is " + std::to_string(percent_used(s)) + " % of maxmemory (" +
           std::to_string(s.memory_limit) + " bytes): beyond it the server " +
           (evicts(s) ? "deletes keys, locks among them" : "refuses to grant locks");
}

}  // namespace

node_finding finding_of(node_problem what, std::string found) {
    const problem_facts& usual = facts_of(what);
    assert(usual.problem == what);
    return {what, usual.severity, found.append(usual.remedy)};
}

error_code error_of(node_problem what) noexcept {
    const errc why = facts_of(what).error;
    return why == errc{} ? error_code() : error_code(why);
}

std::vector<node_finding> find_concerns(const server_settings& of, bool is_guarded,
                                        std::chrono::milliseconds ttl_max) {
    std::vector<node_finding> found;
    const auto add = [&found](node_problem what, bool is_harmless, std::string text) {
        found.push_back(finding_of(what, std::move(text)));
        if (is_harmless) found.back().severity = severity::info;
    };
    if (evicts(of)) add(node_problem::evicts_locks, of.memory_limit == 0, about_eviction(of));
    if (const auto setting = forgetful_setting(of); !setting.empty()) {
        add(node_problem::forgets_at_restart, is_guarded,
            about_restart(setting, is_guarded, ttl_max));
    }
    if (percent_used(of) >= nearly_full_percent) {
        add(node_problem::memory_nearly_full, false, about_memory(of));
    }
    return found;
}

wire::acquire_answer judgement::weigh(wire::acquire_answer answer) const {
    if (answer.answer == vote::stale && !believes(answer.fence)) {
        answer.answer = vote::refused;
        answer.why = {vote::refused, errc::clock_skew,
                      "its fence has run ahead of the nodes' clocks"};
    }
    if (answer.answer == vote::refused || is_vote()) return answer;
    answer.answer = against->why.answer;
    answer.why = against->why;
    answer.left = against->left;
    answer.slots = 0;
    return answer;
}

// The next round has to propose a fence above the one that a node answered which refused.
wire::compare_answer judgement::weigh(wire::compare_answer answer) const {
    if (answer.fence != 0 && !believes(answer.fence + 1)) answer = {};
    if (!is_vote()) answer.choice = core::choice::unable;
    return answer;
}

void node_reports::report(std::size_t node, error_code why, std::string_view detail,
                          severity how) const {
    shared_->emit({.kind = event_kind::node_reported, .severity = how,
                   .node = shared_->name(node), .error = why, .detail = detail});
}

objection node_reports::object(std::size_t node, time_point now) const {
    return explain(node, known_->votes().objection(node, now), now);
}

objection node_reports::explain(std::size_t node, error_code why, time_point now) const {
    objection o{{vote::refused, why, {}}};
    if (o.why.error == errc::duplicate_node) {
        o.why.detail =
            "it is the same server as " + shared_->name(known_->votes().first_of(node)).str();
    } else if (o.why.error == errc::clock_skew) {
        o.why.detail = tell_of_skew(node);
    } else if (o.why.error == errc::other_set) {
        o.why.detail = tell_of_sets(node);
    } else if (o.why.error == errc::not_master) {
        o.why.detail = "it is a replica";
    } else if (known_->lists().has_no_beginning(node)) {
        o.why.error = errc::no_quorum;
        o.why.detail = "no node of the old list has a record, and a joint list is no first one: " +
                       std::string(give_first_list);
    } else if (!known_->lists().waits_for(node).empty()) {
        o.why.error = errc::no_quorum;
        o.why.detail = tell_of_missing(node);
    } else if (known_->lists().waits_for_joint_program(node)) {
        o.why.error = errc::no_quorum;
        o.why.detail = "it lost its record, and another node is closed for a new list: only a "
                       "program with the joint list gives it one; run redlock commit with that "
                       "list";
    } else if (lacks_quorum(node, now)) {
        o.lacks_quorum = true;
        o.why.error = errc::no_quorum;
        o.why.detail = "no quorum of nodes answers, so the time of the cluster is unknown, and "
                       "whether this node may vote is not known";
    } else {
        o.why.answer = vote::quarantine;
        o.why.error = errc::in_quarantine;
        o.left = std::chrono::ceil<milliseconds>(known_->votes().quarantine_left(node, now));
        const core::record_facts& record = known_->votes().record_of(node);
        o.is_settling = known_->votes().settles_in(node, now) > duration::zero();
        if (o.is_settling) {
            o.why.detail = "it became a node of this list by a change, and programs with this list "
                           "alone wait until no lease by the earlier one can be alive";
        } else if (record.is_void) {
            o.why.detail = "it may have forgotten leases since it was last used";
        } else if (!known_->votes().is_compared(node)) {
            o.why.detail = "its clock was not compared yet";
        }
    }
    return o;
}

// Nothing is wrong with the node itself, as far as is known.
bool node_reports::lacks_quorum(std::size_t node, time_point now) const {
    const core::record_facts& record = known_->votes().record_of(node);
    return !record.is_void && !known_->votes().is_compared(node) &&
           !known_->clocks().cluster_us(now);
}

// Of a node that lost its record while the list changes.
std::string node_reports::tell_of_missing(std::size_t node) const {
    const auto others = shared_->names(known_->lists().waits_for(node));
    const auto fewest = shared_->names(known_->lists().to_give_up(node));
    const bool is_one = others.size() == 1 && fewest == others;
    std::string out = "it lost its record, and while the list changes it gets one only when ";
    out += is_one ? others.front() + " answers with its own: bring it back"
                  : "enough others answer with theirs: bring back " + text::listed(others);
    if (fewest.empty()) return out;
    out += is_one ? "; or, where that is lost, too, say redlock commit"
                  : "; or, where " + text::listed(fewest) + " are lost, too, say redlock commit";
    for (const std::string& one : fewest) out += " --without " + one;
    return out;
}

std::string node_reports::tell_of_skew(std::size_t node) const {
    if (known_->votes().is_unlifted(node)) {
        return "the clocks of the nodes went back, and its record does not say yet by how much "
               "fences go on above them: a program with the restart guard writes it when it "
               "acquires";
    }
    const duration skew = known_->clocks().skew(node).value_or(duration::zero());
    const auto size = std::chrono::duration_cast<microseconds>(std::chrono::abs(skew));
    return "its clock is " + text::brief(size) +
           (skew < duration::zero() ? " behind" : " ahead of") + " the median of the nodes";
}

// Of a node that has another list alone, while others of this client's list go on.
std::string node_reports::tell_of_change(std::size_t node) const {
    using standing = core::membership::standing;
    const core::record_facts& record = known_->votes().record_of(node);
    switch (record.standing) {
        case standing::closed:
            return "it is closed for a change of the list of nodes, from set " + record.list.set +
                   " to " + record.list.closed_for +
                   ", and takes only programs with that joint list: give this program that list, "
                   "or the new one once `redlock commit` has ended";
        case standing::foreign: return "it is to join, and " + tell_of_foreign(record.list.set);
        default: break;
    }
    return "it missed a change of the list of nodes, and votes when a client that has met the "
           "others has written that to its record";
}

std::string node_reports::tell_of_foreign(std::string_view set) const {
    return "its record is of the set " + std::string(set) +
           ": if no program uses it there, delete its key " +
           wire::record_key(shared_->options().key_prefix);
}

std::string node_reports::tell_of_sets(std::size_t node) const {
    const core::record_facts& record = known_->votes().record_of(node);
    if (record.is_away()) return tell_of_change(node);
    if (!record.is_misfit()) {
        std::string out = "another node of the list belongs to another set, so nothing is granted";
        for (std::size_t i = 0; i < shared_->size(); ++i) {
            if (!known_->votes().record_of(i).is_misfit()) continue;
            return out + ": " + shared_->name(i).str() + ": " + tell_of_sets(i);
        }
        return out;
    }
    const std::string& ours = known_->lists().sets().old;
    const auto& before = record.list.history;
    const bool was_ours = std::any_of(before.begin(), before.end(),
                                      [&](const auto& one) { return one.second == ours; });
    if (was_ours) {
        return "its list of nodes was changed since from this client's list to another one, which "
               "is committed: give this program the new list";
    }
    if (record.list.announced == ours) {
        return "its list of nodes is to become this one, and the change is not committed: run "
               "redlock commit with the joint list, and start programs with this list after it";
    }
    const std::string& theirs = record.list.set;
    if (known_->lists().was_away_at_change(node)) return tell_of_foreign(theirs);
    const auto size_of = [](std::string_view set) {
        const std::string number(set.substr(0, set.find(':')));
        return number + (number == "1" ? " node" : " nodes");
    };
    const bool is_joint = known_->lists().is_joint();
    const char* const for_joint =
        ": what is not joining in a joint list has to be the list in use, named alike";
    const std::string& names = record.list.names;
    const auto differ = wire::compare_set_names(names, wire::set_names(shared_->options()));
    if (!differ.theirs.empty()) {
        return "it belongs to " + differ.theirs + " of " + size_of(theirs) +
               ", and this client names " + differ.ours + " of " + size_of(ours) +
               (is_joint ? for_joint
                         : ": name the nodes alike; or give all clients the same `cluster`, and "
                           "move the nodes to it by `redlock init`");
    }
    const auto whole = [&](std::string_view set) {
        const auto colon = set.find(':');
        return size_of(set) + " (" +
               std::string(set.substr(std::min(colon, set.size() - 1) + 1)) + ")";
    };
    return "it belongs to a set of " + whole(theirs) + ", and this client names one of " +
           whole(ours) +
           (is_joint ? for_joint
                     : ": give all clients the same list, or the same `cluster`, and move the "
                       "nodes to it by `redlock init`");
}

void node_reports::report_objection(std::size_t node, time_point now) const {
    const objection o = object(node, now);
    shared_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                   .node = shared_->name(node), .error = o.why.error,
                   .duration = std::chrono::duration_cast<microseconds>(o.left),
                   .detail = o.why.detail});
}

void node_reports::report_strike(std::size_t node, const core::clock_check& found) const {
    if (found.moved_us == 0) {
        return report(
            node, errc::in_quarantine,
                    known_->votes().went_back(node)
                        ? "its record is older than the one that it had: its data were put back"
                        : "its record was last written " +
                              text::brief(std::chrono::duration_cast<microseconds>(
                                  found.recorded_for)) +
                              " ago, by an earlier process: leases that were granted since may be "
                              "missing from its files");
    }
    report(node, errc::clock_skew,
         "its clock stepped by " + text::brief(microseconds(std::abs(found.moved_us))) +
             (found.moved_us < 0 ? " back" : "") +
             "; keys may have run out early, so it has no vote for a while");
}

void node_reports::report_ttl_max(std::size_t node) const {
    report(node, error_of(node_problem::other_ttl_max), tell_of_ttl_max(node));
}

std::string node_reports::tell_of_ttl_max(std::size_t node) const {
    const milliseconds theirs = known_->votes().record_of(node).ttl_max;
    const milliseconds ours = shared_->options().ttl_max;
    return "the ttl_max on its record is " + text::brief(theirs) + ", ours " + text::brief(ours) +
           (theirs > ours ? "; the larger counts: give all clients the same"
                          : "; leases keep to the smaller until every node has the larger: give "
                            "all clients the same");
}

void node_reports::report_lift(duration least) const {
    shared_->emit({.kind = event_kind::clocks_went_back, .severity = severity::warning,
                   .duration = std::chrono::duration_cast<microseconds>(least),
                   .detail = tell_of_lift(least)});
}

std::string node_reports::tell_of_lift(duration least) {
    return "the clocks of the nodes went back, by " +
           text::brief(std::chrono::duration_cast<microseconds>(least)) +
           " at least, and fences go on above those drawn before, ahead of the clocks: where the "
           "clocks are wrong now, set them right; where they were wrong before, nothing has to be "
           "done (redlock init --lower-fences ends it, and stores that remember a fence then "
           "refuse later holders)";
}

bool node_reports::is_news(std::size_t node, std::string_view topic, std::string_view word) {
    std::string& last = words_[node][topic];
    if (last == word) return false;
    last = word;
    return !word.empty();
}

void node_reports::report_greeting(std::size_t node, const greeting& facts,
                                   const std::string& lateness) {
    // Once for all: it comes and goes with the network.
    if (!lateness.empty() && is_news(node, to_string(node_problem::slow), "late")) {
        report(node, error_of(node_problem::slow), lateness);
    }
    if (shared_->size() == 1 && is_news(node, "count", "alone")) {
        report(node, {},
               "this is the only node: while it is away, nothing can be locked; use three",
               severity::info);
    }
    if (is_news(node, "files", facts.files_complaint)) report(node, {}, facts.files_complaint);
    if (!facts.server.is_master) return;
    const auto found =
        find_concerns(facts.settings, is_guarded(shared_->options()), known_->votes().quarantine());
    for (const node_problem one : {node_problem::evicts_locks, node_problem::forgets_at_restart,
                                   node_problem::memory_nearly_full}) {
        const auto at = std::ranges::find(found, one, &node_finding::problem);
        const bool is_found = at != found.end();
        if (is_news(node, to_string(one), is_found ? to_string(at->severity) : "")) {
            report(node, {}, at->text, at->severity);
        }
    }
}

void node_reports::report_deafness(std::size_t node, const wire::failure* why) {
    if (!is_news(node, "wake-ups", why == nullptr ? "" : "deaf")) return;
    std::string detail = "it can't be listened to, so releases by other clients are noticed late";
    if (!why->detail.empty()) detail += ": " + why->detail;
    report(node, why->error, detail);
}

void node_reports::report_without_fence(std::size_t node, std::string_view resource,
                                        std::string_view holder) {
    const auto& known = without_fence_;
    if (known.size() == most_without_fence ||
        std::find(known.begin(), known.end(), resource) != known.end()) {
        return;
    }
    without_fence_.emplace_back(resource);
    const std::string detail =
        "held by " + std::string(holder) +
        " with no fence of ours beside it: either that client has another key_prefix under which "
        "another resource is the same key (\"app:\" with \"r\", and \"\" with \"app:r\"), and then "
        "the fences of the two do not rise over each other: give all clients one key_prefix; or it "
        "has fencing off, and its leases have no fence: turn it on everywhere or nowhere";
    shared_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                   .resource = resource, .node = shared_->name(node), .detail = detail});
}

namespace {

using enum node_problem;

// Without these no release wakes a waiter. Without any other one some requests are refused: a node
// that may not look can't tell that nobody is there.
bool is_needed_for_locks(const std::string& right) {
    constexpr std::array<std::string_view, 3> for_waiting{"publish", "subscribe", "zcard"};
    const bool is_channel = right.starts_with('&');
    return !is_channel &&
           std::find(for_waiting.begin(), for_waiting.end(), right) == for_waiting.end();
}

node_finding about_silence(const wire::failure& why, const std::string& key_prefix) {
    const std::string found = text::printable(why.error.message()) +
                              (why.detail.empty() ? "" : ": " + text::printable(why.detail));
    if (why.error == errc::missing_right || wire::is_forbidden(why.detail)) {
        const bool says_what_to_do = why.detail.find("give this user") != why.detail.npos;
        return {missing_right, severity::error,
                says_what_to_do ? found
                                : found + ": " + wire::remedy_for(why.detail, key_prefix)};
    }
    if (why.error == errc::auth_failed) return finding_of(auth_failed, found);
    if (why.error == errc::no_credentials) {  // which is longer than what servers say
        return {auth_failed, severity::error, why.error.message() + ": " + why.detail};
    }
    const auto says = [&found](std::string_view what) { return found.find(what) != found.npos; };
    const bool says_what_to_do =
        says("redis://") || says("rediss://") || says("name the ") || says("delete its key ") ||
        says("ulimit -n") || std::string_view(why.error.category().name()) == "redlock.tls";
    const auto with = [&found](std::string_view remedy) {
        return node_finding{unreachable, severity::error, found + ": " + std::string(remedy)};
    };
    if (why.error == errc::timed_out) {
        return with("look whether the server hangs, and whether a firewall drops its packets");
    }
    if (says_what_to_do) return {unreachable, severity::error, found};
    if (why.error == errc::protocol_error) return with("check that a Redis server listens there");
    if (why.detail.find("LOADING") != why.detail.npos) {
        return with("wait until the server has read its files");
    }
    if (why.detail.find("scripting engine") != why.detail.npos) {
        return with("this server has no Lua: load that module, or name a server that has it");
    }
    if (why.error == errc::server_error) return with("correct what the server says");
    return finding_of(unreachable, found);
}

node_finding about_vote(const objection& why, bool is_joint) {
    const std::string found = text::printable(why.why.error.message()) +
                              (why.why.detail.empty() ? "" : ": " + why.why.detail);
    if (why.why.error == errc::no_quorum) {
        return {no_vote, severity::warning,
                why.why.detail + (why.lacks_quorum ? ": bring the other nodes back; redlock init "
                                                     "is not called for"
                                                   : "")};
    }
    if (why.why.error == errc::in_quarantine) {
        const std::string left =
            why.left > std::chrono::milliseconds(0)
                ? " for another " + text::brief(std::chrono::microseconds(why.left))
                : "";
        const std::string lacks = "it may have forgotten locks and has no vote" + left;
        // `redlock init` takes no joint list.
        return is_joint ? node_finding{in_quarantine, severity::warning, lacks + ": wait"}
                        : finding_of(in_quarantine, lacks);
    }
    const auto is_said_by = [&](const problem_facts& p) {
        return why.why.error == error_of(p.problem);
    };
    const auto* const row = std::find_if(std::begin(problems), std::end(problems), is_said_by);
    return finding_of(row == std::end(problems) ? no_vote : row->problem, found);
}

node_finding about_rights(const std::vector<std::string>& missing, const std::string& key_prefix) {
    const bool is_serious = std::ranges::any_of(missing, is_needed_for_locks);
    return {missing_right, is_serious ? severity::error : severity::warning,
            std::string(is_serious ? "this user may not take all kinds of locks: "
                                   : "this user may not do all that waiting needs: ") +
                wire::remedy_for_missing(missing, key_prefix)};
}

// What an operator does about it, by the code with which the server refused to write.
std::string about_write(const std::string& words, const server_settings& s) {
    if (words.starts_with("MISCONF")) {
        return s.has_failed_log
                   ? ": it can't write its append-only file (aof_last_write_status is err): make "
                     "room on its disk"
                   : ": its last snapshot failed (rdb_last_bgsave_status is err): make room on its "
                     "disk and say BGSAVE, or set stop-writes-on-bgsave-error no";
    }
    if (words.starts_with("NOREPLICAS")) {
        return ": it has " + (s.good_replicas.empty() ? "too few" : s.good_replicas) +
               " of the replicas that min-replicas-to-write asks for: set min-replicas-to-write 0, "
               "since a node of redlock needs none";
    }
    if (words.starts_with("OOM")) return ": raise maxmemory, or keep other data elsewhere";
    return std::string(facts_of(refuses_writes).remedy);
}

void add_writes(const probed& facts, std::vector<node_finding>& to) {
    if (!facts.refused_write.empty()) {
        to.push_back({refuses_writes, severity::error,
                      "the server refuses to write, so it grants no lock: " + facts.refused_write +
                          about_write(facts.refused_write, facts.settings)});
    } else if (facts.settings.has_failed_save) {
        to.push_back(finding_of(
            save_failed, "the last snapshot failed (rdb_last_bgsave_status is err), and with "
                         "stop-writes-on-bgsave-error yes the server would grant no lock"));
    }
}

// What a change of the list makes of the node, and what to do next.
void add_list(const list_standing& of, bool is_joint, std::vector<node_finding>& to) {
    const auto add = [&to](std::string text) {
        to.push_back(finding_of(list_changes, std::move(text)));
    };
    const std::string wait = text::brief(of.settles_in);
    switch (of.state) {
        case list_state::empty:
            if (!is_joint) return;
            return add("it has no record, or an old one, and while the list changes it gets a new "
                       "one when enough others of each list answer with their own: bring the "
                       "other nodes back; where none has one, " + std::string(give_first_list));
        case list_state::joining:
            return add("it is joining: give every program the joint list, and run redlock commit");
        case list_state::closed:
            return add("it is closed, and takes only programs with the joint list for which it was "
                       "closed: run redlock commit with that list again");
        case list_state::changed:
            return add(of.settles_in.count() > 0
                           ? "it is of the new list, and counts for programs with that alone in " +
                                 wait + ": give every program the new list; the old nodes may be "
                                 "switched off when each of them has it"
                           : "it is of the new list: give every program that list, and then switch "
                             "off the nodes that left");
        case list_state::member: break;
        default: return;
    }
    if (of.settles_in.count() > 0) {
        return add("it became a node of this list by a change, and votes for programs with this "
                   "list alone in " + wait);
    }
    if (is_joint) {
        return add("the change of the list is not committed: when every program has the joint "
                   "list, run redlock commit");
    }
    if (of.is_announced) {
        add("a program with a joint list was here, and its change was not ended: give this program "
            "the joint list, too; or give the change up by redlock commit --give-up with that "
            "list");
    }
}

// Where appendfsync is not known, each client takes the node for one that forgets.
node_finding about_unknown_fsync(const probed& facts, std::chrono::milliseconds ttl_max) {
    const bool is_forbidden = wire::is_forbidden(facts.refused_config);
    return finding_of(
        forgets_at_restart,
        "appendfsync can't be read (" +
            (facts.refused_config.empty() ? "CONFIG GET does not show it"
                                          : text::printable(facts.refused_config)) +
            "), so the node counts as one that forgets: each restart costs it its vote for "
            "ttl_max (" + text::brief(ttl_max) + "); " +
            (is_forbidden ? wire::remedy_for_missing({std::string(config_right)}, "")
                          : "let clients run CONFIG GET appendfsync"));
}

// The part of a key between the first "{" and the next "}" decides on its slot, if it is not empty.
bool has_hash_tag(std::string_view prefix) {
    const auto open = prefix.find('{');
    const auto close = prefix.find('}', std::min(open, prefix.size()));
    return close != prefix.npos && close > open + 1;
}

}  // namespace

std::vector<node_finding> diagnose(const node_report& of, const probed& facts,
                                   const client_options& client) {
    std::vector<node_finding> found;
    if (facts.failure) {
        // One that is too slow for its time-out is connected to again and again.
        const bool is_slow = !facts.lateness.empty();
        found.push_back(is_slow ? node_finding{slow, severity::error, facts.lateness}
                                : about_silence(*facts.failure, client.key_prefix));
        return found;
    }
    auto missing = of.missing_rights;
    std::erase(missing, config_right);  // has a finding of its own
    if (facts.deafness && facts.deafness->error == errc::missing_right) {
        auto right = wire::missing_right(facts.deafness->detail, client.key_prefix, "subscribe");
        const bool is_known = std::find(missing.begin(), missing.end(), right) != missing.end();
        if (!is_known) missing.push_back(std::move(right));
    }
    if (!missing.empty()) found.push_back(about_rights(missing, client.key_prefix));
    add_writes(facts, found);
    const bool is_joint = node_lists(client).is_joint();
    // The text about the list names that wait.
    const bool is_told = of.list.settles_in.count() > 0;
    if (facts.against && !(facts.against->is_settling && is_told)) {
        found.push_back(about_vote(*facts.against, is_joint));
    }
    add_list(of.list, is_joint, found);
    if (!facts.lateness.empty()) found.push_back(finding_of(slow, facts.lateness));
    if (!facts.of_ttl_max.empty()) found.push_back(finding_of(other_ttl_max, facts.of_ttl_max));
    if (!facts.of_lift.empty()) found.push_back(finding_of(clocks_went_back, facts.of_lift));
    for (auto& concern : find_concerns(facts.settings, is_guarded(client), client.ttl_max)) {
        concern.severity = severity::warning;
        found.push_back(std::move(concern));
    }
    if (facts.hangs_on_all) {
        found.push_back(finding_of(
            hangs_on_all, "it restarted after nobody had taken a lock for a while, and votes "
                          "only as long as all nodes answer"));
    }
    if (is_guarded(client) && facts.settings.fsync.empty()) {
        found.push_back(
            facts.is_durable_by_word
                ? finding_of(durable_by_word,
                             "the configuration says that it is durable, and appendfsync can't be "
                             "read: if it is not, a restart may let a second holder in, and "
                             "nothing detects it")
                : about_unknown_fsync(facts, client.ttl_max));
    }
    if (of.replicas > 0) {
        found.push_back(finding_of(
            has_replicas, std::to_string(of.replicas) +
                              " replicas are attached: the node counts as not durable, since they "
                              "may be started in its place without the last locks"));
    }
    if (of.is_cluster && !has_hash_tag(client.key_prefix)) {
        found.push_back(finding_of(
            no_hash_tag,
            "the server is in cluster mode and refuses keys of different slots (CROSSSLOT)"));
    }
    // They are few. clang 19 warns of std::stable_sort in the library of g++ 12.
    const auto is_before = [](const node_finding& a, const node_finding& b) {
        return a.problem < b.problem;
    };
    for (auto next = found.begin(); next != found.end(); ++next) {
        std::rotate(std::upper_bound(found.begin(), next, *next, is_before), next, next + 1);
    }
    return found;
}

}  // namespace redlock::detail
