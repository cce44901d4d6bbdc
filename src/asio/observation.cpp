// A look, a pause, and so on.
// SPDX-License-Identifier: MIT
#include "asio/observation.hpp"

#include "value/leadership.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>

#include <random>

namespace redlock::detail {

void observation::start() {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) {
        slot.assign([weak = weak_from_this()](asio::cancellation_type type) {
            const auto self = weak.lock();
            if (self && type != asio::cancellation_type::none) self->cancel();
        });
    }
    look();
}

// The handlers of a step are posted, so that none runs under the mutex.
void observation::look() {
    std::unique_lock lock(gate_);
    if (is_cancelled_) {
        lock.unlock();
        return finish(asio::error::operation_aborted, {});
    }
    auto then = [self = shared_from_this()](error_code why, const resource_state& shown) {
        self->on_shown(why, shown);
    };
    start_inspect(impl_, name_,
                  homing_handler(asio::bind_cancellation_slot(signal_.slot(), std::move(then)),
                                 executor_of(impl_)));
}

void observation::on_shown(error_code why, const resource_state& shown) {
    if (why) return finish(why, {});
    auto found = leader_of(shown);
    if (found && is_change(last_, *found)) return finish({}, std::move(*found));
    pause();
}

void observation::pause() {
    const std::lock_guard lock(gate_);
    if (!timer_) timer_.emplace(executor_of(impl_));
    timer_->expires_after(is_cancelled_ ? std::chrono::milliseconds(0)
                                        : until_next_look(std::random_device{}()));
    timer_->async_wait(asio::bind_cancellation_slot(
        signal_.slot(), [self = shared_from_this()](error_code) { self->look(); }));
}

void observation::cancel() {
    const std::lock_guard lock(gate_);
    is_cancelled_ = true;
    signal_.emit(asio::cancellation_type::terminal);
}

void observation::finish(error_code why, std::optional<leader_info> found) {
    leader_handler(std::move(handler_))(why, std::move(found));
}

}  // namespace redlock::detail
