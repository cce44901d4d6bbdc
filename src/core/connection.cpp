// The connection to one node.
// SPDX-License-Identifier: MIT
#include "core/connection.hpp"

namespace redlock::core {

using namespace std::chrono_literals;

reconnection::action reconnection::connect(time_point now) noexcept {
    assert(phase_ != phase::connecting && phase_ != phase::closed);
    phase_ = phase::connecting;
    deadline_ = now + connect_timeout_;
    opening_since_ = now;
    return action::open;
}

reconnection::action reconnection::start(time_point now) noexcept {
    return phase_ == phase::idle ? connect(now) : action::none;
}

void reconnection::opened(time_point now) noexcept {
    if (phase_ == phase::connecting) phase_ = phase::greeting;
    answered(now);
}

void reconnection::answered(time_point now) noexcept {
    if (phase_ != phase::connecting && phase_ != phase::greeting) return;
    deadline_ =
        std::min(now + connect_timeout_, opening_since_ + longest_opening(connect_timeout_));
}

void reconnection::greeted(time_point now) noexcept {
    if (phase_ != phase::greeting) return;
    phase_ = phase::ready;
    deadline_ = time_point::max();
    serving_since_ = now;
}

reconnection::action reconnection::down(time_point now, bool stalled,
                                        std::uint64_t random) noexcept {
    if (phase_ == phase::closed || phase_ == phase::idle || phase_ == phase::resting) {
        return action::none;
    }
    // Not for any service: a node that greets and hangs up must not be dialled in a tight loop.
    if (phase_ == phase::ready && now - serving_since_ >= connect_timeout_) {
        failures_ = 0;
        if (!stalled) return connect(now);
    }
    phase_ = phase::resting;
    // From 10 ms, doubling, to a second, of which up to half is jitter: quick for a restart, cheap
    // for a node that is gone.
    const duration rest = std::min<duration>(10ms * (1U << std::min(failures_, 7U)), 1s);
    const auto spread = static_cast<std::uint64_t>((rest / 2).count()) + 1;
    ++failures_;
    deadline_ = now + rest / 2 + duration(static_cast<duration::rep>(random % spread));
    return action::none;
}

reconnection::action reconnection::on_time(time_point now) noexcept {
    if (now < deadline_) return action::none;
    switch (phase_) {
        case phase::resting: return connect(now);
        case phase::connecting:
        case phase::greeting: return action::give_up;
        case phase::idle:
        case phase::ready:
        case phase::closed: break;
    }
    return action::none;
}

void reconnection::close() noexcept {
    phase_ = phase::closed;
    deadline_ = time_point::max();
}

}  // namespace redlock::core
