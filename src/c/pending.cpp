// Acquires that are begun and not waited for: what is shared with the client's thread, and the
// functions of redlock/c_pending.h.
// SPDX-License-Identifier: MIT
#include "c/objects.hpp"

#include <utility>

namespace redlock::c {

void over_queue::add(calls& one) noexcept {
    const std::lock_guard lock(gate_);
    over_.splice(over_.end(), one);
    event_.raise();
}

redlock_pending* over_queue::next() noexcept {
    calls gone;  // destroyed without the lock
    const std::lock_guard lock(gate_);
    while (!over_.empty()) {
        gone.splice(gone.end(), over_, over_.begin());
        if (auto* const owner = gone.back()->owner.load()) return owner;
    }
    event_.lower();
    return nullptr;
}

bool over_queue::is_of_this_process() const noexcept { return process_ == current_process(); }

void begun_acquire::arrive(error_code why, lease got) noexcept {
    over_queue::calls place;
    std::shared_ptr<over_queue> queue;
    {
        const std::lock_guard lock(gate_);
        why_ = why;
        got_ = std::move(got);
        is_over_ = true;
        if (event_) event_->raise();
        arrived_.notify_all();
        queue = std::move(queue_);
        place.swap(place_);
    }
    if (queue) queue->add(place);
}

int begun_acquire::descriptor() {
    const std::lock_guard lock(gate_);
    if (!event_) {
        event_ = std::make_unique<event_descriptor>();
        if (is_over_) event_->raise();
    }
    return event_->number();
}

void begun_acquire::add_to(std::shared_ptr<over_queue> queue) {
    over_queue::calls place{shared_from_this()};
    {
        const std::lock_guard lock(gate_);
        if (!is_over_) {
            queue_ = std::move(queue);
            place_.swap(place);
            return;
        }
    }
    queue->add(place);
}

error_code begun_acquire::await(lease& out) {
    std::unique_lock lock(gate_);
    arrived_.wait(lock, [this] { return is_over_; });
    out = std::move(got_);
    return why_;
}

}  // namespace redlock::c

using namespace redlock;

int redlock_pending_fd(const redlock_pending* pending) {
    return c::guarded_value(-1, [&] {
        if (pending == nullptr) return c::refuse("pending is null"), -1;
        if (pending->process != c::current_process()) return c::refuse_child(), -1;
        return pending->call->descriptor();
    });
}

int redlock_pending_take(redlock_pending* pending, redlock_lease** out) {
    return c::guarded([&] {
        if (out == nullptr) return c::refuse("out is null");
        *out = nullptr;
        if (pending == nullptr) return c::refuse("pending is null");
        const std::unique_ptr<redlock_pending> owned(pending);
        if (owned->process != c::current_process()) return c::refuse_child();
        owned->call->drop();
        lease& got = owned->made->held;
        if (const error_code why = owned->call->await(got)) {
            return c::fail(refusal{why, {got.votes().begin(), got.votes().end()}, got.why()});
        }
        *out = owned->made.release();
        return static_cast<int>(REDLOCK_OK);
    });
}

void redlock_pending_cancel(redlock_pending* pending) {
    const std::unique_ptr<redlock_pending> owned(pending);
    if (!owned || owned->process != c::current_process()) return;
    owned->call->drop();
    if (owned->cancel) owned->cancel();
}

redlock_queue* redlock_queue_new(void) {
    return c::guarded_value<redlock_queue*>(
        nullptr, [] { return new redlock_queue{std::make_shared<c::over_queue>()}; });
}

int redlock_queue_fd(const redlock_queue* queue) {
    return queue == nullptr ? -1 : queue->shared->descriptor();
}

int redlock_queue_add(redlock_queue* queue, redlock_pending* pending) {
    return c::guarded([&] {
        if (queue == nullptr) return c::refuse("queue is null");
        if (pending == nullptr) return c::refuse("pending is null");
        if (pending->process != c::current_process() || !queue->shared->is_of_this_process()) {
            return c::refuse_child();
        }
        pending->call->add_to(queue->shared);
        return static_cast<int>(REDLOCK_OK);
    });
}

redlock_pending* redlock_queue_next(redlock_queue* queue) {
    if (queue == nullptr || !queue->shared->is_of_this_process()) return nullptr;
    return queue->shared->next();
}

void redlock_queue_free(redlock_queue* queue) { delete queue; }
