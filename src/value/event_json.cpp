// Events as JSON, one line each.
// SPDX-License-Identifier: MIT
#include <redlock/event.hpp>

#include "value/json_line.hpp"
#include "value/text.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

namespace redlock {

namespace {

using std::chrono::milliseconds;

std::string utc(std::chrono::system_clock::time_point at) {
    const auto since = std::chrono::floor<milliseconds>(at.time_since_epoch());
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

void add_error(text::json_object& to, const error_code& error) {
    if (!error) return;
    text::json_object out;
    out.add("category", error.category().name());
    out.add("value", error.value());
    out.add("message", error.message());
    to.add_raw("error", out.close());
}

void add_filled(text::json_object& to, std::string_view name, std::string_view value) {
    if (!value.empty()) to.add(name, value);
}

std::string json_of(const node_vote& v) {
    text::json_object out;
    out.add("node", v.node.view());
    out.add("answer", to_string(v.answer));
    out.add("cause", text::cause(v));
    out.add("elapsed_us", v.elapsed.count());
    add_error(out, v.error);
    add_filled(out, "resource", v.resource);
    if (v.retry_in.count() != 0) out.add("retry_in_ms", v.retry_in.count());
    if (v.fence != 0) out.add("fence", static_cast<std::int64_t>(v.fence));
    return out.close();
}

}  // namespace

std::string to_json(const event& e, std::chrono::system_clock::time_point at) {
    text::json_object out;
    out.add("time", utc(at));
    out.add("kind", to_string(e.kind));
    out.add("severity", to_string(e.severity));
    add_filled(out, "resource", e.resource);
    add_filled(out, "node", e.node);
    add_error(out, e.error);
    if (e.duration.count() != 0) out.add("duration_us", e.duration.count());
    add_filled(out, "detail", e.detail);
    if (e.votes.empty()) return out.close();
    std::string votes;
    for (const node_vote& v : e.votes) votes += (votes.empty() ? "[" : ",") + json_of(v);
    out.add_raw("votes", votes + "]");
    return out.close();
}

}  // namespace redlock
