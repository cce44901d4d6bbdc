// The functions of redlock/c.h.
// SPDX-License-Identifier: MIT
#include "c/objects.hpp"

#include <redlock/detail/begun_call.hpp>
#include <redlock/detail/section.hpp>
#include <redlock/detail/waiting_time.hpp>
#include <redlock/limit_answer.hpp>
#include <redlock/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace redlock::c {

namespace {

// What the caller's header has of the options; what is behind those of this library has to be zero.
// Nothing is wrong where the text is empty.
std::string read(const redlock_options* given, redlock_options& out) {
    if (given == nullptr) return {};
    std::size_t size = 0;
    std::memcpy(&size, given, sizeof size);
    if (size < sizeof size) return "options.size must be sizeof(redlock_options)";
    std::memcpy(&out, given, std::min(size, sizeof out));
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::size_t i = sizeof out; i < size; ++i) {
        if (bytes[i] != 0) return "options has a member that this version of the library lacks";
    }
    return {};
}

acquire_options as_terms(const redlock_options& given, const acquire_options& defaults) {
    const auto or_default = [](std::int64_t ms, std::chrono::milliseconds usual) {
        return ms == 0 ? usual : std::chrono::milliseconds(ms);
    };
    acquire_options out = defaults;
    out.ttl = or_default(given.ttl_ms, defaults.ttl);
    out.wait = given.wait_ms == REDLOCK_NO_WAIT ? std::chrono::milliseconds(0)
                                                : or_default(given.wait_ms, defaults.wait);
    out.max_hold = or_default(given.max_hold_ms, defaults.max_hold);
    out.min_hold = or_default(given.min_hold_ms, defaults.min_hold);
    out.loss_margin = or_default(given.loss_margin_ms, defaults.loss_margin);
    out.watchdog = or_default(given.watchdog_ms, defaults.watchdog);
    if (given.shared != 0) out.mode = lock_mode::shared;
    if (given.no_renew != 0) out.renew = given.no_renew == REDLOCK_RENEW;
    out.slots = given.slots;
    out.permits = std::max<std::uint16_t>(given.permits, 1);
    if (given.note != nullptr) out.note = given.note;
    return out;
}

// `ask(terms, cancel, made)` acquires for what the checks let pass. The object is there before the
// lease is: no lease is lost for want of memory.
template <class Out, class F>
int acquire_by(redlock_client* client, const void* what, const char* name,
               const redlock_options* options, Out** out, F&& ask) noexcept {
    return guarded([&] {
        if (out == nullptr) return refuse("out is null");
        *out = nullptr;
        if (client == nullptr) return refuse("client is null");
        if (what == nullptr) return refuse(std::string(name) + " is null");
        redlock_options given{};
        if (auto why = read(options, given); !why.empty()) return refuse(std::move(why));
        auto made = std::make_unique<redlock_lease>();
        made->client = client->shared;
        return static_cast<int>(ask(as_terms(given, client->shared->defaults), given.cancel,
                                    std::move(made)));
    });
}

// Waits. `ask(client, what, terms, stop)` is a member of the blocking client.
template <class What, class F>
int wait_for(redlock_client* client, const What* what, const char* name,
             const redlock_options* options, redlock_lease** out, F&& ask) noexcept {
    return acquire_by(client, what, name, options, out,
                      [&](const acquire_options& terms, redlock_cancel* cancel, auto made) {
                          result<lease, refusal> got = std::invoke(
                              ask, client->shared->blocking, what, terms, token_of(cancel));
                          if (!got) return fail(got.error());
                          made->held = std::move(*got);
                          *out = made.release();
                          return static_cast<int>(REDLOCK_OK);
                      });
}

// Begins. `names_of()` has the names, or throws.
template <class F>
int begin_by(redlock_client* client, const void* what, const char* name,
             const redlock_options* options, redlock_pending** out, F&& names_of) noexcept {
    return acquire_by(
        client, what, name, options, out,
        [&](const acquire_options& terms, redlock_cancel* cancel, auto made) {
            if (cancel != nullptr) {
                return refuse("options.cancel is of calls that wait; this one is cancelled by "
                              "redlock_pending_cancel");
            }
            auto call = std::make_shared<begun_acquire>();
            std::unique_ptr<redlock_pending> pending(
                new redlock_pending{client->shared, call, std::move(made), {}});
            call->owner = pending.get();
            pending->cancel = detail::begin_acquire(
                client->shared->blocking, names_of(), terms,
                [call](error_code why, lease got) { call->arrive(why, std::move(got)); });
            *out = pending.release();
            return static_cast<int>(REDLOCK_OK);
        });
}

// More than the library takes are refused by it, with the bound.
std::vector<std::string> names_in(const char* const* given, std::size_t count) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < std::min(count, resource_list::most + 1); ++i) {
        if (given[i] == nullptr) {
            throw std::system_error(errc::invalid_argument,
                                    "resources[" + std::to_string(i) + "] is null");
        }
        out.emplace_back(given[i]);
    }
    return out;
}

// `read()` reads the configuration.
template <class F>
int make_of(redlock_client** out, const char* text, const char* name, F&& read) noexcept {
    return guarded([&] {
        if (out == nullptr) return refuse("out is null");
        *out = nullptr;
        if (text == nullptr) return refuse(std::string(name) + " is null");
        auto configured = read();
        if (!configured) return fail(configured.error());
        auto made = std::make_unique<redlock_client>();
        made->shared = std::make_shared<shared_client>(std::move(*configured));
        *out = made.release();
        return static_cast<int>(REDLOCK_OK);
    });
}

}  // namespace

}  // namespace redlock::c

using namespace redlock;

int redlock_acquire(redlock_client* client, const char* resource, const redlock_options* options,
                    redlock_lease** out) {
    return c::wait_for(client, resource, "resource", options, out, &blocking_client::acquire);
}

int redlock_acquire_all(redlock_client* client, const char* const* resources, size_t count,
                        const redlock_options* options, redlock_lease** out) {
    return c::wait_for(client, resources, "resources", options, out,
                       [count](blocking_client& by, const char* const* given,
                               const acquire_options& terms, std::stop_token stop) {
                           return by.acquire_all(c::names_in(given, count), terms,
                                                 std::move(stop));
                       });
}

int redlock_adopt(redlock_client* client, const char* token, const redlock_options* options,
                  redlock_lease** out) {
    return c::wait_for(client, token, "token", options, out, &blocking_client::adopt);
}

int redlock_begin_acquire(redlock_client* client, const char* resource,
                          const redlock_options* options, redlock_pending** out) {
    return c::begin_by(client, resource, "resource", options, out,
                       [&] { return resource_list(std::string(resource)); });
}

int redlock_begin_acquire_all(redlock_client* client, const char* const* resources, size_t count,
                              const redlock_options* options, redlock_pending** out) {
    return c::begin_by(client, resources, "resources", options, out,
                       [&] { return resource_list(c::names_in(resources, count)); });
}

redlock_cancel* redlock_cancel_new(void) {
    return c::guarded_value<redlock_cancel*>(nullptr, [] { return new redlock_cancel; });
}

void redlock_cancel_request(redlock_cancel* cancel) {
    if (cancel != nullptr) cancel->source.request_stop();
}

void redlock_cancel_free(redlock_cancel* cancel) { delete cancel; }

int redlock_client_from_json(const char* json, redlock_client** out) {
    return c::make_of(out, json, "json", [&] { return parse_configuration(json); });
}

int redlock_client_from_file(const char* path, redlock_client** out) {
    return c::make_of(out, path, "path", [&] { return load_configuration(path); });
}

int redlock_client_from_environment(redlock_client** out) {
    return c::make_of(out, "", "", [] { return configuration_from_environment(); });
}

int redlock_client_close(redlock_client* client) {
    return c::guarded([&] {
        if (client == nullptr) return c::refuse("client is null");
        const auto closed = client->shared->blocking.close();
        return closed ? REDLOCK_OK : c::fail(refusal{closed.error(), {}});
    });
}

// Where there is no memory to close it, the last that uses the client closes it by freeing it.
void redlock_client_free(redlock_client* client) {
    // It can't fail, so what the calling thread failed at before can still be read.
    const std::unique_ptr<redlock_client> owned(client);
    if (!owned) return;
    try {
        (void)owned->shared->blocking.close();
    } catch (...) {
    }
}

const char* redlock_status_name(int status) {
    switch (static_cast<redlock_status>(status)) {
        case REDLOCK_OK: return "ok";
        case REDLOCK_CONTENDED: return "contended";
        case REDLOCK_NO_QUORUM: return "no_quorum";
        case REDLOCK_VALIDITY_EXHAUSTED: return "validity_exhausted";
        case REDLOCK_NOT_HELD: return "not_held";
        case REDLOCK_LOST: return "lost";
        case REDLOCK_WOULD_DEADLOCK: return "would_deadlock";
        case REDLOCK_INVALID_ARGUMENT: return "invalid_argument";
        case REDLOCK_CLIENT_CLOSED: return "client_closed";
        case REDLOCK_CONFIG_INVALID: return "config_invalid";
        case REDLOCK_BACKLOG: return "backlog";
        case REDLOCK_CANCELLED: return "cancelled";
        case REDLOCK_NO_MEMORY: return "no_memory";
        case REDLOCK_SYSTEM_ERROR: return "system_error";
    }
    return "unknown";
}

const char* redlock_version(void) { return REDLOCK_VERSION; }

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
    return c::guarded_value<const char*>(nullptr, [&]() -> const char* {
        if (lease == nullptr) return c::refuse("lease is null"), nullptr;
        const std::lock_guard lock(lease->gate);
        if (lease->token.empty()) lease->token = lease->held.token();
        return lease->token.c_str();
    });
}

int redlock_lease_lost_fd(const redlock_lease* lease) {
    return c::guarded_value(-1, [&] {
        if (lease == nullptr) return c::refuse("lease is null"), -1;
        const std::lock_guard lock(lease->gate);
        if (!lease->lost) lease->lost = std::make_unique<c::stop_signal>(lease->held.lost_token());
        return lease->lost->descriptor();
    });
}

int redlock_lease_loss(const redlock_lease* lease) {
    if (lease == nullptr || lease->held) return REDLOCK_LOSS_NONE;
    const auto why = detail::loss_of(lease->held);
    return why ? static_cast<int>(*why) + REDLOCK_LOSS_EXPIRED : REDLOCK_LOSS_CLIENT_CLOSED;
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
                         std::to_string(by.options().ttl_max.count()) +
                         ", and leave more than loss_margin_ms when the drift is taken off");
    });
}

int redlock_downgrade(redlock_lease* lease) {
    return c::guarded([&] {
        if (lease == nullptr) return c::refuse("lease is null");
        const auto done = lease->client->blocking.downgrade(lease->held);
        if (done) return static_cast<int>(REDLOCK_OK);
        if (done.error() != errc::invalid_argument) return c::fail(refusal{done.error(), {}});
        return c::refuse("the lease can't be shared: it is of several resources or of a slot, its "
                         "min_hold is not over, a program has its token, or fencing is off");
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
    return redlock_limiter_use(limiter, 1, wait_ms, cancel, retry_after_ms);
}

int redlock_limiter_use(redlock_limiter* limiter, uint16_t cost, int64_t wait_ms,
                        redlock_cancel* cancel, int64_t* retry_after_ms) {
    return c::guarded([&] {
        if (retry_after_ms != nullptr) *retry_after_ms = 0;
        if (limiter == nullptr) return c::refuse("limiter is null");
        const auto wait = detail::waiting_time(std::chrono::milliseconds(wait_ms));
        limit_answer said = detail::ask_limit(limiter->client->blocking, limiter->limit, cost,
                                              wait, c::token_of(cancel));
        if (said) return static_cast<int>(REDLOCK_OK);
        if (retry_after_ms != nullptr) *retry_after_ms = said.retry_after.count();
        return c::fail(std::move(said.why));
    });
}

int redlock_limiter_set(redlock_limiter* limiter, uint16_t limit) {
    return c::guarded([&] {
        if (limiter == nullptr) return c::refuse("limiter is null");
        auto why = detail::change_limit(limiter->client->blocking, limiter->limit, limit);
        return why.code ? c::fail(std::move(why)) : static_cast<int>(REDLOCK_OK);
    });
}

void redlock_limiter_free(redlock_limiter* limiter) { delete limiter; }
