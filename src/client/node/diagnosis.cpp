// What the facts of one node mean for locks, and what to do about it.
// SPDX-License-Identifier: MIT
#include "client/node/diagnosis.hpp"

#include "value/lease_terms.hpp"
#include "value/quorum.hpp"
#include "value/text.hpp"
#include "wire/rights.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace redlock::detail {

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
    if (why.error == errc::auth_failed) {
        return {auth_failed, severity::error,
                found + ": correct the user and the password of this node"};
    }
    const bool says_what_to_do = found.find("redis://") != found.npos ||
                                 found.find("rediss://") != found.npos ||
                                 std::string_view(why.error.category().name()) == "redlock.tls";
    if (says_what_to_do) return {unreachable, severity::error, found};
    std::string remedy = "start the server, or correct its address";
    if (why.error == errc::timed_out) {
        remedy = "look whether the server hangs, and whether a firewall drops its packets";
    } else if (why.error == errc::protocol_error) {
        remedy = "check that a Redis server listens there";
    } else if (why.detail.find("LOADING") != why.detail.npos) {
        remedy = "wait until the server has read its files";
    } else if (why.error == errc::server_error) {
        remedy = "correct what the server says";
    }
    return {unreachable, severity::error, found + ": " + remedy};
}

node_finding about_vote(const objection& why) {
    const std::string found = text::printable(why.why.error.message()) +
                              (why.why.detail.empty() ? "" : ": " + why.why.detail);
    const error_code error = why.why.error;
    if (why.lacks_quorum) {
        return {no_vote, severity::warning,
                why.why.detail + ": bring the other nodes back; redlock init is not called for"};
    }
    if (error == errc::not_master) {
        return {not_master, severity::error, found + ": name a master in its place"};
    }
    if (error == errc::duplicate_node) {
        return {duplicate_node, severity::error,
                found + ": it counts once; give each node a server of its own"};
    }
    if (error == errc::clock_skew) {
        return {clock_skew, severity::error, found + ": run NTP on it, which slews the clock"};
    }
    if (error == errc::other_set) return {other_set, severity::error, found};
    if (error == errc::in_quarantine) {
        const std::string left =
            why.left > std::chrono::milliseconds(0)
                ? " for another " + text::brief(std::chrono::microseconds(why.left))
                : "";
        return {in_quarantine, severity::warning,
                "it may have forgotten locks and has no vote" + left +
                    ": wait, or say redlock init if no program can hold a lock"};
    }
    return {no_vote, severity::error, found};
}

node_finding about_rights(const std::vector<std::string>& missing, const std::string& key_prefix) {
    const bool is_serious = std::any_of(missing.begin(), missing.end(), is_needed_for_locks);
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
    return ": correct what the server says";
}

void add_writes(const probed& facts, std::vector<node_finding>& to) {
    if (!facts.refused_write.empty()) {
        to.push_back({refuses_writes, severity::error,
                      "the server refuses to write, so it grants no lock: " + facts.refused_write +
                          about_write(facts.refused_write, facts.settings)});
    } else if (facts.settings.has_failed_save) {
        to.push_back({save_failed, severity::warning,
                      "the last snapshot failed (rdb_last_bgsave_status is err), and with "
                      "stop-writes-on-bgsave-error yes the server would grant no lock: make room "
                      "on its disk and say BGSAVE"});
    }
}

// What a change of the list makes of the node, and what to do next.
void add_list(const list_standing& of, bool is_joint, std::vector<node_finding>& to) {
    const auto add = [&to](std::string text) {
        to.push_back({list_changes, severity::warning, std::move(text)});
    };
    const std::string wait = text::brief(of.settles_in);
    switch (of.state) {
        case list_state::empty:
            if (!is_joint) return;
            return add("it has no record, and while the list changes it gets one when it and a "
                       "majority of each list answer: bring the other nodes back; where no node has "
                       "a record, give the old list alone to redlock init, and begin the change "
                       "after it");
        case list_state::joining:
            return add("it is joining: give every program the joint list, and run redlock commit");
        case list_state::closed:
            return add("it is closed, and takes only programs with the joint list for which it was "
                       "closed: run redlock commit with that list again, or redlock commit "
                       "--give-up");
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
        return add("the change of the list is not committed: when every program has the joint list, "
                   "run redlock commit");
    }
    if (of.is_announced) {
        add("a program with a joint list was here, and its change was not ended: give this program "
            "the joint list, too; or give the change up by redlock commit --give-up");
    }
}

// While there is still time: each name that is locked adds to it.
void add_memory(const node_report& of, std::vector<node_finding>& to) {
    constexpr double much = 0.5;
    const std::uint64_t taken = of.keys.total().bytes;
    if (of.memory_limit == 0) return;
    const double share = static_cast<double>(taken) / static_cast<double>(of.memory_limit);
    if (share < much) return;
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.0f", 100 * std::min(share, 10.0));
    to.push_back({keys_fill_memory, severity::warning,
                  "the keys of locks take about " + std::string(percent) + " % of maxmemory (" +
                      text::bytes(of.memory_limit) + "): " + to_string(of.keys) +
                      "; at the limit the server refuses to grant locks: raise maxmemory, or lock "
                      "fewer names in 15 s, for which a node keeps each one's fence at least"});
}

// Where appendfsync is not known, each client takes the node for one that forgets.
node_finding about_unknown_fsync(const probed& facts, std::chrono::milliseconds ttl_max) {
    const bool is_forbidden = wire::is_forbidden(facts.refused_config);
    return {forgets_at_restart, severity::warning,
            "appendfsync can't be read (" +
                (facts.refused_config.empty() ? "CONFIG GET does not show it"
                                              : text::printable(facts.refused_config)) +
                "), so the node counts as one that forgets: each restart costs it its vote for "
                "ttl_max (" + text::brief(ttl_max) + "); " +
                (is_forbidden ? wire::remedy_for_missing({std::string(config_right)}, "")
                              : "let clients run CONFIG GET appendfsync")};
}

node_problem problem_of(concern::kind what) {
    switch (what) {
        case concern::kind::evicts_locks:
        case concern::kind::may_evict_locks: return evicts_locks;
        case concern::kind::forgets_at_restart: return forgets_at_restart;
        case concern::kind::memory_nearly_full: return memory_nearly_full;
    }
    return no_vote;
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
    if (facts.against) found.push_back(about_vote(*facts.against));
    add_list(of.list, node_lists(client).is_joint(), found);
    if (!facts.lateness.empty()) found.push_back({slow, severity::warning, facts.lateness});
    if (!facts.of_ttl_max.empty()) {
        found.push_back({other_ttl_max, severity::warning, facts.of_ttl_max});
    }
    for (const concern& c :
         find_concerns(facts.settings, is_guarded(client), client.ttl_max)) {
        found.push_back({problem_of(c.what), severity::warning, c.text});
    }
    add_memory(of, found);
    if (is_guarded(client) && facts.settings.fsync.empty()) {
        found.push_back(about_unknown_fsync(facts, client.ttl_max));
    }
    if (of.replicas > 0) {
        found.push_back({has_replicas, severity::warning,
                         std::to_string(of.replicas) +
                             " replicas are attached: the node counts as not durable, since they "
                             "may be started in its place without the last locks; detach them"});
    }
    if (of.is_cluster && !has_hash_tag(client.key_prefix)) {
        found.push_back({no_hash_tag, severity::error,
                         "the server is in cluster mode and refuses keys of different slots "
                         "(CROSSSLOT): give all clients a key_prefix with a hash tag, such as "
                         "{lock}:"});
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
