// An election on a blocking client, and the pauses between its tries.
// SPDX-License-Identifier: MIT
#include "lockable/election.hpp"

#include "lockable/mutex.hpp"
#include "value/state.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/kept_options.hpp>
#include <redlock/election.hpp>

#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <utility>

namespace redlock::detail {

std::chrono::milliseconds back_off::after(std::chrono::nanoseconds term,
                                          std::uint64_t random) noexcept {
    if (term >= at_once) {
        next_ = first;
        return std::chrono::milliseconds(0);
    }
    const auto pause = std::exchange(next_, std::min(2 * next_, longest));
    const auto jitter = random % (static_cast<std::uint64_t>(pause.count() / 2) + 1);
    return pause - std::chrono::milliseconds(jitter);
}

}  // namespace redlock::detail

namespace redlock {

namespace {

// The value of asio::error::operation_aborted.
const error_code aborted(ECANCELED, boost::system::system_category());

std::uint64_t random_word() { return std::random_device{}(); }

/// False if a stop was requested before or meanwhile.
bool pause_for(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::mutex gate;
    std::condition_variable_any never;
    std::unique_lock lock(gate);
    never.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
}

}  // namespace

struct election::state {
    state(blocking_client& c, std::string called, const acquire_options& how)
        : client(&c), name(std::move(called)), options(detail::candidacy(how)) {}

    enum class next : bool { return_to_caller, run_callback };
    result<void, refusal> campaign(const std::stop_token& stop, next then);
    std::optional<std::stop_source> begin_campaign();
    result<void, refusal> end_campaign(result<lease, refusal> got, next then);
    void run_term(const elected_callback& on_elected, const lost_callback& on_lost,
                  const std::stop_token& stop);
    void end_term(const lost_callback& on_lost);

    blocking_client* client;
    const std::string name;
    const detail::kept_options options;

    mutable std::mutex gate;  // never held during a call of the client or of a callback
    std::optional<lease> term;  // under a callback only the thread that runs it takes it away
    std::optional<std::stop_source> running;  // of the campaign that is under way
    bool is_withdrawn = false;                // that campaign, by a resignation
    std::optional<std::stop_source> work;     // of the callback that runs under the term
};

// Empty if there is a campaign or a term already. A term that was lost makes room.
std::optional<std::stop_source> election::state::begin_campaign() {
    std::optional<lease> lost;
    const std::lock_guard lock(gate);
    if (running || work || (term && *term)) return std::nullopt;
    lost = std::exchange(term, std::nullopt);
    is_withdrawn = false;
    return running.emplace();
}

result<void, refusal> election::state::campaign(const std::stop_token& stop, next then) {
    auto mine = begin_campaign();
    if (!mine) return refusal{errc::would_deadlock, {}};
    const std::stop_callback on_stop(stop, [&mine] { mine->request_stop(); });
    try {
        return end_campaign(client->acquire(name, options.get(), mine->get_token()), then);
    } catch (...) {
        const std::lock_guard lock(gate);
        running.reset();
        throw;
    }
}

// What a withdrawn candidate was granted is released in the background, with `got`.
result<void, refusal> election::state::end_campaign(result<lease, refusal> got, next then) {
    const std::lock_guard lock(gate);
    running.reset();
    if (!got) return std::move(got).error();
    if (is_withdrawn) return refusal{aborted, {}};
    term = std::move(*got);
    if (then == next::run_callback) work.emplace();
    return {};
}

void election::state::run_term(const elected_callback& on_elected, const lost_callback& on_lost,
                               const std::stop_token& stop) {
    try {
        const auto stop_work = [source = *work]() mutable { source.request_stop(); };
        const std::stop_callback on_stop(stop, stop_work);
        const std::stop_callback on_loss(term->lost_token(), stop_work);
        on_elected(*term, work->get_token());
    } catch (...) {
        end_term(on_lost);
        throw;
    }
    end_term(on_lost);
}

void election::state::end_term(const lost_callback& on_lost) {
    lease over;
    {
        const std::lock_guard lock(gate);
        work.reset();
        over = std::move(*term);
        term.reset();
    }
    const std::uint64_t fence = over.fence();
    if (!over) {
        detail::await_report(over);
    } else if (detail::release_held(*client, std::move(over))) {
        return;
    }
    if (on_lost) on_lost(fence);
}

election::election(blocking_client& client, std::string name, acquire_options options)
    : state_(std::make_unique<state>(client, std::move(name), options)) {}

election::~election() = default;

result<void, refusal> election::campaign(std::stop_token stop) {
    return state_->campaign(stop, state::next::return_to_caller);
}

result<void> election::resign() {
    std::optional<std::stop_source> under_way;
    std::optional<lease> over;
    {
        const std::lock_guard lock(state_->gate);
        if (state_->work) {
            under_way = state_->work;
        } else if (state_->running) {
            state_->is_withdrawn = true;
            under_way = state_->running;
        } else {
            over = std::exchange(state_->term, std::nullopt);
        }
    }
    if (under_way) {
        under_way->request_stop();
        return {};
    }
    if (!over) return error_code(errc::not_held);
    return state_->client->release(std::move(*over));
}

bool election::held() const noexcept {
    const std::lock_guard lock(state_->gate);
    return state_->term && *state_->term;
}

std::uint64_t election::fence() const noexcept {
    const std::lock_guard lock(state_->gate);
    return state_->term ? state_->term->fence() : 0;
}

std::stop_token election::lost_token() const noexcept {
    const std::lock_guard lock(state_->gate);
    return state_->term ? state_->term->lost_token() : std::stop_token();
}

void election::touch() const noexcept {
    const std::lock_guard lock(state_->gate);
    if (state_->term) state_->term->touch();
}

result<std::optional<leader_info>> election::leader() {
    auto shown = state_->client->inspect(state_->name);
    if (!shown) return shown.error();
    return detail::leader_of(*shown);
}

result<std::optional<leader_info>> election::observe(std::optional<leader_info> last,
                                                     std::stop_token stop) {
    resource_state known;
    do {
        auto shown = state_->client->watch(state_->name, known, stop);
        if (!shown) return shown.error();
        known = std::move(*shown);
        auto now = detail::leader_of(known);
        if (now && detail::is_change(last, *now)) return now;
    } while (true);
}

result<void, refusal> election::lead(const elected_callback& on_elected,
                                     const lost_callback& on_lost, std::stop_token stop) {
    detail::back_off pauses;
    do {
        const auto elected = state_->campaign(stop, state::next::run_callback);
        const auto began = clock::now();
        if (elected) {
            state_->run_term(on_elected, on_lost, stop);
        } else if (elected.error() != aborted) {
            return elected.error();
        }
        const auto pause = pauses.after(clock::now() - began, random_word());
        if (!pause_for(pause, stop)) return {};
    } while (true);
}

}  // namespace redlock
