// The commands that log in and name a connection.
// SPDX-License-Identifier: MIT
#include "wire/auth.hpp"

#include "wire/connected.hpp"
#include "wire/failure.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <string_view>

namespace redlock::wire {

namespace {

// Redis takes no spaces and no control characters in a client's name.
std::string name_without_spaces(std::string_view name) {
    std::string out(name);
    std::replace(out.begin(), out.end(), ' ', '_');
    return out;
}

}  // namespace

bool append_auth(std::string& out, const node_options& node) {
    if (node.password.empty()) return false;
    if (node.username.empty()) {
        resp::append_command(out, {"AUTH", node.password});
    } else {
        resp::append_command(out, {"AUTH", node.username, node.password});
    }
    return true;
}

void append_name(std::string& out, const client_options& client) {
    resp::append_command(out, {"CLIENT", "SETNAME",
                               name_without_spaces(client.client_name) + mark_of_connection(client)});
}

// A node that is loading, or has too many clients, refuses AUTH too; that is not the password's
// fault. Some servers answer with what they were sent, so of an answer about AUTH only the error's
// code is reported.
failure read_auth_refusal(const resp::reply& error) {
    const failure cause = read_failure(error);
    if (error.is_error("NOAUTH")) {
        return {vote::refused, errc::auth_failed, "the node asks for a password: " + cause.detail};
    }
    if (auto away = read_turned_away(error)) return *away;
    for (const auto* words : {"without any password configured", "no password is set"}) {
        if (error.text().find(words) == error.text().npos) continue;
        return {vote::refused, errc::auth_failed,
                "the node has no password set: leave the password out of its entry, or set one "
                "there"};
    }
    return {vote::refused, errc::auth_failed,
            "the node answered AUTH with " + cause.detail.substr(0, cause.detail.find(' '))};
}

std::optional<failure> read_turned_away(const resp::reply& error) {
    if (!error.is_error("DENIED") && !error.is_error("LOADING") &&
        !error.text().starts_with("ERR max number of clients")) {
        return std::nullopt;
    }
    return failure{vote::refused, errc::server_error,
                   "the node answered: " + read_failure(error).detail};
}

}  // namespace redlock::wire
