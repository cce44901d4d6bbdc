// `redlock acquire`, `extend` and `release`: a lock across the steps of a script, and where its
// token is kept.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/exit_status.hpp"
#include "tools/formats.hpp"
#include "tools/inspect.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace redlock::tool {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// Longer than any token, so that a wrong file is not read to its end.
constexpr std::size_t longest = 256 * 1'024;

bool read_all(int from, std::string& into) {
    char bytes[4'096];
    while (into.size() <= longest) {
        const ssize_t n = ::read(from, bytes, sizeof bytes);
        if (n == 0) return true;
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) into.append(bytes, static_cast<std::size_t>(n));
    }
    return true;
}

std::string trimmed(const std::string& text) {
    constexpr const char* blanks = " \t\r\n";
    const auto begin = text.find_first_not_of(blanks);
    return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::string found(const std::string& text, const std::string& where) {
    std::string token = trimmed(text);
    if (token.empty()) fail("there is no token in " + where + ": redlock acquire writes one");
    return token;
}

// From `file`, if it is named ("-" is standard input), else from REDLOCK_TOKEN, else from standard
// input.
std::string read_token(const std::string& file) {
    std::string text;
    if (!file.empty() && file != "-") {
        const int source = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
        if (source < 0 || !read_all(source, text)) {
            fail("--token-file " + file + ": " + std::strerror(errno) +
                 ": name the file that redlock acquire wrote");
        }
        ::close(source);
        return found(text, file);
    }
    const char* const variable = std::getenv("REDLOCK_TOKEN");
    if (file.empty() && variable != nullptr && *variable != '\0') {
        return found(variable, "REDLOCK_TOKEN");
    }
    if (::isatty(STDIN_FILENO) != 0) {
        fail("there is no token: name its file with --token-file, or pass it in REDLOCK_TOKEN or "
             "on standard input");
    }
    if (!read_all(STDIN_FILENO, text)) fail(std::string("standard input: ") + std::strerror(errno));
    return found(text, "standard input");
}

// Replaces `file` as a whole; only its owner can read it. Complains and returns false where that
// fails.
bool write_token(const std::string& file, const std::string& token) {
    const std::string failed =
        file == "-" ? "-: leave it out, and the token goes to standard output"
                    : replace_file(file, token + "\n", readers::owner);
    if (failed.empty()) return true;
    complain("--token-file " + failed +
             (file == "-" ? "" : ": name a file in a directory that can be written"));
    return false;
}

std::string lease_to_json(const lease& held, bool with_token) {
    json_value names = json_value::array();
    for (const auto& one : held.resources()) names.push_back(redacted(one));
    json_value out = {{"resource", redacted(held.resource())},
                      {"resources", std::move(names)},
                      {"fence", held.fence()}};
    add_slots(out, held);
    out["valid_ms"] = held.remaining().count();
    if (with_token) out["token"] = held.token();
    return json_text(out) + "\n";
}

bool hand_over(const acquire_request& request, const lease& held) {
    const bool is_to_file = !request.token_file.empty();
    if (is_to_file && !write_token(request.token_file, held.token())) return false;
    if (request.json) return print(lease_to_json(held, !is_to_file));
    return is_to_file || print(held.token() + "\n");
}

// Complains, and returns the exit status.
int explain_adoption(error_code ec, const lease& got, const asking& by) {
    if (ec == errc::not_held || ec == errc::invalid_argument) {
        complain(ec == errc::not_held
                     ? "the token's lease is not held any more: it was released, or its ttl is "
                       "over; acquire again, with a longer --ttl if it ran out"
                     : "the token can't be used: " +
                           (by.detail().empty() ? ec.message() : by.detail()));
        return not_held;
    }
    const std::vector<std::string> names(got.resources().begin(), got.resources().end());
    return explain({ec, {got.votes().begin(), got.votes().end()}}, names, by.detail(), contended);
}

// Takes over the lease of the token; empty where that fails, with the status.
std::pair<lease, int> adopt(asking& by, const std::string& token, milliseconds ttl) {
    const acquire_options terms{.ttl = ttl, .renew = false};
    auto [ec, got] = by.wait_for<lease>([&](client& on, auto handler) {
        on.async_adopt(token, terms, std::move(handler));
    });
    if (!ec) return {std::move(got), success};
    return {lease(), by.is_called_off() ? own_failure : explain_adoption(ec, got, by)};
}

}  // namespace

int acquire(const acquire_request& request, const inherited_signals& given) {
    given.ignore_own();  // where the token has no reader, the lease is given back
    const auto found = find_nodes(request.nodes);
    if (const auto why = validate_resources(found.client, request.resources); !why.empty()) {
        fail("RESOURCE: " + why);
    }
    acquire_options terms;
    lease_request unrenewed = request.lease;
    unrenewed.no_renew = true;  // nobody is there to do it
    if (const auto why = settle(unrenewed, found, terms); !why.empty()) fail(why);
    asking by(found.client);
    auto [ec, got] = by.wait_for<lease>([&](client& on, auto handler) {
        on.async_acquire_all(request.resources, terms, std::move(handler));
    });
    if (by.is_called_off()) {
        got = lease();
        return by.end(own_failure);
    }
    if (ec) {
        const refusal why{ec, {got.votes().begin(), got.votes().end()}};
        return by.end(explain(why, request.resources, by.detail(), request.contended_status));
    }
    by.wait_for_all(got);
    // Without its token nobody can release it: it goes with `got`.
    if (by.is_called_off() || !hand_over(request, got)) {
        got = lease();
        return by.end(own_failure);
    }
    got.detach();
    return by.end(success);
}

int extend(const extend_request& request) {
    const auto found = find_nodes(request.nodes);
    const milliseconds ttl = request.ttl.value_or(found.defaults.ttl);
    const auto why = request.ttl ? refuse_ttl(ttl, found.client) : "";
    if (!why.empty()) fail(why);
    const auto token = read_token(request.token_file);
    asking by(found.client);
    auto [held, status] = adopt(by, token, ttl);
    if (status == success) by.wait_for_all(held);
    if (status == success && request.json && !print(lease_to_json(held, false))) {
        status = own_failure;
    }
    held.detach();
    return by.end(status);
}

int release(const release_request& request) {
    const auto found = find_nodes(request.nodes);
    const auto token = read_token(request.token_file);
    asking by(found.client);
    // It has to be held for as long as the nodes take to answer, beside the drift allowance.
    const auto held_for = std::max<milliseconds>(4 * longest_answer(found.client), 1s);
    const auto whole = std::chrono::ceil<milliseconds>((held_for + found.client.drift_min) /
                                                       (1 - found.client.drift_factor));
    const auto ttl = std::min<milliseconds>(whole, found.client.ttl_max);
    auto [adopted, status] = adopt(by, token, ttl);
    if (status != success) return by.end(status);
    lease held = std::move(adopted);
    const std::string about = request.json ? lease_to_json(held, false) : "";
    const std::vector<std::string> names(held.resources().begin(), held.resources().end());
    auto [ec] = by.wait_for<>([&](client& on, auto handler) {
        on.async_release(std::move(held), std::move(handler));
    });
    if (ec == errc::lost) {
        complain(quoted(names) + ": not released from here: this machine stood still, or another "
                                 "program released it meanwhile: run it again");
        return by.end(no_quorum);
    }
    if (ec == errc::not_held) {
        complain(quoted(names) + ": " + ec.message() + ": its ttl ended before the release");
        return by.end(not_held);
    }
    if (ec) {
        complain("the release of " + quoted(names) + " reached no quorum of nodes: " +
                 ec.message() + "; it is free at the latest when its ttl is over");
        return by.end(no_quorum);
    }
    return by.end(print(about) ? success : own_failure);
}

}  // namespace redlock::tool
