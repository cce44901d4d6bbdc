// The texts about a node that voters and observers read.
// SPDX-License-Identifier: MIT
#include "client/node/node_reports.hpp"

#include "value/lease_terms.hpp"
#include "value/text.hpp"
#include "wire/keys.hpp"
#include "wire/node_set.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace redlock::detail {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

// Further resources are not reported: it is the same mistake, and memory is bounded.
constexpr std::size_t most_without_fence = 16;

}  // namespace

node_reports::node_reports(context& shared, const core::eligibility& eligibility,
                           const core::node_clocks& clocks, std::string set)
    : shared_(&shared),
      eligibility_(&eligibility),
      clocks_(&clocks),
      set_(std::move(set)),
      concerns_(shared.size()),
      files_(shared.size()) {}

void node_reports::warn(std::size_t node, error_code why, std::string_view detail) const {
    shared_->emit({.kind = event_kind::node_reported, .severity = severity::warning,
                   .node = shared_->name(node), .error = why, .detail = detail});
}

objection node_reports::object(std::size_t node, time_point now) const {
    objection o{{vote::refused, eligibility_->objection(node, now), {}}};
    if (o.why.error == errc::duplicate_node) {
        o.why.detail =
            "it is the same server as " + shared_->name(eligibility_->first_of(node)).str();
    } else if (o.why.error == errc::clock_skew) {
        o.why.detail = tell_of_skew(node);
    } else if (o.why.error == errc::other_set) {
        o.why.detail = tell_of_sets(node);
    } else if (!eligibility_->may_be_queried(node)) {
        o.why.detail = "it is a replica";
    } else if (lacks_quorum(node, now)) {
        o.lacks_quorum = true;
        o.why.error = errc::no_quorum;
        o.why.detail = "no quorum of nodes answers, so the time of the cluster is not known, and "
                       "whether this node may vote can't be told";
    } else {
        o.why.answer = vote::quarantine;
        o.why.error = errc::in_quarantine;
        o.left = std::chrono::ceil<milliseconds>(eligibility_->quarantine_left(node, now));
        const core::record_facts& record = eligibility_->record_of(node);
        if (eligibility_->settles_in(node, now) > duration::zero()) {
            o.why.detail = "it became a node of this list by a change, and programs with this list "
                           "alone wait until no lease by the earlier one can be alive";
        } else if (record.is_void) o.why.detail = "it may have forgotten leases since it was last used";
        else if (!eligibility_->is_compared(node)) o.why.detail = "its clock was not compared yet";
    }
    return o;
}

// Nothing is wrong with the node itself, as far as is known.
bool node_reports::lacks_quorum(std::size_t node, time_point now) const {
    const core::record_facts& record = eligibility_->record_of(node);
    return !record.is_void && !eligibility_->is_compared(node) && !clocks_->cluster_us(now);
}

std::string node_reports::tell_of_skew(std::size_t node) const {
    const duration skew = clocks_->skew(node).value_or(duration::zero());
    const auto size = std::chrono::duration_cast<microseconds>(std::chrono::abs(skew));
    return "its clock is " + text::brief(size) +
           (skew < duration::zero() ? " behind" : " ahead of") + " the median of the nodes";
}

// Of a node that has another list alone, while others of this client's list go on.
std::string node_reports::tell_of_change(std::size_t node) const {
    using standing = core::membership::standing;
    const core::record_facts& record = eligibility_->record_of(node);
    switch (record.standing) {
        case standing::closed:
            return "it is closed for a change of the list of nodes, from set " + record.list.set +
                   " to " + record.list.closed_for +
                   ", and takes only programs with that joint list: give this program that list, "
                   "or the new one once `redlock commit` has ended";
        case standing::foreign:
            return "it is to join, and its record is of the set " + record.list.set +
                   ": if no program uses it there, delete its key " +
                   wire::record_key(shared_->options().key_prefix);
        default: break;
    }
    return "it missed a change of the list of nodes, and votes when a client that has met the "
           "others has written that to its record";
}

std::string node_reports::tell_of_sets(std::size_t node) const {
    const core::record_facts& record = eligibility_->record_of(node);
    if (record.is_away()) return tell_of_change(node);
    if (!record.is_misfit()) {
        return "another node of the list belongs to another set, so nothing is granted";
    }
    if (record.list.announced == set_) {
        return "its list of nodes is to become this one, and the change is not committed: run "
               "redlock commit with the joint list, and start programs with this list after it";
    }
    const std::string& theirs = record.list.set;
    const auto size_of = [](std::string_view set) {
        const std::string number(set.substr(0, set.find(':')));
        return number + (number == "1" ? " node" : " nodes");
    };
    const std::string& names = record.list.names;
    const auto differ = wire::compare_set_names(names, wire::set_names(shared_->options()));
    if (!differ.theirs.empty()) {
        return "it belongs to " + differ.theirs + " of " + size_of(theirs) +
               ", and this client names " + differ.ours + " of " + size_of(set_) +
               ": name the nodes alike; or give all clients the same `cluster`, and move the nodes "
               "to it by `redlock init`";
    }
    const auto whole = [&](std::string_view set) {
        const auto colon = set.find(':');
        return size_of(set) + " (" +
               std::string(set.substr(std::min(colon, set.size() - 1) + 1)) + ")";
    };
    return "it belongs to a set of " + whole(theirs) + ", and this client names one of " +
           whole(set_) + ": give all clients the same list, or the same `cluster`, and move the "
           "nodes to it by `redlock init`";
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
        return warn(node, errc::in_quarantine,
                    eligibility_->went_back(node)
                        ? "its record is older than the one that it had: its data were put back"
                        : "its record was last written " +
                              text::brief(std::chrono::duration_cast<microseconds>(
                                  found.recorded_for)) +
                              " ago, by an earlier process: leases that were granted since may be "
                              "missing from its files");
    }
    warn(node, errc::clock_skew,
         "its clock stepped by " + text::brief(microseconds(std::abs(found.moved_us))) +
             (found.moved_us < 0 ? " back" : "") +
             "; keys may have run out early, so it has no vote for a while");
}

void node_reports::report_ttl_max(std::size_t node) const {
    warn(node, errc::config_invalid, tell_of_ttl_max(node));
}

std::string node_reports::tell_of_ttl_max(std::size_t node) const {
    const milliseconds theirs = eligibility_->record_of(node).ttl_max;
    const milliseconds ours = shared_->options().ttl_max;
    return "the ttl_max on its record is " + text::brief(theirs) + ", ours " + text::brief(ours) +
           (theirs > ours ? "; the larger counts: give all clients the same"
                          : "; leases keep to the smaller until every node has the larger: give "
                            "all clients the same");
}

void node_reports::report_concerns(std::size_t node, const server_settings& settings) {
    unsigned found = 0;
    for (const auto& c :
         find_concerns(settings, is_guarded(shared_->options()), eligibility_->quarantine())) {
        const unsigned bit = 1U << static_cast<unsigned>(c.what);
        found |= bit;
        if ((concerns_[node] & bit) != 0) continue;
        shared_->emit({.kind = event_kind::node_reported, .severity = c.severity,
                       .node = shared_->name(node), .detail = c.text});
    }
    concerns_[node] = found;
}

void node_reports::report_files(std::size_t node, const std::string& complaint) {
    if (!complaint.empty() && complaint != files_[node]) warn(node, {}, complaint);
    files_[node] = complaint;
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

}  // namespace redlock::detail
