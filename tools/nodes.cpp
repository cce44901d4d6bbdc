// Where the command finds its nodes.
// SPDX-License-Identifier: MIT
#include "tools/nodes.hpp"

#include "tools/exit_status.hpp"
#include "tools/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace redlock::tool {

namespace {

// The URI as it was given, without what may be a password.
std::string named(const std::string& uri) {
    std::string safe = redacted(uri);
    if (const auto at = safe.rfind('@'); at != safe.npos && safe.find("://") == safe.npos) {
        safe.replace(0, at, "***");
    }
    return "--node '" + safe + "'";
}

std::string what_is_wrong(const std::string& uri, const config_error& why) {
    const auto begin = uri.rfind('@') == uri.npos ? 0 : uri.rfind('@');
    const bool has_several = uri.find(',', begin) != uri.npos;
    return named(uri) + ": " +
           (has_several ? "names several nodes: give --node once per node" : why.message());
}

// "/nodes/1/name" as the option that it is about.
std::string place(const std::string& pointer, const std::vector<std::string>& uris) {
    constexpr std::string_view list = "/nodes/";
    std::size_t i = 0;
    if (!pointer.starts_with(list)) return "--node";
    std::from_chars(pointer.data() + list.size(), pointer.data() + pointer.size(), i);
    return i < uris.size() ? named(uris[i]) : "--node";
}

// Why the files of the options can't be used; empty where they can.
std::string check_tls(const tls_options& files, const std::vector<node_options>& nodes) {
    const std::pair<const char*, const std::string&> options[] = {
        {"--tls-ca", files.ca_file},
        {"--tls-cert", files.cert_file},
        {"--tls-key", files.key_file}};
    for (const auto& [option, file] : options) {
        if (file.empty()) continue;
        const bool is_used = std::any_of(nodes.begin(), nodes.end(),
                                         [](const node_options& node) { return node.tls; });
        if (!is_used) return option + std::string(" is for nodes of the form --node rediss://host");
        if (::access(file.c_str(), R_OK) != 0) {
            return option + (" " + file) + ": " + std::strerror(errno) +
                   ": name a PEM file that can be read";
        }
    }
    if (files.cert_file.empty() != files.key_file.empty()) {
        return "--tls-cert and --tls-key go together: give both";
    }
    return {};
}

// Of a mistake in one of the URIs the others say nothing: each complaint is about one of them.
configuration from_uris(const node_source& from) {
    configuration found;
    found.source = "--node";
    auto& nodes = found.client.nodes;
    for (const std::string& uri : from.uris) {
        auto node = parse_node_uri(uri);
        if (node) {
            nodes.push_back(std::move(*node));
        } else {
            complain(what_is_wrong(uri, node.error()));
        }
    }
    if (nodes.size() < from.uris.size()) throw ending{own_failure};
    if (const auto why = check_tls(from.tls, nodes); !why.empty()) fail(why);
    for (node_options& node : nodes) {
        if (node.tls) node.tls = from.tls;
    }
    bool is_good = true;
    for (const config_issue& issue : validate(found.client)) {
        if (issue.severity != config_issue::level::error) continue;
        complain(place(issue.where, from.uris) + ": " + issue.message);
        is_good = false;
    }
    if (!is_good) throw ending{own_failure};
    return found;
}

// From a file, or the environment.
configuration from_elsewhere(const std::string& file) {
    auto found = file.empty() ? configuration_from_environment() : load_configuration(file);
    if (found) return std::move(*found);
    const config_error why = found.error();
    if (why.source().empty()) {
        fail(why.message() + "; or give --node, once per node, or --config FILE");
    }
    for (const config_issue& issue : why.issues()) {
        if (issue.severity != config_issue::level::error) continue;
        complain(why.source() + ": " + (issue.where.empty() ? "" : issue.where + ": ") +
                 issue.message);
    }
    throw ending{own_failure};
}

// A doubtful configuration is no news at each start.
void say_more(const configuration& found) {
    complain("configuration: " + found.source);
    for (const config_issue& issue : validate(found.client)) {
        complain("warning: " + found.source + ": " + issue.where + ": " + issue.message);
    }
}

}  // namespace

configuration find_nodes(const node_source& from, const std::vector<std::string>& resources) {
    const auto why = from.uris.empty() ? check_tls(from.tls, {}) : "";
    if (!why.empty()) fail(why + "; a configuration file has \"tls\" for its nodes");
    auto found = from.uris.empty() ? from_elsewhere(from.config_file) : from_uris(from);
    if (from.verbose) say_more(found);
    // Inspect shows the name, and CMD finds it in its environment: so it is set here.
    auto& name = found.client.client_name;
    if (name.empty()) name = default_client_name();
    for (const std::string& one : resources) {
        if (const auto wrong = validate_resource(found.client, one); !wrong.empty()) {
            fail("RESOURCE: " + wrong);
        }
    }
    return found;
}

bool is_joint(const client_options& client) {
    return std::any_of(client.nodes.begin(), client.nodes.end(),
                       [](const node_options& n) { return n.change != list_change::none; });
}

std::string names_of(const client_options& client, list_change without) {
    std::string out;
    for (const auto& node : client.nodes) {
        if (without != list_change::none && node.change == without) continue;
        out += (out.empty() ? "" : ", ") + shown(display_name(node));
    }
    return out;
}

std::optional<std::size_t> place_of(const std::string& name, const client_options& client) {
    for (std::size_t i = 0; i < client.nodes.size(); ++i) {
        if (display_name(client.nodes[i]) == name) return i;
    }
    return std::nullopt;
}

std::string failures_in(const std::vector<node_vote>& votes) {
    std::string out;
    for (const auto& v : votes) {
        if (v.answer != vote::granted) out += (out.empty() ? "" : "; ") + format(v);
    }
    return out;
}

json_value json_of(const std::vector<node_vote>& votes, const char* done) {
    json_value out = json_value::array();
    for (const auto& v : votes) {
        const bool is_done = v.answer == vote::granted;
        out.push_back({{"name", v.node.str()},
                       {done, is_done},
                       {"error", is_done ? "" : format(v)}});
    }
    return out;
}

}  // namespace redlock::tool
