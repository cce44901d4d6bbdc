// Acquire, as it is asked and answered.
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

namespace {

void write_words(request& out, std::string_view at_once, std::string_view waiting,
                 const lease_request& lease, const fence_terms& fencing,
                 const queue_entry* entry) {
    const decimal ttl(in<milliseconds>(lease.ttl));
    const decimal fence(fencing.fence);
    if (entry == nullptr) {
        resp::append_words(out.words, {at_once, lease.value, ttl, fence});
        out.count = 4;
    } else {
        resp::append_words(out.words,
                           {waiting, lease.value, ttl, fence, entry->id, decimal(entry->ticket),
                            decimal(in<milliseconds>(entry->life))});
        out.count = 7;
    }
}

}  // namespace

void write_acquire(request& out, const lease_request& lease, const fence_terms* fencing,
                   const queue_entry* entry) {
    assert(fencing != nullptr);
    append_keys(out, fencing->key_prefix, lease.key);
    write_words(out, "acquire", "await", lease, *fencing, entry);
}

void write_share(request& out, const lease_request& lease, const fence_terms* fencing,
                 const queue_entry* entry) {
    assert(fencing != nullptr);
    append_readers_keys(out, fencing->key_prefix, lease.key);
    write_words(out, "share", "await_share", lease, *fencing, entry);
}

void write_acquire_slot(request& out, const lease_request& lease, const fence_terms* fencing,
                        const queue_entry* entry) {
    assert(fencing != nullptr && lease.slot.of > 0);
    const decimal ttl(in<milliseconds>(lease.ttl));
    const decimal fence(fencing->fence);
    const decimal slot(lease.slot.number);
    const decimal slots(lease.slot.of);
    append_slot_keys(out, fencing->key_prefix, lease.key);
    if (entry == nullptr) {
        resp::append_words(out.words, {"acquire_slot", lease.value, ttl, fence, slot, slots});
        out.count = 6;
    } else {
        resp::append_words(out.words, {"await_slot", lease.value, ttl, fence, slot, slots, entry->id,
                                       decimal(entry->ticket),
                                       decimal(in<milliseconds>(entry->life))});
        out.count = 9;
    }
}

void write_acquire_all(request& out, const lease_request& lease, const fence_terms* fencing,
                       const queue_entry* entry) {
    assert(fencing != nullptr);
    const decimal ttl(in<milliseconds>(lease.ttl));
    const decimal fence(fencing->fence);
    append_all_keys(out, fencing->key_prefix, lease.key, lease.others);
    const decimal keys(out.locks);
    if (entry == nullptr) {
        resp::append_words(out.words, {"acquire_all", keys, lease.value, ttl, fence});
        out.count = 5;
    } else {
        resp::append_words(out.words, {"await_all", keys, lease.value, ttl, fence, entry->id,
                                       decimal(entry->ticket),
                                       decimal(in<milliseconds>(entry->life))});
        out.count = 8;
    }
}

void write_set_all(request& out, const lease_request& lease,
                   [[maybe_unused]] const fence_terms* fencing,
                   [[maybe_unused]] const queue_entry* entry) {
    assert(fencing == nullptr && entry == nullptr);
    append_plain_keys(out, lease.key, lease.others);
    resp::append_words(out.words, {"acquire_all", decimal(out.locks), lease.value,
                                   decimal(in<milliseconds>(lease.ttl))});
    out.count = 4;
}

void write_set(request& out, const lease_request& lease,
               [[maybe_unused]] const fence_terms* fencing,
               [[maybe_unused]] const queue_entry* entry) {
    assert(fencing == nullptr && entry == nullptr);
    const decimal ttl(in<milliseconds>(lease.ttl));
    resp::append_command(out.words, {"SET", lease.key, lease.value, "NX", "PX", ttl});
}

acquire_answer read_set(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::status && reply.text() == "OK") {
        return {.answer = vote::granted};
    }
    if (reply.type() == resp::reply_type::nil) return {.answer = vote::held};
    return {.why = read_failure(reply)};
}

namespace {

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

}  // namespace

acquire_answer read_acquire(const resp::reply& reply) {
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
                    .holder = std::hash<std::string_view>()(reply[2].text())};
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

acquire_answer read_acquire_all(const resp::reply& reply) {
    acquire_answer answer = read_acquire(reply);
    const bool is_held = answer.answer == vote::held;
    if (is_held || answer.answer == vote::queued) {
        const std::size_t at = is_held ? 5 : 3;
        answer.blocked = read_map(reply[at].text());
        answer.which = static_cast<std::size_t>(std::max<std::int64_t>(reply[at + 1].integer(), 0));
    }
    if (is_held) answer.lacks_fence = reply[7].integer() == 1 && is_of_our_form(reply[2].text());
    return answer;
}

acquire_answer read_set_all(const resp::reply& reply) {
    acquire_answer answer = read_acquire_all(reply);
    answer.lacks_fence = false;
    return answer;
}

}  // namespace redlock::wire
