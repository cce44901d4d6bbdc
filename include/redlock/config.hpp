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

/// Everything a configuration says: how to reach the nodes, and how locks are taken by default.
struct configuration {
    client_options client;
    acquire_options defaults;
};

/// Reads a configuration (see `config/redlock.schema.json`; comments are allowed). Every problem is
/// appended to `issues` with its JSON pointer, warnings too; the result is an error when one of them
/// is (`errc::config_invalid`, or the system's error where the file can't be read). Files named by
/// `password_file` are relative to `base`. No password ever appears in an issue. Thread-safe.
REDLOCK_EXPORT result<configuration> load_configuration(const std::filesystem::path& file,
                                                        std::vector<config_issue>& issues);
REDLOCK_EXPORT result<configuration> parse_configuration(std::string_view text,
                                                         std::vector<config_issue>& issues,
                                                         const std::filesystem::path& base = {});

/// The same for those who need the client's part only.
REDLOCK_EXPORT result<client_options> load_options(const std::filesystem::path& file,
                                                   std::vector<config_issue>& issues);
REDLOCK_EXPORT result<client_options> load_options(const std::filesystem::path& file);
REDLOCK_EXPORT result<client_options> parse_options(std::string_view text,
                                                    std::vector<config_issue>& issues);
REDLOCK_EXPORT result<client_options> parse_options(std::string_view text);

/// One node from a URI: "redis://user:password@host:port/database", "rediss://…" for TLS, or
/// "unix:///path?db=0". User and password are percent-decoded. Problems are appended to `issues`
/// under the pointer `where`.
REDLOCK_EXPORT result<node_options> parse_node_uri(std::string_view uri,
                                                   std::vector<config_issue>& issues,
                                                   std::string_view where = "");

}  // namespace redlock
