// Memory that operations of a kind use again and again.
// SPDX-License-Identifier: MIT
#include "value/memory.hpp"

#include <array>
#include <cassert>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_HWADDRESS__) || defined(__SANITIZE_THREAD__)
#define REDLOCK_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(hwaddress_sanitizer) || \
    __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define REDLOCK_IS_SANITIZED 1
#endif
#endif

namespace redlock::detail {

namespace {

#ifdef REDLOCK_IS_SANITIZED
constexpr bool keeps = false;
#else
constexpr bool keeps = true;
#endif
constexpr std::size_t grain = 16;  // of malloc, so that a lease takes no more than it needs
// Of each size: another thread's blocks that end here, and are not reused, displace no others.
constexpr std::size_t most_kept = 512U << 10;

struct block {
    block* next;
};

/// The blocks that one thread keeps, by size. Trivial, so that it may be used also after the
/// thread's other objects are destroyed.
struct store {
    struct pile {
        block* top;
        std::size_t bytes;  // of all its blocks: at most `most_kept`
    };
    std::array<pile, largest_recycled / grain> piles;  // at the index: of `size_in` it
    bool is_open;  // until the thread ends; else nothing is kept any more
};
constinit thread_local store here{};

/// Opens the thread's store, and ends it with the thread.
struct keeper {
    keeper() noexcept { here.is_open = true; }
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;
    ~keeper() {
        here.is_open = false;
        for (auto& [top, bytes] : here.piles) {
            while (top != nullptr) ::operator delete(std::exchange(top, top->next));
        }
    }
};

bool is_open() noexcept {
    if (!here.is_open) static thread_local const keeper opened_once;
    return here.is_open;
}

constexpr std::size_t index_of(std::size_t bytes) noexcept { return (bytes - 1) / grain; }
constexpr std::size_t size_in(std::size_t index) noexcept { return (index + 1) * grain; }

}  // namespace

void* take_memory(std::size_t bytes) {
    assert(bytes > 0);
    const std::size_t index = index_of(bytes);
    if (!keeps || index >= here.piles.size()) return ::operator new(bytes);
    auto& pile = here.piles[index];
    if (pile.top == nullptr) return ::operator new(size_in(index));
    assert(pile.bytes >= size_in(index));
    pile.bytes -= size_in(index);
    return std::exchange(pile.top, pile.top->next);
}

void give_memory(void* memory, std::size_t bytes) noexcept {
    assert(memory != nullptr && bytes > 0);
    const std::size_t index = index_of(bytes);
    if (!keeps || index >= here.piles.size()) return ::operator delete(memory);
    auto& pile = here.piles[index];
    if (pile.bytes + size_in(index) > most_kept || !is_open()) return ::operator delete(memory);
    pile.top = ::new (memory) block{pile.top};
    pile.bytes += size_in(index);
}

}  // namespace redlock::detail
