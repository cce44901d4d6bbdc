// The queries about one resource on a node; takes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

/// What a key holds, 128 bytes of it at most: foreign values have no limit. Empty where there is
/// none.
void write_get_front(std::string& out, std::string_view key);
void write_pttl(std::string& out, std::string_view key);
/// Of a note that is kept under that key, as much as one of this library has.
void write_get_note(std::string& out, std::string_view note_key);
/// Its text, where it is of the lease with that value; else empty. At most `max_note_bytes` of it,
/// and what a note can't contain escaped.
std::string read_note_of(std::string_view value, const resp::reply& reply);
/// The first entries of a queue, one element each: "client:number:until", see shared/queue.lua.
void write_get_queue(std::string& out, std::string_view queue, std::size_t most);

/// The readers that hold a key longest, one element each, and until when: see shared/readers.lua.
void write_get_readers(std::string& out, std::string_view readers, std::size_t most);
/// The values of those that are alive at `now_ms` of the node's clock; of all where that is not
/// known.
std::vector<std::string> read_readers(const resp::reply& reply,
                                      std::optional<std::int64_t> now_ms);

/// Which slots are taken, and which numbers of slots programs name, two elements each: see
/// shared/slots.lua.
void write_get_slots(std::string& out, std::string_view slots);
struct slots_answer {
    std::vector<std::uint16_t> taken{};
    std::uint16_t count = 0;  ///< The smallest number that is named; 0: none is.
};
/// Of those that are alive at `now_ms` of the node's clock; of all where that is not known.
slots_answer read_slots(const resp::reply& reply, std::optional<std::int64_t> now_ms);

struct queue_answer {
    std::size_t waiting = 0;           ///< How many entries are alive.
    std::optional<std::size_t> place;  ///< The client's first among them, from 1.
};
/// `now_ms`: of the node's clock. Where that is not known all entries count as alive.
queue_answer read_queue(const resp::reply& reply, std::string_view client_id,
                        std::optional<std::int64_t> now_ms);

}  // namespace redlock::wire
