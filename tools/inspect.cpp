// `redlock inspect`: reads the state of a resource from every node, and prints it.
// SPDX-License-Identifier: MIT
#include "tools/inspect.hpp"

#include "tools/asking.hpp"
#include "tools/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>
#include <redlock/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace {

std::string left(const node_state& node) {
    if (node.owner.empty() && node.state != key_state::shared) return "-";
    return node.ttl.count() < 0 ? "no expiry" : seconds_text(node.ttl);
}

// Behind the name of a holder; it has as many bytes as the nodes keep of a note.
std::string with_note(const std::string& note) {
    return note.empty() ? "" : " (\"" + shown(note) + "\")";
}

// The first of them; the others are counted.
std::string some_of(const std::vector<std::string>& names,
                    const std::vector<std::string>& notes = {}) {
    constexpr std::size_t most = 3;
    std::string out;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
        out += (i == 0 ? "" : ", ") + shown(names[i]);
        if (i < notes.size()) out += with_note(notes[i]);
    }
    if (names.size() > most) out += " and " + std::to_string(names.size() - most) + " more";
    return out;
}

std::string owners(const node_state& node) {
    if (!node.readers.empty()) return some_of(node.readers);
    return node.owner.empty() ? "-" : shown(node.owner);
}

std::string left(const slot_state& slot) {
    return slot.valid_for.count() < 0 ? "no expiry" : seconds_text(slot.valid_for);
}

// On so many nodes that the others are no quorum.
bool is_other_data(const resource_state& state) {
    const auto foreign = std::count_if(state.nodes.begin(), state.nodes.end(), [](const auto& n) {
        return has_other_data(n.error, n.detail);
    });
    return static_cast<std::size_t>(foreign) > state.nodes.size() - state.quorum;
}

int show(const resource_state& state, bool json) {
    if (!print(json ? as_json(state) + "\n" : to_table(state))) return own_failure;
    if (state.decided) return success;
    complain(silence_of(state));
    return no_quorum;
}

}  // namespace

std::string silence_of(const resource_state& state) {
    const auto counts = std::to_string(state.quorum) + " of " + std::to_string(state.nodes.size());
    std::string line = state.quorum_after == 0
                           ? "fewer than " + counts + " nodes answered:"
                           : "too few nodes of the old list, or of the new one, answered:";
    std::size_t forbidden = 0;
    std::size_t limited = 0;  // by the program's own descriptors
    for (const auto& node : state.nodes) {
        if (node.error) line += " " + node.node.str() + ": " + problem_of(node) + ";";
        if (lacks_right(node.error, node.detail)) ++forbidden;
        if (!remedy_of_limit(node.error).empty()) ++limited;
    }
    const std::size_t spare = state.nodes.size() - state.quorum;
    return line + " " +
           (is_other_data(state) ? used_for_something_else
            : forbidden > spare  ? "this user may not look: " + std::string(remedy_of_rights)
            : limited > spare    ? "the nodes may be well"
                                 : "fix these nodes or their entries in the configuration");
}

std::string why_in_vain(const resource_state& state) {
    if (!state.decided) return is_other_data(state) ? silence_of(state) : "";
    if (!state.held || state.valid_for.count() >= 0) return {};
    return "'" + shown(state.resource) + "' is " + holders(state) + ": " +
           remedy_of_no_expiry(state.resource);
}

std::optional<slot_name> as_slot(const std::string& name) {
    const auto mark = name.rfind('#');
    if (mark == name.npos || mark == 0) return std::nullopt;
    slot_name out{name.substr(0, mark)};
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + mark + 1, end, out.number);
    // As the keys of slots are written: "r#07" is a lock of its own.
    const bool is_number = read.ec == std::errc() && read.ptr == end && out.number < max_slots &&
                           name.compare(mark + 1, name.npos, std::to_string(out.number)) == 0;
    return is_number ? std::optional(std::move(out)) : std::nullopt;
}

const slot_state* find_slot(const resource_state& of, std::uint16_t number) {
    const auto at = std::find_if(of.slots.begin(), of.slots.end(),
                                 [&](const slot_state& s) { return s.number == number; });
    return at == of.slots.end() ? nullptr : &*at;
}

std::string holders(const resource_state& state) {
    if (!state.readers.empty()) return "shared by " + some_of(state.readers, state.reader_notes);
    const bool is_shared = std::any_of(state.nodes.begin(), state.nodes.end(), [](const auto& n) {
        return n.state == key_state::shared;
    });
    return state.owner.empty() && is_shared ? "shared by readers"
                                            : "held by " + (state.owner.empty()
                                                                ? std::string("an empty value")
                                                                : shown(state.owner)) +
                                                  with_note(state.note);
}

std::string kept_until(const resource_state& state) {
    const auto end = std::chrono::system_clock::now() + state.valid_for;
    return (state.valid_for.count() < 0 ? "kept without expiry" : "kept until " + utc_text(end)) +
           ", released by " + shown(state.owner);
}

std::string time_left(const resource_state& state) {
    if (state.valid_for.count() < 0) return ", without expiry";
    return state.valid_for.count() == 0 ? "" : ", for " + seconds_text(state.valid_for) + " more";
}

std::string slots_held(const resource_state& state) {
    if (state.slots.empty() && state.slot_count == 0) return {};
    const auto kept = std::count_if(state.slots.begin(), state.slots.end(),
                                    [](const slot_state& s) { return s.kept; });
    const auto held = static_cast<std::ptrdiff_t>(state.slots.size()) - kept;
    std::string out = std::to_string(held);
    if (state.slot_count != 0) out += " of " + std::to_string(state.slot_count);
    out += held == 1 && state.slot_count == 0 ? " slot is held" : " slots are held";
    return out + (kept == 0 ? "" : ", " + std::to_string(kept) + " kept");
}

void add_note(json_value& to, const std::string& note) {
    if (!note.empty()) to["note"] = redacted(note);
}

void add_slots(json_value& to, const lease& held) {
    if (held.slots().empty()) return;
    to["slot"] = held.slot();
    if (held.slots().size() > 1) to["slots"] = held.slots();
}

std::string as_json(resource_state state) {
    state.resource = redacted(state.resource);
    state.note = redacted(state.note);
    for (node_state& node : state.nodes) node.note = redacted(node.note);
    for (slot_state& slot : state.slots) slot.note = redacted(slot.note);
    return to_json(state);
}

void add_company(json_value& to, const resource_state& state) {
    const json_value all = json_value::parse(as_json(state));
    for (const char* const name :
         {"slot_count", "slots", "waiting", "readers", "reader_notes", "note"}) {
        if (all.contains(name)) to[name] = all[name];
    }
}

std::string to_table(const resource_state& state) {
    std::string out = "'" + shown(state.resource) + "' is ";
    if (!state.decided) {
        out += "unknown: too few nodes answered";
    } else if (state.held) {
        out += holders(state);
        out += time_left(state);
        if (state.held_for) out += ", since " + seconds_text(*state.held_for);
        if (state.fence != 0) out += ", fence " + std::to_string(state.fence);
    } else if (state.kept) {
        out += kept_until(state);
    } else {
        out += "not held";
    }
    if (const auto slots = slots_held(state); !slots.empty()) out += ", " + slots;
    if (state.waiting != 0) out += ", " + std::to_string(state.waiting) + " waiting";
    const std::string quorum = std::to_string(state.quorum);
    out += state.quorum_after == 0
               ? " (quorum " + quorum + " of " + std::to_string(state.nodes.size()) + ")\n\n"
               : " (quorum " + quorum + " of the old list, and " +
                     std::to_string(state.quorum_after) + " of the new one)\n\n";

    std::vector<std::array<std::string, 5>> rows{{"NODE", "STATE", "OWNER", "TTL", "ERROR"}};
    for (const auto& node : state.nodes) {
        rows.push_back({shown(node.node), std::string(to_string(node.state)),
                        owners(node), left(node),
                        shown(problem_of(node))});
    }
    add_rows(out, rows);
    if (state.slots.empty()) return out;
    out += "\n";
    std::vector<std::array<std::string, 4>> slots{{"SLOT", "OWNER", "TTL", "FENCE"}};
    for (const auto& slot : state.slots) {
        slots.push_back({std::to_string(slot.number),
                         shown(slot.owner) + (slot.kept ? " (kept, released)" : "") +
                             with_note(slot.note),
                         left(slot),
                         std::to_string(slot.fence)});
    }
    add_rows(out, slots);
    return out;
}

int inspect(const inspect_request& request) {
    const auto found = find_nodes(request.nodes, {request.resource});
    return work(found.client, [&](client& on, const std::function<void(int)>& over) {
        on.async_inspect(request.resource, [&, over](error_code ec, const resource_state& state) {
            if (ec) complain("'" + request.resource + "': " + ec.message());
            over(ec ? own_failure : show(state, request.json));
        });
    });
}

}  // namespace redlock::tool
