// What a Redis master answers, as bytes in RESP2.
// SPDX-License-Identifier: MIT
#include "support/redis_model/model_reply.hpp"

#include <algorithm>

namespace redlock::fakes {

namespace {

// A line break would end a status or an error early: Redis puts blanks in their place, too.
std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
    return text + "\r\n";
}

}  // namespace

std::string to_resp2(const model_reply& r) {
    switch (r.type) {
        case model_reply::kind::nil: break;
        case model_reply::kind::integer: return ":" + std::to_string(r.number) + "\r\n";
        case model_reply::kind::status: return "+" + one_line(r.text);
        case model_reply::kind::error: return "-" + one_line(r.text);
        case model_reply::kind::bulk:
            return "$" + std::to_string(r.text.size()) + "\r\n" + r.text + "\r\n";
        case model_reply::kind::array: {
            std::string out = "*" + std::to_string(r.items.size()) + "\r\n";
            for (const model_reply& item : r.items) out += to_resp2(item);
            return out;
        }
    }
    return "$-1\r\n";
}

}  // namespace redlock::fakes
