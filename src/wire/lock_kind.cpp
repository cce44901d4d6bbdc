// The kinds of lock, as data.
// SPDX-License-Identifier: MIT
#include "wire/lock_kind.hpp"

#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <boost/container/small_vector.hpp>

namespace redlock::wire {

void append_keys(request& out, const lock_kind& kind, std::string_view key_prefix,
                 std::string_view key, more_keys others) {
    const std::string_view resource_key = kind.has_slot ? without_slot(key) : key;
    const auto append_one = [&](std::string_view one, std::string_view queue_for) {
        resp::append_words(out.keys, {one});
        if (!kind.is_fenced) return;
        resp::append_words(out.keys, {fence_of(key_prefix, one)});
        resp::append_words(out.queues, {queue_of(key_prefix, queue_for)});
    };
    append_one(key, resource_key);
    for (const auto& other : others) append_one(other, other);
    out.locks = static_cast<std::uint32_t>(1 + others.size());
    if (kind.set_of != nullptr) {
        resp::append_words(out.set, {kind.set_of(key_prefix, resource_key)});
    }
}

void append_verb(request& out, const lock_kind& kind, std::string_view verb, bool has_note) {
    constexpr std::string_view of_noted = "+note";
    boost::container::small_vector<char, 24> word(verb.begin(), verb.end());
    word.insert(word.end(), kind.suffix.begin(), kind.suffix.end());
    if (has_note) word.insert(word.end(), of_noted.begin(), of_noted.end());
    append(out, {std::string_view(word.data(), word.size())});
    if (kind.is_of_several) append(out, {decimal(out.locks)});
}

void append(request& out, std::initializer_list<std::string_view> words) {
    resp::append_words(out.words, words);
    out.count += static_cast<std::uint32_t>(words.size());
}

}  // namespace redlock::wire
