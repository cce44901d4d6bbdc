// The asynchronous election: its operations, put together from those of the client.
// SPDX-License-Identifier: MIT
#include <redlock/async_election.hpp>

#include "asio/election_state.hpp"
#include "asio/observation.hpp"
#include "value/leadership.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::detail {

namespace {

void complete(campaign& of, error_code why, lease got) {
    const bool leads = of.of->end(of, got);
    if (!why && !leads) {
        why = asio::error::operation_aborted;
        got = lease();  // a withdrawn candidate gives back what it was granted
    }
    refusal reasons{why, {got.votes().begin(), got.votes().end()}, got.why()};
    campaign_handler(std::move(of.handler))(why, std::move(reasons));
}

}  // namespace

election_ptr make_election(const impl_ptr& impl, std::string name,
                           const acquire_options& options) {
    return std::make_shared<election_state>(impl, std::move(name), options);
}

void abandon_election(election_state& state) noexcept { state.resign(); }

bool holds_office(const election_state& state) noexcept { return state.is_held(); }

std::uint64_t fence_of(const election_state& state) noexcept { return state.fence(); }

std::stop_token lost_token_of(const election_state& state) noexcept { return state.lost_token(); }

void touch_term_of(const election_state& state) noexcept { state.touch(); }

void start_campaign(const election_ptr& state, campaign_handler handler) {
    const auto made = std::make_shared<campaign>(state, std::move(handler));
    if (!state->begin(made)) {
        const error_code why = errc::would_deadlock;
        return campaign_handler(std::move(made->handler))(why, refusal{why, {}});
    }
    auto slot = asio::get_associated_cancellation_slot(made->handler);
    if (slot.is_connected()) {
        slot.assign([weak = std::weak_ptr<campaign>(made)](asio::cancellation_type type) {
            const auto self = weak.lock();
            if (self && type != asio::cancellation_type::none) self->of->withdraw(*self);
        });
    }
    start_acquire(state->impl, acquire_flavour::contention_is_an_error, state->name,
                  state->options.get(),
                  asio::bind_cancellation_slot(made->signal.slot(),
                                               [made](error_code why, lease got) {
                                                   complete(*made, why, std::move(got));
                                               }));
    state->has_begun(*made);
}

void start_resign(const election_ptr& state, plain_handler handler) {
    auto left = state->resign();
    if (left.term) return start_release(state->impl, std::move(*left.term), std::move(handler));
    std::move(handler)(left.was_campaign ? error_code() : error_code(errc::not_held));
}

void start_term_lost(const election_ptr& state, lost_handler handler) {
    auto term = state->term_state();
    if (!term) return std::move(handler)(errc::not_held, loss{});
    start_lost(state->impl, std::move(term), std::move(handler));
}

void start_leader(const election_ptr& state, leader_handler handler) {
    const auto slot = asio::get_associated_cancellation_slot(handler);
    start_inspect(
        state->impl, state->name,
        asio::bind_cancellation_slot(slot, [handler = std::move(handler)](
                                               error_code why,
                                               const resource_state& shown) mutable {
            if (why) return std::move(handler)(why, std::nullopt);
            auto found = leader_of(shown);
            if (!found) return std::move(handler)(found.error(), std::nullopt);
            std::move(handler)(error_code(), std::move(*found));
        }));
}

void start_observe(const election_ptr& state, std::optional<leader_info> last,
                   leader_handler handler) {
    std::make_shared<observation>(state->impl, state->name, std::move(last), std::move(handler))
        ->start();
}

}  // namespace redlock::detail
