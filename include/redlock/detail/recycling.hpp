// Memory of locks that are over, kept for the next ones; knows nothing of what lies in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/export.hpp>

#include <cstddef>
#include <new>

namespace redlock::detail {

/// As `operator new` and the sized `operator delete`, from any thread. What is given back is kept
/// by the thread that gives it, up to 512 KiB of each size, for what it asks for next, and freed
/// when the thread ends: an acquire and a release of a lock need a dozen blocks, whose sizes are
/// the same each time, and more of them are under way at once than the caches of most allocators
/// are for. A library that is built with a sanitizer keeps nothing, so that each use of freed
/// memory is seen.
REDLOCK_EXPORT void* take_memory(std::size_t bytes);
REDLOCK_EXPORT void give_memory(void* memory, std::size_t bytes) noexcept;

/// A base of what is allocated by `new` for each operation.
class recycled {
public:
    static void* operator new(std::size_t bytes) { return take_memory(bytes); }
    static void operator delete(void* memory, std::size_t bytes) noexcept {
        give_memory(memory, bytes);
    }

protected:
    ~recycled() = default;
};

/// The same as an allocator.
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
    bool operator==(const recycling_memory<U>&) const noexcept {
        return true;
    }
};

}  // namespace redlock::detail
