// What the commands of a master have in common.
// SPDX-License-Identifier: MIT
#include "testing/redis_model/command.hpp"

#include <charconv>
#include <system_error>

namespace redlock::fakes {

std::string in_upper_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return out;
}

model_reply not_an_integer() {
    return model_reply::error("ERR value is not an integer or out of range");
}

model_reply syntax_error() { return model_reply::error("ERR syntax error"); }

model_reply wrong_type() {
    return model_reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
}

bool read_integer(std::string_view text, std::int64_t& out) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, out);
    return read.ec == std::errc() && read.ptr == end;
}

}  // namespace redlock::fakes
