/* A program in C that takes a lock on the nodes of its environment; without nodes it is refused.
 * SPDX-License-Identifier: MIT */
#include <redlock/c.h>

#include <stdio.h>

int main(void) {
    redlock_client* client = NULL;
    redlock_lease* lease = NULL;
    redlock_options how = {0};
    how.size = sizeof how;
    how.ttl_ms = 5000;
    if (redlock_client_from_environment(&client) != REDLOCK_OK) {
        printf("no client: %s\n", redlock_last_error());
        return 1;
    }
    if (redlock_acquire(client, "consumer", &how, &lease) != REDLOCK_OK) {
        printf("no lease: %s\n", redlock_last_error());
        redlock_client_free(client);
        return 1;
    }
    printf("redlock %s: fence %llu\n", redlock_version(),
           (unsigned long long)redlock_lease_fence(lease));
    if (redlock_release(lease) != REDLOCK_OK) printf("%s\n", redlock_last_error());
    redlock_client_free(client);
    return 0;
}
