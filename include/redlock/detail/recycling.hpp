// Memory blocks of ended operations, kept for the next ones; knows nothing of their content.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <cstddef>
#include <new>

namespace redlock::detail {

/// Larger blocks are not kept. An acquire has all it needs in one object.
inline constexpr std::size_t largest_recycled = 2'048;

/// As `operator new` and the sized `operator delete`, from any thread. The thread that gives a
/// block back keeps it for its own next requests, up to 512 KiB of each size, and frees it when
/// the thread ends. Reason: an acquire and a release need a dozen blocks of the same sizes each
/// time, and more of them are in use at once than the caches of most allocators hold. A library
/// that is built with a sanitizer keeps no blocks, so that the sanitizer detects every use of
/// freed memory.
REDLOCK_EXPORT void* take_memory(std::size_t bytes);
REDLOCK_EXPORT void give_memory(void* memory, std::size_t bytes) noexcept;

/// Base class of objects that `new` allocates for each operation.
class recycled {
public:
    static void* operator new(std::size_t bytes) { return take_memory(bytes); }
    static void operator delete(void* memory, std::size_t bytes) noexcept {
        give_memory(memory, bytes);
    }

protected:
    ~recycled() = default;
};

/// The same memory as an allocator.
template <class T>
class recycling_memory {
public:
    using value_type = T;

    recycling_memory() = default;
    template <class U>
    recycling_memory(const recycling_memory<U>&) noexcept {}

    T* allocate(std::size_t n) {
        if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(alignof(T))));
        } else {
            return static_cast<T*>(take_memory(n * sizeof(T)));
        }
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            ::operator delete(memory, std::align_val_t(alignof(T)));
        } else {
            give_memory(memory, n * sizeof(T));
        }
    }

    template <class U>
    bool operator==(const recycling_memory<U>&) const noexcept { return true; }
};

}  // namespace redlock::detail
