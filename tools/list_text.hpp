// How a node stands in a change of the list, as a text; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/list_state.hpp>

#include <string>

namespace redlock::tool {

std::string to_text(const list_standing& of);

}  // namespace redlock::tool
