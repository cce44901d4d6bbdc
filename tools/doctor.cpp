// `redlock doctor`: what is wrong with the nodes, and what to do about it.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/exit_status.hpp"
#include "tools/formats.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>
#include <redlock/detail/printable.hpp>
#include <redlock/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace {

// Of one node, or of all of them together.
struct finding {
    std::string node;
    std::string problem;
    severity how_bad;
    std::string text;
};

// That no lock can be taken, if so: of a joint list either of the two may lack votes.
void add_quorum(const std::vector<node_report>& reports, const client_options& options,
                list_change without, std::string_view list, std::vector<finding>& to) {
    std::size_t nodes = 0;
    std::size_t voting = 0;
    std::size_t settling = 0;  // since a change of the list
    std::chrono::milliseconds longest{0};
    for (std::size_t i = 0; i < reports.size(); ++i) {
        if (without != list_change::none && options.nodes[i].change == without) continue;
        ++nodes;
        voting += reports[i].has_vote ? 1U : 0U;
        const auto left = reports[i].list.settles_in;
        const bool is_other = reports[i].list.state == list_state::other;
        if (reports[i].has_vote || left.count() == 0 || is_other) continue;
        ++settling;
        longest = std::max(longest, left);
    }
    const std::size_t quorum = redlock::quorum_of(nodes);
    if (voting >= quorum) return;
    if (voting + settling >= quorum) {
        to.push_back({"", "list_changes", severity::warning,
                      "the list was changed lately: programs with this list alone get locks in " +
                          seconds_text(longest) + ", those with the joint list get them now"});
        return;
    }
    to.push_back({"", "no_quorum", severity::error,
                  std::to_string(voting) + " of " + std::to_string(nodes) + " nodes" +
                      std::string(list) + " vote, and a lock needs " + std::to_string(quorum) +
                      (list.empty() ? ": nobody can take one; repair the nodes below"
                                    : ": no program with this list can take one; repair the nodes "
                                      "below")});
}

std::size_t votes(const std::vector<node_report>& reports) {
    return static_cast<std::size_t>(std::count_if(
        reports.begin(), reports.end(), [](const node_report& r) { return r.has_vote; }));
}

std::vector<finding> all_findings(const std::vector<node_report>& reports,
                                  const client_options& options) {
    std::vector<finding> all;
    if (is_joint(options)) {
        add_quorum(reports, options, list_change::joining, " of the old list", all);
        add_quorum(reports, options, list_change::leaving, " of the new list", all);
    } else {
        add_quorum(reports, options, list_change::none, "", all);
    }
    for (const config_issue& issue : validate(options)) {
        all.push_back({"", "configuration", severity::warning, issue.where + ": " + issue.message});
    }
    for (const node_report& r : reports) {
        for (const node_finding& f : r.findings) {
            all.push_back({r.name, std::string(to_string(f.problem)), f.severity, f.text});
        }
    }
    return all;
}

// By the worst of them: what is only to be known is no fault.
int status_of(const std::vector<finding>& all) {
    int status = 0;
    for (const finding& f : all) {
        if (f.how_bad == severity::warning) status = std::max(status, 1);
        if (f.how_bad == severity::error) status = 2;
    }
    return status;
}

std::string to_line(const finding& f) {
    return std::string(to_string(f.how_bad)) + ": " +
           (f.node.empty() ? "" : shown(f.node) + ": ") + shown(f.problem) + ": " + shown(f.text) +
           "\n";
}

// A problem that many nodes have is said of the first of them.
std::string to_lines(const std::vector<finding>& all) {
    std::map<std::string_view, std::size_t> count;
    for (const finding& f : all) ++count[f.problem];
    std::map<std::string_view, std::size_t> seen;
    std::string out;
    for (const finding& f : all) {
        const std::size_t named = detail::shown_of(count[f.problem]);
        const std::size_t before = seen[f.problem]++;
        if (before < named) out += to_line(f);
        if (before == named) {
            out += std::string(to_string(f.how_bad)) + ": and " +
                   std::to_string(count[f.problem] - named) + " more: " + shown(f.problem) +
                   ": redlock doctor --json names them\n";
        }
    }
    return out;
}

std::string findings_to_text(const std::vector<node_report>& reports,
                             const std::vector<finding>& all, const std::string& source) {
    const std::string out = "configuration: " + shown(source) + "\n" + to_lines(all);
    const std::string nodes = std::to_string(reports.size());
    if (status_of(all) == 0) return out + nodes + " nodes are healthy, and all of them vote\n";
    return out + std::to_string(votes(reports)) + " of " + nodes + " nodes vote\n";
}

// The findings are all in one list.
json_value node_to_json(const node_report& r) {
    json_value out = json_value::parse(to_json(r));
    out.erase("findings");
    return out;
}

std::string findings_to_json(const std::vector<node_report>& reports,
                             const std::vector<finding>& all, const std::string& source) {
    json_value findings = json_value::array();
    for (const finding& f : all) {
        findings.push_back({{"node", f.node.empty() ? json_value() : json_value(f.node)},
                            {"severity", to_string(f.how_bad)},
                            {"problem", f.problem},
                            {"text", redacted(f.text)}});
    }
    json_value nodes = json_value::array();
    for (const node_report& r : reports) nodes.push_back(node_to_json(r));
    constexpr const char* states[] = {"healthy", "warnings", "errors"};
    return json_text({{"healthy", status_of(all) == 0},
                      {"state", states[status_of(all)]},
                      {"configuration", redacted(source)},
                      {"findings", std::move(findings)},
                      {"nodes", std::move(nodes)}}) +
           "\n";
}

// Why the node has no vote.
std::string why_unready(const node_report& r) {
    std::string out;
    for (const node_finding& f : r.findings) {
        if (f.severity == severity::error || out.empty()) out = f.text;
        if (f.severity == severity::error) break;
    }
    return out;
}

// Says which of these nodes may not vote. Returns the exit status.
int tell_unready(const std::vector<node_report>& reports, const std::vector<std::string>& wanted) {
    int status = success;
    for (const node_report& r : reports) {
        const bool is_wanted =
            wanted.empty() || std::find(wanted.begin(), wanted.end(), r.name) != wanted.end();
        if (!is_wanted || r.has_vote) continue;
        complain(shown(r.name) + " has no vote: " + shown(why_unready(r)));
        status = 1;
    }
    return status;
}

}  // namespace

int doctor(const doctor_request& request) {
    const auto found = find_nodes(request.nodes);
    for (const std::string& wanted : request.nodes_to_be_ready) {
        if (place_of(wanted, found.client)) continue;
        fail("NODE: there is no '" + wanted + "': " + names_of(found.client) + " exist");
    }
    return work(found.client, [&](client& on, const std::function<void(int)>& over) {
        on.async_probe([&, over](error_code ec, const std::vector<node_report>& reports) {
            if (ec) {
                complain(ec.message());
                return over(own_failure);
            }
            const auto all = all_findings(reports, found.client);
            std::string text;
            if (request.json) text = findings_to_json(reports, all, found.source);
            else if (!request.is_ready) text = findings_to_text(reports, all, found.source);
            if (!print(text)) return over(own_failure);
            over(request.is_ready ? tell_unready(reports, request.nodes_to_be_ready)
                                  : status_of(all));
        });
    });
}

}  // namespace redlock::tool
