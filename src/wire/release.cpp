// Release, as it is asked and answered.
// SPDX-License-Identifier: MIT
#include "wire/release.hpp"

#include "wire/keys.hpp"
#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <cassert>
#include <string_view>

namespace redlock::wire {

using std::chrono::microseconds;
using std::chrono::milliseconds;

tail write_release(std::string& out, resp::script_form form, const release_request& what) {
    const std::string_view text = body(form, resp::release());
    const std::string_view prefix = what.key_prefix;
    const auto queue = queue_of(prefix, what.key);
    const queue_entry entry = what.entry != nullptr ? *what.entry : queue_entry{};
    const decimal ticket(entry.ticket);
    const decimal life(in<milliseconds>(entry.life));
    if (what.raise == nullptr) {
        resp::append_command(out, {verb(form), text, "2", what.key, queue, what.value, prefix,
                                   entry.id, ticket, life});
        return tail::none;
    }
    resp::append_command(
        out,
        {verb(form), text, "4", what.key, queue, fence_of(prefix, what.key), what.raise->record_key,
         what.value, prefix, entry.id, ticket, life, decimal(what.raise->fence),
         decimal(in<microseconds>(what.raise->tolerance)),
         decimal(in<milliseconds>(what.raise->life))},
        word_count(tail::epoch));
    return tail::epoch;
}

tail write_plain_release(std::string& out, resp::script_form form, const release_request& what) {
    assert(what.entry == nullptr && what.raise == nullptr);
    const std::string_view text = body(form, resp::release());
    resp::append_command(out, {verb(form), text, "1", what.key, what.value});
    return tail::none;
}

compare_answer read_release(const resp::reply& reply) {
    if (reply.type() == resp::reply_type::integer) {
        if (reply.integer() == 1) return {.choice = core::choice::yes};
        if (reply.integer() == 0 || reply.integer() == -1) return {.choice = core::choice::no};
    }
    return {.why = read_failure(reply)};
}

}  // namespace redlock::wire
