/* What each function of redlock/c.h returns in each situation, on masters in memory.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "kit/masters.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds of the masters' clock. Late answers come after one or two times `lateness`: after a
 * short ttl, and too late for a limit of so long a period; but before the node is given up. */
enum { ttl = 20000, short_ttl = 1000, lateness = 2000, node_timeout = 5000, period = 58000 };

enum { nodes = 3, quorum = 2, step = 50, most_steps = 60 };

enum state { begins, goes_on, is_over };

/* A client that holds "held", and what it may call. */
struct scene {
    redlock_masters* masters;
    redlock_client* client;
    redlock_cancel* cancel;
    redlock_lease* lease;
    char token[512]; /* of another lease that it had */
    redlock_limiter* limiter;
    redlock_watch* watch;
    redlock_queue* queue;
    redlock_options how;
    int is_late;
    /* What a call leaves behind. */
    redlock_lease* out;
    redlock_pending* pending;
    char* text;
    /* The call in the other thread. */
    int (*call)(struct scene*);
    int number;
    enum state state;
    pthread_mutex_t gate;
    pthread_cond_t changed;
};

/* One call of each function. tests/c/statuses knows these by what they return. */

static int acquire(struct scene* s) {
    return redlock_acquire(s->client, "wanted", &s->how, &s->out);
}

static int acquire_all(struct scene* s) {
    static const char* const names[] = {"wanted", "wanted too"};
    return redlock_acquire_all(s->client, names, 2, &s->how, &s->out);
}

static int adopt(struct scene* s) {
    return redlock_adopt(s->client, s->token, &s->how, &s->out);
}

static int extend(struct scene* s) {
    return redlock_extend(s->lease, s->how.ttl_ms);
}

static int downgrade(struct scene* s) {
    return redlock_downgrade(s->lease);
}

static int release(struct scene* s) {
    redlock_lease* const gone = s->lease;
    s->lease = NULL;
    return redlock_release(gone);
}

static int limiter_acquire(struct scene* s) {
    return redlock_limiter_acquire(s->limiter, 0, s->cancel, NULL);
}

static int limiter_use(struct scene* s) {
    return redlock_limiter_use(s->limiter, 1, 0, s->cancel, NULL);
}

static int limiter_set(struct scene* s) {
    return redlock_limiter_set(s->limiter, 2);
}

static void begin(struct scene* s) {
    redlock_options how = s->how;
    how.cancel = NULL;
    CHECK_IS(redlock_begin_acquire(s->client, "wanted", &how, &s->pending), REDLOCK_OK);
}

static int pending_take(struct scene* s) {
    redlock_pending* pending;
    begin(s);
    pending = s->pending;
    s->pending = NULL;
    return redlock_pending_take(pending, &s->out);
}

static int queue_add(struct scene* s) {
    begin(s);
    return redlock_queue_add(s->queue, s->pending);
}

static int inspect(struct scene* s) {
    return redlock_inspect(s->client, "held", &s->text);
}

static int watch_next(struct scene* s) {
    return redlock_watch_next(s->watch, s->cancel, &s->text);
}

static int revoke(struct scene* s) {
    return redlock_revoke(s->client, "held", &s->text);
}

static int list(struct scene* s) {
    return redlock_list(s->client, NULL, &s->text);
}

static int probe(struct scene* s) {
    return redlock_probe(s->client, &s->text);
}

static int client_close(struct scene* s) {
    return redlock_client_close(s->client);
}

enum situation { taken, lost, closed, too_few, late, cancelled, in_child, situations };

static const char* const names[situations] = {"taken",     "lost",     "closed", "too few", "late",
                                              "cancelled", "in a child"};

#define ROW(call, ...) {#call, call, {__VA_ARGS__}}

/* In the order of the situations. A watcher without a quorum waits until it is cancelled. */
static const struct row {
    const char* name;
    int (*call)(struct scene*);
    int returns[situations];
} rows[] = {
    ROW(acquire, REDLOCK_CONTENDED, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_VALIDITY_EXHAUSTED, REDLOCK_CANCELLED, REDLOCK_CLIENT_CLOSED),
    ROW(acquire_all, REDLOCK_CONTENDED, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_VALIDITY_EXHAUSTED, REDLOCK_CANCELLED, REDLOCK_CLIENT_CLOSED),
    ROW(adopt, REDLOCK_NOT_HELD, REDLOCK_NOT_HELD, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_VALIDITY_EXHAUSTED, REDLOCK_CANCELLED, REDLOCK_CLIENT_CLOSED),
    ROW(extend, REDLOCK_NOT_HELD, REDLOCK_LOST, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_VALIDITY_EXHAUSTED, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(downgrade, REDLOCK_NOT_HELD, REDLOCK_LOST, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_VALIDITY_EXHAUSTED, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(release, REDLOCK_LOST, REDLOCK_LOST, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(limiter_acquire, REDLOCK_CONTENDED, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_VALIDITY_EXHAUSTED, REDLOCK_CANCELLED, REDLOCK_CLIENT_CLOSED),
    ROW(limiter_use, REDLOCK_CONTENDED, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_VALIDITY_EXHAUSTED, REDLOCK_CANCELLED, REDLOCK_CLIENT_CLOSED),
    ROW(limiter_set, REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(pending_take, REDLOCK_CONTENDED, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_VALIDITY_EXHAUSTED, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(queue_add, REDLOCK_OK, REDLOCK_OK, REDLOCK_OK, REDLOCK_OK,
        REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(inspect, REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(watch_next, REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_CANCELLED,
        REDLOCK_OK, REDLOCK_CANCELLED, REDLOCK_CLIENT_CLOSED),
    ROW(revoke, REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(list, REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_NO_QUORUM,
        REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(probe, REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED, REDLOCK_OK,
        REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED),
    ROW(client_close, REDLOCK_OK, REDLOCK_OK, REDLOCK_OK, REDLOCK_NO_QUORUM,
        REDLOCK_OK, REDLOCK_OK, REDLOCK_CLIENT_CLOSED)};

static void set_up(struct scene* s) {
    char text[400] = "";
    char* plain;
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->gate, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->masters = redlock_masters_new(nodes);
    plain = redlock_masters_configuration(s->masters);
    snprintf(text, sizeof text, "{\"node_timeout_ms\": %d, %s", node_timeout, plain + 1);
    redlock_text_free(plain);
    CHECK_IS(redlock_client_from_json(text, &s->client), REDLOCK_OK);
    s->how.size = sizeof s->how;
    s->how.ttl_ms = ttl;
    s->how.no_renew = 1;
    CHECK_IS(redlock_acquire(s->client, "moved", &s->how, &s->lease), REDLOCK_OK);
    strncpy(s->token, redlock_lease_token(s->lease), sizeof s->token - 1);
    redlock_lease_detach(s->lease);
    CHECK_IS(redlock_acquire(s->client, "held", &s->how, &s->lease), REDLOCK_OK);
    CHECK_IS(redlock_limiter_new(s->client, "limited", 1, period, &s->limiter), REDLOCK_OK);
    CHECK_IS(redlock_watch_new(s->client, "held", &s->watch), REDLOCK_OK);
    s->queue = redlock_queue_new();
    s->cancel = redlock_cancel_new();
    s->how.cancel = s->cancel;
}

static void hang_all(struct scene* s) {
    size_t i;
    redlock_masters_advance(s->masters, 0);
    for (i = 0; i < nodes; ++i) redlock_masters_hang(s->masters, i);
    s->is_late = 1;
}

static void arrange(struct scene* s, enum situation what) {
    switch (what) {
        case taken:
            redlock_masters_occupy(s->masters, "held", ttl);
            redlock_masters_occupy(s->masters, "moved", ttl);
            redlock_masters_occupy(s->masters, "wanted", ttl);
            CHECK_IS(redlock_limiter_acquire(s->limiter, 0, NULL, NULL), REDLOCK_OK);
            break;
        case lost:
            redlock_masters_advance(s->masters, 2 * ttl);
            break;
        case closed:
            CHECK_IS(redlock_client_close(s->client), REDLOCK_OK);
            break;
        case too_few:
            redlock_masters_shut_down(s->masters, 0);
            redlock_masters_shut_down(s->masters, 2);
            break;
        case late:
            /* It has a short ttl from now on, and is valid for as long as it was. */
            s->how.ttl_ms = short_ttl;
            CHECK_IS(redlock_extend(s->lease, short_ttl), REDLOCK_OK);
            hang_all(s);
            break;
        case cancelled:
            redlock_cancel_request(s->cancel);
            break;
        case in_child:
        case situations: break;
    }
    redlock_masters_advance(s->masters, 0);
}

static void change(struct scene* s, enum state to) {
    pthread_mutex_lock(&s->gate);
    s->state = to;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->gate);
}

/* Gives the call a few real milliseconds in which to go on. */
static enum state look(struct scene* s) {
    struct timespec until;
    enum state out;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 5000000;
    if (until.tv_nsec >= 1000000000) {
        ++until.tv_sec;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&s->gate);
    if (s->state != is_over) pthread_cond_timedwait(&s->changed, &s->gate, &until);
    out = s->state;
    pthread_mutex_unlock(&s->gate);
    return out;
}

static void* run_call(void* of) {
    struct scene* const s = of;
    change(s, goes_on);
    s->number = s->call(s);
    change(s, is_over);
    return NULL;
}

/* How many the client has sent. */
static long commands(const struct scene* s) {
    static const char name[] = "\"commands\":";
    char* json = NULL;
    long out;
    CHECK_IS(redlock_stats(s->client, &json), REDLOCK_OK);
    out = strtol(strstr(json, name) + strlen(name), NULL, 10);
    redlock_text_free(json);
    return out;
}

/* Calls in another thread, and moves the clock until it has returned. */
static int perform(struct scene* s, int (*call)(struct scene*)) {
    const long before = commands(s);
    pthread_t thread;
    enum state state;
    int steps;
    s->call = call;
    s->state = begins;
    CHECK_IS(pthread_create(&thread, NULL, run_call, s), 0);
    while ((state = look(s)) == begins) continue;
    /* What is sent after the clock moved would be in time. */
    while (s->is_late && state != is_over && commands(s) == before) state = look(s);
    for (steps = 0; state != is_over; ++steps) {
        if (steps == most_steps) redlock_cancel_request(s->cancel);
        redlock_masters_advance(s->masters, s->is_late ? lateness : step);
        /* One at a time, and one never: what is sent to it before it hangs again finds no quorum
         * that answers in time. */
        if (s->is_late) {
            redlock_masters_resume(s->masters, (size_t)steps % quorum);
            redlock_masters_hang(s->masters, (size_t)steps % quorum);
        }
        state = look(s);
    }
    pthread_join(thread, NULL);
    return s->number;
}

static int perform_in_child(struct scene* s, int (*call)(struct scene*)) {
    enum { above = 100 }; /* a status of a process is not negative */
    int status = -1;
    const pid_t child = fork();
    if (child == 0) _exit(call(s) + above);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status) - above;
}

static void tear_down(struct scene* s) {
    size_t i;
    for (i = 0; i < nodes; ++i) redlock_masters_resume(s->masters, i);
    s->is_late = 0;
    perform(s, client_close); /* which may wait for the clock */
    redlock_pending_cancel(s->pending);
    redlock_lease_free(s->lease);
    redlock_lease_free(s->out);
    redlock_text_free(s->text);
    redlock_limiter_free(s->limiter);
    redlock_watch_free(s->watch);
    redlock_queue_free(s->queue);
    redlock_cancel_free(s->cancel);
    redlock_client_free(s->client);
    redlock_masters_free(s->masters);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->gate);
}

static void each_function_returns_what_the_situation_says(void) {
    struct scene s;
    size_t i;
    int what;
    int got;
    for (i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (what = 0; what < situations; ++what) {
            set_up(&s);
            arrange(&s, (enum situation)what);
            got = what == in_child ? perform_in_child(&s, rows[i].call) : perform(&s, rows[i].call);
            if (got != rows[i].returns[what]) {
                ++failures;
                fprintf(stderr, "%s, %s: %s, not %s\n", rows[i].name, names[what],
                        redlock_status_name(got), redlock_status_name(rows[i].returns[what]));
            }
            tear_down(&s);
        }
    }
}

/* No loss: it was valid when its holder let go of it. */
static void a_lease_that_ends_during_its_release_is_not_held(void) {
    struct scene s;
    set_up(&s);
    redlock_masters_advance(s.masters, redlock_lease_remaining(s.lease) - lateness / 2);
    hang_all(&s);
    CHECK_IS(perform(&s, release), REDLOCK_NOT_HELD);
    tear_down(&s);
}

static void a_configuration_is_refused_wherever_it_comes_from(void) {
    redlock_client* client = NULL;
    struct rlimit before;
    struct rlimit none;
    CHECK_IS(redlock_client_from_file("/dev/null", &client), REDLOCK_CONFIG_INVALID);
    setenv("REDLOCK_CONFIG", "/dev/null", 1);
    CHECK_IS(redlock_client_from_environment(&client), REDLOCK_CONFIG_INVALID);
    setenv("REDLOCK_CONFIG", "/no/such/file.json", 1);
    CHECK_IS(redlock_client_from_environment(&client), REDLOCK_SYSTEM_ERROR);
#ifndef REDLOCK_HAS_SANITIZER /* which needs descriptors of its own */
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK_IS(redlock_client_from_json("{\"nodes\": [\"127.0.0.1\"]}", &client),
             REDLOCK_SYSTEM_ERROR);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
#else
    (void)before;
    (void)none;
#endif
    CHECK(client == NULL);
}

static const struct named_test tests[] = {
    {"each_function_returns_what_the_situation_says",
     each_function_returns_what_the_situation_says},
    {"a_lease_that_ends_during_its_release_is_not_held",
     a_lease_that_ends_during_its_release_is_not_held},
    {"a_configuration_is_refused_wherever_it_comes_from",
     a_configuration_is_refused_wherever_it_comes_from},
    {NULL, NULL}};

int main(int argc, char** argv) { return run_tests(tests, argc, argv); }
