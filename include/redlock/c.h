/* The C interface of the library, for programs in C and in every language that can call C; shows
 * no C++. It is a library of its own, libredlock_c, whose ABI has a number of its own.
 * SPDX-License-Identifier: MIT
 *
 * Results. Each function that returns int, and says nothing else, returns 0 (REDLOCK_OK) or a
 * number of enum redlock_status; redlock_last_error() then says why. Its comment names those that
 * it can return, but for REDLOCK_INVALID_ARGUMENT for a null pointer, REDLOCK_NO_MEMORY and
 * REDLOCK_SYSTEM_ERROR, which each can. No exception leaves a function.
 *
 * Thread safety. Any thread may call any function at any time, also with an object that other
 * threads use. Only while a function frees an object no other thread may be inside a call with it.
 * The client renews its leases in a thread of its own, which takes no signals.
 *
 * Included here: redlock/c_pending.h (acquires for event loops, and what ends a wait) and
 * redlock/c_nodes.h (what is held, and how the nodes are).
 *
 * Fork. In a child process a client that the parent made is closed: calls to nodes end at once with
 * REDLOCK_CLIENT_CLOSED, counters stay as they were, leases are not valid, and what frees an object
 * frees its memory only. The parent's are not touched. A child makes a client of its own.
 *
 * Memory. Texts that a function hands out by a char** belong to the caller, which frees them with
 * redlock_text_free. A null pointer is taken by every function that frees; by the others it is
 * REDLOCK_INVALID_ARGUMENT where they can say so.
 */
#ifndef REDLOCK_C_H
#define REDLOCK_C_H

#include <redlock/c_nodes.h>
#include <redlock/c_pending.h>
#include <redlock/c_types.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Clients ---- */

/* Makes a client and begins to connect, without waiting for any node. Its configuration is a JSON
 * text as in config/redlock.schema.json, comments allowed; the same in a file; or what the
 * environment names: REDLOCK_CONFIG, REDLOCK_NODES, $XDG_CONFIG_HOME/redlock/config.json,
 * /etc/redlock/config.json.
 *
 * Leaves behind: a client in *out, which the caller frees; after an error null.
 * Errors: REDLOCK_CONFIG_INVALID: redlock_last_error_json() has all reasons with their JSON
 * pointers. REDLOCK_SYSTEM_ERROR: the file can't be read, or there is no thread or descriptor
 * left. */
REDLOCK_C_EXPORT int redlock_client_from_json(const char* json, redlock_client** out);
REDLOCK_C_EXPORT int redlock_client_from_file(const char* path, redlock_client** out);
REDLOCK_C_EXPORT int redlock_client_from_environment(redlock_client** out);

/* Releases every lease of the client, and waits until the nodes have answered, or were given up:
 * at most for the longer of node_timeout and a second. Every other call with the client, also one
 * that another thread is inside of, ends with REDLOCK_CLIENT_CLOSED.
 *
 * Errors: REDLOCK_NO_QUORUM: fewer nodes than a quorum answered; locks may stay taken until the ttl
 * of their keys ends. REDLOCK_CLIENT_CLOSED: it belongs to a parent process. */
REDLOCK_C_EXPORT int redlock_client_close(redlock_client* client);

/* Closes the client as above, and frees it. No other thread is inside a call with it. Its leases
 * and limiters outlive it as objects, are of no use any more, and are freed by themselves. */
REDLOCK_C_EXPORT void redlock_client_free(redlock_client* client);

/* ---- Acquiring ---- */

/* Waits until the lease is granted or refused, the wait is over, or the call is cancelled. Once it
 * is granted the client renews it until it is released or lost.
 *
 * Leaves behind: a lease in *out; after an error null, and no key on a node that can be reached.
 * On a node that can't be, a key could stay until its ttl ends; it is released at the next
 * connection.
 * Errors: REDLOCK_CONTENDED, REDLOCK_NO_QUORUM, REDLOCK_VALIDITY_EXHAUSTED, with one vote per
 * node; REDLOCK_CANCELLED; REDLOCK_INVALID_ARGUMENT; REDLOCK_CLIENT_CLOSED. */
REDLOCK_C_EXPORT int redlock_acquire(redlock_client* client, const char* resource,
                                     const redlock_options* options, redlock_lease** out);

/* As redlock_acquire, of 1 to 64 different resources: all of them, or none. */
REDLOCK_C_EXPORT int redlock_acquire_all(redlock_client* client, const char* const* resources,
                                         size_t count, const redlock_options* options,
                                         redlock_lease** out);

/* Takes over a lease that another process acquired, by the token that redlock_lease_token gave.
 * The lease is valid only as far as a quorum of nodes proves now. Of the options count ttl_ms,
 * no_renew, loss_margin_ms, max_hold_ms, watchdog_ms and cancel.
 *
 * Leaves behind: as redlock_acquire; a lease that a quorum denies is given back.
 * Errors: REDLOCK_NOT_HELD: it was released, or its ttl is over. Else as redlock_acquire, but for
 * REDLOCK_CONTENDED. */
REDLOCK_C_EXPORT int redlock_adopt(redlock_client* client, const char* token,
                                   const redlock_options* options, redlock_lease** out);

/* ---- A lease ---- */

/* The fencing token: larger than that of every earlier lease of the resource. 0 where fencing is
 * off. */
REDLOCK_C_EXPORT uint64_t redlock_lease_fence(const redlock_lease* lease);

/* Which of the `slots` it holds, from 0; of several the lowest. */
REDLOCK_C_EXPORT uint16_t redlock_lease_slot(const redlock_lease* lease);

/* Milliseconds until it ends if nothing prolongs it, rounded down; 0 if it has ended. */
REDLOCK_C_EXPORT int64_t redlock_lease_remaining(const redlock_lease* lease);

/* 1 if the lease was neither released nor lost, and the clock agrees at this call; else 0. Once 0
 * it stays 0. */
REDLOCK_C_EXPORT int redlock_lease_valid(const redlock_lease* lease);

/* Text with which another process can prolong or release the lease: redlock_adopt, `redlock
 * release`. It is a secret. The text belongs to the lease. Null: no memory. */
REDLOCK_C_EXPORT const char* redlock_lease_token(const redlock_lease* lease);

/* A descriptor that becomes readable when the lease is lost, before its validity ends, or when the
 * client is closed; not by a release. In a child process it is readable from the fork on, as the
 * lease is over there; the parent's is not touched. For event loops (poll, epoll, asyncio). It
 * stays readable: never read, write or close it. It belongs to the lease, which closes it when it
 * is freed; a later call returns the same one. It is made at the first call, and not inherited by
 * programs. -1: the system has none, or no memory; redlock_last_error() says which. */
REDLOCK_C_EXPORT int redlock_lease_lost_fd(const redlock_lease* lease);

/* Why the lease is over, a number of enum redlock_loss, before it is released; REDLOCK_LOSS_NONE as
 * long as it is valid, and for a null pointer. */
REDLOCK_C_EXPORT int redlock_lease_loss(const redlock_lease* lease);

/* A sign of life, for a lease with watchdog_ms. It sends nothing, and brings no lost lease back. */
REDLOCK_C_EXPORT void redlock_lease_touch(const redlock_lease* lease);

/* Prolongs the lease, and lets renewal go on with this ttl. Waits for a quorum of answers.
 *
 * Leaves behind: after an error the lease as it was, valid as long as it was before.
 * Errors: REDLOCK_LOST: it ended before or during the call. REDLOCK_NOT_HELD: a quorum says that
 * the key is not this lease's. REDLOCK_NO_QUORUM; REDLOCK_VALIDITY_EXHAUSTED: the answers came too
 * late; REDLOCK_INVALID_ARGUMENT; REDLOCK_CLIENT_CLOSED. */
REDLOCK_C_EXPORT int redlock_extend(redlock_lease* lease, int64_t ttl_ms);

/* Turns a lease that is held alone into a reader's, without a moment in which nobody holds the
 * resource; there is no way back. From this call on it promises no more than a reader's does,
 * whatever the outcome. Not for leases of several resources or of a slot, that were adopted, or
 * whose token was requested.
 *
 * Errors: as redlock_extend. */
REDLOCK_C_EXPORT int redlock_downgrade(redlock_lease* lease);

/* Releases the lease and frees it, whatever it returns. Waits until a quorum of nodes has
 * answered, or can't; in that case the client goes on to release it in the background.
 *
 * Errors: REDLOCK_LOST: it was lost, or the nodes say that it was taken, so what it protected may
 * have met another holder's work. REDLOCK_NOT_HELD: it ran out during this call. REDLOCK_NO_QUORUM:
 * too few nodes answered. REDLOCK_CLIENT_CLOSED: the client was closed, and has released it. */
REDLOCK_C_EXPORT int redlock_release(redlock_lease* lease);

/* Frees the lease; the client releases it in the background. A lost one with a token runs out. */
REDLOCK_C_EXPORT void redlock_lease_free(redlock_lease* lease);

/* Frees the lease without a release: its keys stay until their ttl ends, for an adoption. */
REDLOCK_C_EXPORT void redlock_lease_detach(redlock_lease* lease);

/* ---- At most so many per period ---- */

/* A limit of `limit` (1 to 1000) times per period_ms, of all programs that name the resource. Sends
 * nothing. The object, which the caller frees, keeps the client alive until then.
 * Errors: REDLOCK_INVALID_ARGUMENT. */
REDLOCK_C_EXPORT int redlock_limiter_new(redlock_client* client, const char* resource,
                                         uint16_t limit, int64_t period_ms, redlock_limiter** out);

/* Uses one time up, or `cost` (1 to the limit, 64 at most) or none, and waits for them for up to
 * wait_ms; with 0 or less it tries once. `cancel` may be null. After success the slots are taken
 * until their period is over; after an error nothing is. Errors: as redlock_acquire;
 * REDLOCK_CONTENDED: the limit is reached; *retry_after_ms, unless null, is then the time left. */
REDLOCK_C_EXPORT int redlock_limiter_acquire(redlock_limiter* limiter, int64_t wait_ms,
                                             redlock_cancel* cancel, int64_t* retry_after_ms);
REDLOCK_C_EXPORT int redlock_limiter_use(redlock_limiter* limiter, uint16_t cost, int64_t wait_ms,
                                         redlock_cancel* cancel, int64_t* retry_after_ms);
/* From now on `limit` times, of all programs, until another is set. Errors: REDLOCK_NO_QUORUM;
 * REDLOCK_INVALID_ARGUMENT; REDLOCK_CLIENT_CLOSED. */
REDLOCK_C_EXPORT int redlock_limiter_set(redlock_limiter* limiter, uint16_t limit);
REDLOCK_C_EXPORT void redlock_limiter_free(redlock_limiter* limiter);
REDLOCK_C_EXPORT void redlock_text_free(char* text);

/* ---- Errors ---- */

/* Why the last call of this thread that can fail did not succeed: one sentence, with what each
 * node said, without secrets; and the same as a JSON object with "error", "message", and "votes"
 * (of a refusal) or "issues" (of a configuration). Empty after a success. The texts belong to the
 * calling thread, until its next call of a function that can fail. */
REDLOCK_C_EXPORT const char* redlock_last_error(void);
REDLOCK_C_EXPORT const char* redlock_last_error_json(void);

/* The name of a number of enum redlock_status, such as "contended"; "unknown" for any other. */
REDLOCK_C_EXPORT const char* redlock_status_name(int status);

/* The version of the library, such as "0.1.0". */
REDLOCK_C_EXPORT const char* redlock_version(void);

#ifdef __cplusplus
}
#endif

#endif
