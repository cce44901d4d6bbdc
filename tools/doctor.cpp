// `redlock doctor`: what is wrong with the nodes, and what to do about it.
// SPDX-License-Identifier: MIT
#include "tools/doctor.hpp"

#include "tools/drain.hpp"
#include "tools/exit_status.hpp"
#include "tools/first_contact.hpp"
#include "tools/json_writer.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace redlock::tool {

namespace asio = boost::asio;

namespace {

// Of one node, or of all of them together.
struct finding {
    std::string node;
    std::string problem;
    severity how_bad;
    std::string text;
};

std::size_t votes(const std::vector<node_report>& reports) {
    return static_cast<std::size_t>(std::count_if(
        reports.begin(), reports.end(), [](const node_report& r) { return r.has_vote; }));
}

std::vector<finding> all_findings(const std::vector<node_report>& reports,
                                  const client_options& options) {
    std::vector<finding> all;
    const std::size_t quorum = redlock::quorum_of(reports.size());
    if (const std::size_t voting = votes(reports); voting < quorum) {
        all.push_back({"", "no_quorum", severity::error,
                       std::to_string(voting) + " of " + std::to_string(reports.size()) +
                           " nodes vote, and a lock needs " + std::to_string(quorum) +
                           ": nobody can take one; repair the nodes below"});
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

int status_of(const std::vector<finding>& all) {
    const bool is_ill = std::any_of(all.begin(), all.end(), [](const finding& f) {
        return f.how_bad == severity::error;
    });
    return is_ill ? 2 : all.empty() ? 0 : 1;
}

std::string findings_to_text(const std::vector<node_report>& reports,
                             const std::vector<finding>& all, const std::string& source) {
    std::string out = "configuration: " + shown(source) + "\n";
    if (all.empty()) {
        return out + std::to_string(reports.size()) + " nodes are healthy, and all of them vote\n";
    }
    for (const finding& f : all) {
        out += std::string(to_string(f.how_bad)) + ": " +
               (f.node.empty() ? "" : shown(f.node) + ": ") + shown(f.problem) + ": " +
               shown(f.text) + "\n";
    }
    return out + std::to_string(votes(reports)) + " of " + std::to_string(reports.size()) +
           " nodes vote\n";
}

void add_node(json_writer& json, const node_report& r) {
    json.begin_object();
    json.key("name").string(r.name);
    json.key("reachable").boolean(r.is_reachable);
    json.key("votes").boolean(r.has_vote);
    json.key("version").string(r.version);
    json.key("role").string(r.role);
    json.key("appendonly");
    r.has_log ? json.boolean(*r.has_log) : json.null();
    json.key("appendfsync").string(r.fsync);
    json.key("maxmemory_policy").string(r.eviction_policy);
    json.key("used_memory").number_unsigned(r.memory_used);
    json.key("maxmemory").number_unsigned(r.memory_limit);
    json.key("replicas").number_unsigned(r.replicas);
    json.key("cluster_mode").boolean(r.is_cluster);
    json.key("clock_offset_us");
    r.clock_offset ? json.number(r.clock_offset->count()) : json.null();
    json.key("round_trip_us").number(r.round_trip.count());
    json.key("node_timeout_ms").number(r.node_timeout.count());
    json.key("ttl_max_ms").number(r.ttl_max.count());
    json.key("missing_rights").begin_array();
    for (const std::string& right : r.missing_rights) json.string(right);
    json.end_array().end_object();
}

std::string findings_to_json(const std::vector<node_report>& reports,
                             const std::vector<finding>& all, const std::string& source) {
    json_writer json;
    json.begin_object().key("healthy").boolean(all.empty());
    json.key("configuration").string(redacted(source));
    json.key("findings").begin_array();
    for (const finding& f : all) {
        json.begin_object();
        json.key("node");
        f.node.empty() ? json.null() : json.string(f.node);
        json.key("severity").string(to_string(f.how_bad));
        json.key("problem").string(f.problem);
        json.key("text").string(redacted(f.text));
        json.end_object();
    }
    json.end_array().key("nodes").begin_array();
    for (const node_report& r : reports) add_node(json, r);
    json.end_array().end_object();
    return json.text() + "\n";
}

}  // namespace

int doctor(const doctor_request& request) {
    auto found = find_nodes(request.nodes);
    if (!found) return own_failure;
    asio::io_context context(1);
    first_contact contact(found->client);
    client asking(context.get_executor(), found->client);
    contact.wait(context);
    int status = own_failure;
    bool is_over = false;
    asking.async_probe([&](error_code ec, const std::vector<node_report>& reports) {
        is_over = true;
        if (ec) return complain(ec.message());
        const auto all = all_findings(reports, found->client);
        const std::string text = request.json ? findings_to_json(reports, all, found->source)
                                              : findings_to_text(reports, all, found->source);
        if (print(text)) status = status_of(all);
    });
    while (!is_over) context.run_one();
    asking.close();
    drain(context, longest_answer(found->client), status);
    return status;
}

}  // namespace redlock::tool
