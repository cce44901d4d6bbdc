// Loads options from a file or the environment, and says all that is wrong.
// SPDX-License-Identifier: MIT
#include "config/config.hpp"

#include "config/json.hpp"
#include "config/reader.hpp"
#include "value/file.hpp"
#include "value/text.hpp"

#include <boost/throw_exception.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace redlock {

namespace {

result<configuration, config_error> parse(std::string_view text, std::string source,
                                          const std::filesystem::path& base) {
    std::vector<config_issue> issues;
    config::report out(issues);
    configuration read;
    if (const auto document = config::parse_json(text, out)) {
        read = config::read_document(*document, base, out);
    }
    if (out.failed()) return config_error(errc::config_invalid, std::move(source), issues);
    read.source = std::move(source);
    return read;
}

using std::filesystem::path;

constexpr const char* nodes_variable = "REDLOCK_NODES";

bool is_empty(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && std::string_view(value).find_first_not_of(" \t\r\n") ==
                                   std::string_view::npos;
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Empty where the environment does not say where the user's files are.
path file_of_user() {
    path folder = variable("XDG_CONFIG_HOME");
    if (!folder.is_absolute()) {
        folder = variable("HOME");
        if (!folder.is_absolute()) return {};
        folder /= ".config";
    }
    return folder / "redlock" / "config.json";
}

// Whether it is there; also where that can't be found out.
bool may_exist(const path& file) {
    struct stat ignored {};
    return ::stat(file.c_str(), &ignored) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

// A home that is another user's is none for this process, as with sudo -E.
bool is_hidden(const path& file) {
    struct stat is {};
    if (::stat(file.c_str(), &is) == 0 || errno != EACCES) return false;
    return ::stat(variable("HOME").c_str(), &is) != 0 || is.st_uid != ::geteuid();
}

// Up to a comma or semicolon that is no part of a password, or to the end.
std::string_view first_node(std::string_view word) {
    constexpr const char* marks = ",;";
    for (auto at = word.find_first_of(marks); at != word.npos;
         at = word.find_first_of(marks, at + 1)) {
        const std::string_view rest = word.substr(at + 1);
        const bool is_node = rest.find('@') == rest.npos || rest.starts_with("redis://") ||
                             rest.starts_with("rediss://") || rest.starts_with("unix://");
        if (is_node) return word.substr(0, at);
    }
    return word;
}

// Between blanks, and commas or semicolons; without the quotes that a file of variables leaves.
std::vector<std::string_view> words(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    constexpr std::string_view before = " \t\r\n\"',;";
    std::vector<std::string_view> out;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(before), text.size()));
        if (text.empty()) return out;
        const auto node = first_node(text.substr(0, text.find_first_of(blanks)));
        out.push_back(node.substr(0, node.find_last_not_of("\"'") + 1));
        text.remove_prefix(node.size());
    }
}

// "/nodes/2/host" as a reader of the variable counts: "node 3: host".
config_issue in_variable(const config_issue& issue) {
    constexpr std::string_view list = "/nodes/";
    if (!issue.where.starts_with(list)) return issue;
    const char* const end = issue.where.data() + issue.where.size();
    std::size_t index = 0;
    const auto [rest, error] = std::from_chars(issue.where.data() + list.size(), end, index);
    if (error != std::errc()) return issue;
    const std::string member = rest == end ? "" : std::string(rest + 1, end) + ": ";
    return {issue.severity, "",
            "node " + std::to_string(index + 1) + ": " + member + issue.message};
}

result<configuration, config_error> read_nodes(std::string_view list) {
    configuration read;
    read.source = nodes_variable;
    std::vector<config_issue> issues;
    bool is_good = true;
    for (const std::string_view word : words(list)) {
        const std::string number = std::to_string(read.client.nodes.size() + 1);
        auto node = parse_node_uri(word);
        if (!node) {
            is_good = false;
            issues.push_back({config_issue::level::error, "",
                              "node " + number + ": " + node.error().message()});
        }
        read.client.nodes.push_back(node ? std::move(*node) : node_options{});
    }
    if (is_good) {
        for (const config_issue& issue : validate(read.client)) {
            is_good = is_good && issue.severity != config_issue::level::error;
            issues.push_back(in_variable(issue));
        }
    }
    if (!is_good) return config_error(errc::config_invalid, nodes_variable, std::move(issues));
    return read;
}

config_error nothing_in(const char* where, std::string why) {
    return {errc::config_invalid, where, {{config_issue::level::error, "", std::move(why)}}};
}

config_error nothing_found(const path& user_file, const path& system_file) {
    const std::string user =
        user_file.empty() ? "$HOME/.config/redlock/config.json" : user_file.string();
    return {errc::config_invalid,
            "",
            {{config_issue::level::error, "",
              "no nodes are known: set REDLOCK_CONFIG to the name of a file, or REDLOCK_NODES to "
              "URIs with blanks between them, or write " +
                  text::printable(user) + " or " + text::printable(system_file.string())}}};
}

}  // namespace

result<configuration, config_error> config::load(const std::filesystem::path& file,
                                                 std::string source) {
    const auto content = detail::read_file(file, max_text_bytes);
    if (content) return parse(*content, std::move(source), file.parent_path());
    std::string why = "can't be read: " + content.error().message();
    // Its name may have a password.
    if (const auto scheme = source.find("://"); scheme != source.npos) {
        source.replace(scheme + 3, source.npos, "***");
        why = "is a URI, and not the name of a file: the variable REDLOCK_NODES takes URIs";
    }
    return config_error(content.error(), std::move(source),
                        {{config_issue::level::error, "", std::move(why)}});
}

result<client_options, config_error> config::client_part(
    result<configuration, config_error> whole) {
    if (!whole) return std::move(whole).error();
    return std::move(whole->client);
}

result<configuration, config_error> parse_configuration(std::string_view text,
                                                        const std::filesystem::path& base) {
    return parse(text, {}, base);
}

result<configuration, config_error> load_configuration(const std::filesystem::path& file) {
    return config::load(file, file.string());
}

result<client_options, config_error> load_options(const std::filesystem::path& file) {
    return config::client_part(load_configuration(file));
}

result<client_options, config_error> parse_options(std::string_view text) {
    return config::client_part(parse_configuration(text));
}

result<configuration, config_error> config::look_up(const path& system_file) {
    // What is set and empty was to name nodes: any others would be the wrong ones.
    if (is_empty("REDLOCK_CONFIG")) {
        return nothing_in("REDLOCK_CONFIG", "is empty: have it name a file, or unset it");
    }
    if (const std::string file = variable("REDLOCK_CONFIG"); !file.empty()) {
        return load(file, "REDLOCK_CONFIG=" + file);
    }
    if (is_empty(nodes_variable)) {
        return nothing_in(nodes_variable, "is empty: have it name the nodes by URIs, or unset it");
    }
    if (const std::string list = variable(nodes_variable); !list.empty()) return read_nodes(list);
    const path user_file = file_of_user();
    if (!user_file.empty() && may_exist(user_file) && !is_hidden(user_file)) {
        return load(user_file, user_file.string());
    }
    if (may_exist(system_file)) return load(system_file, system_file.string());
    return nothing_found(user_file, system_file);
}

result<configuration, config_error> configuration_from_environment() {
    return config::look_up("/etc/redlock/config.json");
}

result<client_options, config_error> options_from_environment() {
    return config::client_part(configuration_from_environment());
}

std::string config_error::message() const {
    constexpr std::size_t longest_source = 4096;  // a path
    std::string out = text::printable(source_, longest_source);
    const char* between = source_.empty() ? "" : ": ";
    for (const config_issue& issue : issues_) {
        if (issue.severity != config_issue::level::error) continue;
        out += between + issue.where + (issue.where.empty() ? "" : ": ") + issue.message;
        between = "; ";
    }
    return out;
}

void throw_exception_from_error(const config_error& e, const boost::source_location& where) {
    boost::throw_exception(std::invalid_argument(e.message()), where);
}

}  // namespace redlock
