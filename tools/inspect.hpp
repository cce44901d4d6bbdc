// How the state of a resource is shown, by inspect and by all that name its holders.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/formats.hpp"

#include <redlock/lease.hpp>
#include <redlock/resource_state.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace redlock::tool {

/// What a slot's key looks like on the nodes: "R#3" is slot 3 of R, unless a resource has that
/// name.
struct slot_name {
    std::string resource;
    std::uint16_t number = 0;
};
/// Nothing where the name can't be a slot's.
std::optional<slot_name> as_slot(const std::string& name);
/// The slot of the resource, where it is held.
const slot_state* find_slot(const resource_state& of, std::uint16_t number);

/// Its holder, if any: "held by ...", or "shared by ..." and some of the readers; with their
/// notes.
std::string holders(const resource_state& state);
/// If it is kept: "kept until ..., released by ..."; the time by this machine's clock.
std::string kept_until(const resource_state& state);
/// If it is held: ", for ... more".
std::string time_left(const resource_state& state);
/// "2 of 3 slots are held"; empty where no program names slots and none is held.
std::string slots_held(const resource_state& state);
/// Of the members of `as_json` those about slots, readers and waiters, and the note.
void add_company(json_value& to, const resource_state& state);
/// The note, where there is one: a member of an object.
void add_note(json_value& to, const std::string& note);
/// Which slots the lease has, if it has some: "slot", and of several "slots".
void add_slots(json_value& to, const lease& held);
/// See `to_json(const resource_state&)`; without passwords that stand in names.
std::string as_json(resource_state state);
/// A table for people to read.
std::string to_table(const resource_state& state);
/// Which nodes did not answer, where fewer than a quorum did.
std::string silence_of(const resource_state& state);
/// Why no wait for it can help, and the remedy; empty where one may.
std::string why_in_vain(const resource_state& state);

}  // namespace redlock::tool
