// Replies as text, and a second, plain RESP2 decoder to compare with; knows no parser's inside.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::resp::testing {

/// A reply as the decoder writes it.
inline std::string show(const reply& r) {
    switch (r.type()) {
    case reply_type::nil:
        return "nil";
    case reply_type::integer:
        return "int " + std::to_string(r.integer());
    case reply_type::status:
        return "status \"" + std::string(r.text()) + '"';
    case reply_type::string:
        return "string \"" + std::string(r.text()) + '"';
    case reply_type::error:
        return "error \"" + std::string(r.text()) + '"';
    case reply_type::array:
        break;
    }
    std::string all = "[";
    for (std::size_t child = 0; child < r.size(); ++child) {
        all += (child == 0 ? "" : ", ") + show(r[child]);
    }
    return all + ']';
}

enum class decoded { need_more, complete, broken };

/// Decodes the reply at the front of `bytes` to a text such as `[int 5, string "a", nil]`.
class reference_decoder {
public:
    reference_decoder(std::string_view bytes, std::size_t max_elements)
        : bytes_(bytes), elements_left_(max_elements) {}

    decoded run() { return item(); }
    const std::string& text() const { return text_; }
    std::size_t consumed() const { return position_; }

private:
    /// What is left is a whole line or nothing at all.
    bool line(std::string_view& out) {
        const std::size_t end = bytes_.find("\r\n", position_);
        if (end == std::string_view::npos) {
            return false;
        }
        out = bytes_.substr(position_, end - position_);
        position_ = end + 2;
        return true;
    }

    static bool number(std::string_view digits, std::int64_t& out) {
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), out);
        if (error != std::errc() || end != digits.data() + digits.size()) {
            return false;
        }
        return std::to_string(out) == digits;  // neither leading zeros nor -0
    }

    decoded item() {
        if (position_ == bytes_.size()) {
            return decoded::need_more;
        }
        const char kind = bytes_[position_++];
        if (std::string_view("+-:$*").find(kind) == std::string_view::npos) {
            return decoded::broken;
        }
        std::string_view rest;
        if (!line(rest)) {
            return decoded::need_more;
        }
        if (rest.find_first_of("\r\n") != rest.npos) {
            return decoded::broken;
        }
        if (kind == '+' || kind == '-') {
            text_ += (kind == '+' ? "status \"" : "error \"") + std::string(rest) + '"';
            return decoded::complete;
        }
        std::int64_t value = 0;
        if (!number(rest, value)) {
            return decoded::broken;
        }
        if (kind == ':') {
            text_ += "int " + std::string(rest);
            return decoded::complete;
        }
        if (value < -1) {
            return decoded::broken;
        }
        if (value == -1) {
            text_ += "nil";
            return decoded::complete;
        }
        const auto size = static_cast<std::size_t>(value);
        return kind == '$' ? bulk(size) : array(size);
    }

    decoded bulk(std::size_t size) {
        const std::size_t left = bytes_.size() - position_;
        if (left < 2 || left - 2 < size) {
            return decoded::need_more;
        }
        if (bytes_.substr(position_ + size, 2) != "\r\n") {
            return decoded::broken;
        }
        text_ += "string \"" + std::string(bytes_.substr(position_, size)) + '"';
        position_ += size + 2;
        return decoded::complete;
    }

    decoded array(std::size_t size) {
        if (depth_ == 7 || size > elements_left_) {
            return decoded::broken;
        }
        elements_left_ -= size;
        ++depth_;
        text_ += '[';
        for (std::size_t child = 0; child < size; ++child) {
            text_ += child == 0 ? "" : ", ";
            const decoded outcome = item();
            if (outcome != decoded::complete) {
                return outcome;
            }
        }
        --depth_;
        text_ += ']';
        return decoded::complete;
    }

    std::string_view bytes_;
    std::size_t elements_left_;
    std::size_t position_ = 0;
    int depth_ = 0;
    std::string text_;
};

}  // namespace redlock::resp::testing
