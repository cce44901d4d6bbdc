// Replies read as votes.
// SPDX-License-Identifier: MIT
#include "net/answers.hpp"

#include <algorithm>

namespace redlock::net {

std::string presentable(std::string_view text) {
    constexpr std::size_t longest = 160;
    std::string out(text.substr(0, longest));
    for (char& c : out) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte > 0x7e) c = '?';
    }
    if (text.size() > longest) out += "...";
    return out;
}

failure read_failure(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::error) {
        return {vote::refused, errc::protocol_error, "a reply of a kind the command can't have"};
    }
    error_code why = errc::server_error;
    for (const auto* code : {"NOAUTH", "WRONGPASS", "NOPERM"}) {
        if (reply.is_error(code)) why = errc::auth_failed;
    }
    if (reply.is_error("NOSCRIPT")) why = errc::script_rejected;
    if (reply.is_error("READONLY")) why = errc::not_master;
    if (reply.is_error("WRONGTYPE")) why = errc::foreign_data;
    return {vote::refused, why, presentable(reply.text())};
}

set_answer read_set(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::status && reply.text() == "OK") {
        return {vote::granted, {}};
    }
    if (reply.type() == resp::reply_type::nil) return {vote::held, {}};
    return {vote::refused, read_failure(reply)};
}

compare_answer read_compare(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {core::ballot::yes, {}};
        if (reply.integer() == 0 || reply.integer() == -1) return {core::ballot::no, {}};
    }
    return {core::ballot::unable, read_failure(reply)};
}

std::string abbreviate_owner(std::string_view value) {
    constexpr std::size_t id_length = 22;
    if (value.size() > id_length && value[id_length] == '@') {
        return presentable(value.substr(0, 6)) + "...@" + presentable(value.substr(id_length + 1));
    }
    constexpr std::size_t shown = 12;
    if (value.size() <= shown) return presentable(value);
    return presentable(value.substr(0, shown)) + "...";
}

}  // namespace redlock::net
