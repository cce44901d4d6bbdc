// Configurations from texts and files; knows neither JSON syntax nor the meaning of an option.
// SPDX-License-Identifier: MIT
#include <redlock/config.hpp>

#include "config/config.hpp"
#include "config/json.hpp"
#include "config/reader.hpp"
#include "config/report.hpp"
#include "value/file.hpp"

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

}  // namespace redlock
