// Options from JSON; the interface only: no JSON type appears here.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>
#include <redlock/options.hpp>
#include <redlock/result.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace redlock {

/// Everything that a configuration contains: how to reach the nodes, and how locks are acquired by
/// default.
struct configuration {
    client_options client;
    acquire_options defaults;
};

/// Reads a configuration: JSON as in `config/redlock.schema.json`, with comments allowed. A
/// relative `password_file` is found from the folder of `file`, or from `base`.
///
/// **Completion.** Every problem, also each warning, is appended to `issues` with its JSON
/// pointer. No password ever appears there.
/// **Errors.** `config_invalid`: at least one of the issues is an error. The system's error code:
/// the file can't be read.
/// **Thread safety.** Any thread may call it.
REDLOCK_EXPORT result<configuration> load_configuration(const std::filesystem::path& file,
                                                        std::vector<config_issue>& issues);
REDLOCK_EXPORT result<configuration> parse_configuration(std::string_view text,
                                                         std::vector<config_issue>& issues,
                                                         const std::filesystem::path& base = {});

/// As above, for a program that needs only the options of the client. The functions without
/// `issues` do not say what is wrong.
REDLOCK_EXPORT result<client_options> load_options(const std::filesystem::path& file,
                                                   std::vector<config_issue>& issues);
REDLOCK_EXPORT result<client_options> load_options(const std::filesystem::path& file);
REDLOCK_EXPORT result<client_options> parse_options(std::string_view text,
                                                    std::vector<config_issue>& issues);
REDLOCK_EXPORT result<client_options> parse_options(std::string_view text);

/// Reads one node from a URI: "redis://user:password@host:port/database" or "unix:///path?db=0".
/// "name=" in the query names the node. User, password, path and name are percent-encoded.
/// "rediss://" sets `node_options::tls`: TLS, with the system's trusted roots.
///
/// **Errors.** `config_invalid`, with every problem in `issues` under the JSON pointer `where`.
/// **Thread safety.** Any thread may call it.
REDLOCK_EXPORT result<node_options> parse_node_uri(std::string_view uri,
                                                   std::vector<config_issue>& issues,
                                                   std::string_view where = "");

}  // namespace redlock
