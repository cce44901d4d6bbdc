// Encodes RESP2 commands; knows nothing of sockets, nodes or what a command means.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace redlock::resp {

/// Appends one command to `out`. Arguments may be empty and may hold any bytes; `more` of them are
/// announced, for somebody else to append. Allocates at most once, where `out` has to grow.
void append_command(std::string& out, std::span<const std::string_view> args, std::size_t more = 0);

inline void append_command(std::string& out, std::initializer_list<std::string_view> args,
                           std::size_t more = 0) {
    append_command(out, std::span<const std::string_view>(args.begin(), args.size()), more);
}

/// Appends arguments that were announced.
void append_words(std::string& out, std::initializer_list<std::string_view> words);

}  // namespace redlock::resp
