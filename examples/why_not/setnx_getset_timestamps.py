#!/usr/bin/env python3
# The wrong way: SETNX and GETSET with timestamps; a clock that is ahead takes a lock that is held.
# SPDX-License-Identifier: MIT
import os
import pathlib
import subprocess

from support import Failed, acquire, show

TTL_S = 5
AHEAD = "+60s"


def take(server, machine):
    """As many programs have it: the value is when the lock expires, by the clock of its holder."""
    now = float(subprocess.check_output(["date", "+%s.%N"], env=machine))
    expires = now + TTL_S
    if server.ask("SETNX", "stock", expires) == "1":
        return True
    found = server.ask("GET", "stock")
    if found and float(found) < now:
        return server.ask("GETSET", "stock", expires) == found  # nobody else was faster
    return False


def with_clock_ahead():
    """The environment of a machine whose wall clock is ahead; its other clocks run true."""
    for library in pathlib.Path("/usr").glob("lib*/**/faketime/libfaketimeMT.so.1"):
        return {**os.environ, "LD_PRELOAD": str(library), "FAKETIME": AHEAD,
                "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    raise Failed("there is no libfaketime: scripts/install-deps test")


def wrong(place):
    server = place.server()
    first = take(server, dict(os.environ))
    second = take(server, with_clock_ahead())
    return not (first and second), (
        f"the second machine's clock is {AHEAD} ahead: to it a lock of {TTL_S} s that was taken just"
        " now had expired. Both hold it")


def ours(place):
    nodes = place.nodes()
    first = acquire(nodes, f"{TTL_S}s")
    second = acquire(nodes, f"{TTL_S}s", env=with_clock_ahead())
    return first is not None and second is None, (
        "the nodes let keys expire, each by its own clock, and a client's wall clock is not used:"
        f" with its clock {AHEAD} ahead, the second machine is refused")


show("SETNX and GETSET with timestamps, and two clocks", wrong, ours)
