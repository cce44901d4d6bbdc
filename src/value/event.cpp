// Events as text, and the observer that writes them to standard error; knows no other sink.
// SPDX-License-Identifier: MIT
#include <redlock/event.hpp>

#include "value/text.hpp"

#include <unistd.h>

namespace redlock {

std::string_view to_string(event_kind kind) noexcept {
    switch (kind) {
        case event_kind::node_up: return "node_up";
        case event_kind::node_down: return "node_down";
        case event_kind::granted: return "granted";
        case event_kind::refused: return "refused";
        case event_kind::renewed: return "renewed";
        case event_kind::renewal_failed: return "renewal_failed";
        case event_kind::lost: return "lost";
        case event_kind::released: return "released";
        case event_kind::release_owed: return "release_owed";
        case event_kind::node_reported: return "node_reported";
        case event_kind::clock_gap: return "clock_gap";
        case event_kind::releases_given_up: return "releases_given_up";
        case event_kind::clocks_went_back: return "clocks_went_back";
    }
    return "unknown";
}

std::string_view to_string(severity s) noexcept {
    switch (s) {
        case severity::debug: return "debug";
        case severity::info: return "info";
        case severity::warning: return "warning";
        case severity::error: return "error";
    }
    return "unknown";
}

std::string format(const event& e) {
    std::string out(to_string(e.severity));
    out += ' ';
    out += to_string(e.kind);
    if (!e.resource.empty()) out += " \"" + text::printable(e.resource) + '"';
    if (e.id != 0) out += " #" + std::to_string(e.id);
    if (!e.node.empty()) out += " at " + text::printable(e.node);
    if (e.error) out += ": " + text::printable(e.error.message());
    if (!e.detail.empty()) out += ": " + text::printable(e.detail);
    if (e.duration.count() > 0) out += " (" + text::brief(e.duration) + ")";
    for (const node_vote& v : e.votes) out += "; " + format(v);
    return out;
}

void write_to_stderr(const event& e, severity threshold) {
    if (e.severity < threshold) return;
    // One call for the whole line: lines of several threads and processes don't mix. Where nobody
    // reads standard error there is nobody to tell either.
    const std::string line = "redlock: " + format(e) + '\n';
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace redlock
