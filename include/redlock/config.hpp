// Options from JSON, from URIs and from the environment; the interface only: no JSON type appears
// here.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/options.hpp>
#include <redlock/result.hpp>

#include <boost/assert/source_location.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock {

/// Why a configuration can't be used: every reason at once. No password ever appears in it. Its
/// members return copies, since `result::error()` is a copy itself.
class REDLOCK_EXPORT config_error {
public:
    config_error() = default;  ///< No error: that of a result that has a value.
    config_error(error_code code, std::string source, std::vector<config_issue> issues)
        : code_(code), source_(std::move(source)), issues_(std::move(issues)) {}

    /// `config_invalid`: at least one of the issues is an error. Else the system's error: the file
    /// can't be read.
    error_code code() const noexcept { return code_; }
    /// What was read, as in `configuration::source`.
    std::string source() const { return source_; }
    /// Every problem with its JSON pointer, also each warning.
    std::vector<config_issue> issues() const { return issues_; }
    /// The source, and every error with its JSON pointer, on one line: "nodes.json: /ttl_max: there
    /// is no such key; did you mean "ttl_max_ms"?; /nodes/1: names no host". Safe for a terminal.
    std::string message() const;

private:
    error_code code_;
    std::string source_;
    std::vector<config_issue> issues_;
};

/// Called by `result<T, config_error>::value()` if there is no value. Throws
/// `std::invalid_argument` with `message()`.
[[noreturn]] REDLOCK_EXPORT void throw_exception_from_error(const config_error& e,
                                                            const boost::source_location& where);

/// Everything that a configuration contains: how to reach the nodes, and how locks are acquired by
/// default. What is doubtful in it, though allowed, `validate(client)` lists.
struct configuration {
    client_options client;
    acquire_options defaults;
    /// What was read, for people: the name of the file, as it was given; "REDLOCK_CONFIG=" and that
    /// name; or "REDLOCK_NODES". Empty: a text.
    std::string source{};
};

/// Reads a configuration: JSON as in `config/redlock.schema.json`, with comments allowed. A
/// relative `password_file` is found from the folder of `file`, or from `base`.
///
/// **Errors.** Everything that is wrong, at once: see `config_error`. Of a text that is no JSON the
/// first mistake, with its line and column.
/// **Thread safety.** Any thread may call it and the functions below, while none changes the
/// environment.
REDLOCK_EXPORT result<configuration, config_error> load_configuration(
    const std::filesystem::path& file);
REDLOCK_EXPORT result<configuration, config_error> parse_configuration(
    std::string_view text, const std::filesystem::path& base = {});

/// As above, for a program that needs only the options of the client.
REDLOCK_EXPORT result<client_options, config_error> load_options(const std::filesystem::path& file);
REDLOCK_EXPORT result<client_options, config_error> parse_options(std::string_view text);

/// Looks where the command looks that has neither `--node` nor `--config`, and reads the first of
/// these that is there:
///
///  1. the file that the environment variable REDLOCK_CONFIG names;
///  2. the nodes in REDLOCK_NODES, each as for `parse_node_uri`, with blanks between them;
///  3. `$XDG_CONFIG_HOME/redlock/config.json`; where that variable is empty, or no absolute path,
///     `$HOME/.config/redlock/config.json`;
///  4. `/etc/redlock/config.json`.
///
/// REDLOCK_CONFIG or REDLOCK_NODES that is empty is an error.
///
/// **Errors.** As `load_configuration`: a file that is there, and can't be read, is an error, and
/// nothing after it is looked at; what a folder hides is not there. Where nothing is found the
/// message names all four places.
REDLOCK_EXPORT result<configuration, config_error> configuration_from_environment();
/// As above, for a program that needs only the options of the client.
REDLOCK_EXPORT result<client_options, config_error> options_from_environment();

/// Reads one node from a URI: "redis://user:password@host:port/database" or "unix:///path?db=0".
/// "name=" in the query names the node. User, password, path and name are percent-encoded.
/// "rediss://" sets `node_options::tls`: TLS, with the system's trusted roots. "host",
/// "host:port" and "[address]:port" are short for "redis://" and that.
///
/// **Errors.** `config_invalid`, with the first problem; it quotes no part of the URI.
REDLOCK_EXPORT result<node_options, config_error> parse_node_uri(std::string_view uri);

}  // namespace redlock
