// Stores one reply flat in reusable buffers; knows nothing of hiredis or of bytes on the wire.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply_type.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::resp {

/// The root is element 0. The children of an array stand side by side, so each is found by index.
class reply_arena {
public:
    struct element {
        reply_type type = reply_type::nil;
        std::int64_t integer = 0;
        std::size_t begin = 0;  ///< Of its text, or of its children.
        std::size_t size = 0;   ///< Bytes of text, or children.
    };

    /// Keeps the capacity, so that the next reply allocates nothing. Leaves a nil root.
    void clear() {
        elements_.assign(1, element{});
        text_.clear();
    }

    void set_integer(std::size_t index, std::int64_t value) {
        elements_[index].type = reply_type::integer;
        elements_[index].integer = value;
    }

    void set_text(std::size_t index, reply_type type, std::string_view text) {
        assert(index < elements_.size());
        const std::size_t begin = text_.size();
        text_.append(text);
        elements_[index] = {type, 0, begin, text.size()};
    }

    /// The children are nil until they are set.
    void set_array(std::size_t index, std::size_t size) {
        assert(index < elements_.size());
        const std::size_t begin = elements_.size();
        elements_.resize(begin + size);
        elements_[index] = {reply_type::array, 0, begin, size};
    }

    /// All elements but the root.
    std::size_t children() const noexcept { return elements_.size() - 1; }

    const element& at(std::size_t index) const noexcept { return elements_[index]; }

    std::string_view text_of(const element& e) const noexcept {
        return std::string_view(text_).substr(e.begin, e.size);
    }

private:
    std::vector<element> elements_ = std::vector<element>(1);
    std::string text_;
};

}  // namespace redlock::resp
