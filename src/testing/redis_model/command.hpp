// What the commands of a master have in common: words, traits, errors; knows none of them.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/redis_model/keyspace.hpp"
#include "testing/redis_model/model_reply.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::fakes {

using command = std::vector<std::string>;

namespace trait {
inline constexpr unsigned writes = 1;
inline constexpr unsigned needs_memory = 2;  ///< Refused where there is none left.
inline constexpr unsigned while_loading = 4;
inline constexpr unsigned not_in_scripts = 8;
inline constexpr unsigned before_auth = 16;
inline constexpr unsigned while_subscribed = 32;
}  // namespace trait

struct command_traits {
    int arity = 0;  ///< Words, its name among them; negative: at least as many.
    unsigned flags = 0;

    bool has(unsigned flag) const noexcept { return (flags & flag) != 0; }
    bool takes(std::size_t words) const noexcept {
        const int n = static_cast<int>(words);
        return arity < 0 ? n >= -arity : n == arity;
    }
};

struct data_command {
    command_traits traits{};
    model_reply (*run)(keyspace& in, const command& c, std::int64_t now_ms) = nullptr;
};

std::string in_upper_case(std::string_view text);

/// The error that an argument which is no such number meets.
model_reply not_an_integer();
model_reply syntax_error();
/// The error of a command on a key that holds another kind of value.
model_reply wrong_type();
/// False unless all of `text` is one.
bool read_integer(std::string_view text, std::int64_t& out);

}  // namespace redlock::fakes
