// Acquiring a lease.
// SPDX-License-Identifier: MIT
#include "client/acquire.hpp"

#include "client/client_parts.hpp"
#include "value/lease_terms.hpp"
#include "value/text.hpp"
#include "wire/batch.hpp"
#include "wire/keys.hpp"
#include "wire/owner_value.hpp"

#include <redlock/detail/waiting_time.hpp>

#include <algorithm>
#include <utility>

namespace redlock::detail {

using namespace std::chrono_literals;
using std::chrono::microseconds;

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
    return is_for_several() ? std::span(several_) : std::span(&resource_, 1);
}

// Why nothing may be sent; empty when all is well.
std::string acquire_operation::check() {
    const client_options& all = client().shared.options();
    auto why = is_for_several() ? validate_resources(all, several_)
                                : validate_resource(all, resource_);
    if (!why.empty()) return why;
    if (const auto issues = validate(options_, all); !issues.empty()) {
        return issues.front().where.substr(1) + " " + issues.front().message;
    }
    if (is_for_several() && (options_.mode == lock_mode::shared || options_.slots > 0)) {
        return "several resources at once are held alone: mode has to be exclusive, and slots 0";
    }
    if (!options_.owner.is_zero() && !claim_owner()) {
        return "this owner holds, or is acquiring, the resource already";
    }
    return {};
}

// For all of them, or none.
bool acquire_operation::claim_owner() {
    std::size_t claimed = 0;
    for (const std::string& one : resources()) {
        if (!client().owners.begin(options_.owner, one)) {
            end_claims(claimed);
            return false;
        }
        ++claimed;
    }
    has_claim_ = true;
    return true;
}

void acquire_operation::end_claims(std::size_t count) {
    for (const std::string& one : resources().first(count)) client().owners.end(options_.owner, one);
}

void acquire_operation::start(time_point now) {
    begun_ = now;
    options_.wait = std::min(options_.wait, longest_wait);
    span_ = client().shared.begin_span(span_kind::acquire, options_.span, resource_, now);
    if (const auto why = check(); !why.empty()) {
        return end(errc::invalid_argument, nullptr, now, why);
    }
    ttl_ = effective_ttl(client().shared.options(), options_.ttl);
    slots_ = {client().shared.size(), options_.slots};
    if (is_for_several()) blocked_ = std::make_unique<core::blocked_keys>(keys());
    if (options_.wait > 0ms) {
        is_counted_ = true;
        client().shared.counts().begun_waits.add();
    }
    machine_.begin(client().shared.size(), ttl_, client().shared.drift(), options_.wait, now);
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
        // It does not wait for the lock, but has to for those who were faster.
        return client().shared.arm(*this, now + client().shared.options().connect_timeout);
    }
    machine_.settled(now, client().nodes.time_for(client().shared.size(), ttl_));
    core::local_queues& lines = client().local;
    if (is_for_several())
        lines.join(*this, several_);
    else
        lines.join(*this, resource_, places());
    // One in front gets its turn at the end of this one of the engine.
    if (!lines.is_in_front(*this)) machine_.stands_behind();
    client().shared.arm(*this, machine_.due_at());
}

void acquire_operation::perform(core::acquisition::step what, time_point now) {
    using enum core::acquisition::step;
    switch (what) {
        case none: return;
        case begin_try: return try_once(now);
        case second_round: client().shared.counts().second_rounds.add(); return send_round(now);
        case grant: return take(now);
        case judge: return refused(machine_.reason(), now);
        case sleep: return go_to_sleep(now);
        case ask_for_turn:
            client().shared.arm(*this, machine_.due_at());
            return client().local.ask(*this);
        case give_up:
            if (machine_.is_trying()) recall_votes();
            give_back(false, now);
            return end(machine_.reason(), nullptr, now);
        case stand_aside: return refuse_behind_others(now);
        case turn_away: return refuse_for_backlog(now);
    }
}

void acquire_operation::on_admitted(time_point now) {
    const operation_ptr keep(this);
    timer::cancel();
    try_without_waiting(now);
}

void acquire_operation::try_without_waiting(time_point now) {
    if (is_waited_for()) return refuse_behind_others(now);
    try_once(now);
}

bool acquire_operation::is_waited_for() const noexcept {
    const auto all = resources();
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) {
        return client().local.is_waited_for(one, places());
    });
}

// There was no time in which it could have asked the nodes.
void acquire_operation::refuse_for_backlog(time_point now) {
    mark_all(vote::unreachable, errc::backlog, "this client asks the nodes for too much else");
    end(errc::no_quorum, nullptr, now);
}

// It would not wait, or not any longer, and must not get what others wait for.
void acquire_operation::refuse_behind_others(time_point now) {
    const core::local_queues& lines = client().local;
    // It has been in front since it came.
    if (lines.is_in_front(*this) && machine_.reason() != errc::contended) {
        return refuse_for_backlog(now);
    }
    const auto all = resources();
    const bool is_held_here = std::any_of(all.begin(), all.end(), [&](const std::string& one) {
        return lines.first(one) == nullptr && lines.is_waited_for(one);
    });
    mark_all(vote::queued, {},
             is_held_here ? "this client holds it" : "others of this client wait before us");
    end(errc::contended, nullptr, now);
}

void acquire_operation::on_turn(time_point now) {
    const operation_ptr keep(this);
    perform(machine_.turn(), now);
}

void acquire_operation::try_once(time_point now) {
    client().remote.wake(*this);
    ttl_ = std::min<duration>(effective_ttl(client().shared.options(), options_.ttl),
                              client().tracker.longest_lease());
    machine_.set_ttl(ttl_);
    machine_.begin_try(now);
    attempt_ = client().shared.begin_span(span_kind::attempt, span_, resource_, now);
    if (machine_.tries() > 1) {
        client().shared.counts().retries.add();
        before_ = std::move(votes_);
    }
    // A new value for each attempt, so that a release of one that is still on its way can't delete
    // the key of a later one.
    owner_ = options_.owner.is_zero() ? client().shared.fresh_owner() : options_.owner;
    const slot_number slot = draw_slot();
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
    if (machine_.is_trying() && machine_.waits()) client().shared.arm(*this, machine_.due_at());
}

slot_number acquire_operation::draw_slot() {
    if (options_.slots == 0) return {};
    const auto freed = client().local.freed_slot(resource_);
    return {slots_.draw(client().shared.random_word(), freed), options_.slots};
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

// A ticket is the time of the first try, by what all clients go by: one that followed clocks which
// were ahead, and drew its fences by them, must not stand behind all who come later. Without a time
// it would stand before everybody.
void acquire_operation::draw_ticket(time_point now) {
    const auto time_us = client().tracker.shared_time_us(now);
    if (place_.ticket != 0 || !time_us || *time_us <= 0) return;
    place_.ticket = static_cast<std::uint64_t>(*time_us);
    if (is_to_be_woken()) place_.id = client().remote.next_id(shares());
}

bool acquire_operation::is_to_be_woken() const noexcept {
    return machine_.waits() && kind().is_fenced;
}

const wire::lock_kind& acquire_operation::kind() const noexcept {
    return client().shared.kind(options_, is_for_several());
}

std::size_t acquire_operation::places() const noexcept {
    if (shares()) return core::local_queues::any_number;
    return std::max<std::size_t>(options_.slots, 1);
}

wire::queue_entry acquire_operation::entry(bool is_entered) const noexcept {
    const bool lives = is_entered && machine_.may_queue() && !place_.id.empty();
    return {place_.id, place_.ticket, lives ? client().remote.entry_life() : duration::zero()};
}

// Everywhere at its ticket, also where it is not entered: else two might be first on some nodes
// each.
void acquire_operation::write(wire::request& out, bool is_entered) const {
    const wire::queue_entry at = entry(is_entered);
    left().kind->write_acquire(
        out, {left().key, left().value, kept_for_, left().slot, left().others},
        fence_ ? &*fence_ : nullptr, place_.id.empty() ? nullptr : &at);
    out.keeps_for = kept_for_;
}

void acquire_operation::send_round(time_point now) {
    sent_at_ = now;
    kept_for_ = ttl_;
    if (options_.min_hold > 0ms) {
        // The grant may come so late, and a holder that dies then tells no node when it was.
        const duration later = client().nodes.time_to_vote(ttl_);
        const duration stay = longest_stay(client().shared.options(), options_.min_hold, later);
        kept_for_ = std::max<duration>(ttl_, stay);
    }
    keys_until_ = redlock::valid_until(now, kept_for_, client().shared.drift());
    answers_ = 0;
    heard_ = {};
    const std::uint32_t round = machine_.begin_round(now);
    mark_all(vote::pending, {}, {});
    if (!draw_fence(now)) {
        mark_all(vote::refused, errc::clock_skew,
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
    const bool is_entered = machine_.may_queue() && !place_.id.empty();
    const node_mask enter = is_entered ? ask & client().remote.listening() : node_mask();
    if (machine_.is_open(round)) send_to(enter, true, now);
    if (machine_.is_open(round)) send_to(ask - enter, false, now);
}

void acquire_operation::send_to(node_mask nodes, bool is_entered, time_point now) {
    if (nodes.empty()) return;
    if (blocked_) blocked_->asked(nodes);
    const std::uint32_t round = machine_.round();
    wire::request& wire = client().nodes.blank();
    write(wire, is_entered);
    const auto result = client().nodes.send(*this, round, wire, now, nodes);
    left_.note_sent(result.sent, fence_ ? fence_->fence : 0);
    if (is_entered) {
        heard_ |= result.sent;
        place_.nodes |= result.sent;
    }
    for (const auto& [node, why] : result.failures) on_failure(node, round, why, now);
}

void acquire_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point now) {
    if (!machine_.is_open(round)) return on_reply_after(node, round, reply, now);
    const judgement j = client().tracker.judge(node, sent_at_, wire::read_signs(reply), now);
    auto answer = left().kind->read_acquire(reply);
    // However the votes fall, and whoever is still silent: the nodes keep up with what is asked.
    if (++answers_ == redlock::quorum(client().shared.size())) {
        client().admission.answered(*this, sent_at_, now);
    }
    if (j.believes(answer.fence)) machine_.saw(answer.fence);
    if (answer.lacks_fence) {
        client().tracker.found_without_fence(node, name_of(answer), answer.why.detail);
    }
    cast(node, j.weigh(std::move(answer)), now);
}

// The round is over. A late grant is released with the lease, or was already; a waiter that is
// asleep still learns from it. The node is not greeted again for it: two clients whose cluster
// times differ would have each other do so with every answer that is still on its way.
void acquire_operation::on_reply_after(std::size_t node, std::uint32_t round,
                                       const resp::reply& reply, time_point now) {
    const bool is_learning = is_asleep() && round == machine_.round();
    if (wire::is_late(reply)) client().tracker.note(node, sent_at_, {.is_late = true}, now);
    if (!is_learning) return;
    if (const auto o = client().tracker.object(node, sent_at_, now)) {
        return told(node, {.free_at = now + o->left}, false, now);
    }
    const auto answer = left().kind->read_acquire(reply);
    const bool has_voted = core::weigh(answer.answer) != core::choice::unable;
    told(node, outlook_of(answer, now), has_voted, now);
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

bool acquire_operation::is_held() const noexcept {
    return granted_ && granted_->is_held();
}

// What became of the attempt has it since the grant.
const footprint& acquire_operation::left() const noexcept {
    return is_held() ? granted_->held_as->left() : left_;
}

bool acquire_operation::write_again(std::size_t node, std::uint32_t, wire::request& out, time_point) const {
    if (left().kind == &wire::plain_lock) return false;  // SET calls no script
    write(out, place_.nodes.contains(node));
    return true;
}

void acquire_operation::cast(std::size_t node, const wire::acquire_answer& answer, time_point now) {
    if (answer.slots != 0) slots_.refused(answer.free_slots, answer.slots);
    node_vote& v = votes_[node];
    v.answer = answer.answer;
    v.error = answer.why.error;
    v.detail = answer.why.detail;
    const bool is_in_the_way = answer.answer == vote::held || answer.answer == vote::queued;
    if (is_for_several() && is_in_the_way) v.resource = name_of(answer);
    if (blocked_ && blocked_->told(node, answer.blocked)) machine_.woken(node, now);
    if (answer.slots != 0 && answer.slots < options_.slots) {
        v.detail += (v.detail.empty() ? "" : "; ");
        v.detail += "another program counts " + std::to_string(answer.slots) + " slots";
    }
    v.elapsed = std::chrono::duration_cast<microseconds>(now - sent_at_);
    v.retry_in = answer.left;
    v.fence = answer.answer == vote::granted && fence_ ? fence_->fence : answer.fence;
    perform(machine_.cast(node, answer.answer, outlook_of(answer, now), now), now);
}

// Of several resources the one that the answer is about.
std::string_view acquire_operation::name_of(const wire::acquire_answer& answer) const noexcept {
    const auto all = resources();
    return all[std::min(answer.which, all.size() - 1)];
}

void acquire_operation::take(time_point now) {
    core::renewal machine(now, machine_.valid_until(),
                          {.ttl = ttl_,
                           .renew = options_.renew,
                           .max_hold = options_.max_hold,
                           .loss_margin = options_.loss_margin});
    // Where the holder died at once the keys would run out before min_hold is over.
    const bool is_late = options_.min_hold > 0ms && keys_until_ < now + options_.min_hold;
    if (is_late || machine.report_at() <= now) return refused(errc::validity_exhausted, now);
    auto state = std::allocate_shared<lease_state>(
        recycling_memory<lease_state>(), std::move(resource_), owner_, fence_ ? fence_->fence : 0,
        machine.valid_until(), std::move(votes_),
        wire::lease_proof{left_.value, left_.slot, shares(), options_.min_hold},
        std::move(several_));
    state->home = client().host.home();
    client().shared.counts().granted.add();
    client().shared.counts().wait.add(now - begun_);
    client().shared.emit({.kind = event_kind::granted,
                          .severity = severity::debug,
                          .resource = state->resource,
                          .duration = std::chrono::duration_cast<microseconds>(now - begun_),
                          .votes = state->votes});
    left_.place = place_;
    left_.keep_until = now + longest_stay(client().shared.options(), options_.min_hold);
    held_lease_ptr lease(new held_lease(client().shared, client().host, state, std::move(left_),
                                        machine));
    if (std::exchange(has_claim_, false)) lease->take_claim();
    lease->begin_span(span_, now);
    client().host.adopt(std::move(lease));
    granted_ = state;
    end({}, std::move(state), now);
}

// It keeps its place only where it goes on waiting in it.
void acquire_operation::give_back(bool waits_on, time_point now) {
    const bool keeps_place = waits_on && machine_.may_queue();
    left_.place = place_;
    if (!left_.nodes.empty() || (!keeps_place && !place_.nodes.empty())) {
        client().host.release_in_background(left_, keeps_place, 0, now);
    }
    left_.nodes = {};
    if (!keeps_place) place_.nodes = {};
}

void acquire_operation::refused(error_code why, time_point now) {
    const operation_ptr keep(this);
    client().shared.end_span(span_kind::attempt, attempt_, now, why, votes_);
    std::optional<core::acquisition::prospects> further;
    // Another slot is free, as far as the nodes said: it need not wait for that.
    if (why == errc::contended && slots_.is_another_free()) {
        give_back(true, now);
        return try_once(now);
    }
    slots_.rest();
    if (is_queued() && machine_.may_wait_on(now)) {
        further = {client().shared.random_word(), client().local.resting()};
    }
    const auto next = machine_.refused(why, now, further);
    if (next != core::acquisition::step::give_up) give_back(true, now);
    perform(next, now);
}

// So many nodes can't be asked that no resource has a quorum.
bool acquire_operation::is_cut_off() const noexcept {
    const auto silent = std::count_if(votes_.begin(), votes_.end(), [](const node_vote& v) {
        return v.answer == vote::timed_out || v.answer == vote::unreachable ||
               v.answer == vote::quarantine;
    });
    return static_cast<std::size_t>(silent) > votes_.size() - redlock::quorum(votes_.size());
}

void acquire_operation::go_to_sleep(time_point now) {
    core::local_queues& lines = client().local;
    if (machine_.is_resting())
        lines.rests(*this, !is_cut_off());
    else
        lines.sleeps(*this);
    if (is_to_be_woken()) {
        client().remote.put_to_sleep(*this, heard_, sent_at_, now);
    }
    client().shared.arm(*this, machine_.due_at());
}

void acquire_operation::on_wake(std::size_t node, std::string_view resource,
                                std::optional<std::uint16_t> slot, time_point now) {
    if (slot) slots_.suggest(*slot);
    if (blocked_) {
        const auto at = std::find(several_.begin(), several_.end(), resource);
        const auto key = static_cast<std::size_t>(at - several_.begin());
        if (at == several_.end() || !blocked_->woken(node, key)) return;
    }
    machine_.woken(node, now);
    if (is_asleep()) client().shared.arm(*this, machine_.due_at());
}

void acquire_operation::told(std::size_t node, const core::outlook& what, bool has_vote,
                             time_point now) {
    if (blocked_ && blocked_->told(node, what.blocked)) machine_.woken(node, now);
    machine_.told(node, what, has_vote, now);
    if (!machine_.is_resting()) {
        // What ended its rest ended its turn, too. And no try will tell that a quorum can be
        // reached again: the answers did.
        client().local.sleeps(*this);
        if (machine_.may_reach_quorum()) queue_again(now);
    }
    client().shared.arm(*this, machine_.due_at());
}

void acquire_operation::queue_again(time_point now) {
    machine_.queue_again();
    if (!is_to_be_woken() || place_.ticket != 0) return;
    draw_ticket(now);
}

wire::wait_request acquire_operation::request(std::size_t which) const {
    std::string_view key;  // none once a grant has moved them to the lease
    if (which == 0) key = left_.key;
    if (which > 0 && which <= left_.others.size()) key = left_.others[which - 1];
    return {left_.slot.of > 0 ? wire::without_slot(key) : key, entry(true), left_.slot.of};
}

void acquire_operation::on_due(time_point now) {
    const operation_ptr keep(this);
    if (machine_.postpone(now, client().shared.own_delay().extra())) {
        return client().shared.arm(*this, machine_.due_at());
    }
    perform(machine_.due(now, is_queued()), now);
}

void acquire_operation::cancel(error_code why, time_point now) {
    if (machine_.is_over()) return;
    give_back(false, now);
    end(why, nullptr, now);
}

void acquire_operation::mark_all(vote answer, error_code why, std::string_view detail) {
    votes_.assign(client().shared.size(), {});
    for (std::size_t i = 0; i < votes_.size(); ++i) {
        votes_[i].node = client().shared.name(i);
        votes_[i].answer = answer;
        votes_[i].error = why;
        votes_[i].detail = detail;
    }
}

// A node that has not answered this attempt is shown as it answered the one before, which is why
// this one was made.
void acquire_operation::recall_votes() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
        if (votes_[i].answer == vote::pending) votes_[i] = std::move(before_[i]);
    }
}

void acquire_operation::end(error_code outcome, std::shared_ptr<lease_state> state, time_point now,
                            std::string_view detail) {
    const operation_ptr keep(this);
    machine_.end();
    timer::cancel();
    if (std::exchange(has_claim_, false)) end_claims(resources().size());
    if (std::exchange(is_counted_, false)) client().shared.counts().ended_waits.add();
    if (outcome == errc::no_quorum && machine_.tries() > 0)
        client().admission.unanswered(*this, sent_at_, now);
    else
        client().admission.withdraw(*this);
    client().remote.wake(*this);
    if (state && is_queued())
        client().local.taken(*this);
    else
        client().local.leave(*this);
    if (!state) {
        client().shared.counts().refused(outcome);
        const bool is_expected = outcome == errc::contended || outcome == errc::client_closed ||
                                 !(outcome.category() == category());  // cancelled
        client().shared.emit({.kind = event_kind::refused,
                              .severity = is_expected ? severity::info : severity::warning,
                              .resource = resource_,
                              .error = outcome,
                              .duration = std::chrono::duration_cast<microseconds>(now - begun_),
                              .votes = votes_,
                              .detail = detail});
        state = std::allocate_shared<lease_state>(recycling_memory<lease_state>(),
                                                  std::move(resource_), std::move(votes_),
                                                  std::move(several_), std::string(detail));
    }
    client().shared.end_span(span_kind::attempt, attempt_, now, outcome, state->votes);
    client().shared.end_span(span_kind::acquire, span_, now, outcome, state->votes, detail);
    client().host.finished(*this);
    complete(outcome, std::move(state));
}

}  // namespace redlock::detail
