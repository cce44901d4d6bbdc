/* What is held on the nodes, and how they and the client are, as JSON or text.
 * Included by redlock/c.h, whose rules hold here, too.
 * SPDX-License-Identifier: MIT
 */
#ifndef REDLOCK_C_NODES_H
#define REDLOCK_C_NODES_H

#include <redlock/c_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The holder of a resource as one JSON object, as `redlock inspect --json` prints it. With
 * REDLOCK_NO_QUORUM, too few nodes answered and *json is set all the same: it says which.
 *
 * Errors: REDLOCK_NO_QUORUM; REDLOCK_INVALID_ARGUMENT; REDLOCK_CLIENT_CLOSED. */
REDLOCK_C_EXPORT int redlock_inspect(redlock_client* client, const char* resource, char** json);

/* An object that keeps the client alive until it is freed. Errors: REDLOCK_INVALID_ARGUMENT. */
REDLOCK_C_EXPORT int redlock_watch_new(redlock_client* client, const char* resource,
                                       redlock_watch** out);
/* Waits for the holders of the resource to change. The object remembers what was shown last, so no
 * change between two calls is missed: several may be shown as one. The first call shows the holder
 * as soon as a quorum of nodes agrees on it. *json is what redlock_inspect gives. `cancel` may be
 * null. One call with the object at a time.
 * Errors: REDLOCK_CANCELLED; REDLOCK_INVALID_ARGUMENT; REDLOCK_CLIENT_CLOSED. */
REDLOCK_C_EXPORT int redlock_watch_next(redlock_watch* watch, redlock_cancel* cancel, char** json);
REDLOCK_C_EXPORT void redlock_watch_free(redlock_watch* watch);

/* Takes a resource from those that hold it at this call, as an operator does when a program hangs:
 * each of them goes on until its next renewal, and only the fence tells it from the next holder.
 * *json says what was done: "revoked", "freed" (kept after a release), "holders" (of now), "held",
 * and one of "votes" per node. With REDLOCK_NO_QUORUM it is set, too.
 *
 * Errors: REDLOCK_NO_QUORUM: fewer nodes than a quorum did it, and the holders may still have their
 * lease; repeat it. REDLOCK_INVALID_ARGUMENT; REDLOCK_CLIENT_CLOSED. */
REDLOCK_C_EXPORT int redlock_revoke(redlock_client* client, const char* resource, char** json);

/* The names of what is held and begins with `prefix` (null: all), as a JSON list of texts.
 *
 * Errors: REDLOCK_NO_QUORUM; REDLOCK_BACKLOG: more than 1,000,000; REDLOCK_CLIENT_CLOSED. */
REDLOCK_C_EXPORT int redlock_list(redlock_client* client, const char* prefix, char** json);

/* A JSON list with an object per node, as those of `redlock doctor --json`, each with "findings".
 *
 * Errors: REDLOCK_CLIENT_CLOSED. */
REDLOCK_C_EXPORT int redlock_probe(redlock_client* client, char** json);

/* The counters of this client as a JSON object; as OpenMetrics 1.0; and in Prometheus' older text
 * form (0.0.4). Sends nothing. */
REDLOCK_C_EXPORT int redlock_stats(redlock_client* client, char** json);
REDLOCK_C_EXPORT int redlock_open_metrics(redlock_client* client, char** text);
REDLOCK_C_EXPORT int redlock_prometheus_text(redlock_client* client, char** text);

#ifdef __cplusplus
}
#endif

#endif
