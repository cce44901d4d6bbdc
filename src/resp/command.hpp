// Encodes RESP2 commands; knows nothing of sockets, nodes or what a command means.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace redlock::resp {

/// Appends one command to `out`. Arguments may be empty and may hold any bytes.
/// Allocates nothing but what `out` grows by.
void append_command(std::string& out, std::span<const std::string_view> args);

inline void append_command(std::string& out, std::initializer_list<std::string_view> args) {
    append_command(out, std::span<const std::string_view>(args.begin(), args.size()));
}

}  // namespace redlock::resp
