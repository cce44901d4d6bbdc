// What a Redis master answers, as bytes in RESP2.
// SPDX-License-Identifier: MIT
#include "testing/redis_model/model_reply.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace redlock::fakes {

namespace {

// A line break would end a status or an error early: Redis puts blanks in their place, too.
void append_line(std::string& out, char kind, const std::string& text) {
    out += kind;
    const auto begin = static_cast<std::ptrdiff_t>(out.size());
    out += text;
    std::replace_if(
        out.begin() + begin, out.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
    out += "\r\n";
}

void append_number(std::string& out, char kind, std::int64_t number) {
    char line[24];
    char* end = line;
    *end++ = kind;
    end = std::to_chars(end, end + 20, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(line, end);
}

}  // namespace

void append_resp2(std::string& out, const model_reply& r) {
    switch (r.type) {
        case model_reply::kind::nil: out += "$-1\r\n"; return;
        case model_reply::kind::integer: return append_number(out, ':', r.number);
        case model_reply::kind::status: return append_line(out, '+', r.text);
        case model_reply::kind::error: return append_line(out, '-', r.text);
        case model_reply::kind::bulk:
            append_number(out, '$', static_cast<std::int64_t>(r.text.size()));
            out += r.text;
            out += "\r\n";
            return;
        case model_reply::kind::array:
            append_number(out, '*', static_cast<std::int64_t>(r.items.size()));
            for (const model_reply& item : r.items) append_resp2(out, item);
    }
}

std::string to_resp2(const model_reply& r) {
    std::string out;
    append_resp2(out, r);
    return out;
}

}  // namespace redlock::fakes
