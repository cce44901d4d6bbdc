// Queries every node for the holders of a resource, or for what is held.
// SPDX-License-Identifier: MIT
#include "client/inspect.hpp"

#include "client/survey.hpp"
#include "core/lease.hpp"
#include "core/quorum.hpp"
#include "value/clock.hpp"
#include "value/options.hpp"
#include "value/text.hpp"
#include "wire/failure.hpp"
#include "wire/owner_value.hpp"
#include "wire/questions.hpp"
#include "wire/request.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

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
        node.note = wire::note_of(value);
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

void slot_survey::named(const wire::slots_answer& by_a_node) {
    open_.insert(by_a_node.taken.begin(), by_a_node.taken.end());
    if (by_a_node.count == 0) return;
    count_ = count_ == 0 ? by_a_node.count : std::min(count_, by_a_node.count);
}

std::vector<std::uint16_t> slot_survey::next() {
    assert(nodes_.size() > 0);
    std::vector<std::uint16_t> out;
    looks_.clear();
    while (!open_.empty() && out.size() < most_at_once) {
        out.push_back(*open_.begin());
        open_.erase(open_.begin());
        look& made = looks_.emplace_back();
        made.slot = out.back();
        made.state.nodes.resize(nodes_.size());
        made.values.resize(nodes_.size());
    }
    return out;
}

void slot_survey::answered(std::size_t node, std::size_t i, key_question what,
                           const resp::reply& reply) {
    assert(i < looks_.size() && nodes_.all().contains(node));
    look& at = looks_[i];
    note_answer(at.state.nodes.at(node), at.values.at(node), what, reply);
}

void slot_survey::close() {
    for (look& each : looks_) {
        core::read_quorum(each.state, each.values, nodes_);
        is_conclusive_ = is_conclusive_ && core::is_conclusive(each.state, each.values, nodes_);
        if (!each.state.held && !each.state.kept) continue;
        slot_state out;
        out.number = each.slot;
        out.owner = std::move(each.state.owner);
        out.fence = each.state.fence;
        out.valid_for = each.state.valid_for;
        out.kept = each.state.kept;
        out.note = std::move(each.state.note);
        held_.push_back(std::move(out));
    }
    looks_.clear();
}

namespace {

// Entries beyond that are not read: the counts stop there.
constexpr std::size_t most_in_queue = 1'000;
constexpr std::size_t most_readers = 1'000;
// In the order of their numbers.
constexpr key_question questions[] = {key_question::value, key_question::ttl, key_question::fence};

}  // namespace

// Nodes that are about to be opened are not yet in quarantine for good, so it waits for them.
error_code inspect_operation::check() {
    result_.resource = resource_;
    const bool is_valid = validate_resource(client().shared.options(), resource_).empty();
    return is_valid ? error_code() : error_code(errc::invalid_argument);
}

bool inspect_operation::go_on(time_point now) {
    if (!std::exchange(has_begun_, true)) {
        begin(now);
        return true;
    }
    slots_.close();
    if (ask_for_slots(now)) return true;
    count(now);
    end({});
    return false;
}

// All nodes have said what they have.
void inspect_operation::count(time_point now) {
    result_.slots = slots_.take_held();
    result_.slot_count = slots_.count();
    note_standing(now);
    core::read_quorum(result_, values_, client().shared.lists());
    is_conclusive_ = core::is_conclusive(result_, values_, client().shared.lists()) &&
                     slots_.is_conclusive();
    find_readers();
    drop_foreign_fence();
    tell_age(now);
}

void inspect_operation::begin(time_point now) {
    const std::size_t size = client().shared.size();
    result_.nodes.resize(size);
    values_.resize(size);
    readers_.resize(size);
    for (std::size_t i = 0; i < size; ++i) result_.nodes[i].node = client().shared.name(i);
    slots_.begin(client().shared.lists());
    talking_ = client().nodes.all() - silent_;
    for (const std::size_t i : silent_) {
        note_failure(result_.nodes[i], {vote::timed_out, errc::timed_out, {}});
    }
    const node_mask nodes = talking_;  // a node that fails at once is not among them any more
    const std::string& prefix = client().shared.options().key_prefix;
    const std::string key = prefix + resource_;
    ask_about(ask_value, key, nodes, now);
    if (!client().shared.is_fenced()) return;
    wire::request get_queue;
    wire::request get_readers;
    wire::request get_slots;
    wire::write_get_queue(get_queue.words, wire::queue_key(prefix, key), most_in_queue);
    wire::write_get_readers(get_readers.words, wire::readers_key(prefix, key), most_readers);
    wire::write_get_slots(get_slots.words, wire::slots_of(prefix, key));
    ask(ask_queue, get_queue, nodes, now);
    ask(ask_readers, get_readers, nodes, now);
    ask(ask_slots, get_slots, nodes, now);
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

// The keys of those that the nodes named. False if there are none.
bool inspect_operation::ask_for_slots(time_point now) {
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
        const key_state s = result_.nodes[i].state;
        const bool has_vote = !client().tracker.object(i, now, now);
        const bool has_answered = s == key_state::free || s == key_state::held ||
                                  s == key_state::shared || s == key_state::kept;
        if (!has_vote || !has_answered) talking_.erase(i);
    }
    const auto batch = slots_.next();
    if (batch.empty() || talking_.empty()) return false;
    const node_mask nodes = talking_;
    const std::string key = client().shared.options().key_prefix + resource_;
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
        ask_about(ask_of_slot + 3 * i, key + wire::slot_suffix(batch[i]), nodes, now);
    }
    return true;
}

std::optional<std::int64_t> inspect_operation::time_of(std::size_t node, time_point now) const {
    const auto us = client().tracker.node_time_us(node, now);
    return us ? std::optional(*us / 1'000) : std::nullopt;
}

// The queue is advice: a node that has none, or does not show it, still counts as having answered.
void inspect_operation::on_queue(std::size_t node, const resp::reply& reply, time_point now) {
    const auto queue = wire::read_queue(reply, client().shared.client_id(), time_of(node, now));
    result_.waiting = std::max(result_.waiting, queue.waiting);
    // Where the nodes differ, the last place counts.
    if (queue.place) result_.place = std::max(result_.place.value_or(0), *queue.place);
}

// The value of a key that is not shared names its holder; the set may be left from earlier
// readers.
void inspect_operation::on_readers(std::size_t node, const resp::reply& reply, time_point now) {
    node_state& n = result_.nodes[node];
    if (n.state != key_state::shared) return;
    readers_[node] = wire::read_readers(reply, time_of(node, now));
    for (const std::string& value : readers_[node]) {
        n.readers.push_back(wire::abbreviate_owner(value));
    }
}

void inspect_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                             time_point now) {
    if (question >= ask_of_slot) {
        slots_.answered(node, (question - ask_of_slot) / 3, questions[(question - ask_of_slot) % 3],
                        reply);
    } else if (question == ask_queue) {
        on_queue(node, reply, now);
    } else if (question == ask_readers) {
        on_readers(node, reply, now);
    } else if (question == ask_slots) {
        slots_.named(wire::read_slots(reply, time_of(node, now)));
    } else {
        note_answer(result_.nodes[node], values_[node], questions[question], reply);
    }
}

// A node that fails is not queried about further slots; what it said of others counts.
void inspect_operation::failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                               time_point) {
    talking_.erase(node);
    if (question < ask_of_slot) note_failure(result_.nodes[node], why);
}

// What a node without a vote says is reported, but decides nothing.
void inspect_operation::note_standing(time_point now) {
    node_mask answers;
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
        const key_state state = result_.nodes[i].state;
        answers.set(i, state != key_state::unreachable && state != key_state::timed_out);
    }
    const bool is_decided = client().shared.lists().is_quorum(answers);
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
        node_state& n = result_.nodes[i];
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
    const node_lists& lists = client().shared.lists();
    std::map<std::string_view, node_mask> named;
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
        if (result_.nodes[i].state != key_state::shared) continue;
        for (const std::string& value : readers_[i]) {
            node_mask& by = named[value];
            if (lists.is_quorum(by)) continue;
            by.insert(i);
            if (lists.is_quorum(by)) {
                result_.readers.push_back(wire::abbreviate_owner(value));
                notes.push_back(wire::note_of(value));
            }
        }
    }
    const bool has_some = std::any_of(notes.begin(), notes.end(),
                                      [](const std::string& text) { return !text.empty(); });
    if (has_some) result_.reader_notes = std::move(notes);
}

// A lock of another library has no fence: the one that is found is that of a lease before it.
void inspect_operation::drop_foreign_fence() {
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
        const node_state& n = result_.nodes[i];
        const bool is_winners =
            result_.held && n.state == key_state::held && n.owner == result_.owner;
        if (is_winners && !wire::is_of_our_form(values_[i])) result_.fence = 0;
    }
}

// A fence is a node's time in us when it was drawn, or a little ahead of it.
void inspect_operation::tell_age(time_point now) {
    const auto time_us = client().tracker.node_time_us(now);
    // Of several readers the fence is the last one's.
    if (!result_.held || result_.owner.empty() || !time_us || result_.fence == 0) return;
    const auto age_us = *time_us - static_cast<std::int64_t>(result_.fence);
    result_.held_for = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::microseconds(std::max<std::int64_t>(age_us, 0)));
}

bool list_operation::go_on(time_point now) {
    if (!std::exchange(has_begun_, true)) {
        unused_ = client().nodes.all();
        const node_mask all = unused_;
        while (!client().shared.lists().is_quorum(all - unused_)) ask_another(now);
        return true;
    }
    const bool is_missing_some = !client().shared.lists().is_quorum(complete_);
    if (is_missing_some && !unused_.empty()) {
        ask_another(now);
        return true;
    }
    end(is_missing_some ? error_code(errc::no_quorum) : error_code());
    return false;
}

void list_operation::ask_another(time_point now) {
    if (unused_.empty() || is_over()) return;
    const std::size_t next = *unused_.begin();
    unused_.erase(next);
    ask_for_page(next, "0", now);
}

void list_operation::ask_for_page(std::size_t node, std::string_view cursor, time_point now) {
    wire::request scan;
    wire::write_scan(scan.words, cursor, client().shared.options().key_prefix + prefix_);
    ask(0, scan, node_mask::only(node), now);
}

void list_operation::read(std::size_t node, std::uint32_t, const resp::reply& reply,
                          time_point now) {
    const auto page = wire::read_scan(reply);
    if (!page) return ask_another(now);
    for (std::size_t i = 0; i < page->keys.size(); ++i) note(page->keys[i].text());
    if (found_.size() > most) return end(errc::backlog);
    if (page->cursor != "0") return ask_for_page(node, page->cursor, now);
    complete_.insert(node);
}

void list_operation::failed(std::size_t, std::uint32_t, const wire::failure&, time_point now) {
    ask_another(now);
}

// Most keys are fences of resources that nobody holds: their names are not copied.
void list_operation::note(std::string_view key) {
    const client_options& options = client().shared.options();
    if (!key.starts_with(options.key_prefix)) return;
    const std::string_view resource = key.substr(options.key_prefix.size());
    if (role_of(options.key_prefix, resource) != key_role::lock) return;
    const bool is_new = found_.find(resource) == found_.end();
    if (is_new && validate_resource(options, resource).empty()) found_.emplace(resource);
}

std::vector<std::string> list_operation::take_result() {
    std::vector<std::string> names;
    names.reserve(found_.size());
    while (!found_.empty()) names.push_back(std::move(found_.extract(found_.begin()).value()));
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace redlock::detail
