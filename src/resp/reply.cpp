// A view of one RESP2 reply; knows nothing of the bytes it came from or what it answers.
// SPDX-License-Identifier: MIT
#include "resp/reply.hpp"

#include "resp/reply_arena.hpp"

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
    const std::string_view all = text();
    return all.substr(0, all.find(' ')) == code;
}

}  // namespace redlock::resp
