// Replies in RESP.
// SPDX-License-Identifier: MIT
#include "wire/resp/reply.hpp"

#include <hiredis/read.h>

#include <algorithm>
#include <exception>
#include <new>

namespace redlock::resp {

reply_type reply::type() const noexcept {
    return arena_ ? arena_->at(index_).type : reply_type::nil;
}

std::int64_t reply::integer() const noexcept {
    return type() == reply_type::integer ? arena_->at(index_).integer : 0;
}

std::string_view reply::text() const noexcept {
    const auto is = type();
    const bool has_text = is == reply_type::status || is == reply_type::string ||
                          is == reply_type::error;
    return has_text ? arena_->text_of(arena_->at(index_)) : std::string_view();
}

std::size_t reply::size() const noexcept {
    return type() == reply_type::array ? arena_->at(index_).size : 0;
}

reply reply::operator[](std::size_t child) const noexcept {
    return child < size() ? reply(*arena_, arena_->at(index_).begin + child) : reply();
}

bool reply::is_error(std::string_view code) const noexcept {
    if (type() != reply_type::error) return false;
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

namespace {

// hiredis moves what is left of its buffer to the front again and again while it parses; a small
// slice keeps that cheap, however much the socket delivered at once.
constexpr std::size_t slice_bytes = 16 * 1024;

// Of arrays in arrays. One less than hiredis 0.14 can do; later versions can do more.
constexpr std::size_t max_nesting = 7;

}  // namespace

/// What the callbacks of hiredis build into. Objects are handed to hiredis as index + 1, because a
/// null pointer means failure to it. Nothing may throw through C.
class reply_builder {
public:
    explicit reply_builder(std::size_t max_elements) : max_elements_(max_elements) {}

    void clear() {
        arena_.clear();
        refusal_ = {};
    }
    const reply_arena& arena() const noexcept { return arena_; }
    std::string_view refusal() const noexcept { return refusal_; }

    void* text(const redisReadTask& task, std::string_view text) noexcept {
        reply_type type = reply_type::string;
        switch (task.type) {
        case REDIS_REPLY_STATUS: type = reply_type::status; break;
        case REDIS_REPLY_ERROR: type = reply_type::error; break;
        case REDIS_REPLY_STRING:
            // hiredis 0.14 skips the two bytes after the string unseen, though it has them. A
            // stream that is out of step must not be taken for answers.
            if (std::string_view(text.data() + text.size(), 2) != "\r\n") {
                return refuse("string is not followed by CRLF");
            }
            break;
        default: return refuse("not a RESP2 type");
        }
        // hiredis 0.14 takes a lone CR or LF in a line, hiredis 1 refuses it.
        if (type != reply_type::string && text.find_first_of("\r\n") != text.npos) {
            return refuse("line contains CR or LF");
        }
        return store(task, [&](std::size_t index) { arena_.set_text(index, type, text); });
    }

    void* integer(const redisReadTask& task, long long value) noexcept {
        return store(task, [&](std::size_t index) { arena_.set_integer(index, value); });
    }

    void* array(const redisReadTask& task, std::size_t size) noexcept {
        if (task.type != REDIS_REPLY_ARRAY) return refuse("not a RESP2 type");
        if (levels_above(task) >= max_nesting) return refuse("arrays are nested too deeply");
        assert(arena_.children() <= max_elements_);
        if (size > max_elements_ - arena_.children()) return refuse("reply has too many elements");
        return store(task, [&](std::size_t index) { arena_.set_array(index, size); });
    }

    void* nil(const redisReadTask& task) noexcept {
        if (task.type != REDIS_REPLY_STRING && task.type != REDIS_REPLY_ARRAY) {
            return refuse("not a RESP2 type");
        }
        return store(task, [](std::size_t) {});  // elements are nil from the start
    }

    void* refuse(std::string_view why) noexcept {
        refusal_ = why;
        return nullptr;
    }

private:
    static std::size_t levels_above(const redisReadTask& task) noexcept {
        std::size_t levels = 0;
        for (const redisReadTask* above = task.parent; above; above = above->parent) ++levels;
        return levels;
    }

    template <class Set>
    void* store(const redisReadTask& task, Set set) noexcept {
        std::size_t index = 0;
        if (task.parent) {
            const auto parent = reinterpret_cast<std::uintptr_t>(task.parent->obj) - 1;
            assert(static_cast<std::size_t>(task.idx) < arena_.at(parent).size);
            index = arena_.at(parent).begin + static_cast<std::size_t>(task.idx);
        }
        try {
            set(index);
        } catch (const std::exception&) {
            return refuse("out of memory");
        }
        return reinterpret_cast<void*>(index + 1);
    }

    std::size_t max_elements_;  // children in the arena, at most
    reply_arena arena_;
    std::string_view refusal_;  // of static storage
};

namespace {

reply_builder& builder_of(const redisReadTask* task) noexcept {
    return *static_cast<reply_builder*>(task->privdata);
}

/// A template because the members differ: hiredis 1 counts elements in size_t, and has the types
/// of RESP3, which are refused here as 0.14 refuses them.
template <class Functions>
Functions make_functions() noexcept {
    Functions f{};
    f.createString = [](const redisReadTask* task, char* text, std::size_t size) {
        return builder_of(task).text(*task, {text, size});
    };
    f.createInteger = [](const redisReadTask* task, long long value) {
        return builder_of(task).integer(*task, value);
    };
    f.createNil = [](const redisReadTask* task) { return builder_of(task).nil(*task); };
    f.createArray = [](const redisReadTask* task, auto size) {
        return builder_of(task).array(*task, static_cast<std::size_t>(size));
    };
    if constexpr (requires { f.createDouble; }) {
        f.createDouble = [](const redisReadTask* task, double, char*, std::size_t) {
            return builder_of(task).refuse("not a RESP2 type");
        };
        f.createBool = [](const redisReadTask* task, int) {
            return builder_of(task).refuse("not a RESP2 type");
        };
    }
    return f;
}

}  // namespace

void parser::reader_free::operator()(redisReader* reader) const noexcept {
    redisReaderFree(reader);
}

parser::parser(parser_limits limits) : limits_(limits) { reset(); }
parser::~parser() = default;
parser::parser(parser&&) noexcept = default;
parser& parser::operator=(parser&&) noexcept = default;

parser::outcome parser::feed(std::string_view& bytes, reply& out) {
    assert(builder_);
    out = reply();
    if (!reader_) return outcome::broken;
    if (between_replies_) {
        builder_->clear();
        between_replies_ = false;
    }
    for (;;) {
        if (unparsed_) {
            const outcome now = parse();
            if (now == outcome::complete) out = reply(builder_->arena(), 0);
            if (now != outcome::need_more) return now;
        }
        if (bytes.empty()) return outcome::need_more;
        // Below the limit here, so hiredis never buffers more than it.
        assert(reply_bytes_ <= limits_.max_reply_bytes);
        const std::size_t room = limits_.max_reply_bytes - reply_bytes_;
        const std::string_view slice = bytes.substr(0, std::min(slice_bytes, room));
        if (redisReaderFeed(reader_.get(), slice.data(), slice.size()) != REDIS_OK) {
            return break_off(reader_->errstr);
        }
        bytes.remove_prefix(slice.size());
        reply_bytes_ += slice.size();
        unparsed_ = true;
    }
}

void parser::reset() {
    static auto functions = make_functions<redisReplyObjectFunctions>();
    builder_ = std::make_unique<reply_builder>(limits_.max_elements);
    reader_.reset(redisReaderCreateWithFunctions(&functions));
    if (!reader_) throw std::bad_alloc();
    reader_->privdata = builder_.get();  // redisReaderSetPrivdata cuts the pointer to an int
    error_.clear();
    reply_bytes_ = 0;
    unparsed_ = false;
    between_replies_ = false;
}

void parser::set_limit(std::size_t bytes) {
    assert(bytes >= limits_.max_reply_bytes);
    limits_.max_reply_bytes = bytes;
}

parser::outcome parser::parse() {
    void* root = nullptr;
    if (redisReaderGetReply(reader_.get(), &root) != REDIS_OK) {
        const std::string_view refusal = builder_->refusal();
        return break_off(refusal.empty() ? std::string_view(reader_->errstr) : refusal);
    }
    if (root) {
        assert(reader_->pos <= reader_->len);
        // What is left belongs to the replies after this one.
        reply_bytes_ = reader_->len - reader_->pos;
        unparsed_ = reply_bytes_ > 0;
        between_replies_ = true;
        return outcome::complete;
    }
    unparsed_ = false;
    return reply_bytes_ < limits_.max_reply_bytes ? outcome::need_more
                                                  : break_off("reply is too long");
}

parser::outcome parser::break_off(std::string_view why) {
    assert(!why.empty());
    error_ = why;
    reader_.reset();
    return outcome::broken;
}

}  // namespace redlock::resp
