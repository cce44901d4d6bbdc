// What is asked of a node about one resource.
// SPDX-License-Identifier: MIT
#include "wire/inspect.hpp"

#include "wire/resp/command.hpp"
#include "wire/words.hpp"

namespace redlock::wire {

void write_get_front(std::string& out, std::string_view key) {
    resp::append_command(out, {"GETRANGE", key, "0", "127"});
}

void write_pttl(std::string& out, std::string_view key) {
    resp::append_command(out, {"PTTL", key});
}

void write_get_queue(std::string& out, std::string_view queue, std::size_t most) {
    const decimal last(most - 1);
    resp::append_command(out, {"ZRANGE", queue, "0", last});
}

}  // namespace redlock::wire
