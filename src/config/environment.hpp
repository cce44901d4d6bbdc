// Where a configuration is looked for; knows nothing of what it says.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>

#include <filesystem>

namespace redlock::config {

/// See `configuration_from_environment`; `system_file` stands for `/etc/redlock/config.json`.
result<configuration, config_error> look_up(const std::filesystem::path& system_file);

}  // namespace redlock::config
