// Taking a key from those that hold it.
// SPDX-License-Identifier: MIT
#include "wire/revocation.hpp"

#include "wire/keys.hpp"
#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::wire {

using std::chrono::milliseconds;

namespace {

std::vector<std::string> texts(const resp::reply& reply) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < reply.size(); ++i) out.emplace_back(reply[i].text());
    return out;
}

}  // namespace

void write_revocation(std::string& out, resp::script_form form, const revocation_request& what) {
    const std::string_view resource_key = what.slot ? without_slot(what.key) : what.key;
    const companion_key fence = fence_of(what.key_prefix, what.key);
    const companion_key revoked = revoked_of(what.key_prefix, what.key);
    const companion_key queue = queue_of(what.key_prefix, resource_key);
    const companion_key set = what.slot ? slots_of(what.key_prefix, resource_key)
                                        : readers_of(what.key_prefix, resource_key);
    const decimal raised(what.fence);
    const decimal life(in<milliseconds>(what.fence_life));
    const decimal revoked_life(in<milliseconds>(what.revoked_life));
    const decimal slot(what.slot.value_or(0));
    std::vector<std::string_view> words{verb(form), body(form, resp::revoke()),
                                        what.is_fenced ? "5" : "1", what.key};
    if (what.is_fenced) words.insert(words.end(), {fence, revoked, queue, set});
    words.insert(words.end(), {raised, life, revoked_life, what.key_prefix,
                               what.slot ? std::string_view(slot) : std::string_view()});
    if (what.values != nullptr) words.insert(words.end(), what.values->begin(), what.values->end());
    resp::append_command(out, words);
}

std::optional<revocation_answer> read_revocation(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || reply.size() != 3 ||
        reply[0].type() != resp::reply_type::integer || reply[0].integer() < 0) {
        return std::nullopt;
    }
    return revocation_answer{static_cast<std::uint64_t>(reply[0].integer()), texts(reply[1]),
                             texts(reply[2])};
}

}  // namespace redlock::wire
