// Which names leave a shared build of the library, and which C++ it needs; knows nothing else.
// SPDX-License-Identifier: MIT
#pragma once

#if __cplusplus < 202002L
#error "redlock needs C++20: compile with -std=c++20 or later"
#endif

#if defined(__GNUC__)
#define REDLOCK_EXPORT [[gnu::visibility("default")]]
#else
#define REDLOCK_EXPORT
#endif
