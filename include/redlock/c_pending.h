/* Calls that wait: how another thread ends one, and acquires for event loops, which are begun
 * without waiting and have a descriptor that tells their end.
 * Included by redlock/c.h, whose rules hold here, too.
 * SPDX-License-Identifier: MIT
 */
#ifndef REDLOCK_C_PENDING_H
#define REDLOCK_C_PENDING_H

#include <redlock/c_types.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An object by which one thread ends calls that wait in others. It may serve any number of calls,
 * at once or one after the other; once requested, it ends each of them, also later ones. It
 * outlives the calls that were given it. redlock_cancel_request does not wait for them; signal
 * handlers may not call it. redlock_cancel_new returns null where memory has run out. */
REDLOCK_C_EXPORT redlock_cancel* redlock_cancel_new(void);
REDLOCK_C_EXPORT void redlock_cancel_request(redlock_cancel* cancel);
REDLOCK_C_EXPORT void redlock_cancel_free(redlock_cancel* cancel);

/* Begins redlock_acquire, or redlock_acquire_all, and waits for nothing. Needs no thread for each
 * call: thousands may be under way. `cancel` of the options has to be null.
 *
 * Leaves behind: a call in *out, which one of two functions ends and frees: redlock_pending_take or
 * redlock_pending_cancel; after an error null. A lease that it was granted belongs to it until it
 * is taken, and is renewed meanwhile.
 * Errors: REDLOCK_INVALID_ARGUMENT: what can't be read in the arguments. All else, also a closed
 * client, is returned by redlock_pending_take. */
REDLOCK_C_EXPORT int redlock_begin_acquire(redlock_client* client, const char* resource,
                                           const redlock_options* options,
                                           redlock_pending** out);
REDLOCK_C_EXPORT int redlock_begin_acquire_all(redlock_client* client,
                                               const char* const* resources, size_t count,
                                               const redlock_options* options,
                                               redlock_pending** out);

/* A descriptor that becomes readable when the call is over, and stays so: never read, write or
 * close it. It belongs to the call, and is closed with it; a later call returns the same one. It
 * is made at the first call. -1: the system has none, or no memory; redlock_last_error() says
 * which. Programs with thousands of calls use one redlock_queue instead. */
REDLOCK_C_EXPORT int redlock_pending_fd(const redlock_pending* pending);

/* The outcome of the call, as redlock_acquire returns it, but for REDLOCK_CANCELLED. Waits where
 * the call is not over yet. Frees the call whatever it returns, unless `out` is null. */
REDLOCK_C_EXPORT int redlock_pending_take(redlock_pending* pending, redlock_lease** out);

/* Ends the call and frees it, without waiting. It leaves no key on a node that can be reached: a
 * lease that was granted already, or is just now, is released in the background. */
REDLOCK_C_EXPORT void redlock_pending_cancel(redlock_pending* pending);

/* Calls that are over, for any number of calls of any clients: one descriptor, which is readable
 * while redlock_queue_next has one. redlock_queue_new returns null where there is no memory or no
 * descriptor; redlock_last_error() says which. redlock_queue_free frees no call, and calls that
 * were added to the queue go on. */
REDLOCK_C_EXPORT redlock_queue* redlock_queue_new(void);
REDLOCK_C_EXPORT int redlock_queue_fd(const redlock_queue* queue);
REDLOCK_C_EXPORT void redlock_queue_free(redlock_queue* queue);

/* Lets the queue have the call when it is over, or now if it is. A call belongs to one queue.
 * Errors: REDLOCK_CLIENT_CLOSED: one of them belongs to a parent process. */
REDLOCK_C_EXPORT int redlock_queue_add(redlock_queue* queue, redlock_pending* pending);

/* The call that was over first of those that were neither taken nor cancelled; null if there is
 * none. Hands each out once, and frees none: the caller takes it, at once and without a wait. */
REDLOCK_C_EXPORT redlock_pending* redlock_queue_next(redlock_queue* queue);

#ifdef __cplusplus
}
#endif

#endif
