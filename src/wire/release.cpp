// Release, as it is asked and answered.
// SPDX-License-Identifier: MIT
#include "wire/release.hpp"

#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <cassert>
#include <string_view>

namespace redlock::wire {

using std::chrono::milliseconds;

namespace {

// As shared/keep.lua reads it.
milliseconds::rep kept_ms(const release_request& what) {
    const auto ms = std::chrono::ceil<milliseconds>(what.keep).count();
    return what.never_prolongs ? -ms : ms;
}

bool is_short(const release_request& what) {
    return what.entry == nullptr && what.raise == nullptr && what.keep == duration::zero() &&
           what.note == duration::zero();
}

std::string_view text_or_nothing(bool is_there, const decimal& number) {
    return is_there ? std::string_view(number) : std::string_view();
}

// What is left to do besides deleting the key.
void write_rest(request& out, const release_request& what) {
    const queue_entry entry = what.entry != nullptr ? *what.entry : queue_entry{};
    const decimal fence(what.raise != nullptr ? what.raise->fence : 0);
    const decimal keep(kept_ms(what));
    const decimal note(in<milliseconds>(what.note));
    resp::append_words(out.words, {text_or_nothing(what.raise != nullptr, fence), entry.id,
                                   decimal(entry.ticket), decimal(in<milliseconds>(entry.life)),
                                   text_or_nothing(what.keep > duration::zero(), keep),
                                   text_or_nothing(what.note > duration::zero(), note)});
    out.count += 6;
}

void write_words(request& out, std::string_view alone, std::string_view with_more,
                 const release_request& what) {
    resp::append_words(out.words, {is_short(what) ? alone : with_more, what.value});
    out.count = 2;
    if (!is_short(what)) write_rest(out, what);
}

}  // namespace

void write_release(request& out, const release_request& what) {
    append_keys(out, what.key_prefix, what.key);
    write_words(out, "release", "leave", what);
}

void write_release_share(request& out, const release_request& what) {
    append_readers_keys(out, what.key_prefix, what.key);
    write_words(out, "release_share", "leave_share", what);
}

void write_release_slot(request& out, const release_request& what) {
    append_slot_keys(out, what.key_prefix, what.key);
    resp::append_words(out.words, {is_short(what) ? "release_slot" : "leave_slot", what.value,
                                   decimal(what.slot.number), decimal(what.slot.of)});
    out.count = 4;
    if (!is_short(what)) write_rest(out, what);
}

void write_release_all(request& out, const release_request& what) {
    append_all_keys(out, what.key_prefix, what.key, what.others);
    resp::append_words(out.words,
                       {is_short(what) ? "release_all" : "leave_all", decimal(out.locks), what.value});
    out.count = 3;
    if (!is_short(what)) write_rest(out, what);
}

void write_plain_release_all(request& out, const release_request& what) {
    assert(what.entry == nullptr && what.raise == nullptr);
    append_plain_keys(out, what.key, what.others);
    const decimal keys(out.locks);
    if (what.keep > duration::zero()) {
        resp::append_words(out.words, {"keep_all", keys, what.value, decimal(kept_ms(what))});
        out.count = 4;
    } else {
        resp::append_words(out.words, {"release_all", keys, what.value});
        out.count = 3;
    }
}

void write_plain_release(request& out, const release_request& what) {
    assert(what.entry == nullptr && what.raise == nullptr);
    resp::append_words(out.keys, {what.key});
    if (what.keep > duration::zero()) {
        resp::append_words(out.words, {"keep", what.value, decimal(kept_ms(what))});
        out.count = 3;
    } else {
        resp::append_words(out.words, {"release", what.value});
        out.count = 2;
    }
}

compare_answer read_release(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
    }
    return {.why = read_failure(reply)};
}

}  // namespace redlock::wire
