// The life of a lease from grant to loss.
// SPDX-License-Identifier: MIT
#include "core/lease.hpp"

#include "value/options.hpp"

#include <bit>
#include <cmath>

namespace redlock::core {

using namespace std::chrono_literals;

namespace {

// The last instant not after `t` of those that are the largest power of two in `step` apart.
time_point down_to_grid(time_point t, duration step) noexcept {
    const auto longest = static_cast<std::uint64_t>(std::max<duration>(step, 1ns).count());
    return t - t.time_since_epoch() % static_cast<duration::rep>(std::bit_floor(longest));
}

// Less than zero where it is over for so long.
duration left_of_stay(const adopted_lease& what) noexcept {
    if (what.fence == 0 || !what.node_time_us) return what.stay;
    const std::chrono::microseconds age(*what.node_time_us - static_cast<std::int64_t>(what.fence));
    return what.stay - std::max<duration>(age, duration::zero());
}

}  // namespace

renewal::renewal(time_point granted_at, time_point valid_until, terms t) noexcept
    : terms_(t),
      granted_at_(granted_at),
      cap_(t.max_hold > 0ns ? granted_at + t.max_hold : time_point::max()),
      valid_until_(std::min(valid_until, cap_)),
      last_sent_(granted_at),
      ttl_sent_(granted_at),
      renew_at_(next_renewal()),
      stalls_at_(t.watchdog > 0ns ? granted_at + t.watchdog : time_point::max()) {
    assert(t.ttl > 0ns && t.max_hold >= 0ns && t.loss_margin >= 0ns && t.watchdog >= 0ns);
}

// From the last round to the next renewal: a third of the ttl; less where a late grant or a long
// margin would leave less than a third of the time to the loss for the answer.
duration renewal::longest_wait() const noexcept {
    return std::min(terms_.ttl / 3, (report_at() - last_sent_) / 3 * 2);
}

// Earlier by up to a quarter, to an instant that leases of the same ttl have in common: they are
// renewed together.
time_point renewal::next_renewal() const noexcept {
    if (!terms_.renew || capped()) return time_point::max();
    const duration longest = longest_wait();
    return std::max(down_to_grid(last_sent_ + longest, longest / 4), last_sent_);
}

void renewal::spread(std::uint64_t leases, std::uint64_t place) noexcept {
    const bool is_chosen = renewing_ || failing_ || renew_at_ == time_point::max();
    if (lost_ || is_chosen || leases <= few) return;
    const duration longest = longest_wait();
    const double groups = static_cast<double>(std::bit_floor(leases / group));
    const double part = std::floor(static_cast<double>(place) * 0x1p-64 * groups) / groups;
    assert(groups >= 1 && part >= 0 && part <= 1);
    const duration after(static_cast<duration::rep>(static_cast<double>(longest.count()) * part));
    const time_point latest = last_sent_ + longest;
    renew_at_ = latest - (latest - after).time_since_epoch() % std::max<duration>(longest, 1ns);
}

bool renewal::capped() const noexcept { return valid_until_ >= cap_; }

time_point renewal::report_at() const noexcept {
    return valid_until_ - std::max(terms_.loss_margin, least_loss_margin(terms_.ttl));
}

time_point renewal::deadline() const noexcept {
    if (lost_) return time_point::max();
    return std::min({report_at(), stalls_at_, renewing_ ? time_point::max() : renew_at_});
}

renewal::action renewal::lose(loss why) noexcept {
    assert(!lost_);
    lost_ = true;
    reason_ = why;
    return action::lost;
}

void renewal::touched(time_point at) noexcept {
    if (terms_.watchdog > 0ns) stalls_at_ = std::max(stalls_at_, at + terms_.watchdog);
}

renewal::action renewal::on_time(time_point now) noexcept {
    if (lost_) return action::none;
    // A timer that is late may find both instants past: the earlier one ended the lease.
    if (now >= stalls_at_ && stalls_at_ < report_at()) return lose(loss::stalled);
    if (now >= report_at()) {
        if (capped()) return lose(loss::max_hold);
        return lose(renewing_ || failing_ ? loss::unreachable : loss::expired);
    }
    if (renewing_ || now < renew_at_) return action::none;
    renewing_ = true;
    return action::renew;
}

void renewal::extended(time_point sent, time_point valid_until,
                       std::optional<duration> new_ttl) noexcept {
    if (lost_) return;
    assert(!new_ttl || *new_ttl > 0ns);
    valid_until_ = std::max(valid_until_, std::min(valid_until, cap_));
    renewing_ = false;
    failing_ = false;
    failures_ = 0;
    last_sent_ = std::max(last_sent_, sent);  // rounds may end out of order
    if (new_ttl && sent >= ttl_sent_) {
        ttl_sent_ = sent;
        terms_.ttl = *new_ttl;
    }
    renew_at_ = next_renewal();
}

void renewal::shorten(duration gap) noexcept {
    assert(gap >= 0ns);
    for (time_point* t : {&granted_at_, &cap_, &valid_until_, &last_sent_, &ttl_sent_, &renew_at_,
                          &stalls_at_}) {
        if (*t != time_point::max()) *t -= gap;
    }
}

renewal::action renewal::renewal_failed(error_code why, time_point now,
                                        std::uint64_t random) noexcept {
    assert(why);
    if (lost_) return action::none;
    renewing_ = false;
    if (why == errc::not_held) return lose(loss::taken);
    failing_ = true;
    if (capped()) {  // nothing is left to gain
        renew_at_ = time_point::max();
        return action::none;
    }
    // From a fiftieth of the ttl, doubling, to a tenth of it: some eight tries before the end.
    const auto step = std::max<duration>(terms_.ttl / 50, 1ms) * (1U << std::min(failures_, 3U));
    const auto limit = std::max<duration>(terms_.ttl / 10, 1ms);
    const auto delay = std::min(step, limit);
    ++failures_;
    renew_at_ = now + delay / 2 +
                duration(static_cast<duration::rep>(
                    random % static_cast<std::uint64_t>(delay.count() / 2 + 1)));
    return action::none;
}

traces traces_of_adopted(const adopted_lease& what, std::uint64_t born, node_mask all,
                         time_point now) noexcept {
    const bool stays = what.stay > duration::zero();
    traces left{.born = born,
                .began_elsewhere = true,
                .keep_until = now + left_of_stay(what),
                .keep_error = stays ? 2 * what.clock_tolerance : duration::zero(),
                .is_known_elsewhere = true};
    left.note_sent(all, what.is_plausible ? what.fence : 0);
    return left;
}

}  // namespace redlock::core
