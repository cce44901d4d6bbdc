// Extend, as it is asked and answered.
// SPDX-License-Identifier: MIT
#include "wire/extend.hpp"

#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::wire {

using std::chrono::milliseconds;

void write_extend(request& out, const lease_request& lease, const fence_terms* fencing) {
    const decimal ttl(in<milliseconds>(lease.ttl));
    if (fencing == nullptr) {
        resp::append_words(out.keys, {lease.key});
        resp::append_words(out.words, {"extend", lease.value, ttl});
        out.count = 3;
        return;
    }
    append_keys(out, fencing->key_prefix, lease.key);
    resp::append_words(out.words, {"extend", lease.value, ttl, decimal(fencing->fence)});
    out.count = 4;
}

void write_extend_all(request& out, const lease_request& lease, const fence_terms* fencing) {
    const decimal ttl(in<milliseconds>(lease.ttl));
    if (fencing == nullptr) {
        append_plain_keys(out, lease.key, lease.others);
        resp::append_words(out.words, {"extend_all", decimal(out.locks), lease.value, ttl});
        out.count = 4;
        return;
    }
    append_all_keys(out, fencing->key_prefix, lease.key, lease.others);
    resp::append_words(
        out.words, {"extend_all", decimal(out.locks), lease.value, ttl, decimal(fencing->fence)});
    out.count = 5;
}

void write_extend_share(request& out, const lease_request& lease, const fence_terms* fencing) {
    append_readers_keys(out, fencing->key_prefix, lease.key);
    resp::append_words(out.words, {"extend_share", lease.value,
                                   decimal(in<milliseconds>(lease.ttl)), decimal(fencing->fence)});
    out.count = 4;
}

void write_extend_slot(request& out, const lease_request& lease, const fence_terms* fencing) {
    append_slot_keys(out, fencing->key_prefix, lease.key);
    resp::append_words(
        out.words, {"extend_slot", lease.value, decimal(in<milliseconds>(lease.ttl)),
                    decimal(fencing->fence), decimal(lease.slot.number), decimal(lease.slot.of)});
    out.count = 6;
}

compare_answer read_extension(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
        if (reply.integer() == -2) return {.choice = core::choice::no, .is_revoked = true};
    }
    if (auto why = read_rule_refusal(reply)) return {.why = *why};
    const bool is_stale = reply[0].type() == resp::reply_type::integer && reply[0].integer() == 4;
    if (!is_stale) return {.why = read_failure(reply)};
    const std::int64_t seen = std::max<std::int64_t>(reply[1].integer(), 0);
    return {.choice = core::choice::no, .fence = static_cast<std::uint64_t>(seen)};
}

}  // namespace redlock::wire
