// What a simulated worker does with its locks.
// SPDX-License-Identifier: MIT
#include "simulation/worker.hpp"

#include "client/acquire.hpp"
#include "client/extend.hpp"
#include "client/release.hpp"
#include "simulation/program.hpp"
#include "simulation/watched.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/access.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

struct acquiring final : watched<detail::acquire_operation, worker> {
    using watched::watched;
    void complete(error_code outcome, std::shared_ptr<detail::lease_state> state) override {
        ended().on_acquired(outcome, std::move(state));
    }
};
struct extending final : watched<detail::extend_operation, worker> {
    extending(program& in, worker& by, std::shared_ptr<detail::lease_state> what,
              std::chrono::milliseconds ttl)
        : watched(in, by, what, ttl), of(std::move(what)) {}
    void complete(error_code outcome) override { ended().on_extended(outcome, *of); }
    std::shared_ptr<detail::lease_state> of;
};
struct releasing final : watched<detail::release_operation, worker> {
    using watched::watched;
    void complete(error_code outcome) override { ended().on_released(outcome); }
};
struct watching final : watched<detail::lost_operation, worker> {
    watching(program& in, worker& by, std::shared_ptr<detail::lease_state> what)
        : watched(in, by, what), of(std::move(what)), since(clock::now()) {}
    void complete(error_code outcome, loss why) override {
        ended().on_lost(outcome, why, *of, since);
    }
    std::shared_ptr<detail::lease_state> of;
    time_point since;
};

}  // namespace

worker::worker(program& in, std::size_t index, chance dice)
    : in_(&in), index_(index), dice_(dice) {}
worker::~worker() = default;

std::string worker::name() const { return in_->name() + "." + std::to_string(index_); }

void worker::plan(duration delay, void (worker::*step)()) {
    in_->after(delay, [this, step, number = step_] {
        if (number == step_) (this->*step)();
    });
}

void worker::think() {
    is_busy_ = false;
    if (in_->is_resting()) return rest();
    if (in_->around().in.has_bursts()) return plan(until_burst(), &worker::take);
    const duration longest = in_->terms().longest_think;
    const duration least = dice_.happens(0.2) ? duration(100us) : longest / 20;
    plan(dice_.between_orders(least, longest), &worker::take);
}

duration worker::until_burst() const {
    const duration every = in_->around().in.between_bursts;
    return every - (in_->around().when.now() - beginning) % every;
}

void worker::rest() {
    ++step_;
    is_busy_ = false;
}

void worker::take() {
    if (in_->is_resting()) return rest();
    ++step_;
    const program_plan& terms = in_->terms();
    if (in_->around().in.has_bursts()) return take(0, {.ttl = terms.longest_ttl, .renew = false});
    if (terms.hands_over > 0 && dice_.happens(0.4) && take_over()) return;
    if (terms.calls > 0 && dice_.happens(terms.calls)) return call();
    const auto longest = duration(terms.longest_ttl);
    acquire_options how;
    const duration ttl =
        terms.has_wanderlust ? dice_.between_orders(longest / 20, longest) : longest;
    how.ttl = std::max<milliseconds>(std::chrono::duration_cast<milliseconds>(ttl), 10ms);
    if (dice_.happens(0.7)) {
        how.wait = std::chrono::duration_cast<milliseconds>(
            dice_.between_orders(1ms, std::min<duration>(2 * longest, 1s)));
    }
    how.renew = dice_.happens(terms.is_duellist ? 0.2 : 0.65);
    if (terms.is_duellist) how.wait = how.ttl * 3;
    if (terms.is_keeper) {
        how.ttl = terms.longest_ttl;
        how.renew = true;
        return take(0, how);
    }
    if (terms.is_candidate) {
        // Where a quorum is not promised it has to end when the world does.
        const auto& in = in_->around().in;
        const milliseconds wait = in.is_only_safe ? 3 * in.ttl_max : std::chrono::hours(24 * 365);
        return take(0, {.ttl = terms.longest_ttl, .wait = wait});
    }
    if (terms.is_rival) return take(0, {.ttl = terms.longest_ttl, .renew = false});
    if (dice_.happens(0.15)) {
        how.max_hold =
            std::chrono::duration_cast<milliseconds>(dice_.between_orders(1ms, 3 * longest));
    }
    if (dice_.happens(0.2)) how.loss_margin = how.ttl * dice_.between(1, 80) / 100;
    if (in_->around().in.are_twins && dice_.happens(0.7)) how.owner = own_owner();
    if (terms.reads > 0 && dice_.happens(terms.reads)) how.mode = lock_mode::shared;
    if (terms.takes_slots > 0 && how.mode == lock_mode::exclusive &&
        dice_.happens(terms.takes_slots)) {
        how.slots = terms.slots;
        if (terms.takes_permits > 0 && dice_.happens(terms.takes_permits)) {
            how.permits = static_cast<std::uint16_t>(dice_.between(2, how.slots));
        }
    }
    if (terms.keeps > 0 && how.mode == lock_mode::exclusive && dice_.happens(terms.keeps)) {
        const auto most = duration(in_->around().in.ttl_max) * 9 / 10;
        how.min_hold = std::chrono::ceil<milliseconds>(dice_.between_orders(1ms, most));
    }
    // What would be lost at once is refused.
    if (how.max_hold > 0ms) how.max_hold += std::max(how.loss_margin, 5ms);
    const bool is_alone = how.mode == lock_mode::exclusive && how.slots == 0;
    if (terms.takes_several > 0 && is_alone && dice_.happens(terms.takes_several)) {
        return take_several(2 + dice_.below(in_->around().in.resources - 1), how);
    }
    take(dice_.below(in_->around().in.resources), how);
}

// The same in each program, and in each process of it.
owner_id worker::own_owner() const {
    owner_id id;
    id.bytes.fill(static_cast<std::uint8_t>(index_ + 1));
    return id;
}

void worker::take(std::size_t resource, const acquire_options& how) {
    take(std::vector<std::size_t>{resource}, how);
}

// That many of them, in any order.
void worker::take_several(std::size_t count, const acquire_options& how) {
    std::vector<std::size_t> all(in_->around().in.resources);
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[dice_.below(i + 1)]);
    all.resize(count);
    take(std::move(all), how);
}

void worker::take(std::vector<std::size_t> resources, const acquire_options& how) {
    ++step_;
    is_busy_ = true;
    how_ = how;
    resources_ = std::move(resources);
    const lease_checker& judge = in_->around().judge;
    idle_before_ = {};
    std::vector<std::string> names;
    for (const std::size_t one : resources_) {
        idle_before_ += judge.idle_time(one);
        names.push_back(resource_name(one));
    }
    tell([&] {
        std::string all;
        for (const auto& one : names) all += (all.empty() ? "" : ", ") + one;
        const char* const shared = how.mode == lock_mode::shared ? " to share it" : "";
        return "asks for " + all + shared + " for " + std::to_string(how.ttl.count()) +
               " ms, waiting " + std::to_string(how.wait.count()) + " ms";
    });
    // Planned first: the operation may end at once.
    const bool is_proving = !to_prove_.empty();
    const bool will_cancel =
        is_proving ? !has_called_off_ && dice_.happens(0.3)
                   : !in_->around().in.has_bursts() && dice_.happens(0.1);
    const duration soon = is_proving ? std::min<duration>(in_time_, 1s) / 4 : duration(1s);
    if (will_cancel) plan(dice_.between_orders(10us, soon), &worker::cancel);
    in_->around().judge.waits(this, resources_.front());
    acquire_options noted = how;
    const std::string note = "step " + std::to_string(step_);
    if (in_->around().in.has_notes && step_ % 2 == 0) noted.note = note;
    if (names.size() == 1)
        begin<acquiring>(names.front(), noted);
    else
        begin<acquiring>(resource_list(names), noted);
}

void worker::cancel() {
    if (!current_ || held_) return;
    tell([&] { return std::string("calls off its acquire"); });
    ++in_->around().counts.cancelled;
    in_->cancel(*current_);
}

// A program that was not stopped meanwhile, or shortly before, hears of everything in time.
void worker::check_time(duration allowed, const char* what) const {
    if (in_->pauses() != pauses_ || in_->was_late_before(began_)) return;
    const duration took = clock::now() - began_;
    in_->around().judge.require(took <= allowed, "bounded", [&] {
        return name() + ": " + what + " took " +
               std::to_string(std::chrono::duration_cast<milliseconds>(took).count()) + " ms";
    });
}

// A node that nothing is wrong with has a vote, but for the moments in which its list changes.
void worker::check_votes(std::span<const node_vote> votes) const {
    if (in_->is_displaced() || in_->around().in.changes_lists) return;
    std::size_t well = 0;
    for (std::size_t n = 0; n < votes.size(); ++n) well += in_->is_well_since(n, began_) ? 1 : 0;
    // After clocks went back nobody can draw a fence that knows the time of fewer than a quorum.
    const bool may_lack_time = in_->around().in.sets_back && well < in_->quorum();
    for (std::size_t n = 0; n < votes.size(); ++n) {
        const vote v = votes[n].answer;
        const bool is_unable = v == vote::quarantine || v == vote::refused ||
                               v == vote::timed_out || v == vote::unreachable;
        const bool may_be_young = v == vote::quarantine && in_->is_young_in_cluster_time(n);
        const bool lacks_time = may_lack_time && votes[n].error == errc::no_quorum;
        const bool is_excused = may_be_young || lacks_time || !in_->is_well_since(n, began_);
        in_->around().judge.require(!is_unable || is_excused, "available", [&] {
            return name() + " got no vote of a node that is well: " + format(votes[n]);
        });
    }
}

void worker::on_acquired(error_code outcome, std::shared_ptr<detail::lease_state> state) {
    ++step_;
    current_.reset();
    const auto& in = in_->around().in;
    // However short the wait, the first attempt may take its time: two rounds of it, and before
    // them the connections, and what gives the nodes their votes.
    // One that finds its slot taken tries others, without a wait, too.
    const unsigned tries = how_.slots > 0 ? core::slot_choice::most_in_a_row : 1;
    // A node that is being connected again when the votes are known gets as long once more.
    const auto votes = state ? state->votes.all() : std::span<const node_vote>();
    const bool reconnects = std::any_of(votes.begin(), votes.end(), [](const node_vote& v) {
        return v.answer == vote::timed_out && v.detail.starts_with("could not connect in time");
    });
    check_time((how_.wait > 0ms ? duration(how_.wait) : in.longest_split()) +
                   (reconnects ? 2 : 1) * in.longest_opening() +
                   (1 + 2 * tries) * duration(in.longest_node_timeout()) + 2ms,
               "an acquire");
    lease_checker& judge = in_->around().judge;
    judge.waits_no_longer(this);
    judge.require(state != nullptr, "says why",
                  [&] { return name() + ": an acquire ended without a state"; });
    judge.require(outcome == errc::client_closed || outcome == errc::invalid_argument ||
                      outcome == boost::asio::error::operation_aborted ||
                      votes.size() == in_->list_size(),
                  "says why",
                  [&] { return name() + ": " + std::to_string(votes.size()) + " votes"; });
    check_votes(votes);
    const bool is_open = in.open_from && in_->started_at() >= beginning + *in.open_from;
    judge.require(!is_open || outcome != errc::no_quorum, "available",
                  [&] { return name() + " was refused though a quorum is well"; });
    if (outcome) {
        ++in_->around().counts.refused;
        tell([&] { return "is refused: " + outcome.message(); });
        if (!to_prove_.empty() && outcome == boost::asio::error::operation_aborted) {
            has_called_off_ = true;  // and asks once more, behind the others
            return prove_next();
        }
        judge.require(to_prove_.empty(), "liveness", [&] {
            return name() + " could not take " + resource_name(resources_.front()) +
                   (resources_.size() > 1 ? " and others" : "") +
                   ", which nobody holds: " + outcome.message();
        });
        if (!to_prove_.empty()) {
            to_prove_.clear();
            return rest();
        }
        return plan(0ns, &worker::think);
    }
    ++in_->around().counts.granted;
    // No other worker gets it while the holders before it do nothing with it.
    duration allowed = in_time_ - idle_before_;
    for (const std::size_t one : resources_) allowed += judge.idle_time(one);
    judge.require(to_prove_.empty() || clock::now() - began_ <= allowed, "liveness", [&] {
        return name() + " took " +
               std::to_string(
                   std::chrono::duration_cast<milliseconds>(clock::now() - began_).count()) +
               " ms to get " + state->resource + ", for which others waited, too";
    });
    judge.require(state->is_live(), "validity",
                  [&] { return name() + " got a lease that is over"; });
    tell([&] {
        return "holds " + state->resource + " under fence " + std::to_string(state->fence);
    });
    hold(std::move(state));
    judge.granted(*in_, held_, began_, how_);
    for (const std::size_t one : resources_) judge.leaves_idle(one);
    plan(dice_.happens(0.8) ? 0ns : dice_.between_orders(1us, 100ms), &worker::keep);
}

void worker::hold(std::shared_ptr<detail::lease_state> state) {
    extended_to_ = 0ms;
    held_ = state;
    keys_ = {std::string(state->held_as->left().key)};
    for (const auto& other : state->held_as->left().also->others) keys_.emplace_back(other);
    value_ = state->held_as->left().value;
    lease_ = detail::access::lease_of(std::move(state));
}

// What to do with it.
void worker::keep() {
    ++step_;
    for (const std::size_t one : resources_) in_->around().judge.takes_up(one);
    if (!to_prove_.empty()) return plan(1ms, &worker::give_back);
    if (in_->is_resting() || in_->terms().is_rival) return give_back();
    if (in_->terms().is_candidate) return lead();
    if (in_->around().in.has_bursts()) {  // half-way to the next one
        return plan(until_burst() - in_->around().in.between_bursts / 2, &worker::give_back);
    }
    const double hands_over = in_->terms().hands_over;
    if (hands_over > 0 && dice_.happens(hands_over) && hand_over()) return;
    if (in_->terms().is_keeper || dice_.happens(0.3)) {
        in_->begin(detail::operation_ptr(new watching(*in_, *this, held_)));
        if (!held_) return;  // it was over already
    }
    if (in_->terms().is_keeper) {
        const auto& around = in_->around();
        const duration left = around.in.ends() - around.when.now();
        return plan(dice_.between_orders(1ms, std::max<duration>(left, 2ms)), &worker::give_back);
    }
    const duration ttl = how_.ttl;
    if (may_downgrade()) return plan(dice_.between_orders(10us, ttl), &worker::downgrade);
    const std::int64_t what = dice_.between(in_->terms().is_duellist ? 35 : 0, 99);
    if (what < 40) return plan(dice_.between_orders(10us, ttl), &worker::give_back);
    if (what < 50) return plan(dice_.between_orders(10us, ttl), &worker::let_go);
    if (what < 75) return plan(dice_.between(duration(0), 2 * ttl), &worker::look);
    plan(dice_.happens(0.5) ? dice_.between(duration(0), ttl) : dice_.between_orders(10us, ttl),
         &worker::extend);
}

// Resigns after a while, or lets its lease go as a program does that ends.
void worker::lead() {
    in_->begin(detail::operation_ptr(new watching(*in_, *this, held_)));
    if (!held_) return;  // it was over already
    // The world ends that long after the peace.
    const auto longest = std::min<duration>(4 * how_.ttl, 3 * in_->around().in.ttl_max);
    plan(dice_.between_orders(1ms, longest),
         dice_.happens(0.85) ? &worker::give_back : &worker::let_go);
}

// Renewal goes on for as long as the holder last requested.
void worker::check_ttl() const {
    const detail::held_lease* const at = held_ ? held_->held_as : nullptr;
    if (extended_to_ == 0ms || at == nullptr || !held_->is_live()) return;
    const auto renewed_for = std::chrono::duration_cast<milliseconds>(at->machine().ttl());
    in_->around().judge.require(renewed_for == extended_to_, "validity", [&] {
        return name() + " extended its lease to " + std::to_string(extended_to_.count()) +
               " ms, and it is renewed for " + std::to_string(renewed_for.count()) + " ms";
    });
}

// Relies on the lease until it is lost, or for some time more.
void worker::look() {
    ++step_;
    check_ttl();
    in_->around().judge.require(!lease_ || clock::now() < held_->valid_until(), "validity", [&] {
        return name() + " learns that its lease stands, and it is over";
    });
    if (!lease_) {
        tell([&] { return std::string("sees that its lease is over"); });
        if (dice_.happens(0.5)) return give_back();
        return let_go();
    }
    if (in_->is_resting() || dice_.happens(0.2)) return give_back();
    if (may_downgrade()) return downgrade();
    plan(dice_.between_orders(1ms, 2 * duration(how_.ttl)), &worker::look);
}

void worker::extend() {
    ++step_;
    // A duellist's extensions are as short as its leases: then it matters from when they count. So
    // are those before the clocks of all nodes are set: then no key is left.
    const auto& in = in_->around().in;
    const bool is_short = in_->terms().is_duellist || in.sets_back;
    const auto longest = is_short ? 2 * in_->terms().longest_ttl : in.ttl_max;
    const auto ttl = std::max<milliseconds>(
        std::chrono::duration_cast<milliseconds>(dice_.between_orders(10ms, duration(longest))),
        20ms);
    tell([&] { return "extends to " + std::to_string(ttl.count()) + " ms"; });
    plan(dice_.happens(0.2) ? dice_.between_orders(10us, duration(ttl)) : 2 * duration(ttl),
         &worker::look);
    asked_for_ = ttl;
    begin<extending>(held_, ttl);
}

void worker::on_extended(error_code outcome, const detail::lease_state& of) {
    current_.reset();
    const auto& in = in_->around().in;
    // Two rounds, and before them the connections.
    check_time(2 * duration(in.longest_node_timeout()) + in.longest_opening() + 2ms, "an extension");
    in_->around().judge.require(
        outcome || (of.is_live() && clock::now() < of.valid_until()), "validity",
        [&] { return name() + " learns that it extended a lease, and that is over"; });
    if (!outcome) ++in_->around().counts.extended;
    if (!outcome && held_.get() == &of) extended_to_ = asked_for_;
    check_ttl();
    tell([&] { return outcome ? "could not extend: " + outcome.message() : "has extended"; });
    if (!held_) return;
    ++step_;
    plan(dice_.between_orders(1ms, 2 * duration(how_.ttl)), &worker::look);
}

void worker::on_lost(error_code outcome, loss why, detail::lease_state& of, time_point since) {
    lease_checker& judge = in_->around().judge;
    judge.require(outcome != errc::lost, "loss in time",
                  [&] { return name() + " was not notified of its loss when it happened"; });
    if (outcome) return;
    const time_point until = of.valid_until();
    const bool is_excused = since > until || in_->was_stopped_since(until) || in_->finds_gap();
    judge.require(clock::now() <= until || is_excused, "loss in time",
                  [&] { return name() + " was notified of its loss when it was too late"; });
    judge.require(of.lost_token().stop_requested(), "loss in time",
                  [&] { return name() + " was notified of a loss that its token does not show"; });
    tell([&] { return "is notified of its loss: " + std::string(to_string(why)); });
    const bool tries_again = in_->terms().is_candidate || in_->around().in.has_deletions();
    if (tries_again && held_.get() == &of) {
        ++step_;
        plan(dice_.between_orders(10us, 50ms), &worker::give_back);
    }
    if (!in_->terms().is_keeper || why == loss::max_hold) return;
    const auto& around = in_->around();
    // The next lease may lack a node for which the key of the one before was left.
    if (around.in.has_deletions() && why != loss::taken) return;
    const duration ttl = how_.ttl;
    const time_point lately = clock::now() - 2 * ttl;
    const bool is_due = in_->keepers_since(lately, ttl) < in_->quorum() || in_->is_displaced() ||
                        (why == loss::taken &&
                         in_->kept_since(lately) + in_->quorum() <= in_->list_size()) ||
                        around.judge.has_parted(std::string(of.proof.value));
    around.judge.require(is_due, "available", [&] {
        return name() + " lost a lease though a quorum was well all the time";
    });
}

void worker::let_go() {
    ++step_;
    const bool detaches = dice_.happens(0.4);
    tell([&] { return detaches ? "lets it run out" : "drops it"; });
    part_with(detaches);
    held_.reset();
    if (detaches) {
        lease_.detach();
    } else {
        lease_ = lease();
    }
    think();
}

// A lost lease is left to those that have its token.
void worker::part_with(bool detaches) {
    lease_checker& judge = in_->around().judge;
    const bool is_lost = held_->state() == detail::lease_state::status::lost;
    if (is_lost) ++in_->around().counts.lost;
    const bool is_left = is_lost && held_->lost_for() != loss::taken;
    const bool runs_out = detaches || (is_left && judge.is_handed_over(value_));
    if (runs_out || how_.min_hold > 0ms)
        in_->will_run_out(held_->owner);
    else
        expect_gone();
    if (!runs_out) judge.begins_release(value_);
}

// After the end of a lost lease nothing is given back where its token is out: another process may
// have prolonged the keys by it, and they run out by themselves.
void worker::expect_gone() const {
    const bool is_over = held_->held_as == nullptr;
    if (is_over && in_->around().judge.is_handed_over(value_)) return;
    for (const std::string& key : keys_) in_->expect_gone(key, value_);
}

void worker::give_back() {
    ++step_;
    tell([&] { return std::string("gives it back"); });
    in_->around().judge.ended(*held_);
    part_with(false);
    held_.reset();
    if (dice_.happens(0.1)) plan(dice_.between_orders(10us, 100ms), &worker::cancel_release);
    begin<releasing>(detail::access::surrender(std::move(lease_)));
}

void worker::cancel_release() {
    if (current_) in_->cancel(*current_);
}

void worker::on_released(error_code outcome) {
    ++step_;
    current_.reset();
    ++in_->around().counts.released;
    const auto& in = in_->around().in;
    check_time(duration(in.longest_node_timeout()) + in.longest_opening() + 2ms, "a release");
    tell([&] { return outcome ? "gave it back: " + outcome.message() : "gave it back"; });
    if (!outcome) in_->around().judge.released(value_);
    if (!to_prove_.empty()) {
        has_called_off_ = false;
        to_prove_.pop_back();
        return prove_next();
    }
    plan(0ns, &worker::think);
}

void worker::prove_alive(milliseconds patience, duration in_time) {
    patience_ = patience;
    in_time_ = in_time;
    const std::size_t resources = in_->around().in.resources;
    for (std::size_t i = 0; i < resources; ++i) to_prove_.push_back(i);
    if (in_->terms().takes_several > 0) to_prove_.push_back(resources);
    if (in_->terms().calls > 0) to_prove_.push_back(resources + 1);
    prove_next();
}

void worker::prove_next() {
    if (to_prove_.empty()) return rest();
    acquire_options how{.ttl = std::min<milliseconds>(in_->around().in.ttl_max, 2s),
                        .wait = patience_};
    if (to_prove_.back() > in_->around().in.resources) return call(1, patience_);
    if (to_prove_.back() == in_->around().in.resources) {
        return take_several(to_prove_.back(), how);
    }
    how.slots = in_->terms().slots;
    if (in_->terms().takes_permits > 0) {
        how.permits = static_cast<std::uint16_t>(dice_.between(1, how.slots));
    }
    take(to_prove_.back(), how);
}

void worker::vanish() {
    ++step_;
    in_->around().judge.waits_no_longer(this);
    if (!held_) return;
    in_->around().judge.ended(*held_);
    for (const std::size_t one : resources_) in_->around().judge.takes_up(one);
}

}  // namespace redlock::simulation
