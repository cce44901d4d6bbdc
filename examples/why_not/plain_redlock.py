# Redlock as its description has it, and nothing more; what is wrong with that, others show.
# SPDX-License-Identifier: MIT
import time
import uuid

RELEASE = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0"
DRIFT_MS = 2


def acquire(nodes, resource, ttl_ms):
    """The value that the lock was taken with, if a majority of the nodes took it in time."""
    value = uuid.uuid4().hex
    begin = time.monotonic()
    votes = sum(node.ask("SET", resource, value, "NX", "PX", ttl_ms) == "OK" for node in nodes)
    left_ms = ttl_ms - (time.monotonic() - begin) * 1000 - ttl_ms * 0.01 - DRIFT_MS
    if votes > len(nodes) / 2 and left_ms > 0:
        return value
    release(nodes, resource, value)
    return None


def release(nodes, resource, value):
    for node in nodes:
        node.ask("EVAL", RELEASE, 1, resource, value)
