// Rounds that prolong leases, called by a holder or due by the clock, and the downgrade to a
// reader's.
// SPDX-License-Identifier: MIT
#include "client/extend.hpp"

#include "client/survey.hpp"
#include "value/options.hpp"
#include "value/text.hpp"

#include <algorithm>
#include <cassert>

namespace redlock::detail {

namespace {

// What a renewal asks for at once.
constexpr std::uint32_t most_leases = 512;

}  // namespace

void extension_round::add(held_lease_ptr lease, duration ttl, bool sets_ttl) {
    assert(size() < most_leases);
    const auto index = machine_.add(ttl, sets_ttl, &lease->refused());
    part& p = parts_.emplace_back(*this, std::move(lease), index);
    p.lease->add(p);
}

// What tells the session's answers apart: the round, and the lease.
std::uint32_t extension_round::tag(const part& p) const noexcept {
    assert(p.index < most_leases);
    return machine_.round() * most_leases + static_cast<std::uint32_t>(p.index);
}

extension_round::part& extension_round::part_of(std::uint32_t tag) noexcept {
    assert(tag % most_leases < size());
    return parts_[tag % most_leases];
}

bool extension_round::is_present(std::uint32_t tag) const noexcept {
    return tag / most_leases == machine_.round();
}

// A node that has to take the key again keeps it for as long as the others do.
duration extension_round::keys_live_for(const part& p, time_point now) const {
    return std::max(machine_.ttl(p.index), p.lease->left().to_keep(now));
}

void extension_round::write(wire::request& out, const part& p, time_point now) const {
    const footprint& left = p.lease->left();
    const duration ttl = keys_live_for(p, now);
    wire::write_extend(*left.kind, out, left.request(ttl),
                       fence_ ? &*fence_ : nullptr, p.prolongs_fence);
    out.keeps_for = ttl;
}

void extension_round::send(time_point now) {
    assert(size() > 0 && !is_over());
    const node_lists& lists = client().shared.lists();
    if (machine_.round() > 0) first_ = present();
    const auto bounds = machine_.begin(lists, client().shared.drift(), now,
                                       client().nodes.time_for_quorum(lists));
    answers_ = {};
    failures_.clear();
    requested_ = machine_.open();
    complete_ = {};
    if (client().shared.is_fenced()) {
        fence_ = client().tracker.propose(bounds.seen, now, bounds.raised);
        if (!fence_) return cancel(errc::no_quorum, now);
    }
    const node_mask ask = client().tracker.askable();
    std::vector<std::pair<part*, node_mask>> unsent;
    for (part& p : parts_) {
        if (!machine_.is_open(p.index)) continue;
        p.prolongs_fence = fence_ && p.lease->left().renew_fences(now, keys_live_for(p, now));
        wire::request& wire = client().nodes.blank();
        write(wire, p, now);
        const auto result = client().nodes.send(*this, tag(p), wire, now, ask);
        p.lease->left().note_sent(result.sent, fence_ ? fence_->fence : 0);
        const node_mask missing = client().nodes.all() - result.sent;
        for (const auto& [node, why] : result.failures) note(node, why);
        if (!missing.empty()) unsent.emplace_back(&p, missing);
    }
    // The last lease that is decided may begin the next round.
    const std::uint32_t round = machine_.round();
    for (const auto& [p, missing] : unsent) {
        for (const std::size_t node : missing) {
            if (round != machine_.round()) continue;
            cast(*p, node, {}, now, p->lease->keys().found(node));
        }
    }
}

void extension_round::on_reply(std::size_t node, std::uint32_t tag, const resp::reply& reply,
                               time_point now) {
    part& p = part_of(tag);
    p.lease->keys().note_answer(node, now);
    if (!is_present(tag)) return learn(node, tag, reply, now);
    const time_point sent = machine_.sent();
    assert(answers_[node] < requested_);
    const node_lists& lists = client().shared.lists();
    if (++answers_[node] == requested_ && !lists.is_quorum(complete_)) {
        complete_.insert(node);
        if (lists.is_quorum(complete_)) on_answered(sent, now);
    }
    const sight seen = look(node, tag, reply, now);
    cast(p, node, seen.counted, now, seen.found);
}

void extension_round::on_late_reply(std::size_t node, std::uint32_t tag, const resp::reply& reply,
                                    time_point now) {
    part_of(tag).lease->keys().note_late_answer(node);
    learn(node, tag, reply, now);
}

// An answer that is no vote any more. It may say that the key was gone, which no later answer of
// the node does.
void extension_round::learn(std::size_t node, std::uint32_t tag, const resp::reply& reply,
                            time_point now) {
    held_lease& lease = *part_of(tag).lease;
    if (look(node, tag, reply, now).counted.is_revoked && !lease.is_over()) {
        note_failed(lease, errc::not_held, now, 0);
    }
}

// What an answer says, and what it shows of the key.
extension_round::sight extension_round::look(std::size_t node, std::uint32_t tag,
                                             const resp::reply& reply, time_point now) {
    part& p = part_of(tag);
    const sending of = is_present(tag) ? present() : first_;
    const judgement j = client().tracker.judge(node, of.sent, wire::read_signs(reply), now);
    if (is_present(tag)) {
        if (reply.type() == resp::reply_type::error) note(node, wire::read_failure(reply));
        else if (j.against) note(node, j.against->why);
    }
    const wire::compare_answer said = wire::read_extension(reply);
    sight seen{j.weigh(said), core::key_finding::unknown};
    core::key_history& keys = p.lease->keys();
    const time_point since = p.lease->machine().last_sent();
    if (seen.counted.choice == core::choice::unable) {
        // One that lost its data has another record than this client knows.
        const time_point first = keys.horizon(since, now);
        const bool had_no_vote = said.why.answer != vote::quarantine &&
                                 client().tracker.known().votes().has_had_no_vote(node, first, now);
        seen.found = had_no_vote ? core::key_finding::kept : keys.found(node);
    } else if (machine_.is_open(p.index) || !machine_.is_acquitted(p.index)) {
        seen.found = keys.find(node, seen.counted.choice, seen.counted.was_free,
                               seen.counted.fence, since, now);
    }
    // Also a node without a vote, which may have one by the next renewal.
    if (said.choice == core::choice::yes) {
        p.holders.insert(node);
        if (since <= of.sent) keys.note_holder(node);
        if (said.was_free && of.fence != 0) keys.note_taken(node, of.fence, now);
    }
    return seen;
}

void extension_round::on_failure(std::size_t node, std::uint32_t tag, const wire::failure& why,
                                 time_point now) {
    part& p = part_of(tag);
    if (!why.is_unsent) p.lease->keys().note_silent(node);
    if (!is_present(tag)) return;
    note(node, why);
    cast(p, node, {}, now, p.lease->keys().found(node));
}

// The first of each node: what it refuses for one lease it refuses for the others, too.
void extension_round::note(std::size_t node, const wire::failure& why) {
    const auto is_of_node = [node](const auto& known) { return known.first == node; };
    if (std::ranges::any_of(failures_, is_of_node)) return;
    failures_.emplace_back(node, why);
}

std::string extension_round::reasons() const {
    std::string out;
    for (const auto& [node, why] : failures_) {
        node_vote as_vote;
        note_failure(as_vote, why);
        out += (out.empty() ? "" : "; ") + text::printable(client().shared.name(node)) + ": " +
               text::cause(as_vote);
    }
    return out;
}

void extension_round::note_failed(held_lease& lease, error_code why, time_point now,
                                  std::uint64_t random) const {
    lease.renewal_failed(why, reasons(), machine_.sent(), now, random);
}

// A lease that is over must not be taken again.
bool extension_round::is_wanted(std::uint32_t tag) const noexcept {
    return tag / most_leases == machine_.round() && machine_.is_open(tag % most_leases);
}

duration extension_round::lease_ttl(std::uint32_t tag) const noexcept {
    return machine_.ttl(tag % most_leases);
}

bool extension_round::write_again(std::size_t, std::uint32_t tag, wire::request& out,
                                  time_point now) const {
    assert(tag % most_leases < size());
    write(out, parts_[tag % most_leases], now);
    return true;
}

void extension_round::cast(part& p, std::size_t node, const wire::compare_answer& answer,
                           time_point now, core::key_finding found) {
    const std::uint64_t refused = answer.choice == core::choice::no ? answer.fence : 0;
    if (p.lease->keys().has_seen_another()) machine_.note_another(p.index);
    switch (answer.is_revoked ? machine_.revoke(p.index)
                              : machine_.cast(p.index, node, answer.choice, found, refused, now,
                                              p.lease->machine().valid_until())) {
        case core::extension::verdict::open: return;
        case core::extension::verdict::extended:
            p.lease->keys().note_extended(p.holders, p.lease->machine().last_sent(),
                                          machine_.valid_until(p.index),
                                          machine_.is_acquitted(p.index));
            if (!p.lease->extended(machine_.sent(), machine_.valid_until(p.index),
                                   machine_.new_ttl(p.index))) {
                return end(p, errc::lost, now);
            }
            client().shared.counts().renewals.add();
            client().shared.counts().renewal.add(now - machine_.sent());
            client().shared.emit(p.lease->event_of(event_kind::renewed, severity::debug,
                                                   machine_.sent(), now));
            return end(p, {}, now);
        case core::extension::verdict::failed: return end(p, machine_.reason(p.index), now);
        case core::extension::verdict::again: return go_on(now);
    }
}

void extension_round::cancel(error_code why, time_point now) {
    if (parts_.empty()) return end_unsent(why, now);
    machine_.end_rounds();
    for (part& p : parts_) end(p, why, now);
}

void extension_round::end(part& p, error_code outcome, time_point now) {
    if (!machine_.end(p.index)) return;
    p.part::dependent::part();
    on_end(p.lease.get(), outcome, now);
    go_on(now);
}

void extension_round::end_unsent(error_code outcome, time_point now) {
    if (is_over()) return;
    on_end(nullptr, outcome, now);
    finish(now, now);  // no node is to be blamed for the time that it waited
}

// Begins the next round, or ends the operation.
void extension_round::go_on(time_point now) {
    switch (machine_.what_next()) {
        case core::extension_rounds::next::wait: return;
        case core::extension_rounds::next::begin: return send(now);
        case core::extension_rounds::next::finished: return finish(machine_.sent(), now);
    }
}

void extension_round::finish(time_point sent, time_point now) {
    assert(sent <= now);
    if (leave()) on_finished(sent, now);
}

bool renewal_round::take(const held_lease_ptr& lease) {
    // It may have no need any more.
    if (lease->is_over() || !lease->machine().is_renewing()) return true;
    if (size() == most_leases) return false;
    add(lease, lease->machine().ttl(), false);
    return true;
}

void renewal_round::start(time_point now) {
    if (size() == 0) return end_unsent(errc::not_held, now);
    random_ = client().shared.random_word();
    send(now);
}

void renewal_round::on_end(held_lease* lease, error_code outcome, time_point now) {
    const bool is_closing = outcome == errc::client_closed;
    const bool is_missed = outcome && !is_closing;
    if (is_missed && lease != nullptr && !lease->is_over()) {
        note_failed(*lease, outcome, now, random_);
    }
}

void renewal_round::on_answered(time_point sent, time_point now) {
    if (std::exchange(is_counted_, false)) window_.answered(sent, now);
}

void renewal_round::on_finished(time_point sent, time_point now) {
    if (std::exchange(is_counted_, false)) window_.unanswered(sent, now);
}

std::pair<held_lease_ptr, error_code> holders_extension::find(time_point now) {
    const auto state = std::move(state_);
    const bool is_ours = state && state->home.lock() == client().host.home();
    if (!is_ours) return {nullptr, errc::invalid_argument};
    if (state->is_held()) held_lease_ptr(state->held_as)->look_at_clock(now);
    if (state->is_held()) return {held_lease_ptr(state->held_as), {}};
    const bool was_lost = state->state() == lease_state::status::lost;
    return {nullptr, was_lost ? errc::lost : errc::not_held};
}

void extend_operation::start(time_point now) {
    const auto [lease, why] = find(now);
    if (why == errc::invalid_argument || ttl_ <= std::chrono::milliseconds::zero() ||
        !validate(acquire_options{.ttl = ttl_}, client().shared.options()).empty()) {
        return end_unsent(errc::invalid_argument, now);
    }
    if (why) return end_unsent(why, now);
    if (longest_validity(client().shared.options(), ttl_) <= lease->machine().loss_margin()) {
        return end_unsent(errc::invalid_argument, now);
    }
    add(lease, ttl_, true);
    send(now);
}

void holders_extension::on_end(held_lease* lease, error_code outcome, time_point now) {
    complete(outcome);
    // If a quorum of nodes denies the lease it ends, as after a renewal.
    if (outcome == errc::not_held && lease != nullptr && !lease->is_over()) {
        note_failed(*lease, outcome, now, 0);
    }
}

void renewals::add(held_lease& what) {
    assert(!what.is_over());
    // It may become due again while it waits here, since the holder may extend it. A round must not
    // name it twice: the second answer would deny its own key.
    if (what.set_due(true)) return;
    due_.push({what.machine().report_at(), held_lease_ptr(&what)});
}

boost::intrusive_ptr<renewal_round> renewals::next_round() {
    if (due_.empty() || !window_.has_room()) return nullptr;
    auto round = boost::intrusive_ptr<renewal_round>(new renewal_round(window_));
    while (!due_.empty() && round->take(due_.top().lease)) {
        due_.top().lease->set_due(false);
        due_.pop();
    }
    window_.enter();
    return round;
}

void downgrade_operation::start(time_point now) {
    const auto [lease, why] = find(now);
    if (why) return end_unsent(why, now);
    if (lease->is_shared_by_quorum()) return end_unsent({}, now);
    const footprint& left = lease->left();
    if (!left.kind->is_shared) {
        const bool may_share = left.kind == &wire::fenced_lock && !left.began_elsewhere &&
                               left.to_keep(now) == duration::zero();
        if (!may_share || !lease->share()) return end_unsent(errc::invalid_argument, now);
    }
    add(lease, lease->machine().ttl(), false);
    // Behind it on the same connections: readers of this client that wait.
    client().local.shared(lease->state().resource);
    send(now);
}

void downgrade_operation::on_end(held_lease* lease, error_code outcome, time_point now) {
    if (lease != nullptr && !outcome) lease->note_shared();
    holders_extension::on_end(lease, outcome, now);
}

}  // namespace redlock::detail
