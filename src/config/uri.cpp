// Nodes from URIs; knows no JSON and opens no connection.
// SPDX-License-Identifier: MIT
#include "value/text.hpp"

#include <redlock/config.hpp>
#include <redlock/detail/nearest.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

namespace redlock {

namespace {

constexpr std::size_t max_uri_bytes = 4096;

bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '.' || c == '_';
}

bool is_address_character(char c) noexcept { return c == ':' || c == '%' || is_name_character(c); }

// Reads one URI. No message quotes any of it: any part may be a password in the wrong place.
class uri_reader {
public:
    explicit uri_reader(std::string_view uri) : rest_(uri) {}

    result<node_options, config_error> read() {
        const std::string_view whole = rest_;
        parse();
        if (!failed_) return std::move(node_);
        return config_error(errc::config_invalid, "",
                            {{config_issue::level::error, "", why_ + cut_password(whole)}});
    }

private:
    void parse() {
        if (rest_.size() > max_uri_bytes) return fail("is longer than 4096 bytes");
        if (rest_.find('#') != rest_.npos) {
            return fail("has a \"#\": write %23 where it is part of a name or a password");
        }
        if (take_prefix("unix://")) return parse_socket();
        if (take_prefix("rediss://")) {
            node_.tls = tls_options{};
            return parse_server();
        }
        if (take_prefix("redis://")) return parse_server();
        if (rest_.find("://") == rest_.npos) return parse_address();
        fail("begins with none of redis://, rediss:// and unix:///");
    }

    // "host", "host:port" or "[address]:port".
    void parse_address() {
        if (rest_.starts_with('/')) return fail("is a path; write unix:///path/to/socket");
        if (rest_.find_first_of("@/?") != rest_.npos) {
            return fail("has more than host and port; write a URI that begins with redis://, "
                        "rediss:// or unix:///");
        }
        parse_host_and_port(rest_);
    }

    void parse_server() {
        const auto query = cut_after('?');
        const auto path = cut_after('/');
        parse_user(rest_);
        parse_host_and_port(rest_);
        if (path && !path->empty()) set_database(*path);
        if (query) parse_query(*query, std::array<std::string_view, 1>{"name"});
    }

    void parse_socket() {
        const auto query = cut_after('?');
        const auto slash = rest_.find('/');
        if (slash == rest_.npos) {
            return fail("has no socket path that begins with /; write unix:///path/to/socket");
        }
        std::string_view authority = rest_.substr(0, slash);
        parse_user(authority);
        if (!authority.empty()) {
            fail("has a host before the socket's path; write unix:///path with three slashes");
        }
        const auto path = decoded(rest_.substr(slash), "socket path");
        if (path && path->size() < 2) fail("has no socket path; write unix:///path/to/socket");
        if (path) node_.unix_socket = *path;
        if (query) parse_query(*query, std::array<std::string_view, 2>{"db", "name"});
    }

    // Takes "user:password@" off the front.
    void parse_user(std::string_view& authority) {
        const auto at = authority.rfind('@');
        if (at == authority.npos) return;
        const std::string_view info = authority.substr(0, at);
        authority.remove_prefix(at + 1);
        if (info.find('@') != info.npos) {
            return fail("has more than one \"@\"; write %40 for the one in the password");
        }
        const auto colon = info.find(':');
        if (colon == info.npos || colon + 1 == info.size()) {
            return fail("has no password before the \"@\"; write user:password@host, or "
                        ":password@host for the default user");
        }
        if (const auto user = decoded(info.substr(0, colon), "user name")) node_.username = *user;
        if (const auto password = decoded(info.substr(colon + 1), "password")) {
            node_.password = *password;
        }
    }

    void parse_host_and_port(std::string_view text) {
        std::string_view host = text;
        std::string_view port;
        bool has_port = false;
        if (text.find(',') != text.npos) return fail("names several nodes; name one alone");
        if (text.starts_with('[')) {
            const auto end = text.find(']');
            if (end == text.npos) return fail("has a \"[\" without its \"]\"");
            host = text.substr(1, end - 1);
            port = text.substr(end + 1);
            has_port = !port.empty();
            if (has_port && !port.starts_with(':')) return fail("has text between \"]\" and port");
            if (has_port) port.remove_prefix(1);
            if (host.find(':') == host.npos ||
                !std::all_of(host.begin(), host.end(), is_address_character)) {
                return fail("has no IPv6 address between the brackets");
            }
        } else {
            const auto colon = text.find(':');
            has_port = colon != text.npos;
            host = text.substr(0, colon);
            if (has_port) port = text.substr(colon + 1);
            if (port.find(':') != port.npos) {
                return fail("has several \":\" where host and port stand; an IPv6 address "
                            "stands in brackets: [::1]:6379");
            }
            if (host.find_first_of("${") != host.npos) {
                return fail("has a variable in its host name, and nothing replaces it here: write "
                            "the name itself, or make the text with envsubst or your shell");
            }
            if (!std::all_of(host.begin(), host.end(), is_name_character)) {
                return fail("has a character in its host name that none may have; percent-encode "
                            "the user name and the password");
            }
        }
        if (host.empty()) return fail("names no host");
        node_.host = host;
        if (!has_port) return;
        const auto number = text::whole_number<std::uint16_t>(port);
        if (!number || *number == 0) return fail("has a port that is not 1 to 65535");
        node_.port = *number;
    }

    void set_database(std::string_view word) {
        const auto number = text::whole_number<std::uint16_t>(word);
        if (!number && word.find('/') != word.npos) {
            return fail("has more than the number of a database after the host: a prefix of keys "
                        "is \"key_prefix\" in a configuration file");
        }
        if (!number) return fail("has a database that is not 0 to 65535");
        node_.database = *number;
    }

    void parse_query(std::string_view query, std::span<const std::string_view> known) {
        std::string_view seen[2];
        std::size_t count = 0;
        while (!query.empty()) {
            const auto amp = query.find('&');
            const std::string_view pair = query.substr(0, amp);
            query.remove_prefix(amp == query.npos ? query.size() : amp + 1);
            const auto equals = pair.find('=');
            const auto hit = std::find(known.begin(), known.end(), pair.substr(0, equals));
            if (hit == known.end() || equals == pair.npos) {
                const auto meant = detail::nearest(pair.substr(0, equals), known);
                return fail(std::string("has an unknown parameter after \"?\"; ") +
                            (meant.empty() ? "known is " + std::string(known.back())
                                           : "did you mean \"" + std::string(meant) + "=\"?"));
            }
            if (std::find(seen, seen + count, *hit) != seen + count) {
                return fail("has the parameter \"" + std::string(*hit) + "\" twice");
            }
            seen[count++] = *hit;
            const auto value = decoded(pair.substr(equals + 1), "parameter");
            if (!value) return;
            if (*hit == "db") set_database(*value);
            if (*hit == "name") node_.name = *value;
        }
    }

    std::optional<std::string> decoded(std::string_view raw, std::string_view what) {
        std::string out;
        for (std::size_t i = 0; i < raw.size(); ++i) {
            if (raw[i] != '%') {
                out += raw[i];
                continue;
            }
            const auto byte = i + 2 < raw.size()
                                  ? text::whole_number<unsigned>(raw.substr(i + 1, 2), 16)
                                  : std::nullopt;
            if (!byte) {
                fail("has a \"%\" in its " + std::string(what) +
                     " without two hexadecimal digits; write %25 for the character itself");
                return std::nullopt;
            }
            out += static_cast<char>(*byte);
            i += 2;
        }
        return out;
    }

    // What stands behind the first `mark`; it and the mark leave `rest_`.
    std::optional<std::string_view> cut_after(char mark) {
        const auto at = rest_.find(mark);
        if (at == rest_.npos) return std::nullopt;
        const std::string_view tail = rest_.substr(at + 1);
        rest_ = rest_.substr(0, at);
        return tail;
    }

    // In letters of either case, as RFC 3986 has it.
    bool take_prefix(std::string_view prefix) {
        const auto is_same = [](char given, char small) {
            return given == small || (given >= 'A' && given <= 'Z' && given - 'A' + 'a' == small);
        };
        if (rest_.size() < prefix.size() ||
            !std::equal(prefix.begin(), prefix.end(), rest_.begin(),
                        [&](char small, char given) { return is_same(given, small); })) {
            return false;
        }
        rest_.remove_prefix(prefix.size());
        return true;
    }

    // What to do where a "/", "?", "#" or "@" before the last "@" may be part of a password.
    static std::string cut_password(std::string_view uri) {
        if (const auto scheme = uri.find("://"); scheme != uri.npos) uri.remove_prefix(scheme + 3);
        const auto at = uri.rfind('@');
        if (at == uri.npos) return {};
        const std::string_view info = uri.substr(0, at);
        if (info.find_first_of("/?#@") == info.npos) return {};
        return "; if they are part of a password, percent-encode it: write %2F for \"/\", %3F for "
               "\"?\", %23 for \"#\", %40 for \"@\", %3A for \":\" and %25 for \"%\"";
    }

    // The first failure says why.
    void fail(std::string message) {
        if (!failed_) why_ = std::move(message);
        failed_ = true;
    }

    std::string_view rest_;
    node_options node_;
    bool failed_ = false;
    std::string why_;
};

}  // namespace

result<node_options, config_error> parse_node_uri(std::string_view uri) {
    return uri_reader(uri).read();
}

}  // namespace redlock
