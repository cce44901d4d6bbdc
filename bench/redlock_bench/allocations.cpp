// The counting malloc of the benchmark; not for builds with a sanitizer, which brings its own.
// SPDX-License-Identifier: MIT
#include "allocations.hpp"

#include <cstddef>

namespace {

thread_local std::uint64_t calls = 0;

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t items, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
    ++calls;
    return __libc_malloc(bytes);
}

void* calloc(std::size_t items, std::size_t bytes) {
    ++calls;
    return __libc_calloc(items, bytes);
}

void* realloc(void* old, std::size_t bytes) {
    ++calls;
    return __libc_realloc(old, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    ++calls;
    return __libc_memalign(alignment, bytes);
}

}  // extern "C"

namespace bench {

std::uint64_t allocations() noexcept { return calls; }

}  // namespace bench
