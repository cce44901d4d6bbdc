// Goes from a campaign to a term and back.
// SPDX-License-Identifier: MIT
#include "asio/election_state.hpp"

#include "value/leadership.hpp"

#include <utility>

namespace redlock::detail {

election_state::election_state(impl_ptr client, std::string called, const acquire_options& how)
    : impl(std::move(client)), name(std::move(called)), options(candidacy(how)) {}

bool election_state::begin(const std::shared_ptr<campaign>& what) {
    std::optional<lease> lost;
    const std::lock_guard lock(gate_);
    if (!running_.expired() || (term_ && *term_)) return false;
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
    return true;
}

election_state::departure election_state::resign() {
    const std::lock_guard lock(gate_);
    if (const auto under_way = running_.lock()) {
        withdraw_locked(*under_way);
        return {true};
    }
    return {false, std::exchange(term_, std::nullopt)};
}

bool election_state::is_held() const {
    const std::lock_guard lock(gate_);
    return term_ && *term_;
}

std::uint64_t election_state::fence() const {
    const std::lock_guard lock(gate_);
    return term_ ? term_->fence() : 0;
}

std::stop_token election_state::lost_token() const {
    const std::lock_guard lock(gate_);
    return term_ ? term_->lost_token() : std::stop_token();
}

void election_state::touch() const {
    const std::lock_guard lock(gate_);
    if (term_) term_->touch();
}

state_ptr election_state::term_state() const {
    const std::lock_guard lock(gate_);
    return term_ ? term_->state() : nullptr;
}

}  // namespace redlock::detail
