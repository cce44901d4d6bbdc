// JSON values of the command, and their text; knows nothing of their content.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace redlock::tool {

/// Keeps the members of an object in the order in which they were added.
using json_value = nlohmann::ordered_json;

/// One line without white space and without a line break. What is no valid UTF-8 becomes U+FFFD.
/// Characters that `is_shown` rejects are escaped.
std::string json_text(const json_value& value);

}  // namespace redlock::tool
