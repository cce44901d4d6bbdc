// The rate limiter: takes slots that nobody gives back.
// SPDX-License-Identifier: MIT
#include <redlock/rate_limiter.hpp>

#include "lockable/granting.hpp"
#include "lockable/pacing.hpp"

#include <mutex>
#include <optional>
#include <utility>

namespace redlock {

namespace {

using std::chrono::milliseconds;

// A grant that comes too late is given back, and the next try asks for a longer ttl.
constexpr int most_tries = 4;

std::string in_ms(milliseconds span) { return std::to_string(span.count()) + " ms"; }

// What is wrong; empty if nothing is.
std::string problem(const client_options& client, const std::string& resource,
                    std::uint16_t limit, milliseconds period) {
    if (auto why = validate_resource(client, resource); !why.empty()) return why;
    if (!client.fencing) return "a limit needs fencing: slots have fences";
    if (limit == 0 || limit > max_slots) {
        return "a limit of " + std::to_string(limit) + " can't be: it must be 1 to " +
               std::to_string(max_slots);
    }
    if (period <= milliseconds(0)) return "the period must be longer than 0";
    const auto longest = detail::pacing::longest_period(
        client.ttl_max, {client.drift_factor, client.drift_min});
    if (period <= longest) return {};
    return "a period of " + in_ms(period) + " is above " + in_ms(longest) +
           ", the longest with a ttl_max of " + in_ms(client.ttl_max) +
           ": shorten it, or raise ttl_max for all clients of these nodes";
}

}  // namespace

struct rate_limiter::state {
    state(blocking_client& c, const client_options& options, std::string name, std::uint16_t limit,
          milliseconds period)
        : client(&c),
          resource(std::move(name)),
          slots(limit),
          pace(period, options.ttl_max, {options.drift_factor, options.drift_min}) {}

    /// Empty if it has to be tried again.
    std::optional<answer> try_once(bool is_last);

    blocking_client* client;
    const std::string resource;
    const std::uint16_t slots;

    std::mutex gate;  // never held during a call of the client
    detail::pacing pace;
};

std::optional<rate_limiter::answer> rate_limiter::state::try_once(bool is_last) {
    const auto ttl = [&] {
        const std::lock_guard lock(gate);
        return pace.ttl();
    }();
    auto got = client->acquire(resource, {.ttl = ttl, .renew = false, .slots = slots});
    if (!got && got.error() == errc::contended) {
        return answer{.retry_after = detail::time_until_free(got.error().votes)};
    }
    if (!got && got.error() == errc::validity_exhausted && !is_last) {
        const std::lock_guard lock(gate);
        pace.was_too_late(ttl);
        return std::nullopt;
    }
    if (!got) detail::fail(got.error(), resource);
    const auto valid_until = got->valid_until();
    const std::lock_guard lock(gate);
    const auto now = clock::now();
    if (!pace.counts(ttl, valid_until, now) || !*got) return std::nullopt;  // which gives it back
    got->detach();
    return answer{.allowed = true, .at = now};
}

rate_limiter::rate_limiter(blocking_client& client, std::string resource, std::uint16_t limit,
                           milliseconds period) {
    const client_options options = client.options();
    if (const auto why = problem(options, resource, limit, period); !why.empty()) {
        detail::fail(errc::invalid_argument, resource, why);
    }
    state_ = std::make_unique<state>(client, options, std::move(resource), limit, period);
}

rate_limiter::~rate_limiter() = default;

rate_limiter::answer rate_limiter::try_acquire() {
    for (int i = 1; i <= most_tries; ++i) {
        if (const auto said = state_->try_once(i == most_tries)) return *said;
    }
    detail::fail(errc::validity_exhausted, state_->resource,
                 "the nodes answer too late for this period");
}

}  // namespace redlock
