// The semaphore: acquires slots, and gives them back for whichever thread asks.
// SPDX-License-Identifier: MIT
#include <redlock/counting_semaphore.hpp>

#include "lockable/granting.hpp"
#include "lockable/losing.hpp"
#include "lockable/permits.hpp"

#include <redlock/detail/kept_options.hpp>
#include <redlock/detail/slot_terms.hpp>

#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

struct counting_semaphore::state {
    state(blocking_client& c, std::string name, std::uint16_t slots, acquire_options how)
        : client(&c),
          resource(std::move(name)),
          options(detail::slot_terms(how, slots, "counting_semaphore")) {}

    /// Throws if the thread has lost a slot.
    void arrive();
    void begin(lease granted);
    const lease* latest() const noexcept { return permits.latest(detail::this_thread_number()); }

    blocking_client* client;
    const std::string resource;
    const detail::kept_options options;

    mutable std::mutex gate;  // never held during a call of the client
    detail::permits permits;
};

void counting_semaphore::state::arrive() {
    const auto now = [&] {
        const std::lock_guard lock(gate);
        return permits.arrive(detail::this_thread_number());
    }();
    if (!now.is_lost) return;
    for (const lease& lost : now.ended) detail::await_report(lost);
    detail::fail(errc::lost, resource);
}

void counting_semaphore::state::begin(lease granted) {
    const std::lock_guard lock(gate);
    permits.begin(detail::this_thread_number(), std::move(granted));
}

counting_semaphore::counting_semaphore(blocking_client& client, std::string resource,
                                       std::uint16_t slots, acquire_options options)
    : state_(std::make_unique<state>(client, std::move(resource), slots, options)) {}

counting_semaphore::~counting_semaphore() = default;

void counting_semaphore::acquire(std::stop_token stop) {
    state_->arrive();
    state_->begin(detail::acquire_or_throw(*state_->client, state_->resource,
                                           state_->options.get(), std::move(stop)));
}

bool counting_semaphore::try_acquire_within(std::chrono::milliseconds wait, std::stop_token stop) {
    state_->arrive();
    lease granted = detail::acquire_within(wait, *state_->client, state_->resource,
                                           state_->options.get(), std::move(stop));
    if (!granted) return false;
    state_->begin(std::move(granted));
    return true;
}

void counting_semaphore::release(std::ptrdiff_t count) {
    if (count < 0) detail::fail(errc::not_held, state_->resource);
    const auto thread = detail::this_thread_number();
    const bool may_throw = std::uncaught_exceptions() == 0;
    detail::permits::departure done = [&] {
        const std::lock_guard lock(state_->gate);
        return state_->permits.depart(thread, static_cast<std::size_t>(count), may_throw);
    }();
    if (!done.is_enough) detail::fail(errc::not_held, state_->resource);
    bool has_lost = done.is_lost;
    for (lease& held : done.held) {
        if (detail::release_held(*state_->client, std::move(held))) continue;
        if (may_throw) {
            has_lost = true;
        } else {
            const std::lock_guard lock(state_->gate);
            state_->permits.note_loss(thread);
        }
    }
    for (const lease& lost : done.ended) detail::await_report(lost);
    if (has_lost) detail::fail(errc::lost, state_->resource);
}

std::uint64_t counting_semaphore::fence() const noexcept {
    const std::lock_guard lock(state_->gate);
    const lease* const held = state_->latest();
    return held == nullptr ? 0 : held->fence();
}

std::uint16_t counting_semaphore::slot() const noexcept {
    const std::lock_guard lock(state_->gate);
    const lease* const held = state_->latest();
    return held == nullptr ? 0 : held->slot();
}

std::stop_token counting_semaphore::lost_token() const noexcept {
    const std::lock_guard lock(state_->gate);
    const lease* const held = state_->latest();
    return held == nullptr ? std::stop_token() : held->lost_token();
}

void counting_semaphore::touch() const noexcept {
    const std::lock_guard lock(state_->gate);
    state_->permits.touch(detail::this_thread_number());
}

}  // namespace redlock
