// The handle that a holder has: every question is answered from the shared state.
// SPDX-License-Identifier: MIT
#include <redlock/lease.hpp>

#include "client/lease/lease_state.hpp"

namespace redlock {

lease::lease(std::shared_ptr<detail::lease_state> state) noexcept : state_(std::move(state)) {}

lease::lease(lease&& other) noexcept = default;

lease& lease::operator=(lease&& other) noexcept {
    if (this == &other) return *this;
    lease old(std::move(*this));
    state_ = std::move(other.state_);
    return *this;
}

lease::~lease() {
    if (!state_) return;
    if (const auto home = state_->home.lock()) {
        home->part(std::move(state_), detail::farewell::kind::give_back);
    }
}

void lease::detach() noexcept {
    if (!state_) return;
    if (const auto home = state_->home.lock()) {
        home->part(std::move(state_), detail::farewell::kind::let_go);
    }
    state_.reset();
}

std::shared_ptr<detail::lease_state> lease::surrender() && noexcept {
    if (state_) state_->part();
    return std::move(state_);
}

lease::operator bool() const noexcept {
    return state_ && state_->is_valid(clock::now());
}

const std::string& lease::resource() const noexcept {
    static const std::string none;
    return state_ ? state_->resources().front() : none;
}

std::span<const std::string> lease::resources() const noexcept {
    return state_ ? state_->resources() : std::span<const std::string>();
}

owner_id lease::owner() const noexcept { return state_ ? state_->owner : owner_id{}; }

std::uint64_t lease::fence() const noexcept { return state_ ? state_->fence : 0; }

std::uint16_t lease::slot() const noexcept { return state_ ? state_->proof.slot.number : 0; }

std::string lease::token() const {
    return state_ ? state_->token() : "";
}

clock::time_point lease::valid_until() const noexcept {
    return state_ ? state_->valid_until() : clock::time_point{};
}

std::chrono::milliseconds lease::remaining() const noexcept {
    using std::chrono::milliseconds;
    const auto now = clock::now();
    if (!state_ || !state_->is_valid(now)) return milliseconds(0);
    // It may have been prolonged meanwhile, never cut short.
    return std::chrono::floor<milliseconds>(state_->valid_until() - now);
}

std::span<const node_vote> lease::votes() const noexcept {
    return state_ ? state_->votes.all() : std::span<const node_vote>();
}

const std::string& lease::why() const noexcept {
    static const std::string none;
    return state_ ? state_->why() : none;
}

void lease::touch() const noexcept {
    if (state_) state_->touch(clock::now());
}

std::stop_token lease::lost_token() const {
    return state_ ? state_->lost_token() : std::stop_token();
}

}  // namespace redlock
