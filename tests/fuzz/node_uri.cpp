// Fuzzes node URIs; knows nothing of a configuration around them.
// SPDX-License-Identifier: MIT
//
// Whatever the text: a node or an error with its reason, and never the password in words.
#include "fuzz/require.hpp"

#include <redlock/config.hpp>
#include <redlock/options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<config_issue> issues;
    const auto node = parse_node_uri(text, issues, "/nodes/0");
    fuzz::require(node.has_value() || !issues.empty(), "an error without its reason");
    if (node) {
        fuzz::require(!node->host.empty() || !node->unix_socket.empty(), "a node that is nowhere");
        fuzz::require(!node->unix_socket.empty() || node->port != 0, "a port that is none");
    }
    // Whatever follows the password in the URI, no issue repeats it.
    const std::string with_password = "redis://user:s3cr3t-" + std::string(text);
    issues.clear();
    (void)parse_node_uri(with_password, issues);
    for (const config_issue& i : issues) {
        fuzz::require(i.message.find("s3cr3t") == std::string::npos, "a password was said");
        fuzz::require(i.where.find("s3cr3t") == std::string::npos, "a password was said");
    }
    return 0;
}
