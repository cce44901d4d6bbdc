// Rate limiters through the C interface.
// SPDX-License-Identifier: MIT
#include "c/failure.hpp"
#include "c/objects.hpp"

#include <redlock/detail/waiting_time.hpp>
#include <redlock/limit_answer.hpp>

#include <chrono>
#include <memory>
#include <utility>

using namespace redlock;

int redlock_limiter_new(redlock_client* client, const char* resource, uint16_t limit,
                        int64_t period_ms, redlock_limiter** out) {
    return c::guarded([&] {
        if (out == nullptr) return c::refuse("out is null");
        *out = nullptr;
        if (client == nullptr) return c::refuse("client is null");
        if (resource == nullptr) return c::refuse("resource is null");
        auto made = std::make_unique<redlock_limiter>();
        made->client = client->shared;
        made->limit = detail::make_limiter(client->shared->blocking.options(), resource, limit,
                                           std::chrono::milliseconds(period_ms));
        *out = made.release();
        return static_cast<int>(REDLOCK_OK);
    });
}

int redlock_limiter_acquire(redlock_limiter* limiter, int64_t wait_ms, redlock_cancel* cancel,
                            int64_t* retry_after_ms) {
    return c::guarded([&] {
        if (retry_after_ms != nullptr) *retry_after_ms = 0;
        if (limiter == nullptr) return c::refuse("limiter is null");
        const auto wait = detail::waiting_time(std::chrono::milliseconds(wait_ms));
        limit_answer said =
            detail::ask_limit(limiter->client->blocking, limiter->limit, wait, c::token_of(cancel));
        if (said) return static_cast<int>(REDLOCK_OK);
        if (retry_after_ms != nullptr) *retry_after_ms = said.retry_after.count();
        return c::fail(std::move(said.why));
    });
}

void redlock_limiter_free(redlock_limiter* limiter) { delete limiter; }
