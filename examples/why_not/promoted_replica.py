#!/usr/bin/env python3
# The wrong way: one master with a replica; the replica that is promoted does not know the lock.
# SPDX-License-Identifier: MIT
import signal

from support import acquire, show, until


def wrong(place):
    master, replica = place.server(), place.server()
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    until(lambda: "state=online" in master.ask("INFO", "replication"), "the replica to be in step")
    replica.process.send_signal(signal.SIGSTOP)
    master.ask("CLIENT", "KILL", "TYPE", "replica")  # the network between them breaks for a moment
    first = master.ask("SET", "stock", "first", "NX", "PX", 60_000) == "OK"
    master.end(signal.SIGKILL)
    replica.process.send_signal(signal.SIGCONT)
    replica.ask("REPLICAOF", "NO", "ONE")  # as Sentinel, or an operator, would
    second = replica.ask("SET", "stock", "second", "NX", "PX", 60_000) == "OK"
    return not (first and second), (
        "the master granted the lock and died before its replica had it; the replica was promoted,"
        " and granted the same lock again. Both hold it")


def ours(place):
    nodes = place.nodes()
    first = acquire(nodes, "60s")
    nodes[0].end(signal.SIGKILL)
    second = acquire(nodes, "60s")
    return first is not None and second is None, (
        "there is no replica: one of three independent masters was killed, the other two still know"
        " the holder, and the second is refused")


show("one master with a replica that is promoted", wrong, ours)
