// Acquiring a lease.
// SPDX-License-Identifier: MIT
#include "client/operation/acquire.hpp"

#include "client/operation/client_parts.hpp"
#include "client/operation/granting.hpp"
#include "value/lease_terms.hpp"
#include "value/quorum.hpp"
#include "value/text.hpp"
#include "wire/batch.hpp"
#include "wire/keys.hpp"
#include "wire/owner_value.hpp"

#include <redlock/detail/waiting_time.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

namespace redlock::detail {

namespace {

static_assert(sizeof(acquire_operation) <= largest_recycled, "each acquire would ask malloc");
static_assert(resource_list::most <= core::blocked_keys::most &&
              resource_list::most <= wire::batch::most);

core::outlook outlook_of(const wire::acquire_answer& answer, time_point now) noexcept {
    core::outlook o = core::look_ahead(answer.left, answer.before, now);
    o.is_foreign = answer.is_foreign && answer.blocked == 0;  // of several, alone in the way
    o.holder = answer.holder;
    o.blocked = answer.blocked;
    return o;
}

}  // namespace

acquire_operation::acquire_operation(resource_list resources, const acquire_options& options)
    : several_(std::move(resources).names()), options_(options) {
    resource_ = text::listed(several_);
    if (several_.size() == 1) several_.clear();
}

std::span<const std::string> acquire_operation::resources() const noexcept {
    return several_.empty() ? std::span(&resource_, 1) : std::span(several_);
}

const wire::lock_kind& acquire_operation::kind() const noexcept {
    return client().shared.kind(options_, keys() > 1);
}

// How many may hold the resource at once.
std::size_t acquire_operation::places() const noexcept {
    if (kind().is_shared) return core::local_queues::any_number;
    return std::max<std::size_t>(options_.slots, 1);
}

// Why nothing may be sent; empty when all is well.
std::string acquire_operation::check() {
    const client_options& all = client().shared.options();
    auto why = several_.empty() ? validate_resource(all, resource_)
                                : validate_resources(all, several_);
    if (!why.empty()) return why;
    if (const auto issues = validate(options_, all); !issues.empty()) {
        return issues.front().where.substr(1) + " " + issues.front().message;
    }
    if (keys() > 1 && (options_.mode == lock_mode::shared || options_.slots > 0)) {
        return "several resources at once are held alone: mode has to be exclusive, and slots 0";
    }
    if (options_.owner.is_zero()) return {};
    claim_ = client().owners.begin(options_.owner, resources());
    return claim_ ? std::string() : "this owner holds, or is acquiring, the resource already";
}

void acquire_operation::start(time_point now) {
    begun_ = now;
    options_.wait = std::min(options_.wait, longest_wait);
    span_ = client().shared.begin_span(span_kind::acquire, options_.span, resource_, now);
    if (const auto why = check(); !why.empty()) return end(errc::invalid_argument, now, why);
    machine_.begin(client().shared.options(), options_, keys(), now);
    is_counted_ = machine_.waits();
    if (is_counted_) client().shared.counts().begun_waits.add();
    client().tracker.take_role(core::record_role::keeps, now);
    client().host.await_settled(*this, now);
}

void acquire_operation::on_settled(time_point now) {
    if (machine_.is_over()) return;
    if (!machine_.waits()) {
        using enum core::admission::answer;
        switch (client().admission.apply(*this)) {
            case enter: return try_without_waiting(now);
            case go_away: return refuse_for_backlog(now);
            case wait: break;
        }
        // It does not wait for the lock, but for the acquires that applied before it.
        return client().shared.arm(*this, now + client().shared.options().connect_timeout);
    }
    machine_.settled(now, client().nodes.time_for(client().shared.size(), machine_.ttl()));
    client().local.join(*this, resources(), places());
    // One in front gets its turn at the end of this one of the engine.
    if (!client().local.is_in_front(*this)) machine_.stands_behind();
    arm();
}

void acquire_operation::carry_out(const core::acquisition::actions& what, time_point now) {
    for (const action one : what) carry_out(one, now);
}

void acquire_operation::carry_out(action what, time_point now) {
    using enum core::acquisition::action;
    switch (what) {
        case begin_try: return try_once(now);
        case second_round: client().shared.counts().second_rounds.add(); return send_round(now);
        case release: return give_back(false, now);
        case leave: return give_back(true, now);
        case ask_for_turn: return client().local.ask(*this);
        case end_turn: return client().local.sleeps(*this);
        case rest: return client().local.rests(*this, true);
        case rest_in_turn: return client().local.rests(*this, false);
        case arm: return this->arm();
        case await_wake_up:
            return client().remote.put_to_sleep(*this, machine_.entered_now(), sent_at_, now);
        case draw_ticket: return this->draw_ticket(now);
        case judge: return refused(machine_.reason(), now);
        case recall_votes: return votes_.recall();
        case grant: return take(now);
        case refuse: return end(machine_.reason(), now);
        case stand_aside: return refuse_behind_others(now);
        case turn_away: return refuse_for_backlog(now);
    }
}

void acquire_operation::on_turn(time_point now) { carry_out(machine_.turn(), now); }

void acquire_operation::on_due(time_point now) {
    const duration extra = client().shared.own_delay().extra();
    carry_out(machine_.due(now, extra, is_queued()), now);
}

void acquire_operation::on_admitted(time_point now) {
    timer::cancel();
    try_without_waiting(now);
}

void acquire_operation::arm() noexcept { client().shared.arm(*this, machine_.due_at()); }

template <class Predicate>
bool acquire_operation::any_line(Predicate what) const {
    const auto all = resources();
    return std::any_of(all.begin(), all.end(), what);
}

void acquire_operation::try_without_waiting(time_point now) {
    const core::local_queues& lines = client().local;
    const std::size_t places = this->places();
    if (any_line([&](const std::string& one) { return lines.is_waited_for(one, places); })) {
        return refuse_behind_others(now);
    }
    try_once(now);
}

// There was no time in which its request could go out.
void acquire_operation::refuse_for_backlog(time_point now) {
    votes_.set_all(client().shared, vote::unreachable, errc::backlog,
                   "this client asks the nodes for too much else");
    end(errc::no_quorum, now);
}

// It would not wait, or not any longer, and must not get what others wait for.
void acquire_operation::refuse_behind_others(time_point now) {
    const core::local_queues& lines = client().local;
    // It has been in front since it came.
    if (lines.is_in_front(*this) && machine_.reason() != errc::contended) {
        return refuse_for_backlog(now);
    }
    const bool is_held_here = any_line([&](const std::string& one) {
        return lines.first(one) == nullptr && lines.is_waited_for(one);
    });
    votes_.set_all(client().shared, vote::queued, {},
                   is_held_here ? "this client holds it" : "others of this client wait before us");
    end(errc::contended, now);
}

void acquire_operation::try_once(time_point now) {
    assert(!granted_ && (is_queued() || !machine_.waits()));
    client().remote.wake(*this);
    machine_.begin_try(client().tracker.longest_lease(), now);
    attempt_ = client().shared.begin_span(span_kind::attempt, span_, resource_, now);
    if (machine_.tries() > 1) client().shared.counts().retries.add();
    votes_.next_try();
    // A new value for each attempt, so that a release of one that is still on its way can't delete
    // the key of a later one.
    owner_ = options_.owner.is_zero() ? client().shared.fresh_owner() : options_.owner;
    const slot_number slot = machine_.draw_slot(client().local.freed_slot(resource_),
                                                [&] { return client().shared.random_word(); });
    const std::string& prefix = client().shared.options().key_prefix;
    left_ = {{.born = client().tracker.breaks()},
             &kind(),
             wire::lock_key(prefix, resources().front(), slot),
             fresh_value(),
             wire::other_keys(prefix, resources()),
             slot,
             {},
             {}};
    fence_.reset();
    send_round(now);
    if (machine_.is_trying() && machine_.waits()) arm();
}

recycled_string acquire_operation::fresh_value() const {
    std::optional<std::uint64_t> random;
    if (!options_.owner.is_zero()) random = client().shared.random_word();
    return wire::owner_value(owner_, client().shared.options().client_name, random);
}

bool acquire_operation::draw_fence(time_point now) {
    if (!kind().is_fenced) return true;
    fence_ = client().tracker.propose(machine_.seen_fence(), now);
    if (fence_) draw_ticket(now);
    return fence_.has_value();
}

void acquire_operation::draw_ticket(time_point now) {
    machine_.draw_ticket(client().tracker.shared_time_us(now));
    if (machine_.ticket() == 0 || !waiter_id_.empty()) return;
    waiter_id_ = client().remote.next_id(kind().is_shared);
}

wire::queue_entry acquire_operation::entry(bool is_entered) const noexcept {
    const bool lives = is_entered && machine_.may_be_entered();
    return {waiter_id_, machine_.ticket(), lives ? client().remote.entry_life() : duration::zero()};
}

// Everywhere at its ticket, also where it is not entered: else two might be first on some nodes
// each.
void acquire_operation::write(wire::request& out, bool is_entered) const {
    const wire::queue_entry at = entry(is_entered);
    wire::write_acquire(
        *left().kind, out, {left().key, left().value, machine_.kept_for(), left().slot, left().others},
        fence_ ? &*fence_ : nullptr, waiter_id_.empty() ? nullptr : &at);
    out.keeps_for = machine_.kept_for();
}

void acquire_operation::send_round(time_point now) {
    assert(machine_.is_trying() && left_.kind != nullptr);
    sent_at_ = now;
    answers_ = 0;
    const std::uint32_t round =
        machine_.begin_round(client().nodes.time_to_vote(machine_.ttl()), now);
    votes_.set_all(client().shared, vote::pending, {}, {});
    if (!draw_fence(now)) {
        votes_.set_all(client().shared, vote::refused, errc::clock_skew,
                       client().tracker.is_time_in_doubt()
                           ? "the nodes' clocks are too far apart to tell which are right"
                           : "the fences of this resource have run ahead of the nodes' clocks");
        return refused(errc::no_quorum, now);
    }
    const node_mask ask = client().tracker.askable();
    for (const std::size_t i : client().nodes.all() - ask) {
        if (const auto o = client().tracker.object(i, now, now)) on_failure(i, round, o->why, now);
    }
    // It is entered only where a wake-up would reach it.
    const node_mask enter =
        machine_.may_be_entered() ? ask & client().remote.listening() : node_mask();
    if (machine_.is_open(round)) send_to(enter, true, now);
    if (machine_.is_open(round)) send_to(ask - enter, false, now);
}

void acquire_operation::send_to(node_mask nodes, bool is_entered, time_point now) {
    if (nodes.empty()) return;
    const std::uint32_t round = machine_.round();
    wire::request& wire = client().nodes.blank();
    write(wire, is_entered);
    const auto result = client().nodes.send(*this, round, wire, now, nodes);
    left_.note_sent(result.sent, fence_ ? fence_->fence : 0);
    machine_.sent(result.sent, is_entered);
    for (const auto& [node, why] : result.failures) on_failure(node, round, why, now);
}

void acquire_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point now) {
    if (!machine_.is_open(round)) {
        // A late grant is released with the lease, or was already. The node is not greeted again
        // for it: two clients whose cluster times differ would have each other do so with every
        // answer that is still on its way.
        if (wire::is_late(reply)) client().tracker.note(node, sent_at_, {.is_late = true}, now);
        if (is_asleep() && round == machine_.round()) learn_after(node, reply, now);
        return;
    }
    const judgement j = client().tracker.judge(node, sent_at_, wire::read_signs(reply), now);
    auto answer = wire::read_acquire(*left().kind, reply);
    answer.which = std::min(answer.which, keys() - 1);  // a node may say anything
    // However the votes fall, and whichever nodes are still silent: the nodes keep up with the
    // requests.
    if (++answers_ == redlock::quorum(client().shared.size())) {
        client().admission.answered(*this, sent_at_, now);
    }
    if (j.believes(answer.fence)) machine_.saw(answer.fence);
    if (answer.lacks_fence) {
        client().tracker.found_without_fence(node, resources()[answer.which], answer.why.detail);
    }
    cast(node, j.weigh(std::move(answer)), now);
}

// The round is over, and the waiter asleep: it still learns from the answer.
void acquire_operation::learn_after(std::size_t node, const resp::reply& reply, time_point now) {
    if (const auto o = client().tracker.object(node, sent_at_, now)) {
        return answered(node, {.free_at = now + o->left}, false, now);
    }
    const auto answer = wire::read_acquire(*left().kind, reply);
    const bool has_voted = core::weigh(answer.answer) != core::choice::unable;
    answered(node, outlook_of(answer, now), has_voted, now);
}

void acquire_operation::on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                                   time_point now) {
    if (machine_.is_open(round)) cast(node, {.answer = why.answer, .why = why}, now);
}

// A node that was still connecting gets the key of a lease that lives: the more nodes hold it, the
// more of them may fail.
bool acquire_operation::is_wanted(std::uint32_t round) const noexcept {
    return machine_.is_open(round) || (round == machine_.round() && is_held());
}

// What became of the attempt has it since the grant.
const footprint& acquire_operation::left() const noexcept {
    return is_held() ? granted_->held_as->left() : left_;
}

bool acquire_operation::write_again(std::size_t node, std::uint32_t, wire::request& out,
                                    time_point) const {
    if (left().kind->is_plain_set) return false;  // SET calls no script
    write(out, machine_.entered().contains(node));
    return true;
}

void acquire_operation::cast(std::size_t node, const wire::acquire_answer& answer, time_point now) {
    const std::uint64_t fence = fence_ ? fence_->fence : 0;
    votes_.note(node, answer, {resources(), options_.slots, fence, sent_at_}, now);
    carry_out(machine_.cast(node, answer.answer, outlook_of(answer, now),
                            {answer.free_slots, answer.slots}, now),
              now);
}

void acquire_operation::refused(error_code why, time_point now) {
    client().shared.end_span(span_kind::attempt, attempt_, now, why, votes_.all());
    std::optional<core::acquisition::prospects> further;
    if (is_queued() && machine_.may_wait_on(why, now)) {
        further = {client().shared.random_word(), client().local.resting()};
    }
    carry_out(machine_.refused(why, now, further), now);
}

void acquire_operation::give_back(bool leaves, time_point now) {
    left_.place = {waiter_id_, machine_.ticket(), machine_.entered()};
    if (!left_.nodes.empty() || (leaves && !machine_.entered().empty())) {
        client().host.release_in_background(left_, !leaves, 0, now);
    }
    left_.nodes = {};
    machine_.given_back(leaves);
}

void acquire_operation::on_wake(std::size_t node, std::string_view resource,
                                std::optional<std::uint16_t> slot, time_point now) {
    const auto all = resources();
    const auto at = std::find(all.begin(), all.end(), resource);
    if (at == all.end()) return;
    carry_out(machine_.woken(node, static_cast<std::size_t>(at - all.begin()), slot, now), now);
}

wire::wait_request acquire_operation::request(std::size_t which) const {
    std::string_view key;  // none once a grant has moved them to the lease
    if (which == 0) key = left_.key;
    if (which > 0 && which <= left_.others.size()) key = left_.others[which - 1];
    return {left_.slot.of > 0 ? wire::without_slot(key) : key, entry(true), left_.slot.of};
}

void acquire_operation::cancel(error_code why, time_point now) {
    if (machine_.is_over()) return;
    give_back(true, now);
    end(why, now);
}

void acquire_operation::take(time_point now) {
    assert(!granted_ && machine_.state() == core::acquisition::phase::judged);
    left_.place = {waiter_id_, machine_.ticket(), machine_.entered()};
    left_.keep_until = now + longest_stay(client().shared.options(), options_.min_hold);
    wire::lease_proof proof{left_.value, left_.slot, kind().is_shared, options_.min_hold};
    client().shared.counts().wait.add(now - begun_);
    granted_ = keep_lease(client(),
                          {std::move(resource_), std::move(several_), votes_.take(), begun_, {}},
                          {owner_, fence_ ? fence_->fence : 0, std::move(proof), std::move(left_),
                           machine_.lease(now), std::move(claim_), span_},
                          now);
    end({}, now);
}

void acquire_operation::end(error_code outcome, time_point now, std::string_view detail) {
    assert(!machine_.is_over() && !outcome == (granted_ != nullptr));
    machine_.end();
    timer::cancel();
    claim_.end();
    if (std::exchange(is_counted_, false)) client().shared.counts().ended_waits.add();
    if (outcome == errc::no_quorum && machine_.tries() > 0)
        client().admission.unanswered(*this, sent_at_, now);
    else
        client().admission.withdraw(*this);
    client().remote.wake(*this);
    if (granted_ && is_queued())
        client().local.taken(*this);
    else
        client().local.leave(*this);
    auto state = granted_;
    if (!state) {
        state = refuse_lease(
            client(),
            {std::move(resource_), std::move(several_), votes_.take(), begun_, detail}, outcome,
            now);
    }
    client().shared.end_span(span_kind::attempt, attempt_, now, outcome, state->votes);
    client().shared.end_span(span_kind::acquire, span_, now, outcome, state->votes, detail);
    client().host.finished(*this);
    complete(outcome, std::move(state));
}

}  // namespace redlock::detail
