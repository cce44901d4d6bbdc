/* Each function of redlock/c.h from C, on real servers that REDLOCK_CONFIG names.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static redlock_options zeroed(void) {
    redlock_options out;
    memset(&out, 0, sizeof out);
    out.size = sizeof out;
    return out;
}

static redlock_client* connected(void) {
    redlock_client* out = NULL;
    CHECK_IS(redlock_client_from_environment(&out), REDLOCK_OK);
    return out;
}

static redlock_lease* held(redlock_client* client, const char* resource,
                           const redlock_options* options) {
    redlock_lease* out = NULL;
    CHECK_IS(redlock_acquire(client, resource, options, &out), REDLOCK_OK);
    return out;
}

/* Whether an inspection of the resource shows the text. */
static int shows(redlock_client* client, const char* resource, const char* part) {
    char* json = NULL;
    int found;
    CHECK_IS(redlock_inspect(client, resource, &json), REDLOCK_OK);
    found = json != NULL && strstr(json, part) != NULL;
    redlock_text_free(json);
    return found;
}

/* Until an inspection shows it; what hangs says what it saw. */
static void await(redlock_client* client, const char* resource, const char* part) {
    const time_t end = time(NULL) + 60;
    char* json = NULL;
    do {
        redlock_text_free(json);
        CHECK_IS(redlock_inspect(client, resource, &json), REDLOCK_OK);
    } while (json != NULL && strstr(json, part) == NULL && time(NULL) < end);
    CHECK_HAS(json, part);
    redlock_text_free(json);
}

static char* whole_file(const char* path) {
    char* out = calloc(1, 1 << 16);
    FILE* const file = fopen(path, "r");
    if (file != NULL) {
        const size_t size = fread(out, 1, (1 << 16) - 1, file);
        out[size] = '\0';
        fclose(file);
    }
    return out;
}

static void clients_are_made_of_a_text_a_file_and_the_environment(void) {
    const char* const path = getenv("REDLOCK_CONFIG");
    char* const json = whole_file(path);
    redlock_client* clients[3] = {NULL, NULL, NULL};
    int i;
    CHECK_IS(redlock_client_from_json(json, &clients[0]), REDLOCK_OK);
    CHECK_IS(redlock_client_from_file(path, &clients[1]), REDLOCK_OK);
    CHECK_IS(redlock_client_from_environment(&clients[2]), REDLOCK_OK);
    for (i = 0; i < 3; ++i) {
        CHECK_IS(redlock_release(held(clients[i], "made", NULL)), REDLOCK_OK);
        redlock_client_free(clients[i]);
    }
    free(json);
}

static void a_wrong_configuration_is_named_with_all_reasons(void) {
    redlock_client* client = (redlock_client*)&client;
    CHECK_IS(redlock_client_from_json("{\"nodes\": [\"redis://127.0.0.1\"], \"ttl_max\": 1, "
                                      "\"drift_min_ms\": -1}", &client),
             REDLOCK_CONFIG_INVALID);
    CHECK(client == NULL);
    CHECK_HAS(redlock_last_error(), "/ttl_max: is not known; did you mean \"ttl_max_ms\"?");
    CHECK_HAS(redlock_last_error(), "/drift_min_ms");
    CHECK_HAS(redlock_last_error_json(), "\"issues\":[{\"severity\":\"error\",\"where\":\"/");
    CHECK_HAS(redlock_last_error_json(), "\"value\":11");
    CHECK_IS(redlock_client_from_json("{", &client), REDLOCK_CONFIG_INVALID);
    CHECK_IS(redlock_client_from_file("/no/such/file.json", &client), REDLOCK_SYSTEM_ERROR);
    CHECK_HAS(redlock_last_error(), "/no/such/file.json");
}

static void a_lease_tells_what_it_is(void) {
    redlock_client* const client = connected();
    redlock_options how = zeroed();
    redlock_lease* lease;
    redlock_lease* next;
    uint64_t fence;
    int64_t left;
    how.ttl_ms = 20000;
    how.note = "in C";
    lease = held(client, "told", &how);
    fence = redlock_lease_fence(lease);
    left = redlock_lease_remaining(lease);
    CHECK(fence > 0);
    CHECK(left > 0 && left <= 20000);
    CHECK_IS(redlock_lease_valid(lease), 1);
    CHECK_IS(redlock_lease_slot(lease), 0);
    CHECK(shows(client, "told", "\"held\":true"));
    CHECK(shows(client, "told", "\"note\":\"in C\""));
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK(shows(client, "told", "\"held\":false"));
    next = held(client, "told", NULL);
    CHECK(redlock_lease_fence(next) > fence);
    redlock_lease_free(next);
    redlock_client_free(client);
}

static void contention_says_which_nodes_refused(void) {
    redlock_client* const client = connected();
    redlock_client* const other = connected();
    redlock_lease* const lease = held(client, "contended", NULL);
    redlock_lease* none = lease;
    redlock_options how = zeroed();
    CHECK_IS(redlock_acquire(other, "contended", NULL, &none), REDLOCK_CONTENDED);
    CHECK(none == NULL);
    CHECK_HAS(redlock_last_error(), "0 of 3 nodes granted, 2 needed");
    CHECK_HAS(redlock_last_error_json(), "\"answer\":\"held\"");
    CHECK_HAS(redlock_last_error_json(), "\"value\":1,");
    how.wait_ms = 50;
    CHECK_IS(redlock_acquire(other, "contended", &how, &none), REDLOCK_CONTENDED);
    how.wait_ms = REDLOCK_NO_WAIT;
    CHECK_IS(redlock_acquire(other, "contended", &how, &none), REDLOCK_CONTENDED);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK(redlock_last_error()[0] == '\0');
    how.wait_ms = REDLOCK_NO_LIMIT;
    CHECK_IS(redlock_acquire(other, "contended", &how, &none), REDLOCK_OK);
    CHECK_IS(redlock_release(none), REDLOCK_OK);
    redlock_client_free(other);
    redlock_client_free(client);
}

static void readers_and_slots_are_options(void) {
    redlock_client* const client = connected();
    redlock_options shared = zeroed();
    redlock_options slots = zeroed();
    redlock_lease* all[3] = {NULL, NULL, NULL};
    redlock_lease* permits;
    shared.shared = 1;
    all[0] = held(client, "read", &shared);
    all[1] = held(client, "read", &shared);
    CHECK_IS(redlock_acquire(client, "read", NULL, &all[2]), REDLOCK_CONTENDED);
    CHECK_IS(redlock_release(all[0]), REDLOCK_OK);
    CHECK_IS(redlock_release(all[1]), REDLOCK_OK);
    slots.slots = 2;
    all[0] = held(client, "slots", &slots);
    all[1] = held(client, "slots", &slots);
    CHECK(redlock_lease_slot(all[0]) + redlock_lease_slot(all[1]) == 1);
    CHECK_IS(redlock_acquire(client, "slots", &slots, &all[2]), REDLOCK_CONTENDED);
    slots.permits = 2;
    slots.slots = 3;
    permits = held(client, "permits", &slots);
    CHECK_IS(redlock_acquire(client, "permits", &slots, &all[2]), REDLOCK_CONTENDED);
    CHECK_IS(redlock_release(permits), REDLOCK_OK);
    slots.permits = 4;
    CHECK_IS(redlock_acquire(client, "permits", &slots, &all[2]), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "permits must be 1 to 3");
    redlock_lease_free(all[0]);
    redlock_lease_free(all[1]);
    redlock_client_free(client);
}

static void several_are_acquired_at_once(void) {
    redlock_client* const client = connected();
    const char* const names[] = {"a", "b", "c"};
    const char* const hole[] = {"a", NULL};
    const char* const twice[] = {"a", "a"};
    redlock_lease* lease = NULL;
    CHECK_IS(redlock_acquire_all(client, names, 3, NULL, &lease), REDLOCK_OK);
    CHECK(shows(client, "c", "\"held\":true"));
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK_IS(redlock_acquire_all(client, hole, 2, NULL, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "resources[1] is null");
    CHECK_IS(redlock_acquire_all(client, twice, 2, NULL, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_acquire_all(client, names, 0, NULL, &lease), REDLOCK_INVALID_ARGUMENT);
    redlock_client_free(client);
}

static void a_token_moves_a_lease_to_another_client(void) {
    redlock_client* const client = connected();
    redlock_client* const other = connected();
    redlock_options how = zeroed();
    redlock_lease* lease = held(client, "moved", NULL);
    redlock_lease* adopted = NULL;
    char token[512] = "";
    CHECK(strlen(redlock_lease_token(lease)) < sizeof token);
    strcpy(token, redlock_lease_token(lease));
    CHECK(strcmp(token, redlock_lease_token(lease)) == 0);
    redlock_lease_detach(lease);
    CHECK(shows(client, "moved", "\"held\":true"));
    CHECK_IS(redlock_release(held(other, "met", NULL)), REDLOCK_OK); /* it knows the nodes by then */
    how.no_renew = 1;
    CHECK_IS(redlock_adopt(other, token, &how, &adopted), REDLOCK_OK);
    CHECK_IS(redlock_release(adopted), REDLOCK_OK);
    CHECK_IS(redlock_adopt(other, token, NULL, &adopted), REDLOCK_NOT_HELD);
    CHECK_IS(redlock_adopt(other, "nonsense", NULL, &adopted), REDLOCK_INVALID_ARGUMENT);
    redlock_client_free(other);
    redlock_client_free(client);
}

/* Each long before its ttl is over. */
static void a_lease_is_lost_as_its_terms_say(void) {
    redlock_client* const client = connected();
    redlock_options how = zeroed();
    redlock_lease* lease;
    how.max_hold_ms = 300;
    lease = held(client, "limited", &how);
    CHECK(is_readable(redlock_lease_lost_fd(lease), 60000));
    CHECK_IS(redlock_lease_loss(lease), REDLOCK_LOSS_MAX_HOLD);
    CHECK_IS(redlock_release(lease), REDLOCK_LOST);
    how = zeroed();
    how.ttl_ms = 60000;
    how.no_renew = 1;
    how.loss_margin_ms = 59000;
    lease = held(client, "early", &how);
    CHECK(is_readable(redlock_lease_lost_fd(lease), 30000));
    CHECK_IS(redlock_lease_loss(lease), REDLOCK_LOSS_EXPIRED);
    CHECK_IS(redlock_release(lease), REDLOCK_LOST);
    redlock_client_free(client);
}

static void an_extension_has_bounds(void) {
    redlock_client* const client = connected();
    redlock_options how = zeroed();
    redlock_lease* lease;
    how.ttl_ms = 2000;
    how.no_renew = 1;
    lease = held(client, "extended", &how);
    CHECK_IS(redlock_extend(lease, 30000), REDLOCK_OK);
    CHECK(redlock_lease_remaining(lease) > 20000);
    CHECK_IS(redlock_extend(lease, 0), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "ttl_ms must be 1 to ttl_max_ms, which is 60000");
    CHECK_IS(redlock_extend(lease, 2), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "more than loss_margin_ms when the drift is taken off");
    CHECK_IS(redlock_extend(lease, INT64_MAX), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    redlock_client_free(client);
}

struct waiter {
    redlock_client* client;
    redlock_cancel* cancel;
    redlock_lease* lease;
    int number;
};

static void* wait_in_line(void* of) {
    struct waiter* const self = of;
    redlock_options how = zeroed();
    how.wait_ms = REDLOCK_NO_LIMIT;
    how.cancel = self->cancel;
    self->number = redlock_acquire(self->client, "cancelled", &how, &self->lease);
    return NULL;
}

static void another_thread_ends_a_wait(void) {
    struct waiter waits = {NULL, NULL, NULL, 0};
    redlock_client* const client = connected();
    redlock_lease* const lease = held(client, "cancelled", NULL);
    pthread_t thread;
    waits.client = connected();
    waits.cancel = redlock_cancel_new();
    CHECK(waits.cancel != NULL);
    CHECK_IS(pthread_create(&thread, NULL, wait_in_line, &waits), 0);
    await(client, "cancelled", "\"waiting\":1");
    redlock_cancel_request(waits.cancel);
    pthread_join(thread, NULL);
    CHECK_IS(waits.number, REDLOCK_CANCELLED);
    CHECK(waits.lease == NULL);
    await(client, "cancelled", "\"waiting\":0");
    wait_in_line(&waits); /* once requested it ends later calls, too */
    CHECK_IS(waits.number, REDLOCK_CANCELLED);
    CHECK_HAS(redlock_last_error(), "cancel");
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    redlock_cancel_free(waits.cancel);
    redlock_client_free(waits.client);
    redlock_client_free(client);
}

static redlock_pending* begun(redlock_client* client, const char* resource) {
    redlock_pending* out = NULL;
    redlock_options how = zeroed();
    how.wait_ms = REDLOCK_NO_LIMIT;
    CHECK_IS(redlock_begin_acquire(client, resource, &how, &out), REDLOCK_OK);
    return out;
}

static void an_acquire_is_begun_and_taken(void) {
    redlock_client* const client = connected();
    redlock_lease* lease = held(client, "begun", NULL);
    redlock_pending* waits = begun(client, "begun");
    const char* const names[] = {"begun", "begun too"};
    const char* const hole[] = {"a", NULL};
    int descriptor = redlock_pending_fd(waits);
    CHECK(descriptor >= 0 && redlock_pending_fd(waits) == descriptor);
    await(client, "begun", "\"waiting\":1");
    CHECK(!is_readable(descriptor, 0));
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK(is_readable(descriptor, 60000));
    CHECK_IS(redlock_pending_take(waits, NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_pending_take(waits, &lease), REDLOCK_OK);
    CHECK_IS(redlock_lease_valid(lease), 1);
    CHECK_IS(redlock_begin_acquire(client, "begun", NULL, &waits), REDLOCK_OK);
    CHECK(is_readable(redlock_pending_fd(waits), 60000));
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK_IS(redlock_pending_take(waits, &lease), REDLOCK_CONTENDED);
    CHECK(lease == NULL);
    CHECK_HAS(redlock_last_error_json(), "\"answer\":\"held\"");
    CHECK_IS(redlock_begin_acquire_all(client, names, 2, NULL, &waits), REDLOCK_OK);
    CHECK_IS(redlock_pending_take(waits, &lease), REDLOCK_OK); /* waits */
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK_IS(redlock_begin_acquire_all(client, hole, 2, NULL, &waits), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "resources[1] is null");
    CHECK(waits == NULL);
    redlock_client_free(client);
}

static void a_call_that_was_begun_can_be_dropped(void) {
    redlock_client* const client = connected();
    redlock_client* const other = connected();
    redlock_lease* lease = held(client, "dropped", NULL);
    redlock_pending* waits = begun(other, "dropped");
    redlock_options how = zeroed();
    await(client, "dropped", "\"waiting\":1");
    redlock_pending_cancel(waits);
    await(client, "dropped", "\"waiting\":0");
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    waits = begun(other, "dropped"); /* granted, and not taken */
    CHECK(is_readable(redlock_pending_fd(waits), 60000));
    redlock_pending_cancel(waits);
    await(client, "dropped", "\"held\":false");
    redlock_pending_cancel(NULL);
    how.cancel = redlock_cancel_new();
    CHECK_IS(redlock_begin_acquire(client, "dropped", &how, &waits), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "redlock_pending_cancel");
    redlock_cancel_free(how.cancel);
    /* The end of the client ends it; it outlives the client as an object. */
    lease = held(client, "dropped", NULL);
    waits = begun(other, "dropped");
    redlock_client_free(other);
    CHECK(is_readable(redlock_pending_fd(waits), 0));
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK_IS(redlock_pending_take(waits, &lease), REDLOCK_CLIENT_CLOSED);
    redlock_client_free(client);
}

static void one_queue_has_all_calls_that_are_over(void) {
    enum { many = 200 };
    redlock_client* const client = connected();
    redlock_queue* const queue = redlock_queue_new();
    redlock_pending* waits[many];
    redlock_pending* over;
    redlock_lease* lease = held(client, "queue", NULL);
    const int descriptor = redlock_queue_fd(queue);
    int i;
    CHECK(descriptor >= 0);
    for (i = 0; i < many; ++i) {
        waits[i] = begun(client, "queue");
        CHECK_IS(redlock_queue_add(queue, waits[i]), REDLOCK_OK);
    }
    CHECK(!is_readable(descriptor, 0));
    CHECK(redlock_queue_next(queue) == NULL);
    redlock_pending_cancel(waits[0]);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    for (i = 1; i < many; ++i) {
        CHECK(is_readable(descriptor, 60000));
        while ((over = redlock_queue_next(queue)) == NULL) is_readable(descriptor, 60000);
        CHECK(over != waits[0]);
        CHECK_IS(redlock_pending_take(over, &lease), REDLOCK_OK);
        CHECK_IS(redlock_release(lease), REDLOCK_OK);
    }
    CHECK(redlock_queue_next(queue) == NULL);
    CHECK(!is_readable(descriptor, 0));
    over = begun(client, "queue"); /* over before it is added, and not taken by the queue's end */
    CHECK(is_readable(redlock_pending_fd(over), 60000));
    CHECK_IS(redlock_queue_add(queue, over), REDLOCK_OK);
    CHECK(is_readable(descriptor, 0));
    redlock_queue_free(queue);
    CHECK_IS(redlock_pending_take(over, &lease), REDLOCK_OK);
    redlock_lease_free(lease);
    redlock_client_free(client);
}

static void closing_ends_a_wait_and_releases_leases(void) {
    struct waiter waits = {NULL, NULL, NULL, 0};
    redlock_client* const client = connected();
    redlock_client* const other = connected();
    redlock_lease* const lease = held(other, "cancelled", NULL);
    redlock_lease* const mine = held(client, "closed", NULL);
    int lost;
    pthread_t thread;
    waits.client = client;
    CHECK_IS(pthread_create(&thread, NULL, wait_in_line, &waits), 0);
    await(other, "cancelled", "\"waiting\":1");
    lost = redlock_lease_lost_fd(mine);
    CHECK_IS(redlock_client_close(client), REDLOCK_OK);
    pthread_join(thread, NULL);
    CHECK_IS(waits.number, REDLOCK_CLIENT_CLOSED);
    CHECK(is_readable(lost, 0));
    CHECK_IS(redlock_lease_valid(mine), 0);
    CHECK(shows(other, "closed", "\"held\":false"));
    CHECK_IS(redlock_acquire(client, "closed", NULL, &waits.lease), REDLOCK_CLIENT_CLOSED);
    CHECK_IS(redlock_release(mine), REDLOCK_CLIENT_CLOSED);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    redlock_client_free(client);
    redlock_client_free(other);
}

static void a_loss_makes_the_descriptor_readable(void) {
    redlock_client* const client = connected();
    redlock_options how = zeroed();
    redlock_lease* lease;
    int descriptor;
    how.ttl_ms = 300;
    how.no_renew = 1;
    lease = held(client, "lost", &how);
    descriptor = redlock_lease_lost_fd(lease);
    CHECK(descriptor >= 0);
    CHECK(redlock_lease_lost_fd(lease) == descriptor);
    CHECK((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(is_readable(descriptor, 60000));
    CHECK(is_readable(descriptor, 0)); /* it stays so */
    CHECK_IS(redlock_lease_valid(lease), 0);
    CHECK_IS(redlock_lease_loss(lease), REDLOCK_LOSS_EXPIRED);
    CHECK(redlock_lease_remaining(lease) == 0);
    CHECK_IS(redlock_extend(lease, 1000), REDLOCK_LOST);
    CHECK_IS(redlock_release(lease), REDLOCK_LOST);
    CHECK_HAS(redlock_last_error(), "expired");
    CHECK(fcntl(descriptor, F_GETFD) == -1); /* closed with the lease */
    redlock_client_free(client);
}

static void an_operator_takes_a_lock_and_a_watcher_sees_it(void) {
    redlock_client* const client = connected();
    redlock_client* const other = connected();
    redlock_cancel* const cancel = redlock_cancel_new();
    redlock_watch* watch = NULL;
    redlock_lease* lease = NULL;
    char* json = NULL;
    CHECK_IS(redlock_watch_new(client, "watched", &watch), REDLOCK_OK);
    CHECK_IS(redlock_watch_next(watch, NULL, &json), REDLOCK_OK);
    CHECK_HAS(json, "\"held\":false");
    redlock_text_free(json);
    lease = held(other, "watched", NULL);
    CHECK_IS(redlock_lease_loss(lease), REDLOCK_LOSS_NONE);
    CHECK_IS(redlock_watch_next(watch, NULL, &json), REDLOCK_OK);
    CHECK_HAS(json, "\"held\":true");
    redlock_text_free(json);
    CHECK_IS(redlock_revoke(client, "watched", &json), REDLOCK_OK);
    CHECK_HAS(json, "\"held\":false");
    CHECK_HAS(json, "\"answer\":\"granted\"");
    redlock_text_free(json);
    CHECK_IS(redlock_watch_next(watch, NULL, &json), REDLOCK_OK);
    CHECK_HAS(json, "\"held\":false");
    redlock_text_free(json);
    CHECK_IS(redlock_extend(lease, 2000), REDLOCK_NOT_HELD);
    CHECK_IS(redlock_lease_loss(lease), REDLOCK_LOSS_TAKEN);
    redlock_lease_free(lease);
    redlock_cancel_request(cancel);
    CHECK_IS(redlock_watch_next(watch, cancel, &json), REDLOCK_CANCELLED);
    CHECK(json == NULL);
    redlock_cancel_free(cancel);
    redlock_watch_free(watch);
    CHECK_IS(redlock_watch_new(client, "", &watch), REDLOCK_INVALID_ARGUMENT);
    redlock_client_free(other);
    redlock_client_free(client);
}

static void a_holder_becomes_a_reader(void) {
    redlock_client* const client = connected();
    redlock_options how = zeroed();
    redlock_lease* const lease = held(client, "downgraded", NULL);
    redlock_lease* reader = NULL;
    how.shared = 1;
    CHECK_IS(redlock_acquire(client, "downgraded", &how, &reader), REDLOCK_CONTENDED);
    CHECK_IS(redlock_downgrade(lease), REDLOCK_OK);
    CHECK_IS(redlock_acquire(client, "downgraded", &how, &reader), REDLOCK_OK);
    CHECK_IS(redlock_release(reader), REDLOCK_OK);
    CHECK(redlock_lease_token(lease) != NULL);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK_IS(redlock_downgrade(NULL), REDLOCK_INVALID_ARGUMENT);
    redlock_client_free(client);
}

static void statuses_have_names(void) {
    CHECK_HAS(redlock_status_name(REDLOCK_OK), "ok");
    CHECK_HAS(redlock_status_name(REDLOCK_CONTENDED), "contended");
    CHECK_HAS(redlock_status_name(REDLOCK_SYSTEM_ERROR), "system_error");
    CHECK_HAS(redlock_status_name(REDLOCK_BACKLOG), "backlog");
    CHECK_HAS(redlock_status_name(77), "unknown");
}

static void a_release_is_no_loss(void) {
    redlock_client* const client = connected();
    redlock_lease* const lease = held(client, "released", NULL);
    const int descriptor = dup(redlock_lease_lost_fd(lease));
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK(!is_readable(descriptor, 0));
    close(descriptor);
    redlock_client_free(client);
}

static void a_watchdog_needs_signs_of_life(void) {
    redlock_client* const client = connected();
    redlock_options how = zeroed();
    redlock_lease* lease;
    how.watchdog_ms = 300;
    lease = held(client, "watched", &how);
    redlock_lease_touch(lease);
    CHECK_IS(redlock_lease_valid(lease), 1);
    CHECK(is_readable(redlock_lease_lost_fd(lease), 60000));
    CHECK_IS(redlock_release(lease), REDLOCK_LOST);
    CHECK_HAS(redlock_last_error(), "stalled");
    redlock_client_free(client);
}

static void a_limit_says_when_to_try_again(void) {
    redlock_client* const client = connected();
    redlock_limiter* limiter = NULL;
    int64_t after = -1;
    redlock_cancel* const cancel = redlock_cancel_new();
    CHECK_IS(redlock_limiter_new(client, "limited", 2, 20000, &limiter), REDLOCK_OK);
    CHECK_IS(redlock_limiter_acquire(limiter, 0, NULL, &after), REDLOCK_OK);
    CHECK(after == 0);
    CHECK_IS(redlock_limiter_acquire(limiter, 0, NULL, NULL), REDLOCK_OK);
    CHECK_IS(redlock_limiter_acquire(limiter, 0, NULL, &after), REDLOCK_CONTENDED);
    CHECK(after > 1000 && after <= 21000); /* ms: it began just now */
    redlock_cancel_request(cancel);
    CHECK_IS(redlock_limiter_acquire(limiter, 1000, cancel, NULL), REDLOCK_CANCELLED);
    redlock_cancel_free(cancel);
    redlock_limiter_free(limiter);
    CHECK_IS(redlock_limiter_new(client, "costs", 5, 20000, &limiter), REDLOCK_OK);
    CHECK_IS(redlock_limiter_use(limiter, 4, 0, NULL, NULL), REDLOCK_OK);
    CHECK_IS(redlock_limiter_use(limiter, 2, 0, NULL, NULL), REDLOCK_CONTENDED);
    CHECK_IS(redlock_limiter_use(limiter, 6, 0, NULL, NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "a cost of 6");
    CHECK_IS(redlock_limiter_set(limiter, 6), REDLOCK_OK);
    CHECK_IS(redlock_limiter_use(limiter, 2, 0, NULL, NULL), REDLOCK_OK);
    CHECK_IS(redlock_limiter_set(limiter, 0), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_limiter_set(NULL, 1), REDLOCK_INVALID_ARGUMENT);
    redlock_limiter_free(limiter);
    CHECK_IS(redlock_limiter_new(client, "limited", 0, 20000, &limiter), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "1000");
    CHECK_IS(redlock_limiter_new(client, "limited", 1, 0, &limiter), REDLOCK_INVALID_ARGUMENT);
    CHECK(limiter == NULL);
    redlock_client_free(client);
}

static void nodes_and_locks_are_reported_as_text(void) {
    redlock_client* const client = connected();
    redlock_lease* const lease = held(client, "report:1", NULL);
    char* text = NULL;
    CHECK_IS(redlock_list(client, "report:", &text), REDLOCK_OK);
    CHECK_HAS(text, "[\"report:1\"]");
    redlock_text_free(text);
    CHECK_IS(redlock_list(client, NULL, &text), REDLOCK_OK);
    CHECK_HAS(text, "\"report:1\"");
    redlock_text_free(text);
    CHECK_IS(redlock_probe(client, &text), REDLOCK_OK);
    CHECK_HAS(text, "\"role\":\"master\"");
    CHECK_HAS(text, "\"findings\":[");
    redlock_text_free(text);
    CHECK_IS(redlock_stats(client, &text), REDLOCK_OK);
    CHECK_HAS(text, "\"granted\":1,");
    CHECK_HAS(text, "\"buckets\":[[50,");
    redlock_text_free(text);
    CHECK_IS(redlock_open_metrics(client, &text), REDLOCK_OK);
    CHECK_HAS(text, "redlock_");
    CHECK_HAS(text, "# EOF");
    redlock_text_free(text);
    CHECK_IS(redlock_prometheus_text(client, &text), REDLOCK_OK);
    CHECK_HAS(text, "# TYPE redlock_acquires_total counter");
    redlock_text_free(text);
    redlock_text_free(NULL);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK_HAS(redlock_version(), ".");
    redlock_client_free(client);
}

static void a_key_is_kept_after_its_release(void) {
    redlock_client* const client = connected();
    redlock_options how = zeroed();
    redlock_lease* lease = NULL;
    how.min_hold_ms = 50000;
    CHECK_IS(redlock_release(held(client, "kept", &how)), REDLOCK_OK);
    CHECK(shows(client, "kept", "\"kept\":true"));
    CHECK_IS(redlock_acquire(client, "kept", NULL, &lease), REDLOCK_CONTENDED);
    redlock_client_free(client);
}

/* Of the configuration that REDLOCK_CONFIG names, which has no defaults, with these. */
static redlock_client* connected_with(const char* defaults) {
    redlock_client* out = NULL;
    char* const json = whole_file(getenv("REDLOCK_CONFIG"));
    const size_t size = strlen(json) + strlen(defaults) + 32;
    char* const more = calloc(1, size);
    snprintf(more, size, "{\"defaults\": {%s},%s", defaults, strchr(json, '{') + 1);
    CHECK_IS(redlock_client_from_json(more, &out), REDLOCK_OK);
    free(more);
    free(json);
    return out;
}

static void no_wait_is_none_whatever_the_configuration_says(void) {
    redlock_client* const client = connected();
    redlock_client* const patient = connected_with("\"wait_ms\": 60000");
    redlock_lease* const lease = held(client, "patient", NULL);
    redlock_lease* none = NULL;
    redlock_options how = zeroed();
    redlock_pending* pending = NULL;
    how.wait_ms = REDLOCK_NO_WAIT;
    CHECK_IS(redlock_begin_acquire(patient, "patient", &how, &pending), REDLOCK_OK);
    CHECK(is_readable(redlock_pending_fd(pending), 30000)); /* long before the wait of the others */
    CHECK_IS(redlock_pending_take(pending, &none), REDLOCK_CONTENDED);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    redlock_client_free(patient);
    redlock_client_free(client);
}

static void is_far_from_its_end(redlock_client* client) {
    redlock_lease* const lease = held(client, "by file", NULL);
    CHECK(redlock_lease_remaining(lease) > 15000);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
}

static void waits_in_line(redlock_client* client) {
    redlock_client* const other = connected();
    redlock_lease* lease = held(other, "by file", NULL);
    redlock_pending* waits = NULL;
    CHECK_IS(redlock_begin_acquire(client, "by file", NULL, &waits), REDLOCK_OK);
    await(other, "by file", "\"waiting\":1");
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    CHECK_IS(redlock_pending_take(waits, &lease), REDLOCK_OK);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    redlock_client_free(other);
}

/* Why it is lost, long before a ttl of 30 s is over. */
static void is_lost(redlock_client* client, const redlock_options* how, int loss) {
    redlock_lease* const lease = held(client, "by file", how);
    CHECK(is_readable(redlock_lease_lost_fd(lease), 15000));
    CHECK_IS(redlock_lease_loss(lease), loss);
    CHECK_IS(redlock_release(lease), REDLOCK_LOST);
}

static void ends_with_a_short_ttl(redlock_client* client) {
    redlock_options how = zeroed();
    how.ttl_ms = 300;
    is_lost(client, &how, REDLOCK_LOSS_EXPIRED);
}

static void ends_with_its_hold(redlock_client* client) {
    is_lost(client, NULL, REDLOCK_LOSS_MAX_HOLD);
}

static void ends_before_its_margin(redlock_client* client) {
    redlock_options how = zeroed();
    how.no_renew = 1;
    is_lost(client, &how, REDLOCK_LOSS_EXPIRED);
}

/* tests/unit/config/schema_test.py misses a default of the schema that is not here. */
static const struct {
    const char* name;
    const char* value;
    void (*look)(redlock_client* client);
} defaults[] = {
    {"ttl_ms", "30000", is_far_from_its_end},
    {"wait_ms", "30000", waits_in_line},
    {"renew", "false", ends_with_a_short_ttl},
    {"max_hold_ms", "300", ends_with_its_hold},
    {"loss_margin_ms", "29400", ends_before_its_margin},
};

static void each_default_of_a_configuration_does_what_it_says(void) {
    size_t i;
    for (i = 0; i < sizeof defaults / sizeof defaults[0]; ++i) {
        char text[100];
        redlock_client* client;
        /* A margin has to leave something of the ttl that the configuration says. */
        const char* const ttl = strcmp(defaults[i].name, "ttl_ms") == 0 ? "" : "\"ttl_ms\": 30000, ";
        snprintf(text, sizeof text, "%s\"%s\": %s", ttl, defaults[i].name, defaults[i].value);
        client = connected_with(text);
        defaults[i].look(client);
        redlock_client_free(client);
    }
}

static void bad_options_are_named(void) {
    redlock_client* const client = connected();
    redlock_lease* lease = NULL;
    struct {
        redlock_options known;
        int64_t later;
    } newer;
    char longest[514];
    redlock_options how = zeroed();
    how.size = 0;
    CHECK_IS(redlock_acquire(client, "bad", &how, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "options.size must be sizeof(redlock_options)");
    how = zeroed();
    how.ttl_ms = 60001;
    CHECK_IS(redlock_acquire(client, "bad", &how, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "ttl_ms must be 1 to ttl_max_ms, which is 60000");
    how = zeroed();
    how.ttl_ms = INT64_MIN;
    CHECK_IS(redlock_acquire(client, "bad", &how, &lease), REDLOCK_INVALID_ARGUMENT);
    how = zeroed();
    how.wait_ms = -2;
    CHECK_IS(redlock_acquire(client, "bad", &how, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "wait_ms must be 0 or more");
    how = zeroed();
    how.watchdog_ms = -1;
    CHECK_IS(redlock_acquire(client, "bad", &how, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "watchdog_ms must be");
    how = zeroed();
    how.slots = 1001;
    CHECK_IS(redlock_acquire(client, "bad", &how, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "1000");
    how = zeroed();
    how.note = "\n";
    CHECK_IS(redlock_acquire(client, "bad", &how, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "note has a control character");
    memset(longest, 'r', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_IS(redlock_acquire(client, longest, NULL, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "512");
    /* A newer header: what this library lacks has to be zero. An older one: what it lacks is. */
    memset(&newer, 0, sizeof newer);
    newer.known.size = sizeof newer;
    CHECK_IS(redlock_acquire(client, "newer", &newer.known, &lease), REDLOCK_OK);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    newer.later = 1;
    CHECK_IS(redlock_acquire(client, "newer", &newer.known, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "this version of the library lacks");
    how = zeroed();
    how.size = sizeof(size_t) + sizeof(int64_t);
    how.ttl_ms = 5000;
    how.slots = 1001; /* behind its end */
    CHECK_IS(redlock_acquire(client, "older", &how, &lease), REDLOCK_OK);
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    redlock_client_free(client);
}

/* A program that was compiled with an earlier header has them where they were. */
static void options_stay_where_they_are(void) {
    const size_t word = sizeof(int64_t);
    CHECK(offsetof(redlock_options, size) == 0);
    CHECK(sizeof(size_t) != word || offsetof(redlock_options, ttl_ms) == word);
    CHECK(offsetof(redlock_options, wait_ms) == offsetof(redlock_options, ttl_ms) + word);
    CHECK(offsetof(redlock_options, max_hold_ms) == offsetof(redlock_options, wait_ms) + word);
    CHECK(offsetof(redlock_options, min_hold_ms) == offsetof(redlock_options, max_hold_ms) + word);
    CHECK(offsetof(redlock_options, loss_margin_ms) ==
          offsetof(redlock_options, min_hold_ms) + word);
    CHECK(offsetof(redlock_options, shared) == offsetof(redlock_options, loss_margin_ms) + word);
    CHECK(offsetof(redlock_options, no_renew) == offsetof(redlock_options, shared) + sizeof(int));
    CHECK(offsetof(redlock_options, slots) == offsetof(redlock_options, no_renew) + sizeof(int));
    CHECK(sizeof(void*) != word || offsetof(redlock_options, note) == 8 * word);
    CHECK(sizeof(void*) != word || offsetof(redlock_options, watchdog_ms) == 9 * word);
    CHECK(sizeof(void*) != word || offsetof(redlock_options, cancel) == 10 * word);
    CHECK(sizeof(void*) != word || offsetof(redlock_options, permits) == 11 * word);
}

static void null_pointers_are_refused(void) {
    redlock_client* const client = connected();
    redlock_lease* lease = NULL;
    redlock_limiter* limiter = NULL;
    char* text = NULL;
    CHECK_IS(redlock_client_from_json(NULL, NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_acquire(NULL, "r", NULL, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "client is null");
    CHECK_IS(redlock_acquire(client, NULL, NULL, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "resource is null");
    CHECK_IS(redlock_acquire(client, "r", NULL, NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_client_close(NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_extend(NULL, 1), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_release(NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_inspect(client, NULL, &text), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_inspect(client, "", &text), REDLOCK_INVALID_ARGUMENT);
    CHECK_HAS(redlock_last_error(), "the resource has no name");
    CHECK_IS(redlock_revoke(client, "", &text), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_watch_next(NULL, NULL, &text), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_stats(client, NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_limiter_new(client, NULL, 1, 1, &limiter), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_limiter_acquire(NULL, 0, NULL, NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_lease_lost_fd(NULL), -1);
    CHECK(redlock_lease_token(NULL) == NULL);
    CHECK_IS(redlock_lease_valid(NULL), 0);
    CHECK(redlock_lease_fence(NULL) == 0 && redlock_lease_remaining(NULL) == 0);
    CHECK_IS(redlock_begin_acquire(client, NULL, NULL, NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_pending_take(NULL, &lease), REDLOCK_INVALID_ARGUMENT);
    CHECK_IS(redlock_queue_add(NULL, NULL), REDLOCK_INVALID_ARGUMENT);
    CHECK(redlock_pending_fd(NULL) == -1 && redlock_queue_fd(NULL) == -1);
    CHECK(redlock_queue_next(NULL) == NULL);
    redlock_queue_free(NULL);
    redlock_lease_touch(NULL);
    redlock_lease_free(NULL);
    redlock_lease_detach(NULL);
    redlock_limiter_free(NULL);
    redlock_cancel_request(NULL);
    redlock_cancel_free(NULL);
    redlock_client_free(NULL);
    redlock_client_free(client);
}

static void leases_outlive_their_client(void) {
    redlock_client* const client = connected();
    redlock_client* const other = connected();
    redlock_lease* const lease = held(client, "outlives", NULL);
    redlock_client_free(client);
    CHECK_IS(redlock_lease_valid(lease), 0);
    CHECK_IS(redlock_lease_loss(lease), REDLOCK_LOSS_CLIENT_CLOSED);
    CHECK(shows(other, "outlives", "\"held\":false"));
    redlock_lease_free(lease);
    redlock_client_free(other);
}

static void a_child_process_leaves_the_lease_to_its_parent(void) {
    redlock_client* const client = connected();
    redlock_lease* lease = held(client, "forked", NULL);
    redlock_pending* const waits = begun(client, "forked");
    int status = -1;
    pid_t child;
    const int lost = redlock_lease_lost_fd(lease);
    CHECK(lost >= 0);
    child = fork();
    if (child == 0) {
        redlock_pending* mine = NULL;
        redlock_lease* none = NULL;
        failures = 0;
        CHECK_IS(redlock_pending_take(waits, &none), REDLOCK_CLIENT_CLOSED);
        CHECK_IS(redlock_begin_acquire(client, "forked", NULL, &mine), REDLOCK_OK);
        CHECK_IS(redlock_pending_take(mine, &none), REDLOCK_CLIENT_CLOSED);
        CHECK_IS(redlock_lease_valid(lease), 0);
        CHECK(is_readable(lost, 0));
        CHECK_IS(redlock_lease_lost_fd(lease), lost);
        CHECK_IS(redlock_extend(lease, 1000), REDLOCK_CLIENT_CLOSED);
        CHECK_IS(redlock_release(lease), REDLOCK_CLIENT_CLOSED);
        CHECK_IS(redlock_acquire(client, "forked", NULL, &lease), REDLOCK_CLIENT_CLOSED);
        redlock_client_free(client);
        _exit(failures == 0 ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_IS(status, 0);
    redlock_pending_cancel(waits);
    CHECK_IS(redlock_lease_valid(lease), 1);
    CHECK(shows(client, "forked", "\"held\":true"));
    CHECK(!is_readable(redlock_lease_lost_fd(lease), 0));
    CHECK_IS(redlock_release(lease), REDLOCK_OK);
    redlock_client_free(client);
}

static const struct named_test tests[] = {
    {"clients_are_made_of_a_text_a_file_and_the_environment",
     clients_are_made_of_a_text_a_file_and_the_environment},
    {"a_wrong_configuration_is_named_with_all_reasons",
     a_wrong_configuration_is_named_with_all_reasons},
    {"a_lease_tells_what_it_is", a_lease_tells_what_it_is},
    {"contention_says_which_nodes_refused", contention_says_which_nodes_refused},
    {"readers_and_slots_are_options", readers_and_slots_are_options},
    {"several_are_acquired_at_once", several_are_acquired_at_once},
    {"a_token_moves_a_lease_to_another_client", a_token_moves_a_lease_to_another_client},
    {"a_lease_is_lost_as_its_terms_say", a_lease_is_lost_as_its_terms_say},
    {"an_extension_has_bounds", an_extension_has_bounds},
    {"another_thread_ends_a_wait", another_thread_ends_a_wait},
    {"an_acquire_is_begun_and_taken", an_acquire_is_begun_and_taken},
    {"a_call_that_was_begun_can_be_dropped", a_call_that_was_begun_can_be_dropped},
    {"one_queue_has_all_calls_that_are_over", one_queue_has_all_calls_that_are_over},
    {"closing_ends_a_wait_and_releases_leases", closing_ends_a_wait_and_releases_leases},
    {"a_loss_makes_the_descriptor_readable", a_loss_makes_the_descriptor_readable},
    {"an_operator_takes_a_lock_and_a_watcher_sees_it",
     an_operator_takes_a_lock_and_a_watcher_sees_it},
    {"a_holder_becomes_a_reader", a_holder_becomes_a_reader},
    {"statuses_have_names", statuses_have_names},
    {"a_release_is_no_loss", a_release_is_no_loss},
    {"a_watchdog_needs_signs_of_life", a_watchdog_needs_signs_of_life},
    {"a_limit_says_when_to_try_again", a_limit_says_when_to_try_again},
    {"nodes_and_locks_are_reported_as_text", nodes_and_locks_are_reported_as_text},
    {"a_key_is_kept_after_its_release", a_key_is_kept_after_its_release},
    {"no_wait_is_none_whatever_the_configuration_says",
     no_wait_is_none_whatever_the_configuration_says},
    {"each_default_of_a_configuration_does_what_it_says",
     each_default_of_a_configuration_does_what_it_says},
    {"bad_options_are_named", bad_options_are_named},
    {"options_stay_where_they_are", options_stay_where_they_are},
    {"null_pointers_are_refused", null_pointers_are_refused},
    {"leases_outlive_their_client", leases_outlive_their_client},
    {"a_child_process_leaves_the_lease_to_its_parent",
     a_child_process_leaves_the_lease_to_its_parent},
    {NULL, NULL}};

int main(int argc, char** argv) { return run_tests(tests, argc, argv); }
