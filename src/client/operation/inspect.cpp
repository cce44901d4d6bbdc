// Queries every node for the holders of a resource.
// SPDX-License-Identifier: MIT
#include "client/operation/inspect.hpp"

#include "client/operation/client_parts.hpp"
#include "client/operation/key_reading.hpp"
#include "core/quorum/read_quorum.hpp"
#include "value/quorum.hpp"
#include "value/text.hpp"
#include "wire/inspect.hpp"
#include "wire/keys.hpp"
#include "wire/owner_value.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <string_view>

namespace redlock::detail {

namespace {

// Entries beyond that are not read: the counts stop there.
constexpr std::size_t most_in_queue = 1'000;
constexpr std::size_t most_readers = 1'000;
// In the order of their numbers.
constexpr key_question questions[] = {key_question::value, key_question::ttl, key_question::fence};

}  // namespace

void inspect_operation::start(time_point now) {
    state_.resource = resource_;
    if (!validate_resource(client().shared.options(), resource_).empty()) {
        return end(errc::invalid_argument);
    }
    // Nodes that are about to be opened are not yet in quarantine for good.
    client().host.await_settled(*this, now);
}

void inspect_operation::on_settled(time_point now) {
    if (over_) return;
    state_.nodes.resize(client().shared.size());
    values_.resize(client().shared.size());
    readers_.resize(client().shared.size());
    for (std::size_t i = 0; i < client().shared.size(); ++i)
        state_.nodes[i].node = client().shared.name(i);
    slots_.begin(client().shared.size());
    talking_ = client().nodes.all();
    const std::string& prefix = client().shared.options().key_prefix;
    const std::string key = prefix + resource_;
    const bool is_fenced = client().shared.is_fenced();
    open_ = (is_fenced ? 6 : 2) * client().shared.size();
    ask_about(ask_value, key, talking_, now);
    if (!is_fenced) return;
    wire::request get_queue;
    wire::request get_readers;
    wire::request get_slots;
    wire::write_get_queue(get_queue.words, wire::queue_key(prefix, key), most_in_queue);
    wire::write_get_readers(get_readers.words, wire::readers_key(prefix, key), most_readers);
    wire::write_get_slots(get_slots.words, wire::slots_of(prefix, key));
    ask(ask_queue, get_queue, client().nodes.all(), now);
    ask(ask_readers, get_readers, client().nodes.all(), now);
    ask(ask_slots, get_slots, client().nodes.all(), now);
}

// Its value, its ttl and, if there are fences, its fence.
void inspect_operation::ask_about(std::uint32_t first_question, const std::string& key,
                                  node_mask nodes, time_point now) {
    wire::request get;
    wire::request pttl;
    wire::write_get_front(get.words, key);
    wire::write_pttl(pttl.words, key);
    ask(first_question + ask_value, get, nodes, now);
    ask(first_question + ask_ttl, pttl, nodes, now);
    if (!client().shared.is_fenced()) return;
    wire::request get_fence;
    wire::write_get_front(get_fence.words,
                          wire::fence_key(client().shared.options().key_prefix, key));
    ask(first_question + ask_fence, get_fence, nodes, now);
}

void inspect_operation::ask(std::uint32_t question, const wire::request& what, node_mask nodes,
                            time_point now) {
    const auto result = client().nodes.send(*this, question, what, now, nodes);
    for (const auto& [node, why] : result.failures) on_failure(node, question, why, now);
}

// The keys of those that the nodes named.
void inspect_operation::ask_for_slots(time_point now) {
    for (std::size_t i = 0; i < state_.nodes.size(); ++i) {
        const key_state s = state_.nodes[i].state;
        const bool has_vote = !client().tracker.object(i, now, now);
        const bool has_answered = s == key_state::free || s == key_state::held ||
                                  s == key_state::shared || s == key_state::kept;
        if (!has_vote || !has_answered) talking_.erase(i);
    }
    const auto batch = slots_.next();
    if (batch.empty() || talking_.empty()) return;
    const node_mask nodes = talking_;
    open_ = 3 * batch.size() * nodes.size();
    const std::string key = client().shared.options().key_prefix + resource_;
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
        if (over_) return;
        ask_about(ask_of_slot + 3 * i, key + wire::slot_suffix(batch[i]), nodes, now);
    }
}

std::optional<std::int64_t> inspect_operation::time_of(std::size_t node, time_point now) const {
    const auto us = client().tracker.node_time_us(node, now);
    return us ? std::optional(*us / 1'000) : std::nullopt;
}

// The queue is advice: a node that has none, or does not show it, still counts as having answered.
void inspect_operation::on_queue(std::size_t node, const resp::reply& reply, time_point now) {
    const auto queue = wire::read_queue(reply, client().shared.client_id(), time_of(node, now));
    state_.waiting = std::max(state_.waiting, queue.waiting);
    // Where the nodes differ, the last place counts.
    if (queue.place) state_.place = std::max(state_.place.value_or(0), *queue.place);
}

// The value of a key that is not shared names its holder; the set may be left from earlier
// readers.
void inspect_operation::on_readers(std::size_t node, const resp::reply& reply, time_point now) {
    node_state& n = state_.nodes[node];
    if (n.state != key_state::shared) return;
    readers_[node] = wire::read_readers(reply, time_of(node, now));
    for (const std::string& value : readers_[node]) {
        n.readers.push_back(wire::abbreviate_owner(value));
    }
}

void inspect_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point now) {
    if (over_) return;
    if (round >= ask_of_slot) {
        slots_.answered(node, (round - ask_of_slot) / 3, questions[(round - ask_of_slot) % 3],
                        reply);
    } else if (round == ask_queue) {
        on_queue(node, reply, now);
    } else if (round == ask_readers) {
        on_readers(node, reply, now);
    } else if (round == ask_slots) {
        slots_.named(wire::read_slots(reply, time_of(node, now)));
    } else {
        note_answer(state_.nodes[node], values_[node], questions[round], reply);
    }
    answered(now);
}

// A node that fails is not queried about further slots; what it said of others counts.
void inspect_operation::on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                                   time_point now) {
    if (over_) return;
    talking_.erase(node);
    if (round < ask_of_slot) note_failure(state_.nodes[node], why);
    answered(now);
}

// What a node without a vote says is reported, but decides nothing.
void inspect_operation::note_standing(time_point now) {
    const auto answers = std::count_if(state_.nodes.begin(), state_.nodes.end(), [](const auto& n) {
        return n.state != key_state::unreachable && n.state != key_state::timed_out;
    });
    const bool is_decided =
        static_cast<std::size_t>(answers) >= redlock::quorum(state_.nodes.size());
    for (std::size_t i = 0; i < state_.nodes.size(); ++i) {
        node_state& n = state_.nodes[i];
        if (n.state != key_state::free && n.state != key_state::held &&
            n.state != key_state::shared && n.state != key_state::kept) {
            continue;
        }
        const auto o = client().tracker.object(i, now, now);
        if (!o || (o->lacks_quorum && !is_decided)) continue;
        const bool is_quarantine = o->why.answer == vote::quarantine;
        n.state = is_quarantine ? key_state::quarantine : key_state::refused;
        n.error = o->why.error;
        const std::string left = o->left > duration::zero() ? text::brief(o->left) + " more" : "";
        n.detail = is_quarantine ? left : o->why.detail;
    }
}

// As with votes, those count that a quorum of nodes names.
void inspect_operation::find_readers() {
    std::map<std::string_view, std::size_t> named;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
        if (state_.nodes[i].state != key_state::shared) continue;
        for (const std::string& value : readers_[i]) {
            if (++named[value] == state_.quorum) {
                state_.readers.push_back(wire::abbreviate_owner(value));
            }
        }
    }
}

// A lock of another library has no fence: the one that is found is that of a lease before it.
void inspect_operation::drop_foreign_fence() {
    for (std::size_t i = 0; i < state_.nodes.size(); ++i) {
        const node_state& n = state_.nodes[i];
        const bool is_winners =
            state_.held && n.state == key_state::held && n.owner == state_.owner;
        if (is_winners && !wire::is_of_our_form(values_[i])) state_.fence = 0;
    }
}

// A fence is a node's time in us when it was drawn, or a little ahead of it.
void inspect_operation::tell_age(time_point now) {
    const auto time_us = client().tracker.node_time_us(now);
    // Of several readers the fence is the last one's.
    if (!state_.held || state_.owner.empty() || !time_us || state_.fence == 0) return;
    const auto age_us = *time_us - static_cast<std::int64_t>(state_.fence);
    state_.held_for = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::microseconds(std::max<std::int64_t>(age_us, 0)));
}

void inspect_operation::answered(time_point now) {
    assert(open_ > 0);
    if (--open_ != 0) return;
    slots_.close();
    ask_for_slots(now);
    if (open_ != 0 || over_) return;
    state_.slots = slots_.take_held();
    state_.slot_count = slots_.count();
    note_standing(now);
    core::read_quorum(state_, values_);
    find_readers();
    drop_foreign_fence();
    tell_age(now);
    end({});
}

void inspect_operation::cancel(error_code why, time_point) { end(why); }

void inspect_operation::end(error_code outcome) {
    if (over_) return;
    over_ = true;
    client().host.finished(*this);
    complete(outcome, std::move(state_));
}

}  // namespace redlock::detail
