// A JSON tree as options; knows no JSON text.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/config.hpp>

#include "config/json.hpp"

#include <filesystem>

namespace redlock::config {

/// The options that `document` says, checked by `validate()` as well. Meaningless when `out`
/// failed. Files named in it are relative to `base`.
configuration read_document(const json& document, const std::filesystem::path& base, report& out);

}  // namespace redlock::config
