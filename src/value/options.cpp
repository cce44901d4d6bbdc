// Checks of all options, and the times that follow from them.
// SPDX-License-Identifier: MIT
#include "value/options.hpp"

#include "value/nodes.hpp"
#include "value/text.hpp"

#include <redlock/detail/printable.hpp>

#include <arpa/inet.h>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unistd.h>

namespace redlock::detail {

constexpr std::string_view endings[key_roles] = {
    "", "}:fence", "}:queue", "}:readers", "}:slots", "}:revoked", "}:last"};

// The ending may begin in the prefix.
bool key_ends_with(std::string_view prefix, std::string_view rest,
                   std::string_view ending) noexcept {
    if (rest.size() >= ending.size()) return rest.ends_with(ending);
    return ending.ends_with(rest) &&
           prefix.ends_with(ending.substr(0, ending.size() - rest.size()));
}

std::string_view ending_of(key_role role) noexcept {
    assert(static_cast<std::size_t>(role) < key_roles);
    return endings[static_cast<std::size_t>(role)];
}

key_role role_of(std::string_view prefix, std::string_view rest) noexcept {
    if (rest.find('{') == rest.npos && prefix.find('{') == prefix.npos) return key_role::lock;
    for (std::size_t i = 1; i < key_roles; ++i) {
        if (key_ends_with(prefix, rest, endings[i])) return static_cast<key_role>(i);
    }
    return key_role::lock;
}

}  // namespace redlock::detail

namespace redlock {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_node_timeout = std::chrono::seconds(60);
constexpr milliseconds longest_connect_timeout = std::chrono::minutes(10);
constexpr milliseconds longest_patience = std::chrono::hours(24 * 366);
constexpr std::size_t max_key_prefix = 256;
constexpr std::size_t max_host = 253;
constexpr std::size_t max_node_name = 255;
constexpr std::size_t max_socket_path = 107;  // sun_path holds 108 bytes, the last one a NUL

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_printable_ascii(char c) noexcept { return c >= 0x20 && c <= 0x7e; }

// Collects what is wrong, place by place.
class findings {
public:
    void error(std::string where, std::string message) {
        list_.push_back({config_issue::level::error, std::move(where), std::move(message)});
    }
    void warning(std::string where, std::string message) {
        list_.push_back({config_issue::level::warning, std::move(where), std::move(message)});
    }
    bool range(std::string where, milliseconds value, milliseconds low, milliseconds high) {
        assert(low <= high);
        if (value >= low && value <= high) return true;
        error(std::move(where), "must be " + std::to_string(low.count()) + " to " +
                                    std::to_string(high.count()) + " ms");
        return false;
    }
    std::vector<config_issue> take() { return std::move(list_); }

private:
    std::vector<config_issue> list_;
};

// With a scope, as in fe80::1%eth0, too.
bool is_ipv6(const std::string& text) {
    in6_addr unused{};
    return ::inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &unused) == 1;
}

std::string with_port(const std::string& host, std::string_view port) {
    std::string out = "write \"host\": \"" + host + "\"";
    const bool is_port = !port.empty() && port.find_first_not_of("0123456789") == port.npos;
    return is_port ? out + ", \"port\": " + std::string(port) : out;
}

// What is wrong with a host that no resolver could know, and what would be right; empty where
// nothing is.
std::string refuse_host(const std::string& host) {
    if (std::any_of(host.begin(), host.end(), [](char c) {
            return is_control(c) || c == ' ' || c == '/' || c == '@';
        })) {
        return "must be a host name or an address, and nothing else; a URI stands in place of the "
               "whole node";
    }
    const auto colon = host.rfind(':');
    const auto close = host.find(']');
    if (host.starts_with('[') && close != host.npos && is_ipv6(host.substr(1, close - 1))) {
        const std::string port = host.substr(std::min(host.size(), std::max(colon, close) + 1));
        return "has the brackets of a URI: " + with_port(host.substr(1, close - 1), port);
    }
    if (host.find_first_of("[]") != host.npos) return "has a bracket: write the address alone";
    if (colon == host.npos || is_ipv6(host)) return {};
    if (host.find(':') != colon) return "is no IPv6 address, and only these have several \":\"";
    return "has a port in it: " + with_port(host.substr(0, colon), host.substr(colon + 1));
}

void check_address(const node_options& node, const std::string& where, findings& out) {
    if (!node.unix_socket.empty()) {
        if (node.unix_socket.size() > max_socket_path) {
            out.error(where + "/unix_socket", "is longer than the 107 bytes that the system "
                                              "allows; use a shorter path or a link");
        }
        if (node.unix_socket.find('\0') != std::string::npos) {
            out.error(where + "/unix_socket", "can't contain a NUL byte");
        }
        return;
    }
    if (node.host.empty()) {
        out.error(where + "/host", "is empty; name the host, or set unix_socket");
    } else if (node.host.size() > max_host) {
        out.error(where + "/host", "is longer than 253 characters");
    } else if (const auto why = refuse_host(node.host); !why.empty()) {
        out.error(where + "/host", why);
    }
    if (node.port == 0) out.error(where + "/port", "must be 1 to 65535");
}

void check_tls(const node_options& node, const std::string& where, findings& out) {
    if (!node.tls) return;
    if (!REDLOCK_HAS_TLS) {
        out.error(where + "/tls",
                  "this build of redlock has no TLS: build it where OpenSSL 3 is, or use a tunnel");
    }
    if (!node.unix_socket.empty()) {
        out.error(where + "/tls", "is of no use on a UNIX socket; leave it out");
    }
    if (node.tls->cert_file.empty() != node.tls->key_file.empty()) {
        out.error(where + (node.tls->cert_file.empty() ? "/tls/cert_file" : "/tls/key_file"),
                  "is missing; a client certificate and its key go together");
    }
    const std::string& name = node.tls->server_name;
    if (std::any_of(name.begin(), name.end(), is_control)) {
        out.error(where + "/tls/server_name", "must have no control characters");
    }
    if (!node.tls->verify) {
        out.warning(where + "/tls/verify",
                    "is false, so any server may pass for this node, and reads its password; for "
                    "tests only: name the root in ca_file instead");
    }
}

void check_node(const node_options& node, const std::string& where, findings& out) {
    check_address(node, where, out);
    check_tls(node, where, out);
    const bool asks = !node.password_command.empty() || node.credentials != nullptr;
    const bool has_password = !node.password.empty() || !node.password_file.empty();
    if (asks && (has_password || (!node.password_command.empty() && node.credentials))) {
        out.error(where + (node.credentials ? "/credentials" : "/password_command"),
                  "and any other password of the node exclude each other; keep one");
    }
    if (!node.password_command.empty() &&
        (node.password_command[0].empty() ||
         std::any_of(node.password_command.begin(), node.password_command.end(),
                     [](const std::string& w) { return w.find('\0') != w.npos; }))) {
        out.error(where + "/password_command",
                  "must begin with the name of a program, and have no NUL byte");
    }
    if (!node.username.empty() && !has_password && !asks) {
        out.error(where + "/username", "has no password; give one, or leave the user name out");
    }
    if (node.name.size() > max_node_name ||
        std::any_of(node.name.begin(), node.name.end(), is_control)) {
        out.error(where + "/name", "must be at most 255 bytes without control characters");
    }
}

// Another database of the same server is not another node: it fails with it.
std::string server_of(const node_options& node) {
    if (!node.unix_socket.empty()) return node.unix_socket;
    std::string host = node.host;
    std::transform(host.begin(), host.end(), host.begin(), lower);
    return host + ' ' + std::to_string(node.port);
}

void check_nodes(const std::vector<node_options>& nodes, findings& out) {
    if (nodes.empty()) out.error("/nodes", "is empty; name one node or more, better three");
    if (nodes.size() > max_nodes) {
        out.error("/nodes", "has more than " + std::to_string(max_nodes) + "; five are plenty");
        return;
    }
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::string where = "/nodes/" + std::to_string(i);
        check_node(nodes[i], where, out);
        const auto [first, fresh] = seen.emplace(server_of(nodes[i]), i);
        if (!fresh) {
            const bool has_two_marks = nodes[i].change != nodes[first->second].change;
            out.error(where, "is the same server as the earlier node " +
                                 text::printable(display_name(nodes[first->second])) +
                                 (has_two_marks ? ", with another mark; a node that stays has none"
                                                : "; one server has one vote, so name each once"));
        }
    }
}

// `list`: which of the two, where there are two.
void check_size(std::size_t nodes, const std::string& list, findings& out) {
    assert(nodes <= max_nodes);
    if (nodes == 1) {
        out.warning("/nodes", list + "when the one node fails, nothing can be locked; use three");
    } else if (nodes != 0 && nodes % 2 == 0) {
        out.warning("/nodes", list + std::to_string(nodes) + " nodes bear no more failures than " +
                                  std::to_string(nodes - 1) + "; add one or remove one");
    }
}

// Of a list that changes both lists have nodes, and each has a name of its own where one has.
void check_lists(const client_options& options, findings& out) {
    if (options.nodes.size() > max_nodes) return;
    const node_lists lists(options);
    if (!lists.is_joint()) {
        check_size(options.nodes.size(), "", out);
        if (!options.cluster_after.empty()) {
            out.error("/cluster_after", "is for a list that changes: mark nodes as joining or "
                                        "leaving, or leave it out");
        }
        return;
    }
    if (lists.old().empty()) {
        return out.error("/nodes", "are all joining: keep the nodes of the old list in it, those "
                                   "that go marked as leaving");
    }
    if (lists.after().empty()) {
        return out.error("/nodes", "are all leaving: keep those that stay, without a mark");
    }
    check_size(lists.old().size(), "in the old list ", out);
    check_size(lists.after().size(), "in the new list ", out);
    if ((lists.old() & lists.after()).empty()) {
        out.warning("/nodes", "have none in common in the old and in the new list: nothing is "
                              "locked until the new nodes are out of quarantine, ttl_max_ms after "
                              "the first program names them");
    }
    if (options.cluster.empty() != options.cluster_after.empty()) {
        out.error(options.cluster.empty() ? "/cluster" : "/cluster_after",
                  "is missing: where nodes are marked, either both lists have a name or none");
    } else if (!options.cluster.empty() && options.cluster == options.cluster_after) {
        out.error("/cluster_after", "is the name that the old list has: give the new one another");
    }
}

bool is_cluster_name(const std::string& name) {
    return name.size() <= max_cluster_bytes &&
           std::none_of(name.begin(), name.end(), is_control);
}

void check_times(const client_options& o, findings& out) {
    out.range("/node_timeout_ms", o.node_timeout, milliseconds(0), longest_node_timeout);
    out.range("/connect_timeout_ms", o.connect_timeout, milliseconds(1), longest_connect_timeout);
    bool good = out.range("/ttl_max_ms", o.ttl_max, milliseconds(1), longest_ttl);
    good = out.range("/drift_min_ms", o.drift_min, milliseconds(0), longest_ttl) && good;
    if (!(std::isfinite(o.drift_factor) && o.drift_factor >= 0 && o.drift_factor < 1)) {
        out.error("/drift_factor", "must be at least 0 and below 1; 0.01 is usual");
        good = false;
    }
    if (o.drift_factor == 0 && o.drift_min == milliseconds(0)) {
        out.error("/drift_factor", "is 0, and drift_min_ms too: no two clocks run that evenly; "
                                   "0.01 and 2 ms are usual");
    }
    if (!good) return;
    if (longest_validity(o, o.ttl_max) <= duration::zero()) {
        out.error("/ttl_max_ms", "the drift allowance (ttl x drift_factor + drift_min) leaves "
                                 "nothing of it; raise it, or lower the drift");
    }
}

// Clamps a duration, to which the caller may have given any value, so that nanoseconds can hold it.
duration countable(milliseconds given) {
    return std::clamp(given, milliseconds(0), longest_patience);
}

bool is_ttl(milliseconds ttl, const client_options& client) {
    return ttl >= milliseconds(0) && ttl <= client.ttl_max;
}

void check_ttl(const acquire_options& o, const client_options& client, findings& out) {
    if (!is_ttl(o.ttl, client)) {
        return out.error("/ttl_ms", "must be 1 to ttl_max_ms, which is " +
                                        std::to_string(client.ttl_max.count()) +
                                        ", or 0 for the usual one");
    }
    const auto validity = longest_validity(client, effective_ttl(client, o.ttl));
    if (validity.count() <= 0) {
        out.error("/ttl_ms", "is not longer than its own drift allowance; raise it");
    } else if (countable(o.loss_margin) >= validity) {
        out.error("/loss_margin_ms", "leaves nothing of the ttl; lower it");
    }
}

// A lease is reported lost a margin before its end: one that may be held for no longer than that
// would be lost at once.
void check_max_hold(const acquire_options& o, const client_options& client, findings& out) {
    duration margin = countable(o.loss_margin);
    if (is_ttl(o.ttl, client)) {
        margin = std::max(margin, least_loss_margin(effective_ttl(client, o.ttl)));
    }
    if (o.max_hold == milliseconds(0) || o.max_hold > margin) return;
    out.error("/max_hold_ms",
              "must be more than the " +
                  std::to_string(std::chrono::ceil<milliseconds>(margin).count()) +
                  " ms by which a loss is reported before the end; raise it, or lower "
                  "loss_margin_ms");
}

// Without renewal nothing keeps the lease of a program that hangs: it ends at its validity, and so
// do its keys.
void check_watchdog(const acquire_options& o, findings& out) {
    if (!out.range("/watchdog_ms", o.watchdog, milliseconds(0), longest_patience)) return;
    if (o.watchdog > milliseconds(0) && !o.renew) {
        out.error("/watchdog_ms", "is for leases that are renewed: set renew, or leave it out");
    }
}

void check_note(const acquire_options& o, findings& out) {
    if (auto why = validate_note(o.note); !why.empty()) out.error("/note", std::move(why));
}

// What only some kinds of lock have.
void check_kind(const acquire_options& o, const client_options& client, findings& out) {
    const bool is_shared = o.mode == lock_mode::shared;
    const auto longest = longest_min_hold(client);
    if (o.min_hold < milliseconds(0) || o.min_hold > longest) {
        out.error("/min_hold_ms",
                  "must be 0 to " +
                      std::to_string(std::max<milliseconds::rep>(longest.count(), 0)) +
                      ": ttl_max_ms, which is " + std::to_string(client.ttl_max.count()) +
                      ", less the drift allowance and the way to the nodes; it has to exceed how "
                      "far the starts of the programs lie apart, not the period");
    } else if (o.min_hold > milliseconds(0) && is_shared) {
        out.error("/min_hold_ms", "is for exclusive locks: readers keep nobody else out");
    }
    if (is_shared && !client.fencing) {
        out.error("/mode", "shared locks need fencing: without it there are exclusive ones only");
    }
    if (o.slots > max_slots) {
        out.error("/slots", "must be 0 to " + std::to_string(max_slots));
    } else if (o.slots > 0 && is_shared) {
        out.error("/slots", "can't be shared: as many may hold the resource as there are slots");
    } else if (o.slots > 0 && !client.fencing) {
        out.error("/slots", "need fencing: without it there are exclusive locks only");
    }
    const std::uint16_t most = std::clamp<std::uint16_t>(o.slots, 1, max_permits);
    if (o.permits < 1 || o.permits > most) {
        out.error("/permits", o.slots == 0 ? "are of slots: set these, too, or leave permits at 1"
                                           : "must be 1 to " + std::to_string(most));
    }
}

}  // namespace

std::vector<config_issue> validate(const client_options& options) {
    findings out;
    check_nodes(options.nodes, out);
    check_lists(options, out);
    check_times(options, out);
    if (options.key_prefix.size() > max_key_prefix) {
        out.error("/key_prefix", "is longer than 256 bytes");
    }
    if (options.key_prefix.find('\0') != std::string::npos) {
        out.error("/key_prefix", "can't contain a NUL byte");
    }
    if (options.client_name.size() > max_client_name ||
        !std::all_of(options.client_name.begin(), options.client_name.end(), is_printable_ascii) ||
        options.client_name.find('#') != std::string::npos) {
        out.error("/client_name", "must be at most 64 printable ASCII characters without #");
    }
    for (const auto& [where, name] : {std::pair("/cluster", &options.cluster),
                                      std::pair("/cluster_after", &options.cluster_after)}) {
        if (is_cluster_name(*name)) continue;
        out.error(where, "must be at most 255 bytes without control characters");
    }
    if (!options.fencing && options.guard == restart_guard::strict) {
        out.warning("/restart_guard", "has no effect on plain locks; set it to off, or fencing to "
                                      "true");
    }
    return out.take();
}

std::vector<config_issue> validate(const acquire_options& options, const client_options& client) {
    findings out;
    check_ttl(options, client, out);
    if (options.wait < milliseconds(0)) out.error("/wait_ms", "must be 0 or more");
    if (out.range("/max_hold_ms", options.max_hold, milliseconds(0), longest_patience)) {
        check_max_hold(options, client, out);
    }
    out.range("/loss_margin_ms", options.loss_margin, milliseconds(0), longest_patience);
    check_watchdog(options, out);
    check_note(options, out);
    check_kind(options, client, out);
    return out.take();
}

std::string validate_note(std::string_view note) {
    if (note.size() > max_note_bytes) {
        return "is longer than " + std::to_string(max_note_bytes) + " bytes";
    }
    for (std::size_t at = 0; at < note.size();) {
        const auto c = detail::first_character(note.substr(at));
        const std::string where = " at byte " + std::to_string(at + 1);
        if (c.length == 0) return "is no UTF-8" + where;
        if (!detail::is_shown(c.point)) {
            return "has a control character, or one that has no width or reverses the text," +
                   where;
        }
        at += c.length;
    }
    return {};
}

std::string validate_resource(const client_options& options, std::string_view resource) {
    if (resource.empty()) return "the resource has no name";
    if (resource.size() > max_resource_bytes) {
        return "the resource's name has " + std::to_string(resource.size()) + " bytes; " +
               std::to_string(max_resource_bytes) + " are allowed";
    }
    // The library keeps keys of its own beside the locks (and other clients may have another
    // prefix): a lock by such a name would overwrite them.
    const std::string_view prefix = options.key_prefix;
    const detail::key_role role = detail::role_of(prefix, resource);
    const std::string_view ending = detail::ending_of(role);
    if (role != detail::key_role::lock && detail::key_ends_with(prefix, resource, ending)) {
        return "a name of the form {...}" + std::string(ending.substr(1)) +
               " is reserved for the library's own keys";
    }
    // `redlock:probe` never exists; what doctor tries on it would change a lock by that name.
    if (detail::key_ends_with(prefix, resource, "redlock:node") ||
        detail::key_ends_with(prefix, resource, "redlock:probe") ||
        resource.starts_with("redlock:wake:")) {
        return "a name that ends with redlock:node or redlock:probe, or begins with redlock:wake:, "
               "is reserved for the library's own keys";
    }
    return {};
}

std::string validate_resources(const client_options& options, const resource_list& resources) {
    const auto& names = resources.names();
    if (names.empty()) return "no resource is named";
    if (names.size() > resource_list::most) {
        return std::to_string(names.size()) + " resources are named; " +
               std::to_string(resource_list::most) + " can be acquired at once";
    }
    std::set<std::string_view> seen;
    for (const std::string& one : names) {
        if (auto why = validate_resource(options, one); !why.empty()) return why;
        if (!seen.insert(one).second) {
            return "the resource \"" + text::printable(one) + "\" is named twice";
        }
    }
    return {};
}

milliseconds longest_min_hold(const client_options& client) {
    return longest_kept(client.ttl_max, {client.drift_factor, client.drift_min});
}

std::string default_client_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    std::string name(host.data());
    std::replace_if(
        name.begin(), name.end(),
        [](char c) { return c == ' ' || c == '#' || !is_printable_ascii(c); }, '_');
    const std::string pid = ":" + std::to_string(::getpid());
    assert(pid.size() < max_client_name);
    name.resize(std::min(name.size(), max_client_name - pid.size()));
    return name + pid;
}

std::string display_name(const node_options& node) {
    if (!node.name.empty()) return node.name;
    if (!node.unix_socket.empty()) return node.unix_socket;
    const bool bare_v6 = node.host.find(':') != std::string::npos && !node.host.starts_with('[');
    return (bare_v6 ? '[' + node.host + ']' : node.host) + ':' + std::to_string(node.port);
}

}  // namespace redlock
