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

compare_answer read_extension(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
    }
    if (is_amnesiac(reply)) {
        return {.why = {vote::quarantine, errc::in_quarantine, "it has lost its data"}};
    }
    if (is_late(reply)) {
        return {.why = {vote::refused, errc::clock_skew, "by its clock the request came too late"}};
    }
    const bool has_outcome = reply[0].type() == resp::reply_type::integer;
    switch (has_outcome ? reply[0].integer() : -1) {
        case 4:
            return {.choice = core::choice::no,
                    .fence = static_cast<std::uint64_t>(
                        std::max<std::int64_t>(reply[1].integer(), 0))};
        case 5:
            return {.why = {vote::refused, errc::clock_skew,
                            "the fence is too far ahead of its clock"}};
        default: return {.why = read_failure(reply)};
    }
}

}  // namespace redlock::wire
