// A view of one RESP2 reply; knows nothing of the bytes it came from or what it answers.
// SPDX-License-Identifier: MIT
#include "wire/resp/reply.hpp"

#include "wire/resp/reply_arena.hpp"

#include <algorithm>

namespace redlock::resp {

reply_type reply::type() const noexcept {
    return arena_ ? arena_->at(index_).type : reply_type::nil;
}

std::int64_t reply::integer() const noexcept {
    return type() == reply_type::integer ? arena_->at(index_).integer : 0;
}

std::string_view reply::text() const noexcept {
    switch (type()) {
    case reply_type::status:
    case reply_type::string:
    case reply_type::error:
        return arena_->text_of(arena_->at(index_));
    case reply_type::nil:
    case reply_type::integer:
    case reply_type::array:
        break;
    }
    return {};
}

std::size_t reply::size() const noexcept {
    return type() == reply_type::array ? arena_->at(index_).size : 0;
}

reply reply::operator[](std::size_t child) const noexcept {
    return child < size() ? reply(*arena_, arena_->at(index_).begin + child) : reply();
}

bool reply::is_error(std::string_view code) const noexcept {
    if (type() != reply_type::error) {
        return false;
    }
    std::string_view rest = text();
    // Before 7.0 what a script was refused stands at the end of a sentence about the script.
    const bool is_wrapped = rest.starts_with("ERR Error running script");
    while (!rest.empty()) {
        std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        if (is_wrapped && word.starts_with('-')) word.remove_prefix(1);
        if (word == code) return true;
        if (!is_wrapped) return false;
    }
    return false;
}

}  // namespace redlock::resp
