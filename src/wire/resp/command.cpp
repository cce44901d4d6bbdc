// Encodes RESP2 commands; knows nothing of sockets, nodes or what a command means.
// SPDX-License-Identifier: MIT
#include "wire/resp/command.hpp"

#include <algorithm>
#include <charconv>

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

std::size_t most_bytes(std::span<const std::string_view> words) noexcept {
    std::size_t most = 0;
    for (const std::string_view word : words) most += max_header_bytes + word.size() + 2;
    return most;
}

char* write_words(char* to, std::span<const std::string_view> words) noexcept {
    for (const std::string_view word : words) {
        to = write_header(to, '$', word.size());
        to = std::copy(word.begin(), word.end(), to);
        *to++ = '\r';
        *to++ = '\n';
    }
    return to;
}

void cut(std::string& out, const char* end) noexcept {
    assert(end <= out.data() + out.size());
    out.resize(static_cast<std::size_t>(end - out.data()));
}

}  // namespace

void append_command(std::string& out, std::span<const std::string_view> args, std::size_t more) {
    assert(!args.empty());
    const std::size_t begin = out.size();
    out.resize(begin + max_header_bytes + most_bytes(args));
    char* const words = write_header(out.data() + begin, '*', args.size() + more);
    cut(out, write_words(words, args));
}

void append_words(std::string& out, std::initializer_list<std::string_view> words) {
    const std::span<const std::string_view> all(words.begin(), words.size());
    const std::size_t begin = out.size();
    out.resize(begin + most_bytes(all));
    cut(out, write_words(out.data() + begin, all));
}

}  // namespace redlock::resp
