// Queries every node for the holders of a resource, for what is held, or for its runs.
// SPDX-License-Identifier: MIT
#include "client/inspect.hpp"

#include "core/lease.hpp"
#include "core/quorum.hpp"
#include "value/clock.hpp"
#include "value/options.hpp"
#include "value/text.hpp"
#include "wire/failure.hpp"
#include "wire/owner_value.hpp"

#include <algorithm>
#include <charconv>

namespace redlock::detail {

namespace {

void note_failure(node_state& node, const wire::failure& why) {
    switch (why.answer) {
        case vote::timed_out: node.state = key_state::timed_out; break;
        case vote::refused: node.state = key_state::refused; break;
        default: node.state = key_state::unreachable; break;
    }
    node.error = why.error;
    node.detail = why.detail;
}

void read_fence(node_state& node, const resp::reply& reply) {
    const std::string_view text = reply.text();
    const auto end = text.data() + text.size();
    const bool is_text = reply.type() == resp::reply_type::string;
    if (reply.type() == resp::reply_type::nil || (is_text && text.empty())) return;
    if (!is_text || std::from_chars(text.data(), end, node.fence).ptr != end ||
        node.fence >= core::fence_limit) {
        node.fence = 0;
        note_failure(node, {vote::refused, errc::foreign_data, "the fence key holds no fence"});
    }
}

// Notes what a node has of a key, and the whole value in `value`.
void read_key(node_state& node, std::string& value, const wire::key_view& key) {
    for (const resp::reply& one : {key.value, key.ttl}) {
        if (one.type() == resp::reply_type::error) {
            return note_failure(node, wire::read_failure(one));
        }
    }
    value = key.value.text();
    node.ttl = wire::read_pttl(key.ttl.integer());
    if (value.empty()) {
        const bool is_empty_value = key.ttl.integer() != -2;
        node.state = is_empty_value ? key_state::held : key_state::free;
    } else if (value == wire::shared_marker) {
        node.state = key_state::shared;
    } else {
        node.state = wire::is_kept(value) ? key_state::kept : key_state::held;
        node.owner = wire::abbreviate_owner(wire::without_kept_mark(value));
        node.note = wire::note_of(value);
    }
    read_fence(node, key.fence);
}

}  // namespace

// Nodes that are about to be opened are not yet in quarantine for good, so it waits for them.
bool inspect_operation::check() {
    result_.resource = resource_;
    return validate_resource(client().shared.options(), resource_).empty();
}

bool inspect_operation::go_on(time_point now) {
    find_slots(now);
    note_standing(now);
    core::read_quorum(result_, values_, client().shared.lists());
    is_conclusive_ =
        is_conclusive_ && core::is_conclusive(result_, values_, client().shared.lists());
    find_readers();
    drop_foreign_fence();
    tell_age(now);
    end({});
    return false;
}

bool inspect_operation::begin(time_point now) {
    const std::size_t size = client().shared.size();
    result_.nodes.resize(size);
    values_.resize(size);
    readers_.resize(size);
    for (std::size_t i = 0; i < size; ++i) result_.nodes[i].node = client().shared.name(i);
    for (const std::size_t i : silent_) {
        note_failure(result_.nodes[i], {vote::timed_out, errc::timed_out, {}});
    }
    ask(0, client().nodes.all() - silent_, now);
    return true;
}

bool inspect_operation::write(std::size_t, std::uint32_t, wire::request& out,
                              resp::script_form form) const {
    const std::string& prefix = client().shared.options().key_prefix;
    wire::write_view(out.words, form, prefix + resource_, prefix, client().shared.is_fenced());
    return true;
}

void inspect_operation::read(std::size_t node, std::uint32_t, const resp::reply& reply,
                             time_point) {
    node_state& n = result_.nodes[node];
    auto view = wire::read_view(reply);
    if (!view) return note_failure(n, wire::read_failure(reply));
    read_key(n, values_[node], view->key);
    if (n.state == key_state::shared) {
        readers_[node] = std::move(view->readers);
        for (const std::string& value : readers_[node]) {
            n.readers.push_back(wire::abbreviate_owner(value));
        }
    }
    const auto queue =
        wire::read_queue(view->waiting, client().shared.client_id(), view->time_ms);
    result_.waiting = std::max(result_.waiting, queue.waiting);
    // Where the nodes differ, the last place counts.
    if (queue.place) result_.place = std::max(result_.place.value_or(0), *queue.place);
    const bool is_least = result_.slot_count == 0 || view->slot_count < result_.slot_count;
    if (view->slot_count != 0 && is_least) result_.slot_count = view->slot_count;
    for (const wire::slot_view& slot : view->slots) read_slot(node, slot);
}

void inspect_operation::read_slot(std::size_t node, const wire::slot_view& slot) {
    slot_look& at = slots_[slot.number];
    at.state.nodes.resize(result_.nodes.size());
    at.values.resize(result_.nodes.size());
    read_key(at.state.nodes[node], at.values[node], slot.key);
}

void inspect_operation::failed(std::size_t node, std::uint32_t, const wire::failure& why,
                               time_point) {
    note_failure(result_.nodes[node], why);
}

// Those that a quorum of nodes has for the same owner. A node that does not name a slot has it
// free; what one without a vote says of slots is not reported.
void inspect_operation::find_slots(time_point now) {
    const node_lists& lists = client().shared.lists();
    for (auto& [number, at] : slots_) {
        for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
            node_state& n = at.state.nodes[i];
            if (!core::has_answered(result_.nodes[i]) || client().tracker.object(i, now, now)) {
                n = {};
                at.values[i].clear();
            } else if (n.state == key_state::unreachable) {
                n.state = key_state::free;
            }
        }
        core::read_quorum(at.state, at.values, lists);
        is_conclusive_ = is_conclusive_ && core::is_conclusive(at.state, at.values, lists);
        if (!at.state.held && !at.state.kept) continue;
        result_.slots.push_back({number, std::move(at.state.owner), at.state.fence,
                                 at.state.valid_for, at.state.kept, std::move(at.state.note)});
    }
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
        if (!core::has_answered(n)) continue;
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
    const bool has_some = std::ranges::any_of(notes, [](const auto& one) { return !one.empty(); });
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
    const auto time_us = client().tracker.known().fence_time_us(now);
    // Of several readers the fence is the last one's.
    if (!result_.held || result_.owner.empty() || !time_us || result_.fence == 0) return;
    const auto age_us = *time_us - static_cast<std::int64_t>(result_.fence);
    result_.held_for = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::microseconds(std::max<std::int64_t>(age_us, 0)));
}

bool list_operation::begin(time_point now) {
    const node_mask all = client().nodes.all();
    unused_ = all;
    pages_.resize(client().shared.size());
    while (!client().shared.lists().is_quorum(all - unused_)) ask_another(now);
    return true;
}

bool list_operation::go_on(time_point now) {
    if (unused_.empty() || client().shared.lists().is_quorum(complete_)) {
        end_by(complete_);
        return false;
    }
    ask_another(now);
    return true;
}

void list_operation::ask_another(time_point now) {
    if (unused_.empty() || is_over()) return;
    const std::size_t next = *unused_.begin();
    unused_.erase(next);
    ask(ask_for_page, node_mask::only(next), now);
}

bool list_operation::write(std::size_t node, std::uint32_t question, wire::request& out,
                           resp::script_form form) const {
    const page& at = pages_[node];
    if (question == ask_for_forms) {
        wire::write_forms(out.words, form, at.keys);
        return true;
    }
    wire::write_scan(out.words, at.cursor, client().shared.options().key_prefix + what_.prefix);
    return false;
}

void list_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                          time_point now) {
    if (question == ask_for_page) {
        const auto found = wire::read_scan(reply);
        return found ? read_page(node, *found, now) : ask_another(now);
    }
    const auto forms = wire::read_forms(reply, pages_[node].keys.size());
    forms ? finish_page(node, *forms, now) : ask_another(now);
}

void list_operation::read_page(std::size_t node, const wire::scanned& found, time_point now) {
    page& at = pages_[node];
    // A server goes on with each step, and comes to an end.
    const bool stands_still = found.cursor != "0" && found.cursor == at.cursor;
    if (stands_still || ++at.steps > most) return ask_another(now);
    at.cursor = found.cursor;
    at.keys.clear();
    for (std::size_t i = 0; i < found.keys.size(); ++i) {
        const std::string_view key = found.keys[i].text();
        if (is_news(key)) at.keys.emplace_back(key);
    }
    if (!what_.leases_only || at.keys.empty()) {
        return finish_page(node, std::string(at.keys.size(), '1'), now);
    }
    ask(ask_for_forms, node_mask::only(node), now);
}

// `forms`: of each key of the page whether it counts.
void list_operation::finish_page(std::size_t node, std::string_view forms, time_point now) {
    const page& at = pages_[node];
    const std::size_t prefix = client().shared.options().key_prefix.size();
    for (std::size_t i = 0; i < at.keys.size(); ++i) {
        if (forms[i] != '0') found_.insert(at.keys[i].substr(prefix));
    }
    if (found_.size() > most) return end(errc::backlog);
    if (at.cursor != "0") return ask(ask_for_page, node_mask::only(node), now);
    complete_.insert(node);
}

void list_operation::failed(std::size_t, std::uint32_t, const wire::failure&, time_point now) {
    ask_another(now);
}

// Whether it is the key of a resource that was not found yet. Most keys are fences of resources
// that nobody holds: their names are not copied.
bool list_operation::is_news(std::string_view key) const {
    const client_options& options = client().shared.options();
    if (!key.starts_with(options.key_prefix)) return false;
    const std::string_view resource = key.substr(options.key_prefix.size());
    return role_of(options.key_prefix, resource) == key_role::lock &&
           found_.find(resource) == found_.end() && validate_resource(options, resource).empty();
}

std::vector<std::string> list_operation::take_result() {
    std::vector<std::string> names;
    names.reserve(found_.size());
    while (!found_.empty()) names.push_back(std::move(found_.extract(found_.begin()).value()));
    std::ranges::sort(names);
    return names;
}

bool runs_operation::check() {
    return validate_resource(client().shared.options(), resource_).empty() &&
           (!noted_ || (!noted_->id.empty() && keep_ > keep_.zero()));
}

bool runs_operation::begin(time_point now) {
    ask(0, client().nodes.all(), now);
    return true;
}

bool runs_operation::go_on(time_point) {
    std::ranges::sort(result_, [](const run_record& one, const run_record& other) {
        return one.start != other.start ? one.start > other.start : one.id < other.id;
    });
    const bool is_enough = client().shared.lists().is_quorum(answered_);
    const error_code why = refused_ ? refused_ : error_code(errc::no_quorum);
    end(is_enough ? error_code() : why);
    return false;
}

bool runs_operation::write(std::size_t, std::uint32_t, wire::request& out,
                           resp::script_form form) const {
    const std::string& prefix = client().shared.options().key_prefix;
    wire::write_runs(out.words, form, prefix + resource_, prefix, noted_, keep_);
    return true;
}

void runs_operation::read(std::size_t node, std::uint32_t, const resp::reply& reply, time_point) {
    auto runs = wire::read_runs(reply);
    if (!runs) {
        refused_ = wire::read_failure(reply).error;
        return;
    }
    answered_.insert(node);
    for (run_record& run : *runs) {
        const auto known = std::ranges::find(result_, run.id, &run_record::id);
        if (known == result_.end()) {
            result_.push_back(std::move(run));
        } else if (run.end && !known->end) {
            // A node that was down when a run ended knows of its start alone.
            *known = std::move(run);
        }
    }
}

}  // namespace redlock::detail
