// Release requests and their answers.
// SPDX-License-Identifier: MIT
#include "wire/release.hpp"

#include "wire/owner_value.hpp"
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
           what.note == duration::zero() && !what.cuts_fence;
}

std::string_view text_or_nothing(bool is_there, const decimal& number) {
    return is_there ? std::string_view(number) : std::string_view();
}

// What is left to do besides deleting the key.
void append_rest(request& out, const release_request& what) {
    const queue_entry entry = what.entry != nullptr ? *what.entry : queue_entry{};
    const decimal fence(what.raise != nullptr ? what.raise->fence : 0);
    const decimal keep(kept_ms(what));
    const decimal note(in<milliseconds>(what.note));
    append(out, {text_or_nothing(what.raise != nullptr, fence), entry.id, decimal(entry.ticket),
                 decimal(in<milliseconds>(entry.life)),
                 text_or_nothing(what.keep > duration::zero(), keep),
                 text_or_nothing(what.note > duration::zero(), note),
                 what.cuts_fence ? "long" : ""});
}

// Without fences there is nothing else to do than to keep the key.
void write_plain(const lock_kind& kind, request& out, const release_request& what) {
    assert(what.entry == nullptr && what.raise == nullptr);
    const bool is_kept = what.keep > duration::zero();
    append_verb(out, kind, is_kept ? "keep" : "release", has_note(what.value));
    append(out, {what.value});
    if (is_kept) append(out, {decimal(kept_ms(what))});
    if (has_note(what.value)) append(out, {what.key_prefix});
}

}  // namespace

void write_release(const lock_kind& kind, request& out, const release_request& what) {
    append_keys(out, kind, what.key_prefix, what.key, what.others);
    if (!kind.is_fenced) return write_plain(kind, out, what);
    append_verb(out, kind, is_short(what) ? "release" : "leave", has_note(what.value));
    append(out, {what.value});
    if (kind.has_slot) append(out, {decimal(what.slot.number), decimal(what.slot.of)});
    if (!is_short(what)) append_rest(out, what);
}

compare_answer read_release(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
    }
    return {.why = read_failure(reply)};
}

}  // namespace redlock::wire
