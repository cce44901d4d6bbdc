// How the C interface acquires: options in, leases out.
// SPDX-License-Identifier: MIT
#include "c/failure.hpp"
#include "c/objects.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
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
    if (given.no_renew != 0) out.renew = false;
    out.slots = given.slots;
    if (given.note != nullptr) out.note = given.note;
    return out;
}

// `ask(client, terms, stop)` acquires. The object is there before the lease is: no lease is lost
// for want of memory.
template <class F>
int acquire_by(redlock_client* client, const void* what, const char* name,
               const redlock_options* options, redlock_lease** out, F&& ask) noexcept {
    return guarded([&] {
        if (out == nullptr) return refuse("out is null");
        *out = nullptr;
        if (client == nullptr) return refuse("client is null");
        if (what == nullptr) return refuse(std::string(name) + " is null");
        redlock_options given{};
        if (auto why = read(options, given); !why.empty()) return refuse(std::move(why));
        auto made = std::make_unique<redlock_lease>();
        made->client = client->shared;
        result<lease, refusal> got =
            ask(client->shared->blocking, as_terms(given, client->shared->defaults),
                token_of(given.cancel));
        if (!got) return fail(got.error());
        if (!*got) {  // a try that met contention
            note({errc::contended, {got->votes().begin(), got->votes().end()}});
            return static_cast<int>(REDLOCK_OK);
        }
        made->held = std::move(*got);
        *out = made.release();
        return static_cast<int>(REDLOCK_OK);
    });
}

}  // namespace

}  // namespace redlock::c

using namespace redlock;

int redlock_acquire(redlock_client* client, const char* resource, const redlock_options* options,
                    redlock_lease** out) {
    return c::acquire_by(client, resource, "resource", options, out,
                         [&](blocking_client& by, const acquire_options& terms, auto stop) {
                             return by.acquire(resource, terms, std::move(stop));
                         });
}

int redlock_try_acquire(redlock_client* client, const char* resource,
                        const redlock_options* options, redlock_lease** out) {
    return c::acquire_by(client, resource, "resource", options, out,
                         [&](blocking_client& by, const acquire_options& terms, auto stop) {
                             return by.try_acquire(resource, terms, std::move(stop));
                         });
}

int redlock_acquire_all(redlock_client* client, const char* const* resources, size_t count,
                        const redlock_options* options, redlock_lease** out) {
    return c::acquire_by(
        client, resources, "resources", options, out,
        [&](blocking_client& by, const acquire_options& terms,
            auto stop) -> result<lease, refusal> {
            // More than the library takes are refused by it, with the bound.
            std::vector<std::string> names;
            for (size_t i = 0; i < std::min(count, resource_list::most + 1); ++i) {
                if (resources[i] == nullptr) {
                    return refusal{errc::invalid_argument, {},
                                   "resources[" + std::to_string(i) + "] is null"};
                }
                names.emplace_back(resources[i]);
            }
            return by.acquire_all(std::move(names), terms, std::move(stop));
        });
}

int redlock_adopt(redlock_client* client, const char* token, const redlock_options* options,
                  redlock_lease** out) {
    return c::acquire_by(client, token, "token", options, out,
                         [&](blocking_client& by, const acquire_options& terms, auto stop) {
                             return by.adopt(token, terms, std::move(stop));
                         });
}

redlock_cancel* redlock_cancel_new(void) {
    redlock_cancel* made = nullptr;
    c::guarded([&] {
        made = new redlock_cancel;
        return 0;
    });
    return made;
}

void redlock_cancel_request(redlock_cancel* cancel) {
    if (cancel != nullptr) cancel->source.request_stop();
}

void redlock_cancel_free(redlock_cancel* cancel) { delete cancel; }
