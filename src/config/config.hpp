// Configurations from files, whatever they are called; knows neither JSON nor an option.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>

#include <filesystem>
#include <string>

namespace redlock::config {

/// The configuration in `file`, which messages call `source`.
result<configuration, config_error> load(const std::filesystem::path& file, std::string source);

result<client_options, config_error> client_part(result<configuration, config_error> whole);

}  // namespace redlock::config
