// Encodes RESP2 commands; knows nothing of sockets, nodes or what a command means.
// SPDX-License-Identifier: MIT
#include "wire/resp/command.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace redlock::resp {
namespace {

constexpr std::size_t max_header_bytes = 1 + 20 + 2;  // kind, the digits of 2^64 - 1, CRLF

char* write_header(char* to, char kind, std::size_t number) noexcept {
    *to++ = kind;
    to = std::to_chars(to, to + 20, number).ptr;
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

}  // namespace

void append_command(std::string& out, std::span<const std::string_view> args, std::size_t more) {
    std::size_t most = max_header_bytes;
    for (const std::string_view arg : args) most += max_header_bytes + arg.size() + 2;
    const std::size_t begin = out.size();
    out.resize(begin + most);
    char* end = write_header(out.data() + begin, '*', args.size() + more);
    for (const std::string_view arg : args) {
        end = write_header(end, '$', arg.size());
        end = std::copy(arg.begin(), arg.end(), end);
        *end++ = '\r';
        *end++ = '\n';
    }
    out.resize(static_cast<std::size_t>(end - out.data()));
}

}  // namespace redlock::resp
