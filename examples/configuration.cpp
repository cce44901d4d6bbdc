// Reads a configuration and says everything that is wrong with it; takes no lock.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/config.hpp>

#include <iostream>
#include <string_view>
#include <vector>

namespace {

void show(const std::vector<redlock::config_issue>& issues) {
    for (const auto& issue : issues) {
        const bool is_error = issue.severity == redlock::config_issue::level::error;
        std::cout << "  " << (is_error ? "error   " : "warning ") << issue.where << ": "
                  << issue.message << '\n';
    }
}

// Three mistakes, found in one go.
constexpr std::string_view mistaken = R"({
    "nodes": ["redis://127.0.0.1:7001", {"host": "127.0.0.1", "prot": 7002}],
    "node_timeout_ms": "fast",
    "ttl_max_ms": -1
})";

}  // namespace

int main(int argc, char** argv) {
    std::vector<redlock::config_issue> issues;
    const auto good = redlock::load_configuration(example::config_file(argc, argv), issues);
    show(issues);
    if (!good) {
        std::cerr << "the configuration can't be used: " << good.error().message() << '\n';
        return 1;
    }
    std::cout << good->client.nodes.size() << " nodes:\n";
    for (const auto& node : good->client.nodes) {
        std::cout << "  " << redlock::display_name(node) << '\n';
    }

    issues.clear();
    const auto bad = redlock::parse_configuration(mistaken, issues);
    std::cout << "a configuration with mistakes:\n";
    show(issues);
    return example::check(!bad && issues.size() >= 3, "every mistake is told at once");
}
