// What is asked of a node about one resource; takes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::wire {

/// What a key holds, 128 bytes of it at most: foreign values have no limit. Empty where there is
/// none.
void write_get_front(std::string& out, std::string_view key);
void write_pttl(std::string& out, std::string_view key);
/// The first entries of a queue, one element each: "client:number:until", see shared/queue.lua.
void write_get_queue(std::string& out, std::string_view queue, std::size_t most);

}  // namespace redlock::wire
