// Which keys there are, page by page.
// SPDX-License-Identifier: MIT
#include "wire/scan.hpp"

#include "wire/resp/command.hpp"

#include <initializer_list>
#include <vector>

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

// The server goes through so many keys in a step, for about 0.4 ms, and through 1,000 for up to 1.4 ms:
// docs/performance.md.
constexpr std::string_view keys_per_step = "500";

void write(std::string& out, std::string_view cursor, std::string_view prefix,
           std::initializer_list<std::string_view> more) {
    const std::string pattern = literal(prefix) + "*";
    std::vector<std::string_view> words{"SCAN", cursor, "COUNT", keys_per_step};
    // The server compares no key with a pattern that all match, if it is not given.
    if (!prefix.empty()) words.insert(words.end(), {"MATCH", pattern});
    words.insert(words.end(), more);
    resp::append_command(out, words);
}

}  // namespace

void write_scan(std::string& out, std::string_view cursor, std::string_view prefix) {
    write(out, cursor, prefix, {"TYPE", "string"});
}

void write_scan_of_all_types(std::string& out, std::string_view cursor, std::string_view prefix) {
    write(out, cursor, prefix, {});
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
