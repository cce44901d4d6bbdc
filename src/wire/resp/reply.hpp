// Replies in RESP: parsed, kept and read; the only file that names hiredis.
// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace redlock::resp {

enum class reply_type : std::uint8_t { nil, integer, status, string, error, array };

class reply_arena;
class reply_builder;

/// Cheap to copy. Valid until the next call on the parser that gave it out. An accessor that does
/// not fit the type returns a neutral value (0, "", nil), so a hostile node cannot cause more
/// than a wrong answer; callers that care look at `type()`.
class reply {
public:
    reply() noexcept = default;  ///< nil
    reply(const reply_arena& arena, std::size_t index) noexcept : arena_(&arena), index_(index) {}

    reply_type type() const noexcept;
    std::int64_t integer() const noexcept;
    std::string_view text() const noexcept;  ///< Of a status, a string or an error.
    std::size_t size() const noexcept;       ///< The number of children of an array.

    /// A child of an array; nil when out of range.
    reply operator[](std::size_t child) const noexcept;

    /// True for an error whose first word is `code`, e.g. "NOSCRIPT".
    bool is_error(std::string_view code) const noexcept;

private:
    const reply_arena* arena_ = nullptr;  // null: nil
    std::size_t index_ = 0;               // of an element there
};

struct parser_limits {
    std::size_t max_reply_bytes = 1 << 20;  ///< Of one whole reply, as it is on the wire.
    std::size_t max_elements = 65536;       ///< Of one whole reply, those of nested arrays too.
};

/// One per connection. Allocates nothing once its buffers have grown to the replies they see.
class parser {
public:
    enum class outcome : std::uint8_t {
        need_more,  ///< All bytes are taken and no further reply is complete.
        complete,   ///< `out` is the next reply. More may follow: call again.
        broken,     ///< Protocol error or limit passed; stays so until `reset()`.
    };

    explicit parser(parser_limits limits = {});
    ~parser();
    parser(parser&&) noexcept;
    parser& operator=(parser&&) noexcept;

    /// Takes bytes from the front of `bytes` and advances it. It may take more than the reply it
    /// returns, so an empty `bytes` does not mean that nothing is left: call until `need_more`.
    /// `out` is valid until the next call of any member that is not const; it is nil unless the
    /// outcome is `complete`.
    outcome feed(std::string_view& bytes, reply& out);

    /// Why the parser is broken; empty when it is not.
    std::string_view error() const noexcept { return error_; }

    /// Forgets everything, for a new connection.
    void reset();
    /// From now on replies may be longer: `bytes` is `max_reply_bytes`, and no less than it was.
    void set_limit(std::size_t bytes);

private:
    struct reader_free {
        void operator()(redisReader* reader) const noexcept;
    };

    outcome parse();
    outcome break_off(std::string_view why);

    parser_limits limits_;
    std::unique_ptr<reply_builder> builder_;              // null once it was moved from
    std::unique_ptr<redisReader, reader_free> reader_{};  // null when broken
    std::string error_{};                                 // empty unless broken
    // Taken, of this reply and what follows it in the buffer; at most `max_reply_bytes`.
    std::size_t reply_bytes_ = 0;
    bool unparsed_ = false;         // hiredis has bytes it has not looked at
    bool between_replies_ = false;  // the arena holds a reply that was given out
};

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
        assert(index < elements_.size());
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

    const element& at(std::size_t index) const noexcept {
        assert(index < elements_.size());
        return elements_[index];
    }

    std::string_view text_of(const element& e) const noexcept {
        assert(e.begin + e.size <= text_.size());
        return std::string_view(text_).substr(e.begin, e.size);
    }

private:
    std::vector<element> elements_ = std::vector<element>(1);  // the root at least
    std::string text_;  // of all elements, one after the other
};

}  // namespace redlock::resp
