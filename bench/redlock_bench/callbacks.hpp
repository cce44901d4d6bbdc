// A worker that acquires and releases by callbacks that need no memory; knows no server.
// SPDX-License-Identifier: MIT
#pragma once

#include "setting.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <new>
#include <string>

namespace bench {

/// Memory for the few handlers that one worker has under way at once. What does not fit is
/// allocated as everywhere, and so counts.
class handler_memory {
public:
    void* allocate(std::size_t bytes) {
        for (block& b : blocks_) {
            if (b.used || bytes > sizeof b.bytes) continue;
            b.used = true;
            return b.bytes.data();
        }
        return ::operator new(bytes);
    }
    void deallocate(void* memory) noexcept {
        for (block& b : blocks_) {
            if (memory != b.bytes.data()) continue;
            b.used = false;
            return;
        }
        ::operator delete(memory);
    }

private:
    struct block {
        alignas(std::max_align_t) std::array<std::byte, 512> bytes;
        bool used = false;
    };
    std::array<block, 4> blocks_;
};

/// How a handler says that its worker has memory for it.
template <class T>
class handler_allocator {
public:
    using value_type = T;

    explicit handler_allocator(handler_memory& from) noexcept : from_(&from) {}
    template <class U>
    handler_allocator(const handler_allocator<U>& other) noexcept : from_(other.from_) {}

    T* allocate(std::size_t count) { return static_cast<T*>(from_->allocate(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t) noexcept { from_->deallocate(memory); }
    template <class U>
    bool operator==(const handler_allocator<U>& other) const noexcept {
        return from_ == other.from_;
    }

private:
    template <class U>
    friend class handler_allocator;
    handler_memory* from_;
};

/// Acquires and releases its resource until the time is over. Stays where it is.
class callback_worker {
public:
    callback_worker(redlock::client& client, std::string resource, redlock::clock::time_point until,
                    measured& total, std::function<void()> when_over);
    callback_worker(const callback_worker&) = delete;
    callback_worker& operator=(const callback_worker&) = delete;

    void acquire();

private:
    class handler;

    void on_acquired(redlock::error_code refused, redlock::lease held);
    void on_released(redlock::error_code refused);

    redlock::client* client_;
    std::string resource_;
    redlock::clock::time_point until_;
    measured* total_;
    std::function<void()> when_over_;
    handler_memory memory_;
};

}  // namespace bench
