// An election for asynchronous callers.
// SPDX-License-Identifier: MIT
#include "asio/async_election.hpp"

#include "asio/blocking_client.hpp"
#include "core/retry.hpp"
#include "value/state.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/access.hpp>
#include <redlock/election.hpp>
#include <redlock/with_lock.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>

#include <condition_variable>
#include <random>

namespace redlock::detail {

election_state::election_state(impl_ptr client, std::string called, const acquire_options& how)
    : impl(std::move(client)), name(std::move(called)), options(candidacy(how)) {}

bool election_state::begin(const std::shared_ptr<campaign>& what) {
    std::optional<lease> lost;
    const std::lock_guard lock(gate_);
    if (!running_.expired() || work_ || (term_ && *term_)) return false;
    lost = std::exchange(term_, std::nullopt);
    running_ = what;
    return true;
}

void election_state::has_begun(campaign& what) {
    const std::lock_guard lock(gate_);
    what.has_begun = true;
    if (what.is_withdrawn) withdraw_locked(what);
}

void election_state::withdraw(campaign& what) {
    const std::lock_guard lock(gate_);
    withdraw_locked(what);
}

// The client is only sent a message: nothing runs inside the emission.
void election_state::withdraw_locked(campaign& what) {
    what.is_withdrawn = true;
    if (what.has_begun) what.signal.emit(asio::cancellation_type::terminal);
}

bool election_state::end(campaign& what, lease& granted) {
    const std::lock_guard lock(gate_);
    running_.reset();
    if (!granted || what.is_withdrawn) return false;
    term_ = std::move(granted);
    if (what.follows == campaign::then::work) work_.emplace();
    return true;
}

election_state::departure election_state::resign() {
    std::unique_lock lock(gate_);
    if (const auto under_way = running_.lock()) {
        withdraw_locked(*under_way);
        return {true};
    }
    if (!work_) return {false, std::exchange(term_, std::nullopt)};
    std::stop_source stop = *work_;
    lock.unlock();  // what a stop calls may ask for the term
    stop.request_stop();
    return {true};
}

void election_state::work(const std::function<void(const lease&, std::stop_token)>& callback,
                          const std::stop_token& stop) {
    const auto stop_work = [source = *work_]() mutable { source.request_stop(); };
    const std::stop_callback on_stop(stop, stop_work);
    const std::stop_callback on_loss(term_->lost_token(), stop_work);
    callback(*term_, work_->get_token());
}

lease election_state::end_work() {
    const std::lock_guard lock(gate_);
    work_.reset();
    lease over = std::move(*term_);
    term_.reset();
    return over;
}

void observation::start() {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) {
        slot.assign([weak = weak_from_this()](asio::cancellation_type type) {
            const auto self = weak.lock();
            if (self && type != asio::cancellation_type::none) self->cancel();
        });
    }
    watch();
}

// The handler of a watch is posted, so that none runs under the mutex.
void observation::watch() {
    std::unique_lock lock(gate_);
    if (is_cancelled_) {
        lock.unlock();
        return finish(asio::error::operation_aborted, {});
    }
    auto then = [self = shared_from_this()](error_code why, resource_state shown) {
        self->on_change(why, std::move(shown));
    };
    start_watch(impl_, name_, shown_,
                homing_handler(asio::bind_cancellation_slot(signal_.slot(), std::move(then)),
                               executor_of(impl_)));
}

// Readers that come and go change hands, too, and are no leaders.
void observation::on_change(error_code why, resource_state shown) {
    if (why) return finish(why, {});
    auto found = leader_of(shown);
    if (found && is_change(last_, *found)) return finish({}, std::move(*found));
    shown_ = std::move(shown);
    watch();
}

void observation::cancel() {
    const std::lock_guard lock(gate_);
    is_cancelled_ = true;
    signal_.emit(asio::cancellation_type::terminal);
}

void observation::finish(error_code why, std::optional<leader_info> found) {
    leader_handler(std::move(handler_))(why, std::move(found));
}

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

void begin_campaign(const election_ptr& state, campaign::then what, campaign_handler handler) {
    const auto made = std::make_shared<campaign>(state, std::move(handler), what);
    if (!state->begin(made)) {
        const error_code why = errc::would_deadlock;
        return campaign_handler(std::move(made->handler))(
            why, refusal{why, {}, "this election leads or campaigns already"});
    }
    auto slot = asio::get_associated_cancellation_slot(made->handler);
    if (slot.is_connected()) {
        slot.assign([weak = std::weak_ptr<campaign>(made)](asio::cancellation_type type) {
            const auto self = weak.lock();
            if (self && type != asio::cancellation_type::none) self->of->withdraw(*self);
        });
    }
    start_acquire(state->impl, state->name, state->options,
                  asio::bind_cancellation_slot(made->signal.slot(),
                                               [made](error_code why, lease got) {
                                                   complete(*made, why, std::move(got));
                                               }));
    state->has_begun(*made);
}

}  // namespace

election_ptr make_election(const impl_ptr& impl, std::string name,
                           const acquire_options& options) {
    return std::make_shared<election_state>(impl, std::move(name), options);
}

asio::any_io_executor executor_of(const election_ptr& state, asio_build) noexcept {
    return executor_of(state ? state->impl : nullptr);
}

void abandon_election(const election_ptr& state) noexcept {
    if (state) state->resign();
}

bool holds_office(const election_ptr& state) noexcept {
    return state && state->of_term([](const lease& term) { return bool{term}; });
}

std::uint64_t fence_of(const election_ptr& state) noexcept {
    return state ? state->of_term(&lease::fence) : 0;
}

std::stop_token lost_token_of(const election_ptr& state) noexcept {
    return state ? state->of_term(&lease::lost_token) : std::stop_token();
}

void touch_term_of(const election_ptr& state) noexcept {
    if (state) state->of_term(&lease::touch);
}

void start_campaign(const election_ptr& state, campaign_handler handler) {
    const error_code closed = errc::client_closed;
    if (!state) return std::move(handler)(closed, refusal{closed, {}});
    begin_campaign(state, campaign::then::lead, std::move(handler));
}

void start_resign(const election_ptr& state, plain_handler handler) {
    if (!state) return std::move(handler)(errc::client_closed);
    auto left = state->resign();
    if (left.term) return start_release(state->impl, std::move(*left.term), std::move(handler));
    std::move(handler)(left.was_under_way ? error_code() : error_code(errc::not_held));
}

void start_term_lost(const election_ptr& state, lost_handler handler) {
    if (!state) return std::move(handler)(errc::client_closed, loss{});
    auto term = state->of_term(&access::state);
    if (!term) return std::move(handler)(errc::not_held, loss{});
    start_lost(state->impl, std::move(term), std::move(handler));
}

void start_leader(const election_ptr& state, leader_handler handler) {
    if (!state) return std::move(handler)(errc::client_closed, std::nullopt);
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
    if (!state) return std::move(handler)(errc::client_closed, std::nullopt);
    std::make_shared<observation>(state->impl, state->name, std::move(last), std::move(handler))
        ->start();
}

}  // namespace redlock::detail

namespace redlock {

namespace asio = boost::asio;

using detail::blocking_access;

namespace {

const error_code aborted = asio::error::operation_aborted;

result<void, refusal> campaign_with(blocking_client& client, const detail::election_ptr& state,
                                    detail::campaign::then what, const std::stop_token& stop) {
    auto [ec, why] = blocking_access::value_of<refusal>(client, stop, [&](auto handler) {
        detail::begin_campaign(state, what, std::move(handler));
    });
    why.code = ec;
    if (why.code) return std::move(why);
    return {};
}

// `start(handler)` initiates an operation that finds a leader.
template <class F>
result<std::optional<leader_info>> find_leader(blocking_client& client, const std::stop_token& stop,
                                               F&& start) {
    auto [why, found] =
        blocking_access::value_of<std::optional<leader_info>>(client, stop, start);
    if (why) return why;
    return std::move(found);
}

/// False if a stop was requested before or meanwhile.
bool pause_for(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::mutex gate;
    std::condition_variable_any never;
    std::unique_lock lock(gate);
    never.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
}

}  // namespace

election::election(blocking_client& client, std::string name, acquire_options options)
    : client_(&client),
      state_(detail::make_election(blocking_access::impl(client), std::move(name), options)) {}

result<void, refusal> election::campaign(std::stop_token stop) {
    return campaign_with(*client_, state_, detail::campaign::then::lead, stop);
}

bool election::held() const noexcept { return detail::holds_office(state_); }

std::uint64_t election::fence() const noexcept { return detail::fence_of(state_); }

std::stop_token election::lost_token() const noexcept { return detail::lost_token_of(state_); }

void election::touch() const noexcept { detail::touch_term_of(state_); }

result<void> election::resign() {
    auto left = state_->resign();
    if (left.term) return client_->release(std::move(*left.term));
    if (!left.was_under_way) return error_code(errc::not_held);
    return {};
}

result<std::optional<leader_info>> election::leader() {
    return find_leader(*client_, {}, [this](auto handler) {
        detail::start_leader(state_, std::move(handler));
    });
}

result<std::optional<leader_info>> election::observe(const std::optional<leader_info>& last,
                                                     std::stop_token stop) {
    return find_leader(*client_, stop, [&](auto handler) {
        detail::start_observe(state_, last, std::move(handler));
    });
}

result<void, refusal> election::lead(const elected_callback& on_elected,
                                     const lost_callback& on_lost, std::stop_token stop) {
    const auto end_term = [&] {
        lease over = state_->end_work();
        const std::uint64_t fence = over.fence();
        const bool was_lost{detail::blocking_section(*client_, std::move(over)).end().code};
        if (was_lost && on_lost) on_lost(fence);
    };
    core::term_pauses pauses;
    do {
        const auto elected = campaign_with(*client_, state_, detail::campaign::then::work, stop);
        const auto began = clock::now();
        if (elected) {
            try {
                state_->work(on_elected, stop);
            } catch (...) {
                end_term();
                throw;
            }
            end_term();
        } else if (elected.error() != aborted) {
            return elected.error();
        }
        const auto pause = pauses.after(clock::now() - began, std::random_device{}());
        if (!pause_for(pause, stop)) return {};
    } while (true);
}

}  // namespace redlock
