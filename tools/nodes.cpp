// Where the command finds its nodes.
// SPDX-License-Identifier: MIT
#include "tools/nodes.hpp"

#include "tools/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace redlock::tool {

namespace {

// True if none of the issues is an error.
bool report(const std::vector<config_issue>& issues, const std::string& source) {
    bool good = true;
    for (const auto& issue : issues) {
        const bool is_error = issue.severity == config_issue::level::error;
        good = good && !is_error;
        complain((is_error ? "" : "warning: ") + source + ": " +
                 (issue.where.empty() ? "" : issue.where + ": ") + issue.message);
    }
    return good;
}

std::optional<configuration> from_uris(const std::vector<std::string>& uris) {
    std::vector<config_issue> issues;
    configuration found;
    for (std::size_t i = 0; i < uris.size(); ++i) {
        auto node = parse_node_uri(uris[i], issues, "/nodes/" + std::to_string(i));
        if (node) found.client.nodes.push_back(std::move(*node));
    }
    if (!report(issues, "--node")) return std::nullopt;
    if (!report(validate(found.client), "--node")) return std::nullopt;
    return found;
}

std::optional<configuration> from_file(const std::string& file) {
    std::vector<config_issue> issues;
    auto found = load_configuration(file, issues);
    if (!report(issues, file)) return std::nullopt;
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
    if (!from.uris.empty()) {
        found = from_uris(from.uris);
    } else if (!from.config_file.empty()) {
        found = from_file(from.config_file);
    } else if (variable != nullptr && *variable != '\0') {
        found = from_file(variable);
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
