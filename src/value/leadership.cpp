// Reads a leader out of the state of a resource.
// SPDX-License-Identifier: MIT
#include "value/leadership.hpp"

#include <redlock/detail/waiting_time.hpp>

#include <string>
#include <tuple>
#include <utility>

namespace redlock::detail {

namespace {

// An abbreviated owner value is "Abcdef...@name", and has "#" and a number behind the name if the
// caller gave the owner.
std::string name_in(const std::string& owner) {
    const auto at = owner.find('@');
    if (at == owner.npos) return {};
    return owner.substr(at + 1, owner.find('#', at) - at - 1);
}

}  // namespace

acquire_options candidacy(acquire_options options) {
    options.mode = lock_mode::exclusive;
    options.slots = 0;
    if (options.wait == std::chrono::milliseconds(0)) options.wait = longest_wait;
    return options;
}

result<std::optional<leader_info>> leader_of(const resource_state& shown) {
    if (!shown.held && !shown.decided) return error_code(errc::no_quorum);
    if (!shown.held || shown.owner.empty()) return std::optional<leader_info>();
    leader_info out;
    out.name = name_in(shown.owner);
    out.note = shown.note;
    out.fence = shown.fence;
    out.since = shown.held_for.value_or(out.since);
    return std::optional<leader_info>(std::move(out));
}

bool is_change(const std::optional<leader_info>& last, const std::optional<leader_info>& now) {
    if (!last || !now) return last.has_value() != now.has_value();
    return std::tie(last->name, last->note, last->fence) !=
           std::tie(now->name, now->note, now->fence);
}

}  // namespace redlock::detail
