// States, votes and events as lines of JSON, escaped for any reader.
// SPDX-License-Identifier: MIT
#include "value/json_line.hpp"

#include "value/metrics.hpp"
#include "value/text.hpp"

#include <redlock/detail/printable.hpp>
#include <redlock/event.hpp>
#include <redlock/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <utility>

namespace redlock::text {

constexpr std::uint32_t replacement = 0xfffd;

// What JSON escapes by one letter, and those letters.
constexpr std::string_view short_escapes = "\"\\\b\f\n\r\t";
constexpr std::string_view short_names = "\"\\bfnrt";

std::string json_text(std::string_view value) {
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

void json_object::add(std::string_view name, std::string_view value) {
    add_raw(name, json_text(value));
}

void json_object::add(std::string_view name, std::int64_t value) {
    add_raw(name, std::to_string(value));
}

void json_object::add_raw(std::string_view name, std::string_view value) {
    text_ += text_.empty() ? "{\"" : ",\"";
    text_.append(name).append("\":").append(value);
}

std::string json_object::close() { return text_.empty() ? "{}" : std::exchange(text_, {}) + '}'; }

void add_error(json_object& to, const error_code& error) {
    if (!error) return;
    json_object out;
    out.add("category", error.category().name());
    out.add("value", error.value());
    out.add("message", error.message());
    to.add_raw("error", out.close());
}

std::string json_of_vote(const node_vote& v) {
    json_object out;
    out.add("node", v.node.view());
    out.add("answer", to_string(v.answer));
    out.add("cause", cause(v));
    out.add("elapsed_us", v.elapsed.count());
    add_error(out, v.error);
    out.add_filled("resource", v.resource);
    if (v.retry_in.count() != 0) out.add("retry_in_ms", v.retry_in.count());
    if (v.fence != 0) out.add("fence", static_cast<std::int64_t>(v.fence));
    return out.close();
}

}  // namespace redlock::text

namespace redlock {

namespace {

using text::json_list;
using text::json_object;
using text::json_text;

std::int64_t signed_of(std::uint64_t value) { return static_cast<std::int64_t>(value); }

template <class Rep, class Period>
std::optional<std::int64_t> count_of(const std::optional<std::chrono::duration<Rep, Period>>& of) {
    return of ? std::optional<std::int64_t>(of->count()) : std::nullopt;
}

std::string json_of_node(const node_state& node) {
    json_object out;
    out.add("name", node.node.view());
    out.add("state", to_string(node.state));
    out.add("owner", node.owner);
    out.add("ttl_ms", node.ttl.count());
    out.add("error", problem_of(node));
    out.add_list("readers", node.readers, json_text);
    out.add_filled("note", node.note);
    return out.close();
}

std::string json_of_slot(const slot_state& slot) {
    json_object out;
    out.add("slot", slot.number);
    out.add("owner", slot.owner);
    out.add("fence", signed_of(slot.fence));
    out.add("valid_ms", slot.valid_for.count());
    out.add_flag("kept", slot.kept);
    out.add_filled("note", slot.note);
    return out.close();
}

std::string json_of_finding(const node_finding& f) {
    json_object out;
    out.add("severity", to_string(f.severity));
    out.add("problem", to_string(f.problem));
    out.add("text", f.text);
    return out.close();
}

std::string json_of_issue(const config_issue& issue) {
    json_object out;
    out.add("severity", issue.severity == config_issue::level::error ? "error" : "warning");
    out.add("where", issue.where);
    out.add("message", issue.message);
    return out.close();
}

std::string json_of_histogram(const histogram& h) {
    std::string buckets = "[";
    for (std::size_t i = 0; i < h.counts.size(); ++i) {
        const bool is_last = i == histogram::bounds.size();
        const std::string bound = is_last ? "null" : std::to_string(histogram::bounds[i].count());
        buckets += (i == 0 ? "[" : ",[") + bound + "," + std::to_string(h.counts[i]) + "]";
    }
    json_object out;
    out.add("count", signed_of(h.count()));
    out.add("sum_us", h.sum.count());
    out.add_raw("buckets", buckets + "]");
    return out.close();
}

std::string json_of_node_stats(const node_stats& node) {
    json_object out;
    out.add("name", node.name);
    out.add_raw("round_trip", json_of_histogram(node.round_trip));
    out.add("owed_releases", signed_of(node.owed_releases));
    out.add("connected", signed_of(node.connected));
    out.add("votes", signed_of(node.votes));
    return out.close();
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

std::string to_json(const resource_state& state) {
    json_object out;
    out.add("resource", state.resource);
    out.add_flag("held", state.held);
    out.add("owner", state.owner);
    out.add("fence", signed_of(state.fence));
    out.add("valid_ms", state.valid_for.count());
    out.add("since_ms", count_of(state.held_for));
    out.add("quorum", signed_of(state.quorum));
    if (state.quorum_after != 0) out.add("quorum_after", signed_of(state.quorum_after));
    out.add_list("nodes", state.nodes, json_of_node);
    out.add("slot_count", state.slot_count);
    out.add_list("slots", state.slots, json_of_slot);
    out.add("waiting", signed_of(state.waiting));
    out.add_list("readers", state.readers, json_text);
    if (!state.reader_notes.empty()) out.add_list("reader_notes", state.reader_notes, json_text);
    out.add_flag("kept", state.kept);
    out.add_flag("decided", state.decided);
    out.add_filled("note", state.note);
    return out.close();
}

std::string to_json(const list_standing& of) {
    json_object out;
    out.add("state", to_string(of.state));
    out.add("number", signed_of(of.number));
    out.add("settles_ms", of.settles_in.count());
    out.add_flag("announced", of.is_announced);
    return out.close();
}

std::string to_json(const node_report& r) {
    json_object out;
    out.add("name", r.name);
    out.add_flag("reachable", r.is_reachable);
    out.add_flag("votes", r.has_vote);
    out.add("version", r.version);
    out.add("role", r.role);
    if (r.has_log) {
        out.add_flag("appendonly", *r.has_log);
    } else {
        out.add_raw("appendonly", "null");
    }
    out.add("appendfsync", r.fsync);
    out.add("maxmemory_policy", r.eviction_policy);
    out.add("used_memory", signed_of(r.memory_used));
    out.add("maxmemory", signed_of(r.memory_limit));
    out.add("replicas", signed_of(r.replicas));
    out.add_flag("cluster_mode", r.is_cluster);
    out.add("clock_offset_us", count_of(r.clock_offset));
    out.add("round_trip_us", r.round_trip.count());
    out.add("node_timeout_ms", r.node_timeout.count());
    out.add("ttl_max_ms", r.ttl_max.count());
    out.add_raw("list", to_json(r.list));
    out.add_list("missing_rights", r.missing_rights, json_text);
    out.add_list("findings", r.findings, json_of_finding);
    return out.close();
}

std::string to_json(const std::vector<node_report>& reports) {
    return json_list(reports, [](const node_report& one) { return to_json(one); });
}

std::string to_json(const refusal& why) {
    json_object out;
    text::add_error(out, why.code);
    out.add("message", why.message());
    out.add_filled("detail", why.detail);
    out.add_list("votes", why.votes, text::json_of_vote);
    return out.close();
}

std::string to_json(const revocation& done) {
    json_object out;
    out.add_flag("held", !done.holders.empty());
    out.add_list("revoked", done.revoked, json_text);
    out.add_list("freed", done.freed, json_text);
    out.add_list("holders", done.holders, json_text);
    out.add_list("votes", done.votes, text::json_of_vote);
    return out.close();
}

std::string to_json(const config_error& why) {
    json_object out;
    text::add_error(out, why.code());
    out.add("message", why.message());
    out.add("source", why.source());
    out.add_list("issues", why.issues(), json_of_issue);
    return out.close();
}

std::string to_json(const client_stats& stats) {
    json_object out;
    const auto add_all = [&](const auto& list) {
        for (const auto& m : list) out.add(m.name, signed_of(stats.*m.member));
    };
    add_all(detail::outcome_counters);
    add_all(detail::gauges);
    add_all(detail::traffic_counters);
    for (const auto& m : detail::histograms) {
        out.add_raw(m.name, json_of_histogram(stats.*m.member));
    }
    out.add_list("nodes", stats.nodes, json_of_node_stats);
    return out.close();
}

std::string to_json(const std::vector<std::string>& texts) { return json_list(texts, json_text); }

std::string to_json(const event& e, std::chrono::system_clock::time_point at) {
    text::json_object out;
    out.add("time", utc(at));
    out.add("kind", to_string(e.kind));
    out.add("severity", to_string(e.severity));
    out.add_filled("resource", e.resource);
    out.add_filled("node", e.node);
    text::add_error(out, e.error);
    if (e.duration.count() != 0) out.add("duration_us", e.duration.count());
    if (e.id != 0) out.add_raw("id", std::to_string(e.id));
    if (e.parent != 0) out.add_raw("parent", std::to_string(e.parent));
    out.add_filled("detail", e.detail);
    if (!e.votes.empty()) out.add_list("votes", e.votes, text::json_of_vote);
    return out.close();
}

}  // namespace redlock
