// What all requests for a fenced key have in common.
// SPDX-License-Identifier: MIT
#include "wire/fenced.hpp"

#include "wire/keys.hpp"
#include "wire/resp/command.hpp"

namespace redlock::wire {

void append_keys(request& out, std::string_view key_prefix, std::string_view key) {
    resp::append_words(out.keys, {key, fence_of(key_prefix, key)});
    resp::append_words(out.queues, {queue_of(key_prefix, key)});
}

void append_all_keys(request& out, std::string_view key_prefix, std::string_view key,
                     more_keys others) {
    append_keys(out, key_prefix, key);
    for (const auto& other : others) append_keys(out, key_prefix, other);
    out.locks = static_cast<std::uint32_t>(1 + others.size());
}

void append_plain_keys(request& out, std::string_view key, more_keys others) {
    resp::append_words(out.keys, {key});
    for (const auto& other : others) resp::append_words(out.keys, {other});
    out.locks = static_cast<std::uint32_t>(1 + others.size());
}

void append_readers_keys(request& out, std::string_view key_prefix, std::string_view key) {
    append_keys(out, key_prefix, key);
    resp::append_words(out.set, {readers_of(key_prefix, key)});
}

void append_slot_keys(request& out, std::string_view key_prefix, std::string_view slot_key) {
    const std::string_view key = without_slot(slot_key);
    resp::append_words(out.keys, {slot_key, fence_of(key_prefix, slot_key)});
    resp::append_words(out.queues, {queue_of(key_prefix, key)});
    resp::append_words(out.set, {slots_of(key_prefix, key)});
}

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

}  // namespace redlock::wire
