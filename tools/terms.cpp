// What a run asks of its lease, from command line and configuration.
// SPDX-License-Identifier: MIT
#include "tools/terms.hpp"

#include "tools/formats.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace redlock::tool {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

milliseconds default_margin(const acquire_options& o) {
    const auto least = std::min<milliseconds>(o.ttl / 4, 2s);
    return std::max(1ms, o.max_hold > 0ms ? std::min(least, o.max_hold / 4) : least);
}

std::string above_longest(const char* option, milliseconds given, milliseconds longest) {
    return option + (" " + format_duration(given)) + " is above the longest that the nodes take, " +
           format_duration(longest) +
           ": shorten it, or raise \"ttl_max_ms\" in every client's configuration";
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

// The first number of milliseconds above `low` with which `is_so` is true, where it stays true;
// `high` where there is none before.
template <class F>
milliseconds first_above(milliseconds low, milliseconds high, F is_so) {
    while (high - low > 1ms) {
        const milliseconds middle = low + (high - low) / 2;
        (is_so(middle) ? high : low) = middle;
    }
    return high;
}

acquire_options with_margin(acquire_options o) {
    if (o.loss_margin == 0ms) o.loss_margin = default_margin(o);
    return o;
}

// Whether the lease is valid for longer than its margin, and has time for its renewals: the first
// is due when a third of the ttl is over.
bool has_time(const acquire_options& o, const client_options& client) {
    const acquire_options lease = with_margin(o);
    return lease.loss_margin <= lease.ttl / 2 &&
           validate({.ttl = lease.ttl, .loss_margin = lease.loss_margin}, client).empty();
}

std::string too_short(milliseconds ttl, milliseconds longest,
                      const std::function<bool(milliseconds)>& fits) {
    const std::string given = "--ttl " + format_duration(ttl) + " is too short";
    const milliseconds least = first_above(0ms, longest, fits);
    if (fits(least)) return given + ": at least " + format_duration(least) + " is needed";
    return given + ", and so is the longest that the nodes take, " + format_duration(longest) +
           ": raise \"ttl_max_ms\", or lower the margin or the drift";
}

// In both `o` has the margin that was asked for, or none.
std::string refuse_times(const acquire_options& o, bool has_margin, const client_options& client) {
    if (has_time(o, client)) return {};
    const auto with_ttl = [&](milliseconds ttl) {
        acquire_options other = o;
        other.ttl = ttl;
        return has_time(other, client);
    };
    const auto leaves_nothing = [&](milliseconds margin) {
        acquire_options other = o;
        other.loss_margin = margin;
        return !has_time(other, client);
    };
    if (!has_margin || leaves_nothing(1ms)) return too_short(o.ttl, client.ttl_max, with_ttl);
    const milliseconds most = first_above(1ms, o.loss_margin, leaves_nothing) - 1ms;
    return "--margin " + format_duration(o.loss_margin) + " leaves too little of --ttl " +
           format_duration(o.ttl) + ": at most " + format_duration(most) +
           ", about half of it; shorten it or lengthen --ttl";
}

std::string refuse_hold(const acquire_options& o, bool has_margin, const client_options& client) {
    constexpr milliseconds fits_always = 24h;
    const auto is_good = [&](milliseconds max_hold) {
        acquire_options other = o;
        other.max_hold = max_hold;
        return validate(with_margin(other), client).empty();
    };
    if (o.max_hold == 0ms || is_good(o.max_hold)) return {};
    const std::string given = "--max-hold " + format_duration(o.max_hold);
    if (o.max_hold > fits_always) {
        const auto most =
            first_above(fits_always, o.max_hold, [&](milliseconds h) { return !is_good(h); }) - 1ms;
        return given + " is too long: at most " + format_duration(most) + ", or 0s for no limit";
    }
    const std::string least = format_duration(first_above(0ms, fits_always, is_good));
    if (!has_margin) return given + " is too short: at least " + least + " is needed";
    return "--margin " + format_duration(o.loss_margin) + " leaves nothing of " + given +
           ": it must be shorter, or --max-hold at least " + least;
}

std::string refuse_kind(const lease_request& request, const client_options& client) {
    if (request.slots > 0 && request.shared) {
        return "--slots and --shared can't be had together: with --slots " +
               std::to_string(request.slots) + " as many run at once already; leave one out";
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
    if (out.ttl > client.ttl_max) return above_longest("--ttl", out.ttl, client.ttl_max);
    const bool has_margin = request.margin.has_value();
    auto why = refuse_times(out, has_margin, client);
    if (why.empty()) why = refuse_hold(out, has_margin, client);
    out = with_margin(out);
    return why;
}

std::string refuse_ttl(milliseconds ttl, const client_options& client) {
    if (ttl > client.ttl_max) return above_longest("--ttl", ttl, client.ttl_max);
    const auto fits = [&](milliseconds other) {
        return other > 0ms && validate({.ttl = other}, client).empty();
    };
    return fits(ttl) ? "" : too_short(ttl, client.ttl_max, fits);
}

}  // namespace redlock::tool
