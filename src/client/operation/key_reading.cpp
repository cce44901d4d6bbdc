// What a node's answers about one key say of its holder.
// SPDX-License-Identifier: MIT
#include "client/operation/key_reading.hpp"

#include "core/node/fence_source.hpp"
#include "wire/owner_value.hpp"
#include "wire/time.hpp"

#include <charconv>
#include <string_view>

namespace redlock::detail {

namespace {

void note_value(node_state& node, std::string& value, const resp::reply& reply) {
    if (reply.type() != resp::reply_type::string) {
        return note_failure(node, wire::read_failure(reply));
    }
    value = reply.text();
    if (value.empty()) {
        node.state = key_state::free;  // unless there is an empty value: its ttl will tell
    } else if (value == wire::shared_marker) {
        node.state = key_state::shared;
    } else {
        node.state = wire::is_kept(value) ? key_state::kept : key_state::held;
        node.owner = wire::abbreviate_owner(wire::without_kept_mark(value));
    }
}

void note_fence(node_state& node, const resp::reply& reply) {
    const std::string_view text = reply.text();
    const auto end = text.data() + text.size();
    if (reply.type() == resp::reply_type::string && text.empty()) return;
    if (text.empty() || std::from_chars(text.data(), end, node.fence).ptr != end ||
        node.fence >= core::fence_limit) {
        node.fence = 0;
        note_failure(node, {vote::refused, errc::foreign_data, "the fence key holds no fence"});
    }
}

void note_ttl(node_state& node, const resp::reply& reply) {
    if (reply.type() != resp::reply_type::integer) {
        return note_failure(node, wire::read_failure(reply));
    }
    node.ttl = wire::read_pttl(reply.integer());  // the key may have gone between the two answers
    if (node.state == key_state::free && reply.integer() != -2) node.state = key_state::held;
}

}  // namespace

void note_failure(node_state& node, const wire::failure& why) {
    switch (why.answer) {
        case vote::timed_out: node.state = key_state::timed_out; break;
        case vote::refused: node.state = key_state::refused; break;
        default: node.state = key_state::unreachable; break;
    }
    node.error = why.error;
    node.detail = why.detail;
}

void note_answer(node_state& node, std::string& value, key_question what,
                 const resp::reply& reply) {
    if (what == key_question::value) return note_value(node, value, reply);
    if (node.state == key_state::refused) return;
    what == key_question::fence ? note_fence(node, reply) : note_ttl(node, reply);
}

}  // namespace redlock::detail
