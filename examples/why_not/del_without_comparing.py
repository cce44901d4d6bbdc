#!/usr/bin/env python3
# The wrong way: DEL without comparing; a holder that is late deletes the lock of the next one.
# SPDX-License-Identifier: MIT
import pathlib
import time

from support import NOT_HELD, acquire, redlock, show

TTL_MS = 500


def wrong(place):
    server = place.server()

    def take(name, ttl_ms):
        return server.ask("SET", "stock", name, "NX", "PX", ttl_ms) == "OK"

    first = take("first", TTL_MS)
    time.sleep(2 * TTL_MS / 1000)
    second = take("second", 60_000)
    server.ask("DEL", "stock")  # the first holder is done
    third = take("third", 60_000)
    return not (first and second and third), (
        "the first holder worked for longer than its lease, and its DEL deleted the key of the"
        " second; a third got in. The second and the third hold it")


def ours(place):
    nodes = place.nodes()
    token = str(pathlib.Path(place.folder, "token"))
    redlock(nodes, "acquire", "--ttl", f"{TTL_MS}ms", "--token-file", token, "stock")
    time.sleep(2 * TTL_MS / 1000)
    second = acquire(nodes, "60s")
    status, _ = redlock(nodes, "release", "--token-file", token)
    third = acquire(nodes, "60s")
    return second is not None and third is None and status == NOT_HELD, (
        "a release deletes only a key that holds its lease's own value: the late one was refused"
        f" (status {status}), and so is the third")


show("DEL without comparing", wrong, ours)
