// Events as text, and the observer that writes them to standard error; knows no other sink.
// SPDX-License-Identifier: MIT
#include <redlock/event.hpp>

#include "value/text.hpp"

#include <unistd.h>

namespace redlock {

std::string_view to_string(event_kind kind) noexcept {
    static constexpr std::string_view names[] = {
        "node_up", "node_down", "granted", "refused", "renewed", "renewal_failed", "lost",
        "released", "release_owed", "node_reported", "clock_gap", "releases_given_up",
        "clocks_went_back", "loop_lag"};
    return text::name_in<event_kind::loop_lag>(names, kind);
}

std::string_view to_string(severity s) noexcept {
    static constexpr std::string_view names[] = {"debug", "info", "warning", "error"};
    return text::name_in<severity::error>(names, s);
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
