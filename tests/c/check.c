/* Runs tests in C and counts what failed.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <poll.h>

int failures = 0;

int is_readable(int descriptor, int within_ms) {
    struct pollfd one;
    one.fd = descriptor;
    one.events = POLLIN;
    one.revents = 0;
    return poll(&one, 1, within_ms) == 1 && (one.revents & POLLIN) != 0;
}

static int is_wanted(const char* name, int argc, char** argv) {
    int i;
    for (i = 1; i < argc; ++i) {
        if (strcmp(argv[i], name) == 0) return 1;
    }
    return argc < 2;
}

int run_tests(const struct named_test* tests, int argc, char** argv) {
    int ran = 0;
    for (; tests->name != NULL; ++tests) {
        const int before = failures;
        if (!is_wanted(tests->name, argc, argv)) continue;
        ++ran;
        tests->run();
        printf("%s %s\n", failures == before ? "passed" : "FAILED", tests->name);
        fflush(stdout);
    }
    printf("%d tests, %d failures\n", ran, failures);
    return ran == 0 || failures != 0 ? 1 : 0;
}
