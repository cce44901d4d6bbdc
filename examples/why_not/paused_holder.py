#!/usr/bin/env python3
# The wrong way: plain Redlock, a holder that pauses, and a store that looks at no fence.
# SPDX-License-Identifier: MIT
import contextlib
import os
import pathlib
import signal
import sqlite3

import plain_redlock
from support import acquire, show, until

TTL_MS = 500


class Store:
    """A stock of ten in a table, where the row has the fence of its last writer."""

    def __init__(self, folder):
        self.file = pathlib.Path(folder, "stock.db")
        self.run("CREATE TABLE IF NOT EXISTS stock (pieces INTEGER, fence INTEGER)")
        self.run("DELETE FROM stock")
        self.run("INSERT INTO stock VALUES (10, 0)")

    def run(self, statement, *values):
        with contextlib.closing(sqlite3.connect(self.file)) as database, database:
            done = database.execute(statement, values)
            return done.fetchall() or done.rowcount

    def pieces(self):
        return self.run("SELECT pieces FROM stock")[0][0]

    def write(self, pieces):
        return self.run("UPDATE stock SET pieces = ?", pieces) == 1

    def write_fenced(self, pieces, fence):
        return self.run("UPDATE stock SET pieces = ?, fence = ? WHERE fence <= ?", pieces, fence,
                        fence) == 1


def two_sales(place, take, read, write):
    """The first seller stops between its reading and its writing, for longer than its lease. What
    each was granted, and what became of the first one's write."""

    def first(say):
        granted, pieces = take(), read()
        say(granted)
        os.kill(os.getpid(), signal.SIGSTOP)
        say("written" if write(pieces - 1, granted) else "refused")

    child = place.child(first)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED)
    granted = []
    until(lambda: granted.append(take()) or granted[-1] is not None, "the lease to end")
    write(read() - 1, granted[-1])
    child.go_on()
    return child.first, granted[-1], child.next()


def wrong(place):
    nodes = [place.server() for _ in range(3)]
    store = Store(place.folder)
    _, _, late = two_sales(place, lambda: plain_redlock.acquire(nodes, "stock", TTL_MS), store.pieces,
                           lambda pieces, _: store.write(pieces))
    left = store.pieces()
    return not (late == "written" and left == 9), (
        f"the first seller stopped for longer than its lease of {TTL_MS} ms and then wrote what it"
        f" had reckoned before: two pieces of ten were sold, and {left} are left")


def ours(place):
    nodes = place.nodes()
    store = Store(place.folder)
    first, second, late = two_sales(place, lambda: acquire(nodes, f"{TTL_MS}ms"), store.pieces,
                                    lambda pieces, fence: store.write_fenced(pieces, int(fence)))
    return late == "refused" and int(first) < second and store.pieces() == 9, (
        f"the row has seen fence {second} and refused the late write with {first}: one piece was sold,"
        f" and {store.pieces()} are left")


show("plain Redlock with a holder that pauses, and no fence", wrong, ours)
