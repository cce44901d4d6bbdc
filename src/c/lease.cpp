// What the holder of a lease calls through the C interface.
// SPDX-License-Identifier: MIT
#include "c/failure.hpp"
#include "c/objects.hpp"

#include <redlock/detail/section.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

using namespace redlock;

uint64_t redlock_lease_fence(const redlock_lease* lease) {
    return lease == nullptr ? 0 : lease->held.fence();
}

uint16_t redlock_lease_slot(const redlock_lease* lease) {
    return lease == nullptr ? 0 : lease->held.slot();
}

int64_t redlock_lease_remaining(const redlock_lease* lease) {
    return lease == nullptr ? 0 : lease->held.remaining().count();
}

int redlock_lease_valid(const redlock_lease* lease) {
    return lease != nullptr && lease->held ? 1 : 0;
}

const char* redlock_lease_token(const redlock_lease* lease) {
    const char* out = nullptr;
    c::guarded([&] {
        if (lease == nullptr) return c::refuse("lease is null");
        const std::lock_guard lock(lease->gate);
        if (lease->token.empty()) lease->token = lease->held.token();
        out = lease->token.c_str();
        return 0;
    });
    return out;
}

int redlock_lease_lost_fd(const redlock_lease* lease) {
    int out = -1;
    c::guarded([&] {
        if (lease == nullptr) return c::refuse("lease is null");
        const std::lock_guard lock(lease->gate);
        if (!lease->lost) lease->lost = std::make_unique<c::stop_signal>(lease->held.lost_token());
        out = lease->lost->descriptor();
        return 0;
    });
    return out;
}

void redlock_lease_touch(const redlock_lease* lease) {
    if (lease != nullptr) lease->held.touch();
}

int redlock_extend(redlock_lease* lease, int64_t ttl_ms) {
    return c::guarded([&] {
        if (lease == nullptr) return c::refuse("lease is null");
        auto& by = lease->client->blocking;
        const auto done = by.extend(lease->held, std::chrono::milliseconds(ttl_ms));
        if (done) return static_cast<int>(REDLOCK_OK);
        if (done.error() != errc::invalid_argument) return c::fail(refusal{done.error(), {}});
        return c::refuse("ttl_ms must be 1 to ttl_max_ms, which is " +
                         std::to_string(by.options().ttl_max.count()));
    });
}

int redlock_release(redlock_lease* lease) {
    return c::guarded([&] {
        const std::unique_ptr<redlock_lease> owned(lease);
        if (!owned) return c::refuse("lease is null");
        const detail::section_end end(owned->held);
        const auto released = owned->client->blocking.release(std::move(owned->held));
        const error_code outcome = released ? error_code() : released.error();
        refusal why = end.after_release(outcome);
        if (!why.code) why.code = outcome;
        return why.code ? c::fail(std::move(why)) : static_cast<int>(REDLOCK_OK);
    });
}

void redlock_lease_free(redlock_lease* lease) { delete lease; }

void redlock_lease_detach(redlock_lease* lease) {
    if (lease != nullptr) lease->held.detach();
    delete lease;
}
