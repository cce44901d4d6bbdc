/* Checks for tests in C: a test that fails says where and why, and goes on to its end.
 * SPDX-License-Identifier: MIT */
#ifndef REDLOCK_TESTS_C_CHECK_H
#define REDLOCK_TESTS_C_CHECK_H

#include <redlock/c.h>

#include <stdio.h>
#include <string.h>

extern int failures;

#define CHECK(what)                                                          \
    do {                                                                     \
        if (!(what)) {                                                       \
            ++failures;                                                      \
            fprintf(stderr, "%s:%d: not true: %s; last error: %s\n",         \
                    __FILE__, __LINE__, #what, redlock_last_error());        \
        }                                                                    \
    } while (0)

/* The number that a call returned, which the message shows. */
#define CHECK_IS(call, wanted)                                               \
    do {                                                                     \
        const int got_ = (call);                                             \
        if (got_ != (wanted)) {                                              \
            ++failures;                                                      \
            fprintf(stderr, "%s:%d: %s is %d, not %d; last error: %s\n",     \
                    __FILE__, __LINE__, #call, got_, (int)(wanted),          \
                    redlock_last_error());                                   \
        }                                                                    \
    } while (0)

#define CHECK_HAS(text, part)                                                \
    do {                                                                     \
        const char* const text_ = (text);                                    \
        if (text_ == NULL || strstr(text_, (part)) == NULL) {                \
            ++failures;                                                      \
            fprintf(stderr, "%s:%d: no '%s' in: %s\n", __FILE__, __LINE__,   \
                    (part), text_ == NULL ? "(null)" : text_);               \
        }                                                                    \
    } while (0)

/* Whether a descriptor is readable within so many milliseconds. */
int is_readable(int descriptor, int within_ms);

struct named_test {
    const char* name;
    void (*run)(void);
};

/* Runs all up to the one without a name, or those whose names are given. The status of main. */
int run_tests(const struct named_test* tests, int argc, char** argv);

#endif
