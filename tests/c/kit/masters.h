/* The test kit's masters in memory for programs in C and Python: redlock/testing.hpp says what each does.
 * Part of no package.
 * SPDX-License-Identifier: MIT */
#ifndef REDLOCK_TESTS_C_KIT_MASTERS_H
#define REDLOCK_TESTS_C_KIT_MASTERS_H

#include <redlock/c.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct redlock_masters redlock_masters;

REDLOCK_C_EXPORT redlock_masters* redlock_masters_new(size_t nodes);
REDLOCK_C_EXPORT void redlock_masters_free(redlock_masters* masters);
/* A configuration that names them; the caller frees the text. */
REDLOCK_C_EXPORT char* redlock_masters_configuration(const redlock_masters* masters);
REDLOCK_C_EXPORT void redlock_masters_advance(redlock_masters* masters, int64_t ms);
REDLOCK_C_EXPORT void redlock_masters_shut_down(redlock_masters* masters, size_t node);
REDLOCK_C_EXPORT void redlock_masters_hang(redlock_masters* masters, size_t node);
REDLOCK_C_EXPORT void redlock_masters_resume(redlock_masters* masters, size_t node);
REDLOCK_C_EXPORT void redlock_masters_occupy(redlock_masters* masters, const char* resource,
                                             int64_t ttl_ms);
REDLOCK_C_EXPORT size_t redlock_masters_holding(const redlock_masters* masters,
                                                const char* resource);
REDLOCK_C_EXPORT size_t redlock_masters_waiting(const redlock_masters* masters,
                                                const char* resource);

#ifdef __cplusplus
}
#endif

#endif
