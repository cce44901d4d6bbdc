// A JSON tree as options: names, types and ranges; knows no JSON text.
// SPDX-License-Identifier: MIT
#include "config/reader.hpp"

#include "value/file.hpp"
#include "value/text.hpp"

#include <redlock/detail/nearest.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <span>

namespace redlock::config {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_duration = std::chrono::hours(24 * 365);

constexpr std::string_view top_names[] = {
    "$schema",      "nodes",       "key_prefix",  "node_timeout_ms", "connect_timeout_ms",
    "ttl_max_ms",   "drift_factor", "drift_min_ms", "client_name",    "cluster",
    "cluster_after", "fencing",     "restart_guard", "defaults"};
constexpr std::string_view node_names[] = {
    "name",     "host",         "port",          "unix_socket", "username",
    "password", "password_env", "password_file", "password_command",
    "database", "tls",          "durable",       "change"};
constexpr std::string_view tls_names[] = {"ca_file", "cert_file", "key_file", "server_name",
                                          "verify"};
constexpr std::string_view default_names[] = {"ttl_ms", "wait_ms", "renew", "max_hold_ms",
                                              "loss_margin_ms"};
constexpr std::string_view guard_names[] = {"automatic", "strict", "off"};

// The member of "defaults" that stands in the wrong place, with or without its unit.
std::string default_meant(const std::string& name) {
    for (const std::string_view known : default_names) {
        if (name == known || name + "_ms" == known) return std::string(known);
    }
    return {};
}

// One JSON object, read member by member. A member of a wrong type is reported and left alone.
class object_reader {
public:
    object_reader(const json& value, std::string where, std::span<const std::string_view> known,
                  report& out)
        : value_(&value), where_(std::move(where)), out_(&out) {
        if (value.kind != json_kind::object) {
            out.error(where_, "must be an object");
            return;
        }
        for (const auto& [name, member] : value.members) {
            if (std::find(known.begin(), known.end(), name) == known.end()) {
                const auto meant = where_.empty() ? default_meant(name) : "";
                out.error(step(where_, name),
                          meant.empty() ? detail::unknown_name(name, known)
                                        : "is not known here: write \"defaults\": {\"" + meant +
                                              "\": ...}");
            }
        }
    }

    const json* find(std::string_view name) const { return value_->find(name); }
    bool has(std::string_view name) const { return find(name) != nullptr; }
    std::string place(std::string_view name) const { return step(where_, name); }
    void error(std::string_view name, std::string message) {
        out_->error(place(name), std::move(message));
    }

    void read(std::string_view name, std::string& target) {
        if (const json* v = typed(name, json_kind::string, "a string")) target = v->text;
    }
    void read(std::string_view name, bool& target) {
        if (const json* v = typed(name, json_kind::boolean, "true or false")) target = v->truth;
    }
    void read(std::string_view name, double& target) {
        if (const json* v = typed(name, json_kind::number, "a number")) target = v->number;
    }
    void read(std::string_view name, milliseconds& target) {
        const double high = static_cast<double>(longest_duration.count());
        if (const auto v = whole(name, high, " (milliseconds)")) target = milliseconds(*v);
    }
    void read(std::string_view name, std::uint16_t& target) {
        if (const auto v = whole(name, 65535, "")) target = static_cast<std::uint16_t>(*v);
    }

    // What must be there and say something: an empty text would mean another default silently.
    std::string read_filled(std::string_view name) {
        std::string text;
        read(name, text);
        const json* v = find(name);
        if (v != nullptr && v->kind == json_kind::string && text.empty()) {
            error(name, "is empty; fill it in, or leave it out");
        }
        return text;
    }

private:
    const json* typed(std::string_view name, json_kind kind, const char* what) {
        const json* v = find(name);
        if (v == nullptr || v->kind == kind) return v;
        error(name, std::string("must be ") + what);
        return nullptr;
    }

    std::optional<std::int64_t> whole(std::string_view name, double high, const char* unit) {
        const json* v = find(name);
        if (v == nullptr) return std::nullopt;
        const bool good = v->kind == json_kind::number && v->number >= 0 && v->number <= high &&
                          std::trunc(v->number) == v->number;
        if (good) return static_cast<std::int64_t>(v->number);
        error(name, "must be a whole number from 0 to " +
                        std::to_string(static_cast<std::int64_t>(high)) + unit);
        return std::nullopt;
    }

    const json* value_;
    std::string where_;
    report* out_;
};

class document_reader {
public:
    document_reader(const std::filesystem::path& base, report& out) : base_(base), out_(&out) {}

    configuration read(const json& document) {
        object_reader top(document, "", top_names, *out_);
        if (document.kind != json_kind::object) return {};
        std::string schema;  // for editors only
        top.read("$schema", schema);
        read_nodes(top);
        client_options& c = result_.client;
        top.read("key_prefix", c.key_prefix);
        top.read("node_timeout_ms", c.node_timeout);
        top.read("connect_timeout_ms", c.connect_timeout);
        top.read("ttl_max_ms", c.ttl_max);
        top.read("drift_factor", c.drift_factor);
        top.read("drift_min_ms", c.drift_min);
        top.read("client_name", c.client_name);
        top.read("cluster", c.cluster);
        top.read("cluster_after", c.cluster_after);
        top.read("fencing", c.fencing);
        read_guard(top);
        for (config_issue& issue : validate(c)) adopt(std::move(issue));
        if (const json* defaults = top.find("defaults")) read_defaults(*defaults);
        return std::move(result_);
    }

private:
    void read_nodes(object_reader& top) {
        const json* nodes = top.find("nodes");
        if (nodes == nullptr || nodes->kind != json_kind::array) {
            top.error("nodes", nodes == nullptr ? "is missing; list the nodes here"
                                                : "must be a list of nodes");
            return;
        }
        for (std::size_t i = 0; i < nodes->items.size(); ++i) {
            const json& item = nodes->items[i];
            const std::string where = step("/nodes", i);
            // What is half understood must not look like another node's address.
            node_options node;
            node.host = "unknown-" + std::to_string(i);
            if (item.kind == json_kind::string) {
                read_uri(item.text, where, node);
            } else if (item.kind == json_kind::object) {
                read_node(item, where, node);
            } else {
                out_->error(where, "must be a URI or an object");
                opaque_.insert(where);
            }
            result_.client.nodes.push_back(std::move(node));
        }
    }

    void read_uri(std::string_view uri, const std::string& where, node_options& node) {
        opaque_.insert(where);  // it has no members to point at
        auto parsed = parse_node_uri(uri);
        if (!parsed) return out_->error(where, parsed.error().message());
        node = std::move(*parsed);
    }

    void read_node(const json& item, const std::string& where, node_options& node) {
        object_reader in(item, where, node_names, *out_);
        node_options read;
        read.name = in.read_filled("name");
        if (in.has("host")) read.host = in.read_filled("host");
        in.read("port", read.port);
        read.unix_socket = in.read_filled("unix_socket");
        if (!read.unix_socket.empty()) read.unix_socket = lasting(base_ / read.unix_socket);
        if (in.has("unix_socket")) {
            for (const char* other : {"host", "port"}) {
                if (in.has(other)) in.error(other, "and unix_socket exclude each other; keep one");
            }
        }
        read.username = in.read_filled("username");
        in.read("database", read.database);
        read_password(in, read);
        if (in.has("durable")) in.read("durable", read.durable.emplace());
        read_change(in, read);
        if (const json* tls = in.find("tls")) read_tls(*tls, in.place("tls"), read);
        for (const char* part : {"host", "port", "unix_socket"}) {
            if (out_->failed_at(in.place(part))) {
                read.host = node.host;
                read.port = 1;
                read.unix_socket.clear();
            }
        }
        node = std::move(read);
    }

    static void read_change(object_reader& in, node_options& node) {
        std::string word;
        in.read("change", word);
        if (word == "joining") node.change = list_change::joining;
        else if (word == "leaving") node.change = list_change::leaving;
        else if (!word.empty())
            in.error("change", "must be \"joining\" or \"leaving\"; a node that stays has none");
    }

    void read_password(object_reader& in, node_options& node) {
        const char* source = nullptr;
        for (const char* name : {"password", "password_env", "password_file", "password_command"}) {
            if (!in.has(name)) continue;
            if (source != nullptr) {
                in.error(name, std::string("and ") + source + " exclude each other; keep one");
            }
            if (source == nullptr) source = name;
        }
        if (source == nullptr) return;
        node.password = in.read_filled("password");
        if (const auto name = in.read_filled("password_env"); !name.empty()) {
            node.password = from_environment(in, name);
        }
        if (const auto name = in.read_filled("password_file"); !name.empty()) {
            read_password_file(in, name, node);
        }
        if (const json* v = in.find("password_command")) read_command(in, *v, node);
        const bool has_one = !node.password.empty() || !node.password_command.empty();
        if (!has_one) node.password = "?";  // reported: no second complaint of it
    }

    // A program that is named by its path stands beside the configuration.
    void read_command(object_reader& in, const json& value, node_options& node) {
        std::vector<std::string> words;
        for (const json& item : value.items) {
            if (item.kind == json_kind::string) words.push_back(item.text);
        }
        if (value.kind != json_kind::array || words.size() != value.items.size() ||
            words.empty() || words[0].empty()) {
            return in.error("password_command",
                            "must be a list of texts: [\"PROGRAM\", \"ARGUMENT\"...]");
        }
        if (words[0].find('/') != words[0].npos) words[0] = lasting(base_ / words[0]);
        if (node.password.empty()) node.password_command = std::move(words);
    }

    static std::string from_environment(object_reader& in, const std::string& name) {
        const char* value = std::getenv(name.c_str());
        if (value != nullptr && *value != '\0') return value;
        in.error("password_env", "names the environment variable " + text::printable(name) +
                                     ", which is " + (value == nullptr ? "not set" : "empty"));
        return {};
    }

    // Read now, which shows whether it can be; the client reads it again at each connection.
    void read_password_file(object_reader& in, const std::string& name, node_options& node) {
        const auto path = base_ / name;
        detail::file_secret found = detail::read_secret(path);
        if (!found.why.empty()) {
            in.error("password_file", "names the file " + text::printable(path.native()) +
                                          ", which " + found.why);
        }
        node.password = std::move(found.text);
        if (detail::can_be_read_again(path)) node.password_file = lasting(path);
    }

    // The same file when the program has another working directory.
    static std::string lasting(const std::filesystem::path& path) {
        std::error_code ignored;
        const auto whole = std::filesystem::absolute(path, ignored);
        return ignored ? path.string() : whole.string();
    }

    // Of a file that can be read; empty where none is named.
    std::string read_path(object_reader& in, std::string_view member) {
        const std::string name = in.read_filled(member);
        if (name.empty()) return {};
        const auto path = base_ / name;
        const auto content = detail::read_file(path, 0);
        if (!content) {
            in.error(member, "names the file " + text::printable(path.native()) +
                                 ", which can't be read: " + content.error().message());
        }
        return lasting(path);
    }

    void read_tls(const json& value, const std::string& where, node_options& node) {
        object_reader in(value, where, tls_names, *out_);
        tls_options& tls = node.tls.emplace();
        tls.ca_file = read_path(in, "ca_file");
        tls.cert_file = read_path(in, "cert_file");
        tls.key_file = read_path(in, "key_file");
        tls.server_name = in.read_filled("server_name");
        in.read("verify", tls.verify);
    }

    void read_guard(object_reader& top) {
        const json* guard = top.find("restart_guard");
        if (guard == nullptr) return;
        const auto hit = std::find(std::begin(guard_names), std::end(guard_names), guard->text);
        if (guard->kind != json_kind::string || hit == std::end(guard_names)) {
            const auto meant = detail::nearest(guard->text, guard_names);
            top.error("restart_guard",
                      "must be \"automatic\", \"strict\" or \"off\"" +
                          (meant.empty() ? std::string()
                                         : "; did you mean \"" + std::string(meant) + "\"?"));
            return;
        }
        constexpr restart_guard values[] = {restart_guard::automatic, restart_guard::strict,
                                            restart_guard::off};
        result_.client.guard = values[hit - std::begin(guard_names)];
    }

    void read_defaults(const json& value) {
        object_reader in(value, "/defaults", default_names, *out_);
        acquire_options& d = result_.defaults;
        in.read("ttl_ms", d.ttl);
        in.read("wait_ms", d.wait);
        in.read("renew", d.renew);
        in.read("max_hold_ms", d.max_hold);
        in.read("loss_margin_ms", d.loss_margin);
        const client_options& c = result_.client;
        for (const char* bound : {"/ttl_max_ms", "/drift_factor", "/drift_min_ms"}) {
            if (out_->failed_at(bound)) return;  // nothing to measure by
        }
        for (config_issue& issue : validate(d, c)) {
            issue.where.insert(0, "/defaults");
            if (!out_->failed_at(issue.where)) out_->add(std::move(issue));
        }
    }

    // `validate()` points at members; a node that is no object has none.
    void adopt(config_issue issue) {
        for (const std::string& where : opaque_) {
            if (issue.where.starts_with(where + '/')) {
                const std::string member = issue.where.substr(where.size() + 1);
                if (!out_->failed_at(where)) issue.message = member + ": " + issue.message;
                issue.where = where;
                break;
            }
        }
        out_->add(std::move(issue));
    }

    const std::filesystem::path& base_;
    report* out_;
    configuration result_;
    std::set<std::string> opaque_;  // nodes of which no member can be pointed at
};

}  // namespace

configuration read_document(const json& document, const std::filesystem::path& base, report& out) {
    return document_reader(base, out).read(document);
}

}  // namespace redlock::config
