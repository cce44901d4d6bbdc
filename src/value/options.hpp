// Checks of all options, and the times that follow from them: validity, drift, what a node keeps.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <redlock/options.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock {

/// How far two true-running clocks may drift apart while a ttl passes.
struct drift_policy {
    double factor = 0.01;                         // of the ttl: at least 0, below 1
    duration min = std::chrono::milliseconds(2);  // not negative

    constexpr duration allowance(duration ttl) const noexcept {
        const auto share = static_cast<double>(ttl.count()) * factor;
        auto whole = static_cast<duration::rep>(share);
        if (static_cast<double>(whole) < share) ++whole;  // never less than the exact share
        return duration(whole) + min;
    }
};

inline drift_policy drift_of(const client_options& client) noexcept {
    return {client.drift_factor, client.drift_min};
}

/// The instant at which a lease ends whose request went out at `sent`. It may be in the past: a
/// lease is valid at `now` only if now < valid_until(...).
constexpr time_point valid_until(time_point sent, duration ttl, drift_policy drift) noexcept {
    assert(ttl > duration::zero());
    return sent + ttl - drift.allowance(ttl);
}

/// How long before the end of its validity a lease is reported lost at the latest. A timer that
/// rings at the very end would report after it: this is for the machine to wake us.
constexpr duration least_loss_margin(duration ttl) noexcept {
    assert(ttl >= duration::zero());
    return std::min<duration>(std::chrono::milliseconds(5), ttl / 20);
}

/// The longest ttl_max that a client may have.
inline constexpr std::chrono::milliseconds longest_ttl = std::chrono::hours(24);

/// The ttl that the nodes receive; `requested` is the caller's, 0 for the default.
inline std::chrono::milliseconds effective_ttl(const client_options& client,
                                               std::chrono::milliseconds requested) {
    using namespace std::chrono_literals;
    return requested == 0ms ? default_ttl(client) : requested;
}

/// What is left of `ttl` after its drift allowance: no lease is valid for longer.
inline duration longest_validity(const client_options& client, duration ttl) {
    return ttl - drift_of(client).allowance(ttl);
}

/// For how long nodes can keep a key by our clock, counted from the grant. The ttl in the request
/// is longer by the drift allowance, and by the time that may pass from the request to the grant.
inline std::chrono::milliseconds longest_kept(std::chrono::milliseconds ttl_max,
                                              drift_policy drift) {
    using namespace std::chrono_literals;
    const duration way = std::max<duration>(5ms, ttl_max / 50);
    return std::chrono::floor<std::chrono::milliseconds>(ttl_max - drift.allowance(ttl_max) - way);
}

/// The time for which a request has a node keep a key that must block other clients for `min_hold`
/// by our clock. The grant may come up to `later` after the request. Never longer than the
/// quarantine of a node that forgets the key.
inline duration longest_stay(const client_options& client, std::chrono::milliseconds min_hold,
                             duration later = {}) {
    using std::chrono::milliseconds;
    assert(min_hold >= milliseconds(0) && later >= duration::zero());
    if (min_hold == milliseconds(0)) return {};
    const drift_policy drift = drift_of(client);
    const duration stay = later + min_hold + drift.allowance(later + min_hold);
    return std::min<duration>(std::chrono::ceil<milliseconds>(stay), client.ttl_max);
}

/// Whether nodes that may have lost their data are kept from voting. A plain lock names no epoch,
/// so there the guard would see nothing.
inline bool is_guarded(const client_options& client) {
    return client.fencing && client.guard != restart_guard::off;
}

/// What a call of a rate limiter says of its limit.
struct limit_terms {
    std::chrono::milliseconds period{0};  ///< Zero: it is no such call.
    /// When the number of slots was set, in us of cluster time; 0: it is that of the program.
    std::uint64_t revision = 0;
};

/// What the nodes said of a limit.
struct limit_news {
    std::chrono::milliseconds period{0};  ///< Longer than the one named; zero: none is.
    std::uint64_t revision = 0;           ///< Of the number that was set last; 0: none was.
    std::uint16_t slots = 0;              ///< That number.
};

struct slot_number {
    std::uint16_t number = 0;  ///< Below `of`; 0 for the resource itself.
    std::uint16_t of = 0;  ///< So many there are; 0: it is the resource itself.
    /// Of a rate limiter: nobody gives it back, and it stays taken for so long; 0: of a lease.
    std::uint32_t period_ms = 0;
};

}  // namespace redlock

namespace redlock::detail {

/// What a key is, by its name. The key of a lock is all that is none of the others.
enum class key_role : std::uint8_t { lock, fence, queue, readers, slots, revoked, last };
inline constexpr std::size_t key_roles = 7;

/// With what their names end, from the brace on.
std::string_view ending_of(key_role role) noexcept;

/// Of the key that `prefix` and `rest` make up.
key_role role_of(std::string_view prefix, std::string_view rest) noexcept;
/// Whether that key ends so.
bool key_ends_with(std::string_view prefix, std::string_view rest,
                   std::string_view ending) noexcept;

}  // namespace redlock::detail
