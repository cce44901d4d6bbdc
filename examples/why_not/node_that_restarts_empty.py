#!/usr/bin/env python3
# The wrong way: plain Redlock, and a node that restarts without its data: it votes for two holders.
# SPDX-License-Identifier: MIT
import plain_redlock
from support import acquire, show

TTL_S = 20


def two_takers(nodes, take):
    """Each takes the lock, the second one after a node that granted it has forgotten that."""
    nodes[2].end()  # the first lock has the votes of the other two
    first = take()
    nodes[2].start()
    nodes[1].restart_empty()
    return first is not None, take() is not None


def wrong(place):
    nodes = [place.server() for _ in range(3)]
    first, second = two_takers(
        nodes, lambda: plain_redlock.acquire(nodes, "stock", TTL_S * 1000))
    return not (first and second), (
        "the first has the votes of nodes 1 and 2; node 2 came back empty, and the second has those"
        " of nodes 2 and 3. Both hold it")


def ours(place):
    nodes = place.nodes()
    first, second = two_takers(nodes, lambda: acquire(nodes, f"{TTL_S}s"))
    return first and not second, (
        "a node that comes back empty has no vote until every earlier lease has ended, so the second"
        " is refused")


show("plain Redlock with a node that restarts empty", wrong, ours)
