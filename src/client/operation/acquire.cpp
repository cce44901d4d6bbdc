// Acquiring a lease.
// SPDX-License-Identifier: MIT
#include "client/operation/acquire.hpp"

#include "client/operation/client_parts.hpp"
#include "client/operation/granting.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::detail {

namespace {

static_assert(sizeof(acquire_operation) <= largest_recycled, "each acquire would ask malloc");

core::outlook outlook_of(const wire::acquire_answer& answer, time_point now) noexcept {
    core::outlook o = core::look_ahead(answer.left, answer.before, now);
    o.is_foreign = answer.is_foreign && answer.blocked == 0;  // of several, alone in the way
    o.holder = answer.holder;
    o.blocked = answer.blocked;
    return o;
}

}  // namespace

// Why nothing may be sent; empty when all is well.
std::string acquire_operation::check() {
    auto why = request_.why_invalid(client().shared.options());
    if (!why.empty() || request_.options().owner.is_zero()) return why;
    claim_ = client().owners.begin(request_.options().owner, request_.resources());
    return claim_ ? std::string() : "this owner holds, or is acquiring, the resource already";
}

void acquire_operation::start(time_point now) {
    begun_ = now;
    try_.start(client());
    span_ = client().shared.begin_span(span_kind::acquire, request_.options().span,
                                       request_.shown(), now);
    if (const auto why = check(); !why.empty()) return end(errc::invalid_argument, now, why);
    machine_.begin(client().shared.options(), client().shared.lists(), request_.options(), keys(),
                   now);
    is_counted_ = machine_.waits();
    if (is_counted_) client().shared.counts().begun_waits.add();
    client().tracker.take_role(core::record_role::keeps, now);
    client().host.await_settled(*this, now);
}

void acquire_operation::on_settled(time_point now) {
    const duration longest = client().nodes.time_for_all(machine_.ttl());
    carry_out(machine_.settled(now, longest), now);
}

void acquire_operation::carry_out(const core::acquisition::actions& what, time_point now) {
    for (const action one : what) carry_out(one, now);
}

void acquire_operation::carry_out(action what, time_point now) {
    using enum core::acquisition::action;
    switch (what) {
        case begin_try: return this->begin_try(now);
        case second_round: client().shared.counts().second_rounds.add(); return send_round(now);
        case release: return give_back(false, now);
        case leave: return give_back(true, now);
        case apply: return this->apply(now);
        case join: return this->join();
        case ask_for_turn: return client().local.ask(*this);
        case end_turn: return client().local.sleeps(*this);
        case rest: return client().local.rests(*this, true);
        case rest_in_turn: return client().local.rests(*this, false);
        case arm: return this->arm();
        case await_wake_up:
            return client().remote.put_to_sleep(*this, machine_.entered_now(), try_.sent_at(),
                                                now);
        case draw_ticket: return try_.draw_ticket(now);
        case judge: return refused(machine_.reason(), now);
        case recall_votes: return try_.recall();
        case grant: return take(now);
        case refuse: return end(machine_.reason(), now);
        case stand_aside: return this->stand_aside(now);
        case turn_away: return this->turn_away(now);
    }
}

void acquire_operation::on_turn(time_point now) { carry_out(machine_.turn(), now); }

void acquire_operation::on_due(time_point now) {
    const bool is_behind = is_queued() && !client().local.is_in_front(*this);
    carry_out(machine_.due(now, client().shared.own_delay().extra(), is_behind), now);
}

void acquire_operation::on_admitted(time_point now) {
    timer::cancel();
    const bool others_wait = client().local.is_any_waited_for(request_.resources(),
                                                              request_.places(client().shared));
    carry_out(machine_.admitted(others_wait), now);
}

void acquire_operation::arm() noexcept { client().shared.arm(*this, machine_.due_at()); }

// It does not wait for the lock, but for the acquires that applied before it.
void acquire_operation::apply(time_point now) {
    using enum core::admission::answer;
    switch (client().admission.apply(*this)) {
        case enter: return on_admitted(now);
        case wait:
            return client().shared.arm(*this, now + client().shared.options().connect_timeout);
        case go_away: return turn_away(now);
    }
}

// One in front gets its turn at the end of this turn of the engine.
void acquire_operation::join() {
    client().local.join(*this, request_.resources(), request_.places(client().shared));
    machine_.joined(client().local.is_in_front(*this));
}

void acquire_operation::turn_away(time_point now) {
    try_.set_all(vote::unreachable, errc::backlog,
                  "this client asks the nodes for too much else");
    end(errc::no_quorum, now);
}

void acquire_operation::stand_aside(time_point now) {
    try_.set_all(vote::queued, {},
                  client().local.is_any_taken(request_.resources())
                      ? "this client holds it"
                      : "others of this client wait before us");
    end(errc::contended, now);
}

void acquire_operation::begin_try(time_point now) {
    assert(!granted_ && (is_queued() || !machine_.waits()));
    client().remote.wake(*this);
    steps_ = client().tracker.list_steps();
    try_.begin(span_, now);
    if (machine_.tries() > 1) client().shared.counts().retries.add();
    send_round(now);
    if (machine_.is_trying() && machine_.waits()) arm();
}

void acquire_operation::send_round(time_point now) {
    const std::uint32_t round = try_.begin_round(now);
    if (!try_.draw_fence(now)) return refused(errc::no_quorum, now);
    const node_mask ask = client().tracker.askable();
    for (const std::size_t i : client().nodes.all() - ask) {
        if (const auto o = client().tracker.object(i, now, now)) on_failure(i, round, o->why, now);
    }
    // It is entered only where a wake-up would reach it.
    const node_mask enter =
        machine_.may_be_entered() ? ask & client().remote.listening() : node_mask();
    send_to(enter, true, round, now);
    send_to(ask - enter, false, round, now);
}

void acquire_operation::send_to(node_mask nodes, bool is_entered, std::uint32_t round,
                                time_point now) {
    if (!machine_.is_open(round)) return;
    const auto result = try_.send(*this, nodes, is_entered, now);
    for (const auto& [node, why] : result.failures) on_failure(node, round, why, now);
}

void acquire_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point now) {
    const time_point sent = try_.sent_at();
    if (!machine_.is_open(round)) {
        // A late grant is released with the lease, or was already. The node is not greeted again
        // for it: two clients whose cluster times differ would have each other do so with every
        // answer that is still on its way.
        if (wire::is_late(reply)) client().tracker.note(node, sent, {.is_late = true}, now);
        if (is_asleep() && round == machine_.round()) learn_after(node, reply, now);
        if (granted_ && round == machine_.round()) granted_too(node, reply);
        return;
    }
    const judgement j = client().tracker.judge(node, sent, wire::read_signs(reply), now);
    auto answer = wire::read_acquire(try_.kind(), reply);
    answer.which = std::min(answer.which, keys() - 1);  // a node may say anything
    // However the votes fall, and whichever nodes are still silent: the nodes keep up with the
    // requests.
    if (machine_.completes_quorum(node)) client().admission.answered(*this, sent, now);
    if (j.believes(answer.fence)) machine_.saw(answer.fence);
    if (answer.lacks_fence) {
        client().tracker.found_without_fence(node, request_.resources()[answer.which],
                                             answer.why.detail);
    }
    cast(node, j.weigh(std::move(answer)), now);
}

// The round is over, and the waiter asleep: it still learns from the answer.
void acquire_operation::learn_after(std::size_t node, const resp::reply& reply, time_point now) {
    if (const auto o = client().tracker.object(node, try_.sent_at(), now)) {
        return answered(node, {.free_at = now + o->left}, false, now);
    }
    const auto answer = wire::read_acquire(try_.kind(), reply);
    const bool has_voted = core::weigh(answer.answer) != core::choice::unable;
    answered(node, outlook_of(answer, now), has_voted, now);
}

// A node that the quorum did not need.
void acquire_operation::granted_too(std::size_t node, const resp::reply& reply) {
    if (!machine_.still_entered().contains(node) || machine_.tries() > 1) return;
    const auto answer = wire::read_acquire(try_.kind(), reply);
    if (answer.answer == vote::granted && granted_->is_held())
        granted_->held_as->left().left_queue_of(node);
}

void acquire_operation::on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                                   time_point now) {
    if (machine_.is_open(round)) cast(node, {.answer = why.answer, .why = why}, now);
}

bool acquire_operation::write_again(std::size_t node, std::uint32_t, wire::request& out,
                                    time_point) const {
    if (try_.kind().is_plain_set) return false;  // SET calls no script
    const bool is_held = granted_ && granted_->is_held();
    try_.write(out, machine_.entered().contains(node),
                is_held ? granted_->held_as->left() : try_.left());
    return true;
}

void acquire_operation::cast(std::size_t node, const wire::acquire_answer& answer, time_point now) {
    try_.note(node, answer, now);
    carry_out(machine_.cast(node, answer.answer, outlook_of(answer, now),
                            {answer.free_slots, answer.slots}, now),
              now);
}

void acquire_operation::refused(error_code why, time_point now) {
    try_.end(now, why, try_.votes());
    if (is_for_a_change(why)) return ask_again(now);
    std::optional<core::acquisition::prospects> further;
    if (is_queued() && machine_.may_wait_on(why, now)) {
        further = {client().shared.random_word(), client().local.resting()};
    }
    carry_out(machine_.refused(why, now, further), now);
}

// The nodes' records were other ones than this client had read, since the list of nodes changes.
// Each node's record changes twice.
bool acquire_operation::is_for_a_change(error_code why) const noexcept {
    return why == errc::no_quorum && asked_again_ < 2 * client().shared.size() &&
           client().tracker.list_steps() != steps_;
}

void acquire_operation::ask_again(time_point now) {
    ++asked_again_;
    give_back(true, now);
    if (!machine_.waits()) client().admission.withdraw(*this);
    machine_.begin_again();
    client().host.await_settled(*this, now);
}

void acquire_operation::give_back(bool leaves, time_point now) {
    if (const auto what = machine_.give_back(leaves)) {
        client().host.release_in_background(try_.remains(*what), !leaves, 0, now);
    }
}

void acquire_operation::on_wake(std::size_t node, std::string_view resource,
                                std::optional<std::uint16_t> slot, time_point now) {
    const auto all = request_.resources();
    const auto at = std::find(all.begin(), all.end(), resource);
    if (at == all.end()) return;
    carry_out(machine_.woken(node, static_cast<std::size_t>(at - all.begin()), slot, now), now);
}

void acquire_operation::cancel(error_code why, time_point now) {
    if (machine_.is_over()) return;
    give_back(true, now);
    end(why, now);
}

void acquire_operation::take(time_point now) {
    assert(!granted_ && machine_.state() == core::acquisition::phase::judged);
    client().shared.counts().wait.add(now - begun_);
    auto what = try_.take(std::move(claim_), span_, now);
    granted_ = keep_lease(client(), request_.finish(try_.take_votes(), begun_, {}),
                          std::move(what), now);
    end({}, now);
}

void acquire_operation::end(error_code outcome, time_point now, std::string_view detail) {
    assert(!machine_.is_over() && !outcome == (granted_ != nullptr));
    machine_.end();
    timer::cancel();
    claim_.end();
    if (std::exchange(is_counted_, false)) client().shared.counts().ended_waits.add();
    if (outcome == errc::no_quorum && machine_.tries() > 0)
        client().admission.unanswered(*this, try_.sent_at(), now);
    else
        client().admission.withdraw(*this);
    client().remote.wake(*this);
    if (granted_ && is_queued())
        client().local.taken(*this);
    else
        client().local.leave(*this);
    auto state = granted_;
    if (!state) {
        state = refuse_lease(client(), request_.finish(try_.take_votes(), begun_, detail), outcome,
                             now);
    }
    // Without a tracer the votes stay as they are kept.
    const auto votes = span_ == 0 ? std::span<const node_vote>() : state->votes.all();
    try_.end(now, outcome, votes);
    client().shared.end_span(span_kind::acquire, span_, now, outcome, votes, detail);
    client().host.finished(*this);
    complete(outcome, std::move(state));
}

}  // namespace redlock::detail
