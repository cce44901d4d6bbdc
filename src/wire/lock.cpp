// The requests about a lock and their answers.
// SPDX-License-Identifier: MIT
#include "wire/lock.hpp"

#include "wire/owner_value.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <vector>

namespace redlock::wire {

using std::chrono::milliseconds;

namespace {

std::uint64_t read_count(const resp::reply& reply) noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(reply.integer(), 0));
}

acquire_answer read_set(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::status && reply.text() == "OK") {
        return {.answer = vote::granted};
    }
    if (reply.type() == resp::reply_type::nil) return {.answer = vote::held};
    return {.why = read_failure(reply)};
}

std::uint16_t read_slots(const resp::reply& reply) {
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>(reply.integer(), 0, max_slots));
}

// Where it is not this slot that is taken, others wait for the one that is free.
acquire_answer read_slot_refusal(const resp::reply& reply) {
    const std::string_view value = reply[2].text();
    const bool is_held = !value.empty() || reply[4].integer() == 0;
    return {.answer = is_held ? vote::held : vote::queued,
            .why = {is_held ? vote::held : vote::queued, {},
                    value.empty() ? "" : abbreviate_owner(value)},
            .left = read_pttl(reply[1].integer()),
            .fence = read_count(reply[3]),
            .before = read_pttl(reply[4].integer()),
            .holder = value.empty() ? 0 : std::hash<std::string_view>()(value),
            .note = note_of(value),
            .fence_is_its = is_of_our_form(value) && !is_kept(value),
            .free_slots = std::string(reply[5].text().substr(0, max_slots / 8)),
            .slots = read_slots(reply[6]),
            .revision = read_count(reply[7])};
}

acquire_answer read_period(const resp::reply& reply) {
    const milliseconds period(std::max<std::int64_t>(reply[1].integer(), 0));
    return {.why = {vote::refused, errc::invalid_argument,
                    "another program names a period of " + std::to_string(period.count()) +
                        " ms for this limit"},
            .period = period};
}

std::uint64_t read_map(std::string_view bytes) {
    std::uint64_t map = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), sizeof map); ++i) {
        map |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return map;
}

acquire_answer read_one(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer && reply.integer() == 1) {
        return {.answer = vote::granted};
    }
    if (auto why = read_rule_refusal(reply)) return {.answer = why->answer, .why = *why};
    const bool has_outcome = reply[0].type() == resp::reply_type::integer;
    switch (has_outcome ? reply[0].integer() : -1) {
        case 2:
            return {.answer = vote::held,
                    .why = {vote::held, {}, abbreviate_owner(reply[2].text())},
                    .lacks_fence = read_count(reply[3]) == 0 && is_of_our_form(reply[2].text()),
                    .left = read_pttl(reply[1].integer()),
                    .fence = read_count(reply[3]),
                    .before = read_pttl(reply[4].integer()),
                    .is_foreign = is_foreign(reply[2].text()),
                    .holder = std::hash<std::string_view>()(reply[2].text()),
                    .note = note_of(reply[2].text()),
                    .fence_is_its =
                        is_of_our_form(reply[2].text()) && !is_kept(reply[2].text())};
        case 3:
            return {.answer = vote::queued,
                    .why = {vote::queued, {}, {}},
                    .fence = read_count(reply[2]),
                    .before = read_pttl(reply[1].integer())};
        case 4: return {.answer = vote::stale, .fence = read_count(reply[1])};
        case 6: return read_slot_refusal(reply);
        case 7: return read_period(reply);
        default: return {.why = read_failure(reply)};
    }
}

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
    append_verb(out, kind, is_kept ? "keep" : "release");
    append(out, {what.value});
    if (is_kept) append(out, {decimal(kept_ms(what))});
    if (kind.is_plain_set && !is_kept) {
        resp::append_command(out.command, {"DELIFEQ", what.key, what.value});
    }
}

}  // namespace

bool is_amnesiac(const resp::reply& reply) noexcept {
    return reply.type() == resp::reply_type::status && reply.text() == "AMNESIAC";
}

bool is_late(const resp::reply& reply) noexcept {
    return reply.type() == resp::reply_type::status && reply.text() == "LATE";
}

std::optional<failure> read_rule_refusal(const resp::reply& reply) {
    if (is_amnesiac(reply)) {
        return failure{vote::quarantine, errc::in_quarantine, "it has lost its data"};
    }
    if (is_late(reply)) {
        return failure{vote::refused, errc::clock_skew,
                       "by its clock the command came too late: it stood still, or its clock was "
                       "set"};
    }
    if (reply[0].type() == resp::reply_type::integer && reply[0].integer() == 5) {
        return failure{vote::refused, errc::clock_skew, "the fence is too far ahead of its clock"};
    }
    return std::nullopt;
}

core::node_signs read_signs(const resp::reply& reply) noexcept {
    return {.is_late = is_late(reply),
            .is_amnesiac = is_amnesiac(reply),
            .is_replica = reply.is_error("READONLY")};
}

void append_lease(const lock_kind& kind, request& out, std::string_view verb,
                  const lease_request& lease, const fence_terms* fencing) {
    assert(kind.is_fenced == (fencing != nullptr) && kind.has_slot == (lease.slot.of > 0));
    append_keys(out, kind, fencing != nullptr ? fencing->key_prefix : std::string_view(), lease.key,
                lease.others);
    append_verb(out, kind, verb);
    append(out, {lease.value, decimal(in<milliseconds>(lease.ttl))});
    if (fencing != nullptr) append(out, {decimal(fencing->fence)});
    if (kind.has_slot) append_slots(out, lease.slot, lease.others, lease.revision);
}

void write_acquire(const lock_kind& kind, request& out, const lease_request& lease,
                   const fence_terms* fencing, const queue_entry* entry) {
    assert(entry == nullptr || kind.is_fenced);
    if (kind.is_plain_set) {
        const decimal ttl(in<milliseconds>(lease.ttl));
        return resp::append_command(out.words, {"SET", lease.key, lease.value, "NX", "PX", ttl});
    }
    append_lease(kind, out, entry == nullptr ? "acquire" : "await", lease, fencing);
    if (entry != nullptr) {
        append(out, {entry->id, decimal(entry->ticket), decimal(in<milliseconds>(entry->life))});
    }
}

acquire_answer read_acquire(const lock_kind& kind, const resp::reply& reply) {
    if (kind.is_plain_set) return read_set(reply);
    acquire_answer answer = read_one(reply);
    const bool is_held = answer.answer == vote::held;
    if (kind.is_of_several && (is_held || answer.answer == vote::queued)) {
        const std::size_t at = is_held ? 5 : 3;
        answer.blocked = read_map(reply[at].text());
        answer.which = read_count(reply[at + 1]);
        answer.lacks_fence =
            is_held && reply[7].integer() == 1 && is_of_our_form(reply[2].text());
        answer.fence_is_its = false;  // it is the highest of all keys
    }
    if (!kind.is_fenced) answer.lacks_fence = false;
    return answer;
}

void write_extend(const lock_kind& kind, request& out, const lease_request& lease,
                  const fence_terms* fencing, bool prolongs_fence) {
    assert(fencing != nullptr || !prolongs_fence);
    append_lease(kind, out, prolongs_fence ? "hold" : "extend", lease, fencing);
}

compare_answer read_extension(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
        if (reply.integer() == -2) return {.choice = core::choice::no, .is_revoked = true};
    }
    if (auto why = read_rule_refusal(reply)) return {.why = *why};
    const bool is_pair = reply.size() == 2 && reply[0].type() == resp::reply_type::integer;
    const auto what = is_pair ? reply[0].integer() : -1;
    if (what != 1 && what != 4) return {.why = read_failure(reply)};
    return {.choice = what == 1 ? core::choice::yes : core::choice::no,
            .was_free = true,
            .fence = read_count(reply[1])};
}

void write_release(const lock_kind& kind, request& out, const release_request& what) {
    append_keys(out, kind, what.key_prefix, what.key, what.others);
    if (!kind.is_fenced) return write_plain(kind, out, what);
    append_verb(out, kind, is_short(what) ? "release" : "leave");
    append(out, {what.value});
    if (kind.has_slot) append_slots(out, what.slot, what.others);
    if (!is_short(what)) append_rest(out, what);
}

compare_answer read_release(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
    }
    return {.why = read_failure(reply)};
}

void write_wait(std::string& out, resp::script_form form, std::span<const wait_request> waiters,
                std::string_view key_prefix) {
    const std::size_t n = waiters.size();
    const decimal count(n);
    const decimal keys(2 * n);
    std::vector<std::string> names;
    std::vector<decimal> numbers;
    std::vector<std::string_view> words{verb(form), body(form, resp::wait()), keys};
    words.reserve(6 * n + 4);
    names.reserve(2 * n);
    numbers.reserve(3 * n);
    for (const auto& w : waiters) {
        if (w.slots == 0)
            words.push_back(w.key);
        else
            words.push_back(names.emplace_back(std::string_view(slots_of(key_prefix, w.key))));
    }
    for (const auto& w : waiters) words.push_back(names.emplace_back(queue_key(key_prefix, w.key)));
    words.push_back(count);
    for (const auto& w : waiters) words.push_back(w.entry.id);
    for (const auto& w : waiters) words.push_back(numbers.emplace_back(w.entry.ticket));
    for (const auto& w : waiters) {
        words.push_back(numbers.emplace_back(in<milliseconds>(w.entry.life)));
    }
    for (const auto& w : waiters) words.push_back(numbers.emplace_back(w.slots));
    resp::append_command(out, words);
}

std::optional<wait_answer> read_wait(const resp::reply& reply, std::size_t waiter) {
    const resp::reply one = reply[waiter];
    if (one[0].type() != resp::reply_type::integer) return std::nullopt;
    return wait_answer{.left = read_pttl(one[0].integer()),
                       .before = read_pttl(one[1].integer()),
                       .is_foreign = is_foreign(one[2].text()),
                       .slots = read_slots(one[3])};
}

}  // namespace redlock::wire
