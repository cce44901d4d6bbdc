// `redlock commit`: asks the operator to confirm, then ends a change of the list of nodes.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/exit_status.hpp"
#include "tools/formats.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>
#include <redlock/event.hpp>
#include <redlock/json.hpp>
#include <redlock/list_state.hpp>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace {

std::string_view meaning(list_state what) {
    switch (what) {
        case list_state::unknown: return "not reached";
        case list_state::empty: return "has no record yet";
        case list_state::member: return "of the old list";
        case list_state::joining: return "joining";
        case list_state::closed: return "closed: it takes only programs with the joint list";
        case list_state::changed: return "of the new list";
        case list_state::behind: return "missed a change, and is to follow";
        case list_state::other: return "of another list";
    }
    return "unknown";
}

std::string to_text(const list_standing& of) {
    std::string out(meaning(of.state));
    if (of.number != 0) out += ", after " + std::to_string(of.number) +
                               (of.number == 1 ? " change" : " changes");
    const bool is_member = of.state == list_state::changed || of.state == list_state::member;
    if (is_member && of.settles_in.count() > 0) {
        out += "; counts for programs with this list alone in " + seconds_text(of.settles_in);
    }
    return out;
}

std::string listed(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& one : names) all += (all.empty() ? "" : "; ") + shown(one);
    return all;
}

constexpr const char* about_gone =
    "\nIt says that what --without names is gone for good, or lost its record, that no other "
    "change of the list\nwas begun, and that no program uses another list. If that is wrong, two "
    "programs can hold the same lock.";

void ask(const commit_request& request, const client_options& client) {
    const std::string gone = request.without.empty() ? "" : about_gone;
    if (!is_joint(client)) {
        const std::string names = listed(request.without);
        return confirm(
            "commit --without", "if this is gone for good: " + names,
            "This gives their records back to nodes that wait for " + names + "." + gone);
    }
    const std::string old = names_of(client, list_change::joining);
    const std::string after = names_of(client, list_change::leaving);
    if (request.gives_up) {
        return confirm("commit --give-up", "if the list " + old + " is to stand",
                       "This gives the change to " + after + " up: the list " + old +
                           " stands.\nPrograms with the new list alone get no lock." + gone);
    }
    confirm("commit", "if every program has the joint list",
            "This ends the change of the list from " + old + " to " + after +
                ".\nPrograms that still have the old list get no lock from then on. Programs that "
                "use other libraries,\nor an earlier version of this one, or that are not "
                "connected now, can't be seen: stop them first." + gone);
}

std::string report_to_json(const commit_report& report) {
    json_value nodes = json_value::array();
    for (std::size_t i = 0; i < report.votes.size(); ++i) {
        const node_vote& v = report.votes[i];
        json_value one = json_value::parse(to_json(report.nodes[i]));
        one["name"] = v.node.str();
        one["done"] = v.answer == vote::granted;
        one["error"] = v.answer == vote::granted || !v.error ? "" : format(v);
        nodes.push_back(std::move(one));
    }
    return json_text({{"committed", !report.error && !report.is_given_up},
                      {"given_up", report.is_given_up},
                      {"complete", report.is_complete},
                      {"error", report.error ? report.error.message() : ""},
                      {"detail", report.detail},
                      {"other_programs", report.old_programs},
                      {"nodes", std::move(nodes)}}) +
           "\n";
}

std::string report_to_text(const commit_report& report) {
    std::string out;
    for (std::size_t i = 0; i < report.votes.size(); ++i) {
        const node_vote& v = report.votes[i];
        const std::string is = to_text(report.nodes[i]);
        const bool has_cause = v.answer != vote::granted && v.error;
        out += has_cause ? format(v) + " (" + is + ")\n" : shown(v.node) + ": " + is + "\n";
    }
    return out;
}

// To be repeated with what it was given: without that it would do something else.
std::string call_of(const commit_request& request) {
    std::string out = request.gives_up ? "commit --give-up" : "commit";
    for (const std::string& name : request.without) out += " --without " + shown(name);
    return out;
}

// What the operator is to know where the requested list does not stand.
int explain_refusal(const commit_report& report, const commit_request& request) {
    const bool has_begun = !report.votes.empty();
    const std::string more = report.detail.empty() ? "" : ": " + shown(report.detail);
    if (report.error == errc::invalid_argument) {
        complain("the list has no nodes that are joining or leaving, or restart_guard or fencing "
                 "is off: there is nothing to commit");
        return own_failure;
    }
    if (report.error == errc::other_set && has_begun) {
        const std::string what =
            report.is_given_up
                ? "the change was given up by another commit, which this one ended: to begin the "
                  "change once more, run " + call_of(request) + " again"
            : request.gives_up && !more.empty()
                ? "the change was not given up"
                : "the nodes are of another list: see redlock doctor";
        complain(what + more);
        if (!report.old_programs.empty()) {
            complain("these programs with another list were connected: " +
                     listed(report.old_programs));
        }
        return contended;
    }
    if (report.error == errc::other_set && !report.old_programs.empty()) {
        complain("programs with another list are connected: " + listed(report.old_programs) +
                 ": give them the joint list, and run " + call_of(request) +
                 " again; or say --wait 5m" +
                 (request.despite_old_programs
                      ? ""
                      : ", or --despite-old-programs: then those that look at the nodes' "
                        "records get no lock any more") +
                 more);
        return contended;
    }
    if (report.error == errc::other_set) {
        complain("programs with another list may be connected" + more + ": no node was closed");
        return contended;
    }
    if (report.error == errc::in_quarantine) {
        complain("an earlier change is too recent: run " + call_of(request) +
                 " again when it has settled");
        return no_quorum;
    }
    const bool has_closed = std::any_of(
        report.nodes.begin(), report.nodes.end(),
        [](const list_standing& of) { return of.state == list_state::closed; });
    complain(report.error.message() + more + (has_closed ? ": what is closed stays closed" : "") +
             "; see redlock doctor, and run " + call_of(request) + " again");
    return no_quorum;
}

int show(const commit_report& report, const commit_request& request,
         const std::bitset<max_nodes>& gone, bool is_joint) {
    if (!print(request.json ? report_to_json(report) : report_to_text(report))) return own_failure;
    if (report.error) return explain_refusal(report, request);
    if (!report.detail.empty()) complain("warning: " + shown(report.detail));
    if (!report.old_programs.empty()) {
        complain("warning: programs with another list were connected; those that look at the "
                 "nodes' records get no lock any more: " + listed(report.old_programs));
    }
    if (report.is_complete) return success;
    bool has_to_follow = false;
    std::vector<std::string> left;
    for (std::size_t i = 0; i < report.votes.size(); ++i) {
        const node_vote& v = report.votes[i];
        // One of another set does not follow: the detail says what to do, or `redlock doctor` does.
        if (v.answer == vote::granted || report.nodes[i].state == list_state::other) continue;
        const bool is_to_go =
            v.change == (request.gives_up ? list_change::joining : list_change::leaving);
        if (!is_to_go) has_to_follow = true;
        if (is_to_go && !gone[i]) left.push_back(v.node.str());
    }
    const std::string call = call_of(request);
    if (has_to_follow) {
        const bool is_new = is_joint && !request.gives_up;
        const std::string what = is_joint ? "follow" : "get its record";
        complain("warning: a node has still to " + what + ": run " + call +
                 " again when it is back" +
                 (is_new ? "; until then start no program with the new list alone" : ""));
    }
    if (!left.empty()) {
        commit_request without = request;
        without.without.insert(without.without.end(), left.begin(), left.end());
        complain("warning: " + listed(left) + " was not changed, and is not to stay: mend that, "
                 "and run " + call + " again; or, if it is gone for good, run " + call_of(without) +
                 ", and never start that server with its data");
    }
    return 1;
}

}  // namespace

int commit(const commit_request& request) {
    auto found = find_nodes(request.nodes);
    found.client.on_event = [](const event& e) {
        if (e.kind == event_kind::node_reported && e.node.empty()) complain(shown(e.detail));
    };
    std::bitset<max_nodes> gone;
    for (const std::string& name : request.without) {
        const auto place = place_of(name, found.client);
        if (!place) {
            complain("'" + shown(name) + "' is no node of the list: " + names_of(found.client));
            return own_failure;
        }
        gone.set(*place);
    }
    if (!request.yes && (is_joint(found.client) || gone.any())) ask(request, found.client);
    const commit_options how{.wait = request.wait.value_or(std::chrono::milliseconds(0)),
                             .despite_old_programs = request.despite_old_programs,
                             .gives_up = request.gives_up,
                             .gone = gone};
    return work(found.client, [&](client& on, const std::function<void(int)>& over) {
        on.async_commit(how, [&, over](error_code, const commit_report& report) {
            over(show(report, request, gone, is_joint(found.client)));
        });
    });
}

}  // namespace redlock::tool
