// What is known of a resource, a leader, a node or a list, and when that is a change.
// SPDX-License-Identifier: MIT
#include "value/state.hpp"

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

}  // namespace

bool has_changed_hands(const resource_state& last, const resource_state& now) {
    if (!last.decided) return true;
    return std::tie(last.held, last.kept, last.owner, last.note) !=
               std::tie(now.held, now.kept, now.owner, now.note) ||
           is_shared(last) != is_shared(now) || readers_of(last) != readers_of(now) ||
           !has_same_slots(last, now);
}

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
    switch (s) {
        case key_state::free: return "free";
        case key_state::held: return "held";
        case key_state::shared: return "shared";
        case key_state::quarantine: return "quarantine";
        case key_state::refused: return "refused";
        case key_state::timed_out: return "timed_out";
        case key_state::unreachable: return "unreachable";
        case key_state::kept: return "kept";
    }
    return "unknown";
}

std::string problem_of(const node_state& node) {
    std::string out = node.error ? node.error.message() : "";
    if (!node.detail.empty()) out += (out.empty() ? "" : ": ") + node.detail;
    return out;
}

std::string_view to_string(node_problem what) noexcept {
    switch (what) {
        case node_problem::unreachable: return "unreachable";
        case node_problem::auth_failed: return "auth_failed";
        case node_problem::missing_right: return "missing_right";
        case node_problem::not_master: return "not_master";
        case node_problem::duplicate_node: return "duplicate_node";
        case node_problem::clock_skew: return "clock_skew";
        case node_problem::other_set: return "other_set";
        case node_problem::in_quarantine: return "in_quarantine";
        case node_problem::slow: return "slow";
        case node_problem::other_ttl_max: return "other_ttl_max";
        case node_problem::evicts_locks: return "evicts_locks";
        case node_problem::forgets_at_restart: return "forgets_at_restart";
        case node_problem::memory_nearly_full: return "memory_nearly_full";
        case node_problem::has_replicas: return "has_replicas";
        case node_problem::no_hash_tag: return "no_hash_tag";
        case node_problem::no_vote: return "no_vote";
        case node_problem::refuses_writes: return "refuses_writes";
        case node_problem::save_failed: return "save_failed";
        case node_problem::list_changes: return "list_changes";
        case node_problem::clocks_went_back: return "clocks_went_back";
        case node_problem::hangs_on_all: return "hangs_on_all";
        case node_problem::durable_by_word: return "durable_by_word";
    }
    return "unknown";
}

std::string_view to_string(list_state what) noexcept {
    switch (what) {
        case list_state::unknown: return "unknown";
        case list_state::empty: return "empty";
        case list_state::member: return "member";
        case list_state::joining: return "joining";
        case list_state::closed: return "closed";
        case list_state::changed: return "changed";
        case list_state::behind: return "behind";
        case list_state::other: return "other";
    }
    return "unknown";
}

}  // namespace redlock
