// Events as JSON, one line each.
// SPDX-License-Identifier: MIT
#include <redlock/event.hpp>

#include "value/json_line.hpp"
#include "value/vote_json.hpp"

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

}  // namespace

std::string to_json(const event& e, std::chrono::system_clock::time_point at) {
    text::json_object out;
    out.add("time", utc(at));
    out.add("kind", to_string(e.kind));
    out.add("severity", to_string(e.severity));
    out.add_filled("resource", e.resource);
    out.add_filled("node", e.node);
    text::add_error(out, e.error);
    if (e.duration.count() != 0) out.add("duration_us", e.duration.count());
    out.add_filled("detail", e.detail);
    if (!e.votes.empty()) out.add_list("votes", e.votes, text::json_of_vote);
    return out.close();
}

}  // namespace redlock
