// What other threads leave for the strand; knows nothing of what the messages mean.
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <utility>

namespace redlock::detail {

/// A message. Embedded in the object that it is about, so that putting it allocates nothing. The
/// sender keeps it alive until `deliver` or `discard` was called.
class mail {
public:
    virtual void deliver() = 0;
    virtual void discard() noexcept = 0;

protected:
    ~mail() = default;

private:
    friend class mailbox;
    mail* next_ = nullptr;
};

/// Many threads put, one takes. Thread-safe.
class mailbox {
public:
    /// Calls `send_collector()` where nobody is on the way to collect; if that throws, the message
    /// waits for the next one's. False when the box is closed: nothing was kept then, and the
    /// message was neither delivered nor discarded. Once `close` has returned, no collector is sent.
    template <class F>
    bool put(mail& m, F&& send_collector) noexcept {
        const std::lock_guard lock(mutex_);
        if (closed_) return false;
        m.next_ = nullptr;
        *tail_ = &m;
        tail_ = &m.next_;
        if (collector_sent_) return true;
        try {
            send_collector();
            collector_sent_ = true;
        } catch (...) {  // out of memory
        }
        return true;
    }

    /// Delivers the messages that are there, in order; those that arrive meanwhile, next time.
    void collect() {
        mail* m = take(false);
        while (m != nullptr) {
            mail* const next = m->next_;
            m->deliver();
            m = next;
        }
    }

    /// Refuses further messages, and discards those that are there.
    void close() noexcept {
        mail* m = take(true);
        while (m != nullptr) {
            mail* const next = m->next_;
            m->discard();
            m = next;
        }
    }

private:
    mail* take(bool close) noexcept {
        const std::lock_guard lock(mutex_);
        closed_ = closed_ || close;
        collector_sent_ = false;
        tail_ = &head_;
        return std::exchange(head_, nullptr);
    }

    std::mutex mutex_;
    mail* head_ = nullptr;
    mail** tail_ = &head_;
    bool collector_sent_ = false;
    bool closed_ = false;
};

}  // namespace redlock::detail
