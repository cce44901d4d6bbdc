// The life of a lease from grant to loss: when to renew, when it is lost; knows no nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/time.hpp"

#include <redlock/error.hpp>
#include <redlock/loss.hpp>

#include <cstdint>
#include <optional>

namespace redlock::core {

/// Renews at a third of the ttl, tries a failed renewal again with a bounded back-off, and reports
/// the loss from its own timer: whatever the network does, before the validity ends.
class renewal {
public:
    struct terms {
        duration ttl{};
        bool renew = true;
        duration max_hold{0};     ///< 0: no cap.
        duration loss_margin{0};  ///< Report the loss this long before the validity ends.
        duration watchdog{0};     ///< Lost after so long without a sign of life; 0: none is needed.
    };
    enum class action : std::uint8_t { none, renew, lost };

    renewal(time_point granted_at, time_point valid_until, terms t) noexcept;

    /// Many leases that are renewed together make the nodes busy for long, and then idle until the
    /// next time. So where a client holds more than `few` leases, `spread` gives each its own place
    /// in the time between two renewals, of 2^64: one renewal comes early, by up to all of that
    /// time, and all later ones when it has passed. Leases whose places are about the same are
    /// renewed at the same instants, in groups of 64 to 128 where places are even: enough to fill a
    /// command. Called after the construction and after each `extended`.
    static constexpr std::uint64_t few = 1024;
    static constexpr std::uint64_t group = 64;
    void spread(std::uint64_t leases, std::uint64_t place) noexcept;
    /// The place of the lease that the client was granted as its `number`th. Leases that were
    /// granted one after the other lie side by side in memory: a group of them has one place.
    /// Multiples of the golden ratio leave no large gaps between the places.
    static constexpr std::uint64_t place_of(std::uint64_t number) noexcept {
        return number / group * 0x9e37'79b9'7f4a'7c15;
    }

    /// The timer rang. `renew`: send one renewal round now and tell how it ended.
    action on_time(time_point now) noexcept;
    /// A round that was sent at `sent` prolonged the lease. `new_ttl` is given for the holder's own
    /// extensions only: a renewal may be sent after such an extension and still carry the old ttl.
    void extended(time_point sent, time_point valid_until,
                  std::optional<duration> new_ttl) noexcept;
    /// The renewal reached no quorum. `random` spreads the retries of many clients: leases of one
    /// round have it in common, and are tried again together.
    action renewal_failed(error_code why, time_point now, std::uint64_t random) noexcept;

    /// The holder gave a sign of life at `at`; before the first one the grant counts. A later call
    /// may name an earlier instant. Called before each `on_time`: where the holder is alive, that
    /// finds nothing to do when the time is over that began at an earlier sign.
    void touched(time_point at) noexcept;

    /// Our own clock stood still for `gap`: every deadline that was set before comes earlier by it.
    void shorten(duration gap) noexcept;

    time_point granted_at() const noexcept { return granted_at_; }
    /// When `on_time` wants to be called next.
    time_point deadline() const noexcept;
    time_point valid_until() const noexcept { return valid_until_; }
    /// When the loss is reported if nothing prolongs the lease.
    time_point report_at() const noexcept;
    duration ttl() const noexcept { return terms_.ttl; }
    duration loss_margin() const noexcept { return terms_.loss_margin; }
    bool is_renewing() const noexcept { return renewing_; }
    bool is_lost() const noexcept { return lost_; }
    loss reason() const noexcept { return reason_; }

private:
    duration longest_wait() const noexcept;
    time_point next_renewal() const noexcept;
    bool capped() const noexcept;
    action lose(loss why) noexcept;

    terms terms_;
    time_point granted_at_;
    time_point cap_;  // grant + max_hold; the end of time without one
    time_point valid_until_;
    time_point last_sent_;  // when the latest round that prolonged it was sent
    time_point ttl_sent_;   // when the round that set the ttl was sent
    time_point renew_at_;
    time_point stalls_at_;  // without a further sign of life; the end of time where none is needed
    bool renewing_ = false;
    bool failing_ = false;
    std::uint32_t failures_ = 0;
    bool lost_ = false;
    loss reason_ = loss::expired;
};

}  // namespace redlock::core
