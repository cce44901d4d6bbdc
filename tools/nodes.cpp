// Where the command finds its nodes.
// SPDX-License-Identifier: MIT
#include "tools/nodes.hpp"

#include "tools/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace redlock::tool {

namespace {

// True if none of the issues is an error. A doubtful configuration is no news at each start.
bool report(const std::vector<config_issue>& issues, const std::string& source, bool verbose) {
    bool good = true;
    for (const auto& issue : issues) {
        const bool is_error = issue.severity == config_issue::level::error;
        good = good && !is_error;
        if (!is_error && !verbose) continue;
        complain((is_error ? "" : "warning: ") + source + ": " +
                 (issue.where.empty() ? "" : issue.where + ": ") + issue.message);
    }
    return good;
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

std::optional<configuration> from_uris(const node_source& from) {
    std::vector<config_issue> issues;
    configuration found;
    auto& nodes = found.client.nodes;
    for (std::size_t i = 0; i < from.uris.size(); ++i) {
        auto node = parse_node_uri(from.uris[i], issues, "/nodes/" + std::to_string(i));
        if (node) nodes.push_back(std::move(*node));
    }
    if (!report(issues, "--node", from.verbose)) return std::nullopt;
    if (const auto why = check_tls(from.tls, nodes); !why.empty()) {
        complain(why);
        return std::nullopt;
    }
    for (node_options& node : nodes) {
        if (node.tls) node.tls = from.tls;
    }
    if (!report(validate(found.client), "--node", from.verbose)) return std::nullopt;
    return found;
}

std::optional<configuration> from_file(const std::string& file, bool verbose) {
    std::vector<config_issue> issues;
    auto found = load_configuration(file, issues);
    if (!report(issues, file, verbose)) return std::nullopt;
    if (!found) {
        complain(file + ": " + found.error().message());
        return std::nullopt;
    }
    return std::move(*found);
}

// `redlock inspect` shows the name, and CMD finds it in its environment: so it is set here.
std::string default_client_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string pid = ":" + std::to_string(::getpid());
    std::string name(host.data());
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c <= 0x20 || c > 0x7e; }, '_');
    name.resize(std::min(name.size(), max_client_name - pid.size()));
    return name + pid;
}

}  // namespace

std::optional<configuration> find_nodes(const node_source& from) {
    std::optional<configuration> found;
    const char* const variable = std::getenv("REDLOCK_CONFIG");
    const auto why = from.uris.empty() ? check_tls(from.tls, {}) : "";
    if (!why.empty()) {
        complain(why + "; a configuration file has \"tls\" for its nodes");
    } else if (!from.uris.empty()) {
        found = from_uris(from);
    } else if (!from.config_file.empty()) {
        found = from_file(from.config_file, from.verbose);
    } else if (variable != nullptr && *variable != '\0') {
        found = from_file(variable, from.verbose);
    } else {
        complain(
            "no nodes are known: give --node URI (once per node), --config FILE or the "
            "environment variable REDLOCK_CONFIG");
    }
    if (found && found->client.client_name.empty()) {
        found->client.client_name = default_client_name();
    }
    return found;
}

}  // namespace redlock::tool
