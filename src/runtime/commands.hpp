// The commands of the protocol, formatted; knows no answers.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum.hpp"

#include <string>
#include <string_view>

namespace redlock::detail {

/// How a script is named on the wire: by its SHA1, or with its whole text for a node that lost it.
enum class script_form : bool { by_hash, whole };

void write_set(std::string& out, std::string_view key, std::string_view value, core::duration ttl);
void write_compare_delete(std::string& out, script_form form, std::string_view key,
                          std::string_view value);
void write_compare_expire(std::string& out, script_form form, std::string_view key,
                          std::string_view value, core::duration ttl);
void write_get(std::string& out, std::string_view key);
void write_pttl(std::string& out, std::string_view key);

}  // namespace redlock::detail
