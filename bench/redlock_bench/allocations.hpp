// How often the calling thread has allocated memory; knows nothing of what for.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace bench {

/// Calls of malloc, calloc, realloc and aligned_alloc by this thread so far, and with them all of
/// operator new. The program's own malloc counts and hands on to the one of glibc.
std::uint64_t allocations() noexcept;

}  // namespace bench
