// How the command speaks to whoever started it.
// SPDX-License-Identifier: MIT
#include "tools/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace redlock::tool {

namespace {

bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

std::string redacted(std::string_view text) {
    constexpr std::string_view mark = "://";
    std::string out;
    for (;;) {
        const auto at = text.find(mark);
        if (at == text.npos) return out += text;
        out += text.substr(0, at + mark.size());
        text.remove_prefix(at + mark.size());
        // A password may hold any character but white space, also a stray "@" or "/".
        const auto word = text.substr(0, text.find_first_of(" \t\r\n"));
        if (const auto end = word.rfind('@'); end != word.npos) {
            out += "***";
            text.remove_prefix(end);
        }
    }
}

void complain(std::string_view what) {
    std::string line = "redlock: " + redacted(what);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    line += '\n';
    write_all(STDERR_FILENO, line);  // with nobody to read it there is nobody to tell
}

bool print(std::string_view text) {
    if (write_all(STDOUT_FILENO, text)) return true;
    complain("standard output: " + std::string(std::strerror(errno)));
    return false;
}

}  // namespace redlock::tool
