// Watches a resource until it shows another leader.
// SPDX-License-Identifier: MIT
#include "asio/observation.hpp"

#include "value/leadership.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>

namespace redlock::detail {

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

}  // namespace redlock::detail
