// How a node stands in a change of the list, as a text and as JSON; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/json_text.hpp"

#include <redlock/list_state.hpp>

#include <string>

namespace redlock::tool {

std::string to_text(const list_standing& of);
/// {"state", "number", "settles_ms", "announced"}.
json_value to_json(const list_standing& of);

}  // namespace redlock::tool
