// The commands that read and write one database; know no connection, no script and no fault.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/redis_model/command.hpp"

#include <string_view>

namespace redlock::fakes {

/// Null where there is none of that name, which is in upper case.
const data_command* find_data_command(std::string_view name);

}  // namespace redlock::fakes
