// A worker that acquires and releases by callbacks.
// SPDX-License-Identifier: MIT
#include "callbacks.hpp"

#include <utility>

namespace bench {

/// Of both operations, which differ in what they complete with.
class callback_worker::handler {
public:
    using allocator_type = handler_allocator<void>;

    explicit handler(callback_worker& whose) noexcept : whose_(&whose) {}
    allocator_type get_allocator() const noexcept { return allocator_type(whose_->memory_); }

    void operator()(redlock::error_code refused, redlock::lease held) const {
        whose_->on_acquired(refused, std::move(held));
    }
    void operator()(redlock::error_code refused) const { whose_->on_released(refused); }

private:
    callback_worker* whose_;
};

callback_worker::callback_worker(redlock::client& client, std::string resource,
                                 redlock::clock::time_point until, measured& total,
                                 std::function<void()> when_over)
    : client_(&client),
      resource_(std::move(resource)),
      until_(until),
      total_(&total),
      when_over_(std::move(when_over)) {}

void callback_worker::acquire() {
    if (redlock::clock::now() >= until_) return when_over_();
    client_->async_acquire(resource_, handler(*this));
}

void callback_worker::on_acquired(redlock::error_code refused, redlock::lease held) {
    if (refused) {
        ++total_->failures;
        return acquire();
    }
    client_->async_release(std::move(held), handler(*this));
}

void callback_worker::on_released(redlock::error_code refused) {
    ++(refused ? total_->failures : total_->cycles);
    acquire();
}

}  // namespace bench
