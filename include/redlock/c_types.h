/* What the functions of the C interface take and return: numbers, objects and options. Included by
 * redlock/c.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef REDLOCK_C_TYPES_H
#define REDLOCK_C_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define REDLOCK_C_EXPORT __attribute__((visibility("default")))
#else
#define REDLOCK_C_EXPORT
#endif

/* The numbers are stable. Those above 0 are the ones of `redlock::errc`. */
enum redlock_status {
    REDLOCK_OK = 0,
    REDLOCK_CONTENDED = 1,           /* Another owner holds the resource, or the vote was split. */
    REDLOCK_NO_QUORUM = 2,           /* Too few nodes could vote; the votes say why. */
    REDLOCK_VALIDITY_EXHAUSTED = 3,  /* A quorum answered yes, but too late for the ttl. */
    REDLOCK_NOT_HELD = 4,            /* A quorum denies that the lease holds the key. */
    REDLOCK_LOST = 5,                /* The lease ended before the operation did. */
    REDLOCK_WOULD_DEADLOCK = 6,      /* Of `errc`; no function of this interface returns it. */
    REDLOCK_INVALID_ARGUMENT = 7,    /* The text names it and its bound. */
    REDLOCK_CLIENT_CLOSED = 8,       /* The client was closed, or belongs to a parent process. */
    REDLOCK_CONFIG_INVALID = 11,     /* The text has every reason at once. */
    REDLOCK_BACKLOG = 101,           /* Of redlock_list: too many. */
    REDLOCK_CANCELLED = -1,          /* By redlock_cancel_request. */
    REDLOCK_NO_MEMORY = -2,
    REDLOCK_SYSTEM_ERROR = -3        /* It refused a file, a thread or a descriptor. */
};

/* Why a lease is over: see redlock_lease_loss. */
enum redlock_loss {
    REDLOCK_LOSS_NONE = 0,
    REDLOCK_LOSS_EXPIRED = 1,      /* Its validity ended without a renewal. */
    REDLOCK_LOSS_TAKEN = 2,        /* A quorum says that the key is gone or another owner's. */
    REDLOCK_LOSS_UNREACHABLE = 3,  /* No renewal reached a quorum before its validity ended. */
    REDLOCK_LOSS_MAX_HOLD = 4,     /* It was held for as long as max_hold_ms allows. */
    REDLOCK_LOSS_STALLED = 5,      /* No redlock_lease_touch for as long as watchdog_ms says. */
    REDLOCK_LOSS_CLIENT_CLOSED = 6 /* No loss: the client was closed, or is the parent process's. */
};

typedef struct redlock_client redlock_client;
typedef struct redlock_lease redlock_lease;
typedef struct redlock_limiter redlock_limiter;
typedef struct redlock_cancel redlock_cancel;
typedef struct redlock_watch redlock_watch;
typedef struct redlock_pending redlock_pending;
typedef struct redlock_queue redlock_queue;

/* How to acquire. Set all of it to zero, and `size` to sizeof(redlock_options); later versions of
 * the library may add members at the end, and take what is missing for zero. A null pointer means
 * the same as all zero. 0 means what "defaults" of the client's configuration says. */
typedef struct redlock_options {
    size_t size;
    int64_t ttl_ms;          /* Default: 10 s, or ttl_max_ms where that is shorter. */
    int64_t wait_ms;         /* How long to queue; default: one attempt. See REDLOCK_NO_WAIT. */
    int64_t max_hold_ms;     /* Limit of the validity, from the grant; default: none. */
    int64_t min_hold_ms;     /* The nodes keep it for so long, also after a release. */
    int64_t loss_margin_ms;  /* How long before the end of the validity a loss is reported. */
    int shared;              /* Not 0: as a reader, beside other readers. */
    int no_renew;            /* Not 0: only redlock_extend prolongs it. See REDLOCK_RENEW. */
    uint16_t slots;          /* k > 0: one of k slots (a semaphore); at most 1000. */
    const char* note;        /* Up to 256 bytes of UTF-8, which inspect shows; or null. */
    int64_t watchdog_ms;     /* Renewed only while redlock_lease_touch was called within so long. */
    redlock_cancel* cancel;  /* By which another thread can end the call; or null. */
    uint16_t permits;        /* So many of the slots at once, or none; at most 64. Default: 1. */
} redlock_options;

/* As wait_ms: one attempt, whatever the configuration says; and a year, which is meant as no
 * limit. */
#define REDLOCK_NO_WAIT (-1)
#define REDLOCK_NO_LIMIT INT64_C(31536000000)

/* As no_renew: the lease is renewed, whatever the configuration says. */
#define REDLOCK_RENEW (-1)

#endif
