#!/usr/bin/env python3
# The wrong way: a row in a table as the lock, without an expiry; a killed holder leaves it for good.
# SPDX-License-Identifier: MIT
import contextlib
import pathlib
import sqlite3
import time

from support import after_killed_holder, show

TRIED_FOR_S = 3
TTL_S = 1


def wrong(place):
    file = pathlib.Path(place.folder, "locks.db")

    def insert():
        with contextlib.closing(sqlite3.connect(file)) as database, database:
            database.execute("INSERT INTO locks VALUES ('stock')")

    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE locks (name TEXT PRIMARY KEY)")

    def holder(say):
        insert()
        say("taken")
        time.sleep(60)

    place.child(holder).kill()
    tries, got_it, end = 0, False, time.monotonic() + TRIED_FOR_S
    while not got_it and time.monotonic() < end:
        tries += 1
        with contextlib.suppress(sqlite3.IntegrityError):
            insert()
            got_it = True
        time.sleep(0.05)
    return got_it, (f"the holder was killed, and its row stayed: {tries} tries in {TRIED_FOR_S} s were"
                    " refused, as every later one would be. Nobody holds the lock")


def ours(place):
    was_taken, waited_s = after_killed_holder(place, TTL_S)
    return was_taken, (
        f"a lease ends by itself: {waited_s:.1f} s after the holder of {TTL_S} s was killed, the next"
        " one had the lock")


show("a row without an expiry", wrong, ours)
