// Acquiring a lease.
// SPDX-License-Identifier: MIT
#include "client/acquire.hpp"

#include "core/queue.hpp"
#include "core/retry.hpp"
#include "value/options.hpp"
#include "value/text.hpp"

#include <redlock/detail/recycling.hpp>
#include <redlock/detail/waiting_time.hpp>

#include <boost/system/errc.hpp>

#include <algorithm>
#include <cassert>

namespace redlock::detail {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

event event_of(const requested_lease& request, event_kind kind, severity how,
               time_point now) noexcept {
    return {.kind = kind,
            .severity = how,
            .resource = request.resource,
            .duration = duration_cast<microseconds>(now - request.begun),
            .votes = request.votes,
            .detail = request.detail,
            .begin = request.begun,
            .id = request.ids.id,
            .parent = request.ids.parent};
}

acquire_options bounded(acquire_options options) {
    options.wait = std::min(options.wait, longest_wait);
    return options;
}

// A fence is a node's time in us when it was drawn, or a little ahead of it.
milliseconds age_of(const wire::acquire_answer& answer, std::int64_t node_time_us) {
    if (answer.answer != vote::held || !answer.fence_is_its || answer.fence == 0) return {};
    const auto us = node_time_us - static_cast<std::int64_t>(answer.fence);
    return std::chrono::floor<milliseconds>(microseconds(std::max<std::int64_t>(us, 0)));
}

core::outlook outlook_of(const wire::acquire_answer& answer, time_point now) noexcept {
    core::outlook o = core::look_ahead(answer.left, answer.before, now);
    o.is_foreign = answer.is_foreign && answer.blocked == 0;  // of several, alone in the way
    o.has_vote = core::weigh(answer.answer) != core::choice::unable;
    o.holder = answer.holder;
    o.blocked = answer.blocked;
    o.slots = answer.slots;
    return o;
}

}  // namespace

static_assert(sizeof(acquire_operation) <= largest_recycled, "each acquire would ask malloc");
static_assert(resource_list::most <= core::blocked_keys::most &&
              resource_list::most <= wire::batch::most);

std::shared_ptr<lease_state> keep_lease(client_parts& client, requested_lease request,
                                        granted_lease what, time_point now) {
    assert(what.left.kind != nullptr && !what.proof.value.empty());
    assert(request.votes.size() == client.shared.size() && request.begun <= now);
    client.shared.counts().granted.add();
    client.shared.emit(event_of(request, event_kind::granted, severity::debug, now));
    const node_mask granted_by = node_mask::where(request.votes.size(), [&](std::size_t i) {
        return request.votes[i].answer == vote::granted;
    });
    auto state = std::allocate_shared<lease_state>(
        recycling_memory<lease_state>(), std::move(request.resource), what.owner, what.fence,
        what.machine.valid_until(), std::move(request.votes), std::move(what.proof),
        std::move(request.several));
    state->home = client.host.home();
    core::key_history keys(granted_by, what.left.highest_fence, what.machine.valid_until());
    held_lease_ptr lease(new held_lease(client.shared, client.host, state, std::move(what.left),
                                        std::move(keys), what.machine, request.ids));
    lease->take_claim(std::move(what.claim));
    client.host.adopt(std::move(lease));
    return state;
}

std::shared_ptr<lease_state> refuse_lease(client_parts& client, requested_lease request,
                                          error_code why, time_point now) {
    assert(why && request.begun <= now);
    client.shared.counts().refused(why);
    if (request.begun == time_point()) request.begun = now;  // a closed client begins nothing
    const bool is_cancelled = why.category() != category() || why == errc::client_closed;
    const bool is_expected = is_cancelled || why == errc::contended;
    event refused = event_of(request, event_kind::refused,
                             is_expected ? severity::info : severity::warning, now);
    refused.error = why;
    client.shared.emit(refused);
    return std::allocate_shared<lease_state>(recycling_memory<lease_state>(),
                                             std::move(request.resource), std::move(request.votes),
                                             std::move(request.several),
                                             std::string(request.detail));
}

acquire_request::acquire_request(std::string resource, const acquire_options& options,
                                 limit_terms of)
    : shown_(std::move(resource)), options_(bounded(options)), limit_(of) {}

acquire_request::acquire_request(resource_list resources, const acquire_options& options)
    : several_(std::move(resources).names()),
      options_(bounded(options)) {
    shown_ = text::listed(several_);
    if (several_.size() == 1) several_.clear();
}

std::span<const std::string> acquire_request::resources() const noexcept {
    return several_.empty() ? std::span(&shown_, 1) : std::span(several_);
}

std::size_t acquire_request::places(const context& shared) const noexcept {
    return core::local_queues::places_of(kind(shared).is_shared, options_.slots);
}

std::string acquire_request::why_invalid(const client_options& all) const {
    auto why = several_.empty() ? validate_resource(all, shown_)
                                : validate_resources(all, several_);
    if (!why.empty()) return why;
    if (const auto issues = validate(options_, all); !issues.empty()) {
        return issues.front().where.substr(1) + " " + issues.front().message;
    }
    if (keys() > 1 && (options_.mode != lock_mode::exclusive || options_.slots > 0)) {
        return "several resources at once are held alone: mode has to be exclusive, and slots 0";
    }
    return {};
}

void try_votes::set_all(const context& shared, vote answer, error_code why,
                        std::string_view detail) {
    votes_.assign(shared.size(), {});
    for (std::size_t i = 0; i < votes_.size(); ++i) {
        votes_[i].node = shared.name(i);
        votes_[i].change = shared.options().nodes[i].change;
        votes_[i].answer = answer;
        votes_[i].error = why;
        votes_[i].detail = detail;
    }
}

void try_votes::note(std::size_t node, const wire::acquire_answer& answer, const question& query,
                     time_point now) {
    assert(node < votes_.size() && answer.which < query.resources.size());
    node_vote& v = votes_[node];
    v.answer = answer.answer;
    v.error = answer.why.error;
    v.detail = answer.why.detail;
    const bool is_in_the_way = answer.answer == vote::held || answer.answer == vote::queued;
    if (is_in_the_way && query.resources.size() > 1) v.resource = query.resources[answer.which];
    if (answer.slots != 0 && answer.slots < query.slots) {
        v.detail += (v.detail.empty() ? "" : "; ");
        v.detail.append(text::slots_mark).append(std::to_string(answer.slots)).append(" slots");
    }
    v.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - query.sent_at);
    v.retry_in = answer.left;
    v.held_for = query.node_time_us ? age_of(answer, *query.node_time_us) : milliseconds(0);
    v.note = answer.note;
    v.fence = answer.answer == vote::granted && query.fence != 0 ? query.fence : answer.fence;
}

void try_votes::recall() {
    assert(before_.size() <= votes_.size());
    for (std::size_t i = 0; i < before_.size(); ++i) {
        if (votes_[i].answer == vote::pending) votes_[i] = std::move(before_[i]);
    }
}

recycled_string acquire_operation::fresh_value() const {
    std::optional<std::uint64_t> random;
    if (!request_.options().owner.is_zero()) random = client().shared.random_word();
    return wire::owner_value(owner_, client().shared.options().client_name, random,
                             request_.options().note);
}

bool acquire_operation::draw_fence(time_point now) {
    if (!kind_->is_fenced) return true;
    fence_ = client().tracker.propose(machine_.seen_fence(), now);
    if (fence_) {
        draw_ticket(now);
        return true;
    }
    if (client().tracker.known().clocks().is_in_doubt()) {
        set_all(vote::refused, errc::clock_skew,
                "the nodes' clocks are too far apart to tell which are right");
    } else if (!client().tracker.known().clocks().follows_quorum()) {
        set_all(vote::refused, errc::no_quorum,
                "too few nodes answer to tell above which time fences are to be drawn");
    } else {
        set_all(vote::refused, errc::clock_skew,
                "the fences of this resource have run ahead of the nodes' clocks");
    }
    return false;
}

void acquire_operation::draw_ticket(time_point now) {
    machine_.draw_ticket(client().tracker.known().clocks().shared_us(now));
    if (machine_.ticket() == 0 || !waiter_id_.empty()) return;
    waiter_id_ = client().remote.next_id(kind_->is_shared, request_.options().permits);
}

wire::queue_entry acquire_operation::entry(bool is_entered) const noexcept {
    const bool lives = is_entered && machine_.may_be_entered();
    return {waiter_id_, machine_.ticket(),
            lives ? client().remote.entry_life() : duration::zero()};
}

void acquire_operation::write(wire::request& out, bool is_entered, const footprint& left) const {
    const wire::queue_entry at = entry(is_entered);
    wire::lease_request lease = left.request(machine_.kept_for());
    lease.revision = request_.limit().revision;
    // What is left of a lease may be a reader's meanwhile.
    wire::write_acquire(*left.kind, out, lease, fence_ ? &*fence_ : nullptr,
                        waiter_id_.empty() ? nullptr : &at);
    out.keeps_for = machine_.kept_for();
}

wire::wait_request acquire_operation::request(std::size_t key) const {
    std::string_view name;  // none once a grant has moved them to the lease
    if (key == 0) name = left_.key;
    const auto& others = left_.also->others;
    if (key > 0 && key <= others.size()) name = others[key - 1];
    return {left_.slot.of > 0 ? wire::without_slot(name) : name, entry(true), left_.slot.of};
}

// Why nothing may be sent; empty when all is well.
std::string acquire_operation::check() {
    auto why = request_.why_invalid(client().shared.options());
    if (!why.empty() || request_.options().owner.is_zero()) return why;
    claim_ = client().owners.begin(request_.options().owner, request_.resources());
    return claim_ ? std::string() : "this owner holds, or is acquiring, the resource already";
}

void acquire_operation::start(time_point now) {
    begun_ = now;
    kind_ = &request_.kind(client().shared);
    ids_ = client().shared.fresh_ids(request_.options().parent);
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
            return client().remote.put_to_sleep(*this, machine_.entered_now(), sent_at_, now);
        case draw_ticket: return this->draw_ticket(now);
        case judge: return refused(machine_.reason(), now);
        case recall_votes: return votes_.recall();
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
    client().local.join(*this, request_.resources(), request_.places(client().shared),
                        request_.wanted());
    machine_.joined(client().local.is_in_front(*this));
}

void acquire_operation::turn_away(time_point now) {
    set_all(vote::unreachable, errc::backlog, "this client asks the nodes for too much else");
    end(errc::no_quorum, now);
}

void acquire_operation::stand_aside(time_point now) {
    set_all(vote::queued, {},
            client().local.is_any_taken(request_.resources())
                ? "this client holds it"
                : "others of this client wait before us");
    end(errc::contended, now);
}

void acquire_operation::begin_try(time_point now) {
    assert(!granted_ && (is_queued() || !machine_.waits()));
    client().remote.wake(*this);
    const core::node_knowledge& known = client().tracker.known();
    steps_ = known.list_steps();
    machine_.begin_try(known.votes().longest_lease(), known.breaks().so_far(), now);
    votes_.next_try();
    const owner_id& given = request_.options().owner;
    owner_ = given.is_zero() ? client().shared.fresh_owner() : given;
    const slot_number slot = machine_.draw_slot(client().local.freed_slot(request_.shown()),
                                                 [&] { return client().shared.random_word(); });
    const std::string& prefix = client().shared.options().key_prefix;
    left_ = {};
    left_.kind = kind_;
    left_.key = wire::lock_key(prefix, request_.resources().front(), slot);
    // Another one: a release of an earlier try that is still on its way must not delete this key.
    left_.value = fresh_value();
    if (request_.resources().size() > 1) {
        left_.also.edit().others = wire::other_keys(prefix, request_.resources());
    }
    left_.slot = slot;
    left_.slot.period_ms = static_cast<std::uint32_t>(request_.limit().period.count());
    if (const auto all = machine_.all_slots(); !all.empty()) {
        left_.also.edit().others =
            wire::slot_keys(prefix, request_.shown(), all.subspan(1), slot.of);
    }
    fence_.reset();
    if (machine_.tries() > 1) client().shared.counts().retries.add();
    send_round(now);
    if (machine_.is_trying() && machine_.is_timed()) arm();
}

void acquire_operation::send_round(time_point now) {
    assert(machine_.is_trying() && left_.kind != nullptr);
    sent_at_ = now;
    set_all(vote::pending, {}, {});
    const std::uint32_t round =
        machine_.begin_round(client().nodes.time_to_vote(machine_.ttl()), now);
    if (!draw_fence(now)) return refused(errc::no_quorum, now);
    const node_mask ask = client().tracker.askable();
    for (const std::size_t i : client().nodes.all() - ask) {
        if (const auto o = client().tracker.object(i, now, now)) on_failure(i, round, o->why, now);
    }
    // It is entered only where a wake-up would reach it.
    const node_mask enter =
        machine_.may_be_entered() ? ask & client().remote.listening() : node_mask();
    send_to(enter, true, round, now);
    send_to(ask - enter, false, round, now);
    if (machine_.waits() || machine_.tries() == 1) return;
    // One that tries again without a wait does not wait for them once more.
    for (const std::size_t i : machine_.mute() & ask) {
        on_failure(i, round, {vote::timed_out, errc::timed_out, client().nodes[i].lateness()}, now);
    }
}

void acquire_operation::send_to(node_mask nodes, bool is_entered, std::uint32_t round,
                                time_point now) {
    if (nodes.empty() || !machine_.is_open(round)) return;
    wire::request& wire = client().nodes.blank();
    write(wire, is_entered, left_);
    const auto result = client().nodes.send(*this, round, wire, now, nodes);
    machine_.sent(result.sent, fence(), is_entered);
    for (const auto& [node, why] : result.failures) on_failure(node, round, why, now);
}

void acquire_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point now) {
    const time_point sent = sent_at_;
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
    auto answer = wire::read_acquire(*kind_, reply);
    answer.which = std::min(answer.which, keys() - 1);  // a node may say anything
    // However the votes fall, and whichever nodes are still silent: the nodes keep up with the
    // requests.
    if (machine_.completes_quorum(node)) client().admission.answered(*this, sent, now);
    if (j.believes(answer.fence)) machine_.saw(answer.fence);
    // No client sets a number of slots at an instant that the nodes have not reached.
    if (!j.is_vote() || !j.believes(answer.revision)) answer.revision = 0;
    if (answer.lacks_fence) {
        client().tracker.reports().report_without_fence(
            node, request_.resources()[answer.which], answer.why.detail);
    }
    cast(node, j.weigh(std::move(answer)), now);
}

// The round is over, and the waiter asleep: it still learns from the answer.
void acquire_operation::learn_after(std::size_t node, const resp::reply& reply, time_point now) {
    if (const auto o = client().tracker.object(node, sent_at_, now)) {
        return answered(node, {.free_at = now + o->left, .has_vote = false}, now);
    }
    answered(node, outlook_of(wire::read_acquire(*kind_, reply), now), now);
}

void acquire_operation::on_late_reply(std::size_t node, std::uint32_t round,
                                      const resp::reply& reply, time_point) {
    if (granted_ && round == machine_.round()) granted_too(node, reply);
}

// A node that the quorum did not need.
void acquire_operation::granted_too(std::size_t node, const resp::reply& reply) {
    const auto answer = wire::read_acquire(*kind_, reply);
    if (answer.answer != vote::granted || !granted_->is_held()) return;
    // The key lives for less than those that were renewed since.
    if (!granted_->held_as->machine().was_prolonged()) granted_->held_as->keys().note_holder(node);
    if (machine_.still_entered().contains(node) && machine_.tries() <= 1)
        granted_->held_as->left().left_queue_of(node);
}

void acquire_operation::on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                                   time_point now) {
    if (machine_.is_open(round)) cast(node, {.answer = why.answer, .why = why}, now);
}

bool acquire_operation::write_again(std::size_t node, std::uint32_t, wire::request& out,
                                    time_point) const {
    if (kind_->is_plain_set) return false;  // SET calls no script
    const bool is_held = granted_ && granted_->is_held();
    write(out, machine_.entered().contains(node), is_held ? granted_->held_as->left() : left_);
    return true;
}

void acquire_operation::cast(std::size_t node, const wire::acquire_answer& answer, time_point now) {
    votes_.note(node, answer,
                {request_.resources(), request_.options().slots, fence(), sent_at_,
                 client().tracker.known().fence_time_us(now)},
                now);
    of_limit_.answered(node, answer.answer, {answer.period, answer.revision, answer.slots});
    const auto next = machine_.cast(node, answer.answer, outlook_of(answer, now),
                                    {answer.free_slots, answer.slots}, now);
    if (next.empty()) return pass_by_unreached(now);
    carry_out(next, now);
}

// Votes are split, and only nodes that are still being connected could decide. One of them may
// hang; meanwhile each of those that compete would keep the others from a quorum. What is done for
// one node may be the end of this, and does the rest.
void acquire_operation::pass_by_unreached(time_point now) {
    node_mask unreached;
    for (const auto& node : client().nodes) unreached.set(node->index(), !node->is_ready());
    const auto why = boost::system::errc::make_error_code(boost::system::errc::not_connected);
    if (const auto node = machine_.hangs_on(unreached)) {
        on_failure(*node, machine_.round(), {vote::unreachable, why, "it is being connected"}, now);
    }
}

void acquire_operation::refused(error_code why, time_point now) {
    if (is_for_a_change(why)) return ask_again(now);
    std::optional<core::acquisition::prospects> further;
    if ((is_queued() || !machine_.waits()) && machine_.may_try_later(why, now)) {
        further = {client().shared.random_word(), client().local.resting(),
                   client().nodes.round_trip(client().shared.lists())};
        if (!machine_.waits()) client().admission.withdraw(*this);
    }
    const auto next = machine_.refused(why, now, further);
    // One that wants more slots than there are may not hold up those behind it.
    const std::size_t wanted = machine_.are_slots_enough() ? request_.wanted() : 1;
    if (is_queued()) client().local.want(*this, wanted);
    carry_out(next, now);
}

// The nodes' records were other ones than this client had read, since the list of nodes changes.
// Each node's record changes twice.
bool acquire_operation::is_for_a_change(error_code why) const noexcept {
    return why == errc::no_quorum && asked_again_ < 2 * client().shared.size() &&
           client().tracker.known().list_steps() != steps_;
}

void acquire_operation::ask_again(time_point now) {
    ++asked_again_;
    give_back(true, now);
    if (!machine_.waits()) client().admission.withdraw(*this);
    machine_.begin_again();
    client().host.await_settled(*this, now);
}

void acquire_operation::give_back(bool leaves, time_point now) {
    const auto what = machine_.give_back(leaves);
    if (!what) return;
    footprint remains = left_;
    static_cast<core::traces&>(remains) = what->left;
    if (!waiter_id_.empty()) {
        remains.also.edit().place = {waiter_id_, machine_.ticket(), what->entered};
    }
    client().host.release_in_background(std::move(remains), !leaves, now);
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
    const std::chrono::milliseconds min_hold = request_.options().min_hold;
    const auto slots = machine_.all_slots();
    wire::lease_proof proof{left_.value, left_.slot, kind_->is_shared, min_hold,
                            {slots.begin(), slots.end()}};
    static_cast<core::traces&>(left_) = machine_.left();
    if (const node_mask entered = machine_.still_entered(); !entered.empty()) {
        left_.also.edit().place = {waiter_id_, machine_.ticket(), entered};
    }
    left_.keep_until = now + longest_stay(client().shared.options(), min_hold);
    granted_ = keep_lease(client(), request_.finish(votes_.take(), begun_, ids_, {}),
                          {owner_, fence(), std::move(proof), std::move(left_),
                           machine_.lease(now), std::move(claim_)},
                          now);
    end({}, now);
}

void acquire_operation::end(error_code outcome, time_point now, std::string_view detail) {
    assert(!machine_.is_over() && !outcome == (granted_ != nullptr));
    machine_.end();
    timer::cancel();
    claim_.reset();
    if (std::exchange(is_counted_, false)) client().shared.counts().ended_waits.add();
    if (outcome == errc::no_quorum && machine_.tries() > 0)
        client().admission.unanswered(*this, sent_at_, now);
    else
        client().admission.withdraw(*this);
    client().remote.wake(*this);
    if (granted_ && is_queued()) {
        client().local.want(*this, request_.wanted());
        client().local.taken(*this);
    } else {
        client().local.leave(*this);
    }
    auto state = granted_;
    if (!state) {
        state = refuse_lease(client(), request_.finish(votes_.take(), begun_, ids_, detail),
                             outcome, now);
    }
    leave();
    complete(outcome, std::move(state));
}

}  // namespace redlock::detail
