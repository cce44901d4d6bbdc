// What is known of a resource, a leader, a node or a list, and when that is a change.
// SPDX-License-Identifier: MIT
#include "value/state.hpp"

#include "value/text.hpp"

#include <redlock/detail/waiting_time.hpp>
#include <redlock/list_state.hpp>
#include <redlock/node_report.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace redlock::detail {

namespace {

bool is_shared(const resource_state& state) {
    const auto is_one = [](const node_state& n) { return n.state == key_state::shared; };
    const bool is_on_a_node = std::any_of(state.nodes.begin(), state.nodes.end(), is_one);
    return state.held && state.owner.empty() && is_on_a_node;
}

std::vector<std::pair<std::string_view, std::string_view>> readers_of(const resource_state& state) {
    std::vector<std::pair<std::string_view, std::string_view>> all;
    all.reserve(state.readers.size());
    for (std::size_t i = 0; i < state.readers.size(); ++i) {
        const bool has_note = i < state.reader_notes.size();
        all.emplace_back(state.readers[i], has_note ? state.reader_notes[i] : std::string_view{});
    }
    // Those that hold it longest stand first, and that is another order after each extension.
    std::sort(all.begin(), all.end());
    return all;
}

bool has_same_slots(const resource_state& a, const resource_state& b) {
    return std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(),
                      [](const slot_state& x, const slot_state& y) {
                          return std::tie(x.number, x.owner, x.kept, x.note) ==
                                 std::tie(y.number, y.owner, y.kept, y.note);
                      });
}

// An abbreviated owner value is "Abcdef...@name", and has "#" and a number behind the name if the
// caller gave the owner.
std::string name_in(const std::string& owner) {
    const auto at = owner.find('@');
    if (at == owner.npos) return {};
    return owner.substr(at + 1, owner.find('#', at) - at - 1);
}

}  // namespace

bool has_changed_hands(const resource_state& last, const resource_state& now) {
    if (!last.decided) return true;
    return std::tie(last.held, last.kept, last.owner, last.note) !=
               std::tie(now.held, now.kept, now.owner, now.note) ||
           is_shared(last) != is_shared(now) || readers_of(last) != readers_of(now) ||
           !has_same_slots(last, now);
}

acquire_options candidacy(acquire_options options) {
    options.mode = lock_mode::exclusive;
    options.slots = 0;
    options.permits = 1;
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

namespace redlock {

std::string_view to_string(key_state s) noexcept {
    static constexpr std::string_view names[] = {
        "free", "held", "shared", "quarantine", "refused", "timed_out", "unreachable", "kept"};
    return text::name_in<key_state::kept>(names, s);
}

std::string problem_of(const node_state& node) {
    std::string out = node.error ? node.error.message() : "";
    if (!node.detail.empty()) out += (out.empty() ? "" : ": ") + node.detail;
    return out;
}

std::string_view to_string(node_problem what) noexcept {
    static constexpr std::string_view names[] = {
        "unreachable", "auth_failed", "missing_right", "not_master", "duplicate_node",
        "clock_skew", "other_set", "in_quarantine", "slow", "other_ttl_max", "evicts_locks",
        "forgets_at_restart", "memory_nearly_full", "has_replicas", "no_hash_tag", "no_vote",
        "refuses_writes", "save_failed", "list_changes", "clocks_went_back", "hangs_on_all",
        "durable_by_word"};
    return text::name_in<node_problem::durable_by_word>(names, what);
}

std::string_view to_string(list_state what) noexcept {
    static constexpr std::string_view names[] = {"unknown", "empty",   "member", "joining",
                                                 "closed",  "changed", "behind", "other"};
    return text::name_in<list_state::other>(names, what);
}

}  // namespace redlock
