#!/usr/bin/env python3
# The wrong way: SETNX and EXPIRE as two commands; a holder that dies between them locks for good.
# SPDX-License-Identifier: MIT
import time

from support import after_killed_holder, show

TTL_S = 1


def wrong(place):
    server = place.server()

    def holder(say):
        if server.ask("SETNX", "stock", "first") == "1":
            say("taken")
            time.sleep(60)  # a long pause, here of all places
            server.ask("EXPIRE", "stock", TTL_S)

    place.child(holder).kill()
    time.sleep(3 * TTL_S)
    got_it = server.ask("SETNX", "stock", "second") == "1"
    expiry = server.ask("PTTL", "stock")
    return got_it, (f"the holder was killed between the two; {3 * TTL_S} s later the lock of {TTL_S} s"
                    f" is still taken, and the server says that it never expires (PTTL {expiry})")


def ours(place):
    was_taken, waited_s = after_killed_holder(place, TTL_S)
    return was_taken, (f"key and expiry are one write on each node; {waited_s:.1f} s after the holder"
                       f" of {TTL_S} s was gone, the next one had the lock")


show("SETNX and EXPIRE as two commands", wrong, ours)
