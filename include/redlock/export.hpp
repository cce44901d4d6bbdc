// Which names leave a shared build of the library; knows nothing else.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__GNUC__)
#define REDLOCK_EXPORT __attribute__((visibility("default")))
#else
#define REDLOCK_EXPORT
#endif
