// States, votes and events as lines of JSON, escaped for any reader.
// SPDX-License-Identifier: MIT
#include "value/metrics.hpp"
#include "value/text.hpp"

#include <redlock/detail/printable.hpp>
#include <redlock/event.hpp>
#include <redlock/json.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace redlock {

static std::string to_json(const error_code& error);

namespace {

constexpr std::uint32_t replacement = 0xfffd;

// What JSON escapes by one letter, and those letters.
constexpr std::string_view short_escapes = "\"\\\b\f\n\r\t";
constexpr std::string_view short_names = "\"\\bfnrt";

// What is no valid UTF-8 becomes U+FFFD, byte by byte; characters that `detail::is_shown` rejects
// are escaped.
std::string in_quotes(std::string_view value) {
    std::string to = "\"";
    while (!value.empty()) {
        const auto c = detail::first_character(value);
        const std::uint32_t point = c.length == 0 ? replacement : c.point;
        const std::size_t length = c.length == 0 ? 1 : c.length;
        const auto at = point < 0x80 ? short_escapes.find(static_cast<char>(point)) : value.npos;
        if (at != value.npos) {
            to.append(1, '\\') += short_names[at];
        } else if (c.length != 0 && detail::is_shown(point)) {
            to += value.substr(0, length);
        } else {
            detail::append_escaped(to, point);
        }
        value.remove_prefix(length);
    }
    return to += '"';
}

// An optional value that is not there is null.
template <class T>
std::string json_of(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
        return in_quotes(value);
    } else if constexpr (requires { value.has_value(); }) {
        return value ? json_of(*value) : "null";
    } else if constexpr (requires { typename T::period; }) {
        return std::to_string(value.count());
    } else if constexpr (requires { value.begin(); }) {
        std::string out = "[";
        for (const auto& one : value) out.append(out.size() == 1 ? "" : ",").append(json_of(one));
        return out + "]";
    } else {
        return to_json(value);
    }
}

// The names are the library's own, each once, of letters and underscores.
struct member {
    template <class T>
    member(std::string_view called, const T& value) : name(called), json(json_of(value)) {}
    explicit member(std::string_view left_out) : name(left_out) {}

    std::string_view name;
    std::string json{};  // empty: it is left out
};

// Left out where the value says nothing.
template <class T>
member if_any(std::string_view name, const T& value) {
    const bool is_any = [&] {
        if constexpr (requires { value.empty(); }) return !value.empty();
        else if constexpr (requires { value.failed(); }) return value.failed();
        else return value != T{};
    }();
    return is_any ? member(name, value) : member(name);
}

std::string object(const std::vector<member>& members) {
    std::string out;
    for (const member& m : members) {
        if (m.json.empty()) continue;
        out.append(out.empty() ? "{\"" : ",\"").append(m.name).append("\":").append(m.json);
    }
    return out.empty() ? "{}" : out + '}';
}

std::string utc(std::chrono::system_clock::time_point at) {
    const auto since = std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch());
    const auto whole = std::chrono::floor<std::chrono::seconds>(since);
    const auto seconds = static_cast<std::time_t>(whole.count());
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char day[40];
    const std::size_t length = std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    char rest[8];
    std::snprintf(rest, sizeof rest, ".%03dZ", static_cast<int>((since - whole).count()));
    return std::string(day, length) + rest;
}

}  // namespace

static std::string to_json(const error_code& error) {
    return object({{"category", error.category().name()},
                   {"value", error.value()},
                   {"message", error.message()}});
}

static std::string to_json(const node_vote& v) {
    return object({{"node", v.node.view()},
                   {"answer", to_string(v.answer)},
                   {"cause", text::cause(v)},
                   {"elapsed_us", v.elapsed},
                   if_any("error", v.error),
                   if_any("resource", v.resource),
                   if_any("retry_in_ms", v.retry_in),
                   if_any("fence", v.fence)});
}

static std::string to_json(const node_state& node) {
    return object({{"name", node.node.view()},
                   {"state", to_string(node.state)},
                   {"owner", node.owner},
                   {"ttl_ms", node.ttl},
                   {"error", problem_of(node)},
                   {"readers", node.readers},
                   if_any("note", node.note)});
}

static std::string to_json(const slot_state& slot) {
    return object({{"slot", slot.number},
                   {"owner", slot.owner},
                   {"fence", slot.fence},
                   {"valid_ms", slot.valid_for},
                   {"kept", slot.kept},
                   if_any("note", slot.note)});
}

static std::string to_json(const node_finding& f) {
    return object(
        {{"severity", to_string(f.severity)}, {"problem", to_string(f.problem)}, {"text", f.text}});
}

static std::string to_json(const config_issue& issue) {
    const bool is_error = issue.severity == config_issue::level::error;
    return object({{"severity", is_error ? "error" : "warning"},
                   {"where", issue.where},
                   {"message", issue.message}});
}

static std::string to_json(const histogram& h) {
    std::vector<std::array<std::optional<std::int64_t>, 2>> buckets;  // the last has no bound
    for (std::size_t i = 0; i < h.counts.size(); ++i) {
        auto& [bound, count] = buckets.emplace_back();
        if (i < h.bounds.size()) bound = h.bounds[i].count();
        count = static_cast<std::int64_t>(h.counts[i]);
    }
    return object({{"count", h.count()}, {"sum_us", h.sum}, {"buckets", buckets}});
}

static std::string to_json(const node_stats& node) {
    return object({{"name", node.name},
                   {"round_trip", node.round_trip},
                   {"owed_releases", node.owed_releases},
                   {"connected", node.connected},
                   {"votes", node.votes}});
}

std::string to_json(const resource_state& state) {
    return object({{"resource", state.resource},
                   {"held", state.held},
                   {"owner", state.owner},
                   {"fence", state.fence},
                   {"valid_ms", state.valid_for},
                   {"since_ms", state.held_for},
                   {"quorum", state.quorum},
                   if_any("quorum_after", state.quorum_after),
                   {"nodes", state.nodes},
                   {"slot_count", state.slot_count},
                   {"slots", state.slots},
                   {"waiting", state.waiting},
                   {"readers", state.readers},
                   if_any("reader_notes", state.reader_notes),
                   {"kept", state.kept},
                   {"decided", state.decided},
                   if_any("note", state.note)});
}

std::string to_json(const list_standing& of) {
    return object({{"state", to_string(of.state)},
                   {"number", of.number},
                   {"settles_ms", of.settles_in},
                   {"announced", of.is_announced}});
}

std::string to_json(const node_report& r) {
    return object({{"name", r.name},
                   {"reachable", r.is_reachable},
                   {"votes", r.has_vote},
                   {"version", r.version},
                   {"role", r.role},
                   {"appendonly", r.has_log},
                   {"appendfsync", r.fsync},
                   {"maxmemory_policy", r.eviction_policy},
                   {"used_memory", r.memory_used},
                   {"maxmemory", r.memory_limit},
                   {"replicas", r.replicas},
                   {"cluster_mode", r.is_cluster},
                   {"clock_offset_us", r.clock_offset},
                   {"round_trip_us", r.round_trip},
                   {"node_timeout_ms", r.node_timeout},
                   {"ttl_max_ms", r.ttl_max},
                   {"list", r.list},
                   {"missing_rights", r.missing_rights},
                   {"findings", r.findings}});
}

std::string to_json(const std::vector<node_report>& reports) { return json_of(reports); }

std::string to_json(const refusal& why) {
    return object({if_any("error", why.code),
                   {"message", why.message()},
                   if_any("detail", why.detail),
                   {"votes", why.votes}});
}

std::string to_json(const revocation& done) {
    return object({{"held", !done.holders.empty()},
                   {"revoked", done.revoked},
                   {"freed", done.freed},
                   {"holders", done.holders},
                   {"votes", done.votes}});
}

std::string to_json(const config_error& why) {
    return object({if_any("error", why.code()),
                   {"message", why.message()},
                   {"source", why.source()},
                   {"issues", why.issues()}});
}

std::string to_json(const client_stats& stats) {
    std::vector<member> all;
    const auto add_all = [&](const auto& list) {
        for (const auto& m : list) all.emplace_back(m.name, stats.*m.member);
    };
    add_all(detail::outcome_counters);
    add_all(detail::gauges);
    add_all(detail::traffic_counters);
    add_all(detail::histograms);
    all.emplace_back("nodes", stats.nodes);
    return object(all);
}

std::string to_json(const std::vector<std::string>& texts) { return json_of(texts); }

std::string to_json(const event& e, std::chrono::system_clock::time_point at) {
    return object({{"time", utc(at)},
                   {"kind", to_string(e.kind)},
                   {"severity", to_string(e.severity)},
                   if_any("resource", e.resource),
                   if_any("node", e.node),
                   if_any("error", e.error),
                   if_any("duration_us", e.duration),
                   if_any("id", e.id),
                   if_any("parent", e.parent),
                   if_any("detail", e.detail),
                   if_any("votes", e.votes)});
}

}  // namespace redlock
