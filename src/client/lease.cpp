// One lease.
// SPDX-License-Identifier: MIT
#include "client/lease.hpp"

#include <redlock/detail/access.hpp>
#include <redlock/detail/section.hpp>
#include <redlock/lease.hpp>

#include <algorithm>
#include <limits>

namespace redlock::detail {

kept_votes::kept_votes(cast_votes cast) {
    if (!std::ranges::all_of(cast, is_brief)) {
        auto whole = std::make_unique<whole_votes>();
        whole->votes = std::move(cast);
        whole_.store(whole.release(), std::memory_order_release);
        return;
    }
    brief_.reserve(cast.size());
    for (node_vote& v : cast) {
        brief_.push_back({std::move(v.node), v.fence,
                          static_cast<std::uint32_t>(v.elapsed.count()), v.answer, v.change});
    }
}

bool kept_votes::is_brief(const node_vote& v) noexcept {
    constexpr std::chrono::microseconds longest(std::numeric_limits<std::uint32_t>::max());
    return !v.error && v.detail.empty() && v.resource.empty() && v.note.empty() &&
           v.retry_in.count() == 0 && v.held_for.count() == 0 && v.elapsed.count() >= 0 &&
           v.elapsed <= longest;
}

std::span<const node_vote> kept_votes::all() const {
    if (const auto* const made = whole_.load(std::memory_order_acquire)) return made->votes;
    auto mine = std::make_unique<whole_votes>();
    mine->votes.reserve(brief_.size());
    for (const brief& b : brief_) {
        mine->votes.push_back({.node = b.node,
                               .answer = b.answer,
                               .elapsed = std::chrono::microseconds(b.elapsed_us),
                               .fence = b.fence,
                               .change = b.change});
    }
    const whole_votes* before = nullptr;
    if (!whole_.compare_exchange_strong(before, mine.get(), std::memory_order_acq_rel)) {
        return before->votes;  // another thread was faster
    }
    return mine.release()->votes;
}

void farewell::deliver() {
    assert(about_ && to_ != nullptr);
    const auto about = std::move(about_);
    to_->on_farewell(*about, what_);
}

bool lease_state::is_valid(clock::time_point now) noexcept {
    if (!is_live()) return false;
    auto until = valid_until_.load(std::memory_order_acquire);
    while ((until & seen_over) == 0) {
        if (now.time_since_epoch().count() < until) return true;
        if (valid_until_.compare_exchange_weak(until, until | seen_over,
                                               std::memory_order_acq_rel)) {
            break;
        }
    }
    return false;
}

bool lease_state::set_end(clock::time_point until) noexcept {
    auto before = valid_until_.load(std::memory_order_acquire);
    while ((before & seen_over) == 0) {
        if (valid_until_.compare_exchange_weak(before, as_open(until),
                                               std::memory_order_acq_rel)) {
            return true;
        }
    }
    return false;
}

// It is noted first: a lease that ends meanwhile has either seen the note, or is over here.
std::string lease_state::token() const {
    if (!is_live()) return {};
    const auto before = shown_.fetch_or(token_is_out, std::memory_order_acq_rel);
    if (!is_live()) return {};
    if ((before & says_shared) == 0) return wire::write_token(resources(), fence, proof);
    wire::lease_proof as_reader = proof;
    as_reader.is_shared = true;
    as_reader.min_hold = {};  // that is over: see `downgrade_operation`
    return wire::write_token(resources(), fence, as_reader);
}

bool lease_state::share() noexcept {
    std::uint8_t none = 0;
    return shown_.compare_exchange_strong(none, says_shared, std::memory_order_acq_rel) ||
           (none & says_shared) != 0;
}

bool lease_state::lose(loss why) {
    lost_for_.store(why, std::memory_order_release);
    if (!leave(status::lost)) return false;
    alert();
    return true;
}

std::stop_token lease_state::lost_token() {
    if (born_.is_here()) return bell_.token();
    std::stop_source over;
    over.request_stop();
    return over.get_token();
}

// Callbacks run here, and may ask for the token again.
void loss_bell::ring() noexcept {
    const auto before = word_.fetch_or(rang, std::memory_order_acq_rel);
    if (auto* const source = source_in(before)) source->request_stop();
}

std::stop_token loss_bell::token() {
    auto word = word_.load(std::memory_order_acquire);
    if (source_in(word) == nullptr) {
        auto made = std::make_unique<std::stop_source>();
        const auto mine = reinterpret_cast<std::uintptr_t>(made.get());
        assert((mine & rang) == 0);
        while (source_in(word) == nullptr) {
            if ((word & rang) != 0) made->request_stop();  // before another thread can see it
            if (!word_.compare_exchange_weak(word, mine | word, std::memory_order_acq_rel)) {
                continue;  // it rang meanwhile, or another thread was faster
            }
            word = mine;
            made.release();
        }
    }
    return source_in(word)->get_token();
}

held_lease::held_lease(context& shared, lease_keeper& keeper, std::shared_ptr<lease_state> state,
                       footprint left, core::key_history keys, core::renewal machine,
                       event_ids ids)
    : shared_(&shared),
      keeper_(&keeper),
      state_(std::move(state)),
      left_(std::move(left)),
      keys_(std::move(keys)),
      machine_(machine),
      ids_(ids) {
    assert(state_ && left_.kind != nullptr && !machine.is_lost());
}

void held_lease::begin() {
    assert(!over_ && state_->held_as == nullptr);
    state_->held_as = this;
    number_ = shared_->counts().begun_leases.get();
    spread(machine_);
    rearm();
}

event held_lease::event_of(event_kind kind, severity how, time_point begin,
                           time_point now) const noexcept {
    return {.kind = kind,
            .severity = how,
            .resource = state_->resource,
            .duration = std::chrono::duration_cast<std::chrono::microseconds>(now - begin),
            .begin = begin,
            .id = ids_.id,
            .parent = ids_.parent};
}

void held_lease::spread(core::renewal& machine) const {
    machine.spread(shared_->leases(), core::renewal::place_of(number_));
}

void held_lease::rearm() noexcept {
    assert(!over_);
    shared_->arm(*this, machine_.is_lost() ? machine_.valid_until() : machine_.deadline());
}

void held_lease::on_due(time_point now) {
    assert(!over_);
    if (now - when() > machine_.ttl() / 10) shared_->report_lag(when(), now);
    if (machine_.is_lost()) return give_back(errc::lost, now);
    machine_.touched(state_->touched());
    switch (machine_.on_time(now)) {
        case core::renewal::action::none: rearm(); break;
        case core::renewal::action::lost: lose(now); break;
        case core::renewal::action::renew:
            rearm();
            keeper_->renew(*this);
            break;
    }
}

bool held_lease::share() {
    assert(!is_over() && left_.kind == &wire::fenced_lock);
    if (!state_->share()) return false;
    left_.kind = &wire::shared_lock;
    is_turning_ = true;
    return true;
}

bool held_lease::extended(time_point sent, time_point until, std::optional<duration> new_ttl) {
    assert(!over_);
    core::renewal prolonged = machine_;
    prolonged.extended(sent, until, new_ttl);
    spread(prolonged);
    // The thread may have stood still since it looked at the clock, and the holder was faster.
    if (!state_->set_end(prolonged.valid_until())) return false;
    machine_ = prolonged;
    said_ = {};
    rearm();
    return true;
}

void held_lease::shorten(duration gap, time_point now) {
    // The nodes keep their keys and fences by their own clocks, which went on.
    left_.keep_until -= gap;
    left_.fences_until -= gap;
    if (is_over()) return;
    machine_.shorten(gap);
    state_->shorten_touch(gap);
    refused_.shorten(gap);
    keys_.shorten(gap);
    state_->set_end(machine_.valid_until());
    on_due(now);
}

void held_lease::renewal_failed(error_code why, std::string said, time_point sent, time_point now,
                                std::uint64_t random) {
    assert(why && !is_over());
    said_.edit() = std::move(said);
    shared_->counts().renewal_failures.add();
    event failed = event_of(event_kind::renewal_failed, severity::warning, sent, now);
    failed.error = why;
    failed.detail = *said_;
    shared_->emit(failed);
    if (machine_.renewal_failed(why, now, random) == core::renewal::action::lost) {
        lose(now);
    } else {
        rearm();
    }
}

void held_lease::lose(time_point now) {
    assert(machine_.is_lost() && !over_);
    const loss why = machine_.reason();
    if (!state_->lose(why)) {
        // The holder was faster: its own message is on its way and does the rest.
        return cancel();
    }
    shared_->counts().lost.add();
    if (count_out()) shared_->counts().hold.add(now - machine_.granted_at());
    std::string detail(to_string(why));
    if (why == loss::unreachable && !said_->empty()) detail += ": " + *said_;
    event lost = event_of(event_kind::lost, severity::error, machine_.granted_at(), now);
    lost.error = errc::lost;
    lost.detail = detail;
    shared_->emit(lost);
    if (why == loss::taken) keeper_->free_line(*this);
    // The keys stay while the holder winds up: nobody else may enter before it is done, or the
    // validity is over. But another program may have entered before a lease was taken, and by the
    // token a third one would go on with it.
    if (why == loss::taken && !left_behind().ends_with_validity()) {
        keeper_->release_in_background(left_behind(), false, now);
    }
    rearm();
    tell(why, errc::lost, now);
}

void held_lease::end(error_code why, time_point now) {
    if (over_) return;
    assert(state_->held_as == this);
    over_ = true;
    cancel();
    state_->held_as = nullptr;
    if (count_out()) {
        shared_->counts().hold.add(now - machine_.granted_at());
        shared_->counts().remaining.add(machine_.valid_until() - now);
    }
    keeper_->forget(*this);
    tell(std::nullopt, why, now);
}

void held_lease::tell(std::optional<loss> lost, error_code why, time_point now) {
    assert(over_ || machine_.is_lost());
    while (!dependents_.empty()) {
        dependent& d = dependents_.front();
        dependents_.pop_front();
        d.on_lease_over(lost, why, now);
    }
}

bool held_lease::count_out() noexcept {
    if (std::exchange(counted_out_, true)) return false;
    shared_->counts().ended_leases.add();
    return true;
}

void held_lease::drop() noexcept {
    assert(!over_ && state_->held_as == this);
    over_ = true;
    count_out();
    cancel();
    dependents_.clear();
    state_->held_as = nullptr;
    if (state_->end()) state_->alert();
}

void held_lease::give_back(error_code why, time_point now) {
    if (!is_over()) {
        shared_->emit(event_of(event_kind::released, severity::debug, machine_.granted_at(), now));
    }
    end(why, now);
    if (!is_left_to_others()) keeper_->release_in_background(left_behind(), false, now);
}

// The loss was reported: see `lose`.
bool held_lease::is_left_to_others() const {
    return state_->state() == lease_state::status::lost && !left_behind().ends_with_validity();
}

footprint held_lease::left_behind() const {
    footprint left = left_;
    left.note_token(state_->is_known_elsewhere());
    return left;
}

namespace {

refusal lost(std::string because) { return {errc::lost, {}, std::move(because)}; }

std::string sentence(loss why) {
    switch (why) {
        case loss::expired: return "expired: its validity ended without a renewal";
        case loss::taken: return "taken: a quorum says that the key is gone or another owner's";
        case loss::unreachable:
            return "unreachable: no renewal reached a quorum before its validity ended";
        case loss::max_hold: return "max_hold: it was held for as long as that allows";
        case loss::stalled: return "stalled: touch() was not called for as long as watchdog says";
    }
    return std::string(to_string(why));
}

}  // namespace

std::optional<loss> loss_of(const lease& held) noexcept {
    const auto& state = access::state(held);
    if (!state) return std::nullopt;
    if (state->state() == lease_state::status::lost) return state->lost_for();
    // The client ended it: it was closed, or is the parent process's. Or the clock is ahead of it.
    return held || !state->is_live() ? std::nullopt : std::optional(loss::expired);
}

refusal why_over(const lease& held) {
    const auto& state = access::state(held);
    if (!state) return {errc::not_held, {}};
    if (state->state() == lease_state::status::lost) return lost(sentence(state->lost_for()));
    if (loss_of(held)) return lost("expired: its validity ended before the client could report it");
    return held ? refusal{} : refusal{errc::client_closed, {}};
}

refusal section_end::after_release(error_code outcome) const {
    if (state_->state() == lease_state::status::lost) return lost(sentence(state_->lost_for()));
    if (before_.code) return before_;
    // Of keys that are gone since the validity ended meanwhile nothing follows.
    if (outcome == errc::not_held && clock::now() < state_->valid_until()) {
        return lost("taken: a quorum says at the release that the key was not this lease's");
    }
    return {};
}

}  // namespace redlock::detail

namespace redlock {

lease::lease(std::shared_ptr<detail::lease_state> state) noexcept : state_(std::move(state)) {}

lease::lease(lease&& other) noexcept = default;

lease& lease::operator=(lease&& other) noexcept {
    if (this == &other) return *this;
    lease old(std::move(*this));
    state_ = std::move(other.state_);
    return *this;
}

lease::~lease() {
    if (!state_) return;
    if (const auto home = state_->home.lock()) {
        home->part(std::move(state_), detail::farewell::kind::give_back);
    }
}

void lease::detach() noexcept {
    if (!state_) return;
    if (const auto home = state_->home.lock()) {
        home->part(std::move(state_), detail::farewell::kind::let_go);
    }
    state_.reset();
}

std::shared_ptr<detail::lease_state> detail::access::surrender(lease&& held) noexcept {
    if (held.state_) held.state_->part();
    return std::move(held.state_);
}

lease::operator bool() const noexcept {
    return state_ && state_->is_valid(clock::now());
}

const std::string& lease::resource() const noexcept {
    static const std::string none;
    return state_ ? state_->resources().front() : none;
}

std::span<const std::string> lease::resources() const noexcept {
    return state_ ? state_->resources() : std::span<const std::string>();
}

owner_id lease::owner() const noexcept { return state_ ? state_->owner : owner_id{}; }

std::uint64_t lease::fence() const noexcept { return state_ ? state_->fence : 0; }

std::uint16_t lease::slot() const noexcept { return state_ ? state_->proof.slot.number : 0; }
std::span<const std::uint16_t> lease::slots() const noexcept {
    if (!state_ || state_->proof.slot.of == 0) return {};
    return state_->proof.all_slots();
}

std::string lease::token() const {
    return state_ ? state_->token() : "";
}

clock::time_point lease::valid_until() const noexcept {
    return state_ ? state_->valid_until() : clock::time_point{};
}

std::chrono::milliseconds lease::remaining() const noexcept {
    using std::chrono::milliseconds;
    const auto now = clock::now();
    if (!state_ || !state_->is_valid(now)) return milliseconds(0);
    // It may have been prolonged meanwhile, never cut short.
    return std::chrono::floor<milliseconds>(state_->valid_until() - now);
}

std::span<const node_vote> lease::votes() const noexcept {
    return state_ ? state_->votes.all() : std::span<const node_vote>();
}

const std::string& lease::why() const noexcept {
    static const std::string none;
    return state_ ? state_->why() : none;
}

void lease::touch() const noexcept {
    if (state_) state_->touch(clock::now());
}

std::stop_token lease::lost_token() const {
    return state_ ? state_->lost_token() : std::stop_token();
}

}  // namespace redlock
