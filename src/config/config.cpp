// Configurations from texts and files; knows neither JSON syntax nor the meaning of an option.
// SPDX-License-Identifier: MIT
#include <redlock/config.hpp>

#include "config/file.hpp"
#include "config/json.hpp"
#include "config/reader.hpp"
#include "value/text.hpp"

namespace redlock {

namespace {

result<client_options> client_part(result<configuration> whole) {
    if (!whole) return whole.error();
    return std::move(whole->client);
}

}  // namespace

result<configuration> parse_configuration(std::string_view text, std::vector<config_issue>& issues,
                                          const std::filesystem::path& base) {
    config::report out(issues);
    const auto document = config::parse_json(text, out);
    if (!document) return error_code(errc::config_invalid);
    auto read = config::read_document(*document, base, out);
    if (out.failed()) return error_code(errc::config_invalid);
    return read;
}

result<configuration> load_configuration(const std::filesystem::path& file,
                                         std::vector<config_issue>& issues) {
    const auto content = config::read_file(file, config::max_text_bytes);
    if (!content) {
        issues.push_back({config_issue::level::error, "",
                          "can't read " + text::printable(file.native()) + ": " +
                              content.error().message()});
        return content.error();
    }
    return parse_configuration(*content, issues, file.parent_path());
}

result<client_options> load_options(const std::filesystem::path& file,
                                    std::vector<config_issue>& issues) {
    return client_part(load_configuration(file, issues));
}

result<client_options> load_options(const std::filesystem::path& file) {
    std::vector<config_issue> unread;
    return load_options(file, unread);
}

result<client_options> parse_options(std::string_view text, std::vector<config_issue>& issues) {
    return client_part(parse_configuration(text, issues));
}

result<client_options> parse_options(std::string_view text) {
    std::vector<config_issue> unread;
    return parse_options(text, unread);
}

}  // namespace redlock
