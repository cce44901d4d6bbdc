// Reads a configuration and says everything that is wrong with it; connects to no node.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/config.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using issues = std::vector<redlock::config_issue>;

void show(const issues& found) {
    for (const auto& [severity, where, message] : found) {
        const bool is_error = severity == redlock::config_issue::level::error;
        std::cout << (is_error ? "  error   " : "  warning ") << where
                  << (where.empty() ? "" : ": ") << message << '\n';
    }
}

void show(const redlock::configuration& good) {
    for (const redlock::node_options& node : good.client.nodes) {
        std::cout << "  " << redlock::display_name(node) << ", database " << node.database
                  << ", user " << (node.username.empty() ? "default" : node.username)
                  << (!node.password.empty()           ? ", password set\n"
                      : node.password_command.empty() ? ", no password\n"
                                                      : ", password by a command\n");
    }
    const auto given = good.client.node_timeout.count();
    std::cout << "  a node has "
              << (given == 0 ? "four of its round trips" : std::to_string(given) + " ms")
              << " to answer, a lock " << good.client.ttl_max.count() << " ms to live at most\n";
}

// A number out of range, a misspelt name, a text for a number; and a secret that no issue may show.
constexpr std::string_view secret = "hunter2";
constexpr std::string_view mistaken = R"({
    "nodes": ["redis://shop:hunter2@127.0.0.1:70000", {"host": "127.0.0.1", "prot": 7002}],
    "node_timeout_ms": "fast"
})";

bool tells_the_secret(const redlock::config_issue& issue) {
    return (issue.where + issue.message).find(secret) != std::string::npos;
}

}  // namespace

int main(int argc, char** argv) {
    const redlock::configuration good = example::configuration(argc, argv);
    std::cout << good.source << ":\n";
    show(redlock::validate(good.client));
    show(good);

    const auto bad = redlock::parse_configuration(mistaken);
    if (bad) return example::check(false, "a configuration with mistakes is refused");
    const issues mistakes = bad.error().issues();
    std::cout << "one with mistakes:\n";
    show(mistakes);
    const auto names = [&](std::string_view pointer) {
        return std::any_of(mistakes.begin(), mistakes.end(),
                           [&](const auto& issue) { return issue.where == pointer; });
    };
    const bool all = names("/nodes/0") && names("/nodes/1/prot") && names("/node_timeout_ms");
    const bool secret_kept = std::none_of(mistakes.begin(), mistakes.end(), tells_the_secret);
    return example::check(all && secret_kept,
                          "every mistake is named at once with its place, and no secret");
}
