// The request by which a client that watches resources finds those that may have changed.
// SPDX-License-Identifier: MIT
#include "wire/look.hpp"

#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <cassert>
#include <charconv>
#include <system_error>
#include <vector>

namespace redlock::wire {

void write_look(std::string& out, resp::script_form form, std::span<const std::string_view> keys,
                std::string_view key_prefix, bool has_companions) {
    assert(!keys.empty() && keys.size() <= most_looked_at);
    const decimal count(keys.size());
    std::vector<std::string_view> words{verb(form), body(form, resp::look()), count};
    words.reserve(keys.size() + 5);
    words.insert(words.end(), keys.begin(), keys.end());
    words.push_back(key_prefix);
    words.push_back(has_companions ? "1" : "0");
    resp::append_command(out, words);
}

std::optional<std::uint64_t> read_look(const resp::reply& reply, std::size_t i,
                                       std::size_t count) {
    constexpr std::size_t digits = 16;
    const std::string_view all = reply.text();
    if (reply.type() != resp::reply_type::string || all.size() != digits * count) {
        return std::nullopt;
    }
    std::uint64_t digest = 0;
    const char* const first = all.data() + digits * i;
    const auto [end, error] = std::from_chars(first, first + digits, digest, 16);
    if (error != std::errc() || end != first + digits) return std::nullopt;
    return digest;
}

}  // namespace redlock::wire
