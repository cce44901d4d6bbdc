// Encodes RESP2 commands; knows nothing of sockets, nodes or what a command means.
// SPDX-License-Identifier: MIT
#include "resp/command.hpp"

#include <array>
#include <charconv>
#include <cstddef>

namespace redlock::resp {
namespace {

constexpr std::size_t max_header_bytes = 1 + 20 + 2;  // kind, the digits of 2^64 - 1, CRLF

void append_header(std::string& out, char kind, std::size_t number) {
    std::array<char, max_header_bytes> header;
    header[0] = kind;
    char* end = std::to_chars(header.data() + 1, header.data() + header.size(), number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(header.data(), static_cast<std::size_t>(end - header.data()));
}

}  // namespace

void append_command(std::string& out, std::span<const std::string_view> args, std::size_t more) {
    std::size_t bytes = max_header_bytes;
    for (const std::string_view arg : args) bytes += max_header_bytes + arg.size() + 2;
    out.reserve(out.size() + bytes);
    append_header(out, '*', args.size() + more);
    for (const std::string_view arg : args) {
        append_header(out, '$', arg.size());
        out.append(arg);
        out.append("\r\n", 2);
    }
}

}  // namespace redlock::resp
