// Acquiring a lease.
// SPDX-License-Identifier: MIT
#include "runtime/acquire.hpp"

#include "lease_terms.hpp"
#include "owner_text.hpp"
#include "runtime/engine.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

namespace redlock::detail {

using namespace std::chrono_literals;
using std::chrono::microseconds;

namespace {

recycled_string joined(std::initializer_list<std::string_view> parts) {
    std::size_t size = 0;
    for (const auto part : parts) size += part.size();
    recycled_string whole;
    whole.reserve(size);
    for (const auto part : parts) whole.append(part);
    return whole;
}

core::outlook outlook_of(const net::acquire_answer& answer, time_point now) noexcept {
    core::outlook o = core::look_ahead(answer.left, answer.before, now);
    o.is_foreign = answer.is_foreign;
    o.holder = answer.holder;
    return o;
}

}  // namespace

// Why nothing may be sent; empty when all is well.
std::string acquire_operation::check() {
    const auto& client = home().options();
    if (auto why = validate_resource(client, resource_); !why.empty()) return why;
    if (const auto issues = validate(options_, client); !issues.empty()) {
        return issues.front().where.substr(1) + " " + issues.front().message;
    }
    if (!options_.owner.is_zero()) {
        has_claim_ = home().owners().begin(options_.owner, resource_);
        if (!has_claim_) return "this owner holds, or is acquiring, the resource already";
    }
    return {};
}

void acquire_operation::start(time_point now) {
    begun_ = now;
    if (const auto why = check(); !why.empty()) {
        return end(errc::invalid_argument, nullptr, now, why);
    }
    ttl_ = effective_ttl(home().options(), options_.ttl);
    if (options_.wait > 0ms) {
        wait_ = std::make_unique<core::wait>(home().size(), now + options_.wait);
    }
    last_refusal_ = errc::no_quorum;  // what is said when the time is over before a first verdict
    home().await_settled(*this, now);
}

void acquire_operation::on_settled(time_point now) {
    if (over_) return;
    core::lines& lines = home().room().lines();
    if (options_.wait == 0ms) {
        using enum core::admission::answer;
        switch (home().admission().apply(*this)) {
            case enter: return try_without_waiting(now);
            case go_away: return turn_away(now);
            case wait: break;
        }
        // It does not wait for the lock, but has to for those who were faster.
        return home().arm(*this, now + home().options().connect_timeout);
    }
    // However short the wait, one attempt may take the time that a node may take.
    first_until_ = std::max(wait_->deadline(), now + home().time_for(home().size()));
    home().arm(*this, first_until_);
    lines.join(*this, resource_);
    // Its turn comes at the end of this one where nothing of this client is in its way.
    if (lines.first(resource_) == this) return;
    last_refusal_ = errc::contended;
    home().arm(*this, wait_->deadline());
}

void acquire_operation::on_admitted(time_point now) {
    const operation_ptr keep(this);
    core::appointment::cancel();
    try_without_waiting(now);
}

void acquire_operation::try_without_waiting(time_point now) {
    if (home().room().lines().is_waited_for(resource_)) return stand_aside(now);
    try_once(now);
}

// There was no time in which it could have asked the nodes.
void acquire_operation::turn_away(time_point now) {
    mark_all(vote::unreachable, errc::backlog, "this client asks the nodes for too much else");
    end(errc::no_quorum, nullptr, now);
}

// It would not wait, or not any longer, and must not get what others wait for.
void acquire_operation::stand_aside(time_point now) {
    const core::waiter* const first = home().room().lines().first(resource_);
    if (first == this && last_refusal_ != errc::contended) return turn_away(now);  // since it came
    mark_all(vote::queued, {},
             first == nullptr ? "this client holds it" : "others of this client wait before us");
    end(errc::contended, nullptr, now);
}

void acquire_operation::on_turn(time_point now) {
    const operation_ptr keep(this);
    if (is_trying()) {
        is_called_again_ = true;
    } else {
        try_once(now);
    }
}

void acquire_operation::try_once(time_point now) {
    home().room().wake(*this);
    is_called_again_ = false;
    voters_ = 0;
    if (++tries_ > 1) {
        home().counts().retries.add();
        before_ = std::move(votes_);
    }
    if (wait_) wait_->tried(now);
    // A new value for each attempt, so that a release of one that is still on its way can't delete
    // the key of a later one.
    owner_ = options_.owner.is_zero() ? home().host().fresh_owner() : options_.owner;
    left_ = {.key = key(), .value = value(), .born = home().nodes().breaks()};
    // One that a caller gave may be in use elsewhere: another process can have its client_name, too,
    // and an earlier lease's release may still be on its way.
    if (!options_.owner.is_zero()) {
        left_.value.append("#").append(std::to_string(home().host().random_word()));
    }
    attempt_.emplace(home().size(), now, ttl_, home().drift());
    fence_.reset();
    send_round(now);
    if (is_trying() && options_.wait > 0ms) {
        home().arm(*this, tries_ == 1 ? first_until_ : wait_->deadline());
    }
}

recycled_string acquire_operation::key() const {
    return joined({home().options().key_prefix, resource_});
}

recycled_string acquire_operation::value() const {
    const auto owner = text::whole(owner_);
    return joined({{owner.data(), owner.size()}, "@", home().options().client_name});
}

bool acquire_operation::draw_fence(time_point now) {
    if (!home().options().fencing) return true;
    fence_ = home().nodes().propose(seen_fence_, now);
    if (fence_) draw_ticket(fence_->fence, now);
    return fence_.has_value();
}

// A ticket is a time: without that it would stand before everybody.
void acquire_operation::draw_ticket(std::uint64_t fence, time_point now) {
    if (place_.ticket != 0 || !home().nodes().node_time_us(now)) return;
    place_.ticket = fence;
    if (is_to_be_woken()) place_.id = home().room().next_id();
}

bool acquire_operation::is_to_be_woken() const noexcept {
    return options_.wait > 0ms && home().options().fencing;
}

queue_entry acquire_operation::entry(bool is_entered) const noexcept {
    const bool lives = is_entered && may_queue_ && !place_.id.empty();
    return {place_.id, place_.ticket, lives ? home().room().entry_life() : duration::zero()};
}

// Everywhere at its ticket, also where it is not entered: else two might be first on some nodes
// each.
net::tail acquire_operation::write(std::string& out, script_form form, bool is_entered) const {
    const queue_entry at = entry(is_entered);
    return write_acquire(out, form, {left().key, left().value, ttl_}, fence_ ? &*fence_ : nullptr,
                         place_.id.empty() ? nullptr : &at);
}

void acquire_operation::send_round(time_point now) {
    sent_at_ = now;
    answers_ = 0;
    heard_ = 0;
    const std::uint32_t round = ++round_;
    mark_all(vote::pending, {}, {});
    if (!draw_fence(now)) {
        mark_all(vote::refused, errc::clock_skew,
                 home().nodes().is_time_in_doubt()
                     ? "the nodes' clocks are too far apart to tell which are right"
                     : "the fences of this resource have run ahead of the nodes' clocks");
        return refused(errc::no_quorum, now);
    }
    const node_mask ask = home().nodes().askable();
    for (std::size_t i = 0; i < home().size(); ++i) {
        if ((ask >> i & 1U) != 0) continue;
        if (const auto o = home().nodes().object(i, now, now)) on_failure(i, round, o->why, now);
    }
    // It is entered only where a wake-up would reach it.
    const bool is_entered = may_queue_ && !place_.id.empty();
    const node_mask enter = is_entered ? ask & home().room().listening() : 0;
    if (is_open(round) && enter != 0) send_to(enter, true, now);
    if (is_open(round) && (ask & ~enter) != 0) send_to(ask & ~enter, false, now);
}

void acquire_operation::send_to(node_mask nodes, bool is_entered, time_point now) {
    const std::uint32_t round = round_;
    std::string& wire = home().blank();
    const net::tail end = write(wire, script_form::by_hash, is_entered);
    const auto result = home().send(*this, round, wire, end, now, nodes);
    left_.note_sent(result.sent, fence_ ? fence_->fence : 0);
    if (is_entered) {
        heard_ |= result.sent;
        place_.nodes |= result.sent;
    }
    for (const auto& [node, why] : result.failures) on_failure(node, round, why, now);
}

// Under a fence above all that were seen, to every node: those that granted the first raise theirs.
void acquire_operation::send_second_round(time_point now) {
    attempt_->begin_second(now);
    home().counts().second_rounds.add();
    send_round(now);
}

void acquire_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point now) {
    if (net::is_late(reply)) home().nodes().doubt_clock(node, now);
    if (!is_open(round)) {
        // A late grant is released with the lease, or was already; one asleep still learns from it.
        if (!is_asleep() || round != round_) return;
        const auto late = net::read_acquire(reply);
        if (const auto o = home().nodes().object(node, sent_at_, now)) {
            return told(node, {.free_at = now + o->left}, false, now);
        }
        const bool has_voted = core::weigh(late.answer) != core::ballot::unable;
        return told(node, outlook_of(late, now), has_voted, now);
    }
    // However the votes fall, and whoever is still silent: the nodes keep up with what is asked.
    if (++answers_ == core::quorum(home().size())) {
        home().admission().answered(*this, sent_at_, now);
    }
    auto answer = fence_ ? net::read_acquire(reply) : net::read_set(reply);
    // One node that lies, or has been written to by hand, must not lead all the others astray.
    if (home().nodes().is_plausible(answer.fence, now)) {
        seen_fence_ = std::max(seen_fence_, answer.fence);
    } else if (answer.answer == vote::stale) {
        answer.answer = vote::refused;
        answer.why = {vote::refused, errc::clock_skew,
                      "its fence has run ahead of the nodes' clocks"};
    }
    if (answer.lacks_fence) {
        home().nodes().found_without_fence(node, resource_, answer.why.detail);
    }
    if (answer.is_amnesiac) home().nodes().on_amnesiac(node, sent_at_, now);
    if (answer.why.error == errc::not_master) home().nodes().greet_again(node, now);
    if (answer.answer != vote::refused) {
        if (auto o = home().nodes().object(node, sent_at_, now)) {
            answer.answer = o->why.answer;
            answer.why = std::move(o->why);
            answer.left = o->left;
        }
    }
    cast(node, answer, now);
}

void acquire_operation::on_failure(std::size_t node, std::uint32_t round, const net::failure& why,
                                   time_point now) {
    if (is_open(round)) cast(node, {.answer = why.answer, .why = why}, now);
}

bool acquire_operation::is_open(std::uint32_t round) const noexcept {
    return !over_ && round == round_ && attempt_ &&
           attempt_->state() == core::attempt::verdict::open;
}

// A node that was still connecting gets the key of a lease that lives: the more nodes hold it, the
// more of them may fail.
bool acquire_operation::is_wanted(std::uint32_t round) const noexcept {
    return is_open(round) || (round == round_ && is_held());
}

bool acquire_operation::is_held() const noexcept {
    return granted_ && granted_->is_live() && granted_->held_as != nullptr;
}

// What became of the attempt has it since the grant.
const footprint& acquire_operation::left() const noexcept {
    return is_held() ? granted_->held_as->left() : left_;
}

std::optional<net::tail> acquire_operation::write_with_script(std::size_t node, std::uint32_t,
                                                              std::string& out) const {
    if (!fence_) return std::nullopt;
    return write(out, script_form::whole, (place_.nodes >> node & 1U) != 0);
}

void acquire_operation::cast(std::size_t node, const net::acquire_answer& answer, time_point now) {
    node_vote& v = votes_[node];
    v.answer = answer.answer;
    v.error = answer.why.error;
    v.detail = answer.why.detail;
    v.elapsed = std::chrono::duration_cast<microseconds>(now - sent_at_);
    v.retry_in = answer.left;
    v.fence = answer.answer == vote::granted && fence_ ? fence_->fence : answer.fence;
    if (wait_) wait_->told(node, outlook_of(answer, now), now);
    switch (attempt_->cast(node, answer.answer, now)) {
        case core::attempt::verdict::open: return;
        case core::attempt::verdict::granted: return grant(now);
        case core::attempt::verdict::refused: return refused(attempt_->reason(), now);
        case core::attempt::verdict::again: return send_second_round(now);
    }
}

void acquire_operation::grant(time_point now) {
    core::hold machine(now, attempt_->valid_until(),
                       {.ttl = ttl_,
                        .renew = options_.renew,
                        .max_hold = options_.max_hold,
                        .loss_margin = options_.loss_margin});
    if (machine.report_at() <= now) return refused(errc::validity_exhausted, now);
    auto state = std::allocate_shared<lease_state>(
        recycling_memory<lease_state>(), std::move(resource_), owner_, fence_ ? fence_->fence : 0,
        machine.valid_until(), std::move(votes_));
    state->home = home().host().home();
    home().counts().granted.add();
    home().emit({.kind = event_kind::granted,
                 .severity = severity::debug,
                 .resource = state->resource,
                 .duration = std::chrono::duration_cast<microseconds>(now - begun_),
                 .votes = state->votes});
    left_.place = place_;
    holding_ptr lease(new holding(home(), state, std::move(left_), machine));
    if (std::exchange(has_claim_, false)) lease->take_claim();
    home().adopt(std::move(lease));
    granted_ = state;
    end({}, std::move(state), now);
}

// It keeps its place only where it goes on waiting in it.
void acquire_operation::give_back(bool waits_on, time_point now) {
    const bool keeps_place = waits_on && may_queue_;
    left_.place = place_;
    if (left_.nodes != 0 || (!keeps_place && place_.nodes != 0)) {
        home().release_in_background(left_, keeps_place, now);
    }
    left_.nodes = 0;
    if (!keeps_place) place_.nodes = 0;
}

void acquire_operation::refused(error_code why, time_point now) {
    const operation_ptr keep(this);
    attempt_->abandon(why);
    last_refusal_ = why;
    const bool waits_on =
        is_in_line() && now < wait_->deadline() &&
        wait_->refused(why, now, home().host().random_word(), home().room().lines().resting());
    // Where it can reach no quorum others may, and would wait for it in vain.
    may_queue_ = why == errc::contended;
    give_back(waits_on, now);
    if (!waits_on) return end(why, nullptr, now);
    if (is_called_again_) return try_once(now);
    go_to_sleep(now);
}

// So many nodes can't be asked that no resource has a quorum.
bool acquire_operation::is_cut_off() const noexcept {
    const auto silent = std::count_if(votes_.begin(), votes_.end(), [](const node_vote& v) {
        return v.answer == vote::timed_out || v.answer == vote::unreachable ||
               v.answer == vote::quarantine;
    });
    return static_cast<std::size_t>(silent) > votes_.size() - core::quorum(votes_.size());
}

void acquire_operation::go_to_sleep(time_point now) {
    core::lines& lines = home().room().lines();
    if (wait_->is_resting())
        lines.rests(*this, !is_cut_off());
    else
        lines.sleeps(*this);
    if (is_to_be_woken()) {
        home().room().put_to_sleep(*this, heard_, sent_at_, now);
    }
    home().arm(*this, wait_->next());
}

void acquire_operation::on_wake(std::size_t node, time_point now) {
    wait_->woken(node, now);
    if (is_asleep()) home().arm(*this, wait_->next());
}

void acquire_operation::told(std::size_t node, const core::outlook& what, bool has_vote,
                             time_point now) {
    const node_mask one = node_mask{1} << node;
    voters_ = has_vote ? voters_ | one : voters_ & ~one;
    // Whether it is in others' way only a try tells; one that has made that may sleep.
    wait_->told(node, has_vote || !may_queue_ ? what : core::outlook{}, now);
    if (!wait_->is_resting()) {
        // What ended its rest ended its turn, too. And no try will tell that a quorum can be
        // reached again: the answers did.
        home().room().lines().sleeps(*this);
        const auto voters = static_cast<std::size_t>(std::popcount(voters_));
        if (voters >= core::quorum(home().size())) queue_again(now);
    }
    home().arm(*this, wait_->next());
}

void acquire_operation::queue_again(time_point now) {
    may_queue_ = true;
    if (place_.ticket != 0) return;
    if (const auto drawn = home().nodes().propose(seen_fence_, now)) draw_ticket(drawn->fence, now);
}

wait_request acquire_operation::request() const { return {left_.key, entry(true)}; }

// Armed for the next attempt and, also while one is under way, for the end of waiting.
void acquire_operation::on_due(time_point now) {
    const operation_ptr keep(this);
    if (tries_ == 0) return is_in_line() ? stand_aside(now) : turn_away(now);
    if (!is_trying() && now < wait_->deadline()) {
        home().arm(*this, wait_->deadline());  // for as long as its turn does not come
        return home().room().lines().ask(*this);
    }
    if (is_trying()) recall_votes();
    if (attempt_) attempt_->abandon(last_refusal_);
    give_back(false, now);
    end(last_refusal_, nullptr, now);
}

void acquire_operation::cancel(error_code why, time_point now) {
    if (over_) return;
    if (attempt_) attempt_->abandon(why);
    give_back(false, now);
    end(why, nullptr, now);
}

void acquire_operation::mark_all(vote answer, error_code why, std::string_view detail) {
    votes_.assign(home().size(), {});
    for (std::size_t i = 0; i < votes_.size(); ++i) {
        votes_[i].node = home().name(i);
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
    over_ = true;
    core::appointment::cancel();
    if (std::exchange(has_claim_, false)) home().owners().end(options_.owner, resource_);
    if (outcome == errc::no_quorum && tries_ > 0)
        home().admission().unanswered(*this, sent_at_, now);
    else
        home().admission().withdraw(*this);
    home().room().wake(*this);
    if (state && is_in_line())
        home().room().lines().taken(*this);
    else
        home().room().lines().leave(*this);
    if (!state) {
        auto& counts = home().counts();
        if (outcome == errc::contended)
            counts.contended.add();
        else if (outcome == errc::no_quorum)
            counts.no_quorum.add();
        else if (outcome == errc::validity_exhausted)
            counts.validity_exhausted.add();
        else if (outcome != errc::invalid_argument)
            counts.cancelled.add();
        const bool is_expected = outcome == errc::contended || outcome == errc::client_closed ||
                                 !(outcome.category() == category());  // cancelled
        home().emit({.kind = event_kind::refused,
                     .severity = is_expected ? severity::info : severity::warning,
                     .resource = resource_,
                     .error = outcome,
                     .duration = std::chrono::duration_cast<microseconds>(now - begun_),
                     .votes = votes_,
                     .detail = detail});
        state = std::allocate_shared<lease_state>(recycling_memory<lease_state>(),
                                                  std::move(resource_), std::move(votes_));
    }
    home().finished(*this);
    complete(outcome, std::move(state));
}

}  // namespace redlock::detail
