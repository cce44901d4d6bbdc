/* The C interface on masters in memory: losses, refusals and long times, at once.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "kit/masters.h"

#include <pthread.h>

static redlock_masters* masters;
static redlock_client* client;

static void begin(void) {
    char* configuration;
    masters = redlock_masters_new(3);
    configuration = redlock_masters_configuration(masters);
    CHECK_IS(redlock_client_from_json(configuration, &client), REDLOCK_OK);
    redlock_text_free(configuration);
}

static void end(void) {
    redlock_client_free(client);
    redlock_masters_free(masters);
}

static redlock_lease* held(const char* resource) {
    redlock_lease* out = NULL;
    CHECK_IS(redlock_acquire(client, resource, NULL, &out), REDLOCK_OK);
    return out;
}

static void a_lease_is_renewed_for_hours(void) {
    redlock_lease* lease;
    uint64_t fence;
    begin();
    lease = held("hours");
    fence = redlock_lease_fence(lease);
    redlock_masters_advance(masters, 3 * 3600 * 1000);
    CHECK_IS(redlock_lease_valid(lease), 1);
    CHECK(redlock_lease_fence(lease) == fence);
    CHECK(!is_readable(redlock_lease_lost_fd(lease), 0));
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK(redlock_masters_holding(masters, "hours") == 0);
    end();
}

static void a_lease_that_others_take_is_lost(void) {
    redlock_lease* lease;
    begin();
    lease = held("taken");
    CHECK(!is_readable(redlock_lease_lost_fd(lease), 0));
    redlock_masters_occupy(masters, "taken", 60000);
    redlock_masters_advance(masters, 10000);
    CHECK(is_readable(redlock_lease_lost_fd(lease), 0));
    CHECK_IS(redlock_lease_valid(lease), 0);
    CHECK_IS(redlock_release(lease), REDLOCK_LOST);
    CHECK_HAS(redlock_last_error(), "taken: a quorum says");
    CHECK(redlock_masters_holding(masters, "taken") == 3); /* the other's keys */
    end();
}

struct call {
    redlock_lease* lease;
    char* text;
    int acquired;
    int inspected;
    char why[1000];
    volatile int is_over;
    pthread_mutex_t gate;
};

static int is_over(struct call* of) {
    int out;
    pthread_mutex_lock(&of->gate);
    out = of->is_over;
    pthread_mutex_unlock(&of->gate);
    return out;
}

static void* ask(void* of) {
    struct call* const self = of;
    self->acquired = redlock_acquire(client, "unreachable", NULL, &self->lease);
    strncpy(self->why, redlock_last_error_json(), sizeof self->why - 1);
    self->inspected = redlock_inspect(client, "unreachable", &self->text);
    pthread_mutex_lock(&self->gate);
    self->is_over = 1;
    pthread_mutex_unlock(&self->gate);
    return NULL;
}

static void too_few_nodes_are_named(void) {
    struct call call = {NULL, NULL, 0, 0, "", 0, PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    begin();
    redlock_masters_shut_down(masters, 0);
    redlock_masters_shut_down(masters, 2);
    CHECK_IS(pthread_create(&thread, NULL, ask, &call), 0);
    while (!is_over(&call)) redlock_masters_advance(masters, 10);
    pthread_join(thread, NULL);
    CHECK_IS(call.acquired, REDLOCK_NO_QUORUM);
    CHECK(call.lease == NULL);
    CHECK_HAS(call.why, "\"node\":\"node-2\",\"answer\":\"unreachable\"");
    CHECK_IS(call.inspected, REDLOCK_NO_QUORUM);
    CHECK_HAS(call.text, "\"name\":\"node-0\",\"state\":\"unreachable\"");
    CHECK(redlock_last_error()[0] == '\0'); /* errors are of the thread that made the call */
    redlock_text_free(call.text);
    end();
}

static const struct named_test tests[] = {
    {"a_lease_is_renewed_for_hours", a_lease_is_renewed_for_hours},
    {"a_lease_that_others_take_is_lost", a_lease_that_others_take_is_lost},
    {"too_few_nodes_are_named", too_few_nodes_are_named},
    {NULL, NULL}};

int main(int argc, char** argv) { return run_tests(tests, argc, argv); }
