// Acquire requests and their answers.
// SPDX-License-Identifier: MIT
#include "wire/acquire.hpp"

#include "wire/owner_value.hpp"
#include "wire/resp/command.hpp"
#include "wire/time.hpp"
#include "wire/words.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace redlock::wire {

using std::chrono::milliseconds;

void append_lease(const lock_kind& kind, request& out, std::string_view verb,
                  const lease_request& lease, const fence_terms* fencing) {
    assert(kind.is_fenced == (fencing != nullptr) && kind.has_slot == (lease.slot.of > 0));
    append_keys(out, kind, fencing != nullptr ? fencing->key_prefix : std::string_view(), lease.key,
                lease.others);
    append_verb(out, kind, verb, has_note(lease.value));
    append(out, {lease.value, decimal(in<milliseconds>(lease.ttl))});
    if (fencing != nullptr) append(out, {decimal(fencing->fence)});
    if (kind.has_slot) append(out, {decimal(lease.slot.number), decimal(lease.slot.of)});
}

void append_note(request& out, const lease_request& lease, const fence_terms* fencing) {
    if (!has_note(lease.value)) return;
    if (fencing == nullptr) append(out, {lease.key_prefix});
    append(out, {lease.note});
}

void write_acquire(const lock_kind& kind, request& out, const lease_request& lease,
                   const fence_terms* fencing, const queue_entry* entry) {
    assert(entry == nullptr || kind.is_fenced);
    assert(!kind.is_plain_set || !has_note(lease.value));
    if (kind.is_plain_set) {
        const decimal ttl(in<milliseconds>(lease.ttl));
        return resp::append_command(out.words, {"SET", lease.key, lease.value, "NX", "PX", ttl});
    }
    append_lease(kind, out, entry == nullptr ? "acquire" : "await", lease, fencing);
    if (entry != nullptr) {
        append(out, {entry->id, decimal(entry->ticket), decimal(in<milliseconds>(entry->life))});
    }
    append_note(out, lease, fencing);
}

namespace {

acquire_answer read_set(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::status && reply.text() == "OK") {
        return {.answer = vote::granted};
    }
    if (reply.type() == resp::reply_type::nil) return {.answer = vote::held};
    return {.why = read_failure(reply)};
}

// Where it is not this slot that is taken, others wait for the one that is free.
acquire_answer read_slot_refusal(const resp::reply& reply) {
    const std::string_view value = reply[2].text();
    const bool is_held = !value.empty() || reply[4].integer() == 0;
    const auto fence = std::max<std::int64_t>(reply[3].integer(), 0);
    const auto slots = std::clamp<std::int64_t>(reply[6].integer(), 0, max_slots);
    return {.answer = is_held ? vote::held : vote::queued,
            .why = {is_held ? vote::held : vote::queued, {}, value.empty() ? "" : abbreviate_owner(value)},
            .left = read_pttl(reply[1].integer()),
            .fence = static_cast<std::uint64_t>(fence),
            .before = read_pttl(reply[4].integer()),
            .note = read_note(reply[7].text()),
            .fence_is_its = is_of_our_form(value) && !is_kept(value),
            .free_slots = std::string(reply[5].text().substr(0, max_slots / 8)),
            .slots = static_cast<std::uint16_t>(slots)};
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
    const auto fence = [](const resp::reply& r) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(r.integer(), 0));
    };
    const bool has_outcome = reply[0].type() == resp::reply_type::integer;
    switch (has_outcome ? reply[0].integer() : -1) {
        case 2:
            return {.answer = vote::held,
                    .why = {vote::held, {}, abbreviate_owner(reply[2].text())},
                    .lacks_fence = fence(reply[3]) == 0 && is_of_our_form(reply[2].text()),
                    .left = read_pttl(reply[1].integer()),
                    .fence = fence(reply[3]),
                    .before = read_pttl(reply[4].integer()),
                    .is_foreign = is_foreign(reply[2].text()),
                    .holder = std::hash<std::string_view>()(reply[2].text()),
                    .note = read_note(reply[5].text()),
                    .fence_is_its =
                        is_of_our_form(reply[2].text()) && !is_kept(reply[2].text())};
        case 3:
            return {.answer = vote::queued,
                    .why = {vote::queued, {}, {}},
                    .fence = fence(reply[2]),
                    .before = read_pttl(reply[1].integer())};
        case 4: return {.answer = vote::stale, .fence = fence(reply[1])};
        case 6: return read_slot_refusal(reply);
        default: return {.why = read_failure(reply)};
    }
}

}  // namespace

acquire_answer read_acquire(const lock_kind& kind, const resp::reply& reply) {
    if (kind.is_plain_set) return read_set(reply);
    acquire_answer answer = read_one(reply);
    const bool is_held = answer.answer == vote::held;
    if (kind.is_of_several && (is_held || answer.answer == vote::queued)) {
        const std::size_t at = is_held ? 5 : 3;
        answer.blocked = read_map(reply[at].text());
        answer.which = static_cast<std::size_t>(std::max<std::int64_t>(reply[at + 1].integer(), 0));
        answer.lacks_fence =
            is_held && reply[7].integer() == 1 && is_of_our_form(reply[2].text());
        answer.fence_is_its = false;  // it is the highest of all keys
        answer.note = is_held ? read_note(reply[8].text()) : "";
    }
    if (!kind.is_fenced) answer.lacks_fence = false;
    return answer;
}

}  // namespace redlock::wire
