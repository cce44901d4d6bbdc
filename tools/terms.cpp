// What a run asks of its lease, from command line and configuration.
// SPDX-License-Identifier: MIT
#include "tools/terms.hpp"

#include "tools/formats.hpp"

#include <redlock/detail/waiting_time.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace redlock::tool {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

// A loss is reported so long before the end at the least, so that it is noticed in time.
constexpr milliseconds longest_notice = 5ms;

// How long a lease of this ttl is valid at the most: what is left of it when clocks have drifted.
std::chrono::nanoseconds validity(milliseconds ttl, const client_options& client) {
    const std::chrono::nanoseconds whole = ttl;
    const double drift = std::ceil(static_cast<double>(whole.count()) * client.drift_factor);
    return whole - std::chrono::nanoseconds(static_cast<std::int64_t>(drift)) - client.drift_min;
}

// The longest margin that leaves a lease valid, and time for its renewals: the first is due when a
// third of the ttl is over. None where it is not positive.
milliseconds longest_margin(milliseconds ttl, const client_options& client) {
    return std::min(ttl / 2, std::chrono::ceil<milliseconds>(validity(ttl, client)) - 1ms);
}

// The shortest ttl whose `longest_margin` is not below this one.
milliseconds shortest_ttl(milliseconds margin, const client_options& client) {
    const auto least = static_cast<double>((margin + client.drift_min).count()) /
                       (1 - client.drift_factor);
    const auto most = static_cast<double>((2 * client.ttl_max).count());  // none that nodes take
    const milliseconds ttl(static_cast<std::int64_t>(std::min(least, most)));
    return std::max(2 * margin, longest_margin(ttl, client) < margin ? ttl + 1ms : ttl);
}

milliseconds default_margin(const acquire_options& o, const client_options& client) {
    auto margin = std::min<milliseconds>({o.ttl / 4, 2s, longest_margin(o.ttl, client)});
    if (o.max_hold > 0ms) margin = std::min(margin, o.max_hold / 4);
    return std::max(1ms, margin);
}

std::string above_longest(milliseconds given, milliseconds longest, bool is_renewed) {
    const std::string found = "--ttl " + format_duration(given) +
                              " is above the longest that the nodes take, " +
                              format_duration(longest) + ": ";
    if (is_renewed) {
        return found + "leave it out, or shorten it: the lease is renewed for as long as CMD runs, "
                       "and --max-hold bounds that";
    }
    return found + "shorten it, and prolong the lease by redlock extend";
}

// What it is compared with is nearly always the period, which may be a day.
std::string refuse_min_hold(milliseconds given, milliseconds longest) {
    const auto enough = std::min<milliseconds>(50s, longest < 1s ? longest
                                                   : std::chrono::floor<std::chrono::seconds>(
                                                         longest));
    return "--min-hold " + format_duration(given) + " is above the longest that the nodes take, " +
           format_duration(longest) +
           ": it has to exceed how far the starts of the machines lie apart (their clocks, cron's "
           "delay), not the period; --min-hold " + format_duration(enough) +
           " does for a job of each hour or day, where they lie apart by less";
}

std::string refuse_short_ttl(milliseconds ttl, milliseconds margin, const client_options& client) {
    const milliseconds least = shortest_ttl(margin, client);
    if (ttl >= least) return {};
    const std::string given = "--ttl " + format_duration(ttl) + " is too short";
    if (least <= client.ttl_max) {
        return given + ": at least " + format_duration(least) + " is needed";
    }
    return given + ", and so is the longest that the nodes take, " +
           format_duration(client.ttl_max) +
           ": raise \"ttl_max_ms\", or lower the margin or the drift";
}

// `o` has its margin. `is_given`: by --margin.
std::string refuse_times(const acquire_options& o, bool is_given, const client_options& client) {
    const milliseconds most = longest_margin(o.ttl, client);
    if (o.loss_margin <= most) return {};
    if (!is_given || most < 1ms) return refuse_short_ttl(o.ttl, o.loss_margin, client);
    return "--margin " + format_duration(o.loss_margin) + " leaves too little of --ttl " +
           format_duration(o.ttl) + ": at most " + format_duration(most) +
           ", about half of it; shorten it or lengthen --ttl";
}

// The lease is reported lost a margin before its end, and a loss takes some time to be noticed.
std::string refuse_hold(const acquire_options& o, milliseconds margin, bool is_given) {
    const milliseconds least = std::max(margin, longest_notice) + 1ms;
    if (o.max_hold == 0ms) return {};
    const std::string given = "--max-hold " + format_duration(o.max_hold);
    if (o.max_hold > detail::longest_wait) {
        return given + " is too long: at most " + format_duration(detail::longest_wait) +
               ", or 0s for no limit";
    }
    if (o.max_hold >= least) return {};
    if (!is_given) {
        return given + " is too short: at least " + format_duration(least) + " is needed";
    }
    return "--margin " + format_duration(margin) + " leaves nothing of " + given +
           ": it must be shorter, or --max-hold at least " + format_duration(least);
}

std::string refuse_kind(const lease_request& request, const client_options& client) {
    if (request.slots > 0 && request.shared) {
        return "--slots and --shared can't be had together: with --slots " +
               std::to_string(request.slots) + " as many run at once already; leave one out";
    }
    if (request.permits > std::max(request.slots, 1)) {
        return "--permits " + std::to_string(request.permits) + " is above " +
               (request.slots == 0 ? "1, and there are no slots: give --slots, too"
                                   : "--slots " + std::to_string(request.slots) +
                                         ": at most all of them can be held");
    }
    const char* const option = request.slots > 0 ? "--slots" : "--shared";
    if ((request.slots > 0 || request.shared) && !client.fencing) {
        return option + std::string(" needs fences: remove \"fencing\": false from every client's "
                                    "configuration");
    }
    const milliseconds kept = longest_min_hold(client);
    const milliseconds min_hold = request.min_hold.value_or(0ms);
    if (min_hold > 0ms && min_hold > kept) return refuse_min_hold(min_hold, kept);
    if (min_hold > 0ms && request.shared) {
        return "--min-hold is for exclusive locks, and --shared keeps nobody else out: leave one "
               "out";
    }
    return {};
}

}  // namespace

std::string settle(const lease_request& request, const configuration& from, acquire_options& out) {
    const client_options& client = from.client;
    out = from.defaults;
    out.ttl = request.ttl.value_or(out.ttl);
    out.wait = request.wait.value_or(out.wait);
    out.max_hold = request.max_hold.value_or(out.max_hold);
    out.min_hold = request.min_hold.value_or(out.min_hold);
    out.loss_margin = request.margin.value_or(out.loss_margin);
    out.renew = out.renew && !request.no_renew;
    out.slots = static_cast<std::uint16_t>(request.slots);
    out.permits = static_cast<std::uint16_t>(request.permits);
    if (auto why = refuse_kind(request, client); !why.empty()) return why;
    if (request.shared) out.mode = lock_mode::shared;
    if (const auto why = validate_note(request.note); !why.empty()) {
        return "--note " + why + ": it is one line of UTF-8, of " +
               std::to_string(max_note_bytes) + " bytes at most";
    }
    out.note = request.note;
    if (request.ttl == 0ms) return "--ttl must be longer than 0";
    if (request.margin == 0ms) return "--margin must be longer than 0";
    if (out.ttl == 0ms) out.ttl = redlock::default_ttl(client);
    if (out.ttl > client.ttl_max) return above_longest(out.ttl, client.ttl_max, out.renew);
    const bool is_given = request.margin.has_value();
    const milliseconds margin = out.loss_margin;  // or 0, of which the default makes something
    if (margin == 0ms) out.loss_margin = default_margin(out, client);
    if (auto why = refuse_times(out, is_given, client); !why.empty()) return why;
    return refuse_hold(out, margin, is_given);
}

std::string refuse_ttl(milliseconds ttl, const client_options& client) {
    if (ttl > client.ttl_max) return above_longest(ttl, client.ttl_max, false);
    return refuse_short_ttl(ttl, 0ms, client);
}

}  // namespace redlock::tool
