// What other threads leave for the strand; knows nothing of what the messages mean.
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <utility>

namespace redlock::detail {

/// A message. Embedded in what it is about, so that leaving it allocates nothing; whoever leaves it
/// keeps it alive until `deliver` or `discard` was called.
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
    enum class outcome { queued, first, closed };

    /// `first`: nobody is on the way to collect; the caller has to send somebody. `closed`: nothing
    /// was kept, and the message was neither delivered nor discarded.
    outcome put(mail& m) noexcept {
        const std::lock_guard lock(mutex_);
        if (closed_) return outcome::closed;
        m.next_ = nullptr;
        *tail_ = &m;
        tail_ = &m.next_;
        return std::exchange(collected_, true) ? outcome::queued : outcome::first;
    }

    /// Delivers what is there, in order, and what is left meanwhile next time.
    void collect() {
        mail* m = take(false);
        while (m != nullptr) {
            mail* const next = m->next_;
            m->deliver();
            m = next;
        }
    }

    /// Takes no more, and discards what is there.
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
        collected_ = false;
        tail_ = &head_;
        return std::exchange(head_, nullptr);
    }

    std::mutex mutex_;
    mail* head_ = nullptr;
    mail** tail_ = &head_;
    bool collected_ = false;
    bool closed_ = false;
};

}  // namespace redlock::detail
