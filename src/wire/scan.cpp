// Which keys there are, page by page.
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

}  // namespace

void write_scan(std::string& out, std::string_view cursor, std::string_view prefix) {
    const std::string pattern = literal(prefix) + "*";
    resp::append_command(
        out, {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "string"});
}

std::optional<scanned> read_scan(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || reply.size() != 2) return std::nullopt;
    scanned page{std::string(reply[0].text()), {}};
    const std::string_view digits = page.cursor;
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < reply[1].size(); ++i) page.keys.emplace_back(reply[1][i].text());
    return page;
}

}  // namespace redlock::wire
