// Whether a resource has changed hands between two states of it.
// SPDX-License-Identifier: MIT
#include "value/holder_change.hpp"

#include <algorithm>
#include <cstddef>
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

}  // namespace redlock::detail
