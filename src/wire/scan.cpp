// Which keys there are, page by page, and what they take.
// SPDX-License-Identifier: MIT
#include "wire/scan.hpp"

#include "wire/resp/command.hpp"

#include <cstddef>

namespace redlock::wire {

namespace {

// What has a meaning in a pattern stands for itself.
std::string literal(std::string_view text) {
    constexpr std::string_view special = "*?[]^-\\";
    std::string out;
    for (const char c : text) {
        if (special.find(c) != special.npos) out += '\\';
        out += c;
    }
    return out;
}

// The server goes through so many keys in a step, for about 0.3 ms, and for twice as long where
// other work keeps its processor busy; 1,000 took up to 1.4 ms: docs/performance.md.
constexpr std::string_view keys_per_step = "300";

}  // namespace

void write_scan(std::string& out, std::string_view cursor, std::string_view prefix) {
    const std::string pattern = literal(prefix) + "*";
    resp::append_command(
        out, {"SCAN", cursor, "MATCH", pattern, "COUNT", keys_per_step, "TYPE", "string"});
}

void write_scan_of_all(std::string& out, std::string_view cursor) {
    resp::append_command(out, {"SCAN", cursor, "COUNT", keys_per_step});
}

void write_memory_usage(std::string& out, std::string_view key) {
    resp::append_command(out, {"MEMORY", "USAGE", key});
}

std::optional<scanned> read_scan(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || reply.size() != 2) return std::nullopt;
    const std::string_view digits = reply[0].text();
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) {
        return std::nullopt;
    }
    return scanned{digits, reply[1]};
}

}  // namespace redlock::wire
