// Replies read as votes.
// SPDX-License-Identifier: MIT
#include "net/answers.hpp"

#include "text.hpp"

namespace redlock::net {

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
    // A server that does not know a command repeats its arguments, and owner values are among them.
    const std::string_view words = reply.text();
    return {vote::refused, why, text::printable(words.substr(0, words.find(", with args")))};
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
        return text::printable(value.substr(0, 6)) + "...@" + text::printable(value.substr(id_length + 1));
    }
    constexpr std::size_t shown = 12;
    if (value.size() <= shown) return text::printable(value);
    return text::printable(value.substr(0, shown)) + "...";
}

}  // namespace redlock::net
