// Why a node gave no answer, or none that counts.
// SPDX-License-Identifier: MIT
#include "wire/failure.hpp"

#include "value/text.hpp"
#include "wire/rights.hpp"

#include <string_view>

namespace redlock::wire {

failure read_failure(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::error) {
        return {vote::refused, errc::protocol_error, "a reply of a kind the command can't have"};
    }
    error_code why = errc::server_error;
    for (const auto* code : {"NOAUTH", "WRONGPASS"}) {
        if (reply.is_error(code)) why = errc::auth_failed;
    }
    if (is_forbidden(reply.text())) why = errc::missing_right;
    if (reply.is_error("NOSCRIPT")) why = errc::script_rejected;
    if (reply.is_error("READONLY")) why = errc::not_master;
    if (reply.is_error("WRONGTYPE") || reply.is_error("FOREIGN")) why = errc::foreign_data;
    // A server that does not know a command repeats its arguments, and owner values are among them.
    const std::string_view words = reply.text();
    return {vote::refused, why, text::printable(words.substr(0, words.find(", with args")))};
}

}  // namespace redlock::wire
