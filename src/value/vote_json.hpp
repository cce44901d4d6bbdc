// The JSON of votes and of error codes, which several reports contain; knows none of the reports.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/json_line.hpp"

#include <redlock/vote.hpp>

#include <string>

namespace redlock::text {

/// The member "error", an object; nothing where there is no error.
void add_error(json_object& to, const error_code& error);

/// One object; members that say nothing are left out.
std::string json_of_vote(const node_vote& v);

}  // namespace redlock::text
