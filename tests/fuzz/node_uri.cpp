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

using namespace redlock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto node = parse_node_uri(text);
    fuzz::require(node || !node.error().message().empty(), "an error without its reason");
    if (node) {
        fuzz::require(!node->host.empty() || !node->unix_socket.empty(), "a node that is nowhere");
        fuzz::require(!node->unix_socket.empty() || node->port != 0, "a port that is none");
    }
    // Whatever follows the password in the URI, no issue repeats it.
    const std::string with_password = "redis://user:s3cr3t-" + std::string(text);
    const auto other = parse_node_uri(with_password);
    fuzz::require(other || other.error().message().find("s3cr3t") == std::string::npos,
                  "a password was said");
    return 0;
}
