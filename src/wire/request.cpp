// What all requests to a node share.
// SPDX-License-Identifier: MIT
#include "wire/request.hpp"

#include <cassert>

namespace redlock::wire {

using std::chrono::microseconds;

void batch::add(const request& what) {
    assert(has_room_for(what) && !what.is_command());
    keys_.append(what.keys);
    queues_.append(what.queues);
    sets_.append(what.set);
    if (!what.set.empty()) ++set_count_;
    words_.append(what.words);
    word_count_ += what.count;
    ++size_;
    locks_ += what.locks;
}

void batch::write(std::string& out, resp::script_form form, const batch_conditions& when,
                  const core::fence_limits& limits) {
    assert(!empty());
    if (record_key_.empty()) {
        resp::append_command(out, {verb(form), body(form, resp::plain()), decimal(locks_)},
                             locks_ + word_count_);
        out.append(keys_);
    } else {
        constexpr std::size_t conditions = 5;
        const std::size_t companions = 3 * locks_ + set_count_;
        resp::append_command(
            out, {verb(form), body(form, resp::requests()), decimal(1 + companions), record_key_},
            companions + conditions + word_count_);
        out.append(keys_).append(queues_).append(sets_);
        resp::append_words(out, {when.epoch,
                                 when.until ? std::string_view(decimal(*when.until)) : "",
                                 decimal(in<microseconds>(limits.tolerance)),
                                 decimal(in<microseconds>(limits.lift)), decimal(locks_)});
    }
    out.append(words_);
    clear();
}

void batch::clear() noexcept {
    keys_.clear();
    queues_.clear();
    sets_.clear();
    words_.clear();
    size_ = 0;
    locks_ = 0;
    word_count_ = 0;
    set_count_ = 0;
}

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
    for (const auto& other : others) append_one(other, kind.has_slot ? resource_key : other);
    out.locks = static_cast<std::uint32_t>(1 + others.size());
    if (kind.set_of != nullptr) {
        resp::append_words(out.set, {kind.set_of(key_prefix, resource_key)});
    }
}

void append_verb(request& out, const lock_kind& kind, std::string_view verb) {
    boost::container::small_vector<char, 24> word(verb.begin(), verb.end());
    word.insert(word.end(), kind.suffix.begin(), kind.suffix.end());
    const bool has_slots = kind.has_slot && out.locks > 1;
    if (has_slots) word.push_back('s');
    append(out, {std::string_view(word.data(), word.size())});
    if (kind.is_of_several || has_slots) append(out, {decimal(out.locks)});
}

void append(request& out, std::initializer_list<std::string_view> words) {
    resp::append_words(out.words, words);
    out.count += static_cast<std::uint32_t>(words.size());
}

void append_slots(request& out, const slot_number& slot, more_keys others,
                  std::uint64_t revision) {
    std::string of = std::to_string(slot.of);
    if (slot.period_ms > 0) of += '/' + std::to_string(slot.period_ms);
    if (revision > 0) of += '@' + std::to_string(revision);
    std::string numbers = std::to_string(slot.number);
    for (const std::string_view key : others) {
        numbers.append(",").append(key.substr(without_slot(key).size() + 1));
    }
    append(out, {numbers, of});
}

}  // namespace redlock::wire
