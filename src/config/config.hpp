// Loads options from a file or the environment, and says all that is wrong.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>

#include <filesystem>
#include <string>

namespace redlock::config {

/// The configuration in `file`, which messages call `source`.
result<configuration, config_error> load(const std::filesystem::path& file, std::string source);

result<client_options, config_error> client_part(result<configuration, config_error> whole);

/// See `configuration_from_environment`; `system_file` stands for `/etc/redlock/config.json`.
result<configuration, config_error> look_up(const std::filesystem::path& system_file);

}  // namespace redlock::config
