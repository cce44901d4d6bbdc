// What a run asks of its lease, from command line and configuration.
// SPDX-License-Identifier: MIT
#include "tools/terms.hpp"

#include "tools/duration.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::tool {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

milliseconds default_margin(const acquire_options& o) {
    const auto least = std::min<milliseconds>(o.ttl / 4, 2s);
    return std::max(1ms, o.max_hold > 0ms ? std::min(least, o.max_hold / 4) : least);
}

std::string too_long(const char* option, milliseconds given, milliseconds longest) {
    return option + (" " + format_duration(given)) + " is above the longest that the nodes take, " +
           format_duration(longest) +
           ": shorten it, or raise \"ttl_max_ms\" in every client's configuration";
}

}  // namespace

std::string settle(const lease_request& request, const configuration& from, acquire_options& out) {
    out = from.defaults;
    out.ttl = request.ttl.value_or(out.ttl);
    out.wait = request.wait.value_or(out.wait);
    out.max_hold = request.max_hold.value_or(out.max_hold);
    out.min_hold = request.min_hold.value_or(out.min_hold);
    out.renew = out.renew && !request.no_renew;
    out.slots = static_cast<std::uint16_t>(request.slots);
    if (request.slots > 0 && request.shared) {
        return "--slots and --shared can't be had together: with --slots " +
               std::to_string(request.slots) + " as many run at once already; leave one out";
    }
    if (request.slots > 0 && !from.client.fencing) {
        return "--slots needs fences: remove \"fencing\": false from every client's configuration";
    }
    if (request.shared) out.mode = lock_mode::shared;
    if (request.shared && !from.client.fencing) {
        return "--shared needs fences: remove \"fencing\": false from every client's configuration";
    }
    const milliseconds longest = from.client.ttl_max;
    if (request.ttl == 0ms) return "--ttl must be longer than 0";
    if (request.margin == 0ms) return "--margin must be longer than 0";
    if (out.ttl == 0ms) out.ttl = std::min<milliseconds>(10s, longest);
    if (out.ttl > longest) return too_long("--ttl", out.ttl, longest);
    const milliseconds kept = longest_min_hold(from.client);
    if (out.min_hold > kept) return too_long("--min-hold", out.min_hold, kept);
    if (request.margin) out.loss_margin = *request.margin;
    if (out.loss_margin == 0ms) out.loss_margin = default_margin(out);
    const std::string margin = "--margin " + format_duration(out.loss_margin);
    if (out.max_hold > 0ms && out.loss_margin >= out.max_hold) {
        return margin + " leaves nothing of --max-hold " + format_duration(out.max_hold) +
               ": it must be shorter";
    }
    // A lease is renewed when a third of its ttl is over, and needs time for some tries.
    if (out.loss_margin > out.ttl / 2 && !request.margin) {
        return "--ttl " + format_duration(out.ttl) + " is too short: at least " +
               format_duration(2 * out.loss_margin) + " are needed";
    }
    if (out.loss_margin > out.ttl / 2) {
        return margin + " is more than half of --ttl " + format_duration(out.ttl) +
               ": shorten it or lengthen --ttl";
    }
    return {};
}

}  // namespace redlock::tool
