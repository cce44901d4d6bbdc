// AUTH and SELECT, and the names of connected clients.
// SPDX-License-Identifier: MIT
#include "wire/login.hpp"

#include "value/text.hpp"
#include "wire/record.hpp"
#include "wire/resp/command.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <algorithm>

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
    const std::string name = name_without_spaces(client.client_name) + mark_of_connection(client);
    resp::append_command(out, {"CLIENT", "SETNAME", name});
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

namespace {

constexpr std::string_view reads_record = "~record";
constexpr std::string_view reads_none = "~none";

std::string sets_of(const client_options& client, const std::string& after) {
    const std::string old = node_set(client);
    return old == after ? old : old + '>' + after;
}

std::string fingerprint(const std::string& prefix) {
    if (prefix.empty()) return {};
    const boost::uuids::name_generator_sha1 make(boost::uuids::ns::url());
    return '#' + boost::uuids::to_string(make(prefix)).substr(0, 8);
}

// Other servers are connected, too: a replica, a master.
bool is_of_program(std::string_view flags) {
    return flags.find_first_of("SM") == flags.npos;
}

// "id=3 addr=127.0.0.1:5 name=x db=0 ...": the word behind `name` and "=".
std::string_view word(std::string_view line, std::string_view name) {
    while (!line.empty()) {
        const std::string_view one = line.substr(0, line.find(' '));
        if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=') {
            return one.substr(name.size() + 1);
        }
        line.remove_prefix(std::min(one.size() + 1, line.size()));
    }
    return {};
}

}  // namespace

std::string mark_of_connection(const client_options& client) {
    return std::string(client.fencing ? reads_record : reads_none) + '#' +
           sets_of(client, node_set_after(client)) + fingerprint(client.key_prefix);
}

connections read_connected(const resp::reply& list, const client_options& client,
                           std::uint16_t database, const std::string& after) {
    connections out;
    const std::string prefix = fingerprint(client.key_prefix);
    std::string_view text = list.text();
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::string_view name = word(line, "name");
        const auto mark = name.find('#');
        if (word(line, "db") != std::to_string(database)) continue;
        if (mark == name.npos) {
            out.unnamed += is_of_program(word(line, "flags")) ? 1 : 0;
            continue;
        }
        const auto end = std::min(name.find('#', mark + 1), name.size());
        const std::string_view sets = name.substr(mark + 1, end - mark - 1);
        if (name.substr(end) != prefix || sets == sets_of(client, after)) continue;
        std::string_view own = name.substr(0, mark);
        const bool reads = own.ends_with(reads_record);
        if (reads || own.ends_with(reads_none)) own = own.substr(0, own.rfind('~'));
        out.others.push_back({std::string(word(line, "id")), text::printable(own),
                              text::printable(word(line, "addr")), reads, std::string(sets)});
    }
    return out;
}

void write_connected_query(std::string& out) { resp::append_command(out, {"CLIENT", "LIST"}); }

void write_disconnection(std::string& out, const connected& which) {
    resp::append_command(out, {"CLIENT", "KILL", "ID", which.id});
}

}  // namespace redlock::wire
